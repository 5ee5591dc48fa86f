"""Files: their formats, by extension, the files that a path or glob names, and their headers."""

from __future__ import annotations

import glob as globbing
import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..core.urls import scheme_of, shown_url
from ..errors import DataError, OptionError, shown
from .blocks import open_binary
from .database import SCHEMES, file_url
from .lines import split_line
from .schema import Field, Schema

__all__ = [
    "CHANGED",
    "FileSet",
    "Multiline",
    "check_case",
    "check_scheme",
    "is_path",
    "multiline",
    "text_schema",
]

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
#: The error if the files are no longer those that a question was checked against.
CHANGED: Final = (
    "data: a file was replaced, emptied or removed since the question was checked; ask again once "
    "nobody writes it"
)


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

    ``paths`` are as given, for messages; engines use :attr:`absolute`.
    """

    format: str
    paths: tuple[str, ...]
    multiline: bool = False

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
    def absolute(self) -> tuple[str, ...]:
        """The absolute paths, none of which can be mistaken for a URL."""
        return tuple(os.path.abspath(path) for path in self.paths)

    @property
    def separator(self) -> str:
        """The separator of a text file."""
        return "\t" if self.format == "tsv" else ","

    def headers(self) -> frozenset[bytes]:
        """The header lines of text files, which must all name the same columns."""
        first, *others = ((name, self._header(name)) for name in self.paths)
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
        if not line:
            raise DataError(f"{path!r} has no header line; give one with the columns' names")
        return self.checked_header(path, line)

    def checked_header(self, path: str, line: bytes) -> bytes:
        """Check that a header line can be used."""
        try:
            readable = "\0" not in line.decode()
        except UnicodeDecodeError:
            readable = False
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


def text_schema(names: tuple[str, ...], wanted: tuple[str, ...]) -> Schema:
    """The schema of text files with these columns, all of them text; unnamed ones are left out.

    Names that differ only in case are distinct columns, unless a question asks for both.
    """
    check_case(tuple(name for name in wanted if name in names))
    fields = tuple(Field(name, "text", "text", typed=False) for name in names if name)
    # If the file has no header line, the names are the cells of a record: they are not listed.
    return Schema(fields, listed=False)


def check_case(wanted: tuple[str, ...]) -> None:
    """Refuse a question for two columns whose names differ only in case, which SQL ignores."""
    for i, name in enumerate(wanted):
        for other in wanted[:i]:
            if name.casefold() == other.casefold() and name != other:
                raise DataError(
                    "two of the columns asked for have names that differ in case alone, which SQL "
                    "does not tell apart; rename one of them in the header"
                )


def check_scheme(text: str) -> None:
    """Refuse the URL of anything that is not read."""
    if scheme_of(text) and scheme_of(text) not in SCHEMES:
        raise DataError(
            f"data={shown_url(text)!r} is a URL that cannot be read: databases have URLs that "
            "begin with postgresql://, duckdb:/// or sqlite:///, for hg.sql (--table), and files "
            "are read from disk, except with engine='spark'; download the file, or export the "
            "table to one, and give its path"
        )


def _named(text: str) -> list[str]:
    """The file of this name, or else those that it names as a glob."""
    if os.path.exists(text):
        return [text]
    found = globbing.glob(text, recursive=True) if globbing.has_magic(text) else []
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
