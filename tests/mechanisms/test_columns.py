"""The hourglass of a box as a mechanism: its noise on totals, its tails, its moments."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.audit.exact import enumerate_losses, exact_audit, exact_finding
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.mechanisms.base import HourglassTails, make
from hourglass.mechanisms.box_tails import BoxTails
from hourglass.mechanisms.columns import HourglassColumn, HourglassColumns, box_lattice
from hourglass.mechanisms.tails import SLACK, Line
from hourglass.mechanisms.threshold import threshold
from hourglass.noise import HourglassBox


def columns(epsilon: str, *cells: int, own: bool = False) -> HourglassColumns:
    """Columns on grids of so many cells."""
    grids = tuple(Grid(Bounds(0, n) if own else Bounds(0.0, 1.0), n, own) for n in cells)
    made: HourglassColumns = make("hourglass", Fraction(epsilon), grids, "columns")
    return made


class Fixed:
    """Bits from a seed, so that two draws are the same."""

    def __new__(cls, seed: int = 7) -> Any:
        return hg.SeededBits(seed)


# --- noise on totals ------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 2**70), min_size=3, max_size=3),
    st.integers(0, 2**40),
    st.sampled_from(["1/100", "1", "8"]),
)
@settings(max_examples=60, deadline=None)
def test_the_noise_is_added_to_each_sum_and_once_to_the_count(
    sums: list[int], count: int, epsilon: str
) -> None:
    """Exactly, however large the totals are: the same bits make the same noise."""
    mechanism = columns(epsilon, 2**32, 5, 1)
    x, k = mechanism.law.sample(None, bits=Fixed())
    noisy = mechanism.noise(Totals(sums[0], count, tuple(sums[1:])), bits=Fixed())
    for i, part in enumerate(noisy.columns):
        assert part.cells == mechanism.parts[i] * sums[i] + x[i]
        assert part.size == count + k
        assert part.weight == part.parts * part.grid * (count + k)


def test_many_draws_of_large_totals_do_not_wrap() -> None:
    """Also where a column on a small grid stands beside one on the finest."""
    mechanism, count = columns("1", 2**32, 1), 2**33
    noisy = mechanism.noise(Totals(2**32 * count, count, (count,)), size=50)
    for part in noisy.columns:
        assert all(abs(int(w) / part.parts / part.grid - count) < 10**3 for w in part.weight)
        assert all(abs(int(c) / part.parts / part.grid - count) < 10**3 for c in part.cells)


def test_columns_of_one_grid_and_two_centres_are_not_alike() -> None:
    """As may be stored; caught: intervals of one column from the law of another."""
    law, grid = HourglassBox(Fraction(1), [6, 6], [1, 3]), Grid(Bounds(0, 6), 6, True)
    first, second = (HourglassColumn(Fraction(1), grid, law, number) for number in (0, 1))
    assert (first.alike.number, second.alike.number) == (0, 1)
    assert first.moments != second.moments


@pytest.mark.parametrize("groups", [1, 5])
def test_groups_get_a_draw_each(groups: int) -> None:
    mechanism = columns("1", 2**32, 2**32)
    x, k = mechanism.law.sample(groups, bits=Fixed())
    sums = [np.array([10 * g + i for g in range(groups)], dtype=object) for i in (1, 2)]
    count = np.arange(groups).astype(object)
    noisy = mechanism.noise(Totals(sums[0], count, (sums[1],)), bits=Fixed())
    for i, part in enumerate(noisy.columns):
        assert part.cells.tolist() == (sums[i] + x[:, i].astype(object)).tolist()
    assert noisy.sizes.tolist() == (count + k.astype(object)).tolist()
    assert noisy.take([0]).columns[1].cells.tolist() == [noisy.columns[1].cells[0]]


def test_a_cell_is_cut_where_no_whole_centre_is_near_the_best() -> None:
    """Five columns of yes or no at epsilon 3: whole cells would cost 4 % more."""
    assert columns("1", 1, 1, 1, own=True).parts == (2, 2, 2)
    mechanism = columns("3", *[1] * 5, own=True)
    assert mechanism.parts == (2,) * 5
    whole = float(hg.HourglassBox("3", [1] * 5).variance[0][0])
    assert float(mechanism.column(0).moments.cells) < 0.96 * whole
    assert columns("3", *[2**32] * 5).parts == (1,) * 5


# --- moments and thresholds -----------------------------------------------------------------


def test_one_column_is_the_hourglass() -> None:
    for epsilon, cells in product(("1/10", "1", "4"), (7, 2**32)):
        grid = Grid(Bounds(0.0, 1.0), cells)
        alone, box = make("hourglass", Fraction(epsilon), grid), columns(epsilon, cells).column(0)
        for name in ("cells", "rest", "both"):
            one, other = getattr(alone.moments, name), getattr(box.moments, name)
            assert math.isclose(float(one), float(other), rel_tol=1e-14)
        assert threshold(alone, Fraction(1, 10**6)) == threshold(box, Fraction(1, 10**6))


@pytest.mark.parametrize("d", [2, 3])
def test_the_count_has_a_threshold_of_its_own(d: int) -> None:
    """More columns, more noise on the count: a threshold of one column would publish too much."""
    mechanism = columns("1", *[2**32] * d)
    found = threshold(mechanism, Fraction(1, 10**6))
    assert found > threshold(make("hourglass", Fraction(1), mechanism.grids[0]), Fraction(1, 10**6))
    assert mechanism.count_tail(found - 1).high <= Fraction(1, 10**6)
    assert mechanism.count_tail(found - 2).low > Fraction(1, 10**6)


# --- tails ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.enumeration
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_the_tail_of_a_column_is_that_of_the_law(data: st.DataObject) -> None:
    """Doubles beside the enclosures of the law, for any number of columns."""
    d = data.draw(st.integers(1, 6))
    epsilon = data.draw(st.sampled_from(["1/1000", "1/10", "1", "4"]))
    grids = data.draw(st.lists(st.sampled_from([1, 3, 7, 100, 2**32]), min_size=d, max_size=d))
    law, i = hg.HourglassBox(epsilon, grids), data.draw(st.integers(0, d - 1))
    far = round(6 / float(law.epsilon)) + 2
    k = data.draw(st.integers(-far, far))
    x = data.draw(st.integers(-far * grids[i], far * grids[i]))
    wanted = float(law.column_tail(i, x, k))
    found = BoxTails(law, i).upper(np.array([float(k)]), np.array([float(x)]))[0]
    assert math.isclose(found, wanted, rel_tol=1e-11, abs_tol=1e-15)


def exact_miss(law: hg.HourglassBox, i: int, line: Line, reach: Fraction, far: int) -> float:
    """P(|sum X_i / G_i - count K| >= reach), summed over the law of X_i and K."""
    G, total = law.grids[i], 0.0
    for k in range(-far, far + 1):
        for x in range(-far * G - law.centres[i], far * G + law.centres[i] + 1):
            if abs(line.sum * Fraction(x, G) - line.count * k) >= reach:
                total += column_mass(law, i, x, k)
    return total


@cache
def column_mass(law: hg.HourglassBox, i: int, x: int, k: int) -> float:
    return float(law.column_pmf(i, x, k, bits=64))


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(("grids", "i"), [([2, 3], 0), ([2, 3], 1), ([1, 1, 1], 2)])
@pytest.mark.parametrize("slope", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(-5, 2)])
def test_misses_are_summed_exactly(grids: list[int], i: int, slope: Fraction) -> None:
    law = hg.HourglassBox("3/2", grids)
    line = Line(Fraction(1), slope)
    for reach in (Fraction(1, 2), Fraction(2), Fraction(11, 3)):
        wanted = exact_miss(law, i, line, reach, 14)
        found = BoxTails(law, i).miss(line, line, float(reach))
        assert wanted - 1e-12 <= found <= wanted + 1e-6 + SLACK


def test_one_column_has_the_tails_of_the_hourglass() -> None:
    for epsilon in ("1/1000", "1/10", "2"):
        alone = HourglassTails(hg.Hourglass(epsilon, 2**32))
        box = BoxTails(hg.HourglassBox(epsilon, [2**32]), 0)
        for slope, times in product((0.0, 0.25, 1.0), (1, 3, 9)):
            line, reach = Line(1.0, slope), times / float(Fraction(epsilon))
            one, other = alone.miss(line, line, reach), box.miss(line, line, reach)
            assert math.isclose(one, other, rel_tol=2e-3, abs_tol=1e-8)


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("epsilon", ["1/100000", "1/1000", "1", "20"])
def test_no_tail_is_left_out(d: int, epsilon: str) -> None:
    """The counts that are summed over hold all but 1e-11 of the mass; blocks only add to it."""
    law = hg.HourglassBox(epsilon, [2**32] * d)
    tails = BoxTails(law, 0)
    assert float(law.count_tail(math.floor(tails.far))) < 1e-11
    everything = Line(1.0, 0.0)
    assert tails.miss(everything, everything, 0.0) >= 1.0 - 1e-9


@pytest.mark.parametrize("slope", [-1e9, -40.0, 3.5, 1e6])
def test_steep_lines_at_a_tiny_epsilon_are_bounded_by_their_parts(slope: float) -> None:
    """Far from zero the count rules the sum's error: a bound within a tenth of its own tail."""
    law = hg.HourglassBox("1/10000", [2**32] * 3)
    tails, line = BoxTails(law, 0), Line(1.0, slope)
    for times in (1.0, 4.0):
        reach = times * abs(slope) / float(law.epsilon)
        count = 2 * float(law.count_tail(math.ceil(reach / abs(slope))))
        found = tails.miss(line, line, reach)
        assert found <= 1.0
        if abs(slope) >= 1e6:
            assert count * 0.999 <= found <= 1.1 * count + SLACK


