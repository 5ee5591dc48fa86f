"""Plain numbers in Parquet files, which PyArrow decodes: the same totals as through DuckDB."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.core.limits import Counts
from hourglass.core.totals import HALF, Groups
from hourglass.read.engines import duckdb as engine
from hourglass.read.engines import duckdb_answer
from hourglass.read.engines import duckdb_answer as parquet
from hourglass.read.engines.duckdb_answer import stored_numbers
from hourglass.read.source import Field

pytestmark = pytest.mark.engine("duckdb")

INF = float("inf")
REALS = [0.0, -0.0, 0.25, 0.5, 1.0, 1e-320, -3.5, 1e308, INF, -INF, float("nan"), None]
#: Every type that is read here, and cells of it.
CELLS: dict[Any, list[Any]] = {
    pa.float64(): REALS,
    pa.float32(): [*REALS, 1e38],
    pa.int64(): [0, 1, -1, 2, 100, 2**63 - 1, -(2**63), 2**53 + 1, None],
    pa.int32(): [0, 1, -1, 2, 100, 2**31 - 1, -(2**31), None],
    pa.bool_(): [True, False, None],
}


def told(groups: Groups | Counts) -> Any:
    """All that the groups, or the counts for bounds, say."""
    if isinstance(groups, Counts):
        return [np.asarray(each).tolist() for each in vars(groups).values()]
    if not groups.keys.columns:
        return groups.only.count, groups.only.sums
    sums = [(HALF * part.hi.astype(object) + part.lo).tolist() for part in groups.halves]
    return list(groups.keys), groups.count.tolist(), sums


class Used:
    """How many times PyArrow answered, and how many times DuckDB had to."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self.original, self.pyarrow, self.duckdb, self.closed = original, 0, 0, False

    def __call__(self, *words: Any) -> Any:
        found = None if self.closed else self.original(*words)
        self.pyarrow += found is not None
        self.duckdb += found is None
        return found

    def compared(self, ask: Callable[[], Any], *, here: bool = True) -> Any:
        """The totals, which are the same without PyArrow; it was used if ``here``."""
        before = self.pyarrow
        found = told(ask().read())
        assert self.pyarrow == before + here
        self.closed = True
        again = told(ask().read())
        self.closed = False
        assert found == again
        return found


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Used:
    found = Used(duckdb_answer.added_up_by_threads)
    monkeypatch.setattr(engine, "added_up_by_threads", found)
    return found


@pytest.fixture
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three threads for any number of rows, and pieces of a few rows."""
    monkeypatch.setattr(parquet, "THREADED_ROWS", 0)
    monkeypatch.setattr(parquet, "threads_for", lambda rows: 3)
    monkeypatch.setattr(parquet, "CHUNK", 4)
    monkeypatch.setattr(parquet, "_AT_ONCE", 6)


def cells(kind: Any) -> Any:
    more: dict[Any, Any] = {
        pa.float64(): st.floats(),
        pa.float32(): st.floats(width=32),
        pa.int64(): st.integers(-(2**63), 2**63 - 1),
        pa.int32(): st.integers(-(2**31), 2**31 - 1),
    }
    return st.one_of(st.sampled_from(CELLS[kind]), more.get(kind, st.none()))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Two columns of numbers and a key, all of any type, with any rows."""
    rows = draw(st.integers(0, 25))
    kinds = [draw(st.sampled_from(list(CELLS))) for _ in "xy"] + [
        draw(st.sampled_from([pa.int32(), pa.int64()]))
    ]
    columns = [draw(st.lists(cells(kind), min_size=rows, max_size=rows)) for kind in kinds]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip("xyk", arrays, strict=True)))


