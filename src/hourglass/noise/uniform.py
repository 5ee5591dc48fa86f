"""Uniform integers below a bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .bits import Bits, Words

__all__ = ["MAX_BOUND", "sample_below", "sample_below_each"]

#: Bounds stay below 2^62, so that a 64-bit draw is rejected at most one time in four.
MAX_BOUND = 1 << 62


def sample_below(bound: int, size: int, bits: Bits) -> npt.NDArray[np.int64]:
    """``size`` independent uniform integers in [0, bound), 1 <= bound <= 2^62, exactly.

    A draw from [0, 2^d) is kept if it lies below the largest multiple of the bound, and repeated
    otherwise. Whether it is kept is independent of its residue, and so is the time.
    """
    digits = _digits_needed(bound, bits.width)
    last_kept = np.uint64((1 << digits) - (1 << digits) % bound - 1)
    draws = _draw(size, digits, bits)
    again = np.flatnonzero(draws > last_kept)
    while again.size:
        draws[again] = _draw(again.size, digits, bits)
        again = again[draws[again] > last_kept]
    return _residues(draws, np.uint64(bound))


def sample_below_each(
    bounds: npt.NDArray[np.int64], bits: Bits, *, largest: int
) -> npt.NDArray[np.int64]:
    """One uniform integer in [0, bound) for each bound, all of them at most ``largest``."""
    digits = _digits_needed(largest, bits.width)
    each = bounds.astype(np.uint64)
    last = np.uint64((1 << digits) - 1)
    last_kept = last - (last % each + np.uint64(1)) % each
    draws = _draw(each.size, digits, bits)
    again = np.flatnonzero(draws > last_kept)
    while again.size:
        draws[again] = _draw(again.size, digits, bits)
        again = again[draws[again] > last_kept[again]]
    return _residues(draws, each)


def _residues(draws: Words, bound: np.uint64 | Words) -> npt.NDArray[np.int64]:
    # NumPy vectorises division by a scalar, but not the remainder.
    return (draws - draws // bound * bound).view(np.int64)


def _digits_needed(bound: int, width: int) -> int:
    """The least multiple of the word's width that holds bound - 1, and one word at least."""
    return max(1, -(-(bound - 1).bit_length() // width)) * width


def _draw(size: int, digits: int, bits: Bits) -> Words:
    """Uniform integers below 2^digits, digits a multiple of the word's width."""
    draws = bits.words(size).copy()
    for _ in range(digits // bits.width - 1):
        draws = draws << np.uint64(bits.width) | bits.words(size)
    return draws
