"""Names of groups and persons compare as bytes, whatever collation their columns have."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid
from hourglass.read.sql.cells import identifier
from tests.read import corpus
from tests.read.corpus import ALIKE, GROUP, PERSON, VALUE, Row, totals
from tests.read.test_conformance import UNITS

pytestmark = pytest.mark.slow

GRID = Grid.choose(Bounds(0, 120))
Place = Callable[[list[Row]], dict[str, Any]]


def rows(seed: int = 0, size: int = 400) -> list[Row]:
    dice = random.Random(seed)
    return [
        (dice.uniform(-10, 130), dice.choice([None, *ALIKE]), dice.choice([None, *ALIKE]))
        for _ in range(size)
    ]


NAMES = [identifier(name) for name in (VALUE, GROUP, PERSON)]


# --- columns with collations, by engine -----------------------------------------------------------


def of_duckdb(collation: str, default: str = "") -> Place:
    def place(rows: list[Row]) -> dict[str, Any]:
        connection = duckdb.connect()
        if default:
            connection.execute(f"SET default_collation = '{default}'")
        text = f"VARCHAR{f' COLLATE {collation}' if collation else ''}"
        value, group, person = NAMES
        connection.execute(f"CREATE TABLE t ({value} DOUBLE, {group} {text}, {person} {text})")
        columns = "unnest(?::DOUBLE[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])"
        cells = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO t SELECT {columns}", cells)
        return {"data": connection.table("t")}

    return place


def of_sqlite(collation: str, folder: Path, encoding: str = "UTF-8") -> Place:
    def place(rows: list[Row]) -> dict[str, Any]:
        path = folder / f"{random.getrandbits(64)}.db"
        connection = sqlite3.connect(path)
        text = f"TEXT COLLATE {collation}"
        value, group, person = NAMES
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute(f"CREATE TABLE t ({value} REAL, {group} {text}, {person} {text})")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
        connection.close()
        return {"data": hg.sql(f"sqlite:///{path}", "t")}

    return place


def of_spark(collation: str, session: Any) -> Place:
    def place(rows: list[Row]) -> dict[str, Any]:
        from pyspark.sql.types import DoubleType, StringType, StructField, StructType

        text = StringType(collation)
        kinds = zip((VALUE, GROUP, PERSON), (DoubleType(), text, text), strict=True)
        schema = StructType([StructField(name, kind) for name, kind in kinds])
        return {"data": session.createDataFrame(rows, schema)}

    return place


def of_postgres(url: str, collation: str) -> Place:
    def place(rows: list[Row]) -> dict[str, Any]:
        name = f"t{random.getrandbits(64)}"
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            text = f'TEXT COLLATE "{collation}"'
            value, group, person = NAMES
            columns = f"{value} DOUBLE PRECISION, {group} {text}, {person} {text}"
            cursor.execute(f"CREATE TABLE {name} ({columns})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        return {"data": hg.sql(url, name)}

    return place


def _postgres_with_icu() -> str | None:
    """The programs of a PostgreSQL server on this machine that was built with ICU."""
    for home in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        told = subprocess.run([home / "pg_config", "--configure"], capture_output=True, text=True)
        if (home / "initdb").exists() and "--with-icu" in told.stdout:
            return str(home)
    return None


@pytest.fixture(scope="module")
def icu_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server with ICU's collations, reached through a socket of its own."""
    programs = _postgres_with_icu()
    if programs is None:
        pytest.skip("no PostgreSQL with ICU on this machine; Debian's package postgresql has it")
    home = Path("/tmp") / f"hourglass-test-icu-{os.getpid()}"  # short enough for a socket
    home.mkdir(mode=0o700)
    other: dict[str, Any] = {}
    if os.getuid() == 0:  # a server refuses to run as root
        shutil.chown(home, "postgres", "postgres")
        other = {"user": "postgres", "group": "postgres", "extra_groups": []}
    quiet: dict[str, Any] = {"check": True, "stdout": subprocess.DEVNULL, "cwd": "/", **other}
    data, options = str(home / "data"), f"-c listen_addresses= -k {home}"
    try:
        subprocess.run([f"{programs}/initdb", "-D", data, "-U", "tester", "-E", "UTF8"], **quiet)
        control = [f"{programs}/pg_ctl", "-D", data, "-w", "-t", "60"]
        subprocess.run([*control, "-l", str(home / "log"), "-o", options, "start"], **quiet)
        try:
            url = f"postgresql://tester@/postgres?host={home}"
            with psycopg.connect(url) as connection:
                for name, locale in {"ci": "und-u-ks-level2", "base": "und-u-ks-level1"}.items():
                    connection.execute(
                        f"CREATE COLLATION {name} (provider = icu, locale = '{locale}', "
                        "deterministic = false)"
                    )
            yield url
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(home, ignore_errors=True)


