"""The section of the comparison on speed and memory, which can also be replaced by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from . import charts
from .adapters import NAMES
from .environments import adapter
from .measure import ENOUGH, SAMPLES, SPEEDS
from .sections import replaced
from .tables import table as _table
from .tables import three as _three

Results = dict[str, Any]

HEADING: Final = "## Speed and memory"
WHY_SLOWER = (
    "A release of ours checks the request, quantises the values to an exact grid, draws exact "
    "integers from secure bits and carries its intervals and its statement; a compiled call that "
    "adds floating-point noise to a sum does less."
)
WHY_LARGER = (
    "hourglass depends on NumPy, and on DuckDB for tables and files; the two are most of its size. "
    "A single compiled module has neither."
)


def write_speed(results: Results, out: Path) -> None:
    """The section in a page that is there already, and its picture."""
    charts.time_over_groups(results, out / "comparison" / "groups.png")
    page = out / "comparison.md"
    page.write_text(replaced(page.read_text(), section(results)))


def section(results: Results) -> str:
    """The tables, what was asked for samples, and what they show."""
    speed = results["speed"]
    names = [name for name in NAMES if name in speed]
    head = ["", *[_title(name) for name in names]]
    rows, over_plain = [], []
    for title, *_ in SPEEDS:
        rows.append([title, *_over(speed, names, title, "ours")])
        if "plain" in speed:
            over_plain.append([title, *_over(speed, names, title, "plain", times=False)])
    own, drawn = speed["ours"].get(SAMPLES), []
    for name in names:
        rate = speed[name].get(SAMPLES, "–")
        if isinstance(rate, float):
            known = isinstance(own, float) and name != "ours"
            rate = _many(rate) + (f" ({_three(rate / own)}x)" if known else "")
        drawn.append(rate)
    rows.append([SAMPLES, *drawn])
    rows.append(["import", *[_time(speed[name].get("import")) for name in names]])
    sizes = [results["peers"][name]["megabytes"] for name in names]
    rows.append(["install size", *[f"{size:,.0f} MB" for size in sizes]])
    for key in ("memory after import", "memory with the data", "peak memory"):
        found = [speed[name].get(key) for name in names]
        title = {"peak memory": "peak memory after a release of 1,000,000 rows"}.get(key, key)
        rows.append([title, *["–" if v is None else f"{v:,.0f} MB" for v in found]])
    samplers = [f"- {_title(n)}: {adapter(n).SAMPLER}." for n in names if SAMPLES in speed[n]]
    made = results["runs"][results["when"]["speed"]["ours"]]
    parts = [
        f"{HEADING}\n\n"
        f"Measured {results['when']['speed']['ours']} with hourglass "
        f"{results['peers']['ours']['version']}, {made['machine']}, by `python -m "
        "benchmarks.peers --stages speed`. Epsilon is 1, keys are public, and each library's own "
        "data structure is made beforehand. Times are medians of "
        f"{made['turns']} turns after one to warm up, library by library in each turn; a library "
        f"that took {ENOUGH:g} s on a question, or {2 * ENOUGH:g} s to warm up, was not measured "
        "again. In brackets is the factor over ours (above one: slower than ours; for samples: "
        f"more than ours). A question that took over {made['patience']:g} s was abandoned, and "
        "larger ones were then not asked. Memory is that of the process with its children; the "
        "data start as a Python list in each. For PyDP the loop over groups is ours.\n\n"
        + _table(head, rows)
    ]
    if over_plain:
        parts.append(
            "The same times as multiples of the plain aggregate's, which has no privacy:\n\n"
            + _table(head, over_plain)
        )
    if samplers:
        parts.append("How samples were drawn:\n\n" + "\n".join(samplers))
    parts.append("![time over groups](comparison/groups.png)")
    return "\n\n".join(filter(None, [*parts, _shown(results)]))


def _over(speed: Results, names: list[str], title: str, base: str, times: bool = True) -> list[str]:
    """A row of times with their factors over those of one of them, or of the factors alone."""
    row, floor = [], speed[base].get(title)
    for name in names:
        value = speed[name].get(title)
        known = isinstance(value, float) and isinstance(floor, float)
        factor = f"{_three(value / floor)}x" if known else "–"
        if times:
            factor = _time(value) + (f" ({factor})" if known and name != base else "")
        row.append(factor)
    return row


def _many(rate: float) -> str:
    return f"{rate / 1e6:.3g} million" if rate >= 1e6 else f"{float(f'{rate:.3g}'):,.0f}"


def _shown(results: Results) -> str:
    """What the times and sizes show."""
    lines = []
    speed = results["speed"]
    last = SPEEDS[-1][0]
    ours = speed["ours"].get(last)
    patience = results["runs"][results["when"]["speed"]["ours"]]["patience"]
    rivals = {
        n: speed[n][last]
        for n in speed
        if n not in ("ours", "plain") and isinstance(speed[n].get(last), float)
    }
    with_groups = {n: t for n, t in rivals.items() if n != "pydp"}
    if isinstance(ours, float) and with_groups:
        best = min(with_groups, key=lambda n: with_groups[n])
        factor = with_groups[best] / ours
        verdict = "at least the 5 aimed at" if factor >= 5 else "short of the 5 aimed at"
        lines.append(
            f"- **100,000 groups.** Ours is {factor:.1f} times as fast as the fastest peer "
            f"that has groups ({_title(best)}): {verdict}."
        )
    elif isinstance(ours, float):
        lines.append(
            f"- **100,000 groups.** Ours took {_time(ours)}; no peer that has groups answered "
            f"within {patience:g} s, {patience / ours:.0f} times as long."
        )
    if isinstance(ours, float) and "pydp" in rivals:
        lines.append(
            f"  PyDP in a loop written by hand took {rivals['pydp'] / ours:.1f} times as long as "
            "ours."
        )
    peers = [name for name in speed if name not in ("ours", "plain")]
    sizes = {name: results["peers"][name]["megabytes"] for name in speed}
    columns = {title: {n: speed[n].get(title) for n in speed} for title, *_ in SPEEDS}
    columns[SAMPLES] = {n: _inverse(speed[n].get(SAMPLES)) for n in speed}
    if slower := _lost(columns, peers, "times as fast"):
        lines.append(f"- **Where we lose on time:** {slower}. {WHY_SLOWER}")
    columns = {
        title: {n: speed[n].get(title) for n in speed} for title in ("import", "peak memory")
    }
    columns["install size"] = sizes
    if larger := _lost(columns, peers, "times less"):
        lines.append(f"- **Where we lose on size:** {larger}. {WHY_LARGER}")
    return "\n".join(lines)


def _inverse(rate: Any) -> Any:
    return 1 / rate if isinstance(rate, float) else rate


def _lost(columns: dict[str, dict[str, Any]], peers: list[str], how: str) -> str:
    """Where a peer's figure is below ours, and how many times."""
    return "; ".join(
        f"{title} ({_title(name)} {own / found[name]:.1f} {how})"
        for title, found in columns.items()
        for name in peers
        if isinstance(own := found["ours"], float)
        and isinstance(found[name], float)
        and found[name] < own
    )


def _title(name: str) -> str:
    return str(adapter(name).TITLE)


def _time(value: Any) -> str:
    if not isinstance(value, float):
        return str(value if value is not None else "–")
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"
