"""Every kind of source: how to make good rows, bad rows, and the source with them."""

from __future__ import annotations

import gzip
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import hourglass as hg
from tests.read.observer import Question
from tests.read.poisons import (
    CELLS,
    CLEAN,
    NAMES,
    PYTHON,
    SHARED,
    SQL_G,
    SQL_X,
    SQLITE_CELLS,
    clean_cell,
    column,
    csv_line,
    json_line,
    poisoned,
    quoted,
)


@dataclass
class Target:
    """A source that is rebuilt from rows, always in the same place."""

    good: Callable[[int], Any]
    bad: Callable[[random.Random], Any]
    make: Callable[[list[Any]], Any]
    questions: list[Question]
    engine: str | None = None
    #: How many records a row is: more than one if it is several lines.
    records: Callable[[Any], int] = lambda _: 1
    clean: list[str] = field(default_factory=lambda: list(CLEAN))
    #: Asked by the command, and not in Python.
    command: bool = False


def questions(
    *,
    parse: str | None = None,
    keys: list[Any] | None,
    pairs: bool = True,
    columns: tuple[str, ...] = ("x", "p"),
) -> list[Question]:
    """A mean of all, by public and by secret groups, by persons; with and without ``missing``.

    Then the same with the spread, with what lies outside the bounds, and of several ``columns``: a
    missing cell counts as the lower bound in all but the first. Then rows and persons are counted.
    What is asked with epsilon 60 has that a record; the others have 50, and 60 with ``outside``,
    whose counts have 40. ``pairs``: persons are text, and are asked for together with groups.
    """
    base: dict[str, Any] = {"epsilon": 60} | ({"parse": parse} if parse else {})
    twice, both = hg.per_person("p", rows=2), hg.per_person("p", groups=2)
    found = [
        Question("all", base),
        Question("missing", base | {"missing": 3}),
        Question("filtered", base | {"where": "NOT (x IS NULL AND g IS NULL) OR p IS NULL"}),
        Question("secret", base | {"by": "g", "delta": 1e-6}),
        Question("secret missing", base | {"by": "g", "delta": 1e-6, "missing": 5}),
        Question("persons", base | {"unit": hg.per_person("p")}, person=True),
        Question("secret persons", base | {"unit": hg.per_person("p"), "by": "g",
        "delta": 1e-6}, person=True),
    ]  # fmt: skip
    if keys:
        public = base | {"by": "g", "keys": keys}
        found += [
            Question("public", public),
            Question("public missing", public | {"missing": 3}),
            Question("twice", public | {"unit": twice, "epsilon": 100}, each=2, person=True),
            Question("both", public | {"unit": both, "epsilon": 100}, each=2, person=True),
            Question("secret both", base | {"by": "g", "delta": 1e-6, "unit": both,
            "epsilon": 100}, each=2, person=True),
        ]  # fmt: skip
        if pairs:
            some = [(key, person) for key in keys for person in ("q", "p0", "p4")]
            found.append(Question("pairs", base | {"by": ["g", "p"], "keys": some}))
    fills = {"missing": dict.fromkeys(columns[1:], 0)} if columns[1:] else {}
    is_text = parse or (pairs and "p" in columns)
    together = base | ({"parse": parse or "real"} if is_text else {}) | fills
    secret = {"by": "g", "delta": 1e-6}
    for name, asked, each in (
        ("spread", base | {"spread": True}, ()),
        ("outside", base | {"outside": "2/5", "epsilon": 100, "missing": 3}, ()),
        ("columns", together, columns),
        ("count", {"epsilon": 60}, ()),
    ):
        more: dict[str, Any] = {"columns": each, "counts": name == "count"}
        found += [
            Question(name, asked, **more),
            Question(f"{name}, secret", asked | secret, **more),
            Question(f"{name}, persons", asked | {"unit": hg.per_person("p")}, person=True, **more),
        ]
        if keys:
            found.append(Question(f"{name}, public", asked | {"by": "g", "keys": keys}, **more))
    scale = {"scale": [0, 1, 10, 50, 100, 1000]} | base
    return [*found, Question("bounds", scale, bounds_only=True)]


