"""The section of the comparison on several columns, which can also be replaced by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import hourglass as hg

from .adapters import NAMES
from .environments import adapter
from .measure import WAYS, WIDE, WIDE_EPSILONS, Wide
from .sections import replaced
from .tables import table as _table
from .tables import three as _three

Results = dict[str, Any]

HEADING: Final = "## Several columns from one epsilon"
_WORDS: Final = {"means": "its call for means", "sums": "one count and the sums, by hand"}


def write_columns(results: Results, out: Path) -> None:
    """The section in a page that is there already; everything else on it stays."""
    page = out / "comparison.md"
    page.write_text(replaced(page.read_text(), section(results)))


def section(results: Results) -> str:
    """The tables, how each library was asked, and what came of it."""
    found = results["columns"]
    names = [n for n in NAMES if n in found and adapter(n).ADJACENCY == "add-remove"]
    parts = [_head(results), _calls(results, [n for n in NAMES if n in found])]
    for cell in WIDE:
        rows = [
            [f"{epsilon:g}", _WORDS[way], *[_shown(found, n, cell, epsilon, way) for n in names]]
            for epsilon in WIDE_EPSILONS
            for way in WAYS
        ]
        head = ["epsilon", "way", *[str(adapter(name).TITLE) for name in names]]
        parts.append(f"**{cell.title}**\n\n" + _table(head, rows))
    if "diffprivlib" in found:
        parts.append(_public(found))
    return "\n\n".join([*parts, _summary(found, names)])


def _head(results: Results) -> str:
    runs = sorted(
        {
            row.get("run", results["when"]["columns"][name])
            for name, rows in results["columns"].items()
            for row in rows
            if "failed" not in row
        }
    )
    made = [results["runs"][run] for run in runs]
    minutes = sorted({each["wide_minutes"] for each in made})
    return (
        f"{HEADING}\n\n"
        "Three and ten columns of reals in (0, 1), each with a mean of 0.1, at one total epsilon "
        "and with a secret n. The figures are n^2 MSE, averaged over the columns, over the "
        "sigma^2 of a single column: with one column ours would be 0.82. In brackets is the "
        "factor over ours; ± is one standard error; n/r means not reached in time. Where a noisy "
        "count comes near zero and the ratio is not clipped, rare answers make up the error.\n\n"
        "*Its call for means* is the one that the library offers for several means, or its mean "
        "asked for each column at an equal part of epsilon. *One count and the sums, by hand* is "
        "the best that can be made of its other calls: a noisy count and, for each column, a "
        "noisy sum of the values less the middle of their bounds, each at epsilon over d + 1; we "
        "take the ratios and clip them to the bounds. A library that answers column by column is "
        "measured on the first column alone where that saves time; the others are alike."
        f"\n\nMeasured {', '.join(runs)}, {made[0]['machine']}, by `python -m benchmarks.peers "
        f"--stages columns`: each cell until its relative standard error is below "
        f"{max(each['target'] for each in made):g} or its share of the library's "
        f"{' or '.join(f'{each:g}' for each in minutes)} minutes is spent."
    )


def _calls(results: Results, names: list[str]) -> str:
    rows = []
    for name in names:
        module, peer = adapter(name), results["peers"][name]
        rows.append([module.TITLE, peer["version"], module.MEANS, module.SUMS or "–"])
    return _table(["library", "version", *_WORDS.values()], rows)


def _row(found: Results, name: str, cell: Wide, epsilon: float, way: str) -> Results | None:
    for row in found[name]:
        if (row["cell"], row["epsilon"], row["way"]) == (cell.title, epsilon, way):
            return None if "failed" in row else dict(row)
    return None


def _value(row: Results, cell: Wide) -> float:
    scale = cell.rows**2 / hg.accuracy.sigma2(row["epsilon"])
    return float(row["mse"] * scale)


def _shown(found: Results, name: str, cell: Wide, epsilon: float, way: str) -> str:
    if not getattr(adapter(name), way.upper()):
        return ""
    row = _row(found, name, cell, epsilon, way)
    if row is None:
        return "n/r"
    said = f"{_three(_value(row, cell))} ± {100 * row['error'] / row['mse']:.1f} %"
    own = _row(found, "ours", cell, epsilon, "means")
    return said + (f" ({_three(row['mse'] / own['mse'])}x)" if own and name != "ours" else "")


def _public(found: Results) -> str:
    rows = [
        [cell.title, *[_shown(found, "diffprivlib", cell, e, "means") for e in WIDE_EPSILONS]]
        for cell in WIDE
    ]
    return (
        "**Not comparable: diffprivlib**, whose number of records is public. In the same units, "
        "by epsilon:\n\n" + _table(["data", *[f"{e:g}" for e in WIDE_EPSILONS]], rows)
    )


def _summary(found: Results, names: list[str]) -> str:
    """The least and the largest factor of every number of columns, in either way."""
    lines = []
    for columns in dict.fromkeys(cell.columns for cell in WIDE):
        for way in WAYS:
            factors = [
                row["mse"] / own["mse"]
                for cell in WIDE
                if cell.columns == columns
                for epsilon in WIDE_EPSILONS
                if (own := _row(found, "ours", cell, epsilon, "means"))
                for name in names
                if name != "ours" and (row := _row(found, name, cell, epsilon, way))
            ]
            if factors:
                lines.append(
                    f"- {columns} columns, {_WORDS[way]}: from {_three(min(factors))} to "
                    f"{_three(max(factors))} times the squared error of ours."
                )
    return "\n".join(lines)
