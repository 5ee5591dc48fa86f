"""Tail probabilities of the noise of a body: of a sum and of the count, seen through lines.

Each body provides P(K = k, X >= x) for the noise X of the sum in closed form; the rest is the same
for all of them. Where the values of K are merged into blocks, privacy bounds the error, as it does
in :mod:`.tails`: moving K by one, and X by as much as one record can, changes a probability by a
factor of exp(epsilon) at most.
"""

from __future__ import annotations

import math
from functools import cached_property
from math import comb
from typing import Any, Final

import numpy as np

from ..core.exact import to_double
from .tails import (
    FAR,
    SLACK,
    TOUCH,
    Floats,
    Line,
    blocks,
    distinct,
    halves,
    merged,
    row_share,
    summed,
    summed_above,
    summed_rows,
    table_block,
)

__all__ = ["BodyTails", "GeometricSum"]

#: The mass of the values of K that are left out is below this, which is far below SLACK.
_LEFT_OUT: Final = 1e-12
#: Up to this many values of K, its law is summed value by value.
_MOST_COUNTS: Final = 2**20
#: How a reach is split between the sum and the count if blocks would be too coarse.
_SPLITS: Final = (1 / 2, 1 / 8, 1 / 64, 1 / 1024)


class BodyTails:
    """The error of the sum is X / record in widths of the range, that of the count K.

    ``degree`` is that of the weight of L = a + m, a polynomial times exp(-epsilon L).
    """

    def __init__(self, law: Any, record: float, degree: int) -> None:
        self.law, self.epsilon, self.record = law, float(law.epsilon), record
        self.rate = self._rate(degree)

    def upper(self, k: Floats, x: Floats) -> Floats:
        """P(K = k, X >= x)."""
        raise NotImplementedError

    def miss(self, first: Line, second: Line, reach: float) -> float:
        """A sum over K; if its blocks would be too coarse, a bound from both errors separately."""
        lines = distinct(first, second)
        if not first.sum:
            return self._count_miss(reach / abs(float(first.count)))
        block = blocks(self.rate)[1]
        # Moving K by one and X by up to a record costs one epsilon (that is the privacy); each
        # further record that X moves costs two, of which one is taken back and one added.
        slope = max(abs(float(line.count / line.sum)) for line in lines)
        together = all(line.count >= 0 for line in lines)
        steps = max(0, math.ceil(slope) - 1) + (0 if together else 1)
        pairs = [(float(line.sum) / self.record, -float(line.count)) for line in lines]
        loss = self.epsilon * (1 + 2 * steps)
        if block == 1 or block * loss < FAR:
            found = summed(self.rate, merged(block, loss), pairs, reach, self.upper)
        else:
            found = 1.0
        return found if block == 1 or slope <= 1 else min(found, self._apart(lines, reach))

    @property
    def row_share(self) -> float:
        """How long a row of :meth:`misses` takes, compared with :meth:`miss`."""
        return row_share(self.rate)

    def misses(self, first: Floats, last: Floats, reaches: Floats) -> Floats:
        """The same for x - first y and x - last y at many reaches."""
        block = blocks(self.rate)[1]
        if block > 1 and block * self.epsilon >= FAR:
            return np.ones(len(reaches))
        weight, one = merged(block, self.epsilon), 1.0 / self.record
        return summed_rows(self.rate, weight, one, (first, last), reaches, self.upper)

    def above(self, line: Line, reaches: Floats) -> Floats:
        """At least P(line >= reach) for each reach; the same sum over K for one side."""
        if not line.sum and self.far < _MOST_COUNTS:
            return self._count_above(reaches / abs(float(line.count)))
        block = table_block(self.rate)
        slope = float(line.count / line.sum) if line.sum else math.inf
        if block > 1 and not 0 <= slope <= 1:
            return halves(self, line, reaches)
        pair = float(line.sum) / self.record, -float(line.count)
        return summed_above(self.rate, merged(block, self.epsilon), pair, reaches, self.upper)

    def _count_above(self, reaches: Floats) -> Floats:
        """At least P(K >= reach): the law of K, summed from above."""
        last = math.ceil(self.far)
        k = np.arange(-last, last + 1, dtype=np.float64)
        tail = np.cumsum(self.upper(k, np.full(len(k), -math.inf))[::-1])[::-1]
        place = np.clip(np.ceil(reaches - TOUCH * np.abs(reaches)) + last, 0, 2 * last)
        found: Floats = np.minimum(1.0, tail[place.astype(np.int64)] + SLACK)
        return found

    def _apart(self, lines: tuple[Line, ...], reach: float) -> float:
        """However the reach is split, one of the two errors must exceed its part."""
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

    @cached_property
    def far(self) -> float:
        """Beyond this many records on either side the mass is negligible."""
        return FAR / self.rate + 1

    def _rate(self, degree: int) -> float:
        """A lower bound on the decay rate of K's law: beyond FAR / rate the mass is negligible.

        L >= |K| is below a gamma variable of the same degree, which is far out once the first
        terms of its exponential series are.
        """
        t = FAR
        while sum(t**j / math.factorial(j) for j in range(degree + 1)) * math.exp(-t) > _LEFT_OUT:
            t += 1.0
        return self.epsilon * FAR / (t + degree * self.epsilon)


class GeometricSum:
    """The sum of p(e L) b^L over L, L+2, ..., b = exp(-e), for a polynomial p.

    It is b^L times a polynomial of the same degree in e L, whose coefficients are computed once;
    they are positive if p's are, so doubles lose nothing. Coefficient j is the sum over i of
    p_i C(i, j) E(i-j), where E(r) is the sum of (2 e n)^r b^(2n) over n >= 0.
    """

    def __init__(self, coefficients: Any, epsilon: float) -> None:
        degree, powers = len(coefficients) - 1, _power_sums(len(coefficients) - 1, epsilon)
        self.epsilon = epsilon
        self.coefficients = np.array([
            math.fsum(coefficients[i] * comb(i, j) * powers[i - j] for i in range(j, degree + 1))
            for j in range(degree + 1)
        ])  # fmt: skip

    def __call__(self, L: Floats) -> Floats:
        """The sum from L on."""
        return self.times(L, np.exp(-self.epsilon * L))

    def times(self, L: Floats, decay: Floats) -> Floats:
        """The same if exp(-e L) is known, by Horner's rule in place."""
        place, (*rest, last) = self.epsilon * L, self.coefficients.tolist()
        found = np.full_like(place, last)
        for coefficient in reversed(rest):
            found *= place
            found += coefficient
        found *= decay
        return found


def _power_sums(degree: int, epsilon: float) -> list[float]:
    """The sums over n >= 0 of (2 e n)^r b^(2n), r = 0..degree, b = exp(-e).

    By Newton's series (core/exact.py): n^r has the differences k! S(r, k) at zero, S Stirling's
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