def by_command(target: Target) -> Target:
    """The same target, asked by the command: keys of two columns it takes from files alone."""
    kept = [question for question in target.questions if question.name != "pairs"]
    return replace(target, command=True, questions=kept)


PUBLIC = [*SHARED, *CLEAN, "zz"]


def text(rng: random.Random, folder: Path, engine: str | None, suffix: str = "") -> Target:
    """Lines of CSV, TSV or JSON, plain or gzipped."""
    suffix = suffix or rng.choice(["csv", "csv", "tsv", "csv.gz", "jsonl", "jsonl", "ndjson.gz"])
    separator = b"\t" if "tsv" in suffix else b","
    parts = rng.choice([1, 1, 1, 2])
    for old in folder.glob(f"table-?.{suffix}"):
        old.unlink()
    end = rng.choice([b"\n", b"\n", b"\n", b"\r\n"])
    last, bom = rng.choice([end, b""]), rng.choice([b"", b"", b"\xef\xbb\xbf"])
    is_json = "json" in suffix

    def good(i: int) -> bytes:
        if is_json:
            return b'{"x": %d, "g": "%b", "p": "p%d"}' % (i, PUBLIC[i % 6].encode(), i)
        quote = b'"' if i % 4 == 1 else b""
        return separator.join([b"%d" % i, quote + PUBLIC[i % 6].encode() + quote, b"p%d" % i])

    def write(path: Path, lines: list[bytes]) -> None:
        header = [] if is_json else [b"x,g,p".replace(b",", separator)]
        content = bom + end.join(header + lines) + last
        path.write_bytes(gzip.compress(content, 1) if suffix.endswith("gz") else content)

    def make(lines: list[bytes]) -> Path:
        for part in range(parts):
            write(folder / f"table-{part}.{suffix}", lines[part::parts])
        return folder / (f"table-?.{suffix}" if parts > 1 else f"table-0.{suffix}")

    computed = "1 / (x - 7) < 1e300 * x OR g LIKE '%a_' OR LENGTH(p) BETWEEN 1 AND 99"
    asked = questions(parse=rng.choice([None, "integer", "real"]), keys=PUBLIC)
    asked.insert(0, Question("computed", {"epsilon": 60, "where": computed}))
    return Target(
        good,
        lambda r: json_line(r) if is_json else csv_line(r, separator),
        make,
        asked,
        engine,
        records=lambda line: 1 + line.count(b"\n"),
    )


def _kinds(rng: random.Random, *, numbers: bool) -> dict[str, pa.DataType]:
    kinds = {name: [cells[0][0], *(kind for kind, _ in cells)] for name, cells in CELLS.items()}
    if numbers:
        kinds["x"].remove(pa.string())
    return {name: rng.choice(several) for name, several in kinds.items()}


def _arrow(rows: list[dict[str, Any]], kinds: dict[str, pa.DataType]) -> pa.Table:
    return pa.table(
        {name: column([row[name] for row in rows], kind) for name, kind in kinds.items()}
    )


def _pandas(table: pa.Table) -> Any:
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def _numpy_pandas(table: pa.Table) -> Any:
    return table.to_pandas(ignore_metadata=True)


def _category(table: pa.Table) -> Any:
    return table.to_pandas(strings_to_categorical=True)


def _polars_category(table: pa.Table) -> Any:
    import polars

    names = [name for name in table.column_names if pa.types.is_string(table[name].type)]
    return _polars(table).with_columns(polars.col(names).cast(polars.Categorical))


def _polars(table: pa.Table) -> Any:
    import polars

    return polars.from_arrow(table)


@cache
def _connection() -> Any:
    """The user's own, which takes longer to start than a question."""
    import duckdb

    return duckdb.connect()