FORMS = st.fixed_dictionaries(
    {
        "row_group_size": st.integers(1, 12),
        "use_dictionary": st.booleans(),
        "compression": st.sampled_from(["none", "snappy", "gzip", "zstd"]),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "write_statistics": st.booleans(),
    }
)
#: The first is for booleans, too.
BOUNDS = [(0, 1), (0.0, 1.0), (-5, 100), (-1.5, 1e300)]
FORMS_OF_ALL = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.usefixtures("many_threads")
@FORMS_OF_ALL
@given(tables(), FORMS, st.data())
def test_the_totals_are_those_of_duckdb(
    used: Used,
    tmp_path: Path,
    table: pa.Table,
    form: dict[str, Any],
    data: st.DataObject,
) -> None:
    """Whatever the cells, types, encodings and row groups: one column, two, keys, bounds."""
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **form)
    numbers = pa.bool_() not in table.schema.types
    bounds = data.draw(st.sampled_from(BOUNDS if numbers else BOUNDS[:1]))
    ask: dict[str, Any] = {"bounds": bounds, "epsilon": 1}
    ask["missing"] = data.draw(st.sampled_from(["drop", bounds[0]]))
    used.compared(lambda: mean_question(path, "x", **ask))
    used.compared(lambda: mean_question(path, "x", outside="1/10", **ask))
    used.compared(lambda: mean_question(path, ["x", "y"], **ask))
    keys = range(-1, 600)  # more than a query lists
    used.compared(lambda: mean_question(path, "x", by="k", keys=keys, **ask))
    if numbers:
        used.compared(lambda: bounds_question(path, "x", epsilon=1))
    # What takes SQL is left to DuckDB.
    used.compared(lambda: mean_question(path, "x", where="k > 0", **ask), here=False)
    used.compared(lambda: mean_question(path, "x", unit=hg.per_person("k"), **ask), here=False)


def test_a_key_that_is_averaged_as_well(used: Used, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2, 2, None, 700]}), tmp_path / "t.parquet")
    ask: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "by": "k", "keys": range(600)}
    used.compared(lambda: mean_question(tmp_path / "t.parquet", "k", **ask))


