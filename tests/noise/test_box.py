"""The hourglass of a box: its values, its privacy, its moments, its centres.

Enumeration throughout; the samplers are in test_body_samplers.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.core.exact import Enclosure, exp_minus
from hourglass.noise.box import best_centre
from hourglass.noise.least import least_ratio
from tests.tools import long

pytestmark = pytest.mark.enumeration

Levels = Callable[[npt.NDArray[Any], npt.NDArray[Any]], npt.NDArray[Any]]
#: Every column with at most 4 cells and a centre of at most 5.
COLUMNS = list(product(range(1, 5), range(6)))


def close(found: Any, reference: str, digits: int = 15) -> bool:
    value, wanted = Fraction(float(found)), Fraction(reference)
    return abs(value - wanted) <= abs(wanted) * Fraction(10) ** -digits


def same(one: Enclosure, other: Enclosure) -> bool:
    """Whether two enclosures can be of one number, and are narrow: 30 digits."""
    width = max(one.high, other.high) - min(one.low, other.low)
    return one.low <= other.high and other.low <= one.high and width <= one.high / 10**30


def law_of(columns: Any, epsilon: Any = 1) -> hg.HourglassBox:
    return hg.HourglassBox(epsilon, [g for g, _ in columns], [c for _, c in columns])


# --- as given -----------------------------------------------------------------------------


def test_columns_in_another_order_are_the_same_columns() -> None:
    """Their centres, and whether 64 bits hold the sums: whichever column is the finest."""
    for epsilon, grids in ((1, (3, 40, 7)), (Fraction(1, 10), (1000, 10, 1)), (4, (2, 2, 9))):
        centres = hg.HourglassBox(epsilon, grids).centres
        for order in permutations(range(3)):
            law = hg.HourglassBox(epsilon, [grids[i] for i in order])
            assert law.centres == tuple(centres[i] for i in order)
    for narrow, kind in ((2**10, np.int64), (2**32, object)):
        for pair in ((1, narrow), (narrow, 1)):
            x, k = hg.HourglassBox(Fraction(1, 10**6), pair, (0, 0)).sample(2)
            assert x.dtype == k.dtype == kind


def test_a_copy_has_its_own_centres() -> None:
    for law in (hg.HourglassBox(1, (3, 4), (0, 9)), hg.HourglassBox(1, (3, 4))):
        copied = pickle.loads(pickle.dumps(law))
        assert copied == law
        assert copied.centres == law.centres


def test_a_point_of_another_shape_has_no_probability() -> None:
    law, triangle = law_of([(2, 0), (2, 1)]), hg.HourglassTriangle(1, 4, 1)
    for x in ((), (0,), (0, 0, 0)):
        with pytest.raises(ValueError, match="for each of 2 columns"):
            law.pmf(x, 0)
    for u in ((0, 0), (0, 0, 0, 0), (1, 0, 0)):
        with pytest.raises(ValueError, match=r"triple|three whole numbers"):
            triangle.level(u)


# --- reference values ---------------------------------------------------------------------


def test_reference_values(bodies: dict[str, Any]) -> None:
    assert len(bodies["columns"]) == 6
    for row in bodies["columns"]:
        law = hg.HourglassBox(row["epsilon"], row["grids"], row["centres"])
        assert close(law.normaliser(), row["normaliser"])
        for point in row["pmf"]:
            assert law.level(point["x"], point["k"]) == point["level"]
            assert close(law.pmf(point["x"], point["k"]), point["p"])
        for i, column in enumerate(row["columns"]):
            assert close(law.variance[0][i], column["var_x"])
            assert close(law.variance[1], column["var_k"])
            assert close(law.covariance(i), column["cov_xk"])


def test_reference_centres(bodies: dict[str, Any]) -> None:
    assert len(bodies["best_common_centre"]) == 30
    for row in bodies["best_common_centre"]:
        law = hg.HourglassBox(row["epsilon"], [row["grid"]] * row["columns"])
        assert law.centres == (row["centre"],) * row["columns"], row
        (var_x, *_), var_k = law.variance
        on_bound = var_x / row["grid"] ** 2
        # The references have 15 digits, so the last of them may be rounded.
        assert close(on_bound, row["error_at_0"], digits=14)
        assert close(on_bound - var_k / 4, row["error_at_half"], digits=14)


# --- one column is the paper's hourglass --------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "G"), [("1", 1), ("1", 4), ("1/10", 3), ("4", 7), ("9", 12), ("1/3", 2**32)]
)
def test_one_column_is_the_hourglass(epsilon: str, G: int) -> None:
    law, paper = hg.HourglassBox(epsilon, [G]), hg.Hourglass(epsilon, G)
    assert law.centres == (paper.centre,)
    step = max(1, G // 3)
    for x, k in product(range(-5 * step, 5 * step + 1, max(1, step // 2)), range(-5, 6)):
        assert law.level([x], k) == paper.level(x, k)
        assert same(law.pmf([x], k), paper.pmf(x, k, bits=400))
        assert same(law.column_pmf(0, x, k), law.pmf([x], k))
        assert same(law.column_pmf(0, x), paper.marginal_x.pmf(x, bits=400))
    for k in range(-4, 5):
        assert same(law.count_pmf(k), paper.count_pmf(k, bits=400))
        assert same(law.count_tail(k), paper.count_tail(k, bits=400))
    assert same(law.variance[0][0], paper.variance[0])
    assert same(law.variance[1], paper.variance[1])


def test_a_probability_is_as_precise_as_asked_for_whatever_was_asked_before() -> None:
    """The top of a law is kept, for each precision."""
    box, triangle = hg.HourglassBox("1/3", [4, 7]), hg.HourglassTriangle("1/3", 9)
    for bits in (20, 160, 400, 20):
        for found in (box.pmf([5, -9], 1, bits=bits), triangle.pmf([9, 1, -1], bits=bits)):
            assert 0 < found.high - found.low < Fraction(1, 2**bits)


@pytest.mark.parametrize("c", range(4))
def test_one_column_of_any_centre_is_the_hourglass(c: int) -> None:
    law, paper = hg.HourglassBox(2, [4], [c]), hg.Hourglass(2, 4, c)
    for x, k in product(range(-15, 16), range(-6, 7)):
        assert law.level([x], k) == paper.level(x, k)
        assert same(law.pmf([x], k), paper.pmf(x, k, bits=400))


@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "1", "3", "8", "20", "60"])
def test_the_best_centre_of_one_column_is_the_hourglass_s(epsilon: str) -> None:
    for G in (1, 2, 3, 7, 41, 1000, 2**32):
        assert best_centre(Fraction(epsilon), G, 1) == hg.Hourglass(epsilon, G).centre


# --- the level, and privacy ---------------------------------------------------------------


def least_level(law: hg.HourglassBox, x: tuple[int, ...], k: int) -> int:
    """By the definition: try every (a, m), the smallest a + m first."""

    def inside(a: int, m: int) -> bool:
        sides = zip(x, law.grids, law.centres, strict=True)
        return all(-c - g * m <= value <= c + g * a for value, g, c in sides)

    total = abs(k)
    while not inside((total + k) // 2, (total - k) // 2):
        total += 2
    return total


@pytest.mark.parametrize("columns", [[(1, 0)], [(3, 1)], [(2, 5)], [(3, 0), (2, 4)], [(4, 1)] * 2])
def test_the_level_is_the_least_number_of_records(columns: Any) -> None:
    law = law_of(columns)
    for x in product(range(-13, 14, len(columns)), repeat=len(columns)):
        for k in range(-4, 5):
            assert law.level(x, k) == least_level(law, x, k)
            assert law.levels(np.array(x), np.array(k)) == law.level(x, k)


@cache
def steps(grid: int, centre: int, over: int = 0) -> tuple[Any, Any, Any]:
    """A value for every stair of a column, and the stairs that a record can lead from and to.

    A level depends on a column through its stairs up and down only. So of all x with the
    same stairs one is enough, and of all records that lead from them to the same stairs.
    """
    reach = centre + 2 * grid + 1
    values: dict[tuple[int, int], tuple[int, int]] = {}
    found = set()

    def place(x: int) -> int:
        stairs = max(0, -((centre - x) // grid)), max(0, -((centre + x) // grid))
        return values.setdefault(stairs, (len(values), x))[0]

    for x, q in product(range(-reach, reach + 1), range(grid + 1 + over)):
        found.add((place(x), place(x + q)))
    before, after = np.array(sorted(found)).T
    return np.array([x for _, x in values.values()]), before, after


def losses(levels: Levels, columns: Any, *, counted: int = 1, over: int = 0) -> set[int]:
    """Every change of level that one record can make: all combinations of steps, all counts."""
    kinds = [steps(grid, centre, over) for grid, centre in columns]
    counts = np.arange(-4, 6)
    *xs, k = np.meshgrid(*(values for values, _, _ in kinds), counts, indexing="ij")
    table = levels(np.stack(xs, axis=-1), k)
    before, after = (table[np.ix_(*(kind[i] for kind in kinds))] for i in (1, 2))
    last = len(counts) - counted
    return set(np.unique(after[..., counted:] - before[..., :last]).tolist())


def test_every_move_of_one_column_by_brute_force() -> None:
    """No shortcut: all points, all records, all counts."""
    for grid, centre in COLUMNS:
        law = law_of([(grid, centre)])
        reach = centre + 4 * grid + 1
        x, k, q = (
            part.ravel()
            for part in np.meshgrid(
                np.arange(-reach, reach + 1), np.arange(-6, 7), np.arange(grid + 1)
            )
        )
        change = law.levels((x + q)[:, None], k + 1) - law.levels(x[:, None], k)
        assert set(change.tolist()) == {-1, 1}


@pytest.mark.slow
def test_every_move_of_two_columns_by_brute_force() -> None:
    axes = [np.arange(-14, 15), np.arange(-14, 15), np.arange(-4, 5)]
    for pair in combinations_with_replacement(COLUMNS[::5], 2):
        law = law_of(pair)
        records = [np.arange(grid + 1) for grid, _ in pair]
        x, y, k, q, r = (part.ravel() for part in np.meshgrid(*axes, *records))
        change = law.levels(np.stack([x + q, y + r], axis=1), k + 1) - law.levels(
            np.stack([x, y], axis=1), k
        )
        assert set(change.tolist()) == {-1, 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "sides"),
    [(1, COLUMNS), (2, COLUMNS), (3, list(product(range(1, 5), range(3)))), *long((3, COLUMNS))],
)
def test_one_record_moves_the_level_by_exactly_one(d: int, sides: list[tuple[int, int]]) -> None:
    """All d <= 3, G <= 4, c <= 5: 24, 300 and 2,600 laws, every kind of move of each.

    Of three columns, 364 laws with c <= 2 in the suite: the level is the greatest of those of the
    columns by themselves, so what two of them show is also shown by them with a third.
    """
    for columns in combinations_with_replacement(sides, d):
        assert losses(law_of(columns).levels, columns) == {-1, 1}, columns


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_same_check_rejects_each_mutant(d: int) -> None:
    for columns in combinations_with_replacement([(3, 0), (3, 1), (4, 5)], d):
        law = law_of(columns)
        grids, centres = np.array(law.grids), np.array(law.centres)

        def stairs(x: Any, grids: Any = grids, centres: Any = centres) -> tuple[Any, Any]:
            up = np.maximum(0, -((centres - x) // grids)).max(axis=-1)
            return up, np.maximum(0, -((centres + x) // grids)).max(axis=-1)

        def wrong_end(x: Any, k: Any, law: Any = law) -> Any:
            return law.levels(np.where(x < 0, x + 1, x), k) + (k == 0)

        def unsigned(x: Any, k: Any, law: Any = law) -> Any:
            return law.levels(np.abs(x), k)

        def signs(x: Any, k: Any, law: Any = law) -> Any:
            return law.levels(-x, k)

        def independent(x: Any, k: Any, stairs: Any = stairs) -> Any:
            up, down = stairs(x)
            return np.maximum(up, down) + np.abs(k)

        def summed(x: Any, k: Any, stairs: Any = stairs) -> Any:
            up, down = stairs(x)
            return np.abs(k) + 2 * (up + down)

        for mutant in (wrong_end, unsigned, signs, independent, summed):
            assert max(map(abs, losses(mutant, columns))) > 1, (mutant.__name__, columns)
        assert max(map(abs, losses(law.levels, columns, counted=0))) > 1
        assert max(map(abs, losses(law.levels, columns, counted=2))) > 1
        assert max(map(abs, losses(law.levels, columns, over=1))) > 1


def test_a_record_in_one_column_and_not_in_the_count_costs_two_epsilon() -> None:
    law = hg.HourglassBox(1, [3, 3], [1, 1])
    x = np.array(list(product(range(-10, 11), repeat=2)))
    k, first = np.zeros(len(x), dtype=np.int64), np.array([3, 0])
    assert set((law.levels(x + first, k) - law.levels(x, k)).tolist()) == {-2, 0, 2}
    # Counted, it is a record of the box.
    assert set((law.levels(x + first, k + 1) - law.levels(x, k)).tolist()) == {-1, 1}


@pytest.mark.parametrize("epsilon", ["1/100", "1", "4"])
def test_the_pmf_follows_the_level(epsilon: str) -> None:
    exact = Fraction(epsilon)
    for columns in ([(3, 0), (2, 5)], [(1, 1), (4, 1), (2, 0)]):
        law = law_of(columns, epsilon)
        for x in product((-6, -1, 0, 4), repeat=len(columns)):
            ratio = law.pmf(x, 1) / law.pmf(
                [v + g for v, (g, _) in zip(x, columns, strict=True)], 2
            )
            up = law.level([v + g for v, (g, _) in zip(x, columns, strict=True)], 2) > law.level(
                x, 1
            )
            one = ratio * exp_minus(exact) if up else ratio / exp_minus(exact)
            assert 1 in one
            assert one.high - one.low < Fraction(1, 10**30)


# --- sums and moments ---------------------------------------------------------------------


def window(law: hg.HourglassBox, stairs: int) -> tuple[Any, Any, Any]:
    """Every point within so many stairs, and its probability in doubles."""
    axes = [
        np.arange(-c - stairs * g, c + stairs * g + 1)
        for g, c in zip(law.grids, law.centres, strict=True)
    ]
    *xs, k = (part.ravel() for part in np.meshgrid(*axes, np.arange(-stairs, stairs + 1)))
    x = np.stack(xs, axis=1)
    b = float(exp_minus(law.epsilon))
    return x, k, b ** law.levels(x, k) / (1 - b * b) / float(law.normaliser())


SMALL = [[(2, 0)], [(3, 4)], [(2, 1), (1, 0)], [(3, 0), (2, 3)], [(1, 0), (1, 2), (2, 0)]]


@pytest.mark.parametrize("columns", SMALL)
def test_the_pmf_sums_to_one_and_has_the_moments(columns: Any) -> None:
    law = law_of(columns, 3)
    x, k, p = window(law, 12 if len(columns) < 3 else 9)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    assert law.variance[1].low > 0
    assert (p * k * k).sum() == pytest.approx(float(law.variance[1]), rel=1e-6)
    for i in range(len(columns)):
        assert (p * x[:, i]).sum() == pytest.approx(law.mean[0][i], abs=1e-9)
        assert (p * x[:, i] ** 2).sum() == pytest.approx(float(law.variance[0][i]), rel=1e-6)
        assert (p * x[:, i] * k).sum() == pytest.approx(float(law.covariance(i)), rel=1e-6)
        for j in range(len(columns)):
            both = (p * x[:, i] * x[:, j]).sum()
            assert both == pytest.approx(float(law.covariance(i, j)), rel=1e-6)


@pytest.mark.parametrize("columns", SMALL)
def test_marginals_are_sums_of_the_pmf(columns: Any) -> None:
    law = law_of(columns, 3)
    x, k, p = window(law, 12 if len(columns) < 3 else 9)
    for count in range(-3, 4):
        assert p[k == count].sum() == pytest.approx(float(law.count_pmf(count)), rel=1e-6)
        assert p[k >= count].sum() == pytest.approx(float(law.count_tail(count)), rel=1e-6)
    for i, (grid, centre) in enumerate(columns):
        for value in range(-centre - 2 * grid, centre + 2 * grid + 1):
            here = x[:, i] == value
            found = p[here].sum()
            assert found == pytest.approx(float(law.column_pmf(i, value)), rel=1e-6)
            for count in (-2, 0, 1):
                both = p[here & (k == count)].sum()
                assert both == pytest.approx(float(law.column_pmf(i, value, count)), rel=1e-6)
                tail = p[(x[:, i] >= value) & (k == count)].sum()
                assert tail == pytest.approx(float(law.column_tail(i, value, count)), rel=1e-6)


def test_the_count_tail_gives_thresholds() -> None:
    """P(K >= t) falls below any delta, and is enclosed to thirty digits on the way."""
    law = hg.HourglassBox("1/2", [2**32] * 10)
    for t in (1, 5, 60, 400):
        tail, after = law.count_tail(t), law.count_tail(t + 1)
        assert tail.low > after.high > 0
        assert same(tail - after, law.count_pmf(t))
        assert tail.high - tail.low < tail.low / 10**30
    assert law.count_tail(400).high < Fraction(1, 10**20)


# --- the best centre ----------------------------------------------------------------------


def variance(epsilon: Fraction, grid: int, d: int, c: int) -> Enclosure:
    return hg.HourglassBox(epsilon, [grid] * d, [c] * d).variance[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/4", "1", "4", "12", "30"])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_the_centre_is_the_best_of_all(epsilon: str, d: int) -> None:
    exact = Fraction(epsilon)
    for grid in (1, 2, 5, 11):
        reach = int(grid * (d + 1) / float(exact)) + grid + 2
        best = min(range(reach), key=lambda c: variance(exact, grid, d, c).low)
        assert best < reach - 1
        assert best_centre(exact, grid, d) == best, grid


def test_bisection_would_be_caught_in_the_wrong_valley() -> None:
    """Many columns at a large epsilon: the variance rises, falls and rises again."""
    exact, grid, d = Fraction(8), 64, 6
    steps = [float(variance(exact, grid, d, c)) for c in range(80)]
    turns = [after > before for before, after in pairwise(steps)]
    assert turns[0]
    assert not all(turns)
    assert turns[-1]
    best = best_centre(exact, grid, d)
    assert best == int(np.argmin(steps)) > 0


def test_a_fall_that_halving_the_range_steps_over() -> None:
    """Rising up to c = 8, falling to 15: the middle of 0..16 is on the rise."""
    exact, grid, d = Fraction(20), 37, 20
    steps = [float(variance(exact, grid, d, c)) for c in range(40)]
    assert steps[0] < steps[8] > steps[15] < steps[39]
    assert best_centre(exact, grid, d) == int(np.argmin(steps)) > 10


COEFFICIENTS = st.lists(
    st.one_of(st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 6).map(lambda i: 10**i)),
    min_size=3,
    max_size=7,
)


@pytest.mark.slow
@pytest.mark.property
@given(COEFFICIENTS, st.data())
def test_the_least_ratio_of_any_polynomials(above: list[int], data: st.DataObject) -> None:
    """Coefficients that are not negative, valleys of any number: as by trying every c."""
    below = data.draw(
        st.lists(st.sampled_from([0, 1, *above]), min_size=1, max_size=len(above) - 1)
    )
    above, below = [*above[:-1], above[-1] + 1], [below[0] + 1, *below[1:]]
    assert least_by_trying(above, below) == least_ratio(
        lambda bits: ([Enclosure.of(v) for v in above], [Enclosure.of(v) for v in below])
    )


def least_by_trying(above: list[int], below: list[int]) -> int:
    def at(polynomial: list[int], c: int) -> int:
        found = 0
        for value in reversed(polynomial):
            found = found * c + value
        return found

    # F/N is at least (lead of F) c / (sum of N's) from c = 1 on: past that, more than F(0)/N(0).
    last = int(Fraction(above[0] * sum(below), below[0] * above[-1])) + 2
    best, top, bottom = 0, above[0], below[0]
    for c in range(1, min(last, 20_000)):
        over, under = at(above, c), at(below, c)
        if over * bottom < top * under:
            best, top, bottom = c, over, under
    return best


@pytest.mark.slow
def test_two_valleys_the_lower_one_at_zero() -> None:
    """Up from 1 to nearly 5, down to 2, and up: the least is where it begins."""
    above = [10**14, 0, 5 * 10**14, 0, 0, 0, 2 * 10**6, 0, 1]
    below = [10**14, 0, 10**14, 0, 0, 0, 10**6]

    def least(start: int) -> int:
        first = [start * above[0], *above[1:]]
        found = least_ratio(
            lambda bits: ([Enclosure.of(v) for v in first], [Enclosure.of(v) for v in below])
        )
        assert found == least_by_trying(first, below)
        return found

    assert least(1) == 0
    assert least(3) > 100


def test_the_centres_of_different_grids_are_one_part_of_them() -> None:
    """On each grid the one whose (2c+1)/(2G) is nearest to that of the finest."""
    grids = [60, *range(1, 60, 3)]
    law = hg.HourglassBox(1, grids)
    part = Fraction(2 * law.centres[0] + 1, 2 * grids[0])
    assert part > 1
    for grid, centre in zip(law.grids, law.centres, strict=True):
        apart = [abs(Fraction(2 * c + 1, 2 * grid) - part) for c in range(centre + 3)]
        assert apart[centre] == min(apart), grid


# --- what it is ---------------------------------------------------------------------------


def test_a_law_is_a_value() -> None:
    law = hg.HourglassBox(1, [3, 4], [1, 7])
    assert law == hg.HourglassBox("1", (3, 4), (1, 7))
    assert hash(law) == hash(hg.HourglassBox(1, [3, 4], [1, 7]))
    assert law != hg.HourglassBox(1, [4, 3], [7, 1])
    assert repr(law) == "HourglassBox(epsilon=Fraction(1, 1), grids=(3, 4), centres=(1, 7))"
    with pytest.raises(AttributeError):
        law.grids = (1,)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("grids", "centres", "message"),
    [
        ([], None, "grids is empty"),
        (4, None, "grids is not a sequence"),
        ("44", None, "grids is not a sequence"),
        ([4, 0], None, "grid=0 is outside"),
        ([4, 2**33], None, "is outside 1..2"),
        ([4, True], None, "grid=True is not a whole number"),
        ([4], [1, 2], "centres has 2 values for 1 columns"),
        ([4], [-1], "centre=-1 is not a whole number of cells"),
        ([4], [0.5], "centre=0.5 is not a whole number of cells"),
        ([4], 3, "centres is not a sequence"),
    ],
)
def test_bad_arguments(grids: Any, centres: Any, message: str) -> None:
    with pytest.raises(hg.GridError, match=message):
        hg.HourglassBox(1, grids, centres)
    with pytest.raises(hg.EpsilonError):
        hg.HourglassBox(0, [4])


def test_a_point_needs_a_value_for_each_column() -> None:
    with pytest.raises(ValueError, match="is not a point; give one whole number for each of"):
        hg.HourglassBox(1, [4, 4]).pmf([1], 0)