COLLATED = [
    "duckdb NOCASE", "duckdb NOACCENT", "duckdb de", "duckdb NOCASE.NOACCENT",
    "duckdb by default NOCASE", "sqlite NOCASE", "sqlite RTRIM", "sqlite NOCASE UTF-16le",
    "spark UTF8_LCASE", "spark UTF8_BINARY_RTRIM", "spark UNICODE_CI", "spark UTF8_BINARY",
    "postgres ci", "postgres base", "postgres en-x-icu",
]  # fmt: skip


@pytest.fixture(params=COLLATED)
def collated(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    engine, *words = request.param.split()
    if engine == "duckdb":
        return of_duckdb("", words[-1]) if words[0] == "by" else of_duckdb(words[0])
    if engine == "sqlite":
        return of_sqlite(words[0], tmp_path, *words[1:])
    if engine == "spark":
        return of_spark(words[0], request.getfixturevalue("spark_session"))
    return of_postgres(request.getfixturevalue("icu_url"), words[0])


def test_groups_and_persons(collated: Place, request: pytest.FixtureRequest) -> None:
    """GROUP BY, PARTITION BY, DISTINCT and the order of the hashes, against the reference."""
    table = rows()
    placed = collated(table)
    name = request.node.callspec.params["collated"]
    # On Spark, where a query takes long, every unit with one of the collations.
    some = name.startswith("spark") and name != next(c for c in COLLATED if c.startswith("spark"))
    for unit in UNITS[::4] if some else UNITS:
        found = totals(placed, GRID.bounds, None, unit=unit)
        assert found == corpus.reference(table, GRID, unit), unit


def test_public_keys(collated: Place) -> None:
    """Lists of keys; NULL among them."""
    table = rows(1)
    placed = collated(table)
    ask: dict[str, Any] = {"bounds": (0, 120), "epsilon": 60, "by": GROUP, "grid": 1}
    for keys in (["alice", "STRASSE", "nobody"], [*ALIKE, None]):
        found = hg.mean(**placed, column=VALUE, keys=keys, **ask)
        counts = [sum(group == key for _, group, _ in table) for key in keys]
        assert [found[key].count for key in keys] == counts


def test_conditions(collated: Place) -> None:
    """Caught: constants, which have the collation of the connection unless they name their own."""
    placed = collated([(1.0, "alice", "p"), (2.0, "ALICE", "q"), (3.0, "Bob", "r")])
    x, g = identifier(VALUE), identifier(GROUP)
    either = f"CASE WHEN {x} > 1 THEN 'a' ELSE 'b' END"
    wanted = {
        f"{g} = 'alice'": 1, f"{g} IN ('alice', 'BOB')": 1, f"{g} < 'a'": 2,
        f"{either} = 'A'": 0, f"{either} IN ('A', 'B')": 0, f"{either} BETWEEN 'C' AND 'a'": 2,
        f"COALESCE({g}, 'x') = 'bob'": 0, f"{g} > 'Bob'": 1,
    }  # fmt: skip
    columns = [hg.expression(text) for text in wanted]
    found = mean_question(**placed, column=columns, bounds=(0, 1), epsilon=1).read().only
    assert [found.cells, *found.more] == list(wanted.values())


def test_one_row_takes_no_other_row_away(collated: Place) -> None:
    """50 rows of alice among similar names: the count is 50, and the published name is alice."""
    table: list[Row] = [(1.0, "alice", f"p{i}") for i in range(50)]
    alike: list[Row] = [(1.0, "ALICE", "P0"), (1.0, "alice ", "p0 ")]
    placed = collated([*alike, *table])
    ask: dict[str, Any] = {"column": VALUE, "bounds": (0, 120), "epsilon": 60}
    assert hg.mean(**placed, by=GROUP, keys=["alice"], **ask)["alice"].count == 50
    assert list(hg.mean(**placed, by=GROUP, delta=1e-6, **ask)) == ["alice"]
    assert hg.mean(**placed, unit=hg.per_person(PERSON), **ask).count == 52


def test_numbers_in_text_with_a_collation(spark_session: Any) -> None:
    cells: list[Row] = [(None, text, None) for text in ("1", "-inf", "INF", "abc", "1E1", None)]
    for placed in (of_spark("UTF8_LCASE", spark_session)(cells), of_duckdb("NOCASE")(cells)):
        found = hg.mean(**placed, column=GROUP, bounds=(0, 120), epsilon=60, parse="real", grid=120)
        assert found.count == 4
        assert found.sum == pytest.approx(1 + 0 + 120 + 10)


def test_a_collation_would_show() -> None:
    """A control: without our handling, DuckDB considers the names equal."""
    placed = of_duckdb("NOCASE")([(1.0, "alice", "p"), (1.0, "ALICE", "q")])
    counted = f"SELECT count(*) FROM t GROUP BY {identifier(GROUP)}"
    assert placed["data"].query("t", counted).fetchall() == [(2,)]
