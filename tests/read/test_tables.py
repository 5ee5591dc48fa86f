"""Tables end to end: groups, keys, units, frames, and what is wrong with a question."""

from __future__ import annotations

import json
import math
import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.mechanisms.threshold import threshold
from hourglass.noise.bits import SeededBits
from hourglass.read.frames import apart

ASK: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1}


def visits() -> pa.Table:
    return pa.table(
        {
            "x": pa.array([float(i % 10) for i in range(600)]),
            "g": pa.array([["n", "s", None][i % 3] for i in range(600)]),
            "d": pa.array([date(2026, 1, 1 + i % 2) for i in range(600)]),
            "b": pa.array([i % 2 == 0 for i in range(600)]),
            "i": pa.array([i % 4 for i in range(600)], pa.int32()),
            "u": pa.array([i // 3 for i in range(600)]),
        }
    )


# --- groups ---------------------------------------------------------------------------------


def test_public_keys_are_all_answered_in_their_order() -> None:
    found = hg.mean(visits(), "x", by="g", keys=["s", "nowhere", "n"], **ASK)
    assert list(found) == ["s", "nowhere", "n"]
    assert len(found) == 3
    assert abs(found["n"].count - 200) < 40
    assert found["nowhere"].count < 40
    assert found["n"].epsilon == 1
    assert found["n"].delta == 0
    with pytest.raises(KeyError):
        found["west"]


def test_a_missing_key_is_answered_only_if_declared() -> None:
    found = hg.mean(visits(), "x", by="g", keys=["n", None], **ASK)
    assert abs(found[None].count - 200) < 40
    secret = hg.mean(visits(), "x", by="g", delta=1e-6, **ASK)
    assert list(secret) == ["n", "s"]


def test_keys_of_several_columns_and_kinds() -> None:
    keys = [("n", date(2026, 1, 1), True, 0), ("s", "2026-01-02", "false", "3")]
    found = hg.mean(visits(), "x", by=["g", "d", "b", "i"], keys=keys, **ASK)
    assert list(found) == [("n", date(2026, 1, 1), True, 0), ("s", date(2026, 1, 2), False, 3)]
    assert all(abs(release.count - 50) < 40 for release in found.values())
    secret = hg.mean(visits(), "x", by=("d", "b"), delta=1e-6, **ASK)
    assert list(secret) == [(date(2026, 1, 1), True), (date(2026, 1, 2), False)]


@pytest.mark.parametrize("kind", ["txt", "csv", "parquet", "pandas", "polars", "array"])
def test_keys_from_a_file_or_a_public_table(tmp_path: Path, kind: str) -> None:
    names = pd.DataFrame({"g": ["s", "n", "s"], "other": [1, 2, 3]})
    keys: Any = {
        "pandas": hg.public(names),
        "polars": hg.public(pl.from_pandas(names)),
        "array": hg.public(np.array(["n", "s"])),
    }.get(kind, tmp_path / f"keys.{kind}")
    if kind == "txt":
        keys.write_text("n\ns\n")
    elif kind == "csv":
        names.to_csv(keys, index=False)
    elif kind == "parquet":
        names.to_parquet(keys)
    found = hg.mean(visits(), "x", by="g", keys=keys, **ASK)
    assert sorted(found) == ["n", "s"]


def test_more_keys_than_are_listed_in_the_query() -> None:
    found = hg.mean(visits(), "x", by="i", keys=range(20_000), **ASK)
    assert len(found) == 20_000
    assert abs(found[3].count - 150) < 40
    assert found.means.shape == (20_000,)
    few = hg.mean(visits(), "x", by="i", keys=range(3), bits=SeededBits(1), **ASK)
    assert few.means.tolist() == [release.mean for release in few.values()]


def test_the_thresholds_are_exact() -> None:
    delta = Fraction(1, 10**6)
    laws = {e: hg.Hourglass(Fraction(e), 2**32) for e in ("1", "1/2", "1/10")}
    assert [threshold(law, delta) for law in laws.values()] == [17, 32, 155]
    for law in laws.values():
        least = threshold(law, delta, records=3, groups=2)
        assert law.count_tail(least - 3).high <= delta / 2 < law.count_tail(least - 4).low


def test_the_threshold_follows_the_unit() -> None:
    unit = hg.per_person("u", rows=2, groups=3)
    found = hg.mean(visits(), "x", by="g", delta=1e-6, unit=unit, **ASK)
    law = hg.Hourglass(Fraction(1, 6), 2**32)
    assert found.threshold == threshold(law, Fraction(1, 10**6), 2, 3)
    assert found.epsilon == 1
    assert found.delta == Fraction(1, 10**6)


# --- units ----------------------------------------------------------------------------------


def test_noise_is_drawn_at_a_share_of_what_is_charged() -> None:
    once = hg.mean(visits(), "x", unit=hg.per_person("u"), **ASK)
    assert once.to_dict()["noise_epsilon"] == "1"
    assert abs(once.count - 200) < 40
    many = hg.mean(visits(), "x", unit=hg.per_person("u", rows=2), **ASK)
    assert many.epsilon == 1
    assert many.to_dict()["noise_epsilon"] == "1/2"
    assert abs(many.count - 400) < 80
    assert many.interval(of="count").high - many.count > once.interval(of="count").high - once.count
    again = hg.Release.from_dict(json.loads(json.dumps(many.to_dict())))
    assert again == many


def test_a_person_counts_in_one_group_unless_more_are_allowed() -> None:
    table = pa.table(
        {"x": [1.0] * 900, "g": ["a", "b", "c"] * 300, "u": [i // 3 for i in range(900)]}
    )
    one = hg.mean(table, "x", by="g", keys=list("abc"), unit=hg.per_person("u"), **ASK)
    assert abs(sum(one.counts) - 300) < 60
    assert all(abs(count - 100) < 60 for count in one.counts)
    two = hg.mean(table, "x", by="g", keys=list("abc"), unit=hg.per_person("u", groups=2), **ASK)
    assert abs(sum(two.counts) - 600) < 120


# --- frames, and what comes back ------------------------------------------------------------


@pytest.mark.slow
def test_every_kind_of_frame_gives_the_same_answer(tmp_path: Path) -> None:
    table = visits()
    pq.write_table(table, tmp_path / "t.parquet")
    frames: list[Any] = [
        table, table.to_pandas(), pl.from_arrow(table), pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
        table.to_reader(), table.to_batches()[0], duckdb.connect().from_arrow(table),
        tmp_path / "t.parquet", str(tmp_path / "*.parquet"),
        pl.scan_parquet(tmp_path / "t.parquet"),
    ]  # fmt: skip
    for frame in frames:
        found = hg.mean(frame, "x", by="g", keys=["n", "s"], bits=SeededBits(7), **ASK)
        assert found.to_dict()["noisy_totals"] == _expected()


def _expected() -> Any:
    found = hg.mean(visits(), "x", by="g", keys=["n", "s"], bits=SeededBits(7), **ASK)
    assert not found.private
    return found.to_dict()["noisy_totals"]


def test_odd_types_of_columns() -> None:
    half = pa.table({"x": pa.array(np.array([1, 2, 9], dtype=np.float16))})
    cases = [
        half,
        pd.DataFrame({"x": np.array([1, 2, 9], dtype=np.float16)}),
        pd.DataFrame({"x": pd.array([1, 2, 9, None], dtype="Float64")}),
        pd.DataFrame({"x": pd.array([1, 2, 9, None], dtype="float64[pyarrow]")}),
        pa.table({"x": pa.array([1, 2, 9], pa.float32())}),
        pa.table({"x": pa.array([1.0, 2.0, 9.0]).dictionary_encode()}),
    ]
    for case in cases:
        found = hg.mean(case, "x", grid=9, bits=SeededBits(3), **ASK)
        assert found == hg.mean([1.0, 2.0, 9.0], grid=9, bits=SeededBits(3), **ASK)
    wide = pa.table({"x": pa.array([2**64 - 1, 2**64 - 3, 0], pa.uint64())})
    bounds = (2**64 - 2**20, 2**64 - 1)
    found = hg.mean(wide, "x", bounds=bounds, epsilon=1, bits=SeededBits(3))
    same = hg.mean(np.array([2**64 - 1, 2**64 - 3, 0], dtype=np.uint64), bounds=bounds, epsilon=1,
                   bits=SeededBits(3))  # fmt: skip
    assert found == same


def test_out_to_frames_and_back_from_json() -> None:
    found = hg.mean(visits(), "x", by=["g", "d"], delta=1e-6, bits=SeededBits(5), **ASK)
    table = found.to_pandas(0.9)
    assert list(table.columns) == ["g", "d", "mean", "sum", "count", "mean_low", "mean_high",
                                   "expected_error", "few"]  # fmt: skip
    assert table["mean"].between(table["mean_low"], table["mean_high"]).all()
    assert found.to_polars().height == found.to_arrow().num_rows == len(found) == 4
    again = hg.Releases.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.means.tolist() == found.means.tolist()
    assert again.threshold == found.threshold
    assert list(again) == list(found)
    assert next(iter(again)) == ("n", date(2026, 1, 1))


def test_many_groups_print_some_and_count_the_rest() -> None:
    found = hg.mean(visits(), "x", by="i", keys=range(100), **ASK)
    text = str(found)
    assert "... and 40 more groups" in text
    assert "epsilon 1, one row added or removed." in text
    assert found._repr_html_().count("<tr>") == 61


@pytest.mark.parametrize("kind", ["int64", "bool"])
def test_a_person_counts_with_a_mean_that_need_not_be_whole(kind: str) -> None:
    """Rounded to whole numbers, 1/2 would count as 1: the mean would be 1 and intervals would
    miss."""
    rows = pd.DataFrame({"p": np.arange(2000) // 2, "x": np.arange(2000) % 2}).astype({"x": kind})
    asked: Any = {"bounds": (0, 1), "epsilon": 60}
    once = hg.mean(rows, "x", unit=hg.per_person("p"), **asked)
    assert once.mean == pytest.approx(0.5, abs=1e-3)
    assert 0.5 in once.interval(0.999999)
    # As many rows as a person has: whole numbers, on their own grid.
    assert hg.mean(rows, "x", unit=hg.per_person("p", rows=2), **asked).grid == 1


@pytest.mark.parametrize("estimator", ["posterior", "jeffreys"])
def test_the_posterior_by_group_is_that_of_each(estimator: str) -> None:
    found = hg.mean(visits(), "x", by="g", keys=["n", "s"], estimator=estimator, **ASK)
    assert found.means.tolist() == pytest.approx([r.mean for r in found.values()])


def test_explain_runs_nothing(tmp_path: Path) -> None:
    pq.write_table(visits(), tmp_path / "t.parquet")
    text = hg.mean(tmp_path / "t.parquet", "x", by="g", delta=1e-6, explain=True, **ASK)
    assert "read_parquet" in text
    assert "GROUP BY k1" in text
    assert "no SQL" in hg.mean([1.0], explain=True, **ASK)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_whole_number_keys_beside_a_missing_one(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "t.parquet"
    keys = [1, 2**60 + 1, None] * 400
    pq.write_table(pa.table({"x": [1.0] * 1200, "g": pa.array(keys, pa.int64())}), path)
    found = hg.mean(path, "x", by="g", keys=[2**60 + 1, None, 2**60], engine=engine, **ASK)
    assert [round(each.count / 400) for each in found.values()] == [1, 1, 0]


def test_without_pyarrow_the_query_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is missing or cannot be imported: found before anything is charged."""
    path = tmp_path / "t.parquet"
    pq.write_table(visits(), path)
    asked: dict[str, Any] = {"bits": SeededBits(3), **ASK}
    with_it = hg.mean(path, "x", **asked)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "SUM(t)" in hg.mean(path, "x", explain=True, **ASK)
    without = hg.mean(path, "x", **{**asked, "bits": SeededBits(3)})
    assert without.to_dict() == with_it.to_dict()


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
def test_keys_longer_than_64_bits_are_refused(kind: str) -> None:
    rows = duckdb.sql(f"SELECT 1.0 AS x, CAST(2 AS {kind}) AS g, CAST(2 AS UBIGINT) AS u")
    with pytest.raises(hg.DataError, match=f"by='g' is of type {kind}.*cast it to BIGINT"):
        hg.mean(rows, "x", by="g", keys=[2], **ASK)
    assert list(hg.mean(rows, "x", by="u", keys=[2**64 - 1, 2], **ASK)) == [2**64 - 1, 2]


def test_a_decimal_is_no_key_but_its_text_is() -> None:
    decimal = "CAST(2.5 AS DECIMAL(9, 2))"
    rows = duckdb.sql(f"SELECT 1.0 AS x, {decimal} AS g")
    with pytest.raises(hg.DataError, match=r"by='g' is of type DECIMAL\(9,2\).*cast it to text"):
        hg.mean(rows, "x", by="g", keys=["2.50"], **ASK)
    cast = duckdb.sql(f"SELECT 1.0 AS x, CAST({decimal} AS VARCHAR) AS g")
    assert list(hg.mean(cast, "x", by="g", keys=["2.50"], **ASK)) == ["2.50"]


# --- what is wrong with a question ----------------------------------------------------------


def test_a_time_is_no_key_but_its_day_is(tmp_path: Path) -> None:
    """The message names the remedy, and the remedy works."""
    frame = pd.DataFrame({"at": pd.to_datetime(["2024-02-29 13:00"]), "x": [1.0]})
    with pytest.raises(hg.DataError, match=r"by='at' is of type TIMESTAMP.*hg.sql \(--table\)"):
        hg.mean(frame, "x", by="at", keys=["2024-02-29"], **ASK)
    with duckdb.connect(tmp_path / "t.duckdb") as own:
        own.execute("CREATE TABLE visits AS SELECT TIMESTAMP '2024-02-29 13:00' AS time, 1.0 AS x")
    select = "SELECT *, CAST(time AS DATE) AS day FROM visits"
    source = hg.sql(f"duckdb:///{tmp_path}/t.duckdb", select)
    cast = frame.assign(day=frame["at"].astype("date32[pyarrow]"))
    for data in (source, cast):
        found = hg.mean(data, "x", by="day", keys=["2024-02-29"], **ASK)
        assert list(found) == [date(2024, 2, 29)]


@pytest.mark.parametrize(
    ("columns", "column", "remedy"),
    [
        ([0, 1], "0", r"frame.columns.astype\(str\)$"),
        (["a", 1], "1", r"frame.columns.astype\(str\)$"),
        (pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]), "a", "for name in frame.columns]$"),
    ],
)
def test_names_that_are_not_text(columns: Any, column: str, remedy: str) -> None:
    frame = pd.DataFrame(np.ones((5, 2)), columns=columns)
    with pytest.raises(hg.DataError, match=f"names are not text.*frame.columns = .*{remedy}"):
        hg.mean(frame, column, **ASK)
    if "a" in columns and columns[0] == "a":
        assert abs(hg.mean(frame, "a", bounds=(0, 10), epsilon=50).mean - 1) < 1
        with pytest.raises(hg.DataError, match="did you mean 'a'"):
            hg.mean(frame, "A", **ASK)


def test_a_column_of_an_unknown_type_is_named() -> None:
    frame = pd.DataFrame({"x": [1.0], "at": pd.PeriodIndex(["2024-02"], freq="M")})
    with pytest.raises(hg.DataError, match=r"column 'at' is of a type .* convert it") as told:
        hg.mean(frame, "x", by="at", delta=1e-6, **ASK)
    assert told.value.__cause__ is None is told.value.__context__


def test_a_column_of_objects_is_called_one() -> None:
    """Its type is the one that pandas shows, not that of the text it is read as."""
    frame = pd.DataFrame({"price": [Decimal("1.5"), Decimal("2")] * 50, "word": ["a", "b"] * 50})
    frame["word"] = frame["word"].astype("category")
    with pytest.raises(hg.DataError, match=r"of type object, .*; if its objects are numbers"):
        hg.mean(frame, "price", **ASK)
    with pytest.raises(hg.DataError, match=r"of type ENUM, .*; if its text is numbers"):
        hg.mean(frame, "word", **ASK)
    found = hg.mean(frame, "price", parse="real", bounds=(0, 2), epsilon=50)
    assert found.mean == pytest.approx(1.75, abs=1e-3)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_columns_of_a_frame_apart(make: Any) -> None:
    assert list(apart(make({"x": [1.0], "y": [2.0]}))) == ["x", "y"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"column": "y"}, "no such column"),
        ({"column": "X"}, "did you mean 'x'"),
        (
            {"column": "x, d"},
            r"2 columns; give them as a list, as in column=\['x', 'd'\]$",
        ),
        ({"by": "g,i", "delta": 1e-6}, r"as in by=\['g', 'i'\]$"),
        ({"column": ["x, d", "i"]}, "name 1 .* these are 2 columns; name each of them separately"),
        ({"unit": hg.per_person("g,i")}, "these are 2 columns; name the one that identifies"),
        ({"column": "x, e"}, "no such column; the columns are"),
        ({"column": "g"}, r"parse='real'.*such as hg.expression\(\"g = 'yes'\"\)"),
        ({"column": "d"}, "is not numeric"),
        ({"column": "b"}, "booleans"),
        ({"column": None}, "name the column"),
        ({"by": "g"}, "either keys= .* or delta="),
        ({"by": "g", "keys": ["n"], "delta": 1e-6}, "exclude each other"),
        ({"keys": ["n"]}, "by="),
        ({"delta": 1e-6}, "by="),
        ({"by": "g", "delta": 2}, "delta=2"),
        ({"by": "g", "keys": []}, "keys is empty"),
        ({"by": "g", "keys": 3}, "not a list of keys"),
        ({"by": "i", "keys": ["n"]}, "column 'i' holds whole numbers"),
        ({"by": "x", "keys": [1]}, "group by a column of text"),
        ({"by": ["g", "g"], "keys": ["n"]}, "repeats name 1"),
        ({"by": ["g", "d"], "keys": ["n"]}, "a tuple of 2 values"),
        ({"by": "nope", "keys": ["n"]}, "no such column"),
        ({"by": "g", "keys": "nope.csv"}, "no such file"),
        ({"by": "g", "delta": 1e-6, "algorithm": "laplace"}, "hourglass"),
        ({"by": "g", "keys": ["n"], "algorithm": "swap"}, "publishes"),
        ({"unit": hg.per_person("v")}, "unit='v'"),
        ({"unit": hg.per_person("x")}, "persons are identified by"),
        ({"unit": hg.per_person("u", groups=2)}, "needs groups"),
        ({"unit": "u"}, "is not a unit"),
        ({"unit": hg.per_person("u", rows=10**6), "epsilon": "0.5"}, "lower rows="),
        ({"engine": "oracle"}, "is not one of"),
        ({"engine": "spark"}, "cannot read this table; use duckdb"),
        ({"parse": "date"}, "parse='date'"),
        ({"missing": 12}, "outside the bounds"),
    ],
)
def test_bad_requests(arguments: dict[str, Any], told: str) -> None:
    asked: dict[str, Any] = {"column": "x", **ASK, **arguments}
    with pytest.raises(hg.RequestError, match=told):
        hg.mean(visits(), **asked)


@pytest.mark.parametrize("name", ["rows", "groups"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_bad_units(name: str, value: Any) -> None:
    with pytest.raises(hg.OptionError, match=f"{name}="):
        hg.per_person("u", **{name: value})


def test_bad_files(tmp_path: Path) -> None:
    whole = tmp_path / "whole.parquet"
    pq.write_table(visits(), whole)
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-100])
    (tmp_path / "cut.arrow").write_bytes(b"ARROW1")
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "table.docx").write_bytes(b"PK")
    for name, told in {
        "nope.parquet": "no such file",
        "nope-*.csv": "no such file",
        ".": "is a directory",
        "table.docx": "unknown file extension",
        "cut.parquet": "cannot read the columns",
        "cut.arrow": "not a complete Arrow file",
        "empty.csv": "no header",
    }.items():
        with pytest.raises(hg.RequestError, match=told):
            hg.mean(tmp_path / name, "x", **ASK)
    with pytest.raises(hg.OptionError, match="does not read files"):
        hg.mean(whole, "x", engine="postgres", **ASK)


def test_bad_tables(tmp_path: Path) -> None:
    twice = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(hg.DataError, match="2 columns of that name"):
        hg.mean(twice, "x", **ASK)
    nested = pa.table({"x": [[1.0]], "c": pa.array(["a"]).dictionary_encode()})
    for column in ("x", "c"):
        with pytest.raises(hg.DataError):
            hg.mean(nested, column, **ASK)
    cased = duckdb.connect().sql('SELECT 1.0::DOUBLE AS x, 2 AS "Y"')
    assert hg.mean(cased, "x", **ASK).count >= 0
    with pytest.raises(hg.DataError, match="is not a table; give a frame"):
        hg.mean(object(), "x", **ASK)
    with pytest.raises(hg.DataError, match=r"dict is not a table; make it a frame, as in pandas"):
        hg.mean({"x": [1.0]}, "x", **ASK)
    mixed = pd.DataFrame({"x": pd.Series([1.0, "a", None], dtype=object)})
    with pytest.raises(hg.DataError, match="parse="):
        hg.mean(mixed, "x", **ASK)


def test_bad_databases(tmp_path: Path, postgres_url: str) -> None:
    for url, table in [("nonsense", "t"), ("oracle://h/d", "t"), ("sqlite:///x.db", "")]:
        with pytest.raises(hg.OptionError):
            hg.sql(url, table)
    with pytest.raises(hg.DataError, match="more than one statement"):
        hg.sql("sqlite:///x.db", "SELECT 1; DROP TABLE t")
    with pytest.raises(hg.DataError, match="no SQLite file"):
        hg.mean(hg.sql(f"sqlite:///{tmp_path}/no.db", "t"), "x", **ASK)
    with pytest.raises(hg.DataError, match="the database has no such table or view"):
        hg.mean(hg.sql(postgres_url, "no_such_table"), "x", **ASK)


def test_a_query_of_a_database(postgres_url: str) -> None:
    query = "SELECT g / 2.0 AS x, g % 3 AS k FROM generate_series(1, 900) AS g;"
    source = hg.sql(postgres_url, query, trusted=True)
    found = hg.mean(source, "x", bounds=(0, 450), epsilon=1)
    assert abs(found.mean - 225.25) < 20
    values = ", ".join(f"('{v}')" for v in ("1e400", "-1e400", "1e-400", "NaN", "2.5"))
    wide = f"SELECT CAST(v AS NUMERIC) AS x FROM (VALUES {values}) t(v)"
    bits = SeededBits(2)
    found = hg.mean(hg.sql(postgres_url, wide), "x", bounds=(-1, 3), epsilon=1, bits=bits)
    assert found == hg.mean(
        [3, -1, 0, math.nan, 2.5], bounds=(-1, 3), epsilon=1, bits=SeededBits(2)
    )


def test_sqlite_cells_of_another_type_are_missing(tmp_path: Path) -> None:
    import sqlite3

    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (x REAL, i INTEGER, n)")
    rows = [(1.0, 1, 1), ("abc", "abc", 1), (b"\x00", b"\x00", 1), (None, 2.5, 1), (2, 7, 1)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    source = hg.sql(f"sqlite:///{tmp_path}/t.db", "t")
    found = hg.mean(source, "x", bits=SeededBits(2), **ASK)
    assert found == hg.mean([1.0, 2.0], bits=SeededBits(2), **ASK)
    found = hg.mean(source, "i", bits=SeededBits(2), **ASK)
    assert found == hg.mean(np.array([1, 7]), bits=SeededBits(2), **ASK)
    with pytest.raises(hg.DataError, match=r"undeclared.*parse='real'"):
        hg.mean(source, "n", **ASK)


def test_secret_whole_numbers_come_back_as_plain_ones(tmp_path: Path) -> None:
    """A key of a NumPy type would fail only in JSON."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0] * 400, "g": pa.array([3] * 400, pa.int32())}), path)
    found = hg.mean(path, "x", bounds=(0, 2), epsilon=1, by="g", delta=1e-6)
    assert [type(key) for key in found] == [int]
    assert json.loads(json.dumps(found.to_dict()))["groups"][0]["g"] == 3
