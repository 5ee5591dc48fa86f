"""Fixed noise: a source of bits that records its words, and one that replays them."""

from __future__ import annotations

from ..noise.bits import SECURE, Words

__all__ = ["RecordingBits", "ReplayError", "ReplayedBits"]


class ReplayError(Exception):
    """The second run requested other words than the first, so its draws depend on the data."""


class RecordingBits:
    """Returns and records secure words; releases made with it are not private."""

    private = False
    width = SECURE.width

    def __init__(self) -> None:
        self.portions: list[Words] = []

    def words(self, size: int) -> Words:
        """``size`` fresh words, which are recorded."""
        words = SECURE.words(size)
        self.portions.append(words.copy())
        return words

    def replayed(self) -> ReplayedBits:
        """A source that replays the recorded words."""
        return ReplayedBits(self.portions, self.width)


class ReplayedBits:
    """Replays the words of an earlier run; any other request is an error."""

    private = False

    def __init__(self, portions: list[Words], width: int) -> None:
        self.width = width
        self._portions = list(portions)
        self._used = 0

    def words(self, size: int) -> Words:
        """The next portion, which must be of this size."""
        if self._used == len(self._portions) or len(self._portions[self._used]) != size:
            raise ReplayError(f"request {self._used + 1} for {size} words was not made before")
        self._used += 1
        return self._portions[self._used - 1].copy()

    @property
    def finished(self) -> bool:
        """Whether all recorded words have been used."""
        return self._used == len(self._portions)
