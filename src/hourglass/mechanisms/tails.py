"""Tail probabilities of linear combinations of the noise, bounded from above.

Intervals need P(|s x - n y| >= reach), x the error of the sum in widths of the range and y that
of the count, for any coefficients s and n (:class:`Line`). Each mechanism reduces this to a sum
over the values of one coordinate, given which the tail of the other has a closed form. Where
that coordinate has too many values (small epsilon, fine grids), neighbours are merged into
blocks, and privacy itself bounds the error: moving a value by i, and the event along with it,
changes a probability by a factor of at most exp(i * loss).

Doubles are sufficient here, since the laws are public and every rounding is towards the wider
interval: :data:`SLACK` is far above the rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

__all__ = [
    "FAR",
    "SLACK",
    "TOUCH",
    "Floats",
    "Line",
    "Pair",
    "ProductTails",
    "Tails",
    "above",
    "blocks",
    "distinct",
    "halves",
    "laplace_upper",
    "merged",
    "misses",
    "row_share",
    "summed",
    "summed_above",
    "summed_rows",
    "table_block",
]

Floats = npt.NDArray[np.float64]
#: A float, or a Fraction where a mechanism has to subtract large coefficients exactly.
Number = Any
#: The coefficients of a combination a x + b y.
Pair = tuple[float, float]

#: Added to every tail: more than rounding errors and the mass of omitted values.
SLACK: Final = 1e-9
#: Values beyond which the mass is below exp(-FAR) are omitted.
FAR: Final = 30.0
#: The approximate limit on the values on each side.
NODES: Final = 4096
#: The same if the tail is tabulated at hundreds of points at once.
TABLE_NODES: Final = 512
#: There, values beyond which the mass is about this are omitted, which is less than the slack.
TABLE_FAR: Final = 24.0
#: How many numbers are processed at once, so that they fit a processor's cache.
BATCH: Final = 2**15
#: An event on the boundary counts even if rounding puts it outside by this relative amount.
TOUCH: Final = 2.0**-48


@dataclass(frozen=True)
class Line:
    """The combination sum * x - count * y of the errors x of the sum and y of the count.

    x is in widths of the range, y in records; sum >= 0.
    """

    sum: Number
    count: Number


class Tails(Protocol):
    """Tail probabilities of linear combinations of a mechanism's noise."""

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """At least P(|first| >= reach or |second| >= reach)."""


def above(tails: Any, line: Line, reaches: Floats) -> Floats:
    """At least P(line >= reach) for each reach, of either sign; by default :func:`halves`."""
    found: Floats = getattr(tails, "above", partial(halves, tails))(line, reaches)
    return found


def halves(tails: Tails, line: Line, reaches: Floats) -> Floats:
    """Half of the two-sided tail, as all noise is symmetric about zero; 1 up to zero."""
    return np.array(
        [tails.miss(line, line, reach) / 2 if reach > 0 else 1.0 for reach in reaches.tolist()]
    )


def misses(tails: Any, first: Floats, last: Floats, reaches: Floats) -> Floats:
    """``tails.miss`` of x - first y and x - last y at each reach, 0 <= first <= last <= 1.

    A mechanism that can compute them all at once has a method of that name, and a ``row_share``.
    """
    if hasattr(tails, "misses"):
        found: Floats = tails.misses(first, last, reaches)
        return found
    rows = zip(first.tolist(), last.tolist(), reaches.tolist(), strict=True)
    return np.array([tails.miss(Line(1.0, a), Line(1.0, b), reach) for a, b, reach in rows])


def row_share(rate: float) -> float:
    """About how long one of many rows takes, compared with a call for one row."""
    values = len(blocks(rate)[0])
    return values / (values + 1000)


def distinct(first: Line, second: Line) -> tuple[Line, ...]:
    """The two lines, or one if they are equal."""
    return (first,) if first is second else (first, second)


