"""A SELECT is accepted if it is known to work row by row, and refused otherwise."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlglot

import hourglass as hg
from hourglass.read.source import is_recent
from hourglass.read.sql.rowwise import not_row_by_row
from tests.tools import command

ROW_BY_ROW = [
    "SELECT * FROM t",
    "SELECT x, k FROM t WHERE x > 3 AND k IN ('a', 'b') OR k LIKE 'z%';",
    "SELECT x / 2.0 AS x, upper(k) AS k, coalesce(y, 0) AS y FROM s.t AS u",
    "SELECT CASE WHEN x > 1 THEN 1 ELSE 0 END AS x, CAST(y AS INTEGER) AS y FROM t",
    "SELECT * FROM (SELECT x, k FROM t WHERE x < 9) AS q WHERE k <> 'now'",
    "WITH a AS (SELECT x, k FROM t), b AS (SELECT x FROM a) SELECT x FROM b",
    "SELECT x FROM t ORDER BY x",
    "SELECT * FROM (VALUES (1, 2), (3, 4)) AS v (x, y)",
    "(SELECT x FROM t)",
    "SELECT greatest(x, y) AS x, round(x) AS y, substr(k, 1, 2) AS k, length(k) AS n FROM t",
    "SELECT t.*, -x AS z, x % 2 AS w, k || 'a' AS v, x BETWEEN 1 AND 2 AS b FROM t",
]
POSTGRES: list[Any] = [
    pytest.param(
        "TABLE t",
        marks=pytest.mark.skipif(
            not is_recent(sqlglot, (30, 30)), reason="SQLGlot 30.30 is the first to parse it"
        ),
    ),
    "SELECT x::double precision, extract(year FROM d) AS y, date_trunc('month', d) FROM ONLY t",
    "SELECT j ->> 'x' AS x, a[1] AS y, x IS DISTINCT FROM y AS z, k ~ '^a' AS w FROM t",
    "SELECT x FROM t WHERE x = ANY (ARRAY[1, 2])",
]
SQLITE = [
    "SELECT max(x, y) AS x, ifnull(k, 'a') AS k, date(d) AS d, typeof(x) AS w FROM t",
    "SELECT x FROM t INDEXED BY i WHERE k GLOB 'a*'",
    "SELECT datetime(d) AS d, julianday(d) AS j, time(d) AS t FROM t",
]
NOT = [
    ("SELECT x FROM t LIMIT 10", "LIMIT"),
    ("SELECT x FROM t ORDER BY x LIMIT 10", "LIMIT"),
    ("SELECT x FROM t LIMIT 10 OFFSET 5", "LIMIT|OFFSET"),
    ("SELECT DISTINCT x FROM t", "DISTINCT"),
    ("SELECT x FROM t GROUP BY x", "GROUP BY"),
    ("SELECT x FROM t GROUP BY x HAVING count(*) > 1", "GROUP BY|HAVING"),
    ("SELECT sum(x) AS x FROM t", "SUM"),
    ("SELECT count(*) AS x FROM t", "COUNT"),
    ("SELECT avg(x) OVER () AS x FROM t", "window"),
    ("SELECT row_number() OVER (ORDER BY x) AS x FROM t", "window"),
    ("SELECT lag(x) OVER w AS x FROM t WINDOW w AS (ORDER BY x)", "WINDOW"),
    ("SELECT a.x FROM t AS a JOIN t AS b ON a.k = b.k", "join"),
    ("SELECT a.x FROM t AS a, t AS b", "join"),
    ("SELECT a.x FROM t AS a CROSS JOIN u", "join"),
    ("SELECT a.x FROM t AS a NATURAL LEFT JOIN u", "join"),
    ("SELECT x FROM t UNION ALL SELECT x FROM t", "UNION"),
    ("SELECT x FROM t EXCEPT SELECT x FROM u", "UNION"),
    ("SELECT x FROM t WHERE x > (SELECT avg(x) FROM t)", "subquery"),
    ("SELECT x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", "subquery"),
    ("SELECT x FROM t WHERE k IN (SELECT k FROM u)", "subquery"),
    ("SELECT (SELECT max(x) FROM t) AS x FROM t", "subquery"),
    ("SELECT * FROM (SELECT x FROM t LIMIT 3) AS q", "LIMIT"),
    ("SELECT * FROM (SELECT k, sum(x) AS x FROM t GROUP BY k) AS q", "GROUP BY"),
    ("WITH a AS (SELECT DISTINCT x FROM t) SELECT x FROM a", "DISTINCT"),
    ("WITH RECURSIVE a AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM a) SELECT x FROM a", "WITH"),
    ("SELECT random() AS x FROM t", "RAND"),
    ("SELECT CURRENT_TIMESTAMP AS x FROM t", "CURRENT_TIMESTAMP"),
    ("SELECT secret_of_the_day(x) AS x FROM t", "secret_of_the_day"),
    ("SELECT x FROM t ORDER BY (SELECT 1)", "subquery"),
    ("SELECT FROM WHERE", "cannot parse"),
    ("WITH d AS (DELETE FROM t RETURNING x) SELECT x FROM d", "DELETE"),
]
NOT_POSTGRES = [
    ("SELECT x FROM t FETCH FIRST 3 ROWS ONLY", "FETCH"),
    ("SELECT DISTINCT ON (k) x FROM t ORDER BY k, x", "DISTINCT"),
    ("SELECT x FROM t TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"),
    ("SELECT generate_series(1, x) AS x FROM t", "GENERATE_SERIES"),
    ("SELECT unnest(a) AS x FROM t", "not on the list"),
    ("SELECT x FROM generate_series(1, 9) AS x", "function in FROM"),
    ("SELECT x FROM ROWS FROM (generate_series(1, 9)) AS x", "function in FROM"),
    ("SELECT y FROM t, LATERAL (SELECT x + 1 AS y) AS l", "join"),
    ("SELECT regexp_split_to_table(k, ',') AS x FROM t", "not on the list"),
    ("SELECT jsonb_array_elements(j) AS x FROM t", "not on the list"),
    ("SELECT now() - d AS x FROM t", "not on the list"),
    ("SELECT extract(epoch FROM 'now'::timestamp - d) AS x FROM t", "current time"),
    ("SELECT age(d) AS x FROM t", "not on the list"),
    ("SELECT gen_random_uuid() AS x FROM t", "not on the list"),
    ("SELECT nextval('s') AS x FROM t", "not on the list"),
    ("SELECT x FROM t FOR UPDATE", "lock"),
    ("SELECT x INTO u FROM t", "INTO"),
    ("SELECT count(*) FILTER (WHERE x > 1) AS x FROM t", "aggregate"),
    ("SELECT t.count AS x FROM t", r"\.count"),
    *((f"SELECT x FROM t WHERE t.{name} IS NULL", "position") for name in ("ctid", "XMIN", "cmax")),
    ('SELECT q.t."max" AS x FROM q.t', r"\.max"),
    ("SELECT (t).array_agg AS x FROM t", r"\.array_agg"),
    ("SELECT ((x)).sum AS x FROM t", r"\.sum"),
    ("SELECT (ARRAY[x, 1]).unnest AS x FROM t", r"\.unnest"),
    (r'SELECT t.U&"coun\0074" AS x FROM t', "Unicode"),
    (r'SELECT u&"\0063tid"::text AS x FROM t', "Unicode"),
    ("SELECT n_live_tup AS x FROM PG_stat_user_tables", "catalogue"),
    ("WITH a AS (SELECT * FROM pg_catalog.pg_class) SELECT relpages AS x FROM a", "catalogue"),
    ("SELECT x FROM t WHERE x IN (TABLE t)", "subquery|cannot parse"),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) AS x FROM t", "aggregate"),
]
#: They return the current time if they are not given one.
CLOCKS = ["date", "datetime", "julianday", "time", "unixepoch"]
NOT_SQLITE = [
    ("SELECT total(x) AS x FROM t", "not on the list"),
    ("SELECT group_concat(k) AS x FROM t", "GROUP_CONCAT|aggregate"),
    ("SELECT value AS x FROM json_each('[1, 2]')", "function in FROM"),
    ("SELECT julianday('now') - d AS x FROM t", "current time"),
    ("SELECT max(x) AS x FROM t", "MAX"),
    *((f"SELECT {name}() AS x FROM t", "current time") for name in CLOCKS),
    *((f"SELECT x FROM t WHERE {name} < 9", "position") for name in ("rowid", "_ROWID_", "oid")),
    ("SELECT t.[rowid] AS x FROM t", "position"),
    ("SELECT x FROM t WHERE x + 1 IN t", "IN, which is a subquery"),
    ("SELECT x FROM t WHERE x NOT IN main.t", "IN, which is a subquery"),
    ("SELECT CASE WHEN x IN u THEN 1 END AS x FROM t", "IN, which is a subquery"),
    ("WITH a AS (SELECT x FROM t) SELECT x FROM a ORDER BY x IN a", "IN, which is a subquery"),
]


@pytest.mark.parametrize("query", ROW_BY_ROW + POSTGRES)
def test_row_by_row_on_postgres(query: str) -> None:
    assert not_row_by_row(query, "postgres") is None
    hg.sql("postgresql://host/db", query)


@pytest.mark.parametrize("query", ROW_BY_ROW + SQLITE)
def test_row_by_row_on_sqlite(query: str) -> None:
    hg.sql("sqlite:///x.db", query)


@pytest.mark.parametrize(("query", "word"), NOT + NOT_POSTGRES)
def test_not_row_by_row_on_postgres(query: str, word: str) -> None:
    with pytest.raises(hg.OptionError, match=f"(?s)SELECT with .*({word}).*trusted=True"):
        hg.sql("postgresql://host/db", query)
    assert hg.sql("postgresql://host/db", query, trusted=True).relation.startswith(f"({query}")


@pytest.mark.parametrize(("query", "word"), NOT + NOT_SQLITE)
def test_not_row_by_row_on_sqlite(query: str, word: str) -> None:
    with pytest.raises(hg.OptionError, match=f"(?s)SELECT with .*({word}).*trusted=True"):
        hg.sql("sqlite:///x.db", query)


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x REAL, k TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(float(i), "a") for i in range(100)])
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@pytest.mark.parametrize("name", ["pg_stats", "pg_catalog.pg_class", "information_schema.tables"])
def test_catalogues_of_postgres(name: str) -> None:
    """One row of a table changes rows about the table, its columns and its indexes."""
    with pytest.raises(hg.OptionError, match="catalogue"):
        hg.sql("postgresql://host/db", name)
    assert hg.sql("postgresql://host/db", name, trusted=True).table == name
    hg.sql("postgresql://host/db", f"public.{name.rpartition('.')[2]}")


@pytest.mark.attack
def test_tables_that_sqlite_derives_from_others(tmp_path: Path) -> None:
    """Caught: the rank of a text in a full-text index, which depends on all texts."""
    connection = sqlite3.connect(tmp_path / "t.db")
    try:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(body)")
    except sqlite3.OperationalError:
        pytest.skip("SQLite was built without FTS5")
    connection.execute("CREATE TABLE t (x INTEGER PRIMARY KEY AUTOINCREMENT)")
    connection.execute("CREATE VIEW v AS SELECT length(body) AS x FROM texts")
    connection.execute("INSERT INTO texts VALUES ('1')")
    connection.execute("CREATE TABLE other_data AS SELECT 1 AS x")
    connection.commit()
    connection.close()

    def asked(table: str, column: str = "x", **more: Any) -> Any:
        data = hg.sql(f"sqlite:///{tmp_path / 't.db'}", table, **more)
        return hg.mean(data, column, bounds=(0, 1), epsilon=60, parse="integer")

    rank = "SELECT rank AS x FROM {} WHERE texts = '1'"
    for table in (
        rank.format("texts"), rank.format("[TEXTS]"), rank.format("main.'texts'"),
        "WITH a AS (WITH texts AS (SELECT 1) SELECT 1 FROM texts) " + rank.format("texts"),
        "SELECT value AS x FROM json_each WHERE json = '[1, 2]'",
        "SELECT seq AS x FROM sqlite_sequence",
    ):  # fmt: skip
        with pytest.raises(hg.DataError, match=r"virtual table|derives"):
            asked(table)
    for name in ("sqlite_sequence", "json_each", "Sqlite_Schema", "texts_data", "TEXTS_docsize"):
        with pytest.raises(hg.DataError, match="derives"):
            asked(name)
    assert asked("texts", "body").count == asked("v").count == 1
    assert asked("texts_content", "c0").count == asked("other_data").count == 1
    assert asked("SELECT body AS x FROM texts", trusted=True).count == 1
    assert asked("WITH a AS (SELECT x FROM v) SELECT x FROM a").count == 1


def test_a_trusted_select_is_run_unchecked(database: str) -> None:
    query = "SELECT x FROM t ORDER BY x LIMIT 10"
    found = hg.mean(hg.sql(database, query, trusted=True), "x", bounds=(0.0, 100.0), epsilon=60)
    assert found.count == 10
    plain = hg.sql(database, "SELECT x FROM t WHERE x < 50")
    assert hg.mean(plain, "x", bounds=(0.0, 100.0), epsilon=60).count == 50
    with pytest.raises(hg.OptionError, match="trusted"):
        hg.sql(database, query, trusted="yes")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["mean", "bounds"])
def test_the_command(database: str, asked: str, tmp_path: Path) -> None:
    more = ["--bounds", 0, 100] if asked == "mean" else ["--scale", "0,50,100"]
    line = [asked, database, "x", "--epsilon", 1, "--table", "SELECT x FROM t LIMIT 5", *more]
    told = command(*line)
    assert told.code == 2
    assert "--trusted" in told.err
    assert command(*line, "--trusted").code == 0
    (tmp_path / "x.csv").write_text("x\n1\n", encoding="utf-8")
    told = command(asked, tmp_path / "x.csv", "x", "--epsilon", 1, "--trusted", *more)
    assert told.code == 2
    assert "--table" in told.err
