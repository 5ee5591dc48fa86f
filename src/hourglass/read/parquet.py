"""Plain numbers in Parquet files, decoded by PyArrow for the kernel.

A number that is stored as it is read needs no SQL. PyArrow decodes such columns in less time than
DuckDB takes to scan them and hand them over, and each thread adds up what it has decoded while that
is in the cache.

The footers decide. A column is read here only if DuckDB and PyArrow cannot differ about it: a
number of the full range of its physical type, at the top level, in one of the oldest encodings.
DuckDB reads everything else, and every file that PyArrow fails to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from threading import Event
from typing import Any, Final, TypeVar

from .kernel import CHUNK
from .source import Field
from .threads import in_threads, threads_for

__all__ = ["Stored", "stored_numbers"]

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
        stopped = Event()

        def part(start: int, stop: int) -> Result:
            return work(self._batches(start, stop, stopped))

        try:
            threads = threads_for(sum(piece.rows for piece in self.pieces))
            return in_threads(part, len(self.pieces), threads)
        except BaseException:
            stopped.set()  # the other threads need not go on
            raise

    def _batches(self, start: int, stop: int, stopped: Event) -> Iterator[Any]:
        """Batches of at most CHUNK rows, with the columns in the order of ``names``."""
        import pyarrow.parquet as pq

        names, columns = list(self.names), list(dict.fromkeys(self.names))
        for path, pieces in groupby(self.pieces[start:stop], attrgetter("path")):
            first, *others = pieces
            with pq.ParquetFile(path, metadata=first.footer, pre_buffer=False) as file:
                for piece in (first, *others):
                    for batch in _decoded(file, piece, columns):
                        if stopped.is_set():
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
