"""Arrow cells that their own type does not allow: no other row is read for them, and none fails.

DuckDB reads vectors of 2,048 rows. Where a decimal did not fit, it left the memory as it was, with
the cell at the same place of the vector before: so the rows here span several vectors.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.errors import DataError, OptionError
from hourglass.read.arrow_cells import sound_array
from tests.tools import known_types

VECTOR = 2048
FRAMES = ["arrow", "reader", "polars", "lazy", "pandas", "dataset", "feather"]
ASK: dict[str, Any] = {"bounds": (0, 100), "epsilon": 1, "grid": 100}


def decimals(raw: list[int], kind: Any, offset: int = 0) -> pa.Array:
    """An array with these raw integers, which nobody checks."""
    known = {value: value.to_bytes(kind.byte_width, "little", signed=True) for value in {*raw}}
    data = b"".join(map(known.__getitem__, raw))
    return pa.Array.from_buffers(kind, len(raw) - offset, [None, pa.py_buffer(data)], offset=offset)


def framed(table: pa.Table, kind: str, folder: Path) -> Any:
    if kind == "reader":
        return table.to_reader()
    if kind in ("polars", "lazy"):
        frame = pl.DataFrame(pl.from_arrow(table))
        return frame.lazy() if kind == "lazy" else frame
    if kind == "pandas":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    if kind == "dataset":
        return ds.dataset(table)
    if kind == "feather":
        feather.write_feather(table, folder / "t.feather", compression="uncompressed")
        return folder / "t.feather"
    return table


def totals(question: Any) -> tuple[int, int]:
    found = question.read().totals
    return int(found.count[0]), int(found.cells[0])


# --- decimals -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("type_", [pa.decimal128(4, 2), pa.decimal128(9, 2), pa.decimal128(18, 2)])
def test_no_row_is_read_twice(kind: str, type_: Any, tmp_path: Path) -> None:
    """One victim, and forty rows beyond the type at the same place of later vectors."""
    for beyond, cell in ((2**127 - 1, 100), (-(2**127), 0)):  # 99.99 is in the cell 100, too
        found = []
        for victim in (0, 9900):
            raw = [victim, *[0] * (VECTOR - 1), *[beyond, *[0] * (VECTOR - 1)] * 40]
            data = framed(pa.table({"x": decimals(raw, type_)}), kind, tmp_path)
            found.append(totals(mean_question(data, "x", **ASK)))
        assert found == [(len(raw), 40 * cell), (len(raw), 40 * cell + 99)]


@pytest.mark.attack
@pytest.mark.parametrize("kind", FRAMES)
def test_nor_is_it_counted_twice(kind: str, tmp_path: Path) -> None:
    found = []
    for victim in (0, 9900):
        raw = [victim, *[0] * (VECTOR - 1), *[2**100, *[0] * (VECTOR - 1)] * 20]
        table = pa.table({"x": decimals(raw, pa.decimal128(9, 2))})
        question = count_question(framed(table, kind, tmp_path), where="x > 50", epsilon=1)
        found.append(totals(question)[0])
    assert found == [20, 21]


RAW = st.one_of(
    st.integers(-(10**5), 10**5),
    st.sampled_from([0, 1, -1, 9999, 10**4, 10**9 - 1, 10**9, -(10**9), 2**31 - 1, -(2**31)]),
)
WIDE = st.one_of(RAW, st.integers(-(2**127), 2**127 - 1), st.integers(-(2**63), 2**63 - 1))


@pytest.mark.slow
@settings(max_examples=300)
@given(
    st.lists(WIDE, min_size=1, max_size=30),
    st.integers(1, 18),
    st.integers(0, 3),
    st.lists(st.booleans(), min_size=30, max_size=30),
)
@pytest.mark.property
def test_a_decimal_with_too_many_digits_is_the_largest_of_its_type(
    raw: list[int], precision: int, offset: int, there: list[bool]
) -> None:
    """Caught: the high word ignored, an offset ignored, the validity lost."""
    offset, most = min(offset, len(raw)), 10**precision - 1
    given_ = decimals(raw, pa.decimal128(precision, 0), offset)
    found = sound_array(given_)
    expected = [max(-most, min(most, value)) for value in raw[offset:]]
    assert found.type == given_.type
    assert [int(value.as_py()) for value in found] == expected
    masked = pa.array(
        expected, pa.decimal128(precision, 0), mask=np.array(there[: len(expected)], np.bool_)
    )
    assert sound_array(masked).equals(masked)


@pytest.mark.parametrize("type_", known_types(decimal32=(4, 0), decimal64=(9, 0)))
def test_narrow_decimals(type_: Any) -> None:
    most, top = 10**type_.precision - 1, 2 ** (8 * type_.byte_width - 1)
    found = sound_array(decimals([0, top - 1, -top, most, most + 1, -most - 1], type_))
    assert [int(v.as_py()) for v in found] == [0, most, -most, most, most, -most]


def wide_parquet(path: Path, raw: list[int], precision: int) -> None:
    """DECIMAL(precision, 2) in 16 bytes, which Parquet allows: PyArrow writes 38, patched here."""
    array = decimals(raw, pa.decimal128(38, 2))
    pq.write_table(
        pa.table({"x": array}), path, use_dictionary=False, compression="NONE",
        write_statistics=False, store_schema=False,
    )  # fmt: skip
    data = bytearray(path.read_bytes())
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    places = [i for i in range(start, len(data) - 8) if data[i] == 76 and data[i - 1] in (21, 37)]
    assert len(places) == 2  # 38, as a zigzag varint, in the schema and in the logical type
    for place in places:
        data[place] = 2 * precision
    path.write_bytes(data)


@pytest.mark.parametrize("precision", [4, 9, 18])
def test_decimals_in_more_bytes_than_duckdb_has_are_refused(precision: int, tmp_path: Path) -> None:
    """Whatever their cells are; one of them would make the query fail."""
    path = tmp_path / "t.parquet"
    for raw in ([100, 200], [100, 10**30]):
        wide_parquet(path, raw, precision)
        assert pq.read_schema(path).field("x").type == pa.decimal128(precision, 2)
        with pytest.raises(DataError, match=r"more bytes than its digits need.*datafusion"):
            mean_question(path, "x", **ASK)
        with pytest.raises(OptionError, match=r"more bytes than its digits need.*datafusion"):
            count_question(path, where="x > 1", epsilon=1)
        for data in (ds.dataset(path), pl.scan_parquet(path), pq.read_table(path)):
            count, cells = totals(mean_question(data, "x", **ASK))
            assert (count, cells) == (2, 1 + min(100, -(-min(raw[1], 10**precision - 1) // 100)))


@pytest.mark.engine("datafusion")
def test_datafusion_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    wide_parquet(path, [100, 10**30], 9)
    assert totals(mean_question(path, "x", engine="datafusion", **ASK)) == (2, 101)


@pytest.mark.slow
def test_decimals_in_as_few_bytes_as_they_need_are_read(tmp_path: Path) -> None:
    """As PyArrow writes them, for every number of digits."""
    for precision in range(3, 39):
        path = tmp_path / f"{precision}.parquet"
        column = pa.array([1, 2], pa.decimal128(precision, 2))
        for integers in (False, True):
            pq.write_table(pa.table({"x": column}), path, store_decimal_as_integer=integers)
            assert totals(mean_question(path, "x", **ASK)) == (2, 3)


# --- dictionaries -------------------------------------------------------------------------------

INDICES = st.sampled_from([pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64()])


@pytest.mark.slow
@settings(max_examples=300)
@given(INDICES, st.data())
@pytest.mark.property
def test_an_index_outside_the_dictionary_is_missing(type_: Any, data: st.DataObject) -> None:
    """Caught: indices past 2^63, negative ones, or one past the end."""
    info = np.iinfo(type_.to_pandas_dtype())
    indices = data.draw(
        st.lists(st.one_of(st.integers(info.min, info.max), st.integers(0, 3), st.none()))
    )
    values: list[Any] = data.draw(st.sampled_from([["a", "b"], [1.5, 2.5, 3.5], []]))
    array = pa.DictionaryArray.from_arrays(
        pa.array(indices, type_), pa.array(values or [], pa.float64() if not values else None),
        safe=False,
    )  # fmt: skip
    found = sound_array(array)
    assert found.type == array.type
    found.validate(full=True)
    expected = [values[i] if i is not None and 0 <= i < len(values) else None for i in indices]
    assert found.to_pylist() == expected


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["arrow", "reader", "feather", "dataset"])
@pytest.mark.parametrize("index", [2, -1, 127])
def test_no_group_is_made_up(kind: str, index: int, tmp_path: Path) -> None:
    rows = 3000
    indices = pa.array([0] * (rows - 1) + [index], pa.int8())
    names = pa.DictionaryArray.from_arrays(indices, pa.array(["aaa", "bbb"]), safe=False)
    table = pa.table({"k": names, "x": np.ones(rows)})
    question = mean_question(framed(table, kind, tmp_path), "x", by="k", delta="1e-5", **ASK)
    groups = question.read()
    assert list(groups.keys) == [("aaa",)]
    assert groups.totals.count.tolist() == [rows - 1]


def test_numbers_of_a_dictionary_in_memory() -> None:
    """Caught: PyArrow's own error, after the charge and with the index."""
    indices = pa.array([0] * 10 + [4711], pa.int32())
    numbers = pa.DictionaryArray.from_arrays(indices, pa.array([1.0, 2.0]), safe=False)
    assert totals(mean_question(numbers, **ASK)) == (10, 10)
    assert totals(mean_question(pa.table({"x": numbers}), "x", **ASK)) == (10, 10)


