"""The samplers of boxes and triangles: every script of narrow words, then chi-square.

By enumeration: the mass that a sampler gives an outcome lies within the enclosure of its
pmf, up to the mass of the scripts that were too short. By statistics, with words of 64 bits:
false-alarm rate 1e-6 (ALPHA) a check, and each check rejects a law that is slightly wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import hourglass as hg
from hourglass.core.exact import Enclosure, differences, exp_minus, value_at
from hourglass.noise import bits as inversion
from hourglass.noise import hourglass
from hourglass.noise.bits import BLOCK, sample_scaled, sample_scaled_one
from hourglass.noise.hourglass import Radial
from tests.conftest import ScriptedBits, ScriptEndedError, outcomes
from tests.noise.test_samplers import agrees

pytestmark = pytest.mark.usefixtures("known_ladders")

ALPHA = 1e-6
SIZES = [10**6, pytest.param(10**7, marks=pytest.mark.long)]


# --- uniform integers below many bounds ---------------------------------------------------


@pytest.mark.enumeration
@pytest.mark.parametrize(
    ("bound", "width", "longest"), [(1, 1, 3), (3, 1, 12), (5, 2, 8), (6, 4, 4), (16, 4, 4)]
)
@pytest.mark.parametrize("largest", [40, 2**70])
def test_scaled(bound: int, width: int, longest: int, largest: int) -> None:
    """In int64 and, where a bound could be too large for it, in Python integers."""

    def draw(bits: ScriptedBits) -> int:
        return int(sample_scaled(np.array([bound]), bits, largest=largest)[0])

    assert agrees(draw, lambda _: Enclosure.of(Fraction(1, bound)), width, longest, 0.01)
    wrong = Enclosure.of(Fraction(1, bound + 1))
    assert not agrees(draw, lambda _: wrong, width, longest, 0.01)


def read(words: list[int], bound: int) -> tuple[int, int] | None:
    """floor(U bound) and how many words it takes, in the plainest way; None if too few."""
    low, scale = Fraction(0), Fraction(1)
    for used, word in enumerate(words, 1):
        scale /= 2**64
        low += word * scale
        first = (low * bound).__floor__()
        if (low + scale) * bound <= first + 1:
            return first, used
    return None


EDGES = st.one_of(
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 1, 2**32, 2**63, 2**64 - 1, 2**64 - 2, 2**64 - 2**32]),
)
BOUNDS = st.one_of(
    st.integers(1, 2**62 - 1),
    st.integers(1, 2**32),
    st.integers(0, 61).map(lambda i: 2**i),
    st.integers(1, 61).map(lambda i: 2**i + 1),
)


@pytest.mark.slow
@pytest.mark.property
@given(BOUNDS, st.lists(EDGES, min_size=5, max_size=5), st.booleans())
def test_scaled_at_full_width(bound: int, words: list[int], on_edge: bool) -> None:
    """Products of 64-bit words, the second word, and reading on, against exact fractions."""
    if on_edge:  # the word that begins just below a multiple of 1/bound: the open case
        words[0] = min(2**64 - 1, (words[4] % bound + 1) * 2**64 // bound)
    for largest in (bound, max(bound, 2**54)):
        bits = ScriptedBits(words, 64)
        always = 1 if largest <= inversion.ONE_WORD else 2
        wanted = read(words, bound)
        try:
            found = int(sample_scaled(np.array([bound]), bits, largest=largest)[0])
        except ScriptEndedError:
            assert wanted is None
            continue
        assert wanted is not None
        assert (found, bits.used) == (wanted[0], max(wanted[1], always))
        if always == 1:
            one = ScriptedBits(words, 64)
            alone = sample_scaled_one(np.int64(bound), one, largest=largest)
            assert (int(alone), one.used) == (found, bits.used)
        wide = sample_scaled(
            np.array([bound], dtype=object), ScriptedBits(words, 64), largest=2**99
        )
        assert wide.dtype == object
        assert wide[0] == found


@pytest.mark.property
@pytest.mark.parametrize("digits", [8, 31, 32, 33, 47, 60, 62])
def test_products_of_128_digits(digits: int) -> None:
    bits = hg.SeededBits(digits)
    words, bounds = bits.words(5000), (bits.words(5000) >> np.uint64(64 - digits)) | np.uint64(1)
    high, low = inversion._product(words, bounds, 1 << digits)
    for word, bound, top, bottom in zip(words, bounds, high, low, strict=True):
        assert int(top) << 64 | int(bottom) == int(word) * int(bound)


@pytest.mark.enumeration
def test_the_open_case_is_reached_at_full_width() -> None:
    """The first word of U ends just below 1/3: one more word tells on which side U is."""
    third = 2**64 // 3
    for after, wanted in ((0, 0), (2**64 - 1, 1)):
        bits = ScriptedBits([third, after], 64)
        assert sample_scaled(np.array([3]), bits, largest=3).tolist() == [wanted]
        assert bits.used == 2


@pytest.mark.enumeration
@pytest.mark.parametrize("bound", [3, 2**61 - 1])
def test_the_open_case_is_reached_after_two_words(bound: int) -> None:
    """The same where two words are read at once: a third one decides."""
    first, second = divmod(2**128 // bound, 2**64)
    for after, wanted in ((0, 0), (2**64 - 1, 1)):
        bits = ScriptedBits([first, second, after], 64)
        found = sample_scaled(np.array([bound]), bits, largest=max(bound, 2**54))
        assert found.tolist() == [wanted]
        assert bits.used == 3


# --- the radial law -----------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.integers(0, 50))
@pytest.mark.property
def test_newton_s_series(coefficients: list[int], place: int) -> None:
    values = [value_at(coefficients, n) for n in range(len(coefficients))]
    assert differences(values) == tuple(coefficients)
    longer = [value_at(coefficients, n) for n in range(place + 1)]
    for n in range(place):
        assert value_at(differences(longer), n) == longer[n]


RADIALS = [("1", (1,)), ("1", (3, 5)), ("2", (1, 9, 4)), ("1", (0, 2)), ("3", (0, 1, 7))]


@pytest.mark.enumeration
@pytest.mark.parametrize(("rate", "coefficients"), RADIALS)
def test_radial_sums(rate: str, coefficients: tuple[int, ...]) -> None:
    law = Radial(Fraction(rate), coefficients)
    b = float(exp_minus(law.rate))
    weights = [value_at(coefficients, n) * b**n for n in range(200)]
    assert float(law.total()) == pytest.approx(sum(weights), rel=1e-13)
    for n in range(5):
        assert float(law.pmf(n)) == pytest.approx(weights[n] / sum(weights), rel=1e-13)
        assert float(law.tail(n)) == pytest.approx(sum(weights[n:]) / sum(weights), rel=1e-13)


@pytest.mark.enumeration
@pytest.mark.parametrize(("width", "longest"), [(1, 13), (2, 7)])
@pytest.mark.parametrize(("rate", "coefficients"), RADIALS)
def test_radial_by_table(
    width: int, longest: int, rate: str, coefficients: tuple[int, ...]
) -> None:
    law = Radial(Fraction(rate), coefficients)

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample_by_table(1, bits)[0])

    assert agrees(draw, law.pmf, width, longest, 0.01)
    wrong = Radial(law.rate * Fraction(21, 20), coefficients)
    assert not agrees(draw, wrong.pmf, width, longest, 0.01)


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(("rate", "coefficients"), RADIALS)
def test_radial_by_mixture(rate: str, coefficients: tuple[int, ...]) -> None:
    law = Radial(Fraction(rate), coefficients)

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample_by_mixture(1, bits)[0])

    assert agrees(draw, law.pmf, 2, 6, 0.35)
    wrong = Radial(law.rate * 2, coefficients)
    assert not agrees(draw, wrong.pmf, 2, 6, 0.35)


def _first(sample: Callable[[int, Any], Any]) -> Callable[[ScriptedBits], int]:
    return lambda bits: int(sample(1, bits)[0])


@pytest.mark.slow
@pytest.mark.enumeration
def test_table_and_mixture_are_the_same_law() -> None:
    """By their exact masses: what the one gives an outcome the other may give it, too."""
    for rate, coefficients in RADIALS[:3]:
        law = Radial(Fraction(rate), coefficients)
        table, rest = outcomes(_first(law.sample_by_table), 2, 6)
        mixture, short = outcomes(_first(law.sample_by_mixture), 2, 6)
        assert len(set(table) & set(mixture)) > 2
        for n in set(table) | set(mixture):
            assert mixture.get(n, 0) <= table.get(n, 0) + rest
            assert table.get(n, 0) <= mixture.get(n, 0) + short


@pytest.mark.enumeration
def test_thresholds_agree_with_the_slow_exact_ones() -> None:
    laws = [
        Radial(Fraction(1), (3, 5, 2)),
        Radial(Fraction(1, 5), (0, 7)),
        Radial(Fraction(90), (1, 2**40)),
        hg.HourglassBox("1/20", [2**32] * 5)._radial,
    ]
    for law in laws:
        for width in (4, 64):
            table = hourglass._plan(law, width).table
            assert table is not None
            for n in {0, len(table) // 3, len(table) // 2, len(table) - 1}:
                assert int(table[n]) == law.threshold(n, width)
            assert int(table[-1]) == 2**width - 1


@pytest.mark.enumeration
def test_a_draw_past_every_bound_raises() -> None:
    law = Radial(Fraction(3), (1, 1))
    with pytest.raises(ArithmeticError, match="a draw exceeded"):
        law.sample_by_table(1, ScriptedBits([1] * 4000, 1))


# --- the laws themselves, word by word ----------------------------------------------------


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize(
    ("grids", "centres", "width", "longest"),
    [([1], [0], 2, 6), ([2], [1], 2, 6), ([3], [0], 4, 3), ([1, 1], [0, 0], 2, 6)],
)
def test_box(grids: list[int], centres: list[int], width: int, longest: int) -> None:
    law = hg.HourglassBox(2, grids, centres)

    def draw(bits: ScriptedBits) -> tuple[tuple[int, ...], int]:
        x, k = law.sample(bits=bits)
        return x, k

    assert agrees(draw, lambda point: law.pmf(*point), width, longest, 0.5)
    other = hg.HourglassBox(2, grids, [c + 1 for c in centres])
    assert not agrees(draw, lambda point: other.pmf(*point), width, longest, 0.5)


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("centre", [0, 1])
def test_triangle(centre: int) -> None:
    law = hg.HourglassTriangle(3, 1, centre)

    def draw(bits: ScriptedBits) -> tuple[int, ...]:
        u, k = law.sample(bits=bits)
        assert sum(u) == k
        return tuple(u)

    assert agrees(draw, law.pmf, 2, 6 + centre, 0.6)
    other = hg.HourglassTriangle(3, 1, centre + 1)
    assert not agrees(draw, other.pmf, 2, 6 + centre, 0.6)


@pytest.mark.enumeration
@pytest.mark.parametrize("whole", [1, 2, 3])
def test_every_point_of_a_hexagon_is_drawn_equally_often(whole: int) -> None:
    """Each piece's rectangle covers it twice or once: together every point equally often."""
    from hourglass.noise.pieces import _point

    for centre, a, m in product(range(3), repeat=3):
        p, t = a * whole + centre, m * whole + centre
        sides = [(p + 1, p + 2), (t, t + 1), (t, 2 * p + 1)]
        seen: dict[tuple[int, int], int] = {}
        for piece, (first, second) in enumerate(sides):
            for i, j in product(range(first), range(second)):
                u0, u2 = _point(*(np.array([v]) for v in (piece, p, i, j)))
                point = int(u0[0]), int(u2[0])
                seen[point] = seen.get(point, 0) + (1 if piece < 2 else 2)
        assert set(seen.values()) == {2}
        assert len(seen) == hg.HourglassTriangle(1, whole, centre).points(a, m)
        for x, y in seen:
            assert all(-t <= value <= p for value in (x, p - t - x - y, y))


