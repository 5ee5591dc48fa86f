"""Numbers as they are given: in every precision they mean what they print as."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hourglass.core.exact import exact_epsilon, exact_number
from hourglass.core.limits import Bounds, Grid
from hourglass.errors import GridError


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, float, str])
def test_a_number_means_what_it_prints_as(kind: Any) -> None:
    """A narrow 0.1 is one tenth, too, and exactly that is charged."""
    for text, value in (("0.1", Fraction(1, 10)), ("0.5", Fraction(1, 2)), ("3.0", Fraction(3))):
        assert exact_number(kind(text)) == exact_epsilon(kind(text)) == value
    for whole in (np.int8(3), np.uint64(3), np.int64(3)):
        assert exact_number(whole) == 3
    for none in (np.bool_(True), np.datetime64("2020-01-01"), np.float32("nan"), np.float16("inf")):
        assert exact_number(none) is None


def test_a_grid_is_no_finer_than_its_sums_allow() -> None:
    bounds = Bounds(0.0, 1.0)
    assert Grid.choose(bounds, 2**23, finest=2**23).cells == 2**23
    with pytest.raises(GridError, match="too fine for the sum of squares"):
        Grid.choose(bounds, 2**23 + 1, finest=2**23)
