"""Bounds found privately, for a column whose range nobody knows.

Over a public scale of candidates (:mod:`hourglass.scale`) up to three scans are made, each a
run of noisy questions "do only a few records lie beyond this candidate?" that ends at the
first yes. Two set out from the pivot, the candidate nearest to zero: one upward, asking for
the records above, one downward, asking for those below. A record is above the pivot or below
it, so it takes part in one of the two. The third starts from the end that lies further from
the pivot and comes back to it, asking for the records beyond on the other side: where a column
lies wholly on one side of the pivot, it finds its nearer end.

**A scan.** Before it asks c_1, c_2, ... with U_1 >= U_2 >= ... records beyond, it draws a
threshold t = T - g, g geometric of rate r, and a geometric e_i of rate s for each question; it
stops at the first i with U_i <= t + e_i, at the last candidate if there is none. It is
(r + s)-DP for adding or removing one record. Proof: a record raises U_i by one for i < k, k its
own place. Let f(t) be the probability to stop at i given t, f+ the same with the record.

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

**The whole** costs what one of the two outward scans and the way back cost together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from .errors import OptionError
from .exact import DEFAULT_BITS, Enclosure
from .grid import Bounds
from .noise.bits import SECURE, Bits
from .noise.ladder import LOG2_UP, Ladder
from .report import decimal
from .scale import Counts, Scale
from .units import Unit

__all__ = ["RETURN_PART", "FoundBounds", "Scan", "bounds_from_counts"]

#: The part of a scan's epsilon that its threshold takes; the questions take the rest. More
#: on the threshold makes runs past the data rarer, less makes early stops rarer.
THRESHOLD_PART: Final = Fraction(13, 20)
#: The part of the whole epsilon kept for the way back.
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

        All noise is drawn before any count is looked at, as much whatever the counts.
        """
        threshold = self.target - int(self.threshold.sample(1, bits)[0])
        allowed = threshold + self.question.sample(len(counts), bits).astype(object)
        few = np.array(counts, dtype=object) <= allowed
        few[-1] = True
        return int(np.argmax(few))

    def pmf(self, counts: Sequence[int], bits: int = DEFAULT_BITS) -> list[Enclosure]:
        """The probability of each index, enclosed: the threshold's far tail is the slack."""
        last = int(bits * LOG2_UP / self.threshold.rate) + 1
        tail = lru_cache(maxsize=None)(lambda rung: self.question.tail(rung, bits))
        law = [Enclosure.of(0)] * len(counts)
        for g in range(last):
            here = self.threshold.pmf(g, bits)
            for i, count in enumerate(counts):
                stop = (
                    Enclosure.of(1)
                    if i == len(counts) - 1
                    else tail(max(0, count - self.target + g))
                )
                law[i] = law[i] + here * stop
                here = here * (1 - stop)
        slack = Enclosure(Fraction(0), self.threshold.tail(last, bits).high)
        return [part + slack for part in law]

    def most_beyond(self, questions: int, confidence: float) -> int:
        """How many records lie beyond the end found at most, with this confidence.

        A stop with more than T + q beyond needs one of the e_i above q: by the union bound
        its probability is at most questions * e^(-s q). The end of the scale is apart.
        """
        rate = float(self.question.rate)
        return self.target + math.ceil(math.log(max(1, questions) / (1 - confidence)) / rate)