@pytest.mark.enumeration
@pytest.mark.parametrize("rows", [0, 1, 4, 5, 13, 40])
@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 50])
@pytest.mark.usefixtures("many_threads")
def test_every_row_is_in_one_batch(tmp_path: Path, rows: int, size: int) -> None:
    """However the rows are divided among files, row groups, pieces and threads."""
    paths: list[str] = []
    for start in (0, rows // 3, rows // 2):
        paths.append(str(tmp_path / f"{start}-{len(paths)}.parquet"))
        column = pa.array(range(start, rows), pa.int64())
        pq.write_table(pa.table({"x": column}), paths[-1], row_group_size=size)
    stored = stored_numbers(paths, [Field("x", "integer", "BIGINT")])
    assert stored is not None

    def numbers(batches: Iterator[Any]) -> list[int]:
        found = list(batches)
        assert all(len(batch) <= 4 for batch in found)
        return [number for batch in found for number in batch.column(0).to_pylist()]

    found = Counter(number for part in stored.each(numbers) for number in part)
    assert found == Counter(n for start in (0, rows // 3, rows // 2) for n in range(start, rows))


# --- what is left to DuckDB -----------------------------------------------------------------------

OTHERS: dict[str, Any] = {
    "tiny": pa.array([1, 2], pa.int8()),
    "unsigned": pa.array([1, 2], pa.uint32()),
    "large": pa.array([1, 2**64 - 1], pa.uint64()),
    "decimal": pa.array([1, 2], pa.int32()).cast(pa.decimal128(12, 2)),
    "nested": pa.array([{"x": 1.0}, {"x": 2.0}]),
    "listed": pa.array([[1.0], [2.0]]),
    "half": pa.array(np.array([1, 2], np.float16)),
    "text": pa.array(["1", "2"]),
    "days": pa.array([1, 2], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("declared", list(parquet._TYPES))
def test_other_types(tmp_path: Path, name: str, declared: str) -> None:
    """None is taken for a plain number, whatever DuckDB may call it."""
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": OTHERS[name]}), path)
    assert stored_numbers([path], [Field("x", "real", declared)]) is None


@pytest.mark.parametrize(
    ("column", "form"),
    [
        ([1.0, 2.0], {"column_encoding": "BYTE_STREAM_SPLIT"}),
        ([1, 2], {"column_encoding": "DELTA_BINARY_PACKED"}),
        ([1.0, 2.0], {"compression": "brotli"}),
        ([1.0, 2.0], {"compression": "lz4"}),
    ],
)
def test_other_encodings_and_codecs(
    used: Used, tmp_path: Path, column: list[Any], form: dict[str, Any]
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": column}), path, use_dictionary=False, **form)
    used.compared(lambda: mean_question(path, "x", bounds=(0, 3), epsilon=1), here=False)


def test_names_that_could_be_paths(used: Used, tmp_path: Path) -> None:
    """ "a.b" is a column, or b inside of a."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a.b": [1.0], "a": [{"b": 2.0}]}), path)
    used.compared(lambda: mean_question(path, "a.b", bounds=(0, 3), epsilon=1), here=False)


def test_one_file_of_another_type_or_encoding(used: Used, tmp_path: Path) -> None:
    for name, column, form in (("a", [1.0], {}), ("b", [2.0], {"compression": "brotli"})):
        pq.write_table(pa.table({"x": column}), tmp_path / f"{name}.parquet", **form)
    ask: dict[str, Any] = {"bounds": (0, 3), "epsilon": 1}
    used.compared(lambda: mean_question(tmp_path / "a.parquet", "x", **ask))
    used.compared(lambda: mean_question(tmp_path / "*.parquet", "x", **ask), here=False)
    pq.write_table(pa.table({"x": pa.array([2.5], pa.float32())}), tmp_path / "b.parquet")
    used.compared(lambda: mean_question(tmp_path / "*.parquet", "x", **ask), here=False)


def test_many_files(used: Used, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        pq.write_table(pa.table({"x": [1.0]}), tmp_path / f"{name}.parquet")
    ask: dict[str, Any] = {"bounds": (0, 3), "epsilon": 1}
    used.compared(lambda: mean_question(tmp_path / "*.parquet", "x", **ask))
    monkeypatch.setattr(parquet, "_MOST_FILES", 2)
    used.compared(lambda: mean_question(tmp_path / "*.parquet", "x", **ask), here=False)


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [pa.ArrowInvalid, OSError, ValueError, MemoryError])
def test_what_pyarrow_cannot_read_is_read_by_duckdb(
    used: Used, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Even after some of the rows were added up."""
    pq.write_table(pa.table({"x": [1.0] * 30}), tmp_path / "t.parquet", row_group_size=2)
    monkeypatch.setattr(parquet, "CHUNK", 4)
    decoded, calls = parquet._decoded, iter(range(100))

    def fails(*words: Any) -> Any:
        if next(calls) == 3:
            raise error("secret")
        return decoded(*words)

    monkeypatch.setattr(parquet, "_decoded", fails)
    question = mean_question(tmp_path / "t.parquet", "x", bounds=(0, 3), epsilon=1)
    assert question.read().only.count == 30
    assert (used.pyarrow, used.duckdb) == (0, 1)


def test_a_name_that_pyarrow_cannot_decode(tmp_path: Path) -> None:
    """Its error is not one of Arrow's, and must not end a question that has been charged."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "zzzz": [1, 2]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"zzzz", b"z\xff\xfez"))
    assert stored_numbers([str(path)], [Field("x", "real", "DOUBLE")]) is None


def test_a_damaged_page_is_a_source_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0] * 999}), path, compression="gzip", use_dictionary=False)
    damaged = bytearray(path.read_bytes())
    start = pq.read_metadata(path).row_group(0).column(0).data_page_offset
    damaged[start + 40 : start + 60] = bytes(20)
    path.write_bytes(damaged)
    question = mean_question(path, "x", bounds=(0, 3), epsilon=1)
    with pytest.raises(hg.SourceError, match="DuckDB failed while reading"):
        question.read()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.usefixtures("many_threads")
def test_an_interrupt_ends_all_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """Nothing is answered, and the other threads stop at their next batch."""
    pq.write_table(pa.table({"x": [1.0] * 600}), tmp_path / "t.parquet", row_group_size=2)
    here, seen, resume = threading.main_thread(), Counter[bool](), threading.Event()

    def work(batches: Iterator[Any], query: Any) -> Any:
        for _ in batches:
            mine = threading.current_thread() is here
            seen[mine] += 1
            if mine:
                raise error
            resume.wait(10)

    monkeypatch.setattr(duckdb_answer, "_added", work)
    question = mean_question(tmp_path / "t.parquet", "x", bounds=(0, 3), epsilon=1)
    with pytest.raises(error):
        question.read()
    resume.set()
    for thread in threading.enumerate():
        if thread is not here and thread.name.startswith("hourglass"):
            thread.join(0.01)
    assert seen[True] == 1
    assert seen[False] <= 2
