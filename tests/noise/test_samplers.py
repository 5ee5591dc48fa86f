"""The samplers' own laws, by running them on every script of narrow words.

With words of 1, 2 or 4 bits the branches that 64-bit words never reach (a word equal to the
first digits of a probability, an overflowing geometric, a redrawn uniform) happen all the
time, and every script can be tried. The mass that a sampler gives an outcome must lie in the
enclosure of its pmf, up to the mass of the scripts that were too short.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.core.exact import Enclosure, exp_minus
from hourglass.noise import hourglass, ladder
from hourglass.noise.bernoulli import Bernoulli
from hourglass.noise.bits import BLOCK
from hourglass.noise.ladder import Ladder
from hourglass.noise.staircase2d import sample_ball
from hourglass.noise.uniform import sample_below, sample_below_each
from tests.conftest import ScriptedBits, outcomes
from tests.tools import long

pytestmark = [pytest.mark.enumeration, pytest.mark.usefixtures("known_ladders")]


#: The last sampler's law is kept: it is held against the right law, then against a wrong one.
enumerated = lru_cache(maxsize=1)(outcomes)


def agrees(
    draw: Callable[[ScriptedBits], Any],
    pmf: Callable[[Any], Enclosure],
    width: int,
    longest: int,
    most_undecided: float,
) -> bool:
    """Whether the sampler's exact law can be this one; few scripts may be left undecided."""
    decided, undecided = enumerated(draw, width, longest)
    whole = 1 << width * longest
    assert sum(decided.values()) + undecided == whole
    assert undecided <= most_undecided * whole, undecided / whole
    return all(
        Fraction(mass, whole) <= pmf(outcome).high
        and Fraction(mass + undecided, whole) >= pmf(outcome).low
        for outcome, mass in decided.items()
    )


def coin(probability: Enclosure) -> Callable[[int], Enclosure]:
    return lambda outcome: probability if outcome else 1 - probability


@pytest.mark.parametrize(("width", "longest"), [(1, 16), (2, 8), (4, 4)])
@pytest.mark.parametrize("rate", ["1/100", "1/3", "2", "9"])
def test_bernoulli(width: int, longest: int, rate: str) -> None:
    exact = Fraction(rate)
    law = Bernoulli(lambda precision: exp_minus(exact, precision))
    p = exp_minus(exact)

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample(1, bits)[0])

    assert agrees(draw, coin(p), width, longest, 2**-12)
    assert not agrees(draw, coin(p + Fraction(1, 2**12)), width, longest, 2**-12)


LADDERS = [("1", 1, 1), ("1", 1, 2), ("1/2", 3, 8), ("3", 5, 6)]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "longest"), [(1, 13), (2, 7)])
@pytest.mark.parametrize(("rate", "first", "other"), LADDERS)
def test_ladder_by_table(width: int, longest: int, rate: str, first: int, other: int) -> None:
    law = Ladder(Fraction(rate), first, other)

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample_by_table(1, bits)[0])

    assert agrees(draw, law.pmf, width, longest, 0.005)
    wrong = Ladder(Fraction(rate) * Fraction(21, 20), first, other)
    assert not agrees(draw, wrong.pmf, width, longest, 0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "longest"), [(1, 14), (2, 8)])
@pytest.mark.parametrize(("rate", "first", "other"), LADDERS)
def test_ladder_by_digits(width: int, longest: int, rate: str, first: int, other: int) -> None:
    law = Ladder(Fraction(rate), first, other)

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample_by_digits(1, bits)[0])

    assert agrees(draw, law.pmf, width, longest, 0.08)
    wrong = Ladder(Fraction(rate) * Fraction(3, 2), first, other)
    assert not agrees(draw, wrong.pmf, width, longest, 0.08)


@pytest.mark.slow
def test_digits_overflow_adds_a_window() -> None:
    """Two digits and no more: passing them adds 4, and again, as the law demands."""
    law = Ladder(Fraction(1, 2), 1, 1)
    assert law.digits_needed(1) == 2
    decided, _ = outcomes(lambda bits: int(law.sample_by_digits(1, bits)[0]), 1, 14)
    assert max(decided) > 4


def test_a_draw_that_passes_every_window_raises() -> None:
    law = Ladder(Fraction(1, 2), 1, 1)
    zeros = ScriptedBits([1] + [0] * 400, 1)  # past rung 0, then every coin below its threshold
    with pytest.raises(ArithmeticError, match="exceeded 8 windows"):
        law.sample_by_digits(1, zeros)


