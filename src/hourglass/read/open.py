"""Open what a question names: files, tables, columns in memory, and public keys.

A file's format follows from its extension. The engine of a table is chosen by the type of the data,
or by the option ``engine=``. Several columns in memory are a matrix of numbers, or a list of
columns of equal length. They have no names, so they are called "0", "1", ... in order. Public keys
come from a list, a file or a public table, and become values of the ``by`` columns.
"""

from __future__ import annotations

import glob
import gzip
import os
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.keys import KeyColumn, Keys, Places, Public, is_column, key_column
from ..core.totals import Groups
from ..core.urls import scheme_of, shown_url
from ..errors import DataError, OptionError, SourceError, not_one_of, shown
from .blocks import open_binary
from .column import Column, Columns
from .column import column as column_of
from .database import SCHEMES, SqlSource, check_scheme, file_url
from .kept import Kept
from .lines import CHANGED, split_line
from .public import rows_of_lines, rows_of_table, share_a_file
from .source import Engine, Field, Source, engines, raise_alone

__all__ = [
    "FileSet", "PublicKeys", "columns_in_memory", "file_engines", "is_lone_column", "is_table",
    "lone_column", "multiline", "open_source", "open_table", "place_of", "public_keys",
    "unchanged",
]  # fmt: skip

_ENDINGS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_LONGEST_HEADER: Final = 1 << 20
#: The first bytes of what gzip has compressed.
_GZIP: Final = b"\x1f\x8b"


def is_path(data: Any) -> bool:
    """Whether the data is given as a path."""
    return isinstance(data, str | os.PathLike)


@dataclass(frozen=True)
class Multiline(os.PathLike[str]):
    """A path or glob of text files that are declared well formed: see :func:`multiline`."""

    path: str

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return f"multiline({self.path!r})"


def multiline(path: Any) -> Multiline:
    """A CSV or TSV file, or a glob of them, whose quoted fields may hold line breaks.

    By default each line is a record and a quoted field ends with its line, so that no record can
    change how another one is read. With ``multiline`` the owner of the data vouches that every
    quote in the file is closed, as RFC 4180 requires. The privacy promise depends on that: one
    record with an unclosed quote would swallow the records after it.
    """
    if not is_path(path):
        raise OptionError(f"path={shown(path)} is not a path; give the name of a CSV or TSV file")
    return Multiline(os.fspath(path))


