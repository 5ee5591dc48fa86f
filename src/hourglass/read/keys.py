"""Public keys from a list, a file or a public table, as values of the ``by`` columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..core.keys import KeyColumn, Keys, Places, Public, is_column, key_column
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

    def pick(self, groups: Groups) -> Totals:
        """The totals of each key, in order; zero for a key without rows."""
        return self.padded(groups).totals


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
        found = _of_rows(_lines(keys, by), by)
    elif isinstance(keys, str) and not Path(keys).suffix:
        raise OptionError(
            f"keys={keys!r} is a string; give a list, as in keys=[{keys!r}], or a file"
        )
    elif is_path(keys) or is_table(keys):
        found = _of_rows(_table_rows(keys, by), by)
    elif not isinstance(keys, Iterable):
        raise OptionError(f"keys={shown(keys)} is not a list of keys; give a list or a file")
    elif len(by) == 1:
        found = Keys([_column(_values(keys), by[0])])
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
    return Keys([_column(column, field) for column, field in zip(columns, by, strict=True)])


def _column(values: Sequence[Any], field: Field) -> KeyColumn:
    return key_column(values, field.kind, field.name, written=not field.typed)


def _check_origin(keys: Any, data: Any) -> None:
    """Refuse keys that may come from the data itself, unless they are declared public."""
    remedy = (
        "if the names come from a public source, declare that with keys=hg.public(...); if they "
        "come from the data, they are secret: leave out keys= and give delta="
    )
    if is_path(keys):
        if is_path(data) and _share_a_file(keys, data):
            raise OptionError(f"keys={str(keys)!r} is the data itself; {remedy}")
    elif is_table(keys) or is_column(keys):
        raise OptionError(f"keys={shown(keys)} may be a column of the data; {remedy}")


def _share_a_file(keys: Any, data: Any) -> bool:
    """Whether two paths or globs have a file in common, under any of its names."""
    ours, theirs = ({_identity(file) for file in _files_of(each)} for each in (keys, data))
    return bool(ours & theirs)


def _files_of(path: Any) -> list[str]:
    """The files that a path or a glob names."""
    return [os.fspath(path)] if os.path.exists(path) else glob(os.fspath(path), recursive=True)


def _identity(file: str) -> tuple[int, int] | str:
    """What is equal for all names of a file."""
    try:
        found = os.stat(file)
    except OSError:  # a link to nothing
        return file
    return found.st_dev, found.st_ino


def _lines(path: Any, by: tuple[Field, ...]) -> list[Any]:
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


def _table_rows(keys: Any, by: tuple[Field, ...]) -> list[Any]:
    """The distinct keys of a table that the user declared public."""
    from .engines.duckdb import distinct_rows

    names = tuple(field.name for field in by)
    if is_path(keys) and not _files_of(keys):
        _check_exists(keys)
    with guarded_schema("keys: the public table cannot be read"):
        return distinct_rows(keys, names)
