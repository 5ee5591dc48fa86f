"""Find bounds privately for a column whose range is unknown.

Up to three scans are made over a public scale of candidates (:mod:`hourglass.core.limits`), each a
sequence of noisy questions "do only a few records lie beyond this candidate?" that ends at the
first yes. Two start at the pivot, the candidate nearest to zero: one goes up and asks about the
records above, one goes down and asks about those below. A record is above the pivot or below it,
so it affects only one of the two. The third scan starts from the end that lies further from the
pivot and returns to it, asking about the records beyond on the other side: if a column lies
entirely on one side of the pivot, it finds its nearer end.

**A scan.** Before it asks c_1, c_2, ... with U_1 >= U_2 >= ... records beyond, it draws a
threshold t = T - g, g geometric of rate r, and a geometric e_i of rate s for each question; it
stops at the first i with U_i <= t + e_i, at the last candidate if there is none. It is
(r + s)-DP for adding or removing one record. Proof: a record raises U_i by one for i < k, k its
own place. Let f(t) be the probability of stopping at i given t, f+ the same with the record.

* i < k: every U asked is one higher, so f+(t) = f(t - 1). Summing over t, the law of t being
  such that P(t + 1) <= e^r P(t), P+(i) <= e^r P(i). And f(t) <= e^s f(t - 1): the
  questions before i pass less often at t, and P(e >= U - t) is at most e^s P(e >= U - t + 1).
  So P(i) <= e^s P+(i).
* i >= k: the questions before k pass more often with the record, nothing else changes:
  P(i) <= P+(i). And f+(t + 1) <= e^s f(t): those before k are the same, those after pass less
  often, the last one is met at most e^s times as often. So P+(i) <= e^(r+s) P(i).

Both noises may be one-sided because only these four inequalities are needed. (AboveThreshold
on monotone counts: Durfee 2023, "Unbounded differentially private quantile and maximum
estimation", with Laplace noise. The target T, 2 over epsilon, is the balance of clamping and
noise in Amin, Kulesza, Munoz Medina, Vassilvitskii 2019, "Bounding user contributions".)

**The search** costs as much as one of the two outward scans and the return scan together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

import numpy as np

from ..core.exact import DEFAULT_BITS, Enclosure, outward
from ..core.limits import Counts, Scale
from ..noise.bits import Bits
from ..noise.ladder import LOG2_UP, Ladder

__all__ = ["RETURN_PART", "Ends", "Scan", "Search"]

#: The share of a scan's epsilon for its threshold; the questions get the rest. A larger share makes
#: it less likely to run past the data, a smaller one makes early stops less likely.
THRESHOLD_PART: Final = Fraction(13, 20)
#: The share of the whole epsilon for the return scan.
RETURN_PART: Final = Fraction(1, 5)


@dataclass(frozen=True)
class Scan:
    """The law of one scan.

    Contract: ``sample(counts)`` is distributed as ``pmf(counts)``, and it is epsilon-DP where
    one record raises the first of the (falling) counts by one and leaves the others.
    """

    epsilon: Fraction

    @property
    def target(self) -> int:
        """T, the number of records that may lie beyond: 2/epsilon, rounded up."""
        return math.ceil(2 / self.epsilon)

    @cached_property
    def threshold(self) -> Ladder:
        """The law of g: how far below its target the threshold is."""
        return Ladder(THRESHOLD_PART * self.epsilon, 1, 1)

    @cached_property
    def question(self) -> Ladder:
        """The law of e_i: how much is allowed on top in each question."""
        return Ladder((1 - THRESHOLD_PART) * self.epsilon, 1, 1)

    def sample(self, counts: Sequence[int], bits: Bits) -> int:
        """The index of the candidate where the scan stops.

        All noise is drawn before any count is used, the same amount whatever the counts.
        """
        threshold = self.target - int(self.threshold.sample(1, bits)[0])
        allowed = threshold + self.question.sample(len(counts), bits).astype(object)
        few = np.array(counts, dtype=object) <= allowed
        few[-1] = True
        return int(np.argmax(few))

    def pmf(self, counts: Sequence[int], bits: int = DEFAULT_BITS) -> list[Enclosure]:
        """The probability of each index, enclosed; the width is the far tail of the threshold."""
        last = int(bits * LOG2_UP / self.threshold.rate) + 1
        digits = bits + 64  # products are rounded outward to this many
        one = 1 << digits
        tail = lru_cache(maxsize=None)(lambda rung: outward(self.question.tail(rung, bits), digits))
        lows, highs = [0] * len(counts), [0] * len(counts)
        for g in range(last):
            low, high = outward(self.threshold.pmf(g, bits), digits)
            for i, count in enumerate(counts[:-1]):
                stop_low, stop_high = tail(max(0, count - self.target + g))
                lows[i] += low * stop_low >> digits
                highs[i] -= -high * stop_high >> digits
                low = low * (one - stop_high) >> digits
                high = -(-high * (one - stop_low) >> digits)
            lows[-1] += low
            highs[-1] += high
        beyond = self.threshold.tail(last, bits).high
        return [
            Enclosure(Fraction(low, one), Fraction(high, one) + beyond)
            for low, high in zip(lows, highs, strict=True)
        ]

    def most_beyond(self, questions: int, confidence: float) -> int:
        """An upper bound on the records beyond the end found, with this confidence.

        A stop with more than T + q beyond needs one of the e_i above q: by the union bound its
        probability is at most questions * e^(-s q). This does not cover the end of the scale.
        """
        rate = float(self.question.rate)
        return self.target + math.ceil(math.log(max(1, questions) / (1 - confidence)) / rate)


@dataclass(frozen=True)
class Ends:
    """Where a search stopped: the indices of the two candidates, and the scan behind each.

    Each scan has the number of questions that it may ask.
    """

    lower: int
    upper: int
    lower_scan: tuple[Scan, int]
    upper_scan: tuple[Scan, int]


@dataclass(frozen=True)
class Search:
    """Two scans outward from the pivot, and one back; epsilon is for one record."""

    scale: Scale
    epsilon: Fraction
    share: Fraction = RETURN_PART

    def sample(self, counts: Counts, bits: Bits) -> Ends:
        """Run the scans on the counts."""
        ends, back = Scan((1 - self.share) * self.epsilon), Scan(self.share * self.epsilon)
        last, pivot = len(self.scale.candidates) - 1, self.scale.pivot

        upper = pivot + ends.sample(counts.above[pivot:], bits)
        lower = pivot - ends.sample(counts.below[pivot::-1], bits)
        lower_scan, upper_scan = (ends, pivot + 1), (ends, last - pivot + 1)
        # Return to the pivot from the end that is further out. If the scan reaches the pivot, or
        # has no questions, the other end is unchanged.
        if upper - pivot > pivot - lower:
            stop = upper - 1 - back.sample(counts.below[pivot:upper][::-1], bits)
            if stop > pivot:
                lower, lower_scan = stop, (back, upper - pivot)
        elif pivot - lower > upper - pivot:
            stop = lower + 1 + back.sample(counts.above[lower + 1 : pivot + 1], bits)
            if stop < pivot:
                upper, upper_scan = stop, (back, pivot - lower)
        if lower == upper:  # hardly any records: the narrowest bounds around the pivot
            lower, upper = max(0, lower - 1), min(last, upper + 1)
        return Ends(lower, upper, lower_scan, upper_scan)
