"""Cells, names and settings that engines treat differently."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import HALF, Groups, Sum
from hourglass.errors import HourglassError
from hourglass.read.engines import spark
from hourglass.read.source import Field
from hourglass.read.sql.cells import MOST_IN_DOUBLES, Value, cell, clamped_steps, scaled, with_steps
from hourglass.read.sql.query import Query
from tests.read.test_text import CELLS as NUMBERS
from tests.read.test_text import EXPECTED
from tests.tools import command, everything

INF = float("inf")
ASK: dict[str, Any] = {"bounds": (0, 1), "epsilon": 60}


# --- SQLite ---------------------------------------------------------------------------------------


def database(folder: Path, columns: str, rows: list[Any]) -> Any:
    path = folder / "t.db"
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE t ({columns})")
    marks = ", ".join("?" * (columns.count(",") + 1))
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    return hg.sql(f"sqlite:///{path}", "t")


def test_every_number_but_zero_is_one_true(tmp_path: Path) -> None:
    cells = [1, 7, -1, 2**40, 0, 0, None, "yes", 1.5]
    source = database(tmp_path, "x REAL, b BOOLEAN", [(1.0, cell) for cell in cells])
    found = hg.mean(source, "x", by="b", keys=[True, False], **ASK)
    assert [found[True].count, found[False].count] == [4, 2]
    once = hg.mean(source, "x", by="b", delta=1e-6, bounds=(0, 1), epsilon=60)
    assert list(once) == [False, True]
    assert hg.mean(source, "b", **ASK).count == 6


def test_sqlite_reads_text_by_the_same_rule(tmp_path: Path) -> None:
    rows = [(text, "k") for text, _ in NUMBERS] + [(b"\xff", "k"), (b"5", "k")]
    source = database(tmp_path, "x TEXT, k TEXT", rows)
    found = hg.mean(source, "x", bounds=(0, 120), epsilon=60, parse="real")
    assert found.count == EXPECTED[1]
    assert found.sum == pytest.approx(EXPECTED[0] * 120 / 2**32)
    by = hg.mean(source, "x", bounds=(0, 120), epsilon=60, parse="real", by="x", keys=["1", ".5"])
    assert [by["1"].count, by[".5"].count] == [1, 1]
    bounds = hg.find_bounds(source, "x", epsilon=60, parse="real", scale=[0, 50, 100, 200])
    assert bounds.upper in (100, 200)
    with pytest.raises(hg.DataError, match="parse='real'"):
        hg.mean(source, "x", **ASK)


def test_sqlite_reads_whole_numbers(tmp_path: Path) -> None:
    cells = ["5", "-3", "+7", "3.7", "abc", "1e2", "9" * 20, "-" + "9" * 20, "9" * 5000, "0" * 50]
    source = database(tmp_path, "x TEXT", [(cell,) for cell in cells])
    found = hg.mean(source, "x", bounds=(0, 120), epsilon=60, parse="integer")
    assert (found.count, found.sum) == (7, 5 + 0 + 7 + 120 + 0 + 120 + 0)


@pytest.mark.parametrize(
    "bounds", [(0.0, 1.0), (-0.3, 0.1), (2.0**40, 2.0**40 + 1), (-1e308, 1e308)]
)
def test_the_doubles_next_to_the_bounds_have_the_cells_of_the_rule(bounds: Any) -> None:
    """In all forms of the query. Far from zero, neighbouring doubles lie many cells apart."""
    grid = Grid(Bounds(*bounds), 2**32)
    ends = [grid.first_above, grid.last_below, grid.lower, grid.upper, 0.0]
    near = [e for end in ends for e in (end, *(np.nextafter(end, to) for to in (-INF, INF)))]
    connection = duckdb.connect()
    connection.register("x", pa.table({"x": [float(value) for value in near]}))
    wanted = [grid.cell(float(value)) for value in near]
    field = Field("x", "real")
    forms = [
        f"SELECT {cell(field, grid)} FROM x",
        f"SELECT {scaled(field, grid, clamp=True)} FROM x",
    ]
    first = ("scaled", f"SELECT {scaled(field, grid)} AS y FROM x")
    steps = clamped_steps({"t": Value(field, grid)}, (), whole=False)
    for form in (*forms, with_steps([first, *steps], "SELECT t FROM quantised")):
        assert [found for (found,) in connection.execute(form).fetchall()] == wanted


#: Values on and around all ends of the rule, and what is no value.
NASTY = [
    0.0, -0.0, 5e-324, -5e-324, 0.5, 1 / 3, 1.0, np.nextafter(1.0, 0), np.nextafter(1.0, 2),
    2.0**-33,
    3 * 2.0**-33, 2.0**-17, 2.0**-17 + 2.0**-32, 1 - 2.0**-33, 2.0**51, -(2.0**51), 2.0**53 + 2,
    2.0**84, 1e300, -1e300, INF, -INF, float("nan"), None,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fills", [(None, None, None), (None, 7, None), (1, 2, 3)])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-0.3, 0.1), (-1e308, 1e308), (0.0, 3e-290)])
def test_every_form_of_the_query_has_the_same_totals(bounds: Any, fills: Any) -> None:
    """Cells by CASE, clamped in doubles, and clamped without branches, for one to three columns.

    The third is of integers, and values outside are counted beside them. Catches: a low half that
    is not what the high half leaves, a rounding to another multiple, a missing value that counts as
    a bound, a row that lacks a value and still counts in one of the columns.
    """
    dice = np.random.default_rng(8)
    columns = {name: [NASTY[i] for i in dice.integers(0, len(NASTY), 3000)] for name in "xyz"}
    whole = [None if cell is None else i for i, cell in enumerate(columns["z"])]
    table = pa.table(columns | {"z": whole, "g": [i % 3 for i in range(3000)]})
    connection = duckdb.connect()
    connection.register("source", table)
    fields = [Field("x", "real"), Field("y", "real"), Field("z", "integer")]
    grids = [Grid(Bounds(*bounds), 2**32), Grid(Bounds(-1.5, 2.25), 1000)]
    grids.append(Grid(Bounds(0, 1000), 1000, own=True))
    values = tuple(map(Value, fields, grids, fills))
    outside = tuple(Sum(column=1, side=side) for side in (-1, 1))
    plain = tuple(Sum(column=i) for i in range(3))
    forms = [Query(values[: i + 1]) for i in range(3)]
    forms += [Query(values[:2], sums=plain[:2] + outside), Query(values, sums=plain + outside)]
    for query in [*forms, *(replace(each, by=(Field("g", "integer"),)) for each in forms)]:
        found = []
        for sums in ("halves", "doubles"):
            rows = connection.execute(query.text(sums)).fetchall()
            found.append(Groups.of_rows(rows, len(query.by), len(query.sums)))
        wide = connection.sql(query.text()).to_arrow_table()
        found.append(Groups.of_arrow(wide, len(query.by)))
        assert "6755399441055744.0" in query.text("doubles")
        assert "FROM apart" in query.text()
        assert _summed(found[0]) == _summed(found[1]) == _summed(found[2])


def _summed(groups: Groups) -> list[tuple[int, ...]]:
    """The totals of each group, in the order of the keys."""
    found = groups.take(groups.keys.order()).totals if len(groups.keys) else groups.totals
    return list(zip(found.count.tolist(), *(sum_.tolist() for sum_ in found.sums), strict=True))


@pytest.mark.enumeration
def test_sums_of_halves_stay_exact_in_doubles() -> None:
    """The largest number of records, all with the same cell: neither half is rounded."""
    round_to = 1.5 * 2.0**52 * HALF
    for cell_ in [*range(0, 2**18, 1021), 2**31, 2**31 + 2**15, 2**32 - 2**15, 2**32 - 1, 2**32]:
        high = (float(cell_) + round_to) - round_to
        low = cell_ - high
        assert high % HALF == 0
        assert abs(low) <= HALF // 2
        assert high + low == cell_
        for part, unit in ((high, HALF), (low, 1)):
            assert abs(MOST_IN_DOUBLES * int(part)) <= 2**53 * unit


@pytest.mark.parametrize("engine", ["postgres", "datafusion"])
def test_parse_is_refused_where_it_would_be_dropped(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data: Any = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": ["1", "2"], "n": [1.0, 2.0]}), data)
    more: dict[str, Any] = {"engine": "datafusion"}
    if engine == "postgres":
        url = request.getfixturevalue("postgres_url")
        data = hg.sql(url, "SELECT * FROM (VALUES ('1'::text, 1.0::float8)) AS t (x, n)")
        more = {}
    for ask in (lambda **a: hg.mean(data, "x", bounds=(0, 9), **a), hg_bounds(data)):
        with pytest.raises(hg.OptionError, match=f"parse='real': {engine} cannot"):
            ask(epsilon=1, parse="real", **more)
    with pytest.raises(hg.OptionError, match="parse='real' applies to columns of text, but column"):
        hg.mean(data, "n", bounds=(0, 9), epsilon=1, parse="real", **more)


def hg_bounds(data: Any) -> Any:
    return lambda **asked: hg.find_bounds(data, "x", **asked)


# --- Spark ----------------------------------------------------------------------------------------


def test_spark_puts_no_setting_into_a_name(spark_session: Any, tmp_path: Path) -> None:
    """Keys and columns with ${...}, backslashes and quotes, whatever the session has set."""
    name, secret = "${spark.app.name}", spark_session.conf.get("spark.app.name")
    keys = [name, secret, "a\\b", "a\\nb", "a\nb", "it's", 'q"q', "😀", "", "%s", "\\", "a\0b"]
    column = "g${spark.app.name}`'"
    data = pa.table({"x${x}": [1.0] * len(keys), column: keys, "p${p}": keys})
    pq.write_table(data, tmp_path / "t.parquet")
    frame = spark_session.read.parquet(str(tmp_path / "t.parquet"))
    setting = "spark.sql.parser.escapedStringLiterals"
    for value in ("false", "true"):
        spark_session.conf.set(setting, value)
        try:
            for unit in (None, hg.per_person("p${p}")):
                for asked in (keys[:-1], keys):  # listed in the query, and with a NUL not
                    found = hg.mean(frame, "x${x}", by=column, keys=asked, unit=unit, **ASK)
                    assert [release.count for release in found.values()] == [1] * len(asked)
        finally:
            spark_session.conf.unset(setting)


def test_spark_adds_up_integers_beyond_what_doubles_hold(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered, since no test has 2^37 rows; each step is seen in the plan."""
    ran: list[str] = []
    pq.write_table(pa.table({"x": [0.25, 0.5, None], "g": ["a", "a", "b"]}), tmp_path / "t.parquet")
    frame = spark_session.read.parquet(str(tmp_path / "t.parquet"))
    sql = type(spark_session).sql

    def seen(session: Any, text: str) -> Any:
        ran.append(text)
        return sql(session, text)

    monkeypatch.setattr(type(spark_session), "sql", seen)
    for limit, runs in ((2, 1), (1, 2)):
        ran.clear()
        monkeypatch.setattr(spark, "MOST_IN_DOUBLES", limit)
        found = mean_question(frame, "x", by="g", delta=1e-6, **ASK).read()
        assert _summed(found) == [(2, 3 * 2**30), (0, 0)]
        assert ["SHIFTRIGHT" in text for text in ran] == [False, True][:runs]


