"""Every exhibit's table once a session, at reduced runs, from a fixed stream of bits.

The bits are seeded, so a test that passes passes always; the false-alarm rates stated in the
tests are those of a fresh seed.
"""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

from hourglass.noise.bits import Words
from hourglass.paper import EXHIBITS, Point, Settings, Table

RUNS = {
    "e2": 10_000, "e3": 40_000, "e4": 10_000, "e5": 60_000, "e7": 60_000, "e9": 13_000,
    "estimators": 40_000,
}  # fmt: skip


class Tables(Protocol):
    def __call__(self, name: str) -> Table: ...


class QuickBits:
    """A stream of words that takes a tenth of the time that hashing takes."""

    width, private = 64, False

    def __init__(self, seed: int) -> None:
        self._raw = np.random.PCG64(seed)

    def words(self, size: int) -> Words:
        return np.asarray(self._raw.random_raw(size), dtype=np.uint64)


@lru_cache
def _table(name: str) -> Table:
    settings = Settings(RUNS.get(name, 20_000), bits=QuickBits(2024))
    return EXHIBITS[name].table(settings, lambda: None)


@pytest.fixture(scope="session")
def tables() -> Tables:
    return _table


def read_table(path: Path) -> Table:
    """What :meth:`Table.write` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        (_, _, x, y, *_), *rows = csv.reader(file)
    points = (
        Point(
            series,
            float(at),
            float(value),
            float(se),
            float(form) if form else math.nan,
            int(runs),
            panel,
        )
        for panel, series, at, value, se, form, runs, _ in rows
    )
    return Table(x, y, tuple(points))
