"""DuckDB's results as totals: rows that are handed over, or groups without PyArrow.

A number that is stored as it is read needs no SQL. PyArrow decodes such columns in less time than
DuckDB takes to scan them and hand them over, and each thread adds up what it has decoded while that
is in the cache.

The footers decide. A column is read here only if DuckDB and PyArrow cannot differ about it: a
number of the full range of its physical type, at the top level, in one of the oldest encodings.
DuckDB reads everything else, and every file that PyArrow fails to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import groupby
from operator import attrgetter
from threading import Event
from typing import Any, Final, TypeVar

import numpy as np

from ...core.keys import NAMELESS, KeyColumn, Keys, numbers_of, present
from ...core.totals import Groups, Halves
from ..by_group import groups_of_blocks
from ..kernel import CHUNK, Part
from ..several import totals_of_blocks
from ..source import Field
from ..sql.histogram import Histogram
from ..sql.query import Query, Question
from ..threads import THREADED_ROWS, in_threads, threads_for

__all__ = ["Stored", "added_up", "added_up_by_threads", "of_arrays", "stored_numbers"]

Result = TypeVar("Result")

#: A larger row group is decoded in batches, because it would take too much memory as a whole.
_AT_ONCE: Final = 1 << 20
#: The footers of all files are held at once.
_MOST_FILES: Final = 1_000

#: DuckDB's types whose values are all those of a physical type, and PyArrow's name for each.
_TYPES: Final = {
    "DOUBLE": ("DOUBLE", "double"),
    "FLOAT": ("FLOAT", "float"),
    "BIGINT": ("INT64", "int64"),
    "INTEGER": ("INT32", "int32"),
    "BOOLEAN": ("BOOLEAN", "bool"),
}
#: No annotation, or one that repeats the physical type.
_ANNOTATIONS: Final = {"NONE", "INT_32", "INT_64"}
_ENCODINGS: Final = {"PLAIN", "RLE", "BIT_PACKED", "PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_CODECS: Final = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"}

#: Rows per batch of one column, and half as many for several: few enough that a batch is still in
#: the cache when the kernel gets it, and enough that the kernel's calls take little of the time.
#: With a quarter of them, one column takes a sixth longer. Rows with persons are not halved: the
#: more of them are in a batch, the fewer pieces are put together afterwards.
_BATCH: Final = 1 << 17


def added_up(relation: Any, query: Question) -> Groups | None:
    """The totals of the rows of a relation, read in batches and added up by the kernel.

    None if there are too many rows to be sorted by person here.
    """
    _keep_memory()
    of_persons = isinstance(query, Histogram) and query.of_integers
    rows = _BATCH if len(relation.columns) == 1 or of_persons else _BATCH // 2
    with relation.to_arrow_reader(rows) as reader:  # closed whatever happens
        return _added(reader, query)


def added_up_by_threads(paths: Sequence[str], query: Question) -> Groups | None:
    """The same for plain numbers in Parquet files, without DuckDB; None if it has to read them."""
    fields = query.plain_fields
    stored = stored_numbers(paths, fields) if fields else None
    if stored is None:
        return None
    _keep_memory()
    try:
        return _together([found for found in stored.each(partial(_added, query=query)) if found])
    except Exception:
        return None  # DuckDB may be able to read the files, or says what is wrong with them


def _together(parts: Sequence[Groups]) -> Groups:
    """The totals of all rows; the parts have the same keys in the same order."""
    keys = parts[0].keys
    if keys is NAMELESS:
        first, *others = (part.only for part in parts)
        return Groups.of_total(sum(others, first))
    count = reduce(np.add, (part.count for part in parts))
    halves = tuple(
        Halves(reduce(np.add, (h.hi for h in each)), reduce(np.add, (h.lo for h in each)))
        for each in zip(*(part.halves for part in parts), strict=True)
    )
    return Groups(keys, count, halves)


def _added(batches: Iterable[Any], query: Question) -> Groups | None:
    if isinstance(query, Query) and query.by:
        assert query.places is not None
        return groups_of_blocks(map(_named_rows, batches), query.places, query.targets)
    if isinstance(query, Query) and len(query.values) > 1:
        blocks = ([numbers_of(column) for column in batch.columns] for batch in batches)
        return query.of_sums(*totals_of_blocks(blocks, query.targets))
    if isinstance(query, Histogram) and query.of_integers:
        return query.of_persons(map(_of_persons, batches))
    return query.of_chunks(present(*numbers_of(batch.column(0))) for batch in batches)


@cache
def _keep_memory() -> None:
    """Let the C library keep the memory of a batch for the next ones, once per process.

    glibc returns freed blocks to the system if they are larger than any that was freed before, up
    to 32 MB. Every batch would then be written to new pages, which takes a fifth of the processor
    time of a scan. Freeing this block, no page of which is touched, raises the limit.
    """
    np.empty(31 << 17)


def _of_persons(batch: Any) -> tuple[Any, Any]:
    """The persons and the numbers of the rows in a batch that have a number."""
    (persons, _), (numbers, absent) = map(numbers_of, batch.columns)
    with np.errstate(all="ignore"):  # a warning about a signalling NaN would reveal it
        there = numbers == numbers
    if absent is not None:
        there &= ~absent
    return (persons, numbers) if there.all() else (persons[there], numbers[there])


def _named_rows(batch: Any) -> tuple[Keys, list[Part]]:
    """The keys of the rows, which are integers, and their columns."""
    (names, absent), *columns = map(numbers_of, batch.columns)
    return Keys([KeyColumn(names.astype(np.int64, copy=False), absent)]), columns


def of_arrays(columns: dict[str, Any], query: Question) -> Groups:
    """Totals from NumPy arrays: the keys, the count, the halves of the sums."""
    keys = [_values(columns[name], field) for name, field in zip(query.keys, query.by, strict=True)]
    numbers = list(columns.values())[len(keys) :]
    return Groups.of(Keys(keys), *numbers)


def _values(column: Any, field: Field) -> KeyColumn:
    """The values of a key column; NULL is masked in the result."""
    if field.kind == "date":
        column = column.astype("datetime64[D]")
    absent = np.ma.getmaskarray(column)
    found = KeyColumn.of(np.ma.getdata(column))
    if found.whole:
        return KeyColumn(np.where(absent, 0, found.values), absent)
    found.values[absent] = None
    return found


# --- plain numbers in Parquet files, decoded by PyArrow -------------------------------------------


@dataclass(frozen=True, repr=False)
class _Piece:
    """Row groups of one file that are decoded together."""

    path: str
    footer: Any
    groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True, repr=False)
class Stored:
    """Columns of plain numbers in Parquet files, in pieces; a name may be repeated."""

    names: tuple[str, ...]
    pieces: tuple[_Piece, ...]

    def each(self, work: Callable[[Iterator[Any]], Result]) -> list[Result]:
        """``work`` applied to the batches of each thread; every row is in one batch."""
        rows = sum(piece.rows for piece in self.pieces)
        if rows < THREADED_ROWS:
            return [work(self._batches(self.pieces))]
        stopped = Event()

        def part(start: int, stop: int) -> Result:
            return work(self._batches(self.pieces[start:stop], stopped))

        try:
            return in_threads(part, len(self.pieces), threads_for(rows))
        except BaseException:
            stopped.set()  # the other threads need not go on
            raise

    def _batches(self, pieces: Sequence[_Piece], stopped: Event | None = None) -> Iterator[Any]:
        """Batches of at most CHUNK rows, with the columns in the order of ``names``."""
        import pyarrow.parquet as pq

        names, columns = list(self.names), list(dict.fromkeys(self.names))
        for path, of_file in groupby(pieces, attrgetter("path")):
            first, *others = of_file
            with pq.ParquetFile(path, metadata=first.footer, pre_buffer=False) as file:
                for piece in (first, *others):
                    for batch in _decoded(file, piece, columns):
                        if stopped is not None and stopped.is_set():
                            return
                        yield batch.select(names)


def _decoded(file: Any, piece: _Piece, columns: list[str]) -> Iterator[Any]:
    groups = list(piece.groups)
    if piece.rows <= _AT_ONCE:
        whole = file.read_row_groups(groups, columns=columns, use_threads=False)
        return iter(whole.to_batches(CHUNK))
    batches: Iterator[Any] = file.iter_batches(CHUNK, groups, columns, use_threads=False)
    return batches


def stored_numbers(paths: Sequence[str], fields: Sequence[Field]) -> Stored | None:
    """The columns, if PyArrow can read them; None if DuckDB has to."""
    import pyarrow.parquet as pq

    if not 0 < len(paths) <= _MOST_FILES or any(f.declared not in _TYPES for f in fields):
        return None
    pieces: list[_Piece] = []
    for path in paths:
        try:
            footer = pq.read_metadata(path)
            plain = all(_is_plain(footer, field) for field in fields)
        except Exception:  # whatever it cannot read, such as a name that is not UTF-8
            return None
        if not plain:
            return None
        pieces += _pieces(path, footer)
    return Stored(tuple(field.name for field in fields), tuple(pieces))


def _pieces(path: str, footer: Any) -> Iterator[_Piece]:
    """The row groups of a file; small ones together, up to a CHUNK of rows."""
    groups: list[int] = []
    held = 0
    for number in range(footer.num_row_groups):
        rows = footer.row_group(number).num_rows
        if groups and held + rows > CHUNK:
            yield _Piece(path, footer, tuple(groups), held)
            groups, held = [], 0
        groups.append(number)
        held += rows
    if groups:
        yield _Piece(path, footer, tuple(groups), held)


def _is_plain(footer: Any, field: Field) -> bool:
    """Whether a file stores the column as the numbers that are read, and nothing nested."""
    schema = footer.schema
    places = [i for i in range(footer.num_columns) if schema.column(i).path == field.name]
    if len(places) != 1 or "." in field.name:  # which could also be a member of a structure
        return False
    (place,) = places
    column, (physical, arrow) = schema.column(place), _TYPES[field.declared]
    return (
        column.physical_type == physical
        and column.converted_type in _ANNOTATIONS
        and column.logical_type.type in ("NONE", "INT")
        and column.max_repetition_level == 0
        and column.max_definition_level <= 1
        and str(schema.to_arrow_schema().field(field.name).type) == arrow
        and all(_is_common(footer.row_group(i).column(place)) for i in range(footer.num_row_groups))
    )


def _is_common(chunk: Any) -> bool:
    """Whether both readers know how a column chunk is compressed and encoded."""
    return (
        chunk.compression in _CODECS
        and _ENCODINGS.issuperset(chunk.encodings)
        and not chunk.file_path
    )