# --- words, types, shapes -----------------------------------------------------------------


class Counted:
    """Secure bits that count the words."""

    width = 64
    private = True

    def __init__(self) -> None:
        self.used = 0

    def words(self, size: int) -> Any:
        self.used += size
        return hg.SecureBits().words(size)


BOXES = [("1", [2**32] * 3, 5), ("1/10", [2**32] * 2, 4), ("4", [1], 3), ("8", [7] * 10, 12)]


@pytest.mark.enumeration
@pytest.mark.parametrize(("epsilon", "grids", "words"), BOXES)
def test_one_word_for_l_one_for_m_one_per_column(
    epsilon: str, grids: list[int], words: int
) -> None:
    """Whatever comes out; reading on happens to one value in 2^20 or fewer."""
    law, bits = hg.HourglassBox(epsilon, grids), Counted()
    x, _ = law.sample(1000, bits=bits)
    assert x.shape == (1000, len(grids))
    assert np.any(x != x[0])
    assert 1000 * words <= bits.used <= 1000 * words + 3


@pytest.mark.enumeration
@pytest.mark.parametrize("whole", [4, 2**32])
def test_five_words_per_triangle(whole: int) -> None:
    bits = Counted()
    hg.HourglassTriangle(1, whole).sample(1000, bits=bits)
    assert 5000 <= bits.used <= 5003


