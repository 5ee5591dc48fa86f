"""The same table in every place that hourglass reads from."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import hourglass as hg
from hourglass.read.sql.cells import identifier

Place = Callable[[pa.Table], dict[str, Any]]

#: For many short queries, the optimising compiler is never worth its cost.
#: The other one has room for 48 MB of code by itself, which a hundred queries of Spark fill: from
#: then on it drops methods and compiles them again. Nor is it worth checking the bytecode of all
#: the classes that Spark loads, or to collect all garbage each time that there is room for more.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:MetaspaceSize=256m"
)

#: Room for what a session of many queries keeps, and for what it drops in some of them: the heap
#: would grow to that by itself, after as many collections.
ROOMY_JAVA = f"{QUICK_JAVA} -Xms1g -Xmn400m"

#: Spark compiles each query to Java, which takes longer than to run most of those in the tests;
#: so do the tasks of a second partition. Rows that it is given would be a part of the plan, which
#: it compares and hashes many times.
QUICK_SPARK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.localRelationThreshold": "0",
}


@contextmanager
def as_for_users(session: Any) -> Iterator[None]:
    """Spark with its own settings instead of the quick ones, and with two partitions."""
    for name in QUICK_SPARK:
        session.conf.unset(name)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        yield
    finally:
        for name, value in QUICK_SPARK.items():
            session.conf.set(name, value)


def is_quick(session: Any) -> bool:
    """Whether Spark has the quick settings, and not its own."""
    return all(session.conf.get(name, None) == value for name, value in QUICK_SPARK.items())


@cache
def java_17() -> str | None:
    """Why Spark cannot run here, or None."""
    java = shutil.which("java")
    if java is None:
        return "no Java on this machine; Spark needs Java 17 or later"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    number = told.split('"')[1].split(".")[0] if '"' in told else "0"
    return None if int(number) >= 17 else f"Java {number} is here; Spark needs Java 17 or later"


def parquet(folder: Path, engine: str | None = None) -> Place:
    def place(table: pa.Table) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(table, path)
        return {"data": path, "engine": engine}

    return place


def parquet_relation(folder: Path) -> Place:
    """On the user's own connection, which uses the statistics of the file."""
    import duckdb

    connection = duckdb.connect()

    def place(table: pa.Table) -> dict[str, Any]:
        return {"data": connection.read_parquet(str(parquet(folder)(table)["data"]))}

    return place


def duckdb_file(folder: Path) -> Place:
    import duckdb

    connection = duckdb.connect()  # which takes longer than to attach a file

    def place(table: pa.Table) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.duckdb"
        connection.execute(f"ATTACH '{path}' AS made")
        connection.from_arrow(table).create("made.t")
        connection.execute("DETACH made")
        return {"data": hg.sql(f"duckdb:///{path}", "t")}

    return place


def sqlite(folder: Path) -> Place:
    kinds = {"double": "REAL", "float": "REAL", "string": "TEXT", "bool": "BOOLEAN"}

    def place(table: pa.Table) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.db"
        with _closing(sqlite3.connect(path)) as connection:
            columns = ", ".join(
                f"{identifier(f.name)} {kinds.get(str(f.type), 'INTEGER')}" for f in table.schema
            )
            connection.execute(f"CREATE TABLE t ({columns})")
            marks = ", ".join("?" for _ in table.schema)
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
            connection.commit()
        return {"data": hg.sql(f"sqlite:///{path}", "t")}

    return place


@contextmanager
def _closing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    finally:
        connection.close()


def postgres(url: str) -> Place:
    import psycopg

    kinds = {
        "double": "DOUBLE PRECISION",
        "float": "REAL",
        "string": "TEXT",
        "bool": "BOOLEAN",
        "int8": "SMALLINT",
        "int32": "INTEGER",
        "date32[day]": "DATE",
        "timestamp[us]": "TIMESTAMP",
        "timestamp[us, tz=UTC]": "TIMESTAMPTZ",
    }

    def kind(field: pa.Field) -> str:
        return (
            "NUMERIC" if pa.types.is_decimal(field.type) else kinds.get(str(field.type), "BIGINT")
        )

    def place(table: pa.Table) -> dict[str, Any]:
        name = f"t{uuid.uuid4().hex}"
        columns = ", ".join(f"{identifier(f.name)} {kind(f)}" for f in table.schema)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {name} ({columns})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        return {"data": hg.sql(url, name)}

    return place


def relation() -> Place:
    import duckdb

    connection = duckdb.connect()  # which takes longer than most queries
    return lambda table: {"data": connection.from_arrow(table)}


def frame(kind: str) -> Place:
    if kind == "relation":
        return relation()

    def place(table: pa.Table) -> dict[str, Any]:
        if kind == "pandas":
            return {"data": table.to_pandas(integer_object_nulls=False, types_mapper=_nullable)}
        if kind == "polars":
            import polars

            return {"data": polars.from_arrow(table)}
        if kind == "polars lazy":
            import polars

            return {"data": polars.from_arrow(table).lazy()}  # type: ignore[union-attr]
        if kind == "arrow stream":
            return {"data": table.to_reader()}
        return {"data": table}

    return place


def _nullable(kind: Any) -> Any:
    import pandas

    return {pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}.get(kind)


def spark(session: Any, folder: Path, engine: str | None = None) -> Place:
    known: dict[str, Any] = {}  # what Spark made of a schema: each look into a file is a job

    def place(table: pa.Table) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(table, path)
        if engine:
            return {"data": path, "engine": engine}
        schema = str(table.schema)
        reader = session.read.schema(known[schema]) if schema in known else session.read
        frame = reader.parquet(str(path))
        known[schema] = frame.schema
        return {"data": frame}

    return place


#: Types that a table handed over to Spark keeps, as it does in a file.
KEPT = {
    "double", "float", "int8", "int16", "int32", "int64", "string", "bool", "date32[day]"
}  # fmt: skip
#: Tables of so many rows are left to Spark's reader of files, which is made for them.
LARGE = 10_000


def spark_rows(session: Any, folder: Path) -> Place:
    """A small table as rows that Spark is given, which is quicker than to find and open a file.

    They are one partition, which Spark adds up in one task, without a shuffle. With Spark's own
    settings it is a file, as users have it, and partial sums are shuffled.
    """
    file = spark(session, folder)

    def place(table: pa.Table) -> dict[str, Any]:
        kept = all(str(kind) in KEPT or pa.types.is_decimal(kind) for kind in table.schema.types)
        if len(table) >= LARGE or not kept or not is_quick(session):
            return file(table)
        return {"data": session.createDataFrame(table).coalesce(1)}

    return place
