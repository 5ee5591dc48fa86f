"""Files and tables that another process changes between the charge and the reading."""

from __future__ import annotations

import gzip
import math
import os
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.errors import SourceError
from hourglass.ledger import Budget
from hourglass.read.lines import CHANGED

CANARY = "CANARY51a7"
ROWS = 500


def write(path: Path, name: str = "x") -> None:
    """A table with a column of this name."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: [1.0] * ROWS, "g": [CANARY] * ROWS}), path)
        return
    text = f"{name},g\n" + f"1,{CANARY}\n" * ROWS
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


CHANGES: dict[str, Callable[[Path], object]] = {
    "removed": os.unlink,
    "emptied": lambda path: os.truncate(path, 0),
    "replaced": lambda path: write(path, CANARY),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param("t.csv", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.csv.gz", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "datafusion", marks=pytest.mark.engine("datafusion")),
    ],
)
def test_a_file_that_changes_after_the_charge(
    name: str, engine: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no answer about no rows, or about another column, and no further charge."""
    path = tmp_path / name
    write(path)
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    reserve = Budget.reserve

    def changing(self: Budget, *arguments: Any, **options: Any) -> Any:
        found = reserve(self, *arguments, **options)
        CHANGES[change](path)
        return found

    def ask() -> Any:
        return hg.mean(
            path, "x", bounds=(0, 2), epsilon=1, engine=engine, budget=budget, request="k"
        )

    monkeypatch.setattr(Budget, "reserve", changing)
    with pytest.raises(SourceError) as caught:
        ask()
    assert "request='k'" in caught.value.__notes__[0]
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    monkeypatch.undo()
    write(path)
    assert ask().count > 0
    assert budget.balance().charges == 1


#: Columns of other types, in pairs: where the second fails to be read as the type that the
#: question was checked for, the first does not.
RETYPED: list[tuple[str, list[Any], list[Any]]] = [
    ("x", ["1", "2"], ["1", CANARY]),
    ("x", [Decimal(1), Decimal(2)], [Decimal(1), Decimal("1e30")]),
    ("who", [1.0, 2.0], [1.0, math.nan]),
    ("who", ["1", "2"], ["1", CANARY]),
    ("g", [1, 2], [1, 3]),
    ("g", [b"a", b"b"], [b"a", b"\xff"]),
]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param("t.arrow", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("*.parquet", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "datafusion", marks=pytest.mark.engine("datafusion")),
    ],
)
def test_files_whose_types_change_after_the_charge(name: str, engine: str, tmp_path: Path) -> None:
    """Caught: a file of other types, whose cells decide whether the question fails, and how."""
    write = pq.write_table if "parquet" in name else feather.write_feather
    table = pa.table({"x": [1.0, 2.0], "g": ["a", "b"], "who": [1, 2]})
    path, told = tmp_path / name.replace("*", "t"), set()
    other = pa.table({"x": pa.array([3], pa.int32()), "g": ["a"], "who": [3]})
    write(other, path.with_stem("u"))  # for the glob
    options: list[dict[str, Any]] = [
        {}, {"by": "g", "delta": 1e-6}, {"unit": hg.per_person("who", rows=1)}
    ]  # fmt: skip
    for place, (column, *others) in enumerate(RETYPED):
        more = options[place % len(options)]
        for cells in others:
            path.unlink(missing_ok=True)
            write(table, path)
            ask: dict[str, Any] = {"bounds": (0, 2), "epsilon": 1, "engine": engine, **more}
            question = mean_question(tmp_path / name, "x", **ask)
            path.unlink()
            write(table.set_column(table.column_names.index(column), column, [cells]), path)
            with pytest.raises(SourceError) as caught:
                question.read()
            told.add("".join(traceback.format_exception_only(caught.value)))
    assert told == {f"hourglass.errors.SourceError: {CHANGED}\n"}


@pytest.mark.attack
@pytest.mark.slow
@pytest.mark.engine("spark")
def test_files_that_change_after_the_charge_on_spark(spark_session: Any, tmp_path: Path) -> None:
    """Caught: cells of other types, as above, and a CSV file whose columns changed places."""
    files = [tmp_path / "t.parquet", tmp_path / "u.parquet", tmp_path / "t.csv"]
    for path in files:
        write(path)
    ask: dict[str, Any] = {"bounds": (0, 2), "epsilon": 1, "engine": "spark"}
    questions = [mean_question(path, "x", **ask) for path in files]
    pq.write_table(pa.table({"x": ["1", CANARY]}), files[0])
    pq.write_table(pa.table({"x": [1, 2]}), files[1])
    files[2].write_text("g,x\n1,2\n")
    for question in questions:
        with pytest.raises(SourceError) as caught:
            question.read()
        assert str(caught.value) == CHANGED


#: Questions about a table, and the columns that each of them reads.
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("x", {}),
    ("x g", {"by": "g", "keys": ["5"]}),
    ("x who", {"unit": hg.per_person("who")}),
    ("x y", {"where": "y > 1"}),
]
COLUMNS = {"x": "REAL", "g": "TEXT", "who": "BIGINT", "y": "REAL"}
FILLED = "INSERT INTO changing VALUES (1, '5', 1, 2), (2, '6', 2, 1), (3, '5', 1, 3)"


def made(other: str | None = None) -> str:
    """A table, one of whose columns may have another type."""
    kinds = {
        **COLUMNS,
        **({other: "TEXT" if COLUMNS[other] == "REAL" else "REAL"} if other else {}),
    }
    listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    return f"DROP TABLE IF EXISTS changing; CREATE TABLE changing ({listed}, beside TEXT); " + (
        FILLED.replace("changing", f"changing ({', '.join(kinds)})")
    )


def check_changes(data: Any, execute: Callable[[str], object]) -> None:
    """Change each column after all questions were checked; only those that read it may fail."""

    def questions() -> list[Any]:
        ask: dict[str, Any] = {"bounds": (0, 4), "epsilon": 1}
        return [mean_question(data, "x", **more, **ask) for _, more in ASKED]

    def totals(question: Any) -> Any:
        found = question.read()
        return list(found.keys), list(found.count), [*map(int, found.totals.cells)]

    execute(made())
    known = [totals(question) for question in questions()]
    for column in COLUMNS:
        renamed = f"ALTER TABLE changing RENAME COLUMN {column} TO renamed"
        for change in (renamed, made(other=column)):
            execute(made())
            asked = questions()
            execute("ALTER TABLE changing DROP COLUMN beside")
            execute(change)
            for (read, _), question, before in zip(ASKED, asked, known, strict=True):
                if column in read.split():
                    with pytest.raises(SourceError, match="somebody changed the type or the name"):
                        question.read()
                else:
                    assert totals(question) == before


@pytest.mark.attack
@pytest.mark.engine("sqlite")
def test_columns_of_a_sqlite_table_that_change_after_the_charge(tmp_path: Path) -> None:
    """Caught: a column that is gone is read as a text, its own name, so all rows are one group."""
    with closing(sqlite3.connect(tmp_path / "t.db", isolation_level=None)) as connection:
        data = hg.sql(f"sqlite:///{tmp_path}/t.db", "changing")
        check_changes(data, connection.executescript)


@pytest.mark.attack
@pytest.mark.engine("postgres")
def test_columns_of_a_postgres_table_that_change_after_the_charge(postgres_url: str) -> None:
    """Caught: a query made for other types, which one cell makes fail, or another column's."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        check_changes(hg.sql(postgres_url, "changing"), connection.execute)
        connection.execute("DROP TABLE changing")
