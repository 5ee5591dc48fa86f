"""DuckDB databases of our own: in memory, each used by one question at a time.

Starting a database takes longer than answering a small question, so a database is kept for the next
question. No data stays in it: it caches no files, tables are registered on a cursor that is closed,
and a database that failed or spilled to disk is not kept.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, Final

from ..spill import spill_directory
from ..sql.cells import literal

__all__ = ["OwnDatabase", "connect"]

#: At most this many idle databases are kept; each has a sleeping thread per core.
_MOST: Final = 2
_idle: list[Any] = []


class OwnDatabase:
    """A database for one question, and a connection to it."""

    def __init__(self) -> None:
        self._spill = spill_directory()
        self._database = _kept(self._spill) or connect(self._spill)
        self.connection = self._database.cursor()
        self.connection.execute("SET enable_progress_bar = false")

    def close(self, *, keep: bool) -> None:
        """Drop the connection and what it refers to; keep the database if nothing is left in it."""
        self.connection.close()
        if keep and len(_idle) < _MOST and not self._spill.exists():
            _idle.append(self._database)
        else:
            self._database.close()


def _kept(spill: Path) -> Any:
    """An idle database, which will spill to the given directory; None if there is none."""
    import duckdb

    while True:
        try:
            database = _idle.pop()
        except IndexError:
            return None
        try:
            database.execute(f"SET temp_directory = {literal(str(spill))}")
        except duckdb.Error:  # it cannot be used any more
            database.close()
        else:
            return database


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


def _forget() -> None:
    """Leave the idle databases alone in a forked child, where their threads do not run.

    Closing one there would crash the child, so it is never freed.
    """
    while _idle:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_idle.pop()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
