"""Groups with secret names: published only above a threshold, at no epsilon.

A group whose very name could betray someone is published only where its noisy count N + K
reaches t. A group that exists because of one person has N <= k records of theirs, so it is
published with a probability of at most P(k + K >= t); a person is in at most m such groups.
With t the least integer for which P(k + K >= t) <= delta / m the release is
(epsilon, delta)-private, and the count that decides is the one that is published.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from ..core.exact import Enclosure, sign_of

__all__ = ["Counted", "threshold"]


class Counted(Protocol):
    """Noise whose count K has a known tail: a law, or a mechanism with ``secret_keys``."""

    def count_tail(self, k: int, *, bits: int) -> Enclosure:
        """P(K >= k), enclosed to so many bits."""

    def __hash__(self) -> int:
        """Equal laws share their thresholds."""


@lru_cache(maxsize=256)
def threshold(law: Counted, delta: Fraction, records: int = 1, groups: int = 1) -> int:
    """The least t with P(records + K >= t) <= delta / groups, exactly.

    ``law`` is the noise as it is drawn, ``records`` how many of a group one person can be,
    ``groups`` in how many groups a person can be.
    """
    share = delta / groups

    def small(tail: int) -> bool:
        return sign_of(lambda bits: law.count_tail(tail, bits=bits) - share) <= 0

    high = 1
    while not small(high):
        high *= 2
    low = -high if small(1) else 1  # small(high) holds; find where it begins
    while small(low):
        low *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if small(middle) else (middle, high)
    return records + high
