"""Databases in files, missing tables, and columns without a declared type."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.noise import SeededBits
from hourglass.read.database import file_url
from hourglass.read.engines.postgres import _HIDING, Postgres
from tests.cli.running import run
from tests.read import expressions, places

ASK: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1}


def totals_of(data: Any, column: str | None, **options: Any) -> tuple[int, int]:
    found = mean_question(data, column, **options).read().only
    return int(found.cells), int(found.count)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "a clinic?.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT range % 10 AS x FROM range(100)")
        connection.execute("CREATE VIEW doubled AS SELECT x * 2 AS y FROM visits")
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.visits AS SELECT 7 AS x")
    return path


def url_of(path: Path, scheme: str = "duckdb") -> str:
    return f"{scheme}:///{str(path).replace('?', '%3F')}"


@pytest.mark.parametrize(
    ("table", "column", "expected"),
    [
        ("visits", "x", (450, 100)),
        ("old.visits", "x", (7, 1)),
        ("doubled", "y", (700, 100)),
        ("SELECT x FROM visits WHERE x > 7", "x", (170, 20)),
    ],
)
def test_a_duckdb_file(clinic: Path, table: str, column: str, expected: Any) -> None:
    assert totals_of(hg.sql(url_of(clinic), table), column, **ASK) == expected


@pytest.mark.slow
def test_it_is_read_while_others_read_it_and_write_elsewhere(clinic: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    program = (
        "import duckdb, sys; a = duckdb.connect(sys.argv[1], read_only=True); "
        "b = duckdb.connect(sys.argv[2]); b.execute('CREATE TABLE t AS SELECT 1 AS x'); "
        "print('ready', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", program, str(clinic), str(other)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        before = clinic.read_bytes()
        assert totals_of(hg.sql(url_of(clinic), "visits"), "x", **ASK) == (450, 100)
        assert clinic.read_bytes() == before
        with pytest.raises(hg.SourceError, match="another process has it open for writing"):
            hg.mean(hg.sql(url_of(other), "t"), "x", **ASK)
        process.communicate("\n")


def test_the_file_is_let_go_after_the_answer(clinic: Path) -> None:
    hg.mean(hg.sql(url_of(clinic), "visits"), "x", **ASK)
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("INSERT INTO visits VALUES (3)")


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_files_that_are_not_a_database(tmp_path: Path, scheme: str) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"SECRET" * 1000)
    for path in (broken, tmp_path / "none", tmp_path):
        with pytest.raises(hg.DataError) as caught:
            hg.mean(hg.sql(url_of(path, scheme), "t"), "x", **ASK)
        assert "SECRET" not in str(caught.value)


@pytest.mark.slow
def test_tables_that_are_not_there(clinic: Path, tmp_path: Path) -> None:
    with pytest.raises(hg.DataError, match=r"table='vists'.*did you mean 'visits'\?"):
        hg.mean(hg.sql(url_of(clinic), "vists"), "x", **ASK)
    with pytest.raises(hg.DataError, match=r"tables and views: doubled, visits, old\.visits"):
        hg.mean(hg.sql(url_of(clinic), "patients"), "x", **ASK)
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE visits (x REAL UNIQUE)")
        connection.execute("CREATE VIEW ages AS SELECT x FROM visits")
    connection.close()
    with pytest.raises(hg.DataError, match=r"did you mean 'visits'\?"):
        hg.mean(hg.sql(f"sqlite:///{path}", "vists"), "x", **ASK)
    with pytest.raises(hg.DataError, match=r"its tables and views: ages, visits$"):
        hg.mean(hg.sql(f"sqlite:///{path}", "patients"), "x", **ASK)


def test_tables_of_postgresql_without_the_right_to_read(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept_secret (x REAL)")
        connection.execute("CREATE ROLE visitor LOGIN PASSWORD 'v'")
        connection.execute("CREATE TABLE shown_to_all (x REAL)")
        connection.execute("GRANT SELECT ON shown_to_all TO visitor")
    try:
        place = postgres_url.replace("postgres:@", "visitor:v@")
        with pytest.raises(hg.DataError, match=r"this user may not read it.*GRANT SELECT"):
            hg.mean(hg.sql(place, "kept_secret"), "x", **ASK)
        with pytest.raises(hg.DataError, match="did you mean 'shown_to_all'"):
            hg.mean(hg.sql(place, "shown_to_al"), "x", **ASK)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP TABLE kept_secret, shown_to_all; DROP ROLE visitor")


def test_an_enumeration_of_postgresql_is_cast_as_the_message_says(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        connection.execute('CREATE TABLE felt (x REAL, "m""d" mood, price MONEY)')
        connection.execute("INSERT INTO felt VALUES (3, 'glad', 1), (4, 'sad', 2), (5, 'glad', 3)")
    try:
        groups: dict[str, Any] = {"by": 'm"d', "keys": ["glad", "angry"]}
        with pytest.raises(hg.DataError, match="is of type user-defined") as caught:
            hg.mean(hg.sql(postgres_url, "felt"), "x", **groups, **ASK)
        told = re.findall("'(SELECT .*) FROM visits'", str(caught.value))
        cast = hg.sql(postgres_url, f"{told[0]} FROM felt")
        found = mean_question(cast, "x", **{**groups, "by": "as_text"}, **ASK, grid=10).read()
        assert dict(zip(found.keys, found.count.tolist(), strict=True)) == {("glad",): 2}
        with pytest.raises(hg.DataError, match=r"'price' is of type money .* is not numeric"):
            hg.mean(hg.sql(postgres_url, "felt"), "price", **ASK)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP TABLE felt; DROP TYPE mood")


@pytest.mark.attack
def test_columns_that_postgresql_generates_as_it_reads_them(postgres_url: str) -> None:
    """Caught: one cell that the expression of a column fails at, seen after the charge."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        if connection.info.server_version < 180_000:
            pytest.skip("PostgreSQL has virtual generated columns from version 18 on")
        connection.execute("""
            CREATE TABLE made (
                x FLOAT8, inverse FLOAT8 GENERATED ALWAYS AS (1 / x) VIRTUAL,
                halves FLOAT8 GENERATED ALWAYS AS (x / 2) STORED,
                sort TEXT GENERATED ALWAYS AS (CASE WHEN 1 / x > 0.5 THEN 'a' ELSE 'b' END) VIRTUAL
            )
        """)
        connection.execute("INSERT INTO made (x) VALUES (0), (2), (4)")
    made: list[Any] = [
        "made",
        "public.made",
        "SELECT * FROM made",
        "SELECT inverse, x, sort FROM made",
    ]
    refused: list[tuple[Any, dict[str, Any]]] = [
        ("inverse", ASK),
        ("x", {**ASK, "where": "inverse > 0"}),
        (hg.expression("1 / inverse"), ASK),
        ("x", {**ASK, "by": "sort", "keys": ["a"]}),
        ("x", {**ASK, "unit": hg.per_person("sort")}),
    ]
    try:
        for table in made:
            data = hg.sql(postgres_url, table)
            assert totals_of(data, "x", **ASK, grid=10) == (6, 3)
            for column, asked in refused:
                with pytest.raises(hg.RequestError, match="generated as it is read"):
                    mean_question(data, column, **asked)
        assert totals_of(hg.sql(postgres_url, "made"), "halves", **ASK, grid=10) == (3, 3)
        for remedied, asked in (("inverse", ASK), ("x", {**ASK, "by": "sort", "keys": ["a"]})):
            with pytest.raises(hg.DataError, match="declare the column as STORED, or ask for the"):
                hg.mean(hg.sql(postgres_url, "made"), remedied, **asked)
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP TABLE made")


