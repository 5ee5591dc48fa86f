"""docs/comparison.md and its charts, from the results of a run and nothing else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import hourglass as hg

from . import charts
from .adapters import NAMES
from .environments import adapter
from .measure import CASES, CELLS, EPSILONS, SPEEDS

Results = dict[str, Any]


def write(results: Results, out: Path) -> None:
    """The page, and the pictures beside it."""
    pictures = out / "comparison"
    pictures.mkdir(parents=True, exist_ok=True)
    charts.error_over_epsilon(ratios(results), pictures / "error.png")
    charts.time_over_groups(results, pictures / "groups.png")
    (out / "comparison.md").write_text(page(results))


def ratios(results: Results) -> dict[str, dict[tuple[str, float], tuple[float, float, int]]]:
    """By peer, cell and epsilon: n^2 MSE / (width^2 sigma^2), its standard error, the runs."""
    found: dict[str, dict[tuple[str, float], tuple[float, float, int]]] = {}
    for name, rows in results["accuracy"].items():
        found[name] = {}
        for row in rows:
            if "failed" in row:
                continue
            (cell,) = [cell for cell in CELLS if cell.title == row["cell"]]
            width = cell.bounds[1] - cell.bounds[0]
            scale = (cell.rows / width) ** 2 / hg.accuracy.sigma2(row["epsilon"])
            key = (cell.title, row["epsilon"])
            found[name][key] = (row["mse"] * scale, row["error"] * scale, row["runs"])
    return found


def page(results: Results) -> str:
    parts = [_head(results), _peers(results), _accuracy(results), _speed(results)]
    return "\n\n".join([*parts, _behaviour(results), _shown(results), _choice()]) + "\n"


def _title(name: str) -> str:
    return str(adapter(name).TITLE)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _present(results: Results, stage: str) -> list[str]:
    return [name for name in NAMES if name in results[stage]]


def _head(results: Results) -> str:
    asked = results["asked"]
    return f"""# Side by side with the peers