@dataclass(frozen=True)
class FoundBounds:
    """Bounds that were found privately; pass it on as ``bounds=``.

    ``epsilon`` is what finding them cost, in addition to what is asked of them later.
    ``target`` is the number of records that each end was meant to leave outside (lower,
    upper), ``edges`` whether an end is the last candidate of the scale, past which any number
    may lie. ``unit`` says whose presence is hidden, and ``private`` is False if the random
    bits were not secret.
    """

    bounds: Bounds
    epsilon: Fraction
    target: tuple[int, int]
    edges: tuple[bool, bool]
    private: bool
    _scans: tuple[tuple[Scan, int], ...] = field(repr=False)
    unit: str = "row"

    @property
    def lower(self) -> int | float:
        """The lower bound."""
        return self.bounds.lower

    @property
    def upper(self) -> int | float:
        """The upper bound."""
        return self.bounds.upper

    def most_outside(self, confidence: float = 0.95) -> int:
        """How many records at most lie outside the two bounds together, with confidence.

        A statement on the noise alone, no look at the data; an end at the edge of the scale
        is not covered. Set it against a private count to have a share.
        """
        if not 0 < confidence < 1:
            raise OptionError(f"confidence={confidence!r} is not between 0 and 1")
        each = 1 - (1 - confidence) / 3  # three scans, each of them may go wrong
        return sum(scan.most_beyond(questions, each) for scan, questions in self._scans)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values that JSON can hold; :meth:`from_dict` takes them back."""
        return {
            "bounds": [self.lower, self.upper],
            "bounds_origin": self.bounds.origin,
            "epsilon": str(self.epsilon),
            "target": list(self.target),
            "edges": list(self.edges),
            "most_outside": {"confidence": 0.95, "records": self.most_outside()},
            "scans": [
                {"epsilon": str(scan.epsilon), "questions": questions}
                for scan, questions in self._scans
            ],
            "unit": self.unit,
            "private": self.private,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FoundBounds:
        """The bounds that :meth:`to_dict` wrote down, the same in every respect."""
        lower_target, upper_target = stored["target"]
        lower_edge, upper_edge = stored["edges"]
        scans = stored["scans"]
        return cls(
            Bounds(*stored["bounds"], origin=stored["bounds_origin"]),
            Fraction(stored["epsilon"]),
            target=(int(lower_target), int(upper_target)),
            edges=(bool(lower_edge), bool(upper_edge)),
            private=bool(stored["private"]),
            _scans=tuple((Scan(Fraction(s["epsilon"])), int(s["questions"])) for s in scans),
            unit=str(stored["unit"]),
        )

    def __reduce__(self) -> Any:
        return type(self).from_dict, (self.to_dict(),)

    def __str__(self) -> str:
        lines = [
            f"bounds {_shown(self.lower)} to {_shown(self.upper)}, "
            f"found for epsilon {float(self.epsilon):.12g}",
            f"meant to leave about {self.target[0]} records below and {self.target[1]} above; "
            f"at most {self.most_outside()} in all with 95 % confidence. They are clamped, "
            "which draws the mean inward.",
        ]
        for edge, end in zip(self.edges, self.bounds, strict=True):
            if edge:
                lines.append(f"{_shown(end)} is where the scale ends: more may lie beyond.")
        if self.unit != "row":
            lines.append(f"Hidden is one {self.unit}; a record is a row of theirs that counts.")
        if not self.private:
            lines.append("NOT PRIVATE: the noise came from a seeded source of bits.")
        return "\n".join(lines)


def bounds_from_counts(
    counts: Counts,
    scale: Scale,
    epsilon: Fraction,
    *,
    share: Fraction = RETURN_PART,
    unit: Unit = Unit(),  # noqa: B008
    bits: Bits = SECURE,
) -> FoundBounds:
    """The bounds that counts lead to, wherever they were counted.

    One record costs epsilon divided by the records that a unit can have: a unit, epsilon.
    """
    each = epsilon / unit.records
    ends, back = Scan((1 - share) * each), Scan(share * each)
    last, pivot = len(scale.candidates) - 1, scale.pivot

    upper = pivot + ends.sample(counts.above[pivot:], bits)
    lower = pivot - ends.sample(counts.below[pivot::-1], bits)
    lower_law = (ends, pivot + 1)
    upper_law = (ends, last - pivot + 1)
    # The way back to the pivot, from the end that is further out. At the pivot, or where it
    # is asked nothing, the scan leaves the other end as it is.
    if upper - pivot > pivot - lower:
        stop = upper - 1 - back.sample(counts.below[pivot:upper][::-1], bits)
        lower, lower_law = (stop, (back, upper - pivot)) if stop > pivot else (lower, lower_law)
    elif pivot - lower > upper - pivot:
        stop = lower + 1 + back.sample(counts.above[lower + 1 : pivot + 1], bits)
        upper, upper_law = (stop, (back, pivot - lower)) if stop < pivot else (upper, upper_law)
    if lower == upper:  # no records to speak of: the least bounds around the pivot
        lower, upper = max(0, lower - 1), min(last, upper + 1)

    return FoundBounds(
        Bounds(
            scale.candidates[lower],
            scale.candidates[upper],
            origin=f"found privately, for an epsilon of {decimal(epsilon)} charged apart",
        ),
        epsilon,
        target=(lower_law[0].target, upper_law[0].target),
        edges=(lower == 0, upper == last),
        private=bits.private,
        _scans=(lower_law, upper_law),
        unit=str(unit),
    )


def _shown(end: int | float) -> str:
    return str(end) if isinstance(end, int) else f"{end:.6g}"
