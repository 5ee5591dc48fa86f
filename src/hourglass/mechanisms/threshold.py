"""Groups with secret names are published only above a threshold, at no cost in epsilon.

If the name of a group could reveal someone, the group is published only if its noisy count N + K
reaches t. A group that exists because of one person has N <= k records of theirs, so it is
published with a probability of at most P(k + K >= t); a person is in at most m such groups. With t
the least integer for which P(k + K >= t) <= delta / m the release is (epsilon, delta)-DP. The noisy
count that is compared is also the one that is published.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from functools import lru_cache, partial
from typing import Protocol

from ..core.exact import PRECISIONS, Enclosure

__all__ = ["Counted", "threshold"]


class Counted(Protocol):
    """Noise whose count K has a known tail: a law, or a mechanism with ``secret_keys``."""

    def count_tail(self, k: int, *, bits: int) -> Enclosure:
        """P(K >= k), enclosed to this many bits."""

    def __hash__(self) -> int:
        """Equal laws share their thresholds."""


@lru_cache(maxsize=256)
def threshold(law: Counted, delta: Fraction, records: int = 1, groups: int = 1) -> int:
    """The least t with P(records + K >= t) <= delta / groups, exactly.

    ``law`` is the law of the noise, ``records`` the most records of a person in a group, and
    ``groups`` the most groups of a person.
    """
    small = partial(_is_small, law, delta / groups)
    high = 1
    while not small(high):
        high *= 2
    low = -high if small(1) else 1  # small(high) holds; find where it begins
    while small(low):
        low *= 2
    return records + bisect_left(range(low, high), True, key=small) + low


def _is_small(law: Counted, share: Fraction, k: int) -> bool:
    """Whether P(K >= k) <= share."""
    over = (law.count_tail(k, bits=bits) - share for bits in PRECISIONS)
    return next(excess.sign for excess in over if excess.sign is not None) <= 0