def test_a_foreign_error_of_a_column_in_memory_is_withheld() -> None:
    class Odd:
        def __arrow_c_array__(self, requested: Any = None) -> Any:
            return pa.array([1.0]).__arrow_c_array__(requested)

        def __arrow_c_schema__(self) -> Any:
            return pa.int64().__arrow_c_schema__()

    with pytest.raises(hg.HourglassError) as caught:
        hg.mean(Odd(), bounds=(0, 1), epsilon=1)
    assert caught.value.__cause__ is None


def test_chunks_with_dictionaries_of_their_own() -> None:
    """Caught: chunks put together before their indices are checked, which follows them."""
    parts = [
        pa.DictionaryArray.from_arrays(
            pa.array([0, 1, index], pa.int32()), pa.array(names), safe=False
        )
        for index, names in ((2, ["aaa", "bbb"]), (10**8, ["ccc", "aaa"]))
    ]
    column = pa.chunked_array(parts)
    expected = ["aaa", "bbb", None, "ccc", "aaa", None]
    assert sound_array(column).to_pylist() == expected
    frame = pd.DataFrame({"k": pd.arrays.ArrowExtensionArray(column), "x": np.ones(6)})
    for data in (frame, pa.table({"k": column, "x": np.ones(6)})):
        groups = mean_question(data, "x", by="k", delta="1e-5", **ASK).read()
        found = dict(
            zip([key for (key,) in groups.keys], groups.totals.count.tolist(), strict=True)
        )
        assert {key: count for key, count in found.items() if key} == {"aaa": 2, "bbb": 1, "ccc": 1}


