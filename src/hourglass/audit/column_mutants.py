"""Known mistakes with several columns, and the checks that must catch each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..core.limits import Bounds, Grid, per_row
from ..core.totals import NoisyColumns, Totals
from ..mechanisms.columns import HourglassColumns, box_lattice
from ..mechanisms.lattice import Lattice, Part, Point, span
from ..noise import Hourglass, HourglassBox
from ..noise.bits import SECURE, Bits
from .bench import Bench, Check, Mutant
from .column_paths import (
    answer_of,
    array_paths,
    complete,
    path_of_sums,
    row_neighbours,
    sampler_of_columns,
)
from .columns import persons_columns_finding
from .empirical import Array, Sampler
from .exact import exact_finding
from .finding import Finding
from .greybox import Path, greybox_finding
from .scripts import sampler_finding

__all__ = ["REAL_COLUMNS", "box_sampler", "column_mutants"]

REAL_COLUMNS = "none: the real one, two columns"
#: Cells of each column: few, so that all moves of a record are tried.
CELLS = (2, 3)


def column_mutants(bench: Bench) -> list[Mutant]:
    """The unmodified mechanism with two columns, then every mutant of it."""
    mechanism = _mechanism(bench.epsilon)
    return [
        _real(bench, mechanism),
        *_wrong_moves(bench, mechanism),
        *_wrong_law(bench, mechanism),
        *_wrong_rows(bench, mechanism),
    ]


def _mechanism(epsilon: Fraction) -> HourglassColumns:
    return HourglassColumns(epsilon, tuple(Grid(Bounds(0.0, 1.0), cells) for cells in CELLS))


def _real(bench: Bench, mechanism: HourglassColumns) -> Mutant:
    return Mutant(
        REAL_COLUMNS,
        (
            lambda: exact_finding(mechanism.lattice()),
            lambda: box_sampler(lambda law, bits: law.sample(bits=bits)),
            _moved(bench, mechanism, REAL_COLUMNS, (*CELLS, 1), (0, CELLS[1], 1)),
            lambda: _walked(path_of_sums(REAL_COLUMNS, mechanism, _complete_rows)),
        ),
    )


def box_sampler(draw: Callable[[HourglassBox, Bits], Any]) -> Finding:
    """Every script of 7 words of 2 bits, against the law of a box with two sides of one cell."""
    law = HourglassBox(2, [1, 1], [0, 0])
    support = [((x, y), k) for x, y, k in product((-1, 0, 1), repeat=3)]
    return sampler_finding(
        "hourglass of 2 columns, grids 1",
        lambda bits: draw(law, bits),
        lambda point: law.pmf(*point),
        support,
    )


def _moved(bench: Bench, mechanism: HourglassColumns, name: str, *moves: Point) -> Check:
    """The empirical check with the correct noise, on totals that differ by a wrong move."""
    pairs = (((0, 0, 0), move) for move in moves)
    return bench.sampled(name, sampler_of_columns(mechanism), *pairs)


def _walked(path: Path) -> Finding:
    return greybox_finding(path, list(row_neighbours(0.0, 1.0)))


# --- what a row adds ------------------------------------------------------------------------


def _cells(rows: Sequence[Any]) -> Array:
    """The cells of rows without missing values."""
    kept = np.array([row for row in rows if complete(row)], dtype=np.float64).reshape(-1, 2)
    return np.rint(np.clip(kept, 0.0, 1.0) * CELLS)


def _totals(cells: Array, count: int) -> Totals:
    first, second = cells.sum(axis=0)
    return Totals(int(first), count, (int(second),))


def _complete_rows(rows: Sequence[Any]) -> Totals:
    cells = _cells(rows)
    return _totals(cells, len(cells))


def _wrong_moves(bench: Bench, mechanism: HourglassColumns) -> list[Mutant]:
    law, (G, H) = mechanism.law, CELLS

    def uncounted(rows: Sequence[Any]) -> Totals:
        cells = _cells(rows)
        return _totals(cells, int((cells[:, 0] < G).sum()))

    def past_the_end(rows: Sequence[Any]) -> Totals:
        cells = _cells(rows)
        return _totals(cells + (cells == CELLS) * [0, 1], len(cells))

    def below_the_end(rows: Sequence[Any]) -> Totals:
        cells = _cells(rows)
        return _totals(cells - (cells == 0) * [0, 1], len(cells))

    def trial(name: str, moves: list[Point], totals: Callable[[Sequence[Any]], Totals]) -> Mutant:
        return Mutant(
            name,
            (
                lambda: exact_finding(box_lattice(law, moves=moves)),
                _moved(bench, mechanism, name, *moves),
                lambda: _walked(path_of_sums(name, mechanism, totals)),
            ),
        )

    return [
        trial("in the columns, not in the count", [(G, q, 0) for q in (0, H)], uncounted),
        trial("past the upper end of one column", [(q, H + 1, 1) for q in (0, G)], past_the_end),
        trial("below the lower end of that column", [(q, -1, 1) for q in (0, G)], below_the_end),
    ]


# --- the law --------------------------------------------------------------------------------


def _wrong_law(bench: Bench, mechanism: HourglassColumns) -> list[Mutant]:
    law = mechanism.law
    real = sampler_of_columns(mechanism)

    def turned(x: int, y: int, k: int) -> int:
        return law.level((x, -y), k)

    def turned_noise(data: Any, size: int) -> list[Array]:
        x, y, count = real((0, 0, 0), size)
        first, second, records = data
        return [first + x, second - y, law.grids[0] * records + count]

    def turned_draw(box: HourglassBox, bits: Bits) -> Any:
        x, k = box.sample(bits=bits)
        return (x[0], -x[1]), k

    corners = [((0, 0, 0), (*q, 1)) for q in ((0, CELLS[1]), (CELLS[0], 0))]
    return [
        Mutant(
            "the sign of one column flipped",
            (
                lambda: exact_finding(box_lattice(law, level=turned)),
                lambda: box_sampler(turned_draw),
                bench.sampled("turned", turned_noise, *corners),
            ),
        ),
        Mutant(
            "each column by itself at all of epsilon",
            (
                lambda: exact_finding(_apart(bench.epsilon)),
                bench.sampled(
                    "apart", _apart_sampler(bench.epsilon), ((0, 0, 0), (0, 0, 1)), *corners
                ),
            ),
        ),
    ]


def _apart(epsilon: Fraction) -> Lattice:
    """An hourglass for each column, each with its own count: a record moves both."""
    first, second = (Hourglass(epsilon, cells) for cells in CELLS)
    moves = [(q, 1, r, 1) for q in range(CELLS[0] + 1) for r in range(CELLS[1] + 1)]
    return Lattice(
        "two hourglasses",
        epsilon,
        (
            Part(lambda x, j, y, k: first.level(x, j), epsilon),
            Part(lambda x, j, y, k: second.level(y, k), epsilon),
        ),
        tuple(moves),
        tuple(span(reach) for reach in (3, 2, 4, 2)),
        None,
    )


def _apart_sampler(epsilon: Fraction) -> Sampler:
    laws = [Hourglass(epsilon, cells) for cells in CELLS]

    def sampler(data: Any, size: int) -> list[Array]:
        *sums, count = data
        found = []
        for law, total in zip(laws, sums, strict=True):
            x, k = law.sample(size, bits=SECURE)
            found += [total + x, count + k]
        return found

    return sampler


# --- which rows count -----------------------------------------------------------------------


def _wrong_rows(bench: Bench, mechanism: HourglassColumns) -> list[Mutant]:
    def any_value(rows: Sequence[Any]) -> Totals:
        """A row counts if it has any value; a missing one adds nothing."""
        kept = [row for row in rows if any(value == value for value in row)]
        filled = np.nan_to_num(np.array(kept, dtype=np.float64).reshape(-1, 2), nan=0.0)
        return _totals(np.rint(np.clip(filled, 0.0, 1.0) * CELLS), len(kept))

    def own_rows(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        """Each column uses the rows in which it has a value, and counts those."""
        sums, counts = [], []
        for i in range(2):
            cells = _cells([(row[i], row[i]) for row in rows])[:, i]
            sums.append(int(cells.sum()))
            counts.append(len(cells))
        first = mechanism.noise(Totals(sums[0], counts[0], (sums[1],)), bits=bits)
        (one, other), missed = first.columns, counts[1] - counts[0]
        weight = missed * other.parts * other.grid
        shifted = type(other)(other.cells, other.rest + weight, other.grid, other.parts)
        return answer_of(mechanism, NoisyColumns((one, shifted)))

    arrays = array_paths(bench.epsilon, (0.0, 1.0), CELLS[1])[0]

    def poisoned(rows: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        if any(row[0] == row[0] and row[1] != row[1] for row in rows):
            raise ValueError("columns of different lengths")
        return arrays.run(rows, bits)

    def persons() -> Finding:
        with TemporaryDirectory() as folder:
            return persons_columns_finding(bench.epsilon, per_row(), Folder(folder))

    return [
        Mutant(
            "a row counted with a column missing",
            (lambda: _walked(path_of_sums("any", mechanism, any_value)),),
        ),
        Mutant(
            "each column's own rows, one noise",
            (lambda: _walked(Path("own rows", own_rows)),),
        ),
        Mutant(
            "an error where one column is missing",
            (lambda: _walked(Path("oracle", poisoned)),),
        ),
        Mutant("a person's rows not bounded, two columns", (persons,)),
    ]
