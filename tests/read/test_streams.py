"""Arrow streams and lazy frames: before the charge their types are read, but no rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read import arrow_stream
from hourglass.read.blocks import PAD
from hourglass.read.lines import Views, records

ASK: dict[str, Any] = {"bounds": (0, 9), "epsilon": 60}


class Stream:
    """Rows of another library, which records the calls."""

    def __init__(self, table: Any) -> None:
        self.table, self.log = table, list[str]()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.log.append("opened")

        def batches() -> Any:
            self.log.append("read")
            yield from self.table.to_batches()

        reader = pa.RecordBatchReader.from_batches(self.table.schema, batches())
        return reader.__arrow_c_stream__()


class Column(Stream):
    """A column of another library."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.log.append("opened")
        return self.table.__arrow_c_stream__()


class Telling:
    """A producer that can return its schema."""

    def __init__(self, inner: Stream, kind: Any) -> None:
        self.inner, self.kind = inner, kind

    def __arrow_c_schema__(self) -> Any:
        return self.kind.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.inner.__arrow_c_stream__()


TABLE = pa.table({"x": pa.array([1, 2, None, 40], pa.int16()), "g": ["a", "b", "a", "b"]})


@pytest.mark.parametrize("tells", [False, True], ids=["opened", "tells its type"])
def test_a_table(tells: bool) -> None:
    inner = Stream(TABLE)
    data: Any = Telling(inner, TABLE.schema) if tells else inner
    question = mean_question(data, "x", **ASK)
    assert question.mechanism.grid.own  # whole numbers, which the type says
    assert inner.log == ([] if tells else ["opened"])
    assert question.read().count.tolist() == [3]
    assert inner.log == ["opened", "read"]


@pytest.mark.parametrize("tells", [False, True], ids=["opened", "tells its type"])
@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.bool_(), pa.decimal128(21, 2)])
def test_a_column(tells: bool, kind: Any) -> None:
    values = pa.chunked_array([pa.array([1, 0, None], pa.int64()).cast(kind)])
    inner = Column(values)
    data: Any = Telling(inner, values.type) if tells else inner
    question = mean_question(data, bounds=(0, 1), epsilon=60)
    assert question.mechanism.grid.own == (kind in (pa.int8(), pa.bool_()))
    assert inner.log == ([] if tells else ["opened"])
    assert question.read().count.tolist() == [2]


def test_a_column_is_not_read_if_the_budget_says_no(tmp_path: Path) -> None:
    budget = hg.create_budget(str(tmp_path / "l.db"), "b", epsilon=1)
    inner = Column(pa.chunked_array([[1.0, 2.0]]))
    with pytest.raises(hg.BudgetExceededError):
        hg.mean(Telling(inner, pa.float64()), budget=budget, **ASK)
    assert inner.log == []
    with pytest.raises(hg.DataError, match=r"not an Arrow column|cannot be averaged"):
        hg.mean(Telling(inner, pa.list_(pa.int8())), **ASK)
    with pytest.raises(hg.DataError, match="is not a table"):
        hg.mean(Column(pa.chunked_array([[1.0]])), "x", **ASK)


def test_a_stream_that_fails_quotes_nothing() -> None:
    class Failing(Stream):
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            def batches() -> Any:
                yield self.table.to_batches()[0]
                raise ValueError("canary-7351842")

            reader = pa.RecordBatchReader.from_batches(self.table.schema, batches())
            return reader.__arrow_c_stream__()

    with pytest.raises(hg.SourceError) as caught:
        hg.mean(Failing(TABLE), "x", **ASK)
    assert "canary" not in str(caught.value)


def test_a_lazy_frame_is_collected_after_the_charge() -> None:
    log = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        log.append("read")
        return frame

    kinds: Any = {"x": pl.Int16, "g": pl.Categorical, "e": pl.Enum(["a", "b"]), "h": pl.String}
    rows = {"x": [1, 2, None, 40], "g": list("abab"), "e": list("abab"), "h": list("abab")}
    lazy = pl.DataFrame(rows, schema=kinds).lazy().map_batches(seen, schema=kinds)
    for by in ("g", "e", "h"):
        question = mean_question(lazy, "x", by=by, keys=["a", "b"], **ASK)
        assert log == []
        found = question.read()
        assert dict(zip(found.keys, found.count.tolist(), strict=True)) == {
            ("a",): 1,
            ("b",): 2,
        }
        assert log
        log.clear()


def test_datasets_and_arrow_files(tmp_path: Path) -> None:
    half = pa.table({"x": pa.array([1, 2, None], pa.float32()).cast(pa.float16()), "y": [1, 2, 3]})
    pyarrow.feather.write_feather(half, tmp_path / "a.arrow", compression="uncompressed")
    assert hg.mean(tmp_path / "a.arrow", "x", **ASK).count == 2
    dataset = pyarrow.dataset.dataset(half)
    assert hg.mean(dataset, "x", **ASK).count == 2
    assert hg.mean(half.to_reader(), "x", **ASK).count == 2


# --- what text files leave behind -----------------------------------------------------------


@pytest.mark.slow
def test_nothing_is_held_after_an_answer(tmp_path: Path) -> None:
    """DuckDB asks some streams only for their schema, and reads others to the end or in part."""
    path = tmp_path / "t.csv"
    for _ in range(2):
        path.write_text("x,g\n" + "1,a\n2,b\n" * 50_000)
        hg.mean(str(path), "x", by="g", keys=["a"], **ASK)
        question = mean_question(str(path), "x", **ASK)
        path.unlink()
        with pytest.raises(hg.SourceError):
            question.read()
        del question
        gc.collect()  # tracebacks refer to what failed
        assert arrow_stream._held == {}
        assert arrow_stream._streams == {}


def test_a_stream_that_nobody_takes_is_released_unread() -> None:
    def read() -> Iterator[Views]:
        raise AssertionError("it was read")

    stream = arrow_stream.TextStream(2, read)
    for _ in range(3):
        capsule = stream.__arrow_c_stream__()
        assert (len(arrow_stream._held), len(arrow_stream._streams)) == (1, 1)
        del capsule
        assert arrow_stream._held == arrow_stream._streams == {}


@pytest.mark.slow
def test_a_stream_that_is_left_in_the_middle_ends_there() -> None:
    """Its consumer releases what it took; the capsule has nothing left to release."""
    ended = []

    def read() -> Iterator[Views]:
        try:
            while True:
                yield records(b"first\nsecond of more than twelve\n" + bytes(PAD), [0])
        finally:
            ended.append(True)

    reader = pa.RecordBatchReader.from_stream(arrow_stream.TextStream(1, read))
    batch = reader.read_next_batch()
    assert batch.to_pydict() == {"c0": ["first", "second of more than twelve"]}
    assert not ended
    del reader
    gc.collect()
    assert ended == [True]
    assert arrow_stream._streams == {}
    del batch  # which the views point into
    gc.collect()
    assert arrow_stream._held == {}
