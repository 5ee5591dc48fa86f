"""Public keys that stand in a file of their own, or in a table that is declared public."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from ..errors import OptionError
from .source import Field, guarded_schema

__all__ = ["rows_of_lines", "rows_of_table", "share_a_file"]


def share_a_file(keys: Any, data: Any) -> bool:
    """Whether two paths or globs have a file in common, under any of its names."""
    ours, theirs = ({_identity(file) for file in _files_of(each)} for each in (keys, data))
    return bool(ours & theirs)


def _files_of(path: Any) -> list[str]:
    """The files that a path or a glob names."""
    return [os.fspath(path)] if os.path.exists(path) else glob.glob(os.fspath(path), recursive=True)


def _identity(file: str) -> tuple[int, int] | str:
    """What is equal for all names of a file."""
    try:
        found = os.stat(file)
    except OSError:  # a link to nothing
        return file
    return found.st_dev, found.st_ino


def rows_of_lines(path: Any, by: tuple[Field, ...]) -> list[Any]:
    """A row for each line of a text file."""
    if len(by) > 1:
        raise OptionError(
            f"keys={str(path)!r}: a text file of names works for one column; give a table with "
            f"the columns {', '.join(repr(field.name) for field in by)}"
        )
    _check_exists(path)
    lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    return [(line,) for line in lines if line]


def _check_exists(path: Any) -> None:
    if not Path(path).is_file():
        raise OptionError(f"keys={str(path)!r}: there is no such file; check the path")


def rows_of_table(keys: Any, by: tuple[Field, ...]) -> list[Any]:
    """The distinct keys of a table that the user declared public."""
    from .engines.duckdb import distinct_rows

    names = tuple(field.name for field in by)
    if isinstance(keys, str | os.PathLike) and not _files_of(keys):
        _check_exists(keys)
    with guarded_schema("keys: the public table cannot be read"):
        return distinct_rows(keys, names)