@pytest.mark.parametrize(
    ("bound", "width", "longest"), [(1, 1, 3), (3, 1, 12), (5, 2, 8), (6, 4, 4)]
)
def test_uniform(bound: int, width: int, longest: int) -> None:
    def draw(bits: ScriptedBits) -> int:
        return int(sample_below(bound, 1, bits)[0])

    share = Enclosure.of(Fraction(1, bound))
    assert agrees(draw, lambda _: share, width, longest, 0.05)

    def each(bits: ScriptedBits) -> int:
        return int(sample_below_each(np.array([bound]), bits, largest=7)[0])

    assert agrees(each, lambda _: share, width, longest, 0.2)


def test_uniform_of_each_redraws_by_its_own_bound() -> None:
    """Two bounds at once: a redraw must look at the bound of the element redrawn."""
    bounds = np.array([4, 3])
    script = [0, 3, 3, 1]  # the second draw, 3, is past bound 3; so is the third
    drawn = sample_below_each(bounds, ScriptedBits(script, 2), largest=4)
    assert drawn.tolist() == [0, 1]


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_ball(radius: int) -> None:
    points = 1 + 2 * radius * (radius + 1)

    def draw(bits: ScriptedBits) -> tuple[int, int]:
        x, y = sample_ball(np.array([radius]), bits)
        return int(x[0]), int(y[0])

    decided, _ = outcomes(draw, 2, 6)
    assert len(decided) == points
    assert all(abs(x) + abs(y) <= radius for x, y in decided)
    assert agrees(draw, lambda _: Enclosure.of(Fraction(1, points)), 2, 6, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("G", "c", "width", "longest"),
    [(1, 0, 3, 5), (2, 1, 3, 5), *long((2, 0, 3, 5), (4, 1, 4, 4))],
)
def test_hourglass(G: int, c: int, width: int, longest: int) -> None:
    """One pair in Python's integers; an array makes the same pair of the same words."""
    law = hg.Hourglass(2, G, c)

    def draw(bits: ScriptedBits) -> tuple[int, int]:
        x, k = law.sample(bits=bits)
        assert in_an_array(law, bits) == ((x, k), bits.used)
        return x, k

    assert agrees(draw, lambda point: law.pmf(*point), width, longest, 0.1)
    other = hg.Hourglass(2, G, 1 - c) if G > 1 and c < 2 else hg.Hourglass("2.5", G, c)
    assert not agrees(draw, lambda point: other.pmf(*point), width, longest, 0.1)


def in_an_array(law: hg.Hourglass, bits: ScriptedBits) -> tuple[tuple[int, int], int]:
    """The pair that the words of a script make in an array, and how many of them it takes."""
    again = ScriptedBits(bits.script, bits.width)
    x, k = law.sample(1, bits=again)
    return (int(x[0]), int(k[0])), again.used


