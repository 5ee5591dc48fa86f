"""The threshold of secret names is the least that delta allows, by the exact law of the count."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from hourglass.core.limits import Bounds, Grid
from hourglass.mechanisms.box_tails import BoxTails
from hourglass.mechanisms.columns import HourglassColumns
from hourglass.mechanisms.count import LaplaceCount
from hourglass.mechanisms.tails import Line
from hourglass.mechanisms.threshold import threshold
from hourglass.noise import HourglassBox

pytestmark = pytest.mark.enumeration

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(3)]
LAWS: list[Any] = [*map(LaplaceCount, EPSILONS), HourglassBox(Fraction(1, 2), (3, 5))]
#: Also those above one half, for which a group without records would do.
DELTAS = [Fraction(1, 10**12), Fraction(1, 100), Fraction(2, 5), Fraction(1, 2), Fraction(3, 5)]
DELTAS += [1 - Fraction(1, 100), 1 - Fraction(1, 10**9)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_it_is_the_least_that_delta_allows(law: Any) -> None:
    for delta, records, groups in product(DELTAS, (1, 4), (1, 3)):
        t = threshold(law, delta, records, groups)
        assert law.count_tail(t - records, bits=160).high <= delta / groups
        assert law.count_tail(t - 1 - records, bits=160).low > delta / groups


def test_a_column_has_the_parts_that_its_sum_is_in() -> None:
    """Whichever place it has among columns on other grids."""
    for epsilon, sizes in ((4, (1, 3)), (4, (1, 2, 40)), (6, (2, 5)), (2, (2, 5))):
        grids = tuple(Grid(Bounds(0, n), n, own=True) for n in sizes)
        for ordered in (grids, grids[::-1]):
            every = HourglassColumns(Fraction(epsilon), ordered)
            assert len(set(every.parts)) > 1
            for number, parts in enumerate(every.parts):
                one = every.column(number)
                assert one.parts == parts
                assert one.law.grids[number] == parts * one.grid.cells


@pytest.mark.slow
def test_both_errors_apart_are_no_less_than_both_together() -> None:
    """However a reach is split between the sum and the count; against the joint law itself."""
    law = HourglassBox(1, (2, 3))
    tails = BoxTails(law, 0)
    mass = {
        (x, k): float(law.column_pmf(0, x, k).low)
        for x, k in product(range(-60, 61), range(-25, 26))
    }
    # A count that misses its part of the reach by little, and a sum that makes up for it.
    cases = [*product((0.5, 1.0, 3.0), (1.0, 2.0, 4.0, 8.0)), (30.0, 31.0), (30.0, 91.0)]
    for count, reach in cases:
        line = Line(1.0, count)
        exact = sum(p for (x, k), p in mass.items() if abs(x / 2 - count * k) >= reach)
        assert tails._apart((line,), reach) >= exact