# --- what a record does ---------------------------------------------------------------------


@pytest.mark.enumeration
@pytest.mark.parametrize("cells", [(1,), (4,), (1, 1), (2, 3), (4, 4), (1, 2, 1)])
def test_the_audit_passes_every_small_box(cells: tuple[int, ...]) -> None:
    found = exact_audit(columns("1", *cells))
    assert found.holds
    assert found.figures["loss"] == "1"


@pytest.mark.slow
@pytest.mark.enumeration
def test_the_audit_passes_a_fine_box() -> None:
    found = exact_audit(columns("1/2", 2**32, 1000))
    assert found.holds
    assert found.figures["loss"] == "1/2"


@pytest.mark.enumeration
@pytest.mark.parametrize("cells", [1, 5])
@pytest.mark.parametrize("epsilon", ["1e-6", "1e-4"])
def test_the_audit_passes_a_wide_centre(epsilon: str, cells: int) -> None:
    """Caught: at a small epsilon the centre has 10^4 to 10^6 cells, and every point of a window
    around it was to be tried, in more memory than there is."""
    mechanism = columns(epsilon, cells, cells)
    assert max(mechanism.law.centres) > 1000 * cells
    lattice = mechanism.lattice()
    assert not lattice.full
    found = exact_finding(lattice)
    assert found.holds
    assert found.figures["loss"] == str(mechanism.epsilon)


