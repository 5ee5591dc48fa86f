"""The grey-box audit of files with several names, and of headers with a duplicate name.

A glob can match one file in several ways, an engine can treat a file name as a pattern, and a
duplicate name in a header can shift the columns after it; then one record counts several times.
Here a record, or a person with several, is added to such files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ..ask.run import mean
from ..core.limits import Unit, per_person, per_row
from ..noise.bits import Bits
from .finding import Finding
from .greybox import Path as AuditPath
from .greybox import greybox_finding

__all__ = ["MISTAKEN", "audit_files", "mistaken_finding"]

#: Creates a table with columns id and x from rows (person, value), in a folder.
Convert = Callable[[Sequence[Any], Path], Any]

_OTHERS: Final = [("ann", 1.0), ("bob", 9.0), ("bob", 2.0)]
_PAIRS: Final[list[tuple[str, list[Any], list[Any]]]] = [
    ("a row", _OTHERS, [*_OTHERS, ("zoe", 10.0)]),
    ("the only row", [], [("zoe", 5.0)]),
]
_PERSONS: Final[list[tuple[str, list[Any], list[Any]]]] = [
    ("a person with three rows", _OTHERS, [*_OTHERS, *[("zoe", 10.0)] * 3]),
    ("the only person", [], [("zoe", 5.0), ("zoe", 10.0)]),
]


def audit_files(epsilon: Fraction) -> Iterator[Finding]:
    """Links, patterns and headers."""
    yield _finding("a file that several names lead to", _linked, epsilon)
    yield _finding("a file whose name is a pattern", _patterned, epsilon)
    yield _finding("a header with a name twice", _header_of_twins, epsilon, per_person("id"))


def _finding(name: str, convert: Convert, epsilon: Fraction, unit: Unit | None = None) -> Finding:
    """One row, or one person with all of theirs, moves the totals by one record."""
    whose = unit or per_row()

    def run(rows: Sequence[Any], bits: Bits) -> Any:
        with TemporaryDirectory() as folder:
            table = convert(rows, Path(folder))
            ask: dict[str, Any] = {"bounds": (0.0, 10.0), "epsilon": epsilon, "unit": whose}
            return mean(table, "x", bits=bits, **ask).to_dict()

    path = AuditPath(name, run, records=whose.records)
    return greybox_finding(path, _PERSONS if unit else _PAIRS)


def _write(path: Path, rows: Sequence[Any], header: str = "note,x,id") -> None:
    """A CSV file whose notes are all different."""
    lines = (f"{place},{value},{person}" for place, (person, value) in enumerate(rows))
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")


def _linked(rows: Sequence[Any], folder: Path) -> str:
    (folder / "year" / "month").mkdir(parents=True)
    file = folder / "year" / "rows.csv"
    _write(file, rows)
    with suppress(OSError):  # if links are not supported, only the glob leads to it twice
        os.link(file, folder / "year" / "month" / "hard.csv")
        os.symlink(file, folder / "soft.csv")
    return str(folder / "**" / "**" / "*.csv")


def _patterned(rows: Sequence[Any], folder: Path) -> Path:
    _write(folder / "rows[12].csv", rows)
    for other in "12":  # a file that the name would match as a pattern
        _write(folder / f"rows{other}.csv", [*rows, *rows])
    return folder / "rows[12].csv"


def _header_of_twins(rows: Sequence[Any], folder: Path) -> Path:
    path = folder / "rows.csv"
    lines = (f"{value},{place},{place},{person}" for place, (person, value) in enumerate(rows))
    path.write_text("\n".join(["x,note,note,id", *lines, ""]), encoding="utf-8")
    return path


# --- files found in the engines' own way -------------------------------


def mistaken_finding(name: str, epsilon: Fraction) -> Finding:
    """One of the wrong ways below."""
    convert, unit = MISTAKEN[name]
    return _finding(name, convert, epsilon, unit)


def _every_name(rows: Sequence[Any], folder: Path) -> Any:
    _linked(rows, folder)
    return _relation([str(path) for path in folder.rglob("*.csv")])


def _as_a_pattern(rows: Sequence[Any], folder: Path) -> Any:
    return _relation([str(_patterned(rows, folder))])


def _names_once(rows: Sequence[Any], folder: Path) -> Any:
    """The columns by distinct names, so that those after a duplicate are shifted by one."""
    header, *lines = _header_of_twins(rows, folder).read_text(encoding="utf-8").splitlines()
    names = list(dict.fromkeys(header.split(",")))
    _write(folder / "shifted.csv", [])
    shifted = [dict(zip(names, line.split(","), strict=False)) for line in lines]
    _write(folder / "shifted.csv", [(row["id"], row["x"]) for row in shifted])
    return folder / "shifted.csv"


def _relation(paths: list[str]) -> Any:
    import duckdb

    columns = "columns={'note': 'VARCHAR', 'x': 'DOUBLE', 'id': 'VARCHAR'}"
    return duckdb.connect().sql(f"FROM read_csv({paths}, header=true, {columns})")


MISTAKEN: Final[dict[str, tuple[Convert, Unit | None]]] = {
    "a file read once for each of its names": (_every_name, None),
    "a name taken for a pattern": (_as_a_pattern, None),
    "columns shifted by a duplicate name": (_names_once, per_person("id")),
}