@lru_cache(maxsize=64)
def _blocks(rate: float, most: int, left: float = FAR) -> tuple[Floats, int]:
    far = math.ceil(left / rate) + 1
    block = max(1, far // most) | 1
    middles = np.arange(1 + block // 2, far + block, block, dtype=np.float64)
    return np.concatenate([[0.0], middles]), block


def blocks(rate: float) -> tuple[Floats, int]:
    """0, then the midpoints of the blocks 1..m, m+1..2m, ...; and m, which is odd.

    ``rate`` is the decay rate of the law per unit.
    """
    return _blocks(rate, NODES)


def merged(block: int, loss: float) -> float:
    """A factor for the midpoint of a block that makes it at least the sum of the block."""
    # exp(|i| loss) over the block is below its integral, by convexity.
    half = block / 2 * loss
    return 1.0 if block == 1 else block * math.expm1(half) / half


def summed(
    rate: float,
    weight: float,
    pairs: Sequence[Pair],
    reach: float,
    upper: Callable[[Floats, Floats], Floats],
) -> float:
    """At least P(|a x + b y| >= reach for one of the pairs (a, b)), a > 0: a sum over y.

    ``rate`` is the decay rate of the law in y, ``weight`` the factor of each block, and ``upper(y,
    x0)`` is P(Y = y, X >= x0) for integers x0, for a law symmetric about the origin.
    """
    y, _ = blocks(rate)
    total = 0.0
    with np.errstate(over="ignore"):  # a tail that starts beyond the largest double is 0 or 1
        for sign in (1.0, -1.0):
            # a x + b y >= reach; the other tail is its mirror image, at -y.
            starts = [_start(a, sign * b, reach, y) for a, b in pairs]
            start = starts[0] if len(starts) == 1 else np.minimum(*starts)
            tail = upper(sign * y, np.ceil(start, out=start))
            total += float(tail[0]) + 2.0 * weight * float(tail[1:].sum())
    return min(1.0, total + SLACK)


def summed_rows(
    rate: float,
    weight: float,
    a: float,
    ends: tuple[Floats, Floats],
    reaches: Floats,
    upper: Callable[[Floats, Floats], Floats],
) -> Floats:
    """:func:`summed` of a x - first y and a x - last y at each reach, 0 <= first <= last."""
    y, _ = blocks(rate)
    rows = max(1, BATCH // len(y))
    found = np.zeros(len(reaches))
    for at in range(0, len(reaches), rows):
        part = slice(at, at + rows)
        for sign, end in zip((1.0, -1.0), ends, strict=True):  # the one whose tail begins first
            start = _start(a, -sign * end[part, None], reaches[part, None], y)
            np.ceil(start, out=start)
            tail = upper(np.tile(sign * y, len(start)), start.ravel()).reshape(start.shape)
            found[part] += tail[:, 0] + 2.0 * weight * tail[:, 1:].sum(axis=1)
    return np.minimum(1.0, found + SLACK)


def _start(a: float, b: Any, reach: Any, y: Floats) -> Floats:
    """Where a x + b y >= reach begins, for y >= 0, less a margin for rounding."""
    start: Floats = (-b - abs(b) * TOUCH) * y
    start += reach * (1 - TOUCH)
    start *= 1 / a
    return start


def table_block(rate: float) -> int:
    """How many neighbours are merged in a table of the tail."""
    return _blocks(rate, TABLE_NODES, TABLE_FAR)[1]


def summed_above(
    rate: float,
    weight: float,
    pair: Pair,
    reaches: Floats,
    upper: Callable[[Floats, Floats], Floats],
) -> Floats:
    """At least P(a x + b y >= reach), a > 0, for each reach: :func:`summed` for one side.

    ``weight`` is the factor of each block of :data:`TABLE_NODES`.
    """
    (a, b), middles = pair, _blocks(rate, TABLE_NODES, TABLE_FAR)[0]
    y = np.concatenate([middles, -middles[1:]])
    mass = np.concatenate([[1.0], np.full(len(y) - 1, weight)])
    lean, rows = b * y + TOUCH * abs(b) * np.abs(y), max(1, BATCH // len(y))
    found = []
    for first in range(0, len(reaches), rows):
        reach = reaches[first : first + rows, None]
        start = np.ceil((reach - TOUCH * np.abs(reach) - lean) / a)
        tail = upper(np.broadcast_to(y, start.shape).ravel(), start.ravel())
        found.append(tail.reshape(start.shape) @ mass)
    return np.minimum(1.0, np.concatenate(found) + SLACK)


class ProductTails:
    """Tail probabilities of a x + b y for independent discrete Laplace noise x and y."""

    def __init__(self, rate_x: Fraction, rate_y: Fraction) -> None:
        self.rates = float(rate_x), float(rate_y)

    def miss(self, pairs: Sequence[Pair], reach: float) -> float:
        """At least P(|a x + b y| >= reach for one of the pairs).

        A sum over the coordinate along which the combination varies less, or over y if all of its
        values can be tried.
        """
        x, y = self.rates
        slope = max(abs(b / a) if a else math.inf for a, b in pairs)
        if slope == math.inf and x != y:  # y alone
            ((_, b), *_) = pairs
            start = np.ceil(np.array([reach / abs(b) * (1 - TOUCH)]))
            return min(1.0, 2 * float(laplace_upper(start, y)[0]) + SLACK)
        if slope * x <= y * (1 + 1e-9) or (blocks(y)[1] == 1 and x != y):
            return summed(y, _weight(y, x, slope), _upward(pairs), reach, _upper(x, y))
        slope = max(abs(a / b) for a, b in pairs)
        swapped = _upward([(b, a) for a, b in pairs])
        return summed(x, _weight(x, y, slope), swapped, reach, _upper(y, x))

    def above(self, pair: Pair, reaches: Floats) -> Floats:
        """At least P(a x + b y >= reach) for each reach."""
        (x, y), (a, b) = self.rates, pair
        if not a:  # y alone
            starts = reaches / abs(b)
            tail = laplace_upper(np.ceil(starts - TOUCH * np.abs(starts)), y)
            return np.minimum(1.0, tail + SLACK)
        slope = abs(b / a)
        if slope * x <= y * (1 + 1e-9) or (table_block(y) == 1 and x != y):
            weight = _weight(y, x, slope, table_block(y))
            return summed_above(y, weight, _upward([pair])[0], reaches, _upper(x, y))
        weight = _weight(x, y, 1 / slope, table_block(x))
        return summed_above(x, weight, _upward([(b, a)])[0], reaches, _upper(y, x))


def _weight(along: float, across: float, slope: float, block: int | None = None) -> float:
    """The factor of a block: if one moves by i, the other moves by i times the slope, rounded up.

    Rounding costs little if the other has the lower rate; otherwise it is counted once.
    """
    block = blocks(along)[1] if block is None else block
    if block == 1:
        return 1.0
    if across <= along:
        return merged(block, along + across * math.ceil(slope))
    return merged(block, along + across * slope) * math.exp(across)


def _upward(pairs: Sequence[Pair]) -> list[Pair]:
    """The same combinations with signs chosen so that the first coefficient is positive."""
    return [(a, b) if a > 0 else (-a, -b) for a, b in pairs]


def _upper(rate_x: float, rate_y: float) -> Callable[[Floats, Floats], Floats]:
    """P(Y = y) P(X >= x0)."""

    def upper(y: Floats, x0: Floats) -> Floats:
        mass = math.tanh(rate_y / 2) * np.exp(-rate_y * np.abs(y))
        product: Floats = mass * laplace_upper(x0, rate_x)
        return product

    return upper


def laplace_upper(x0: Floats, rate: float) -> Floats:
    """P(X >= x0) = a^x0 / (1+a) for x0 >= 1, and the complement of the mirror image below."""
    far = np.maximum(x0, 1.0 - x0)
    far *= -rate
    np.exp(far, out=far)
    far /= 1 + math.exp(-rate)
    near = x0 < 1
    return np.where(near, 1.0 - far, far) if near.any() else far
