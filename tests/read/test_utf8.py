"""Invalid UTF-8, and texts of more than 4,096 bytes, are missing.

Whatever a cell contains, no query fails and the others count as before, on every engine that
accepts such bytes and in every text type of Arrow and Parquet.
"""

from __future__ import annotations

import random
import sqlite3
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid, Unit
from hourglass.read.sql.cells import identifier
from tests.read import corpus
from tests.read.corpus import BYTES, GROUP, PERSON, VALUE, Row, name_of, texts, totals
from tests.read.test_conformance import UNITS
from tests.tools import known_types

GRID = Grid.choose(Bounds(0, 120))
RawRow = tuple[float, bytes | None, bytes | None]
Place = Callable[[list[RawRow]], dict[str, Any]]


def rows(seed: int = 0, size: int = 300) -> list[RawRow]:
    dice = random.Random(seed)
    return [
        (dice.randrange(-40, 520) / 4, dice.choice(BYTES), dice.choice(BYTES)) for _ in range(size)
    ]


def named(table: list[RawRow]) -> list[Row]:
    return [(value, name_of(group), name_of(person)) for value, group, person in table]


def arrow(table: list[RawRow], kind: pa.DataType | None = None) -> pa.Table:
    groups, persons = [row[1] for row in table], [row[2] for row in table]
    values = pa.array([row[0] for row in table], pa.float64())
    columns = [values, texts(groups, kind), texts(persons, kind)]
    return pa.table(columns, names=[VALUE, GROUP, PERSON])


# --- places ---------------------------------------------------------------------------------------

DICTIONARY = pa.dictionary(pa.int16(), pa.string())
KINDS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": DICTIONARY,
}


def in_arrow(kind: str) -> Place:
    return lambda table: {"data": arrow(table, KINDS[kind])}


def in_a_stream(table: list[RawRow]) -> dict[str, Any]:
    return {"data": arrow(table).to_reader(max_chunksize=7)}


#: Settings of a connection that choose the type of text in its results.
LARGE = "SET arrow_large_buffer_size = true"
VIEWS = "SET arrow_output_version = '1.4'; SET produce_arrow_string_view = true"


@cache
def in_a_relation(settings: str = "") -> Place:
    connection = duckdb.connect()  # which takes longer than most queries
    if settings:
        connection.execute(settings)
    return lambda table: {"data": connection.from_arrow(arrow(table))}


def in_pandas(table: list[RawRow]) -> dict[str, Any]:
    import pandas

    return {"data": arrow(table).to_pandas(types_mapper=pandas.ArrowDtype)}


def in_parquet(folder: Path, engine: str, files: int = 1, **options: Any) -> Place:
    kind, mixed = KINDS[options.pop("kind", "string")], options.pop("mixed", False)

    def place(table: list[RawRow]) -> dict[str, Any]:
        inside = folder / uuid.uuid4().hex
        inside.mkdir()
        for i in range(files):
            part = arrow(table[i::files], kind)
            if mixed and i % 2:  # files of two types are scanned apart
                part = part.set_column(0, VALUE, part.column(0).cast(pa.float32()))
            pq.write_table(part, inside / f"{i}.parquet", row_group_size=50, **options)
        path = inside / ("0.parquet" if files == 1 else "*.parquet")
        return {"data": str(path), "engine": engine}

    return place


def in_sqlite(folder: Path, encoding: str) -> Place:
    def place(table: list[RawRow]) -> dict[str, Any]:
        path = folder / f"{uuid.uuid4().hex}.db"
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        names = [identifier(name) for name in (VALUE, GROUP, PERSON)]
        connection.execute(f"CREATE TABLE t ({names[0]} REAL, {names[1]} TEXT, {names[2]} TEXT)")
        for value, *cells in table:
            group, person = (_text(cell, encoding) for cell in cells)
            connection.execute(f"INSERT INTO t VALUES (?, {group}, {person})", [value])
        connection.commit()
        connection.close()
        return {"data": hg.sql(f"sqlite:///{path}", "t")}

    return place


def _text(cell: bytes | None, encoding: str) -> str:
    """A text from these bytes; in UTF-16 a lone surrogate replaces invalid bytes."""
    if cell is None:
        return "NULL"
    if encoding != "UTF-8":
        try:
            cell = cell.decode().encode(encoding)
        except UnicodeDecodeError:
            cell = b"a\x00\x00\xd8"
    return f"CAST(x'{cell.hex()}' AS TEXT)"


