"""An engine is one file: a toy engine with tables as lists of rows, registered only here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

import hourglass as hg
from hourglass.core.limits import Bounds
from hourglass.core.totals import Groups
from hourglass.read import source
from hourglass.read.engines.sqlite import _DIALECT
from hourglass.read.open import file_engines
from hourglass.read.source import Field, Schema, Source, engines, register
from hourglass.read.sql.cells import with_source
from hourglass.read.sql.query import Question


@dataclass(frozen=True)
class Rows:
    """Data of a kind that no other engine claims: x and g of every row."""

    rows: tuple[tuple[float | None, str | None], ...]


class RowsSource:
    """It runs SQL like every engine, through an in-memory SQLite database and its dialect."""

    name = "toy"
    parse: str | None = None
    parses = False

    def __init__(self, data: Rows) -> None:
        self._data = data

    def schema(self) -> Schema:
        return Schema((Field("x", "real", "REAL"), Field("g", "text", "TEXT")))

    def sql(self, query: Question, bounds: Bounds) -> str:
        columns = ", ".join(field.name for field in query.fields)
        return with_source(f"SELECT {columns} FROM t", _DIALECT.write(query.text("halves")))

    def run(self, sql: str, query: Question) -> Groups:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE TABLE t (x REAL, g TEXT)")
            connection.executemany("INSERT INTO t VALUES (?, ?)", self._data.rows)
            rows = connection.execute(sql).fetchall()
        return Groups.of_rows(rows, len(query.by), len(query.sums))


@pytest.fixture
def toy() -> Iterator[None]:
    """The engine, for the time of a test."""

    @register
    class Toy:
        name = "toy"
        preferred = False

        @staticmethod
        def claims(data: Any) -> bool:
            return isinstance(data, Rows)

        @staticmethod
        def open(data: Any, wanted: tuple[str, ...]) -> Source:
            return RowsSource(data)

    yield
    del source._REGISTRY["toy"]


DATA = Rows(((1.0, "a"), (9.0, "b"), (None, "a"), (2.0, "a"), (5.0, None)))
ASK: dict[str, Any] = {"bounds": (0, 8), "epsilon": 60}


@pytest.mark.usefixtures("toy")
def test_a_toy_engine_answers() -> None:
    whole = hg.mean(DATA, "x", **ASK)
    assert whole.count == 4
    assert whole.sum == pytest.approx(1 + 8 + 2 + 5, abs=0.1)
    found = hg.mean(DATA, "x", by="g", keys=["a", "b", "z"], **ASK)
    assert found.counts.tolist() == [2, 1, 0]
    assert "FROM t" in hg.mean(DATA, "x", explain=True, **ASK)
    assert hg.find_bounds(DATA, "x", epsilon=60, scale=[0, 4, 16]).upper == 16
    assert hg.mean(DATA, "x", engine="toy", **ASK).count == 4
    with pytest.raises(hg.OptionError, match="use toy"):
        hg.mean(DATA, "x", engine="duckdb", **ASK)
    with pytest.raises(hg.DataError, match="name the column"):
        hg.mean(DATA, **ASK)


def test_without_its_file_it_is_not_there() -> None:
    with pytest.raises(hg.DataError, match="not a table"):
        hg.mean(DATA, "x", **ASK)
    assert "toy" not in [engine.name for engine in engines()]


def test_what_is_offered() -> None:
    names = [engine.name for engine in engines()]
    assert names == ["duckdb", "datafusion", "postgres", "spark", "sqlite"]
    assert file_engines() == ["duckdb", "datafusion", "spark"]
