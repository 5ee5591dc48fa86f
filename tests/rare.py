"""Noise that is one in a million, to find tests that fail by chance: ``pytest --rare``.

In each test, one word of the secure bits begins with twenty equal digits. It is drawn for a
single answer or a few, at a place chosen at random. Whatever fails then also fails by chance, with
a probability above 1e-6: it needs a larger epsilon, a wider tolerance or seeded bits. Tests marked
``statistical``, which draw many answers and state their own rate, are left out by
``-m 'not statistical and not long'``. Several runs find more than one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from hourglass.noise.bits import Words

#: A word that begins with so many zeros, or ones, has a probability of 2^-19.
DIGITS: Final = 20
#: Requests for more words than this draw many samples, of which one may well be rare.
MOST: Final = 64


class Rare:
    """The words of a source; once after each :meth:`begin`, one of them is rare."""

    def __init__(self, source: Callable[[int], Words]) -> None:
        self._source, self._chance, self._waiting = source, 1.0, False

    def begin(self) -> None:
        """Wait for a word again; the first one, or one of the next hundred or so."""
        self._chance, self._waiting = random.choice([1.0, 1 / 2, 1 / 4, 1 / 16, 1 / 64]), True

    def words(self, size: int) -> Words:
        found = self._source(size)
        if not (self._waiting and 0 < size <= MOST and random.random() < self._chance):
            return found
        self._waiting = False
        found = found.copy()
        place, rest = random.randrange(size), 64 - DIGITS
        low = int(found[place]) & (1 << rest) - 1
        found[place] = low | random.choice([0, (1 << DIGITS) - 1]) << rest
        return found