# --- PostgreSQL -----------------------------------------------------------------------------------


def test_settings_of_a_database_change_nothing(postgres_url: str) -> None:
    keys = ["a\\b", "it's", "😀", "C:\\n", "a\0b"]
    held = [key for key in keys if "\0" not in key]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE settings_test (x float8, g text, d date)")
        rows = [(1.0, key, "2026-03-01") for key in held * 3]
        connection.cursor().executemany("INSERT INTO settings_test VALUES (%s, %s, %s)", rows)
        user, name = connection.info.user, connection.info.dbname
        settings = {
            "standard_conforming_strings": "off",
            "client_encoding": "LATIN1",
            "datestyle": "'SQL, DMY'",
        }
        for setting, value in settings.items():
            alter = f'ALTER ROLE "{user}" IN DATABASE "{name}" SET {setting} = {value}'
            connection.execute(alter)
    source = hg.sql(postgres_url, "settings_test")
    try:
        for asked in (held, keys):  # listed in the query, and with a NUL not
            found = hg.mean(source, "x", by="g", keys=asked, **ASK)
            assert [release.count for release in found.values()] == [3 * (k in held) for k in asked]
        assert sum(1 for _ in hg.mean(source, "x", by="g", delta=0.5, **ASK)) == len(held)
        day = hg.mean(source, "x", by="d", keys=["2026-03-01"], **ASK)
        assert [release.count for release in day.values()] == [3 * len(held)]
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            alter = f'ALTER ROLE "{user}" IN DATABASE "{name}" RESET ALL'
            connection.execute(alter)