def _relation(table: pa.Table) -> Any:
    connection = _connection()
    connection.register("arrow_rows", table)
    connection.execute("CREATE OR REPLACE TABLE rows AS SELECT * FROM arrow_rows")
    return connection.table("rows")


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "arrow": lambda table: table,
    "stream": lambda table: table.to_reader(),
    "pandas": _pandas,
    "pandas of numpy": _numpy_pandas,
    "pandas category": _category,
    "polars": _polars,
    "polars category": _polars_category,
    "polars lazy": lambda table: _polars(table).lazy(),
    "relation": _relation,
}


def typed(
    rng: random.Random, place: Callable[[pa.Table], Any], engine: str | None = None
) -> Target:
    """A table whose columns have types."""
    kinds = _kinds(rng, numbers=engine == "datafusion")  # which reads no text as numbers
    if place in (_numpy_pandas, _category):
        # pandas itself makes other types of whole numbers, booleans and dates if one is missing.
        floats = pa.types.is_floating(kinds["x"])
        kinds = {"x": kinds["x"] if floats else pa.string(), "g": pa.string(), "p": pa.string()}
    named = pa.types.is_string(kinds["g"])
    parse = rng.choice(["real", "integer"]) if pa.types.is_string(kinds["x"]) else None
    return Target(
        lambda i: {name: clean_cell(name, kind, i) for name, kind in kinds.items()},
        lambda r: poisoned(r, kinds),
        lambda rows: place(_arrow(rows, kinds)),
        questions(
            parse=parse,
            keys=PUBLIC if named else None,
            pairs=pa.types.is_string(kinds["p"]),
            columns=("x",)
            if engine == "datafusion" and pa.types.is_string(kinds["p"])
            else ("x", "p"),
        ),
        engine,
        clean=list(CLEAN) if named else [],
    )


def frame(rng: random.Random, folder: Path) -> Target:
    return typed(rng, FRAMES[rng.choice(list(FRAMES))])


def binary(rng: random.Random, folder: Path, engine: str | None = None) -> Target:
    """Parquet and Arrow files."""
    suffix = "parquet" if engine else rng.choice(["parquet", "arrow", "feather"])
    path = folder / f"table.{suffix}"

    def place(table: pa.Table) -> Path:
        if suffix == "parquet":
            pq.write_table(table, path, row_group_size=4)
        else:
            pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
        return path

    return typed(rng, place, engine)


def objects(rng: random.Random, folder: Path) -> Target:
    """A pandas frame of Python objects, which are text."""
    import pandas

    def bad(r: random.Random) -> dict[str, Any]:
        row: dict[str, Any] = {"x": "1", "g": "a", "p": "q"}
        for name in r.sample("xgp", r.choice([1, 1, 3])):
            row[name] = r.choice(PYTHON)
        return row

    return Target(
        lambda i: {"x": str(i), "g": PUBLIC[i % 6], "p": f"p{i}"},
        bad,
        lambda rows: pandas.DataFrame(rows, columns=["x", "g", "p"], dtype=object),
        questions(parse=rng.choice(["real", "integer"]), keys=PUBLIC),
    )


