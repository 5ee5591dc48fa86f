"""The grey-box audit of groups and of the search for bounds: one row changes one entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from ..ask.search import BoundsQuestion, bounds_question
from ..core.limits import Counts, Scale, counts_from_histogram
from .finding import Finding
from .greybox import greybox_finding, neighbours
from .paths import grouped_path, tables, written

__all__ = ["audit_bounds", "audit_groups", "bounds_finding", "group_pairs"]

#: The public names of the groups: two with rows, one without; and the groups of added rows.
KEYS: Final = ("north", "south", "empty")
TOUCHED: Final = (*KEYS, "unlisted")
#: Fewer rows than this are covered by the paths without groups.
MANY: Final = 100
#: A few candidates for bounds, so that every bucket is reached.
CANDIDATES: Final = (-5.0, 0.0, 2.5, 9.0, 40.0)
#: Makes a question for the bounds of these values.
Ask = Callable[[Sequence[float]], BoundsQuestion]


def group_pairs(
    bounds: tuple[float, float], touched: str
) -> list[tuple[str, list[Any], list[Any]]]:
    """Pairs of neighbours, with no rows or many, and one added row in the touched group."""
    found = []
    bases: dict[int, list[Any]] = {}  # one base for all its neighbours, so that it is recorded once
    for name, values, added in neighbours(*bounds):
        if 0 < len(values) < MANY:
            continue
        rows = bases.setdefault(len(values), [(KEYS[i % 2], x) for i, x in enumerate(values)])
        found.append((name, rows, [*rows, (touched, added[-1])]))
    return found


def audit_groups(epsilon: Fraction, folder: Path) -> Iterator[Finding]:
    """A row of a listed group, of an empty one and of one that is not listed, in a file."""
    bounds = (0.0, 10.0)
    for touched in TOUCHED:
        path = grouped_path(
            "CSV file", lambda rows: written(folder / "groups.csv", ("g", "x"), rows), "x",
            touched, epsilon=epsilon, bounds=bounds, keys=KEYS,
        )  # fmt: skip
        yield greybox_finding(path, group_pairs(bounds, touched))


def audit_bounds(epsilon: Fraction, folder: Path) -> Iterator[Finding]:
    """The search for bounds, on values in memory and in a file."""

    def of_list(values: Sequence[float]) -> BoundsQuestion:
        return bounds_question(list(values), epsilon=epsilon, scale=CANDIDATES)

    def of_file(values: Sequence[float]) -> BoundsQuestion:
        path = tables(folder)["CSV file"](values)
        return bounds_question(path, "x", epsilon=epsilon, scale=CANDIDATES)

    yield bounds_finding("bounds of a list", of_list)
    yield bounds_finding("bounds of a CSV file", of_file)


def bounds_finding(name: str, ask: Ask) -> Finding:
    """An added record raises the count of its own bucket by one, and of no other.

    The search uses only these counts, and its law is private for such a step; a missing value may
    change nothing.
    """
    bases: tuple[list[float], ...] = ([], [3.0], [float(i % 61 - 10) for i in range(200)])
    pairs = 0
    for base in bases:
        request = ask(base)
        before = request.read()
        for value in _candidates_and_around(request.scale):
            pairs += 1
            after = ask([*base, value]).read()
            if after != before + _step(request.scale, value):
                words = f"{value!r} added to {len(base)} records: not one bucket by one"
                return Finding("grey box", name, False, words, {"value": repr(value)})
    words = f"{pairs} pairs of neighbours, one bucket of the scale differs, by one"
    return Finding("grey box", name, True, words, {"pairs": pairs})


def _candidates_and_around(scale: Scale) -> list[float]:
    around = [math.inf, -math.inf, math.nan, 1e300, -1e300]
    for end in scale.candidates:
        around += [float(end), math.nextafter(end, -math.inf), math.nextafter(end, math.inf)]
    return around


def _step(scale: Scale, value: float) -> Counts:
    bucket = scale.bucket(value)
    return counts_from_histogram(scale, {} if bucket is None else {bucket: 1})
