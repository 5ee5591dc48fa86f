"""Tables in memory, of any supported library, as something that DuckDB scans in place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import DataError
from .arrow_cells import is_unsound, sound
from .arrow_stream import declared
from .arrow_types import check
from .objects import clean
from .objects import declared as declared_types
from .source import check_names, check_version, guarded_schema

__all__ = ["Frame", "apart", "frame_of", "is_frame", "unsound_times"]

#: Rows per batch of a dataset whose rows are only counted.
_BATCH: Final = 1 << 20
#: With an older Polars, the types of a lazy frame are not always those of its rows.
_OLDEST_LAZY: Final = (1, 40)
_FRAMES: Final = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch", "RecordBatchReader"),
    "pyarrow.dataset": ("Dataset",),
}


@dataclass(frozen=True)
class Frame:
    """The names of all columns, and what to scan, which has only the wanted columns.

    If DuckDB could look at rows to find their types, or rows are produced as they are read,
    ``scanned`` has only the types, and ``filled`` returns what to scan for the answer. ``once`` is
    whether that can be read only once. ``objects`` are the columns of Python objects, which are
    read as text.
    """

    names: tuple[str, ...]
    scanned: Any
    filled: Callable[[], Any] | None = None
    once: bool = False
    objects: frozenset[str] = frozenset()


def is_frame(data: Any) -> bool:
    """Whether the data is a frame of a library that is already imported."""
    return any(
        isinstance(data, getattr(sys.modules[library], name))
        for library, names in _FRAMES.items()
        if library in sys.modules
        for name in names
    )


def frame_of(data: Any, wanted: tuple[str, ...]) -> Frame | None:
    """``data`` as a frame; None if it is not one. No row is read."""
    for library, reader in (("pandas", _pandas), ("polars", _polars), ("pyarrow", _arrow)):
        if library in sys.modules and (found := reader(data, sys.modules[library], wanted)):
            return found
    if hasattr(data, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise DataError(
                f"data of type {type(data).__name__} is Arrow data; install pyarrow to read it"
            ) from None
        what = (
            f"data of type {type(data).__name__} is not a table; a column in memory is given "
            "without a column name"
        )
        with guarded_schema(what):
            return _stream(data, pyarrow, wanted)
    return None


def _pandas(data: Any, pandas: Any, wanted: tuple[str, ...]) -> Frame | None:
    if not isinstance(data, pandas.DataFrame):
        return None
    names = _texts(data, wanted)
    narrow = data[_known(names, wanted)]
    # DuckDB would take the index of some frames for a column, and its type from its content.
    narrow.index = pandas.RangeIndex(len(narrow))
    objects = frozenset(name for name, dtype in narrow.dtypes.items() if str(dtype) == "object")
    return Frame(names, declared_types(narrow), lambda: clean(narrow), objects=objects)


def _texts(data: Any, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The names of columns; those that are not text, which pandas allows, are left out."""
    texts = tuple(name for name in data.columns if isinstance(name, str))
    others = {str(name) for name in data.columns if not isinstance(name, str)}
    if others and (not texts or others.intersection(wanted)):
        levels = data.columns.nlevels > 1
        remedy = '["_".join(map(str, name)) for name in frame.columns]' if levels else None
        raise DataError(
            "data: the frame has columns whose names are not text, and columns are asked for by "
            f"text; rename them with frame.columns = {remedy or 'frame.columns.astype(str)'}"
        )
    return texts


def apart(scanned: Any) -> dict[str, Any]:
    """The columns of what is scanned, each as a frame of its own; no row is read."""
    select = scanned.__getitem__ if hasattr(scanned, "iloc") else scanned.select
    names = scanned.schema.names if hasattr(scanned, "column_names") else scanned.columns
    return {name: select([name]) for name in names}


def _polars(data: Any, polars: Any, wanted: tuple[str, ...]) -> Frame | None:
    if not isinstance(data, polars.DataFrame | polars.LazyFrame):
        return None
    lazy = isinstance(data, polars.LazyFrame)
    if lazy:
        check_version(polars, _OLDEST_LAZY, "a lazy frame")
    with guarded_schema("data: the columns of the lazy frame cannot be determined"):
        schema = data.collect_schema() if lazy else data.schema
    known = _known(tuple(schema), wanted)
    half = [name for name in known if schema[name] == getattr(polars, "Float16", None)]
    narrow = data.select(known).with_columns(polars.col(half).cast(polars.Float32))
    types = polars.DataFrame(schema=narrow.collect_schema())
    if any(isinstance(dtype, polars.Decimal) for dtype in types.dtypes):
        return Frame(
            tuple(schema), types.to_arrow(), lambda: sound(narrow.lazy().collect().to_arrow())
        )
    return Frame(tuple(schema), types, lambda: narrow) if lazy else Frame(tuple(schema), narrow)