This page is written by the runner (`make peers`) from its own runs, stage by stage beside
other work: {results["date"]}, {results["machine"]}. The same
data, the same epsilon, the same unit (a row added or removed, the number of rows secret),
each library in its own environment and by the call that its documentation recommends. A cell
of the accuracy tables had at most {asked["runs"]:,} runs and at most about {asked["seconds"]:g} s;
a slow peer got fewer runs, and its standard error says so. `make peers` writes the page anew; a
stage (`--stages`) or a peer (`--only`) that is run by itself replaces its own figures alone."""


def _peers(results: Results) -> str:
    rows = []
    for name in NAMES:
        if name not in results["peers"]:
            continue
        module, peer = adapter(name), results["peers"][name]
        version = f"did not install: {peer['failed']}" if peer["failed"] else peer["version"]
        rows.append([module.TITLE, version, module.CALL, module.RETURNS, module.NOTE])
    repeats = [
        f"- {_title(name)}: {adapter(name).REPEATS}."
        for name in _present(results, "accuracy")
        if adapter(name).REPEATS
    ]
    return (
        "## Who, and by which call\n\n"
        + _table(["library", "version", "call", "gives back", "to know"], rows)
        + "\n\nFor the accuracy alone, where the call itself would take too long:\n\n"
        + "\n".join(repeats)
    )


def _accuracy(results: Results) -> str:
    found = ratios(results)
    asked = [n for n in _present(results, "accuracy") if adapter(n).ADJACENCY == "add-remove"]
    names = [name for name in asked if found[name]]
    parts = [
        "## Accuracy\n\n"
        "n^2 MSE / width^2 over sigma^2, the least possible worst case for real values: less is "
        "better, and one is the floor of the worst case. Ours at a mean of alpha is to be "
        "(1-alpha)^2 + alpha^2: 0.82 at 0.1, 0.5 in the middle, less on yes/no data. At n = 100 "
        "and a small epsilon all answers are clipped or wild, and the ratio says little. In "
        "brackets the factor over ours; ± is one standard error; n/r: not reached in time.\n\n"
        "![error over epsilon](comparison/error.png)\n\n"
        f"(Points with a standard error above {100 * charts.MOST:.0f} % are not drawn.)"
    ]
    for cell in CELLS:
        rows = []
        for epsilon in EPSILONS:
            own = found["ours"].get((cell.title, epsilon))
            row = [f"{epsilon:g}"]
            for name in names:
                point = found[name].get((cell.title, epsilon))
                row.append(_point(point, own if name != "ours" else None))
            rows.append(row)
        parts.append(
            f"**{cell.title[0].upper()}{cell.title[1:]}**\n\n"
            + _table(["epsilon", *[_title(name) for name in names]], rows)
        )
    for name in asked:
        if name not in names:
            why = results["accuracy"][name][0]["failed"]
            parts.append(f"{_title(name)} answered in no cell within its time (the first: {why}).")
    invalid = {
        name: sum(row.get("invalid", 0) for row in results["accuracy"][name]) for name in names
    }
    if any(invalid.values()):
        said = ", ".join(f"{_title(n)} {count:,}" for n, count in invalid.items() if count)
        parts.append(
            "Answers that were infinite or no number (a noisy count of zero) are left out of the "
            f"errors, in the peer's favour. There were: {said}."
        )
    if "diffprivlib" in found:
        rows = [
            [f"{e:g}", *[_point(found["diffprivlib"].get((c.title, e)), None) for c in CELLS[:4]]]
            for e in EPSILONS
        ]
        parts.append(
            "**Not comparable: diffprivlib**, whose number of records is public. In the same "
            "units, for the record:\n\n"
            + _table(["epsilon", *[cell.title for cell in CELLS[:4]]], rows)
        )
    return "\n\n".join(parts)


def _point(point: tuple[float, float, int] | None, own: tuple[float, float, int] | None) -> str:
    if point is None:
        return "n/r"
    value, error, _ = point
    share = 100 * error / value if value else 0.0
    factor = f" ({_three(value / own[0])}x)" if own else ""
    return f"{_three(value)} ± {share:.0f} %{factor}"


def _three(value: float) -> str:
    if value >= 1e5:
        return f"{value:.1e}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _time(value: Any) -> str:
    if not isinstance(value, float):
        return str(value if value is not None else "–")
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def _speed(results: Results) -> str:
    speed = results["speed"]
    names = _present(results, "speed")
    head = ["", *[_title(name) for name in names]]
    rows = []
    for title, *_ in SPEEDS:
        ours, row = speed["ours"].get(title), [title]
        for name in names:
            value = speed[name].get(title)
            known = isinstance(value, float) and isinstance(ours, float) and name != "ours"
            row.append(_time(value) + (f" ({_three(value / ours)}x)" if known else ""))
        rows.append(row)
    rows.append(["import", *[_time(speed[name].get("import")) for name in names]])
    sizes = [results["peers"][name]["megabytes"] for name in names]
    rows.append(["install size", *[f"{size:,.0f} MB" for size in sizes]])
    for key in ("memory after import", "memory with the data", "peak memory"):
        found = [speed[name].get(key) for name in names]
        title = {"peak memory": "peak memory after a release of 1,000,000 rows"}.get(key, key)
        rows.append([title, *["–" if v is None else f"{v:,.0f} MB" for v in found]])
    return (
        "## Speed and memory\n\n"
        "Epsilon 1, keys public, each library's own data structure made beforehand. Times are "
        "medians taken turn by turn in one run on a machine that had other work, so read the "
        "factors over ours, in brackets (above one: slower than ours), before the times. An "
        "answer that took too long was given up (over so many seconds), and larger questions were "
        "then not asked. Memory is that of the process with its children; the data "
        "start as a Python list in each. For PyDP the loop over groups is ours.\n\n"
        + _table(head, rows)
        + "\n\n![time over groups](comparison/groups.png)"
    )


def _behaviour(results: Results) -> str:
    rows = []
    for name in _present(results, "behaviour"):
        if name == "plain":
            continue
        said = [results["behaviour"][name][case].replace("|", "\\|") for case in CASES]
        rows.append([_title(name), *[s if len(s) < 160 else s[:157] + "..." for s in said]])
    return (
        "## Behaviour on hard inputs\n\n"
        "What came back when it was run. *NaN*: 500 times 0.25 and 500 NaN at epsilon 20 (0.25: "
        "the NaN were left out; 0.38: they counted as the middle); *empty input*: no rows; "
        "*empty group*: a public key that no row has (a number there is noise and nothing else); "
        "*missing bound*: 1000 times 0.25 and no bounds.\n\n" + _table(["library", *CASES], rows)
    )


def _shown(results: Results) -> str:
    found, lines = ratios(results), []
    peers = [n for n in found if n != "ours" and adapter(n).ADJACENCY == "add-remove" and found[n]]
    factors = {
        (name, *key): (point[0] / found["ours"][key][0], _spread(point, found["ours"][key]))
        for name in peers
        for key, point in found[name].items()
        if key in found["ours"]
    }
    vague = {key for key, (factor, spread) in factors.items() if spread > VAGUE * factor}
    told = {key: value for key, value in factors.items() if key not in vague}
    lost = sorted((v[0], k) for k, v in told.items() if v[0] < 1)
    close = sorted((v[0], k) for k, v in told.items() if 1 <= v[0] < 1.9)
    lines.append(
        f"- **Error.** {len(told)} comparisons at equal epsilon with a secret n: ours is "
        f"smaller in {len(told) - len(lost)}, by a factor of 1.9 or more in "
        f"{len(told) - len(lost) - len(close)}. Another {len(vague)} are not counted: their "
        f"standard error is above {100 * VAGUE:.0f} %, for want of runs or because the peer's "
        "error is ruled by rare, huge answers; their point estimate favours the peer in "
        f"{sum(factors[key][0] < 1 for key in vague)}."
    )
    if lost or close:
        lines += ["", "  Where the factor is below 1.9:", ""]
        rows = [
            [
                _title(name),
                cell,
                f"{epsilon:g}",
                f"{factor:.2f} ± {factors[name, cell, epsilon][1]:.2f}",
            ]
            for factor, (name, cell, epsilon) in lost + close
        ]
        table = _table(["library", "data", "epsilon", "its MSE over ours"], rows)
        lines += ["  " + line for line in table.splitlines()]
        lines += ["", "  " + WHY_CLOSE]
    speed = results["speed"]
    last = SPEEDS[-1][0]
    ours = speed["ours"].get(last)
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
            f"within {results['patience']:g} s, {results['patience'] / ours:.0f} times as long."
        )
    if isinstance(ours, float) and "pydp" in rivals:
        lines.append(
            f"  PyDP in a loop written by hand took {rivals['pydp'] / ours:.1f} times as long as "
            "ours."
        )
    slower = [
        f"{title} ({_title(n)} {ours_t / speed[n][title]:.1f} times as fast)"
        for title, *_ in SPEEDS
        for n in speed
        if n not in ("ours", "plain")
        and isinstance(speed[n].get(title), float)
        and isinstance(ours_t := speed["ours"].get(title), float)
        and speed[n][title] < ours_t
    ]
    if slower:
        lines.append("- **Where we lose on time:** " + "; ".join(slower) + ". " + WHY_SLOWER)
    return "## What it shows\n\n" + "\n".join(lines)


def _spread(point: tuple[float, float, int], own: tuple[float, float, int]) -> float:
    if not point[0] or not own[0]:
        return math.nan
    return point[0] / own[0] * math.hypot(point[1] / point[0], own[1] / own[0])


#: A factor with a larger relative standard error than this tells nothing.
VAGUE = 0.15
WHY_CLOSE = (
    "Two kinds. Where n * epsilon is about 50 or less, the noise is as large as the data and every "
    "estimate that is clipped is pressed against its bounds: the error cannot grow any more, so "
    "the factor shrinks. Elsewhere the theory says about 2 for small epsilon, and a factor "
    "within two of its standard errors of 2 is no sign of another."
)
WHY_SLOWER = (
    "A release of ours checks the request, quantises the values to an exact grid, draws exact "
    "integers from secure bits and carries its intervals and its statement; a compiled call that "
    "adds floating-point noise to a sum does less."
)


def _choice() -> str:
    return """## Where a peer is the better choice

- **Other statistics.** Quantiles, variances, histograms, vector means, regressions: OpenDP, Tumult
  Analytics and Google's libraries have them, we have the mean, the sum and the count of one column.
- **(epsilon, delta) and zCDP across many mechanisms.** With many releases in one analysis, Gaussian
  noise and its accounting are better than any pure-epsilon noise; OpenDP, PipelineDP and Tumult do
  that. Ours can take part: `hourglass.contrib.opendp` is an OpenDP measurement, and
  `hourglass.contrib.dp_accounting` gives the event for Google's accountants.
- **Rows that are spread over people in complicated ways.** Tumult tracks joins and truncations
  through a whole query; PipelineDP samples contributions across partitions on Beam and Spark.
- **A public number of records.** Then diffprivlib's promise is enough, and its simple noise on the
  sum is near the best for small epsilon; our `algorithm="swap"` is the optimal one.
- **C++, Go, Java, Rust.** Google's library and OpenDP are at home there; we are Python."""