@dataclass(frozen=True)
class FileSet:
    """One file, or the files that a glob matches, all of one format, each of them once.

    ``paths`` are as given, for messages; engines use ``absolute``, the absolute paths, none of
    which can be mistaken for a URL.
    """

    format: str
    paths: tuple[str, ...]
    multiline: bool = False
    absolute: tuple[str, ...] = field(init=False, repr=False)
    opened: tuple[tuple[int, ...], ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "absolute", tuple(map(os.path.abspath, self.paths)))
        object.__setattr__(self, "opened", self.state())

    @classmethod
    def of(cls, path: Any, *, remote: bool = False) -> FileSet:
        """The files that a path or a glob names; they are listed, not read.

        With ``remote``, a URL is left to the engine to resolve.
        """
        text, declared = os.fspath(path), isinstance(path, Multiline)
        if remote and "://" in text:
            found = cls(_format(text), (text,), declared)
        else:
            paths = _once(text, _named(text))
            formats = {_format(name) for name in paths}
            if len(formats) > 1:
                raise DataError(
                    f"data={shown_url(text)!r} matches files of {len(formats)} formats; give one "
                    "format"
                )
            found = cls(formats.pop(), tuple(paths), declared)
        if declared and found.format not in ("csv", "tsv"):
            raise OptionError(
                f"multiline: data={shown_url(text)!r} is not CSV or TSV; give the path without "
                "hg.multiline (--multiline)"
            )
        return found

    @property
    def is_remote(self) -> bool:
        """Whether the engine resolves the files."""
        return len(self.paths) == 1 and "://" in self.paths[0]

    @property
    def separator(self) -> str:
        """The separator of a text file."""
        return "\t" if self.format == "tsv" else ","

    def headers(self) -> frozenset[bytes]:
        """The header lines of text files, which must all name the same columns."""
        return self.checked_headers((name, self._header(name)) for name in self.paths)

    def checked_headers(self, headers: Iterable[tuple[str, bytes]]) -> frozenset[bytes]:
        """Check the header line of each file, which must all name the same columns."""
        first, *others = ((name, self._checked(name, line)) for name, line in headers)
        for name, line in others:
            if self.names(line) != self.names(first[1]):
                raise DataError(
                    f"{name!r} has other columns than {first[0]!r}; ask about them separately"
                )
        return frozenset(line for _, line in [first, *others])

    def has_headers(self, headers: frozenset[bytes]) -> bool:
        """Whether text files still have these header lines."""
        try:
            return self.headers() == headers
        except DataError:
            return False

    def is_changed(self) -> bool:
        """Whether a file was replaced or written since it was named, and may have other types."""
        return self.state() != self.opened

    def state(self) -> tuple[tuple[int, ...], ...] | None:
        """What changes if one of the files is replaced or written; None if one is not there."""
        try:
            found = [os.stat(path) for path in self.absolute]
        except OSError:
            return None
        return tuple((each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns) for each in found)

    def names(self, header: bytes) -> tuple[str, ...]:
        """The names in a header line."""
        return tuple(f.decode() for f in split_line(header, self.separator.encode()))

    def check_whole(self) -> None:
        """Read compressed files to the end, so that a truncated one is found before the charge."""
        for path in self.paths:
            if path.endswith(".gz"):
                _readable(path, _read_through)

    def _header(self, path: str) -> bytes:
        line: bytes = _readable(path, _first_line)
        if len(line) > _LONGEST_HEADER:
            raise DataError(
                f"{path!r}: its first line is longer than {_LONGEST_HEADER} bytes; give a header "
                "line with the columns' names"
            )
        return line

    def _checked(self, path: str, line: bytes) -> bytes:
        """Check that a header line can be used."""
        if not line:
            raise DataError(f"{path!r} has no header line; give one with the columns' names")
        try:
            readable = "\0" not in line.decode()
        except UnicodeDecodeError:
            readable = False
        if not readable and line.startswith(_GZIP):
            raise DataError(
                f"{path!r} is compressed by gzip, but its name does not end with .gz; rename it"
            )
        if not readable:
            raise DataError(f"{path!r}: its header line is not UTF-8; store the file as UTF-8")
        if b"\r" in line:
            raise DataError(
                f"{path!r}: its header line contains a carriage return; lines must end with a line "
                "feed, so store the file with line feeds, or with both"
            )
        if self.multiline and line.count(b'"') % 2:
            raise DataError(
                f"{path!r}: its header has a line break inside quotes; rename the column"
            )
        return line


class unchanged:  # noqa: N801 - used as a statement
    """``with unchanged(files):`` gives one error if the files changed by the end of the block.

    The cells of a new file may decide whether a query fails, and with which error; an engine may
    read a file that is gone as one without rows. Text files may grow: with ``headers``, those must
    be the same.
    """

    def __init__(self, files: FileSet | None, headers: frozenset[bytes] = frozenset()) -> None:
        self.files, self.headers = files, headers

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        del error, trace
        if self.files is None or not (kind is None or issubclass(kind, SourceError)):
            return
        files, headers = self.files, self.headers
        if not files.has_headers(headers) if headers else files.is_changed():
            raise_alone(SourceError(CHANGED))


def _named(text: str) -> list[str]:
    """The file of this name, or else those that it names as a glob."""
    if os.path.exists(text):
        return [text]
    found = glob.glob(text, recursive=True) if glob.has_magic(text) else []
    if not found and scheme_of(text) in SCHEMES:
        raise DataError(
            f"data={shown_url(text)!r} is the URL of a database; give hg.sql(url, table)"
        )
    if not found:
        check_scheme(text)
        raise DataError(
            f"data={shown_url(text)!r}: there is no such file; check the path, or the glob"
        )
    return sorted(found)


