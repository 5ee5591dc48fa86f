"""The only source of randomness.

A source of bits returns words: independent, uniform integers in [0, 2^width). Every sampler takes
its source as an argument; releases use :class:`SecureBits`. With narrow words (width 1, 2, 4),
branches that practically never occur at 64 bits occur often, which is how the tests reach them.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import OptionError, shown

__all__ = ["BLOCK", "SECURE", "Bits", "SecureBits", "SeededBits", "Words"]

Words = npt.NDArray[np.uint64]

_WORD: Final = np.dtype(np.uint64)

#: Samplers work in blocks of this many values, so that their buffers stay in cache.
BLOCK: Final = 1 << 14


class Bits(Protocol):
    """A source of independent uniform words."""

    @property
    def width(self) -> int:
        """Bits in a word, 1 to 64."""

    @property
    def private(self) -> bool:
        """Whether a release made with these words is private."""

    def words(self, size: int) -> Words:
        """``size`` fresh words."""


class SecureBits:
    """The operating system's cryptographic generator, read at every call.

    Nothing is buffered between calls, so a forked or cloned process cannot repeat a word.
    """

    width: Final = 64
    private: Final = True

    def words(self, size: int) -> Words:
        """``size`` fresh 64-bit words."""
        return np.frombuffer(os.urandom(8 * size), dtype=_WORD)

    def __repr__(self) -> str:
        return "SecureBits()"


class SeededBits:
    """A reproducible stream for tests and examples: SHAKE-128 of the seed and a counter.

    It must be constructed explicitly, and a release made with it says ``private=False``.
    """

    private: Final = False

    def __init__(self, seed: int, *, width: int = 64) -> None:
        if not 1 <= width <= 64:
            raise ValueError(f"width={width} must be between 1 and 64 bits")
        self.width: Final = width
        self._seed = seed
        self._calls = 0

    def words(self, size: int) -> Words:
        """The next ``size`` words of this seed's stream."""
        self._calls += 1
        stream = hashlib.shake_128(f"{self._seed}:{self._calls}".encode())
        words = np.frombuffer(stream.digest(8 * size), dtype="<u8")
        return words >> np.uint64(64 - self.width)

    def __repr__(self) -> str:
        return f"SeededBits({self._seed}, width={self.width})"


#: The source that every release uses unless a test passes another.
SECURE: Final = SecureBits()


def next_word(bits: Bits) -> int:
    """One more word as a Python integer, for the rare branches that need more digits."""
    return int(bits.words(1)[0])


def blocks(size: int) -> list[int]:
    """The sizes of the blocks in which ``size`` samples are drawn; at least one."""
    return [min(BLOCK, size - start) for start in range(0, size, BLOCK)] or [0]


class Filled:
    """Arrays of ``size`` samples, filled block by block."""

    def __init__(self, size: int) -> None:
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise OptionError(
                f"size={shown(size)} is not a whole number of 0 or more; give one, or leave it out "
                "for a single draw"
            )
        self.arrays: tuple[npt.NDArray[Any], ...] = ()
        self._size, self._end = size, 0

    def add(self, block: tuple[npt.NDArray[Any], ...]) -> None:
        """Put the next block behind the others."""
        count = len(block[0])
        if count == self._size:
            self.arrays = block
            return
        if not self.arrays:
            self.arrays = tuple(np.empty((self._size, *b.shape[1:]), b.dtype) for b in block)
        for array, part in zip(self.arrays, block, strict=True):
            array[self._end : self._end + count] = part
        self._end += count
