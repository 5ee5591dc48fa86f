"""A public scale of candidate bounds, and how many records lie beyond each of them.

The scale is chosen before the data is seen. A record falls into one of 2m + 1 buckets, m the
number of candidates c_0 < c_1 < ...: bucket 2i + 1 holds the values equal to c_i, the even
ones those strictly between. The rule is made of comparisons alone, so every engine puts every
value into the same bucket:

    bucket(x) = (how many c_i < x) + (how many c_i <= x);  missing, NaN: none

:mod:`hourglass.mechanisms.scan` needs the number of records strictly beyond each candidate on
either side, which follows from a histogram of the buckets.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Any, Final

from ..errors import BoundsError, shown
from .grid import Bounds
from .keys import Public, is_column

__all__ = ["Counts", "Scale", "counts_from_histogram", "doubles_around"]

#: 2^(0/4) to 2^(3/4) as the nearest doubles: four candidates per doubling.
_QUARTERS: Final = (1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429)
#: The default scale spans 2^-64 to 2^64 on either side of zero.
_OCTAVES: Final = 64
_MOST: Final = 100_000


@dataclass(frozen=True)
class Scale:
    """Candidates in increasing order; ``pivot`` is the index of the one nearest to zero."""

    candidates: tuple[int | float, ...]

    def __post_init__(self) -> None:
        given = self.candidates
        if not 2 <= len(given) <= _MOST:
            raise BoundsError(
                f"scale takes from 2 to {_MOST} candidates in increasing order; {len(given)} given"
            )
        try:  # each neighbouring pair must be valid bounds: finite, increasing numbers
            pairs = [Bounds(low, high) for low, high in pairwise(given)]
        except BoundsError:
            pairs = []
        if not pairs:
            raise BoundsError(
                "scale is not a list of finite numbers in increasing order; sort the candidates, "
                "each once, as in scale=[0, 10, 100]"
            )
        ends = (*(pair.lower for pair in pairs), pairs[-1].upper)
        object.__setattr__(self, "candidates", ends)

    @classmethod
    def of(cls, scale: Any, *, integers: bool = False) -> Scale:
        """A scale from a scale, from candidates, or the default one."""
        if isinstance(scale, Scale):
            return scale
        if scale is None:
            return _default(integers)
        if isinstance(scale, Public):
            scale = scale.values
        elif is_column(scale):
            raise BoundsError(
                f"scale={shown(scale)} may be a column of the data; if its candidates come from a "
                "public source, declare that with scale=hg.public(...)"
            )
        if isinstance(scale, str | bytes | Mapping | set | frozenset) or not isinstance(
            scale, Iterable
        ):
            raise BoundsError(
                f"scale of type {type(scale).__name__} is not a list of candidates; give public "
                "numbers in increasing order, such as range(0, 121, 5), or leave it out"
            )
        return cls(tuple(islice(scale, _MOST + 1)))

    @cached_property
    def pivot(self) -> int:
        """Where the scans start: the candidate nearest to zero, the lower of two in a tie."""
        return min((abs(candidate), place) for place, candidate in enumerate(self.candidates))[1]

    def bucket(self, x: int | float) -> int | None:
        """The bucket of one value, None if it is missing; the reference for all engines."""
        if not -math.inf <= x <= math.inf:
            return None
        return bisect_left(self.candidates, x) + bisect_right(self.candidates, x)


@lru_cache(maxsize=2)
def _default(integers: bool) -> Scale:
    """0 and ±2^(k/4): from 2^-64 to 2^64, or for integers rounded and from 1."""
    first = 0 if integers else -_OCTAVES
    sizes = [
        math.ldexp(quarter, octave) for octave in range(first, _OCTAVES) for quarter in _QUARTERS
    ]
    sizes.append(math.ldexp(1.0, _OCTAVES))
    positive: list[int] | list[float] = sorted({round(s) for s in sizes}) if integers else sizes
    return Scale((*(-size for size in reversed(positive)), 0 if integers else 0.0, *positive))


@dataclass(frozen=True, repr=False)
class Counts:
    """How many records lie strictly below and strictly above each candidate. Secret."""

    below: tuple[int, ...]
    above: tuple[int, ...]

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            tuple(a + b for a, b in zip(self.below, other.below, strict=True)),
            tuple(a + b for a, b in zip(self.above, other.above, strict=True)),
        )

    def __repr__(self) -> str:
        return "Counts(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("counts are secret and cannot be pickled or copied")


def counts_from_histogram(scale: Scale, records: Mapping[int, int]) -> Counts:
    """The counts from a histogram of the buckets; buckets that are left out are empty."""
    buckets = 2 * len(scale.candidates) + 1
    cumulated = [0]
    for bucket in range(buckets):
        cumulated.append(cumulated[-1] + int(records.get(bucket, 0)))
    # The buckets before 2i + 1 are below c_i, those after it above.
    return Counts(
        tuple(cumulated[1:buckets:2]),
        tuple(cumulated[-1] - part for part in cumulated[2:buckets:2]),
    )


def doubles_around(c: int | float) -> tuple[float, float]:
    """The last double at or below c and the first at or above it; Python compares exactly."""
    nearest = float(c)
    return (
        nearest if nearest <= c else math.nextafter(nearest, -math.inf),
        nearest if nearest >= c else math.nextafter(nearest, math.inf),
    )
