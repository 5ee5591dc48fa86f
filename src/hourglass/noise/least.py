"""The integer at which a ratio of polynomials is least, found exactly.

A law's variance as a function of its centre c is F(c)/N(c), two polynomials whose coefficients are
sums of powers of exp(-epsilon), enclosed between integers. It can fall and rise more than once
(many columns at a large epsilon), so bisection alone is not enough. Where D = F' N - F N' has one
sign, F/N is monotone; Descartes' rule of signs, applied to a segment, bounds how often D changes
sign within it. Segments are halved until that is at most once, or until they contain no integer.
The few candidates that are left are compared exactly. [B6]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..core.exact import DEFAULT_BITS, PRECISIONS, Enclosure

__all__ = ["least_ratio", "times"]

Polynomials = Callable[[int], tuple[list[Enclosure], list[Enclosure]]]

#: How often digits are doubled before a sign counts as unknown and the segment is halved.
_DOUBLINGS = 5


def least_ratio(polynomials: Polynomials) -> int:
    """The least c = 0, 1, 2, ... of least F(c)/N(c).

    ``polynomials(bits)`` encloses the coefficients of F and N, constant first; they are not
    negative, N is not zero, and the degree of F is above that of N.
    """
    slopes = _Slopes(polynomials)
    end = 1
    while not slopes.rise_from(end):
        end *= 2
    first, *others = sorted(set(_candidates(slopes, 0, end)))
    best = first
    for other in others:
        differences = (_difference(polynomials(bits), best, other) for bits in PRECISIONS)
        if next(d.sign for d in differences if d.sign is not None) > 0:
            best = other
    return best


def _difference(pair: tuple[list[Enclosure], list[Enclosure]], a: int, b: int) -> Enclosure:
    """F(a) N(b) - F(b) N(a), of the sign of F(a)/N(a) - F(b)/N(b)."""
    above, below = pair
    found: Enclosure = _at(above, a) * _at(below, b) - _at(above, b) * _at(below, a)
    return found


def _at(polynomial: Sequence[Any], c: int) -> Any:
    """The value at c, of coefficients that are integers or enclosures."""
    total: Any = 0
    for coefficient in reversed(polynomial):
        total = total * c + coefficient
    return total


class _Slopes:
    """D to increasing precision, computed on demand."""

    def __init__(self, polynomials: Polynomials) -> None:
        self._polynomials, self._known = polynomials, list[_Slope]()

    def __iter__(self) -> Iterator[_Slope]:
        for i in range(_DOUBLINGS):
            if i == len(self._known):
                self._known.append(_Slope.of(*self._polynomials(DEFAULT_BITS << i)))
            yield self._known[i]

    def rise_from(self, c: int) -> bool:
        """Whether D is certainly positive from c on, because all coefficients of D(c + x) are."""
        for d in self:
            signs = set(_signs(_shift(d.low, c), _shift(d.high, c)))
            if signs == {1} or -1 in signs:  # more digits would not change a sign that is known
                return signs == {1}
        return False


@dataclass(frozen=True)
class _Slope:
    """D = F' N - F N', with coefficients between those of ``low`` and ``high``."""

    low: list[int]
    high: list[int]

    @classmethod
    def of(cls, above: list[Enclosure], below: list[Enclosure]) -> _Slope:
        scale = max(e.denominator for v in (*above, *below) for e in (v.low, v.high))
        f_low, f_high = _scaled(above, scale)
        n_low, n_high = _scaled(below, scale)
        rising = times(_derived(f_low), n_low), times(_derived(f_high), n_high)
        falling = times(f_low, _derived(n_low)), times(f_high, _derived(n_high))
        low = [r - f for r, f in zip(rising[0], falling[1], strict=True)]
        high = [r - f for r, f in zip(rising[1], falling[0], strict=True)]
        return cls(low, high)


def _scaled(polynomial: list[Enclosure], scale: int) -> tuple[list[int], list[int]]:
    lows, highs = [], []
    for value in polynomial:
        low, high = value.low * scale, value.high * scale
        lows.append(low.numerator // low.denominator)
        highs.append(-(-high.numerator // high.denominator))
    return lows, highs


def _derived(polynomial: list[int]) -> list[int]:
    return [i * value for i, value in enumerate(polynomial)][1:]


def times(one: list[int], other: list[int]) -> list[int]:
    """The product of two polynomials."""
    product = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            product[i + j] += a * b
    return product


def _candidates(slopes: _Slopes, start: int, end: int) -> Iterator[int]:
    """Integers, one of which has the least ratio in start..end."""
    changes, first = _changes(slopes, start, end)
    if changes == 0 or end - start <= 1 or (changes == 1 and first > 0):
        yield from (start, end)
    elif changes == 1:
        yield from _valley(slopes, start, end)
    else:
        middle = (start + end) // 2
        yield from _candidates(slopes, start, middle)
        yield from _candidates(slopes, middle, end)


def _valley(slopes: _Slopes, start: int, end: int) -> tuple[int, int]:
    """The two integers around the point where D changes from negative to positive."""
    while end - start > 1:
        middle = (start + end) // 2
        sign = next((s for s in (_sign_at(slope, middle) for slope in slopes) if s), 0)
        if sign < 0:
            start = middle
        else:
            end = middle
    return start, end


def _sign_at(slope: _Slope, c: int) -> int:
    """The sign of D(c); 0 if it is unknown."""
    low, high = (_at(part, c) for part in (slope.low, slope.high))
    return 1 if low > 0 else -1 if high < 0 else 0


def _changes(slopes: _Slopes, start: int, end: int) -> tuple[int, int]:
    """A bound on the sign changes of D between start and end (2 if unknown), and its first sign.

    (1+x)^n D((start x + end)/(1+x)) has as many roots x > 0 as D has between the two, and by
    Descartes at most as many as its coefficients change sign, and as many if that is once. Every
    step has nonnegative factors, so it maps lower ends to lower ends.
    """
    for slope in slopes:
        low, high = _onto(slope.low, start, end), _onto(slope.high, start, end)
        signs = _signs(low, high)
        if 0 not in signs:
            # Its constant coefficient is D(end), its leading one D(start).
            return sum(a != b for a, b in pairwise(signs)), signs[-1]
    return 2, 0


def _onto(polynomial: list[int], start: int, end: int) -> list[int]:
    moved = _shift(polynomial, start)
    stretched = [value * (end - start) ** i for i, value in enumerate(moved)]
    return _shift(stretched[::-1], 1)


def _shift(polynomial: list[int], by: int) -> list[int]:
    """The coefficients of p(x + by)."""
    row = list(polynomial)
    for i in range(len(row)):
        for j in range(len(row) - 2, i - 1, -1):
            row[j] += by * row[j + 1]
    return row


def _signs(low: list[int], high: list[int]) -> list[int]:
    """The signs of the coefficients, those that are exactly zero left out; 0 for unknown."""
    return [
        1 if a > 0 else -1 if b < 0 else 0
        for a, b in zip(low, high, strict=True)
        if not a == b == 0
    ]
