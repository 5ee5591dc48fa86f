"""Public keys from a list, a file or a public table, as values of the ``by`` columns."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.keys import key_value, sort_key
from ..core.public import Public, is_column
from ..core.totals import Groups, Totals
from ..errors import OptionError, guarded_schema, shown
from .files import is_path
from .open import is_table
from .schema import Field

__all__ = ["PublicKeys", "public_keys"]

#: Up to this many values are listed in the query; otherwise groups are selected from its result.
LISTED: Final = 10_000


@dataclass(frozen=True)
class PublicKeys:
    """The keys to answer, in the order given, each once."""

    keys: tuple[tuple[Any, ...], ...]

    def allowed(self) -> tuple[tuple[Any, ...] | None, ...]:
        """For each column, all values that occur in a key; rows with other values are left out.

        None if they are not listed in the query: because there are too many, or because one
        contains a NUL character, which not every engine can express.
        """
        columns = [tuple(dict.fromkeys(column)) for column in zip(*self.keys, strict=True)]
        return tuple(
            None if len(column) > LISTED or any("\0" in str(v) for v in column) else column
            for column in columns
        )

    def written(self) -> list[list[str | None]]:
        """The keys as text, in which NULL differs from the text 'None'."""
        return [[None if part is None else str(part) for part in key] for key in self.keys]

    def nulls(self) -> tuple[bool, ...]:
        """For each column, whether NULL is among the keys."""
        return tuple(None in column for column in zip(*self.keys, strict=True))

    def pick(self, groups: Groups) -> Totals:
        """The totals of each key, in order; zero for a key without rows."""
        where = {key: row for row, key in enumerate(groups.all_keys())}
        rows = np.fromiter((where.get(key, -1) for key in self.keys), np.intp, len(self.keys))
        here = np.flatnonzero(rows >= 0)
        taken = groups.take(rows[here])
        parts = []
        for part in (taken.cells, taken.count, *taken.more):
            whole = np.zeros(len(self.keys), dtype=object)
            whole[here] = part
            parts.append(whole)
        cells, count, *more = parts
        return Totals(cells, count, tuple(more))


def public_keys(keys: Any, by: tuple[Field, ...], data: Any = None) -> PublicKeys:
    """The keys in a list, a file or a public table; ``data`` is the data of the question."""
    if isinstance(keys, Public):
        keys = keys.values
    else:
        _check_origin(keys, data)
    unordered = isinstance(keys, set | frozenset)
    if is_path(keys) and Path(keys).suffix == ".txt":
        rows: Iterable[Any] = _lines(keys, by)
    elif isinstance(keys, str) and not Path(keys).suffix:
        raise OptionError(
            f"keys={keys!r} is a string; give a list, as in keys=[{keys!r}], or a file"
        )
    elif is_path(keys) or is_table(keys):
        rows = _table_rows(keys, by)
    elif isinstance(keys, Iterable):
        if hasattr(keys, "to_pylist"):  # an Arrow column
            keys = keys.to_pylist()
        rows = [key if len(by) > 1 else (key,) for key in keys]
    else:
        raise OptionError(f"keys={shown(keys)} is not a list of keys; give a list or a file")
    found = list(dict.fromkeys(_key(row, by, place) for place, row in enumerate(rows)))
    if unordered:  # the order of a set differs between processes
        found.sort(key=sort_key)
    if not found:
        raise OptionError("keys is empty; list the groups, or leave out keys= and give delta=")
    return PublicKeys(tuple(found))


def _check_origin(keys: Any, data: Any) -> None:
    """Refuse keys that may come from the data itself, unless they are declared public."""
    remedy = (
        "if the names come from a public source, declare that with keys=hg.public(...); if they "
        "come from the data, they are secret: leave out keys= and give delta="
    )
    if is_path(keys):
        if is_path(data) and os.path.exists(keys) and _same_file(keys, data):
            raise OptionError(f"keys={str(keys)!r} is the data itself; {remedy}")
    elif is_table(keys) or is_column(keys):
        raise OptionError(f"keys={shown(keys)} may be a column of the data; {remedy}")


def _same_file(keys: Any, data: Any) -> bool:
    """Whether a file is the file of the data, or one of the files of a glob."""
    files = [data] if os.path.exists(data) else glob(os.fspath(data), recursive=True)
    return any(os.path.samefile(keys, name) for name in files)


def _key(row: Any, by: tuple[Field, ...], place: int) -> tuple[Any, ...]:
    if not isinstance(row, tuple | list) or len(row) != len(by):
        raise OptionError(
            f"keys[{place}] is not a tuple of {len(by)} values, one for each column of by="
        )
    return tuple(
        key_value(value, field.kind, field.name, place)
        for value, field in zip(row, by, strict=True)
    )


def _lines(path: Any, by: tuple[Field, ...]) -> list[Any]:
    if len(by) > 1:
        raise OptionError(
            f"keys={str(path)!r}: a text file of names works for one column; give a table"
        )
    if not Path(path).is_file():
        raise OptionError(f"keys={str(path)!r}: there is no such file")
    lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    return [(line,) for line in lines if line]


def _table_rows(keys: Any, by: tuple[Field, ...]) -> list[Any]:
    """The distinct keys of a table that the user declared public."""
    from .engines.duckdb import distinct_rows

    names = tuple(field.name for field in by)
    with guarded_schema("keys: the public table cannot be read"):
        return distinct_rows(keys, names)
