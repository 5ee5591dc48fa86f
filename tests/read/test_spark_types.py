"""The types of Parquet files are known to Spark without a job, and are those that it would find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.engines.spark_files import _plain

pytestmark = pytest.mark.engine("spark")

#: Every type that PyArrow stores in Parquet files, and Spark reads or refuses.
ARROW: list[Any] = [
    pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(),
    pa.binary(), pa.binary(4), pa.date32(), pa.date64(), pa.time32("ms"), pa.time64("us"),
    pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"),
    pa.timestamp("us", "UTC"), pa.duration("us"), pa.decimal128(5, 2), pa.decimal128(15, 2),
    pa.decimal128(30, 2), pa.null(), pa.list_(pa.int64()), pa.struct([("x", pa.float64())]),
    pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
]  # fmt: skip
#: Those whose types are known from the footer.
KNOWN = {
    "bool", "int8", "int16", "int32", "int64", "float", "double", "duration[us]",
    "dictionary<values=int64, indices=int32, ordered=0>",
}  # fmt: skip
#: Types of Spark, and an expression of each.
OWN = {
    "boolean": "true", "byte": "1Y", "short": "1S", "integer": "1", "long": "1L", "float": "1F",
    "double": "1D", "string": "'a'", "binary": "X'00'", "date": "DATE'2020-01-01'",
    "timestamp": "TIMESTAMP'2020-01-01'", "decimal": "1.5BD",
    "year-month interval": "INTERVAL '1' YEAR", "day-time interval": "INTERVAL '1' DAY",
}  # fmt: skip


def types_of(path: Path, *names: str) -> dict[str, str] | None:
    with pq.ParquetFile(path) as file:
        return _plain(file, names)


def found_by(session: Any, path: Path) -> dict[str, str]:
    schema = session.read.parquet(str(path)).schema
    return {field.name: field.dataType.typeName() for field in schema.fields}


@pytest.mark.enumeration
@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("own", [True, False], ids=["with Arrow's types", "without"])
def test_types_of_arrow(spark_session: Any, tmp_path: Path, version: str, own: bool) -> None:
    known: dict[str, dict[str, Any]] = {}
    for number, dtype in enumerate(ARROW):
        path = tmp_path / f"{number}.parquet"
        try:
            table = pa.table({"x": pa.array([], dtype), "y": pa.array([], pa.int32())})
            pq.write_table(table, path, version=version, store_schema=own)
        except pa.ArrowNotImplementedError:
            continue
        found = types_of(path, "y", "x")
        if found is not None:
            known[str(dtype)] = {"found": found["x"], "cells": table["x"]}
            assert found["y"] == "integer"
    # Spark starts a job for each look into a file, so that one has a column of each type.
    whole = tmp_path / "whole.parquet"
    columns = {name: each["cells"] for name, each in known.items()}
    pq.write_table(pa.table(columns), whole, version=version, store_schema=own)
    found = types_of(whole, *known)
    assert found == found_by(spark_session, whole)
    assert found == {name: each["found"] for name, each in known.items()}
    assert set(known) == KNOWN | ({"uint32"} if version == "1.0" else set())


@pytest.mark.enumeration
def test_types_that_spark_declares(spark_session: Any, tmp_path: Path) -> None:
    """An interval is stored as a plain number."""
    columns = ", ".join(f"{value} AS `{name}`" for name, value in OWN.items())
    spark_session.sql(f"SELECT {columns}").coalesce(1).write.parquet(str(tmp_path / "t"))
    (path,) = (tmp_path / "t").glob("*.parquet")
    there = found_by(spark_session, path)
    for name in OWN:
        plain = name in ("boolean", "byte", "short", "integer", "long", "float", "double")
        assert types_of(path, name) == ({name: there[name]} if plain else None), name


def test_a_field_of_a_struct_is_not_a_column(spark_session: Any, tmp_path: Path) -> None:
    """Its path is the name of the column that is asked for."""
    nested, plain = pa.table({"a": [{"b": 3.0}]}), pa.table({"a.b": [3.0]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    pq.write_table(plain, tmp_path / "plain.parquet")
    asked: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "engine": "spark"}
    with pytest.raises(hg.DataError, match="no such column"):
        mean_question(tmp_path / "nested.parquet", "a.b", **asked)
    assert types_of(tmp_path / "nested.parquet", "a.b") is None
    assert types_of(tmp_path / "plain.parquet", "a.b") == {"a.b": "double"}
    found = mean_question(tmp_path / "plain.parquet", "a.b", **asked).read()
    assert int(found.count[0]) == 1


def test_lists_and_missing_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": [1.0], "l": [[1.0]]}), path)
    assert types_of(path, "x") == {"x": "double"}
    assert types_of(path, "x", "l") is None
    assert types_of(path, "x", "y") is None
    assert types_of(path) is None


@pytest.mark.parametrize("own", [b"not json", b"{}", b"[]", b"1", b"\xff"])
def test_a_declaration_that_spark_did_not_write(own: bytes, tmp_path: Path) -> None:
    path, key = tmp_path / "x.parquet", b"org.apache.spark.sql.parquet.row.metadata"
    pq.write_table(pa.table({"x": [1.0]}).replace_schema_metadata({key: own}), path)
    assert types_of(path, "x") is None