@pytest.mark.enumeration
def test_a_small_epsilon_takes_as_many_words_for_every_draw() -> None:
    for law in (hg.HourglassBox("1/10000", [2**32] * 2), hg.HourglassTriangle("1/10000", 2**32)):
        used = set()
        for _ in range(30):
            bits = Counted()
            law.sample(10, bits=bits)
            used.add(bits.used)
        assert len(used) == 1


@pytest.mark.enumeration
def test_the_law_chooses_the_type_and_not_the_draw() -> None:
    for law in (hg.HourglassBox(1, [2**32] * 3), hg.HourglassTriangle(1, 2**32)):
        for size in (0, 1, BLOCK * 2 + 3):
            x, k = law.sample(size)
            assert x.shape == (size, 3)
            assert k.shape == (size,)
            assert x.dtype == k.dtype == np.int64
        x, k = law.sample()
        assert type(x) is tuple
        assert len(x) == 3
        assert all(type(value) is int for value in (*x, k))
    for law in (
        hg.HourglassBox("1/1000000", [2**32] * 3),
        hg.HourglassBox(1, [4, 4, 4], [2**70, 1, 1]),
        hg.HourglassTriangle("1/1000000", 2**32),
    ):
        x, k = law.sample(20)
        assert x.dtype == k.dtype == object
        assert all(type(value) is int for value in (*x.ravel(), *k))


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("columns", [1, 12, 32])
def test_many_columns(columns: int) -> None:
    law = hg.HourglassBox("1/2", [2**32] * columns)
    x, k = law.sample(2000)
    spread = (x / 2.0**32).var(axis=0) / float(law.variance[0][0] / 2**64)
    assert abs(spread - 1).max() < 0.5
    assert abs(k.var() / float(law.variance[1]) - 1) < 0.5


