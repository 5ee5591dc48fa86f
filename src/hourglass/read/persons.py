"""The rows of each person that count, from rows in the order of persons.

DuckDB sorts rows by person in half of the time that it takes to number the rows of each person, so
they are chosen here. The rule is that of :func:`.sql.steps.kept_rows`: it goes by the order of a
person's numbers, and the order of their buckets is the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.scale import Scale
from .bucket_counts import buckets_of
from .sql.steps import FACTOR, PRIME, TERM

__all__ = ["histogram_of_persons", "starts_of"]

Array = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]


def histogram_of_persons(
    scale: Scale, rows: int, blocks: Iterable[tuple[Array, Array]]
) -> Integers:
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