def _once(text: str, paths: list[str]) -> list[str]:
    """Each file once, whatever names and links lead to it.

    A pipe or a device is refused: it can be read once at most, and its header takes one reading.
    """
    found: dict[tuple[int, int], str] = {}
    for path in paths:
        try:
            state = os.stat(path)
        except OSError as error:
            reason = type(error).__name__
        else:
            if stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode):
                found.setdefault((state.st_dev, state.st_ino), path)
                continue
            reason = "it is a pipe, a socket or a device; store the rows in a file"
        raise DataError(f"data={shown_url(text)!r}: {path!r} cannot be read ({reason})")
    return list(found.values())


def _readable(path: str, read: Any) -> Any:
    """Call ``read`` on an open file; an error says what is wrong with the file."""
    try:
        with open_binary(path) as file:
            return read(file)
    except EOFError:
        wrong = "ends early: the compressed file is truncated; copy it again"
    except zlib.error:
        wrong = "is damaged: it cannot be decompressed; copy it again"
    except gzip.BadGzipFile:
        wrong = "is damaged, or not compressed by gzip; copy it again, or take .gz off its name"
    except PermissionError:
        wrong = "cannot be read: this user may not; change its permissions"
    except OSError as error:
        wrong = f"cannot be read ({type(error).__name__})"
    raise DataError(f"{path!r} {wrong}")


def _first_line(file: Any) -> bytes:
    start: bytes = b""
    while len(start) <= _LONGEST_HEADER and b"\n" not in start:
        more = file.read(_LONGEST_HEADER)
        if not more:
            break
        start += more
    line, _, _ = start.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    return line.removesuffix(b"\r")


def _read_through(file: Any) -> None:
    while file.read(1 << 20):
        pass


_WORKBOOKS: Final = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def _format(path: str) -> str:
    if os.path.isdir(path):
        raise DataError(
            f"data={shown_url(path)!r} is a directory; name its files with a glob, such as "
            f"{os.path.join(path, '*.parquet')!r}"
        )
    plain = path[:-3] if path.endswith(".gz") else path
    ending = Path(plain).suffix.lower()
    found = _ENDINGS.get(ending)
    if ending in _WORKBOOKS:
        raise DataError(
            f"data={shown_url(path)!r} is a workbook, in which each cell has its own type; save "
            "the sheet as CSV, or read it with pandas.read_excel(path, dtype=...) and give the "
            "frame"
        )
    if found is None and (url := file_url(path)):
        raise DataError(f"data={shown_url(path)!r} is a database; give hg.sql({url!r}, table)")
    if found is None or (path != plain and found not in ("csv", "tsv", "json")):
        raise DataError(
            f"data={shown_url(path)!r} has an unknown file extension; the known ones are "
            f"{', '.join(_ENDINGS)}"
        )
    return found


# --- data -----------------------------------------------------------------------------------------


def is_table(data: Any) -> bool:
    """Whether the data is a table rather than a column of numbers."""
    if isinstance(data, list | tuple | set | frozenset | np.ndarray | Column):
        return False  # which no engine claims
    return is_path(data) or isinstance(data, Kept) or any(kind.claims(data) for kind in engines())


def place_of(data: Any) -> str:
    """The location of a table: a path, a database and table, or the type of a frame."""
    if is_path(data):
        return str(data)
    if isinstance(data, SqlSource | Kept):
        return data.place
    return type(data).__qualname__


def lone_column(data: Any) -> Column | None:
    """The column of numbers that the data is, opened; None for a table or several columns."""
    if is_table(data) or columns_in_memory(data) is not None:
        return None
    return column_of(data)


def open_source(data: Any, wanted: tuple[str, ...], engine: str | None) -> Source:
    """Open the data; no row is read.

    ``wanted`` are the names of all columns that the question needs; empty if the data itself is a
    column of numbers. Several columns in memory are named "0", "1", ...
    """
    if isinstance(data, Kept | Column):
        return data
    if not wanted:
        return column_of(data)
    if (names := columns_in_memory(data)) is None:
        return open_table(data, wanted, engine)
    if engine is not None:
        raise OptionError(
            f"engine={shown(engine)} needs a table, but data is columns in memory; leave it out"
        )
    return Columns.of(data, names, wanted)