# --- the laws at full width ---------------------------------------------------------------


def chi_square(index: Any, masses: Any) -> float:
    """Samples, as places in ``masses`` (past its end: elsewhere); rare places put together."""
    size = len(index)
    expected = masses * size
    observed = np.bincount(np.minimum(index, len(masses)), minlength=len(masses) + 1)
    large = expected >= 10
    seen = np.append(observed[:-1][large], 0)
    wanted = np.append(expected[large], 0.0)
    seen[-1], wanted[-1] = size - seen.sum(), size - wanted.sum()
    keep = wanted >= 10
    seen, wanted = seen[keep], wanted[keep]
    seen[-1], wanted[-1] = size - seen[:-1].sum(), size - wanted[:-1].sum()
    return float(stats.chisquare(seen, wanted, sum_check=False).pvalue)


def places(values: Any, reaches: list[int]) -> Any:
    """The place of each row in the window of these reaches, past its end if outside."""
    index, inside = np.zeros(len(values), dtype=np.int64), np.ones(len(values), dtype=bool)
    for column, reach in zip(values.T, reaches, strict=True):
        inside &= np.abs(column) <= reach
        index = index * (2 * reach + 1) + np.clip(column, -reach, reach) + reach
    return np.where(inside, index, np.prod([2 * reach + 1 for reach in reaches]))


