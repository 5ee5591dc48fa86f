"""Arrays of integers past 64 bits: every operation is that of Python's integers."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hourglass.core.totals import LIMIT, NOISE, ROWS, NoisyCounts, NoisyTotals, Wide

#: Around every place where a half ends, a sign changes or 64 bits are full.
EDGES = sorted(
    {
        sign * (2**power + step)
        for power in (0, 16, 31, 32, 33, 47, 48, 61)
        for step in (-1, 0, 1)
        for sign in (1, -1)
    }
)
FACTORS = [0, 1, 2, 8, 65_536, 2**31 + 1, 2**32 - 1, 2**32, 2**33 + 5, 2**46]

pytestmark = pytest.mark.enumeration


def wide(values: list[int], most: int = NOISE) -> Wide:
    return Wide.of(np.array(values, dtype=np.int64), most)


def test_sums_and_differences() -> None:
    first, second = zip(*product(EDGES, EDGES), strict=True)
    a, b, array = wide([*first]), wide([*second]), np.array(second, dtype=np.int64)
    for other in (b, array, array.astype(object)):
        assert (a + other).tolist() == [x + y for x, y in zip(first, second, strict=True)]
        assert (other + a).tolist() == [x + y for x, y in zip(first, second, strict=True)]
        assert (a - other).tolist() == [x - y for x, y in zip(first, second, strict=True)]
        assert (other - a).tolist() == [y - x for x, y in zip(first, second, strict=True)]
    for number in (0, 7, -(2**40), 2**80, -LIMIT, 2**200):
        assert (a + number).tolist() == [x + number for x in first]
        assert (number - a).tolist() == [number - x for x in first]


@pytest.mark.parametrize("factor", [*FACTORS, *(-factor for factor in FACTORS), 2**70, 2**200])
def test_products(factor: int) -> None:
    """Products stay wide as long as the bound allows, and are exact past it."""
    rows = [value for value in EDGES if abs(value) <= ROWS]
    found = factor * wide(rows, ROWS)
    assert found.tolist() == [factor * value for value in rows]
    assert isinstance(found, Wide) == (ROWS * abs(factor) < LIMIT)
    again = found * 2**20 - found
    assert again.tolist() == [factor * value * (2**20 - 1) for value in rows]


def test_sums_that_grow_past_all_bounds() -> None:
    """Doubled and added to themselves: the bound of a sum is that of both, and past it nothing
    wraps."""
    values = [NOISE - 1, 1 - NOISE, 1, 0]
    found, expected = wide(values), values
    for step in range(40):
        found, expected = found + found, [2 * value for value in expected]
        assert list(found) == expected
        assert isinstance(found, Wide) == (NOISE << step + 1 < LIMIT)


@pytest.mark.parametrize("power", [61, 62, 63, 64, 80, 90])
def test_a_factor_past_64_bits(power: int) -> None:
    """Small values, whose products stay below the bound."""
    values = [3, -5, 0, 7]
    for factor in (2**power, 2**power + 1, 1 - 2**power):
        assert list(wide(values, 8) * factor) == [factor * value for value in values]


@pytest.mark.parametrize("digits", [16, 31])
def test_halves_of_engines(digits: int) -> None:
    most = 2**63 - 1
    ends = [-most - 1, -1, 0, 1, 2**digits - 1, 2**digits, most]
    hi, lo = zip(*product(ends, ends), strict=True)
    found = Wide.of_halves(np.array(hi), np.array(lo), digits)
    assert found.tolist() == [h * 2**digits + x for h, x in zip(hi, lo, strict=True)]
    assert (-found).tolist() == [-value for value in found.tolist()]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(-ROWS, ROWS), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from("+-*"), st.integers(-(2**50), 2**50)), max_size=6),
)
def test_any_chain_of_operations(values: list[int], steps: list[tuple[str, int]]) -> None:
    found, expected = wide(values, ROWS), [*values]
    for sign, number in steps:
        if sign == "*":
            found, expected = found * number, [value * number for value in expected]
        else:
            number = number if sign == "+" else -number
            found, expected = found + number, [value + number for value in expected]
    assert found.tolist() == expected


@pytest.mark.parametrize("value", [2**60 - 1, 2**60, -(2**60), -(2**60) - 1, 2**62, 2**79])
def test_noisy_totals_are_plain_arrays(value: int) -> None:
    """In 64 bits where all values are small enough to be doubled, else Python's integers."""
    given_ = wide([0]) + value
    noisy = NoisyTotals(given_, wide([5]), 10, squares=given_, below=given_, above=wide([7]))
    assert noisy.cells.tolist() == noisy.squares.tolist() == noisy.below.tolist() == [value]
    assert noisy.cells.dtype == (np.int64 if -(2**60) <= value < 2**60 else object)
    assert noisy.rest.dtype == noisy.above.dtype == np.int64
    assert NoisyCounts(given_).counts.tolist() == [value]


def test_it_is_secret() -> None:
    found = wide([5, 6])
    assert repr(found) == str(found) == "Wide(secret)"
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(found)


def test_as_a_sequence() -> None:
    found = wide([5, -6, 2**40])
    assert len(found) == 3
    assert list(found) == [5, -6, 2**40]
    assert found[1] == -6
    assert type(found[1]) is int
    assert found[np.array([2, 0])].tolist() == [2**40, 5]
    assert np.array(found, dtype=object).tolist() == [5, -6, 2**40]