def test_text_of_another_encoding_is_refused_as_a_name(postgres_url: str) -> None:
    """Not every text of such a database can be converted, so it is refused before the charge."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'"
        )
    base, _, options = postgres_url.partition("?")
    url = f"{base.rpartition('/')[0]}/ascii?{options}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (x float8, g text)")
        connection.execute("INSERT INTO t VALUES (1, E'\\\\xff'), (1, 'a')")
    source = hg.sql(url, "t")
    assert hg.mean(source, "x", **ASK).count == 2
    with pytest.raises(hg.DataError, match="encoding SQL_ASCII"):
        hg.mean(source, "x", by="g", delta=1e-6, **ASK)
    with pytest.raises(hg.DataError, match="encoding SQL_ASCII"):
        hg.mean(source, "x", unit=hg.per_person("g"), **ASK)


PASSWORDS = [
    "Zq9%zz", "Zq9@b", "Zq9/b", "12/Zq9", "Zq9 b", "Zq9[b", "Zq9]b", "Zq9?b", "Zq9#b", "Zq9℀b",
    "Zq9%00b", "Zq9\nb", "%5Zq9", "Zq9:b", "\x00Zq9",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("password", PASSWORDS, ids=ascii)
def test_no_message_contains_a_password(password: str) -> None:
    """Whatever is wrong with the URL or the server, in Python and on the command line."""
    for url in (
        f"postgresql://user:{password}@127.0.0.1:1/db?connect_timeout=2",
        f"postgresql+psycopg://:{password}@127.0.0.1:1/db?connect_timeout=2",
        f"mysql://user:{password}@127.0.0.1/db",
        f"sqlite://user:{password}@127.0.0.1/db",
        f"postgresql://127.0.0.1:1/db?connect_timeout=2&password={password}",
    ):
        with pytest.raises(HourglassError) as caught:
            hg.mean(hg.sql(url, "t"), "x", bounds=(0, 1), epsilon=1)
        assert "zq9" not in everything(caught.value).lower()
        told = command("mean", url, "x", "--table", "t", "--epsilon", 1, "--bounds", 0, 1)
        assert told.code != 0
        assert "zq9" not in (told.out + told.err).lower()


@pytest.mark.parametrize("engine", [None, "duckdb", "datafusion"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "what"])
def test_no_message_contains_a_key_of_a_store(engine: Any, ending: str) -> None:
    """Files are named by URLs too."""
    url = f"s3a://user:Zq9/b@bucket/t.{ending}"
    with pytest.raises(HourglassError) as caught:
        hg.mean(url, "x", bounds=(0, 1), epsilon=1, engine=engine)
    assert "zq9" not in everything(caught.value).lower()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://127.0.0.1:1/db", "nothing is listening"),
        ("postgresql://u:p%zz@127.0.0.1:1/db", "percent-encode"),
        ("postgresql://u@/db?host=/no/such/place", "no such"),
    ],
)
def test_why_there_is_no_connection(url: str, reason: str) -> None:
    with pytest.raises(hg.SourceError, match=reason):
        hg.mean(hg.sql(url, "t"), "x", bounds=(0, 1), epsilon=1)


# --- NumPy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_signalling_nan_causes_no_warning(dtype: Any) -> None:
    """NumPy would warn, which is an error in tests; the search for bounds treats it as missing."""
    odd: Any = {
        np.float16: np.array([0x7C01, 0x3C00], np.uint16).view(np.float16),
        np.float32: np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32),
        np.float64: np.array([0x7FF0000000000001, 0x3FF0000000000000], np.uint64).view(np.float64),
    }[dtype]
    ask: dict[str, Any] = {"epsilon": 60, "scale": [0, 1, 2]}
    with np.errstate(all="raise"):
        found = hg.find_bounds(np.repeat(odd, 100), **ask)
        assert found.lower == hg.find_bounds(np.repeat(odd[1:], 100), **ask).lower
        hg.mean(np.repeat(odd, 100), bounds=(0, 1), epsilon=1)
