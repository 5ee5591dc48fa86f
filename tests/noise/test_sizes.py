"""The size of a sample: a whole number, checked by every law before a bit is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hourglass as hg

LAWS = [
    hg.DiscreteLaplace(1),
    hg.Hourglass(1, 4),
    hg.HourglassBox(1, (2, 3)),
    hg.HourglassTriangle(1, 4),
    hg.Staircase(1, 4),
    hg.Staircase2D(1, 4),
]


class NoBits:
    """A source from which nothing may be drawn."""

    width, private = 64, False

    def words(self, count: int) -> Any:
        raise AssertionError("bits were drawn")


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("size", [-1, -(2**70), 1.5, 2.0, True, "3", (2, 3)])
def test_what_is_no_size_is_refused(law: Any, size: Any) -> None:
    with pytest.raises(hg.OptionError, match=r"^size=.* is not a whole number of 0 or more; give"):
        law.sample(size, bits=NoBits())


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_sizes_that_are_taken(law: Any) -> None:
    for size in (0, 3, np.int64(3)):
        found = law.sample(size, bits=hg.SeededBits(1))
        first = found[0] if isinstance(found, tuple) else found
        assert len(first) == size
