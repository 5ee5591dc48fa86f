"""docs/comparison.md and its charts, from the results of a run and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import hourglass as hg

from . import charts
from .adapters import NAMES
from .environments import adapter
from .limits import least_mse
from .measure import CASES, CELLS, DROWNED, EPSILONS, LEAST, Cell
from .quick import section as _quick
from .tables import table as _table
from .tables import three as _three
from .wide import section as _columns
from .worker import drawn as data_of

Results = dict[str, Any]


def write(results: Results, out: Path) -> None:
    """The page, and the pictures beside it."""
    pictures = out / "comparison"
    pictures.mkdir(parents=True, exist_ok=True)
    charts.error_over_epsilon(ratios(results), pictures / "error.png")
    charts.time_over_groups(results, pictures / "groups.png")
    (out / "comparison.md").write_text(page(results))


@dataclass(frozen=True)
class Point:
    """n^2 MSE / (width^2 sigma^2) of a cell, its standard error, the runs it is made of.

    ``median`` is the median of the squared errors in the same units; ``largest`` is the share
    of the largest of them in their sum.
    """

    value: float
    error: float
    median: float
    largest: float
    runs: int

    @property
    def spread(self) -> float:
        """The relative standard error."""
        return self.error / self.value if self.value else math.inf

    @property
    def vague(self) -> bool:
        """Whether the standard error is above what was aimed at."""
        return self.spread > AIM

    @property
    def wild(self) -> bool:
        """Whether that is so for all the runs: rare answers rule."""
        return self.vague and self.runs >= MANY


#: What the accuracy was run with.
LIMITS: Final = ("target", "minutes", "jobs")
#: The relative standard error that a cell is to have at most.
AIM: Final = 0.03
#: So many runs are enough for a standard error of 2.5 % where errors are like Laplace noise.
MANY: Final = 8_000
#: Of fewer runs than this nothing can be said.
FEW: Final = 100
#: The factor over ours that is to be shown: two, with room for sampling errors.
SHOWN: Final = 1.9

Points = dict[str, dict[tuple[str, float], Point]]


def ratios(results: Results) -> Points:
    """The points by peer, cell and epsilon."""
    return {
        name: {key: point for row in rows if "failed" not in row for key, point in [_placed(row)]}
        for name, rows in results["accuracy"].items()
    }


def small_ratios(results: Results) -> dict[tuple[str, float], Point]:
    """Those of ours with the estimate for a small n * epsilon, where they were measured."""
    return dict(
        _placed({**row, **row["small"]}) for row in results["accuracy"]["ours"] if "small" in row
    )


def _placed(row: Results) -> tuple[tuple[str, float], Point]:
    cell, epsilon = _cell(row["cell"]), row["epsilon"]
    width = cell.bounds[1] - cell.bounds[0]
    scale = (cell.rows / width) ** 2 / hg.accuracy.sigma2(epsilon)
    mse, error, median = (row[key] * scale for key in ("mse", "error", "median"))
    return (cell.title, epsilon), Point(mse, error, median, row["largest"], row["runs"])


def _cell(title: str) -> Cell:
    (cell,) = [cell for cell in CELLS if cell.title == title]
    return cell


def page(results: Results) -> str:
    parts = [_head(results), _peers(results), _accuracy(results), _columns(results)]
    return (
        "\n\n".join([*parts, _quick(results), _behaviour(results), _shown(results), _choice()])
        + "\n"
    )


def _title(name: str) -> str:
    return str(adapter(name).TITLE)


def _present(results: Results, stage: str) -> list[str]:
    return [name for name in NAMES if name in results[stage]]


def _head(results: Results) -> str:
    return f"""# Side by side with the peers

The same data, the same epsilon, the same unit (a row added or removed, the number of rows secret),
each library in its own environment and by the call that its documentation recommends.
{_when(results)}