#: Refused: a column that is generated as it is read, and the same in a SELECT.
REFUSED: list[tuple[Any, dict[str, Any]]] = [
    ("made", ASK),
    ("x", {**ASK, "where": "made > 0"}),
    (hg.expression("1 / made"), ASK),
    ("x", {**ASK, "by": "sort", "keys": ["a"]}),
    ("x", {**ASK, "unit": hg.per_person("sort")}),
]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("scheme", "expression"),
    [
        pytest.param("sqlite", "abs(n)", marks=pytest.mark.engine("sqlite")),
        pytest.param("sqlite", "json_extract(t, '$')", marks=pytest.mark.engine("sqlite")),
        pytest.param("duckdb", "n * n", marks=pytest.mark.engine("duckdb")),
        pytest.param("duckdb", "CAST(t AS BIGINT)", marks=pytest.mark.engine("duckdb")),
    ],
)
def test_columns_that_a_file_generates_as_they_are_read(
    tmp_path: Path, scheme: str, expression: str
) -> None:
    """Caught: one cell that the expression of a column fails at, seen after the charge.

    SQLite adds a column without computing it, and DuckDB updates a row without doing so.
    """
    path = tmp_path / "t"
    made = [f"made BIGINT AS ({expression})", f"sort TEXT AS ({expression})"]
    later = scheme == "sqlite"
    connection: Any = sqlite3.connect(path) if later else duckdb.connect(str(path))
    columns = ["x DOUBLE", "n BIGINT", "t TEXT", *([] if later else made)]
    connection.execute(f"CREATE TABLE t ({', '.join(columns)})")
    connection.execute("INSERT INTO t (x, n, t) VALUES (1, 1, '1'), (5, 2, '2')")
    connection.execute(f"UPDATE t SET n = {-(2**63)}, t = 'canary' WHERE x = 5")
    for column in made if later else ():
        connection.execute(f"ALTER TABLE t ADD COLUMN {column}")
    connection.execute("CREATE TABLE kept (made BIGINT)")
    connection.execute("INSERT INTO kept VALUES (1), (1)")
    connection.commit()
    connection.close()
    for table in ("t", "T", "main.t"):
        data = hg.sql(url_of(path, scheme), table)
        assert totals_of(data, "x", **ASK, grid=10) == (6, 2)
        for column, asked in REFUSED:
            with pytest.raises(hg.RequestError, match="generated as it is read"):
                mean_question(data, column, **asked)
    for select in (
        "SELECT * FROM t", "SELECT x, made AS y FROM T", "SELECT x FROM main.t",
        "WITH a AS (SELECT * FROM main.t) SELECT * FROM a",
    ):  # fmt: skip
        with pytest.raises(hg.DataError, match=r"generated as it is read.*trusted=True"):
            hg.mean(hg.sql(url_of(path, scheme), select), "x", **ASK)
        vouched = hg.sql(url_of(path, scheme), select, trusted=True)
        assert totals_of(vouched, "x", **ASK, grid=10) == (6, 2)
    for plain in ("kept", "SELECT * FROM kept"):
        assert totals_of(hg.sql(url_of(path, scheme), plain), "made", **ASK) == (2, 2)