DELTAS: dict[str, Any] = {
    "use_dictionary": False,
    "column_encoding": dict.fromkeys((GROUP, PERSON), "DELTA_LENGTH_BYTE_ARRAY"),
}
PLACES: dict[str, Callable[[Path], Place]] = {
    "arrow string": lambda _: in_arrow("string"),
    "arrow large_string": lambda _: in_arrow("large_string"),
    "arrow string_view": lambda _: in_arrow("string_view"),
    "arrow dictionary": lambda _: in_arrow("dictionary"),
    "arrow stream": lambda _: in_a_stream,
    "relation": lambda _: in_a_relation(),
    "relation, large text": lambda _: in_a_relation(LARGE),
    "relation, views": lambda _: in_a_relation(VIEWS),
    "pandas": lambda _: in_pandas,
    "parquet": lambda folder: in_parquet(folder, "duckdb"),
    "parquet plain": lambda folder: in_parquet(folder, "duckdb", use_dictionary=False),
    "parquet of deltas": lambda folder: in_parquet(folder, "duckdb", **DELTAS),
    "parquet dictionary": lambda folder: in_parquet(folder, "duckdb", kind="dictionary"),
    "parquet in three": lambda folder: in_parquet(folder, "duckdb", 3),
    "parquet of two types": lambda folder: in_parquet(folder, "duckdb", 4, mixed=True),
    "datafusion": lambda folder: in_parquet(folder, "datafusion"),
    "datafusion dictionary": lambda folder: in_parquet(folder, "datafusion", kind="dictionary"),
    "datafusion in three": lambda folder: in_parquet(folder, "datafusion", 3),
    "spark": lambda folder: in_parquet(folder, "spark"),
    "sqlite": lambda folder: in_sqlite(folder, "UTF-8"),
    "sqlite UTF-16": lambda folder: in_sqlite(folder, "UTF-16le"),
}


@pytest.fixture(params=[*PLACES, "parquet alone", "arrow alone"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    name = request.param
    if name == "spark":
        request.getfixturevalue("spark_session")
    if name.endswith("alone"):
        monkeypatch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
        name = {"parquet alone": "parquet", "arrow alone": "arrow string"}[name]
    return PLACES[name](tmp_path)


# --- what must hold -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("unit", [UNITS[0], UNITS[1], UNITS[4]], ids=str)
def test_names(place: Place, unit: Unit | None) -> None:
    """Secret keys and persons, against the reference of the names."""
    table = rows()
    expected = corpus.reference(named(table), GRID, unit)
    placed = place(table)
    assert totals(placed, GRID.bounds, None, unit=unit) == expected
    if unit is not None and unit.groups > 1:
        return
    alone: list[RawRow] = [(value, b"all", person) for value, _, person in table]
    whole = corpus.reference(named(alone), GRID, unit)["all"]
    if isinstance(placed["data"], pa.RecordBatchReader):  # which is read once
        placed = place(table)
    assert totals(placed, GRID.bounds, None, unit=unit, by=None) == whole


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["alice", "ü😀"], ["a?", "?", "a\0b"], ["alice", None]], ids=str)
def test_public_keys(place: Place, keys: list[str | None]) -> None:
    table = rows(1)
    ask: dict[str, Any] = {"column": VALUE, "bounds": (0, 120), "epsilon": 60, "by": GROUP}
    question = mean_question(**place(table), keys=keys, **ask)
    assert question.keys is not None
    found = question.keys.padded(question.read())
    groups = [group for _, group, _ in named(table)]
    assert list(found.keys) == [(key,) for key in keys]
    assert found.count.tolist() == [groups.count(key) for key in keys]


@pytest.mark.slow
def test_public_keys_of_persons(place: Place) -> None:
    """A person's groups are chosen among the listed ones."""
    table, keys, unit = rows(2), ["alice", "ü😀", "a?"], hg.per_person(PERSON, rows=2)
    ask: dict[str, Any] = {"column": VALUE, "bounds": (0, 120), "epsilon": 1, "by": GROUP}
    found = mean_question(**place(table), keys=keys, unit=unit, **ask).read()
    pairs = zip(found.totals.cells, found.totals.count, strict=True)
    answered = {key: pair for (key,), pair in zip(found.keys, pairs, strict=True)}
    listed = [row for row in named(table) if row[1] in keys]
    assert answered == corpus.reference(listed, GRID, unit)


def test_numbers(place: Place) -> None:
    """A column of text that is read as numbers: what is not a number is missing."""
    cells = [b"1", b"2\xff", b"\xff", b"3", b"?", b"\xc3", b" 7 ", None, b"1" * 5000, b"\xed\xa0"]
    table: list[RawRow] = [(0.0, cell, b"p") for cell in cells]
    placed = place(table)
    if placed.get("engine") == "datafusion":
        with pytest.raises(hg.OptionError, match="parse='real': datafusion cannot"):
            hg.mean(**placed, column=GROUP, bounds=(0, 8), epsilon=60, parse="real")
        return
    found = hg.mean(**placed, column=GROUP, bounds=(0, 8), epsilon=60, parse="real", grid=8)
    assert found.count == 4
    assert found.sum == pytest.approx(1 + 3 + 7 + 8)


