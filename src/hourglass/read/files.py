"""Files by their ending: what they are, which they are, and what they declare."""

from __future__ import annotations

import csv
import glob as globbing
import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..errors import DataError
from .schema import Field, Schema

__all__ = ["FileSet", "is_path"]

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


def is_path(data: Any) -> bool:
    """Whether the data is named by a path, and not given."""
    return isinstance(data, str | os.PathLike)


@dataclass(frozen=True)
class FileSet:
    """One file, or those that a glob names, all of one format."""

    format: str
    paths: tuple[str, ...]

    @classmethod
    def of(cls, path: Any, *, remote: bool = False) -> FileSet:
        """The files that a path or a glob names; they are found, not read.

        With ``remote`` a URL is left for the engine to find.
        """
        text = os.fspath(path)
        if remote and "://" in text:
            return cls(_format(text), (text,))
        if os.path.exists(text):
            paths = [text]
        else:
            paths = sorted(globbing.glob(text, recursive=True)) if globbing.has_magic(text) else []
        if not paths:
            raise DataError(f"data={text!r}: there is no such file; check the path, or the glob")
        formats = {_format(name) for name in paths}
        if len(formats) > 1:
            raise DataError(f"data={text!r} names files of {len(formats)} formats; name one")
        return cls(formats.pop(), tuple(paths))

    @property
    def separator(self) -> str:
        """What stands between the columns of a text file."""
        return "\t" if self.format == "tsv" else ","

    def header(self) -> tuple[str, ...]:
        """The names in the first line of a text file, the same in all of them."""
        first, *others = ((name, self._names(name)) for name in self.paths)
        for name, names in others:
            if names != first[1]:
                raise DataError(f"{name!r} has other columns than {first[0]!r}; name them apart")
        return first[1]

    def text_schema(self) -> Schema:
        """The schema of a text file: every column is text."""
        if self.format == "json":
            return Schema((), open=True)
        return Schema(tuple(Field(name, "text", "text") for name in self.header()), folds=True)

    def _names(self, path: str) -> tuple[str, ...]:
        opener: Any = gzip.open if path.endswith(".gz") else open
        try:
            with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
                line = file.readline(_LONGEST_HEADER)
        except OSError as error:
            reason = type(error).__name__
        else:
            names = tuple(next(csv.reader([line], delimiter=self.separator), []))
            if not names:
                raise DataError(f"{path!r} has no header line; give one with the columns' names")
            return names
        raise DataError(f"{path!r} cannot be read ({reason})")


def _format(path: str) -> str:
    if os.path.isdir(path):
        raise DataError(
            f"data={path!r} is a directory; name its files with a glob, such as "
            f"{os.path.join(path, '*.parquet')!r}"
        )
    plain = path[:-3] if path.endswith(".gz") else path
    ending = Path(plain).suffix.lower()
    found = _ENDINGS.get(ending)
    if found is None or (path != plain and found not in ("csv", "tsv", "json")):
        raise DataError(
            f"data={path!r} has an ending that is not known; known are {', '.join(_ENDINGS)}"
        )
    return found
