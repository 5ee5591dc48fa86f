"""The rows of each person that count, from all rows with their persons.

DuckDB sorts rows by person in half of the time that it takes to number the rows of each person, so
they are chosen here; and NumPy sorts them in half of DuckDB's time, as long as there is room for
all of them. The rule is that of :func:`.sql.steps.kept_rows`, which depends on the order of a
person's numbers; the order of their buckets is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..core.limits import Scale
from .bucket_counts import buckets_of
from .sql.steps import FACTOR, PRIME, TERM
from .threads import in_threads, threads_for

__all__ = ["MOST_ROWS", "histogram_in_any_order", "histogram_of_persons", "starts_of"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Blocks = Iterable[tuple[Array, Array]]

#: The most rows that are sorted in memory, 8 bytes each.
MOST_ROWS: Final = 1 << 24
#: Rows at a time, so that what is computed for them stays in the cache.
_BLOCK: Final = 1 << 17
#: Odd, so that persons times this, modulo 2^64, are still different; and its inverse.
_MIX: Final = 0x9E3779B97F4A7C15
_UNMIX: Final = pow(_MIX, -1, 1 << 64)


# --- rows in the order of persons ---------------------------------------------------------------


def histogram_of_persons(scale: Scale, rows: int, blocks: Blocks) -> Integers:
    """How many of the rows that count fall into each bucket: up to ``rows`` rows of each person.

    ``blocks`` are persons, as signed integers or unsigned ones of less than 64 bits, and numbers,
    in the order of persons. If the rows of a person continue in the next block, their counts by
    bucket are kept until the last one is known. These take the same room for any number of rows.
    """
    size = 2 * len(scale.candidates) + 1
    found, so_far = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    person = np.empty(0, dtype=np.int64)
    for persons, numbers in blocks:
        if not len(persons):
            continue
        buckets = buckets_of(scale, numbers)
        changes = np.flatnonzero(persons[1:] != persons[:-1]) + 1
        if len(person) and persons[0] != person[0]:
            found += _of_one(person, so_far, rows)
            so_far[:] = 0
        person = persons[:1]
        so_far += np.bincount(buckets[: changes[0] if len(changes) else None], minlength=size)
        if not len(changes):
            continue
        found += _of_one(person, so_far, rows)
        found += _of_whole(persons, buckets, changes, rows, size)
        person, so_far = persons[-1:], np.bincount(buckets[changes[-1] :], minlength=size)
    return found + _of_one(person, so_far, rows) if len(person) else found


def _of_one(person: Array, counts: Integers, rows: int) -> Integers:
    """The counts of the rows that count, from those of all rows of one person."""
    ends = np.cumsum(counts)
    _, ranks = _kept(starts_of(person), ends[-1:], rows)
    return np.bincount(np.searchsorted(ends, ranks, side="right"), minlength=len(counts))


def _of_whole(
    persons: Array, buckets: Integers, changes: Integers, rows: int, size: int
) -> Integers:
    """The same for the persons between the first change in a block and the last."""
    sizes = np.diff(changes)
    ordered = np.repeat(np.arange(len(sizes)) * size, sizes) + buckets[changes[0] : changes[-1]]
    if len(sizes) * size < 2**31:
        ordered = ordered.astype(np.int32)  # which is sorted faster
    ordered.sort()  # by person, and those of a person by bucket
    firsts = changes[:-1]
    places, ranks = _kept(starts_of(persons[firsts]), sizes, rows)
    return np.bincount(ordered[firsts[places] - changes[0] + ranks] % size, minlength=size)


# --- rows in any order --------------------------------------------------------------------------


def histogram_in_any_order(scale: Scale, rows: int, blocks: Blocks) -> Integers | None:
    """The same for rows in any order; None if there are more than MOST_ROWS, which are not kept.

    A person's id, mixed, has 64 binary digits. The first of them, as many as a bucket has, say
    which part a row belongs to; the others and the bucket make one number. Sorting the numbers of a
    part sorts its rows by person, and those of a person by bucket.
    """
    size, read = 2 * len(scale.candidates) + 1, 0
    parts = _Parts((size - 1).bit_length())
    for persons, numbers in blocks:
        read += len(persons)
        if read > MOST_ROWS:
            return None
        parts.add(persons, buckets_of(scale, numbers))

    def counted(first: int, last: int) -> Integers:
        found = np.zeros(size, dtype=np.int64)
        for numbers, edges, part in parts.each(first, last):
            found += _of_sorted(numbers, edges, part, parts.digits, rows, size)
        return found

    found: Integers = np.sum(in_threads(counted, 1 << parts.digits, threads_for(read)), axis=0)
    return found


@dataclass(frozen=True)
class _Parts:
    """Rows as numbers, of which each block is in the order of its parts."""

    digits: int
    blocks: list[tuple[Words, list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert self.digits <= 16  # a table has at most MOST_CANDIDATES, so 12 digits

    def add(self, persons: Array, buckets: Integers) -> None:
        """Another block: its numbers, and where each part of it starts."""
        mixed = persons.astype(np.int64, copy=False).view(np.uint64) * np.uint64(_MIX)
        # NumPy sorts 16-bit numbers by their digits if it has to keep the order of equal ones. That
        # takes a fraction of the time of any comparison.
        part = (mixed >> np.uint64(64 - self.digits)).astype(np.uint16)
        starts = np.zeros((1 << self.digits) + 1, dtype=np.int64)
        np.cumsum(np.bincount(part, minlength=len(starts) - 1), out=starts[1:])
        numbers = mixed << np.uint64(self.digits)
        numbers |= buckets.view(np.uint64)
        self.blocks.append((numbers.take(np.argsort(part, kind="stable")), starts.tolist()))

    def each(self, first: int, last: int) -> Iterable[tuple[Words, Integers, int]]:
        """The sorted numbers of parts first..last-1, several parts at a time.

        With them: where each of these parts starts and the last one ends, and which is the first.
        """
        starts = np.zeros(last - first + 1, dtype=np.int64)
        for _, of_block in self.blocks:
            starts += of_block[first : last + 1]
        starts -= starts[0]
        at = 0
        while at < last - first:
            stop = max(at + 1, int(np.searchsorted(starts, starts[at] + _BLOCK, "right")) - 1)
            edges = starts[at : stop + 1] - starts[at]
            numbers = np.empty(edges[-1], dtype=np.uint64)
            ends = edges.tolist()
            for place, part in enumerate(range(first + at, first + stop)):
                own = numbers[ends[place] : ends[place + 1]]
                if len(own):
                    np.concatenate([n[s[part] : s[part + 1]] for n, s in self.blocks], out=own)
                    own.sort()
            yield numbers, edges, first + at
            at = stop


def _of_sorted(
    numbers: Words, edges: Integers, part: int, digits: int, rows: int, size: int
) -> Integers:
    """The counts of the rows that count, of the persons in several parts."""
    rest = numbers >> np.uint64(digits)
    new = np.empty(len(numbers) + 1, dtype=np.bool_)
    np.not_equal(rest[1:], rest[:-1], out=new[1:-1])
    new[edges] = True
    (firsts,) = np.nonzero(new[:-1])
    sizes = np.diff(firsts, append=len(numbers))
    parts = (np.searchsorted(edges, firsts, side="right") - 1 + part).astype(np.uint64)
    persons = (parts << np.uint64(64 - digits) | rest[firsts]) * np.uint64(_UNMIX)
    places, ranks = _kept(starts_of(persons.view(np.int64)), sizes, rows)
    chosen = numbers[firsts[places] + ranks] & np.uint64((1 << digits) - 1)
    return np.bincount(chosen.view(np.int64), minlength=size)


# --- the rule -----------------------------------------------------------------------------------


def _kept(starts: Integers, sizes: Integers, rows: int) -> tuple[Integers, Integers]:
    """The rows that count: the place of the person, and the rank among the person's rows.

    Rank r of n counts if (start + r * rows) % n < rows. If n > rows, these are the first r at or
    past ``rows`` multiples of n, from the multiple 0 if r = 0 counts, otherwise from n.
    """
    few, many = np.flatnonzero(sizes <= rows), np.flatnonzero(sizes > rows)
    n = sizes[many, None]
    start = starts[many, None] % n
    multiples = (np.arange(rows if len(many) else 0) + (start >= rows)) * n
    ranks = -((start - multiples) // rows)
    all_places = np.repeat(few, sizes[few])
    firsts = np.cumsum(sizes[few]) - sizes[few]
    all_ranks = np.arange(len(all_places)) - np.repeat(firsts, sizes[few])
    return (
        np.concatenate([all_places, np.repeat(many, rows)]),
        np.concatenate([all_ranks, ranks.ravel()]),
    )


def starts_of(persons: Array) -> Integers:
    """The start of each person, as in SQL: a permutation of whole numbers modulo a prime."""
    rest = np.abs(np.fmod(persons.astype(np.int64, copy=False), PRIME))
    s = (rest * FACTOR + TERM) % PRIME
    square = s * s % PRIME
    found: Integers = square * square % PRIME * s % PRIME
    return found