#: By these a role or a database can make a question fail at one record more, or leave out rows.
LIMITS = {
    "statement_timeout": "600000",
    "idle_in_transaction_session_timeout": "600000",
    "gin_fuzzy_search_limit": "1",
    "default_transaction_isolation": "serializable",
}


@pytest.mark.attack
def test_limits_of_postgres_are_off_while_it_reads(postgres_url: str) -> None:
    """Caught: a statement_timeout, by which a long cell or one more row is an error."""
    options = "".join(f"%20-c{name}%3D{value}" for name, value in LIMITS.items())
    names = ", ".join(f"'{name}'" for name in LIMITS)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"""
            CREATE VIEW limits AS SELECT (CASE WHEN name = 'default_transaction_isolation'
                THEN current_setting('transaction_isolation') = 'serializable'
                ELSE setting <> '0' END)::int AS x FROM pg_settings WHERE name IN ({names})
        """)
        try:
            found = hg.sql(f"{postgres_url}&options={options}", "limits")
            assert totals_of(found, "x", **ASK) == (0, len(LIMITS))
        finally:
            connection.execute("DROP VIEW limits")


@pytest.mark.attack
@pytest.mark.parametrize("name", ["ASCII", "MD5"])
def test_functions_that_a_server_does_not_allow_are_missed_before_the_charge(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Caught: a question that fails after the charge, the second only if the table has a row.

    ASCII may not be called; MD5 may, and fails, as where FIPS restricts cryptography.
    """
    budget = hg.create_budget(str(tmp_path / "ledger"), "b", epsilon=1)
    asked = Postgres._asked

    def without(self: Postgres, sql: str) -> Any:
        return asked(self, sql.replace(f"{name}(", f"strict.{name}("))

    monkeypatch.setattr(Postgres, "_asked", without)
    made = "LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'disabled'; END $$"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"""
            CREATE ROLE visitor LOGIN PASSWORD 'v'; CREATE SCHEMA strict;
            CREATE FUNCTION strict.md5(text) RETURNS text {made};
            CREATE FUNCTION strict.ascii(text) RETURNS integer {made};
            REVOKE EXECUTE ON FUNCTION strict.ascii FROM PUBLIC;
            CREATE TABLE strict.t (x FLOAT8, who TEXT);
            GRANT USAGE ON SCHEMA strict TO visitor; GRANT SELECT ON strict.t TO visitor;
        """)
        try:
            data = hg.sql(postgres_url.replace("postgres:@", "visitor:v@"), "strict.t")
            with pytest.raises(hg.DataError, match="does not allow one of its functions"):
                hg.mean(data, "x", unit=hg.per_person("who", rows=1), **ASK, budget=budget)
            assert budget.balance().charges == 0
            assert totals_of(data, "x", **ASK) == (0, 0)
        finally:
            connection.execute("DROP SCHEMA strict CASCADE; DROP ROLE visitor")


HIDING = [
    "AGGREGATE own.count(bigint) (sfunc = own.seven, stype = bigint)",
    "FUNCTION own.width_bucket(float8, float8[]) RETURNS int RETURN 7",
    "FUNCTION own.abs(float8) RETURNS float8 RETURN 7",
    "OPERATOR own./ (leftarg = numeric, rightarg = int, function = own.seven)",
    "OPERATOR own.<= (leftarg = float8, rightarg = float8, function = own.never)",
    "OPERATOR own.= (leftarg = varchar, rightarg = varchar, function = own.same)",
    "FUNCTION own.abs(own.amount) RETURNS float8 RETURN 7",
    "OPERATOR own.<= (leftarg = own.amount, rightarg = float8, function = own.never_amount)",
    "OPERATOR own.= (leftarg = own.named, rightarg = text, function = own.same_name)",
    "OPERATOR own.- (leftarg = own.whole, rightarg = own.whole, function = own.seventh)",
]
#: Of types that a query does not have.
BESIDE = [
    "FUNCTION own.abs(interval) RETURNS interval RETURN $1",
    "OPERATOR own.|| (leftarg = text, rightarg = int, function = own.joined)",
    "OPERATOR own.% (leftarg = text, rightarg = text, function = own.alike)",  # as in pg_trgm
]


@pytest.mark.attack
@pytest.mark.parametrize("made", [*BESIDE, *HIDING])
def test_functions_that_hide_those_of_postgres(postgres_url: str, made: str) -> None:
    """Caught: totals of another function or operator that fits the types of a query better."""
    found = f"{postgres_url}&options=-csearch_path%3D"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"""
            CREATE SCHEMA own;
            CREATE FUNCTION own.seven(bigint, bigint) RETURNS bigint RETURN 7;
            CREATE FUNCTION own.seven(numeric, int) RETURNS numeric RETURN 7;
            CREATE FUNCTION own.never(float8, float8) RETURNS boolean RETURN false;
            CREATE FUNCTION own.joined(text, int) RETURNS text RETURN 7;
            CREATE FUNCTION own.alike(text, text) RETURNS boolean RETURN true;
            CREATE FUNCTION own.same(varchar, varchar) RETURNS boolean RETURN true;
            CREATE DOMAIN own.amount AS float8; CREATE DOMAIN own.whole AS bigint;
            CREATE DOMAIN own.words AS text; CREATE DOMAIN own.named AS own.words;
            CREATE FUNCTION own.never_amount(own.amount, float8) RETURNS boolean RETURN false;
            CREATE FUNCTION own.same_name(own.named, text) RETURNS boolean RETURN true;
            CREATE FUNCTION own.seventh(own.whole, own.whole) RETURNS bigint RETURN 7;
            CREATE {made};
            CREATE TABLE own.t AS SELECT generate_series(1, 9)::float8::own.amount AS x
        """)
        try:
            if made in HIDING:
                with pytest.raises(hg.DataError, match=r"data: own\..* could .*pg_catalog"):
                    mean_question(hg.sql(f"{found}own", "t"), "x", **ASK)
            else:
                assert totals_of(hg.sql(f"{found}own", "t"), "x", **ASK, grid=10) == (45, 9)
            assert totals_of(hg.sql(f"{found}pg_catalog", "own.t"), "x", **ASK, grid=10) == (45, 9)
        finally:
            connection.execute("DROP SCHEMA own CASCADE")


#: Types and collations whose names are no keywords; a table is a type, too.
TYPES_IN_PLACE = [
    "TABLE own.date (n int)",
    "DOMAIN own.text AS varchar(1)",
    "COLLATION own.\"C\" (provider = libc, locale = 'C')",
]


@pytest.mark.attack
@pytest.mark.parametrize("made", TYPES_IN_PLACE)
def test_types_that_hide_those_of_postgres(postgres_url: str, made: str) -> None:
    """Caught: names that are cut to a letter, and a query that fails after the charge.

    They do so only if pg_catalog comes after their schema, not where it is first without saying so.
    """
    found = f"{postgres_url}&options=-csearch_path%3D"
    ask: dict[str, Any] = {**ASK, "grid": 10, "unit": hg.per_person("g"), "where": "d IS NULL"}
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"""
            CREATE SCHEMA own;
            CREATE {made};
            CREATE TABLE own.t AS
                SELECT x, 'p' || x AS g, NULL::pg_catalog.date AS d FROM generate_series(1, 9) AS x
        """)
        try:
            assert totals_of(hg.sql(f"{found}own", "t"), "x", **ask) == (45, 9)
            with pytest.raises(hg.DataError, match=r"data: own\..* could be taken.*pg_catalog"):
                mean_question(hg.sql(f"{found}own,pg_catalog", "t"), "x", **ask)
        finally:
            connection.execute("DROP SCHEMA own CASCADE")


# --- SQLite: columns that declare no type --------------------------------------------------------


@pytest.fixture
def undeclared(tmp_path: Path) -> str:
    path = tmp_path / "t.db"
    cells = [1, 2.75, "3", "4.25", " 5 ", "x", b"6", None, 2**60 + 1, "1e400"]
    with sqlite3.connect(path) as connection:
        for table, kind in {"t": "", "u": "BLOB"}.items():
            connection.execute(f"CREATE TABLE {table} (a {kind}, g {kind})")
            rows = [(cell, 1) for cell in cells]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        connection.execute("CREATE VIEW v AS SELECT a AS b, g + 0 AS h FROM t")
    connection.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize(
    ("parse", "expected"),
    [
        ("real", (1 + 2.75 + 3 + 4.25 + 5 + 10 + 10, 7)),
        ("integer", (1 + 3 + 5 + 10, 4)),
    ],
)
@pytest.mark.parametrize(
    ("table", "column", "by"), [("t", "a", "g"), ("u", "a", "g"), ("v", "b", "h")]
)
def test_a_declared_type(
    undeclared: str, table: str, column: str, by: str, parse: str, expected: Any
) -> None:
    """A number counts as itself, whatever it would look like as text; text by the rule."""
    source = hg.sql(undeclared, table)
    ask = {**ASK, "parse": parse, "grid": 40 if parse == "real" else None}
    cells, count = totals_of(source, column, **ask)
    assert (cells / (4 if parse == "real" else 1), count) == expected
    answer = hg.mean(source, column, **ask, by=by, keys=[1], bits=SeededBits(1))
    assert answer[1].mean == answer["1"].mean


@pytest.mark.parametrize("kind", ["DATE", "datetime", "TIMESTAMP", "STRING", "geometry(2)"])
def test_a_type_that_is_only_a_name(tmp_path: Path, kind: str) -> None:
    """SQLite has no dates, whatever a column is declared as: the remedy is named, and works."""
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f'CREATE TABLE visits (x INT, "the day" {kind})')
        connection.execute("INSERT INTO visits VALUES (3, '2024-02-29'), (4, '2024-03-01')")
    connection.close()
    url, day = f"sqlite:///{path}", "the day"
    asked: list[dict[str, Any]] = [
        {"column": day},
        {"column": "x", "by": day, "keys": ["2024-02-29"]},
        {"column": "x", "unit": hg.per_person(day)},
        {"column": "x", "where": "\"the day\" < '2024-03-01'"},
    ]
    for question in asked:
        with pytest.raises(hg.RequestError, match=rf"{re.escape(kind)} \(.*hg.sql") as caught:
            hg.mean(hg.sql(url, "visits"), **question, **ASK)
        found = re.search("'(SELECT .*? FROM visits)'", str(caught.value))
        assert found is not None
        cast = hg.sql(url, found[1])
        counted = {"by": "as_text", "keys": ["2024-02-29"], "where": "as_text < '2024-03-01'"}
        assert totals_of(cast, "x", **counted, **ASK) == (3, 1)


def test_digits_are_not_lost(tmp_path: Path) -> None:
    """As text SQLite writes 15 digits of a number."""
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("INSERT INTO t VALUES (?)", [0.1 + 0.2])
    connection.close()
    ask: dict[str, Any] = {"bounds": (0.3, 0.3 + 2**-50), "epsilon": 1, "grid": 2**4}
    found = totals_of(hg.sql(f"sqlite:///{path}", "t"), "a", **ask, parse="real")
    assert found == totals_of([0.1 + 0.2], None, **ask)
    assert found != totals_of([0.3], None, **ask)


# --- the command ---------------------------------------------------------------------------------


def test_a_database_file_is_known_by_its_beginning(clinic: Path, undeclared: str) -> None:
    words = ["--bounds", "0", "10", "--epsilon", "60"]
    found = run("mean", clinic, "x", "--table", "visits", *words)
    assert found.returncode == 0, found.stderr
    assert "100" in found.stdout
    path = undeclared.removeprefix("sqlite:///")
    found = run("mean", path, "a", "--table", "t", "--parse", "real", *words)
    assert found.returncode == 0, found.stderr
    assert run("mean", clinic, "x", *words).stderr == (
        "hourglass: a database needs --table: a table's name, or a SELECT\n"
    )


def test_nothing_is_read_of_a_pipe(tmp_path: Path) -> None:
    """Reading its first bytes would wait for ever, or lose what was read."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    assert file_url(str(pipe)) is None
    assert file_url(str(tmp_path)) is None
    assert file_url(str(tmp_path / "none")) is None


def test_workbooks_are_refused_with_the_way_round(tmp_path: Path) -> None:
    for name in ("a.xlsx", "a.XLS", "a.ods"):
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(hg.DataError, match=r"save the sheet as CSV.*read_excel"):
            hg.mean(tmp_path / name, "x", **ASK)


@pytest.mark.slow
def test_a_file_is_no_table(clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB would read a file of that name, and infer from its lines how to read them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("x\n1\n2\n")
    for table in (
        "visits.csv", "SELECT x FROM 'visits.csv'", 'SELECT x FROM "visits.csv"',
        "SELECT x FROM visits.csv", "SELECT * FROM (SELECT x FROM 'visits.csv') AS q",
        "WITH a AS (SELECT x FROM 'visits.csv') SELECT x FROM a",
        'SELECT x FROM (WITH "visits.csv" AS (SELECT x FROM visits) SELECT x FROM "visits.csv") q',
    ):  # fmt: skip
        with pytest.raises(hg.DataError, match=r"(no such|not a) table or view"):
            hg.mean(hg.sql(url_of(clinic), table), "x", **ASK)
    for table in ("VISITS", "main.visits", "WITH a AS (SELECT x FROM Visits) SELECT x FROM a"):
        assert totals_of(hg.sql(url_of(clinic), table), "x", **ASK) == (450, 100)


#: Words before a parenthesis that are not looked up as functions: PostgreSQL's own syntax.
SYNTAX = {
    "all", "and", "any", "as", "between", "by", "case", "cast", "coalesce", "else", "filter",
    "from", "greatest", "having", "in", "lateral", "least", "not", "numeric", "on", "or", "over",
    "select", "then", "values", "when", "where",
}  # fmt: skip


@pytest.mark.engine("postgres")
def test_every_function_of_a_query_is_among_those_that_are_looked_for(postgres_url: str) -> None:
    """Caught: a function or an operator of queries that _HIDING does not list."""
    rows = expressions.rows(1)
    data = places.postgres(postgres_url)(expressions.table(rows, expressions.MORE))["data"]
    texts = [*expressions.NUMBERS, *expressions.CONDITIONS, *expressions.DATED]
    texts += expressions.DATED_CONDITIONS
    computed = list({str(each): each for each in map(hg.expression, texts)}.values())
    of_all = [{"column": computed[i : i + 60], "bounds": (0, 1)} for i in range(0, len(texts), 60)]
    one: dict[str, Any] = {"column": "x", "bounds": (0, 1), "outside": "1/2"}
    units = [hg.per_person("k"), hg.per_person("t", rows=2, groups=2)]
    asked: list[dict[str, Any]] = [
        *of_all, one, *({**one, "unit": unit, "by": "u", "delta": 1e-6} for unit in units),
        {**one, "spread": True}, {**one, "column": "amount", "by": "day", "keys": ["2024-02-29"]},
        {**one, "column": "n", "where": "t LIKE 'a!%b' ESCAPE '!'"}, {**one, "column": "n"},
    ]  # fmt: skip
    queries = [mean_question(data, **each, epsilon=1).sql or "" for each in asked]
    for unit in (hg.per_row(), *(replace(unit, groups=1) for unit in units)):
        for column in ("x", "n", "amount"):
            queries.append(bounds_question(data, column, epsilon=1, unit=unit).sql or "")
    bare = re.sub(r"""'[^']*'|"[^"]*"|--.*""", " ", "\n".join(queries))
    names = {name.lower() for name in re.findall(r"([A-Za-z_]+)\s*\(", bare)} - SYNTAX
    signs = set(re.findall(r"[-+*/<>=|%!~^&@#]+", bare))
    listed = re.findall(r"ANY\('\{([^}]*)\}'\)", re.sub(r"\s", "", _HIDING))
    functions, operators = (set(each.split(",")) for each in listed)
    assert len(names) > 10
    assert names <= functions
    assert len(signs) > 10
    assert signs <= operators


#: Functions and operators of queries.
CALLED = (
    "abs ascii count decode encode floor greatest least length lower md5 regexp_matches row_number "
    "strlen struct_extract struct_pack substring sum + - * / // % & | >> || ~~"
)


@pytest.mark.attack
def test_macros_named_like_functions(tmp_path: Path) -> None:
    """Caught: a macro md5, at which a question failed after the charge, and abs, which counted."""
    questions: list[dict[str, Any]] = [
        {"where": "ABS(x - 3) * x / 2 > 1 AND LOWER(p) LIKE 'p%'"},
        {"by": "k", "keys": [0, 1], "unit": hg.per_person("p", rows=1)},
        {"by": "p", "delta": 1e-6},
    ]
    found: list[Any] = []
    for operands in ("", "a", "a, b"):
        path = tmp_path / f"{len(found)}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "CREATE SCHEMA old; CREATE TABLE old.t AS SELECT range % 7 AS x, range % 3 AS k, "
                "'p' || range % 5 AS p FROM range(40)"
            )
            for name in CALLED.split() if operands else ():
                connection.execute(f'CREATE MACRO "{name}"({operands}) AS 42')
        data = hg.sql(url_of(path), "SELECT x, k, upper(p) AS p FROM old.t")
        told = [mean_question(data, "x", **ASK, **more).read() for more in questions]
        found.append(
            [
                dict(zip(g.keys, zip(g.totals.count, g.totals.cells, strict=True), strict=True))
                for g in told
            ]
        )
    assert found[0] == found[1] == found[2]


@pytest.mark.attack
@pytest.mark.engine("duckdb")
def test_a_query_that_a_connection_cannot_prepare_is_refused_before_the_charge() -> None:
    """Caught: a macro or a setting of the user's connection, at which a question failed later."""
    connection, refused = duckdb.connect(), 0
    connection.execute("SET threads = 1; CREATE TABLE t (x BIGINT, p TEXT)")
    relation = connection.table("t")
    ask: dict[str, Any] = {**ASK, "unit": hg.per_person("p", rows=1), "by": "p", "delta": 1e-6}
    shallow = ("SET max_expression_depth = 20", "RESET max_expression_depth")
    changes = [
        (f'CREATE MACRO "{name}"() AS 42', f'DROP MACRO "{name}"') for name in CALLED.split()
    ]
    for change, back in (shallow, *changes):
        connection.execute(change)
        try:
            mean_question(relation, "x", **ask).read()  # a SourceError would be after the charge
        except hg.DataError as error:
            assert "cannot prepare the query" in str(error)  # noqa: PT017 - or it is answered
            refused += 1
        connection.execute(back)
    assert 3 < refused < len(changes)


STEPS = ["source", "asked", "quantised", "complete", "persons", "ranked", "chosen", "scaled"]


@pytest.mark.engine("sqlite")
@pytest.mark.parametrize("name", STEPS)
def test_tables_named_like_the_steps_of_a_query(tmp_path: Path, name: str) -> None:
    """They are read, and a SELECT that SQLite cannot prepare is refused before the charge."""
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute(f"CREATE TABLE {name} (x REAL, g TEXT, who INTEGER)")
    connection.execute(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 2)")
    connection.commit()
    connection.close()
    budget = hg.create_budget(str(tmp_path / "ledger"), "b", epsilon=100)
    units = [None, hg.per_person("who"), hg.per_person("who", rows=1)]
    ask: dict[str, Any] = {"bounds": (0, 3), "by": "g", "keys": ["a"], "where": "x > 0"}
    for unit in units:
        for table in (name, f"main.{name}", f"SELECT * FROM main.{name}", f"SELECT * FROM {name}"):
            data = hg.sql(url_of(tmp_path / "t.db", "sqlite"), table)
            try:
                found = hg.mean(data, "x", epsilon=60, unit=unit, **ask)
            except hg.DataError:
                assert table.endswith(f"FROM {name}")
                with pytest.raises(hg.DataError, match="SQLite cannot prepare the query"):
                    hg.mean(data, "x", epsilon=1, unit=unit, budget=budget, **ask)
                assert budget.balance().charges == 0
            else:
                assert found["a"].count == 1
