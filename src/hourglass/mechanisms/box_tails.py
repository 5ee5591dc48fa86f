"""Tail probabilities of one column of the hourglass of a box, and of the count.

P(K = k, X_i >= x) is a sum over L = a + m, in steps of two, of b^L times a polynomial in L: how
many cells of column i lie at x or above, times the widths of all other columns. Such a sum from
L on is b^L times a polynomial of the same degree in L, whose coefficients are computed once; they
are all positive, so doubles lose nothing.  [B5]
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Any, Final

import numpy as np
from numpy.polynomial.polynomial import polyfromroots, polyval

from ..core.exact import to_double
from ..noise import HourglassBox
from .tails import FAR, SLACK, TOUCH, Floats, Line, blocks, distinct, merged, summed

__all__ = ["BoxTails"]

#: Where K is left out less than this much mass lies: far below SLACK.
_LEFT_OUT: Final = 1e-12
#: How a reach is split between the sum and the count where their blocks would be too coarse.
_SPLITS: Final = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)


class BoxTails:
    """The error of column i's sum is X_i / G_i in widths of its range, that of the count K."""

    def __init__(self, law: HourglassBox, column: int) -> None:
        self.law, self.epsilon = law, float(law.epsilon)
        self.grid, self.centre = float(law.grids[column]), float(law.centres[column])
        self.middle = (2 * self.centre + 1) / self.grid  # the centre's width, in records
        others = [i for i in range(law.columns) if i != column]
        # The widths of the other columns, (2c+1)/G + L, times epsilon: numbers of moderate size.
        roots = [
            self.epsilon * to_double(Fraction(2 * law.centres[i] + 1, law.grids[i])) for i in others
        ]
        self.widths = np.asarray(polyfromroots([-root for root in roots]), dtype=np.float64)
        scale = self.epsilon**law.columns
        cells = math.prod(law.grids)
        # Z in the same units, one power of epsilon for column i as well.
        self.normaliser = to_double(law.normaliser().low / cells) * scale
        self.rate = self._rate()

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """R0, R1: the sum of widths(L) b^L over L, L+2, ... is b^L R0(L), with L as a factor R1."""
        times_l = np.concatenate([[0.0], self.widths])
        return _summed_polynomial(self.widths, self.epsilon), _summed_polynomial(
            times_l, self.epsilon
        )

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """A sum over K; where its blocks would be too coarse, a bound by the two errors apart."""
        lines = distinct(first, second)
        if not first.sum:
            return self._count_miss(reach / abs(float(first.count)))
        block = blocks(self.rate)[1]
        # Moving K by one and X by up to a record costs one epsilon (that is the privacy); each
        # further record that X moves costs two, of which one is taken back and one added.
        slope = max(abs(float(line.count / line.sum)) for line in lines)
        together = all(line.count >= 0 for line in lines)
        steps = max(0, math.ceil(slope) - 1) + (0 if together else 1)
        pairs = [(float(line.sum) / self.grid, -float(line.count)) for line in lines]
        loss = self.epsilon * (1 + 2 * steps)
        if block == 1 or block * loss < FAR:
            found = summed(self.rate, merged(block, loss), pairs, reach, self.upper)
        else:
            found = 1.0
        return found if block == 1 or slope <= 1 else min(found, self._apart(lines, reach))

    def _apart(self, lines: tuple[Line, ...], reach: float) -> float:
        """One of the two errors makes up its part of the reach, wherever it is split."""
        s = max(float(line.sum) for line in lines)
        n = max(abs(float(line.count)) for line in lines)
        alone = Line(1.0, 0.0)
        return min(
            self.miss(alone, alone, part * reach / s) + self._count_miss((1 - part) * reach / n)
            for part in _SPLITS
        )

    def _count_miss(self, reach: float) -> float:
        tail = self.law.count_tail(math.ceil(reach * (1 - TOUCH)))
        return min(1.0, 2 * to_double(tail) + SLACK)

    def upper(self, k: Floats, x: Floats) -> Floats:
        """P(K = k, X_i >= x).  [B5]

        Regions that end below x have no such cells, those that begin at x or above have all of
        theirs, the rest have c + G a - x + 1.
        """
        x = np.clip(x, -4 * self.far * self.grid, 4 * self.far * self.grid)
        up = np.maximum(0.0, np.ceil((x - self.centre) / self.grid))
        down = np.maximum(0.0, np.ceil((-x - self.centre) / self.grid))
        first = np.maximum(np.abs(k), 2 * up - k)
        part = np.maximum(first, 2 * down + k)  # from here on the region has cells on both sides
        plain, times_l = self._from(part)
        found = times_l / 2 + ((self.centre + 1 - x) / self.grid + k / 2) * plain
        whole, whole_l = self._from(first)
        found += self.middle * (whole - plain) + (whole_l - times_l)
        tail: Floats = np.clip(found * self.epsilon / self.normaliser, 0.0, 1.0)
        return tail

    def _from(self, L: Floats) -> tuple[Floats, Floats]:
        """The sums over L, L+2, ... of widths(L) b^L and of L widths(L) b^L."""
        place = self.epsilon * L
        power = np.exp(-place)
        plain, times_l = self._sums
        with_l: Any = power * polyval(place, times_l) / self.epsilon
        return power * polyval(place, plain), with_l

    @cached_property
    def far(self) -> float:
        """Beyond this many records on either side nothing is left."""
        return FAR / self.rate + 1

    def _rate(self) -> float:
        """How fast K's law falls at the least: exp(-rate k) is no more than K's tail there.

        L >= |K| is below a gamma variable of the same degree, which is far out once the first
        terms of its exponential series are.
        """
        degree = self.law.columns + 1
        t = FAR
        while sum(t**j / math.factorial(j) for j in range(degree + 1)) * math.exp(-t) > _LEFT_OUT:
            t += 1.0
        return self.epsilon * FAR / (t + degree * self.epsilon)


def _summed_polynomial(coefficients: Floats, epsilon: float) -> Floats:
    """The R of sum over n >= 0 of p(e (L+2n)) b^(2n) = R(e L), given p by its coefficients.

    R's coefficient j is the sum over i of p_i C(i, j) E(i-j), where E(r) is the sum of
    (2 e n)^r b^(2n).
    """
    degree = len(coefficients) - 1
    powers = _power_sums(degree, epsilon)
    return np.array(
        [
            math.fsum(coefficients[i] * comb(i, j) * powers[i - j] for i in range(j, degree + 1))
            for j in range(degree + 1)
        ]
    )


def _power_sums(degree: int, epsilon: float) -> list[float]:
    """The sums over n >= 0 of (2 e n)^r b^(2n), r = 0..degree, b = exp(-e).

    By Newton's series (noise/series.py): n^r has the differences k! S(r, k) at zero, S Stirling's
    numbers of the second kind.
    """
    beta = 1 / math.expm1(2 * epsilon)
    found, stirling = [], [1]
    for r in range(degree + 1):
        terms = (math.factorial(k) * s * beta**k for k, s in enumerate(stirling))
        found.append((1 + beta) * (2 * epsilon) ** r * math.fsum(terms))
        stirling = [0] + [
            k * (stirling[k] if k < len(stirling) else 0) + stirling[k - 1]
            for k in range(1, len(stirling) + 1)
        ]
    return found
