"""The grey-box audit of names that engines treat in different ways.

A collation can make two names equal, and a reader can fail at invalid UTF-8; then one row affects
other groups than its own. Here a row with such a name is added to tables of such engines, and only
the group of exactly that name may change.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ..read.lines import is_text
from .finding import Finding
from .greybox import greybox_finding
from .paths import Convert, grouped_path, parquet_file, sqlite_table

__all__ = ["KEYS", "Row", "audit_names", "names_finding", "relation"]

#: A name as bytes, and a value.
Row = tuple[bytes, float]
KEYS: Final = ("alice", "ALICE", "alice ", "?")
#: Names that differ only in case or blanks, the replacement character, and invalid UTF-8.
ADDED: Final = (b"ALICE", b"alice ", b"Alice", b"?", b"\xff", b"alice\xff", b"\xed\xa0\x80")
BASE: Final[list[Row]] = [(b"alice", float(i % 11)) for i in range(50)] + [(b"?", 3.0)]


def audit_names(epsilon: Fraction) -> Iterator[Finding]:
    """Every kind of table whose engine has collations, or accepts any bytes as text."""
    with TemporaryDirectory() as folder:
        for name, convert in _kinds(Path(folder)).items():
            yield names_finding(name, convert, epsilon)


def names_finding(name: str, convert: Convert, epsilon: Fraction) -> Finding:
    """One row of each name added: only the group of that name moves, and by one record."""
    for added in ADDED:
        touched = added.decode(errors="ignore") if is_text(added) else "no name"
        path = grouped_path(
            name, convert, "x", touched, epsilon=epsilon, bounds=(0.0, 10.0), keys=KEYS
        )
        pair = (f"a row of {added!r}", BASE, [*BASE, (added, 10.0)])
        found = greybox_finding(path, [pair], thorough=added == ADDED[0])
        if not found.holds:
            return found
    words = f"{len(ADDED)} odd names, only the group of the name differs, by at most one record"
    return Finding("grey box", f"{name} with odd names", True, words, {"pairs": len(ADDED)})


def _kinds(folder: Path) -> dict[str, Convert]:
    kinds: dict[str, Convert] = {
        "DuckDB relation with a collation": collated_relation,
        "SQLite with a collation": lambda rows: collated_sqlite(rows, folder),
    }
    if importlib.util.find_spec("pyarrow"):
        kinds["Arrow table"] = _arrow
        kinds["Parquet file"] = lambda rows: parquet_file(folder / "names.parquet", _arrow(rows))
    if importlib.util.find_spec("pandas"):
        kinds["pandas frame of objects"] = _pandas
    return kinds


def collated_relation(rows: Sequence[Row]) -> Any:
    """A relation with a case-insensitive collation; it cannot contain invalid UTF-8."""
    texts = [(name.decode() if is_text(name) else None, value) for name, value in rows]
    return relation("g VARCHAR COLLATE NOCASE, x DOUBLE", texts)


def relation(columns: str, rows: Sequence[Sequence[Any]]) -> Any:
    """A DuckDB relation with these columns."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t ({columns})")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    return connection.table("t")


def collated_sqlite(rows: Sequence[Row], folder: Path) -> Any:
    """A file with a case-insensitive collation, with any bytes as text."""
    columns = "g TEXT COLLATE NOCASE, x REAL"
    return sqlite_table(folder / "names.db", columns, "CAST(? AS TEXT), ?", rows)


def _arrow(rows: Sequence[Row]) -> Any:
    import pyarrow

    raw = pyarrow.array([name for name, _ in rows], pyarrow.binary())
    texts = pyarrow.Array.from_buffers(pyarrow.string(), len(raw), raw.buffers())
    return pyarrow.table({"g": texts, "x": [value for _, value in rows]})


def _pandas(rows: Sequence[Row]) -> Any:
    import pandas

    names = [name.decode(errors="surrogateescape") for name, _ in rows]
    values = [value for _, value in rows]
    return pandas.DataFrame({"g": pandas.Series(names, dtype=object), "x": values})