def _arrow(data: Any, pyarrow: Any, wanted: tuple[str, ...]) -> Frame | None:
    if isinstance(data, pyarrow.RecordBatch):
        data = pyarrow.Table.from_batches([data])
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.Dataset):
        names = tuple(data.schema.names)
        check_names(names, names, "the dataset", folds=False)  # PyArrow would not even count rows
        known = _known(names, wanted)
        if not set(known) & set(wanted):  # which has one type in all files, unlike any column
            return Frame(
                names, _rows(0, pyarrow).read_all(), lambda: _rows(data.count_rows(), pyarrow), True
            )
        with guarded_schema("data: a file of the dataset cannot be read"):
            check(data, known)
        types = data.schema.empty_table().select(known)
        scanner = data.scanner(columns=known)
        filled = lambda: _widened(_sound(scanner.to_reader()), pyarrow)  # noqa: E731
        return Frame(names, _widened(types, pyarrow), filled, True)
    if isinstance(data, pyarrow.Table):
        names = tuple(data.schema.names)
        narrow = data.select(_places(names, wanted))
        if not any(map(is_unsound, narrow.schema.types)):
            return Frame(names, _widened(narrow, pyarrow))
        types = _widened(narrow.schema.empty_table(), pyarrow)
        return Frame(names, types, lambda: _widened(sound(narrow), pyarrow))
    if isinstance(data, pyarrow.RecordBatchReader):
        return _later(data.schema, lambda: data, pyarrow, wanted)
    return None


def _rows(count: int, pyarrow: Any) -> Any:
    """A stream of rows that are only counted."""
    schema = pyarrow.schema([("hourglass_row", pyarrow.bool_())])
    sizes = (min(_BATCH, count - start) for start in range(0, count, _BATCH))
    batches = (pyarrow.record_batch([pyarrow.nulls(n, pyarrow.bool_())], schema) for n in sizes)
    return pyarrow.RecordBatchReader.from_batches(schema, batches)


def _stream(data: Any, pyarrow: Any, wanted: tuple[str, ...]) -> Frame:
    """An Arrow stream of any library: read after the charge, and if possible not opened before."""
    field, later = declared(data)
    schema = pyarrow.schema(list(field.type))  # a table is a struct
    return _later(schema, lambda: pyarrow.RecordBatchReader.from_stream(later), pyarrow, wanted)


def _later(schema: Any, opened: Callable[[], Any], pyarrow: Any, wanted: tuple[str, ...]) -> Frame:
    """The wanted columns of a stream, which is opened when it is read."""
    names = tuple(schema.names)
    places = _places(names, wanted)
    types = schema.empty_table().select(places)

    def filled() -> Any:
        batches = (batch.select(places) for batch in opened())
        reader = pyarrow.RecordBatchReader.from_batches(types.schema, batches)
        return _widened(_sound(reader), pyarrow)

    return Frame(names, _widened(types, pyarrow), filled, True)


def _sound(reader: Any) -> Any:
    """The batches, with cells that DuckDB could misread replaced, if there can be any."""
    return sound(reader) if any(map(is_unsound, reader.schema.types)) else reader


def _widened(data: Any, pyarrow: Any) -> Any:
    """Half floats as floats, since DuckDB has no half floats."""
    half = pyarrow.float16()
    if half not in data.schema.types:
        return data
    fields = [
        field.with_type(pyarrow.float32()) if field.type == half else field for field in data.schema
    ]
    return data.cast(pyarrow.schema(fields))


def unsound_times(data: Any) -> set[str]:
    """The columns whose times DuckDB converts: with a time zone, and not in microseconds.

    Nanoseconds, which pandas uses, are safe: their range is within that of microseconds.
    """
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    if pandas is not None and isinstance(data, pandas.DataFrame):
        units = {name: _unit(dtype) for name, dtype in data.dtypes.items()}
        return {name for name, unit in units.items() if unit not in (None, "us", "ns")}
    if polars is not None and isinstance(data, polars.DataFrame):
        times = ((n, d) for n, d in data.schema.items() if isinstance(d, polars.Datetime))
        return {name for name, dtype in times if dtype.time_zone and dtype.time_unit != "us"}
    units = {field.name: _unit(field.type) for field in getattr(data, "schema", ())}
    return {name for name, unit in units.items() if unit not in (None, "us")}


def _unit(dtype: Any) -> str | None:
    """The unit of timestamps with a time zone, of pandas or Arrow; None for any other type."""
    inner = getattr(dtype, "pyarrow_dtype", dtype)
    unit: str | None = getattr(inner, "unit", None) if getattr(inner, "tz", None) else None
    return f"Arrow's {unit}" if inner is not dtype and unit not in (None, "us") else unit


def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> list[int]:
    """Where the wanted columns are; if none is, the first column, whose name may be repeated."""
    return [names.index(name) for name in _known(names, wanted)]


def _known(names: tuple[Any, ...], wanted: tuple[str, ...]) -> list[str]:
    """The wanted names that exist, each once; two that DuckDB cannot tell apart are an error."""
    texts = [name for name in names if isinstance(name, str)]
    check_names(texts, wanted, "the table", folds=False)
    known = [name for name in dict.fromkeys(wanted) if name in texts]
    check_names(known, known, "the table")
    return known or texts[:1]