def sqlite(rng: random.Random, folder: Path) -> Target:
    """A SQLite table, whose cells may have other types than the column declares."""
    path = folder / "table.db"
    kind = rng.choice(["REAL", "INTEGER", "TEXT", "NUMERIC", ""])
    texts = rng.choice(["TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "VARCHAR(3)", ""])
    encoding = rng.choice(["UTF-8", "UTF-8", "UTF-16le", "UTF-16be"])

    def make(rows: list[list[str]]) -> Any:
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute(f"CREATE TABLE t (x {kind}, g {texts}, p TEXT)")
        for row in rows:
            connection.execute(f"INSERT INTO t VALUES ({', '.join(row)})")
        connection.commit()
        connection.close()
        return hg.sql(f"sqlite:///{path}", "t")

    return Target(
        lambda i: [str(i), f"'{PUBLIC[i % 6]}'", f"'p{i}'"],
        lambda r: _one_bad(r, ["1", "'a'", "'q'"], [SQLITE_CELLS] * 3),
        make,
        questions(
            parse=rng.choice(["real", "integer"]) if kind in ("TEXT", "") else None, keys=PUBLIC
        ),
    )


def _one_bad(rng: random.Random, row: list[str], bad: list[list[str]]) -> list[str]:
    for place in rng.sample(range(len(row)), rng.choice([1, 1, 3])):
        row[place] = rng.choice(bad[place])
    return row


ONLY = {
    "numeric": "postgres",
    "numeric(12, 3)": "postgres",
    "text": "duckdb",
    "hugeint": "duckdb",
    "decimal(38, 10)": "duckdb",
}
#: The name of a group in a good row, by the type of the column.
GROUPS: dict[str, Callable[[int], str]] = {
    "text": lambda i: PUBLIC[i % 6],
    "date": lambda i: f"2024-01-0{i % 6 + 1}",
    "boolean": lambda i: str(i % 2 == 0),
    "bigint": lambda i: str(i % 6),
    "character(4)": lambda i: f"k{i % 6}",
}


def served(rng: random.Random, run: Callable[[list[str]], Any], engine: str) -> Target:
    """A table that is made by SQL; ``run`` runs statements, and returns the source ``t``."""
    kind = rng.choice([kind for kind in SQL_X if ONLY.get(kind, engine) == engine])
    group = rng.choice(["text", *SQL_G])
    early = "'0044-03-15 BC'" if engine == "postgres" else "'0044-03-15 (BC)'"

    hard = [SQL_X[kind], SQL_G[group] + [early] * (group == "date"), quoted(NAMES), SQL_X[kind]]

    def good(i: int) -> list[str]:
        x = f"'{i}'" if kind == "text" else str(i)
        return [x, f"'{GROUPS[group](i)}'", f"'p{i}'", x]

    def make(rows: list[list[str]]) -> Any:
        inserts = [f"INSERT INTO t VALUES ({', '.join(row)})" for row in rows]
        created = f"CREATE TABLE t (x {kind}, g {group}, p text, y {kind})"
        return run(["DROP TABLE IF EXISTS t", created, *inserts])

    return Target(
        good,
        lambda r: _one_bad(r, [*good(0)[:2], "'q'", good(0)[0]], hard),
        make,
        questions(
            parse=rng.choice(["real", "integer"]) if kind == "text" else None,
            keys=PUBLIC if group == "text" else None,
            columns=("x", "y"),
        ),
        clean=list(CLEAN) if group == "text" else [],
    )  # fmt: skip


def relation(rng: random.Random, folder: Path) -> Target:
    def run(statements: list[str]) -> Any:
        for statement in statements:
            _connection().execute(statement)
        return _connection().table("t")

    return served(rng, run, "duckdb")


def postgres(rng: random.Random, folder: Path, url: str) -> Target:
    import psycopg

    def run(statements: list[str]) -> Any:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET client_min_messages TO error")
            connection.execute("CREATE SCHEMA IF NOT EXISTS attacked")
            connection.execute("SET search_path TO attacked")
            for statement in statements:
                connection.execute(statement.encode())
        return hg.sql(url, "attacked.t")

    return served(rng, run, "postgres")


def on_spark(session: Any) -> Callable[[random.Random, Path], Target]:
    """Text and Parquet files that Spark reads, and DataFrames of its session."""

    def make(rng: random.Random, folder: Path) -> Target:
        kind = rng.choice(["text", "text", "binary", "frame", "frame"])
        if kind == "text":
            return text(rng, folder, "spark")
        if kind == "binary":
            return binary(rng, folder, "spark")
        return spark_frame(rng, folder, session)

    return make


def spark_frame(rng: random.Random, folder: Path, session: Any) -> Target:
    """A DataFrame; one of the user's own takes its rows from a file."""

    def place(table: pa.Table) -> Any:
        path = folder / f"{rng.getrandbits(64)}.parquet"  # Spark remembers files by their names
        pq.write_table(table, path, row_group_size=4)
        return session.read.parquet(f"file://{path}")

    return typed(rng, place)