QUICK = settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CELLS = st.one_of(st.sampled_from(BYTES), st.binary(max_size=6))


@pytest.mark.slow
@QUICK
@given(
    table=st.lists(st.tuples(st.just(1.0), CELLS, CELLS), max_size=12),
    odd=st.lists(CELLS, min_size=1, max_size=4),
)
@pytest.mark.parametrize("where", ["parquet", "arrow string", "relation", "sqlite", "datafusion"])
def test_neighbours(where: str, table: Any, odd: Any, tmp_path: Path) -> None:
    """A few added rows, whatever their bytes: no error, and only their own groups change."""
    place: Place = PLACES[where](tmp_path)
    for unit in (None, hg.per_person(PERSON)):
        before = totals(place([*table, (1.0, None, None)]), GRID.bounds, 120, unit=unit)
        added = [(1.0, cell, b"somebody %d" % i) for i, cell in enumerate(odd)]
        after = totals(place([*table, *added]), GRID.bounds, 120, unit=unit)
        expected = dict(before)
        for group in (name for name in map(name_of, odd) if name is not None):
            cells, count = expected.get(group, (0, 0))
            expected[group] = (cells + 1, count + 1)
        assert after == expected


def test_a_name_of_up_to_4096_bytes_is_asked_for() -> None:
    data = pa.table({"x": [1.0], "g": ["x" * 4096]})
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 60, "by": "g"}
    assert hg.mean(data, "x", keys=["x" * 4096], **ask)["x" * 4096].count == 1
    for key in ("x" * 4097, "ü" * 2049, "\ud800"):
        with pytest.raises(hg.OptionError, match="up to 4096 bytes"):
            hg.mean(data, "x", keys=[key], **ask)
    with pytest.raises(hg.OptionError, match="a value of type int, but column 'g' holds text"):
        hg.mean(data, "x", keys=[10**5000], **ask)


def test_columns_by_which_rows_are_found_are_refused_before_the_charge(tmp_path: Path) -> None:
    for name in ("file_row_number", "File_Row_Number", "hourglass_file"):
        pq.write_table(pa.table({"x": [1.0], "g": ["a"], name: [7]}), tmp_path / "t.parquet")
        for more in ({"delta": 1e-6}, {"keys": ["a"]}):
            with pytest.raises(hg.DataError, match="rename it"):
                hg.mean(tmp_path / "t.parquet", "x", bounds=(0, 1), epsilon=1, by="g", **more)
        assert hg.mean(tmp_path / "t.parquet", "x", bounds=(0, 1), epsilon=60).count == 1
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"x": [1.0], "g": texts([b"\xff"]), "filename": ["b"]}), path)
    found = hg.mean(path, "x", bounds=(0, 1), epsilon=60, by="g", keys=["a", None])
    assert found[None].count == 1


#: Columns of every type that a filter or a mean could read beside the text.
TYPES = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.date32(),
    pa.date64(), pa.decimal128(10, 2), pa.decimal256(50, 2), pa.time64("us"), pa.duration("ns"),
    pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.int64()), pa.struct({"a": pa.int64()}), *known_types(json_=()),
]  # fmt: skip


#: Names by which DuckDB finds rows whose text is not UTF-8.
NAMES = ["file_row_number", "hourglass_file", "filename"]


def _filled(kind: Any) -> Any:
    """Two cells of a type: numbers where it has them, else NULL."""
    try:
        return pa.array([1, 2], pa.int64()).cast(kind)
    except pa.ArrowException:
        return pa.nulls(2, kind)


@pytest.mark.attack
@pytest.mark.engine("datafusion")
@pytest.mark.parametrize(
    ("kind", "name"),
    [*((kind, "c") for kind in TYPES), *((pa.float64(), n) for n in NAMES)],
    ids=str,
)
def test_a_column_beside_text_that_is_not_utf_8(kind: Any, name: str, tmp_path: Path) -> None:
    """DuckDB reads such text in place of DataFusion; whether it can is known before the charge."""
    told = []
    for last in (b"c", b"\xff"):
        table = pa.table({"x": [1.0, 2.0], "g": texts([b"a", last]), name: _filled(kind)})
        pq.write_table(table, tmp_path / "t.parquet")
        ask: dict[str, Any] = {"bounds": (0, 9), "epsilon": 60, "engine": "datafusion"}
        ask |= {"by": "g", "keys": ["a", "c"], "where": f"{name} IS NOT NULL"}
        try:
            told.append(str(len(hg.mean(tmp_path / "t.parquet", "x", **ask))))
        except hg.RequestError as error:  # before the charge
            told.append(f"{type(error).__name__}: {error}")
    assert told[0] == told[1]