@pytest.mark.slow
def test_hourglass_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a table of levels, as for a tiny epsilon: stair by stair, the same law."""
    monkeypatch.setattr(hourglass, "TABLE_LIMIT", 0)
    law = hg.Hourglass("2.125", 2, 0)  # which no other test has a table of
    assert not law._levels.is_short(3)

    def draw(bits: ScriptedBits) -> tuple[int, int]:
        return law.sample(bits=bits)

    assert agrees(draw, lambda point: law.pmf(*point), 3, 5, 0.5)
    other = hg.Hourglass("2.125", 2, 1)
    assert not agrees(draw, lambda point: other.pmf(*point), 3, 5, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "words"), [("2", 2), ("1/5", 3)])
def test_one_pair_is_that_of_an_array_at_full_width(epsilon: str, words: int) -> None:
    """Every threshold of the table and the words beside it, with words that are read on."""
    law = hg.Hourglass(epsilon, 2**32)
    table = [int(word) for word in law._levels._plan(64).thresholds]
    for level in {word + step for word in table for step in (-1, 0, 1)} - {2**64}:
        for rest in (0, 1, 2**63, 2**64 - 1, 2**64 // 3):
            bits = ScriptedBits([level, rest, 5, rest, 7, rest, 2**40, 3], 64)
            assert in_an_array(law, bits) == (law.sample(bits=bits), bits.used)
            assert bits.used >= words
    bits = ScriptedBits([12345, 67890, 2**50], 64)
    law.sample(bits=bits)
    assert bits.used == words


def test_discrete_laplace() -> None:
    law = hg.DiscreteLaplace("3/2")

    def draw(bits: ScriptedBits) -> int:
        return int(law.sample(bits=bits))

    assert agrees(draw, law.pmf, 2, 8, 0.05)
    assert not agrees(draw, hg.DiscreteLaplace("8/5").pmf, 2, 8, 0.05)


@pytest.mark.slow
def test_table_and_digits_are_the_same_law() -> None:
    """On the same law, by their exact masses: the two samplers cannot be told apart."""
    law = Ladder(Fraction(3, 4), 3, 4)
    table, _ = outcomes(lambda bits: int(law.sample_by_table(1, bits)[0]), 1, 14)
    digits, short = outcomes(lambda bits: int(law.sample_by_digits(1, bits)[0]), 1, 14)
    for rung in set(table) & set(digits):
        assert digits[rung] <= table[rung] + short
        assert table[rung] <= digits[rung] + short


def test_the_table_is_chosen_by_the_rate_alone() -> None:
    """One word a sample for a short table; for a small rate one a digit, however it falls."""
    for rate, words in ((Fraction(1), {1}), (Fraction(1, 1000), {18})):
        calls = set()
        for seed in range(20):
            bits = hg.SeededBits(seed)
            Ladder(rate, 1, 2).sample(10, bits)
            calls.add(bits._calls)
        assert calls == words


def test_values_past_int64_become_python_integers() -> None:
    law = Ladder(Fraction(1, 2**70), 1, 1)
    drawn = law.sample(50, hg.SeededBits(3))
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn)
    assert max(drawn) > 2**66
    narrow = Ladder(Fraction(1, 2**40), 1, 1).sample(50, hg.SeededBits(3))
    assert narrow.dtype == np.int64


@pytest.mark.parametrize("m", range(52, 70))
def test_the_largest_geometric_is_exact(m: int) -> None:
    """All digits 1, and all windows but the last: 64 bits are used only if that fits."""
    law = Ladder(Fraction(1, 2 ** (m - 6)), 1, 1)
    assert law.digits_needed(64) == m
    # A word of 0 is a 1; for another window it takes two, since its probability is below 2^-64.
    script = [0] * m + [0, 0] * (ladder.WINDOWS - 1) + [1]
    (drawn,) = law._sample_geometric(1, ScriptedBits(script, 64)).tolist()
    assert drawn == (ladder.WINDOWS << m) - 1
    kind = law._sample_geometric(0, ScriptedBits([], 64)).dtype
    assert kind == (object if ladder.WINDOWS << m >= 2**62 else np.int64)


@pytest.mark.parametrize("width", [1, 4, 16, 64])
def test_a_table_leaves_nothing_to_be_drawn_beyond_it(width: int) -> None:
    """Every word is at most its last entry, so a word never ends beyond the table."""
    rates = [Fraction(1, n) for n in (1, 2, 3, 7, 10, 15, 20, 21, 22)] + [
        Fraction(7, 3),
        Fraction(40),
    ]
    for rate, (first, other) in product(rates, ((1, 1), (1, 2), (3, 8), (1, 2**33 - 1))):
        law = Ladder(rate, first, other)
        assert law.tail(law.table_length(width)).high <= Fraction(1, 2**width)


def test_thresholds_agree_with_the_slow_exact_ones() -> None:
    for law in (
        Ladder(Fraction(1), 3, 8),
        Ladder(Fraction(1, 5), 1, 2),
        Ladder(Fraction(90), 7, 2),
    ):
        for width in (4, 64):
            table = ladder._table(law, width)
            for rung in (0, 1, len(table) // 2, len(table) - 1):
                assert int(table[rung]) == law.threshold(rung, width)
            assert int(table[-1]) == 2**width - 1


def test_blocks_change_nothing_but_the_size() -> None:
    law = hg.Hourglass(1, 10)
    x, k = law.sample(BLOCK * 2 + 3)
    assert x.shape == k.shape == (BLOCK * 2 + 3,)
    assert x.dtype == k.dtype == np.int64
    x, k = law.sample(0)
    assert x.shape == k.shape == (0,)


def test_blocks_follow_one_another() -> None:
    """Many draws are those of one block after the other, from the same stream of words."""
    for law in (hg.Hourglass(1, 10), hg.HourglassBox(1, [3, 7])):
        stream, again = hg.SeededBits(1), hg.SeededBits(1)
        whole = law.sample(BLOCK * 2 + 3, bits=stream)
        parts = [law.sample(size, bits=again) for size in (BLOCK, BLOCK, 3)]
        for array, blocks in zip(whole, zip(*parts, strict=True), strict=True):
            assert np.array_equal(array, np.concatenate(blocks))