@pytest.mark.parametrize("type_", [pa.decimal128(9, 2), pa.dictionary(pa.int8(), pa.string())])
def test_no_rows(type_: Any, tmp_path: Path) -> None:
    """Caught: an empty array, which may have no memory at all."""
    table = pa.schema([("x", type_), ("y", pa.float64())]).empty_table()
    for kind in FRAMES:
        question = mean_question(framed(table, kind, tmp_path), "y", **ASK)
        assert totals(question) == (0, 0)
        if pa.types.is_decimal(type_):
            assert totals(mean_question(framed(table, kind, tmp_path), "x", **ASK)) == (0, 0)
    assert totals(mean_question(pa.array([], pa.decimal128(9, 2)), **ASK)) == (0, 0)


# --- times --------------------------------------------------------------------------------------


@pytest.mark.engine("datafusion")
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize(("year", "day"), [(9999, 5373484), (1600, 2305448)])
def test_old_timestamps_beyond_nanoseconds(year: int, day: int, files: int, tmp_path: Path) -> None:
    """The years 9999 and 1600, which Hive and Spark wrote for "never"."""
    path, old = tmp_path / "a.parquet", 7_777_777_777_000
    times = pa.array([1, old, 3], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"t": times, "x": [1.0, 2.0, 3.0]}), path, use_dictionary=False,
        compression="NONE", write_statistics=False, store_schema=False,
        use_deprecated_int96_timestamps=True,
    )  # fmt: skip
    data = path.read_bytes()
    patched = data.replace(struct.pack("<qi", old, 2440588), struct.pack("<qi", 0, day))
    assert patched != data
    path.write_bytes(patched)
    if files == 2:
        (tmp_path / "b.parquet").write_bytes(data)
    for engine in ("duckdb", "datafusion"):
        ask = ASK | {"engine": engine, "where": f"YEAR(t) = {year}"}
        assert totals(mean_question(tmp_path / "*.parquet", "x", **ask)) == (1, 2)


# --- any bytes ----------------------------------------------------------------------------------

NUMBERS = [
    pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
    pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    *known_types(decimal32=(5, 2), decimal64=(12, 3)),
    *(pa.decimal128(digits, 2) for digits in (3, 4, 5, 9, 10, 18, 19, 38)),
]  # fmt: skip
TIMES = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
         pa.timestamp("us", "UTC"), pa.timestamp("ns", "Europe/Berlin")]  # fmt: skip


def random_bytes(kind: Any, rows: int, seed: int) -> pa.Array:
    """Cells of any bytes; half of them are small, as most data is."""
    dice, width = np.random.default_rng(seed), kind.bit_width // 8
    cells = dice.integers(0, 256, (rows, width), dtype=np.uint8)
    cells[::2, 1 if width > 1 else 0 :] = 0
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(cells.tobytes())])


@pytest.mark.attack
@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (type_, kind)
        for i, type_ in enumerate([*NUMBERS, *TIMES])
        # Arrow's own tables and readers hand over cells as they are; of the others, one in turn.
        for kind in ("reader", ["arrow", "feather", "dataset"][i % 3])
    ],
    ids=str,
)
def test_the_order_of_rows_does_not_matter(type_: Any, kind: str, tmp_path: Path) -> None:
    """Whatever the cells hold. Caught: memory of earlier rows that is read in place of a cell.

    Refused types are refused by their name alone, so for every order.
    """
    rows, found = 4 * VECTOR, set[Any]()
    array = random_bytes(type_, rows, seed=rows)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(rows)
        table = pa.table({"x": array.take(pa.array(order))})
        data = framed(table, kind, tmp_path)
        try:
            if type_ in NUMBERS:
                found.add(totals(mean_question(data, "x", **ASK)))
            else:
                found.add(totals(count_question(data, where="x > '2000-01-01'", epsilon=1)))
        except (DataError, OptionError):
            found.add(None)
    assert len(found) == 1
    assert found != {None} or type_ in TIMES
