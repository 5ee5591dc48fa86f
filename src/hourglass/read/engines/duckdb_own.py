"""DuckDB databases of our own: in memory, each used by one question at a time.

Starting a database takes longer than answering a small question, so a database is kept for the next
question. No data stays in it: it caches no files, tables are registered on a cursor that is closed,
and a database in which reading the rows failed, or that spilled to disk, is not kept.

A question that is refused, or only explained, never closes its database. It is kept all the same,
as soon as nothing refers to the question any more.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ..source import spill_directory
from ..sql.cells import literal

__all__ = ["OwnDatabase", "connect"]

#: At most this many idle databases are kept; each has a sleeping thread per core.
_MOST: Final = 2
#: The idle databases, and where each would spill to.
_idle: list[tuple[Any, Path]] = []
#: Those that a question has.
_open: weakref.WeakSet[OwnDatabase] = weakref.WeakSet()


class OwnDatabase:
    """A database for one question, and a connection to it; neither outlives this object."""

    def __init__(self) -> None:
        self._database, self._spill, self.connection = opened = _kept() or _started()
        self._unclosed = weakref.finalize(self, _abandoned, *opened)
        self._unclosed.atexit = False
        _open.add(self)

    def close(self, *, keep: bool) -> None:
        """Drop the connection and what it refers to; keep the database if nothing is left in it.

        Later calls do nothing, since another question may have the database by then.
        """
        if self._unclosed.detach():
            database, self._database = self._database, None
            _close(database, self._spill, self.connection, keep=keep)

    def leave(self) -> None:
        """Never use or free it, in a forked child, where freeing it would crash the process."""
        if self._unclosed.detach():
            _never_free(self._database, self.connection)


def _close(database: Any, spill: Path, connection: Any, *, keep: bool) -> None:
    connection.close()
    if not keep or spill.exists():
        database.close()
        return
    # Another thread, or the collector in this one, may do the same in between.
    _idle.append((database, spill))
    if len(_idle) > _MOST:
        with suppress(IndexError):
            _idle.pop(0)[0].close()


def _abandoned(database: Any, spill: Path, connection: Any) -> None:
    """Keep the database of a question that was never run; called at any time, in any thread."""
    with suppress(Exception):  # whose message, which Python would print here, may quote data
        _close(database, spill, connection, keep=True)


Opened = tuple[Any, Path, Any]


def _started() -> Opened:
    """A new database, where it spills to, and a connection to it."""
    spill = spill_directory()
    database = connect(spill)
    return database, spill, _connected(database)


def _kept() -> Opened | None:
    """The same of an idle database; None if there is none that can be used."""
    import duckdb

    while True:
        try:
            database, spill = _idle.pop()
        except IndexError:
            return None
        fresh = spill_directory()
        try:
            if fresh.parent != spill.parent:  # the private directory was replaced
                database.execute(f"SET temp_directory = {literal(str(fresh))}")
                spill = fresh
            return database, spill, _connected(database)
        except duckdb.Error:  # it cannot be used any more
            database.close()


def _connected(database: Any) -> Any:
    cursor = database.cursor()
    cursor.execute("SET enable_progress_bar = false")
    return cursor


def connect(spill: Path | None = None) -> Any:
    """An in-memory database that shows and logs nothing about what it reads."""
    import duckdb

    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "enable_external_file_cache": "false",
            "pandas_analyze_sample": "0",  # an object column is text, whatever it contains
            "preserve_insertion_order": "false",
            "temp_directory": str(spill or spill_directory()),
        }
    )
    connection.execute("SET enable_progress_bar = false")
    # The minimum and maximum in Parquet statistics ignore NaN. DuckDB uses them to fold
    # comparisons, ISNAN and IS NULL, so whether a NaN is counted would depend on other rows.
    connection.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


@atexit.register
def _close_idle() -> None:
    """Close the idle databases; DuckDB may otherwise write to stderr about them as Python ends."""
    while _idle:
        with suppress(Exception):
            _idle.pop()[0].close()


def _forget() -> None:
    """Leave all databases alone in a forked child, where their threads do not run."""
    while _idle:
        _never_free(_idle.pop()[0])
    for own in _open:
        own.leave()


def _never_free(*inherited: Any) -> None:
    for each in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