def window(reaches: list[int]) -> Any:
    axes = [np.arange(-reach, reach + 1) for reach in reaches]
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)


def box_masses(law: hg.HourglassBox, reaches: list[int]) -> Any:
    points, b = window(reaches), float(exp_minus(law.epsilon))
    levels = law.levels(points[:, :-1], points[:, -1])
    return b**levels / (1 - b * b) / float(law.normaliser())


def line(values: Any, pmf: Callable[[int], Enclosure], reach: int) -> float:
    masses = np.array([float(pmf(value)) for value in range(-reach, reach + 1)])
    return chi_square(places(values[:, None], [reach]), masses)


BOX_LAWS = [
    ("1", [2, 3], [1, 2]),
    ("4", [3, 1], [1, 0]),
    ("1/4", [1, 1], [3, 2]),
    ("2", [2, 1, 2], [1, 1, 4]),
]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("epsilon", "grids", "centres"), BOX_LAWS)
def test_the_joint_law_of_a_box(
    epsilon: str, grids: list[int], centres: list[int], size: int
) -> None:
    law = hg.HourglassBox(epsilon, grids, centres)
    x, k = law.sample(size)
    reaches = [c + 6 * g for g, c in zip(grids, centres, strict=True)] + [6]
    index = places(np.column_stack([x, k]), reaches)
    assert chi_square(index, box_masses(law, reaches)) > ALPHA
    wrong = [
        hg.HourglassBox(Fraction(epsilon) * Fraction(103, 100), grids, centres),
        hg.HourglassBox(epsilon, grids, [centres[0] + 1, *centres[1:]]),
        hg.HourglassBox(epsilon, grids, [*centres[:-1], centres[-1] + 1]),
    ]
    for other in wrong:
        assert chi_square(index, box_masses(other, reaches)) < ALPHA
    # The signs of one column the wrong way round.
    flipped = places(np.column_stack([-x[:, :1], x[:, 1:], k]), reaches)
    assert chi_square(flipped, box_masses(law, reaches)) < ALPHA


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("epsilon", "grid", "columns"), [("1", 4, 3), ("1/10", 2, 2), ("3", 5, 10)]
)
def test_the_marginals_of_a_box(epsilon: str, grid: int, columns: int, size: int) -> None:
    law = hg.HourglassBox(epsilon, [grid] * columns)
    wrong = hg.HourglassBox(Fraction(epsilon) * Fraction(51, 50), law.grids, law.centres)
    x, k = law.sample(size)
    reach = int((10 + columns) / float(law.epsilon))
    for i in (0, columns - 1):
        far = law.centres[i] + reach * grid
        assert line(x[:, i], lambda v, i=i: law.column_pmf(i, v, bits=64), far) > ALPHA  # type: ignore[misc]
        assert line(x[:, i], lambda v, i=i: wrong.column_pmf(i, v, bits=64), far) < ALPHA  # type: ignore[misc]
    assert line(k, lambda v: law.count_pmf(v, bits=64), reach) > ALPHA
    assert line(k, lambda v: wrong.count_pmf(v, bits=64), reach) < ALPHA


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("epsilon", "whole", "centre"), [("1", 2, 1), ("3", 4, 2), ("1/2", 1, 0)])
def test_the_joint_law_of_a_triangle(epsilon: str, whole: int, centre: int, size: int) -> None:
    law = hg.HourglassTriangle(epsilon, whole, centre)
    u, k = law.sample(size)
    assert (u.sum(axis=1) == whole * k).all()
    reaches = [centre + 6 * whole, centre + 6 * whole, 6]
    sides = np.column_stack([u[:, 0], u[:, 2], k])

    def masses(other: hg.HourglassTriangle) -> Any:
        x, y, count = window(reaches).T
        points = np.stack([x, other.whole * count - x - y, y], axis=1)
        b = float(exp_minus(other.epsilon))
        return b ** other.levels(points) / (1 - b * b) / float(other.normaliser())

    index = places(sides, reaches)
    assert chi_square(index, masses(law)) > ALPHA
    for other in (
        hg.HourglassTriangle(Fraction(epsilon) * Fraction(103, 100), whole, centre),
        hg.HourglassTriangle(epsilon, whole, centre + 1),
    ):
        assert chi_square(index, masses(other)) < ALPHA
    assert chi_square(places(sides * [-1, 1, 1], reaches), masses(law)) < ALPHA


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_the_marginals_of_a_triangle(epsilon: str, size: int) -> None:
    law = hg.HourglassTriangle(epsilon, 9)
    wrong = hg.HourglassTriangle(Fraction(epsilon) * Fraction(51, 50), 9, law.centre)
    _, k = law.sample(size)
    reach = int(15 / float(law.epsilon))
    assert line(k, lambda v: law.count_pmf(v, bits=64), reach) > ALPHA
    assert line(k, lambda v: wrong.count_pmf(v, bits=64), reach) < ALPHA


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("size", SIZES)
def test_table_and_mixture_at_full_width(size: int) -> None:
    """The same distances by either sampler: a two-sample chi-square."""
    law = hg.HourglassBox("1/5", [4] * 3)._radial

    def counts(drawn: Any) -> Any:
        return np.bincount(np.minimum(drawn, 90), minlength=91)

    table = counts(law.sample_by_table(size, hg.SecureBits()))
    mixture = counts(law.sample_by_mixture(size, hg.SecureBits()))
    keep = table + mixture >= 20
    assert stats.chi2_contingency([table[keep], mixture[keep]]).pvalue > ALPHA
    other = Radial(law.rate * Fraction(102, 100), law.coefficients)
    wrong = counts(other.sample_by_mixture(size, hg.SecureBits()))
    assert stats.chi2_contingency([table[keep], wrong[keep]]).pvalue < ALPHA


@pytest.mark.slow
@pytest.mark.statistical
def test_a_small_epsilon_has_its_variance() -> None:
    """Long laws, drawn by the mixture: within 6 standard errors, and 10 % off is seen."""
    for law in (hg.HourglassBox("1/1000", [2**20] * 2), hg.HourglassTriangle("1/1000", 2**20)):
        assert not (
            law._radial if isinstance(law, hg.HourglassBox) else law._pieces.laws[0][0]
        ).is_short(64)
        x, k = law.sample(100_000)
        each, count = law.variance
        wanted = float(each[0] if isinstance(each, tuple) else each)
        for found, exact in ((x[:, 0].astype(float), wanted), (k.astype(float), float(count))):
            squares = found**2
            error = squares.std() / len(squares) ** 0.5
            assert abs(squares.mean() - exact) < 6 * error
            assert abs(squares.mean() - 1.1 * exact) > 6 * error
