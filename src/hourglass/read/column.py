"""Numbers in memory, of any supported type, as chunks that the kernel can add up.

Whether a column holds integers or reals is decided by its declared type. A list or an iterator
declares none and is treated as reals, so that no single element can change the grid.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from itertools import islice, starmap
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from ..core.keys import numbers_of, present
from ..core.limits import Bounds
from ..core.totals import Groups
from ..errors import DataError, OptionError
from .arrow_cells import plain_array
from .arrow_stream import declared
from .kernel import CHUNK, Chunk, Part, slices
from .source import Field, Schema, guarded
from .sql.query import Question

__all__ = ["Column", "Columns", "InMemory", "arrow_later", "column"]

Array = npt.NDArray[Any]

_TEXT_REMEDY: Final = (
    "; to read text as numbers, give a table: hg.mean(series.to_frame(), 'name', parse='real', ...)"
)
#: Python objects per chunk: each takes several times the memory of a double.
_OBJECTS: Final = CHUNK >> 3
#: The types that NumPy converts at once, by identity.
_PLAIN: Final = {id(float), id(int), id(bool)}
_REMEDY: Final = "give numbers: a list, a NumPy array, a pandas or Polars Series, an Arrow array"
#: Where types come from whose elements are groups, windows, rows or lines, none of them a number.
_OTHERS: Final = frozenset({"pandas", "polars", "pyarrow", "_io", "_csv", "sqlite3"})


class InMemory:
    """The base of the sources in memory, on which no SQL runs."""

    name: ClassVar[str] = "memory"
    parse: ClassVar[str | None] = None
    parses: ClassVar[bool] = False

    def sql(self, query: Question, bounds: Bounds) -> None:
        """No SQL runs."""


@dataclass(frozen=True)
class Column(InMemory):
    """A column of numbers: its declared kind, and where its chunks come from.

    For columns that are in memory as a whole, ``part`` returns the values between two rows and
    ``rows`` is their number, so that several columns can be read row by row.
    """

    kind: str  # "integer", "boolean" or "real"
    array: Array | None = None
    chunks: Callable[[], Iterator[Chunk]] | None = None
    part: Callable[[int, int], Part] | None = None
    rows: int = 0

    def schema(self) -> Schema:
        """One column without a name."""
        return Schema((Field("", self.kind),))

    def run(self, sql: str | None, query: Question) -> Groups:
        """The totals that the query asks for; reads the values, once."""
        with guarded("data: the values cannot be read"):
            return query.of_columns({"": self})

    def between(self, start: int, stop: int) -> Part:
        """The numbers between two rows of a column that is in memory as a whole."""
        assert self.part is not None
        return self.part(start, stop)

    def each_chunk(self) -> Iterator[Chunk]:
        """The values, in chunks of at most CHUNK rows."""
        if self.chunks is not None:
            return self.chunks()
        if self.array is not None:
            return slices(self.array)
        assert self.part is not None
        starts = range(0, self.rows, CHUNK)
        parts = (self.part(start, min(start + CHUNK, self.rows)) for start in starts)
        return starmap(present, parts)


def column(values: Any) -> Column:
    """``values`` as a column, by its type; no element is read."""
    if isinstance(values, np.ndarray):
        return _masked(values) if isinstance(values, np.ma.MaskedArray) else _numpy(values)
    if isinstance(values, str | bytes | bytearray | memoryview | Mapping) or np.isscalar(values):
        raise _not_a_column(values)
    for library, reader in (("pandas", _pandas), ("polars", _polars), ("pyarrow", _arrow)):
        if library in sys.modules and (found := reader(values, sys.modules[library])):
            return found
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return _arrow_capsule(values)
    other = type(values).__module__.split(".")[0] in _OTHERS or hasattr(values, "__array__")
    if isinstance(values, Iterable) and not other:
        return Column("real", chunks=lambda: _untyped(values))
    raise _not_a_column(values)


def _not_a_column(values: Any) -> DataError:
    name, remedy = type(values).__name__, _REMEDY
    if hasattr(values, "__array__") and not np.isscalar(values):
        remedy = "give numpy.asarray(values)"  # of a tensor, say, whose elements are tensors, too
    elif "GroupBy" in name:
        remedy = "for groups, give the frame itself, with by="
    return DataError(f"values of type {name} are not a column; {remedy}")


# --- NumPy ------------------------------------------------------------------------------

_KINDS: Final = {"b": "boolean", "i": "integer", "u": "integer", "f": "real"}


def _numpy(values: Array) -> Column:
    _one_dimension(values)
    if values.dtype.kind == "O":
        return _objects(values)
    part = lambda start, stop: (values[start:stop], None)  # noqa: E731
    return Column(_kind(values.dtype), array=values, part=part, rows=len(values))


def _objects(values: Array) -> Column:
    def part(start: int, stop: int) -> Part:
        chunks = [numbers for numbers, _ in _untyped(values[start:stop])]
        return np.concatenate([np.empty(0), *chunks]), None

    return Column("real", chunks=lambda: _untyped(values), part=part, rows=len(values))


def _masked(values: Any) -> Column:
    _one_dimension(values)
    data, mask = np.asarray(values), np.ma.getmaskarray(values)
    if data.dtype.kind == "O":
        kept: Array = data.copy()
        kept[mask] = None
        return _objects(kept)
    part = lambda start, stop: (data[start:stop], mask[start:stop])  # noqa: E731
    return Column(_kind(data.dtype), part=part, rows=len(data))


def _kind(dtype: np.dtype[Any]) -> str:
    if dtype.names:
        raise DataError(
            "a structured array is not a column; give one of its fields, as in "
            f"data[{dtype.names[0]!r}], or make it a frame, as in pandas.DataFrame(data)"
        )
    if dtype.kind not in _KINDS:
        raise _not_numbers("dtype", dtype)
    return _KINDS[dtype.kind]


def _not_numbers(what: str, declared: Any) -> DataError:
    """The error for a column of another type; only text can be read as numbers."""
    name = str(declared).lower()
    text = name.startswith(("str", "<u", "large_str", "object"))
    remedy = _TEXT_REMEDY if text else ""
    return DataError(f"values of {what} {declared} cannot be averaged; {_REMEDY}{remedy}")


def _one_dimension(values: Any) -> None:
    if values.ndim != 1:
        raise DataError(
            f"values has {values.ndim} dimensions; give one column, such as values[:, 0] "
            "or values.ravel(), or a two-dimensional array for several columns"
        )


# --- columns of frames, without importing libraries that are not in use -------------------------


def _pandas(values: Any, pandas: Any) -> Column | None:
    if isinstance(values, pandas.DataFrame):
        raise DataError("values is a table; give one column of it, such as table['age']")
    if isinstance(values, pandas.Series | pandas.Index):
        values = values.array
    if not isinstance(values, pandas.api.extensions.ExtensionArray):
        return None
    dtype = values.dtype
    if isinstance(dtype, pandas.StringDtype):
        raise _not_numbers("dtype", dtype)
    if isinstance(values, pandas.arrays.NumpyExtensionArray) or isinstance(dtype, np.dtype):
        return _numpy(values.to_numpy())
    if isinstance(dtype, pandas.ArrowDtype):
        return _arrow(values.__arrow_array__(), sys.modules["pyarrow"])
    if getattr(dtype, "numpy_dtype", None) is None or dtype.numpy_dtype.kind not in _KINDS:
        raise _not_numbers("dtype", dtype)
    plain = dtype.numpy_dtype

    def part(start: int, stop: int) -> Part:
        cut = values[start:stop]
        return cut.to_numpy(dtype=plain, na_value=plain.type(0)), cut.isna()

    return Column(_KINDS[plain.kind], part=part, rows=len(values))


def _polars(values: Any, polars: Any) -> Column | None:
    if isinstance(values, polars.DataFrame | polars.LazyFrame):
        raise DataError("values is a table; give one column of it, such as table['age']")
    if not isinstance(values, polars.Series):
        return None
    dtype = values.dtype
    wide = dtype in (polars.Int128, getattr(polars, "UInt128", None)) or dtype.is_decimal()
    if dtype.is_decimal() and find_spec("pyarrow"):
        import pyarrow  # since Polars 1 rounds decimals twice

        return _arrow(values.to_arrow(), pyarrow)
    if dtype == polars.Boolean:
        kind = "boolean"
    elif dtype.is_integer() and not wide:
        kind = "integer"
    elif dtype.is_numeric() or dtype == polars.Null:
        kind = "real"
    else:
        raise _not_numbers("dtype", dtype)

    def chunks() -> Iterator[Chunk]:
        for start in range(0, len(values), CHUNK):
            part = values.slice(start, CHUNK)
            numbers = part.cast(polars.Float64) if kind == "real" else part
            yield numbers.drop_nulls().to_numpy(), part.null_count()

    def part(start: int, stop: int) -> Part:
        cut = values.slice(start, stop - start)
        numbers = cut.cast(polars.Float64) if kind == "real" else cut
        if not cut.null_count():
            return numbers.to_numpy(), None
        zero = {"boolean": False, "integer": 0, "real": 0.0}[kind]
        return numbers.fill_null(zero).to_numpy(), cut.is_null().to_numpy()

    return Column(kind, chunks=chunks, part=part, rows=len(values))


def _arrow(values: Any, pyarrow: Any) -> Column | None:
    if isinstance(values, pyarrow.Table | pyarrow.RecordBatch):
        raise DataError("values is a table; give one column of it, such as table['age']")
    if not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return None
    found = _arrow_column(values.type, lambda: values, pyarrow)

    def part(start: int, stop: int) -> Part:
        cut = values.slice(start, stop - start)
        pieces = cut.chunks if isinstance(cut, pyarrow.ChunkedArray) else [cut]
        plain = [plain_array(piece, found.kind) for piece in pieces]
        return numbers_of(plain[0] if len(plain) == 1 else pyarrow.concat_arrays(plain))

    return replace(found, part=part, rows=len(values))


def _arrow_column(declared: Any, read: Callable[[], Any], pyarrow: Any) -> Column:
    """A column of this type, whose values ``read`` returns as an array."""
    types = pyarrow.types
    kind_type = declared.value_type if types.is_dictionary(declared) else declared
    if types.is_boolean(kind_type):
        kind = "boolean"
    elif types.is_integer(kind_type):
        kind = "integer"
    elif types.is_floating(kind_type) or types.is_decimal(kind_type) or types.is_null(kind_type):
        kind = "real"
    else:
        raise _not_numbers("type", declared)

    def chunks() -> Iterator[Chunk]:
        values = read()
        for start in range(0, len(values), CHUNK):
            part = values.slice(start, CHUNK)
            for piece in part.chunks if isinstance(part, pyarrow.ChunkedArray) else [part]:
                yield present(*numbers_of(plain_array(piece, kind)))

    return Column(kind, chunks=chunks)


def _arrow_capsule(values: Any) -> Column:
    """An Arrow array or stream of any library; before the charge only its type is requested."""
    kind, load = arrow_later(values)
    import pyarrow

    return _arrow_column(kind, load, pyarrow)


def arrow_later(values: Any) -> tuple[Any, Callable[[], Any]]:
    """The type of Arrow data of any library, and a function that loads it; a table in batches."""
    name = type(values).__name__
    try:
        import pyarrow
    except ImportError:
        raise DataError(
            f"values of type {name} are Arrow data; install pyarrow to read them"
        ) from None
    try:
        if hasattr(values, "__arrow_c_stream__"):
            field, later = declared(values)
            table = pyarrow.types.is_struct(field.type)
            read = pyarrow.RecordBatchReader.from_stream if table else pyarrow.chunked_array
            kind, load = field.type, lambda: read(later)
        elif hasattr(values, "__arrow_c_schema__"):
            kind, load = pyarrow.field(values).type, lambda: pyarrow.array(values)
        else:  # an array, which is in memory anyway
            array = pyarrow.array(values)
            kind, load = array.type, lambda: array
    except (pyarrow.ArrowException, TypeError, ValueError):
        raise DataError(f"values of type {name} are not an Arrow column; {_REMEDY}") from None
    return kind, partial(_loaded, f"values of type {name} could not be read", load)


def _loaded(failed: str, load: Callable[[], Any]) -> Any:
    with guarded(failed):
        return load()


# --- lists, iterators, arrays of objects --------------------------------------------------


def _untyped(values: Iterable[Any]) -> Iterator[Chunk]:
    """Chunks of doubles. What is not a number becomes NaN, because an error would reveal it."""
    for chunk in _lists(values):
        if {id(type(x)) for x in chunk} <= _PLAIN:  # a type of a user's may have no hash
            try:
                yield np.array(chunk, dtype=np.float64), 0
                continue
            except OverflowError:  # an integer beyond the range of doubles: convert one by one
                pass
        yield np.array([_number(x) for x in chunk], dtype=np.float64), 0


def _lists(values: Iterable[Any]) -> Iterator[list[Any]]:
    with guarded("values: the iterator failed"):  # its own message may quote a value
        left = iter(values)
        while found := list(islice(left, _OBJECTS)):
            yield found


def _number(x: Any) -> float:
    """An object as a number; NaN if it is not a number or its conversion fails."""
    kinds = (int, float, np.integer, np.floating, np.bool_, Decimal, Fraction)
    try:
        if not isinstance(x, kinds):
            return math.nan
        try:
            return float(x)
        except OverflowError:
            return float("inf") if x > 0 else float("-inf")
    except Exception:  # a signalling NaN of Decimal, or anything that a user-defined object raises
        return math.nan


# --- several columns ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns(InMemory):
    """The columns that a question needs; ``names`` are all columns of the data."""

    names: tuple[str, ...]
    columns: Mapping[str, Column]

    @classmethod
    def of(cls, data: Any, names: tuple[str, ...], wanted: tuple[str, ...]) -> Columns:
        """Open the columns of a matrix, or of a list of columns; no value is read."""
        if isinstance(data, np.ndarray):
            plain = data if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
            given = {name: plain[:, place] for place, name in enumerate(names)}
        else:
            given = dict(zip(names, data, strict=True))
            if len(set(map(len, data))) > 1:
                raise DataError(
                    "data: the columns differ in length, but a row needs one value from each of "
                    "them; give columns of equal length, with NaN or None where a value is missing"
                )
        return cls(names, {name: column(given[name]) for name in wanted if name in given})

    def schema(self) -> Schema:
        """A field for each column; the type of a column that is not needed is not determined."""
        fields = (
            Field(name, self.columns[name].kind)
            if name in self.columns
            else Field(name, "other", "unread")
            for name in self.names
        )
        return Schema(tuple(fields))

    def sql(self, query: Question, bounds: Bounds) -> None:
        """None, since no SQL runs; groups and persons need a table."""
        for option, asked in (("by", query.by), ("unit", getattr(query, "person", None))):
            if asked and not hasattr(query, "scale"):
                raise OptionError(
                    f"{option}= needs a table, but data is columns in memory; give a frame instead"
                )

    def run(self, sql: str | None, query: Question) -> Groups:
        """The totals that the query asks for; reads the values, once."""
        with guarded("data: the values cannot be read"):
            return query.of_columns(self.columns)