`make peers` rewrites this page. A stage (`--stages`) or a peer (`--only`) that is run by itself
replaces only its own figures; the sections on several columns and on speed say when they were
measured, and with which version of hourglass."""


def _when(results: Results) -> str:
    """Of which runs the figures are: one, or who was measured when."""
    by: dict[str, dict[str, list[str]]] = {}
    for stage, names in results["when"].items():
        for name, run in names.items():
            by.setdefault(run, {}).setdefault(stage, []).append(_title(name))
    if len(by) == 1:
        (run,) = by
        took = results["runs"][run]["took"]
        stages = ", ".join(f"{stage} {minutes:.0f}" for stage, minutes in took.items())
        return f"All figures are of one run: {_circumstances(results, run)}, minutes: {stages}."
    lines = ["The figures were put together from several runs:", ""]
    for run, stages_of in sorted(by.items()):
        parts = [f"{stage} of {', '.join(names)}" for stage, names in stages_of.items()]
        lines.append(f"- {_circumstances(results, run)}: " + "; ".join(parts))
    return "\n".join(lines)


def _circumstances(results: Results, run: str) -> str:
    made = results["runs"][run]
    load = "" if made["load"] is None else f", load {made['load']:.1f} before it began"
    return f"{run}, {made['machine']}{load}"


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
        + _table(["library", "version", "call", "returns", "notes"], rows)
        + "\n\nFor the accuracy alone, where the call itself would take too long:\n\n"
        + "\n".join(repeats)
    )


def _accuracy(results: Results) -> str:
    found = ratios(results)
    asked = [n for n in _present(results, "accuracy") if adapter(n).ADJACENCY == "add-remove"]
    names = [name for name in asked if found[name]]
    runs = [results["runs"][run] for run in results["when"]["accuracy"].values()]
    target, minutes, jobs = (_span(run[key] for run in runs) for key in LIMITS)
    parts = [
        "## Accuracy\n\n"
        "The figures are n^2 MSE / width^2 over sigma^2, which is the least possible worst case "
        "for real values: less is better, and no method is below one in the worst case. Ours at a "
        "mean of alpha should be (1-alpha)^2 + alpha^2: 0.82 at 0.1, 0.5 in the middle, less on "
        "yes/no data. At n = 100 and a small epsilon all answers are clipped or wild, and the "
        "ratio says little. In brackets is the factor over ours; ± is one standard error; n/r "
        "means not reached in time.\n\n"
        f"A cell is run for at least {LEAST:g} s, then until its relative standard error is "
        f"below {target} or its share of the library's {minutes} minutes is spent; "
        f"libraries run at a time: {jobs}. "
        f"A star marks a standard error above {100 * AIM:g} %.\n\n"
        "![error over epsilon](comparison/error.png)\n\n"
        f"(Points with a standard error above {100 * charts.MOST:.0f} % are not drawn. Tumult, "
        "PyDP and PipelineDP add the same noise; their lines coincide.)"
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
    parts.append(_reached({name: found[name] for name in found if found[name]}))
    parts += _wild(found, names)
    said = [_invalid(name, results["accuracy"][name]) for name in names]
    if any(said):
        parts.append(
            "Answers that were infinite or not a number (a noisy count of zero) are left out of "
            f"the errors, in the peer's favour. There were: {', '.join(filter(None, said))}."
        )
    if "diffprivlib" in found:
        points = found["diffprivlib"]
        rows = [
            [cell.title, *[_point(points.get((cell.title, e)), None) for e in EPSILONS]]
            for cell in CELLS
        ]
        parts.append(
            "**Not comparable: diffprivlib**, whose number of records is public. In the same "
            "units, for the record, by epsilon:\n\n"
            + _table(["data", *[f"{e:g}" for e in EPSILONS]], rows)
        )
    return "\n\n".join(parts)


def _invalid(name: str, rows: list[dict[str, Any]]) -> str:
    """How many answers were no number, and their share where it is largest."""
    lost = [row for row in rows if row.get("invalid")]
    if not lost:
        return ""
    share, where = max(
        (
            row["invalid"] / (row["invalid"] + row["runs"]),
            f"{row['cell']}, epsilon {row['epsilon']:g}",
        )
        for row in lost
    )
    total = sum(row["invalid"] for row in lost)
    return f"{_title(name)} {total:,} (at most {100 * share:.2g} % of a cell: {where})"


def _span(values: Iterable[float]) -> str:
    """A number, or from where to where."""
    known = sorted(set(values))
    return f"{known[0]:g}" if len(known) == 1 else f"{known[0]:g} to {known[-1]:g}"


def _reached(found: Points) -> str:
    """How many runs there were, and what standard error came of them."""
    rows = []
    for name, points in found.items():
        spreads = sorted(100 * point.spread for point in points.values())
        runs = sorted(point.runs for point in points.values())
        vague = [point for point in points.values() if point.vague]
        wild = sum(point.wild for point in vague)
        rows.append(
            [
                _title(name),
                f"{len(points)} of {len(CELLS) * len(EPSILONS)}",
                f"{runs[0]:,} / {runs[len(runs) // 2]:,} / {runs[-1]:,}",
                f"{spreads[len(spreads) // 2]:.1f} %",
                f"{spreads[-1]:.1f} %",
                f"{len(vague) - wild}",
                f"{wild}",
            ]
        )
    over = f"above {100 * AIM:g} %"
    head = ["library", "cells", "runs: least / median / most", "median standard error", "largest"]
    return "**Runs and standard errors**\n\n" + _table(
        [*head, f"{over} for want of runs", f"{over} with {MANY:,} runs and more"], rows
    )


def _wild(found: Points, names: list[str]) -> list[str]:
    """The cells whose error is ruled by rare answers: the median beside the mean."""
    rows = []
    for name in names:
        for (title, epsilon), point in found[name].items():
            own = found["ours"].get((title, epsilon))
            if not point.wild or own is None:
                continue
            factor = f"{_three(point.median / own.median)}x" if own.median else "–"
            rows.append(
                [
                    _title(name), title, f"{epsilon:g}", f"{point.runs:,}",
                    f"{_three(point.value)} ± {100 * point.spread:.0f} %",
                    f"{100 * point.largest:.0f} %", f"{_three(point.median)} ({factor})",
                ]
            )  # fmt: skip
    if not rows:
        return []
    head = ["library", "data", "epsilon", "runs", "MSE", "share of the largest", "median"]
    return [
        "**Rare, huge answers.** Where a noisy count comes near zero and the ratio is not clipped, "
        "a few answers make up most of the mean squared error, and no feasible number of runs "
        "measures it well: it may be larger than stated here, since rarer answers have not been "
        "seen. The median of the squared errors, in the same units and with its factor over ours, "
        "shows how the usual answer fares:\n\n" + _table(head, rows)
    ]


def _point(point: Point | None, own: Point | None) -> str:
    if point is None:
        return "n/r"
    share = 100 * point.spread
    said = f"{share:.1f}" if share < 10 else f"{share:.0f}"
    factor = f" ({_three(point.value / own.value)}x)" if own and own.value else ""
    star = "\\*" if point.vague else ""
    return f"{_three(point.value)} ± {said} %{star}{factor}"


def _behaviour(results: Results) -> str:
    rows = []
    for name in _present(results, "behaviour"):
        if name == "plain":
            continue
        said = [results["behaviour"][name][case].replace("|", "\\|") for case in CASES]
        rows.append([_title(name), *[s if len(s) < 160 else s[:157] + "..." for s in said]])
    return (
        "## Behaviour on hard inputs\n\n"
        "What each library returned. *NaN*: 500 times 0.25 and 500 NaN at epsilon 20 (0.25: "
        "the NaN were left out; 0.38: they counted as the middle); *empty input*: no rows; "
        "*empty group*: a public key that no row has (a number there is noise and nothing else); "
        "*missing bound*: 1000 times 0.25 and no bounds.\n\n" + _table(["library", *CASES], rows)
    )


def _shown(results: Results) -> str:
    lines = _error_shown(ratios(results), small_ratios(results))
    return "## What it shows\n\n" + "\n".join(lines)


def _error_shown(found: Points, small: dict[tuple[str, float], Point]) -> list[str]:
    """Every comparison with a secret n counts; who comes close is named, and why.

    ``small`` is ours with the estimate for a small n * epsilon.
    """
    peers = [n for n in found if n != "ours" and adapter(n).ADJACENCY == "add-remove"]
    factors = {
        (name, *key): (point.value / own.value, math.hypot(point.spread, own.spread))
        for name in peers
        for key, point in found[name].items()
        if (own := found["ours"].get(key)) and own.value
    }
    lost = [key for key, (factor, _) in factors.items() if factor < 1]
    close = sorted((k for k in factors if factors[k][0] < SHOWN), key=lambda k: factors[k][0])
    vague = [key for key, (_, spread) in factors.items() if spread > math.sqrt(2) * AIM]
    lines = [
        f"- **Error.** {len(factors)} comparisons at equal epsilon with a secret n: ours is "
        f"smaller in {len(factors) - len(lost)}, by a factor of {SHOWN} or more in "
        f"{len(factors) - len(close)}. In {len(vague)} of them the factor has a standard error "
        f"above {100 * math.sqrt(2) * AIM:.1f} % ({100 * AIM:g} % on either side); of these, ours "
        f"is smaller in {sum(factors[key][0] >= 1 for key in vague)}."
    ]
    if not close:
        return lines
    rows = []
    for name, title, epsilon in close:
        factor, spread = factors[name, title, epsilon]
        if _cell(title).rows * epsilon <= DROWNED:
            why = "n * epsilon is small"
        elif found[name][title, epsilon].runs < FEW:
            why = "few runs"
        elif factor * (1 + 2 * spread) >= SHOWN:
            why = "within two standard errors"
        else:
            why = "neither"
        said = [f"{factor:.2f} ± {factor * spread:.2f}", "–"]
        if own := small.get((title, epsilon)):
            peer = found[name][title, epsilon]
            factor, spread = peer.value / own.value, math.hypot(peer.spread, own.spread)
            said[1] = f"{factor:.2f} ± {factor * spread:.2f}"
        rows.append([_title(name), title, f"{epsilon:g}", *said, why])
    over = ["its MSE over ours", 'with `estimator="jeffreys"`']
    table = _table(["library", "data", "epsilon", *over, "why"], rows)
    lines += ["", f"  Where the factor is below {SHOWN}:", ""]
    lines += ["  " + line for line in table.splitlines()]
    reasons = {row[-1] for row in rows}
    lines += ["", "  " + " ".join(WHY_CLOSE[why] for why in WHY_CLOSE if why in reasons)]
    return lines + [
        f"  {limit}" for key in close if (limit := _unreachable(*key, found)) is not None
    ]


def _unreachable(name: str, title: str, epsilon: float, found: Points) -> str | None:
    """In words, that the factor is out of reach of any estimate; None if it is not known to be."""
    cell = _cell(title)
    if cell.rows * epsilon > DROWNED:
        return None
    values = data_of(cell.kind, cell.rows, cell.mean, 0.0)
    floor = least_mse(epsilon, cell.rows, math.fsum(values) / cell.rows)
    floor *= cell.rows**2 / hg.accuracy.sigma2(epsilon)
    value = found[name][title, epsilon].value
    if value >= 2 * floor:
        return None
    return (
        f"To be twice as good as {_title(name)} on {title}, at epsilon {epsilon:g}, and on its "
        "mirror image is out of reach of any estimate from our noisy totals: given n, and given "
        "that the mean is one of these two, the best guess still has an error of "
        f"{floor:.3f} in one of them, {value / floor:.2f} times less."
    )


WHY_CLOSE: Final = {
    "n * epsilon is small": (
        f"*n * epsilon is small* ({DROWNED:g} or less): the noise is as large as the data and "
        "every clipped estimate is pushed against its bounds; the error cannot grow any "
        "further, so the factor shrinks."
    ),
    "few runs": (
        f"*Few runs* (under {FEW}): with so few answers not even the standard error is known. "
        "Of sets of twenty answers with Laplace errors, one in ten shows a squared error that is "
        "still too small by a fifth after two of its own standard errors are added."
    ),
    "within two standard errors": (
        f"*Within two standard errors*: {SHOWN} or more is not ruled out by the runs that there "
        "were; the theory says about 2 for small epsilon and more for large."
    ),
    "neither": "*Neither*: the factor is smaller than expected, and we know of no reason.",
}


def _choice() -> str:
    return """## Where a peer is the better choice

- **Other statistics.** Quantiles, histograms, regressions: OpenDP, Tumult Analytics and Google's
  libraries have them; we have means, sums, counts and standard deviations.
- **(epsilon, delta) and zCDP across many mechanisms.** With many releases in one analysis, Gaussian
  noise and its accounting are better than any pure-epsilon noise; OpenDP, PipelineDP and Tumult do
  that. Ours can take part: `hourglass.contrib.opendp` is an OpenDP measurement, and
  `hourglass.contrib.dp_accounting` gives the event for Google's accountants.
- **Rows that are spread over people in complicated ways.** Tumult tracks joins and truncations
  through a whole query; PipelineDP samples contributions across partitions on Beam and Spark.
- **A public number of records.** Then diffprivlib's promise is enough, and its simple noise on the
  sum is near the best for small epsilon; our `algorithm="swap"` is the optimal one.
- **C++, Go, Java, Rust.** Google's library and OpenDP are available there;
  hourglass is Python only."""