def _mutants(centre: int | None = None) -> dict[str, Any]:
    law = hg.HourglassBox("1", [2, 3], None if centre is None else [centre, centre])
    level = law.level
    return {
        "a record in a column and not in the count": box_lattice(law, moves=[(2, 0, 0)]),
        "a record in one column alone": box_lattice(law, moves=[(2, -1, 1)]),
        "the wrong end of the box": box_lattice(law, moves=[(3, 3, 1)]),
        "a sign turned": box_lattice(law, level=lambda x, y, k: level((x, -y), k)),
        "the sum of the stairs for the most": box_lattice(
            law, level=lambda x, y, k: level((x, 0), k) + level((0, y), k)
        ),
        "the count left out": box_lattice(law, level=lambda x, y, k: level((x, y), 0)),
    }


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("name", list(_mutants()))
def test_the_audit_catches(name: str) -> None:
    lattice = _mutants()[name]
    assert not exact_finding(lattice).holds
    assert enumerate_losses(lattice).worst > 1


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("name", list(_mutants()))
def test_the_audit_catches_it_beside_a_wide_centre(name: str) -> None:
    lattice = _mutants(5000)[name]
    assert not lattice.full
    assert enumerate_losses(lattice).worst > 1


def test_a_stored_column_keeps_its_law() -> None:
    """Whatever centres a later version would choose."""
    law = hg.HourglassBox("1", [2**32, 7], [5, 6])
    stored = {"box": {"grids": list(law.grids), "centres": list(law.centres), "column": 1}}
    column = HourglassColumns.restored(Fraction(1), Grid(Bounds(0, 7), 7, True), stored)
    assert column.law == law
    assert column.number == 1
    assert column.stored()["box"] == stored["box"]