def open_table(data: Any, wanted: tuple[str, ...], engine: str | None = None) -> Source:
    """Open the table with the engine that claims it or that is asked for; no row is read."""
    if engine is not None:
        every = [kind.name for kind in engines()]
        if not isinstance(engine, str) or engine not in every:
            raise not_one_of("engine", engine, file_engines() if is_path(data) else every)
    if is_path(data):
        data = FileSet.of(data, remote=engine == "spark")
        data.check_whole()
    for kind in _claiming(data):
        if engine in (None, kind.name):
            return kind.open(data, wanted)
    names = ", ".join(kind.name for kind in _claiming(data))
    if not names:
        given = f"data of type {type(data).__name__} is not a table; "
        if isinstance(data, Mapping) or (isinstance(data, np.ndarray) and data.dtype.names):
            raise DataError(f"{given}make it a frame, as in pandas.DataFrame(data)")
        if isinstance(data, list | tuple):
            given += "for several files, give one glob, such as 'visits-*.parquet'; for a table, "
        raise DataError(
            f"{given}give a frame, a path, a DuckDB relation, a Spark DataFrame, hg.sql(url, "
            "table), a two-dimensional array or a list of arrays"
        )
    if isinstance(data, FileSet):
        raise OptionError(f"engine={engine!r} does not read files; use one of {names}")
    raise OptionError(f"engine={engine!r} cannot read this table; use {names}")


def _claiming(data: Any) -> Iterator[type[Engine]]:
    """The engines that claim the data, the preferred one first."""
    claimed = False
    for kind in engines():
        if kind.claims(data):
            claimed = True
            yield kind
    if not claimed and hasattr(data, "__arrow_c_stream__"):
        yield engines()[0]


def file_engines() -> list[str]:
    """The names of the engines that read files, the default first."""
    return [kind.name for kind in engines() if kind.claims(FileSet("parquet", ()))]


# --- columns in memory --------------------------------------------------------------------------


def columns_in_memory(data: Any) -> tuple[str, ...] | None:
    """The names of several columns in memory; None if the data is something else.

    Only types and shapes are inspected.
    """
    if isinstance(data, np.ndarray):
        return _numbered(data.shape[1]) if data.ndim == 2 else None
    if isinstance(data, list | tuple) and len(data) > 1 and all(map(is_lone_column, data)):
        return _numbered(len(data))
    return None


def _numbered(columns: int) -> tuple[str, ...]:
    return tuple(map(str, range(columns)))


