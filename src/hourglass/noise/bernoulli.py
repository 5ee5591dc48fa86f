"""Bernoulli trials with exact probabilities."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.exact import PRECISIONS, Enclosure, floor_scaled
from .bits import Bits, next_word

__all__ = ["Bernoulli"]


class Bernoulli:
    """A coin that is 1 with probability exactly p, 0 <= p < 1.

    Contract: ``sample(size, bits)`` is distributed as ``size`` independent Bernoulli(p). A uniform
    U in [0, 1) is generated one word at a time and compared with p. The first word decides unless
    it equals floor(2^width p), which for 64-bit words happens once in 2^64 draws; then more words
    of U are compared with further digits of p until they differ.
    """

    def __init__(self, probability: Callable[[int], Enclosure]) -> None:
        self._probability = probability
        self._thresholds: dict[int, int] = {}

    @cached_property
    def pmf(self) -> Enclosure:
        """The probability of a 1, enclosed."""
        return self._probability(160)

    def threshold(self, digits: int) -> int:
        """floor(2^digits p)."""
        if digits not in self._thresholds:
            enclosures = (self._probability(digits + more) for more in PRECISIONS)
            self._thresholds[digits] = floor_scaled(enclosures, digits)
        return self._thresholds[digits]

    def sample(self, size: int, bits: Bits) -> npt.NDArray[np.bool_]:
        """``size`` independent coins."""
        words = bits.words(size)
        threshold = np.uint64(self.threshold(bits.width))
        coins = words < threshold
        for index in np.flatnonzero(words == threshold):
            coins[index] = self._settle(int(words[index]), bits)
        return coins

    def _settle(self, prefix: int, bits: Bits) -> bool:
        """Read more words where the first word equals the first digits of p."""
        digits = bits.width
        while prefix == self.threshold(digits):
            prefix = prefix << bits.width | next_word(bits)
            digits += bits.width
        return prefix < self.threshold(digits)
