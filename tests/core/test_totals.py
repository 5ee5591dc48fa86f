"""The totals of one group: in Python's integers, as those of many groups say."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from hourglass.core.keys import NAMELESS
from hourglass.core.totals import HALF, Groups, NoisyColumns, NoisyTotals, Totals

SUMS = [0, 1, HALF - 1, HALF, 2**53 + 1, 2**62 + 12345, 2**78 + 7]


@pytest.mark.parametrize("first", SUMS)
def test_one_total_comes_back(first: int) -> None:
    for totals in (Totals(first, 9), Totals(first, 0, (3, 2**70))):
        found = Groups.of_total(totals).only
        assert found == totals
        assert [type(part) for part in (found.count, *found.sums)] == [int] * (2 + len(totals.more))


@pytest.mark.parametrize("whole", SUMS)
def test_the_only_group_is_the_first_of_many(whole: int) -> None:
    hi, lo = divmod(whole, HALF)
    groups = Groups.of(NAMELESS, [3], [hi], [lo])
    assert groups.only.cells == whole
    assert [int(part) for part in groups.totals.cells] == [whole]


def test_a_count_without_sums() -> None:
    assert Groups.of(NAMELESS, [5]).only == Totals(0, 5)


@pytest.mark.enumeration
def test_a_size_is_rounded_down_before_it_meets_a_threshold() -> None:
    """A group that does not quite reach the threshold is not published."""
    for weight, grid, parts in product(range(-13, 14), (1, 2, 5), (1, 2)):
        one = NoisyTotals(weight - 3, 3, grid, parts)
        several = NoisyTotals(np.array([weight - 3, 0]), np.array([3, 0]), grid, parts)
        assert one.sizes == several.sizes[0] == math.floor(one.size)
        assert NoisyColumns((several, several)).sizes.tolist() == [math.floor(one.size), 0]
