"""The size of a sample and the points of a law: whole numbers, checked by every law."""

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


POINTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Hourglass": (hg.Hourglass(1, 5), (0, 0)),
    "Staircase": (hg.Staircase(1, 5), (0,)),
    "Staircase2D": (hg.Staircase2D(1, 5), (0, 0)),
    "DiscreteLaplace": (hg.DiscreteLaplace(1), (0,)),
    "HourglassBox": (hg.HourglassBox(1, [5, 7]), ([0, 0], 0)),
    "HourglassTriangle": (hg.HourglassTriangle(1, 6), ([0, 0, 0],)),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("of", ["pmf", "level"])
def test_only_points_of_whole_numbers_have_a_probability_and_a_level(name: str, of: str) -> None:
    """Caught: P(X = 0.5) told as that of 0, levels of 0.5, the level of a point cut short; and
    errors of Python and NumPy for what is no point."""
    law, point = POINTS[name]
    asked = getattr(law, of, None)
    if asked is None:  # laws of one coordinate have no levels
        return
    lone = isinstance(point[0], int)
    like = [np.array(part)[()] for part in point]  # NumPy's integers and arrays
    assert asked(*like) == asked(*point)
    assert type(asked(*like)) is type(asked(*point))
    for wrong in (0.5, np.float64(0.0), "0", np.arange(3)):
        first = wrong if lone else [*point[0][:-1], wrong]
        with pytest.raises(hg.OptionError, match="whole number"):
            asked(first, *point[1:])
        if len(point) > 1:
            with pytest.raises(hg.OptionError, match="whole number"):
                asked(point[0], wrong)
    if not lone:
        for short in ([0], 0, None, [*point[0], 0], np.zeros((4, len(point[0])), dtype=int)):
            with pytest.raises(hg.OptionError, match="is not a point; give"):
                asked(short, *point[1:])
