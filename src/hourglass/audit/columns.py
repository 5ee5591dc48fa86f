"""The empirical audit and the grey box for several columns that share one count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..ask.run import mean
from ..core.limits import Bounds, Grid, Unit, per_person
from ..mechanisms.base import make
from .column_paths import (
    NAMES,
    array_paths,
    row_neighbours,
    row_paths,
    sampler_of_columns,
)
from .empirical import ALPHA, LowerBound, Progress, empirical_finding, lower_bound, one_by_one
from .finding import Finding, grid_text
from .greybox import greybox_finding
from .paths import grouped_path, person_path, written
from .searches import KEYS, TOUCHED

__all__ = ["empirical_columns", "greybox_columns", "persons_columns_finding", "public_columns"]

#: The public function answers one question at a time: one release of it for this many draws.
SLOWER: Final = 250
#: The fewest releases from which an event can be learned.
FEWEST: Final = 1000


def empirical_columns(
    epsilon: Fraction,
    grid: int,
    *,
    samples: int,
    alpha: float = ALPHA,
    progress: Progress | None = None,
) -> Iterator[tuple[Finding, LowerBound]]:
    """The lower bound on epsilon for a row at two corners of the box, added to no rows.

    First with the mechanism of two columns, with half as many draws as for one column, then with
    the public function.
    """
    mechanism = make("hourglass", epsilon, (Grid(Bounds(0.0, 1.0), grid),) * 2, "columns")
    pairs = (
        ("a row at one lower and one upper bound", (0, grid, 1)),
        ("a row at both upper bounds", (grid, grid, 1)),
    )
    subject = f"hourglass of 2 columns, epsilon {epsilon}, grid {grid_text(grid)}"
    for name, totals in pairs:
        bound = lower_bound(
            sampler_of_columns(mechanism),
            (0, 0, 0),
            totals,
            samples=max(FEWEST, samples // 2),
            alpha=alpha / (len(pairs) + 1),
            progress=progress,
            threads=min(4, os.cpu_count() or 1),
        )
        yield empirical_finding(subject, epsilon, bound, pairs=name), bound
    yield public_columns(
        epsilon, samples=max(FEWEST, samples // SLOWER), alpha=alpha / (len(pairs) + 1)
    )


def public_columns(
    epsilon: Fraction, *, samples: int, alpha: float = ALPHA
) -> tuple[Finding, LowerBound]:
    """The same with ``hourglass.mean`` itself: rows of two columns, and one added row."""

    def release(rows: Any) -> tuple[int, ...]:
        found: Any = mean(rows, bounds=(0.0, 1.0), epsilon=epsilon, grid=2)
        return (*(round(2 * found[name].sum) for name in found), found.count)  # in whole cells

    rows = np.zeros((5, 2))
    more = np.vstack([rows, [[0.0, 1.0]]])
    bound = lower_bound(one_by_one(release), rows, more, samples=samples, alpha=alpha)
    subject = f"hourglass.mean of 2 columns, epsilon {epsilon}"
    return empirical_finding(subject, epsilon, bound, pairs="a row at two bounds"), bound


def greybox_columns(epsilon: Fraction, grid: int | None, folder: Path) -> Iterator[Finding]:
    """Every kind of table with two columns; rows by group; persons with many rows."""
    bounds = (0.0, 10.0)
    pairs = list(row_neighbours(*bounds))
    given = epsilon, bounds, grid
    for path in (*array_paths(*given), *row_paths(*given, folder)):
        yield greybox_finding(path, pairs)
    yield from _groups(epsilon, folder, bounds)
    for unit in (per_person("id"), per_person("id", rows=2)):
        yield persons_columns_finding(epsilon, unit, folder)


def _groups(epsilon: Fraction, folder: Path, bounds: tuple[float, float]) -> Iterator[Finding]:
    for touched in TOUCHED[1::2]:  # a group with rows, and one that is not listed
        path = grouped_path(
            "two columns", lambda rows: written(folder / "column_groups.csv", ("g", *NAMES), rows),
            list(NAMES), touched, epsilon=epsilon, bounds=bounds, keys=KEYS,
        )  # fmt: skip
        pairs: list[tuple[str, list[Any], list[Any]]] = []
        for name, rows, more in row_neighbours(*bounds):
            if rows:
                base = pairs[0][1] if pairs else [(KEYS[i % 2], *row) for i, row in enumerate(rows)]
                pairs.append((name, base, [*base, (touched, *more[-1])]))
        yield greybox_finding(path, pairs)


def persons_columns_finding(epsilon: Fraction, unit: Unit, folder: Path) -> Finding:
    """One person with many rows moves all columns and the count by at most what the unit allows."""
    others = [("ann", 1.0, 7.0), ("bob", 9.0, 0.0), ("bob", 2.0, 2.0)]
    pairs: list[tuple[str, list[Any], list[Any]]] = [
        ("a person with three rows", others, [*others, *[("zoe", 10.0, 0.0)] * 3]),
        ("a person with a missing value", others, [*others, ("zoe", 10.0, ""), ("zoe", 5.0, 5.0)]),
        ("the only person", [], [("zoe", 5.0, 10.0), ("zoe", 10.0, 10.0)]),
    ]
    return greybox_finding(person_path("with two columns", epsilon, folder, unit, NAMES), pairs)