def is_lone_column(data: Any) -> bool:
    """Whether the data is a one-dimensional column that is in memory as a whole."""
    if isinstance(data, np.ndarray):
        return data.ndim == 1 and data.dtype.names is None
    pandas, polars, pyarrow = map(sys.modules.get, ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(
        data, pandas.Series | pandas.Index | pandas.api.extensions.ExtensionArray
    ):
        return True
    if polars is not None and isinstance(data, polars.Series):
        return True
    return pyarrow is not None and isinstance(data, pyarrow.Array | pyarrow.ChunkedArray)


# --- public keys ----------------------------------------------------------------------------------

#: Up to this many values are listed in the query; otherwise groups are selected from its result.
LISTED: Final = 10_000


@dataclass(frozen=True)
class PublicKeys:
    """The keys to answer, in the order given, each once."""

    keys: Keys
    places: Places = field(repr=False, compare=False)

    def allowed(self) -> tuple[tuple[Any, ...] | None, ...]:
        """For each column, all values that occur in a key; rows with other values are left out.

        None if they are not listed in the query: because there are too many, or because one
        contains a NUL character, which not every engine can express.
        """
        return tuple(_listed(column) for column in self.keys.columns)

    def written(self) -> list[list[str | None]]:
        """The keys as text, in which NULL differs from the text 'None'."""
        return [[None if part is None else str(part) for part in key] for key in self.keys]

    def nulls(self) -> tuple[bool, ...]:
        """For each column, whether NULL is among the keys."""
        return tuple(bool(column.nulls.any()) for column in self.keys.columns)

    def padded(self, groups: Groups) -> Groups:
        """One group for each key, in order; zero for a key without rows."""
        return groups.placed(self.keys, self.places.find(groups.keys))


def _listed(column: KeyColumn) -> tuple[Any, ...] | None:
    """The distinct values, if a query can list them; see :meth:`PublicKeys.allowed`."""
    if len(set(column.take(slice(LISTED + 1)).tolist())) > LISTED:
        return None
    values = tuple(dict.fromkeys(column.tolist()))
    if len(values) > LISTED or any(isinstance(v, str) and "\0" in v for v in values):
        return None
    return values


def public_keys(keys: Any, by: tuple[Field, ...], data: Any = None) -> PublicKeys:
    """The keys in a list, a file or a public table; ``data`` is the data of the question."""
    if isinstance(keys, Public):
        keys = keys.values
    else:
        _check_origin(keys, data)
    unordered = isinstance(keys, set | frozenset)
    if is_path(keys) and Path(keys).suffix == ".txt":
        found = _of_rows(rows_of_lines(keys, by), by)
    elif isinstance(keys, str) and not Path(keys).suffix:
        raise OptionError(
            f"keys={keys!r} is a string; give a list, as in keys=[{keys!r}], or a file"
        )
    elif is_path(keys) or is_table(keys):
        found = _of_rows(rows_of_table(keys, by), by)
    elif not isinstance(keys, Iterable):
        raise OptionError(f"keys={shown(keys)} is not a list of keys; give a list or a file")
    elif len(by) == 1:
        found = Keys([_key_column(_values(keys), by[0])])
    else:
        found = _of_rows(list(keys), by)
    if not len(found):
        raise OptionError("keys is empty; list the groups, or leave out keys= and give delta=")
    if unordered:  # the order of a set differs between processes
        found = found.take(found.order())
    places = Places(found)
    if len(places.distinct) < len(found):
        found = found.take(places.distinct)
        places = Places(found)
    return PublicKeys(found, places)


def _values(keys: Any) -> Any:
    """The keys of one column, as a list, a range or an array."""
    if hasattr(keys, "to_pylist"):  # an Arrow column
        keys = keys.to_pylist()
    return keys if isinstance(keys, list | range | np.ndarray) else list(keys)


#: A value of a key for each kind of column, for the example in a message.
_SAMPLES: Final = {"text": "'a'", "integer": "1", "boolean": "True", "date": "'2026-01-31'"}


def _of_rows(rows: list[Any], by: tuple[Field, ...]) -> Keys:
    """Keys from rows with a value for each column."""
    for place, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) != len(by):
            sample = ", ".join(_SAMPLES[field.kind] for field in by)
            raise OptionError(
                f"keys[{place}] is not a tuple of {len(by)} values, one for each column of by= in "
                f"that order, as in keys=[({sample})]"
            )
    columns = zip(*rows, strict=True) if rows else [()] * len(by)
    return Keys([_key_column(column, field) for column, field in zip(columns, by, strict=True)])


def _key_column(values: Sequence[Any], field: Field) -> KeyColumn:
    return key_column(values, field.kind, field.name, written=not field.typed)


def _check_origin(keys: Any, data: Any) -> None:
    """Refuse keys that may come from the data itself, unless they are declared public."""
    remedy = (
        "if the names come from a public source, declare that with keys=hg.public(...); if they "
        "come from the data, they are secret: leave out keys= and give delta="
    )
    if is_path(keys):
        if is_path(data) and share_a_file(keys, data):
            raise OptionError(f"keys={str(keys)!r} is the data itself; {remedy}")
    elif is_table(keys) or is_column(keys):
        raise OptionError(f"keys={shown(keys)} may be a column of the data; {remedy}")
