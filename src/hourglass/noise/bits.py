"""The only source of randomness, and exact inversion of what it returns.

A source of bits returns words: independent, uniform integers in [0, 2^width). Every sampler takes
its source as an argument; releases use :class:`SecureBits`. With narrow words (width 1, 2, 4),
branches that practically never occur at 64 bits occur often, which is how the tests reach them.

Words are the digits of U, uniform in [0, 1), and are read until they decide.

By a table: the number of cumulative probabilities F(0), F(1), ... that are at most U has the law
that they belong to.

By a product: floor(U n) is uniform in 0..n-1, for many bounds n at once. One word gives the first
64 digits of U and thereby floor(U n), unless further digits could still change it, which happens
for one word in 2^64 / n; then more digits are read. Unlike rejection, this never discards a word:
the number of words depends only on the bound, not on the outcome.  [B4] [H9]
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import OptionError, shown

__all__ = [
    "BLOCK", "MAX_INT64_BOUND", "ONE_WORD", "SECURE", "Bits", "SecureBits", "SeededBits", "Words",
    "invert", "invert_one", "sample_scaled", "sample_scaled_one",
]  # fmt: skip

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


# --- exact inversion ------------------------------------------------------------------------------

_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64((1 << 32) - 1)
_ZERO: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
#: If bounds can be above this, one word leaves too many cases open: a second is read for all.
ONE_WORD: Final = 1 << 52
#: Bounds stay below this in int64; beyond it they are Python integers.
MAX_INT64_BOUND: Final = 1 << 62


# --- by a table ---------------------------------------------------------------------------------


def invert(
    table: Words,
    words: Words,
    bits: Bits,
    threshold: Callable[[int, int], int],
    reach: int | None = None,
) -> npt.NDArray[np.int64]:
    """For each word, the number of F(i) that are at most U, whose first digits are the word.

    ``table`` holds the first digits of F(0), F(1), ..., and ``threshold(i, digits)`` returns as
    many digits of F(i) as needed. A word decides every comparison except with an F(i) that has the
    same first digits; then more digits of U are read. No result exceeds ``reach``.
    """
    found = np.searchsorted(table, words, side="left")
    if len(table):
        for index in np.flatnonzero(table[np.minimum(found, len(table) - 1)] == words):
            found[index] = _settle(int(words[index]), int(found[index]), bits, threshold, reach)
    return found.astype(np.int64, copy=False)


def invert_one(
    table: Words, bits: Bits, threshold: Callable[[int, int], int], reach: int | None = None
) -> np.int64:
    """The same for the next word; all of the table is compared, so the time reveals nothing."""
    words = bits.words(1)
    found: np.int64 = np.add.reduce(table < words)
    if np.count_nonzero(table == words):  # table[found] would take longer for a larger index
        return np.int64(_settle(int(words[0]), int(found), bits, threshold, reach))
    return found


def _settle(
    prefix: int, rung: int, bits: Bits, threshold: Callable[[int, int], int], reach: int | None
) -> int:
    """Read U until it differs from every F(i); ``rung`` of them are known to be below."""
    digits = bits.width
    while reach is None or rung <= reach:
        prefix = prefix << bits.width | next_word(bits)
        digits += bits.width
        while (limit := threshold(rung, digits)) < prefix:
            rung += 1
        if prefix < limit:
            return rung
    raise ArithmeticError(f"a draw exceeded {reach}")


# --- by a product -------------------------------------------------------------------------------


def sample_scaled(bounds: npt.NDArray[Any], bits: Bits, *, largest: int) -> npt.NDArray[Any]:
    """One uniform integer in [0, n) for each bound n >= 1, exactly.

    ``largest`` is an upper limit on the bounds that does not depend on any draw; it decides how
    many words are read and whether the result is int64 or Python integers.
    """
    if largest >= MAX_INT64_BOUND:
        return _sample_integers(bounds, bits, largest)
    each = bounds.astype(np.int64, copy=False).view(np.uint64)
    words = bits.words(each.size)
    if bits.width < 64:
        shift = np.uint64(64 - bits.width)
        whole, rest = _product(words << shift, each, largest)
        open_still = (each >> np.uint64(bits.width) != _ZERO) | (rest > _ZERO - (each << shift))
        return _settled(whole, open_still, [words], each, bits)
    whole, rest = _product(words, each, largest)
    if largest <= ONE_WORD:
        return _settled(whole, rest > _ZERO - each, [words], each, bits)
    more = bits.words(each.size)
    carried, last = _product(more, each, largest)
    total = rest + carried
    whole += total < rest
    open_still = (total == ~_ZERO) & (last > _ZERO - each)
    return _settled(whole, open_still, [words, more], each, bits)


def sample_scaled_one(bound: np.int64, bits: Bits, *, largest: int) -> np.int64:
    """The same for one bound, from the same word, if ``largest`` is at most ONE_WORD.

    NumPy's integers are all of one size; with Python's, larger ones take longer.
    """
    word, each = bits.words(1)[0], np.uint64(bound)
    if bits.width == 64:
        whole, rest = _product(word, each, largest)
        if ~rest >= each - _ONE:
            return np.int64(whole)
    return np.int64(_read_on(int(word), bits.width, int(bound), bits))


def _product(words: Any, each: Any, largest: int) -> tuple[Any, Any]:
    """The high and the low 64 digits of words * each, by halves of 32 digits; nothing wraps."""
    top, bottom = words >> _HALF, words & _LOW
    if largest <= 1 << 32:
        first = bottom * each
        middle = (first >> _HALF) + top * each
        return middle >> _HALF, middle << _HALF | first & _LOW
    each_top, each_bottom = each >> _HALF, each & _LOW
    first = bottom * each_bottom
    middle = first >> _HALF
    middle += top * each_bottom
    lower = middle & _LOW
    lower += bottom * each_top
    middle >>= _HALF
    middle += lower >> _HALF
    middle += top * each_top
    lower <<= _HALF
    lower |= first & _LOW
    return middle, lower


def _settled(
    whole: Words, open_still: npt.NDArray[np.bool_], read: list[Words], each: Words, bits: Bits
) -> npt.NDArray[np.int64]:
    """The integers; undecided ones are read further one by one."""
    for index in np.flatnonzero(open_still):
        prefix = 0
        for words in read:
            prefix = prefix << bits.width | int(words[index])
        whole[index] = _read_on(prefix, bits.width * len(read), int(each[index]), bits)
    return whole.view(np.int64)


def _read_on(prefix: int, digits: int, bound: int, bits: Bits) -> int:
    """floor(U bound), reading U until its first ``digits`` decide."""
    while (prefix * bound & (1 << digits) - 1) + bound > 1 << digits:
        prefix = prefix << bits.width | next_word(bits)
        digits += bits.width
    return prefix * bound >> digits


def _sample_integers(bounds: npt.NDArray[Any], bits: Bits, largest: int) -> npt.NDArray[Any]:
    """The same in Python integers, with at least 24 digits more than the largest bound has."""
    count = -(-(largest.bit_length() + 24) // bits.width) if bits.width == 64 else 1
    prefixes = [0] * bounds.size
    for _ in range(count):
        drawn = bits.words(bounds.size).tolist()
        prefixes = [old << bits.width | new for old, new in zip(prefixes, drawn, strict=True)]
    found = np.empty(bounds.size, dtype=object)
    for index, (prefix, bound) in enumerate(zip(prefixes, bounds.tolist(), strict=True)):
        found[index] = _read_on(prefix, count * bits.width, bound, bits)
    return found
