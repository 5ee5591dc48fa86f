"""The two kinds of ledger under test, and calls of the forking harness."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from hourglass.ledger import Budget, create_budget, grant_role
from tests import apart

HARNESS = Path(__file__).with_name("harness.py")


@dataclass(frozen=True)
class SqlitePlace:
    """A ledger file, and a way to edit it in spite of its triggers."""

    location: str
    kind: str = "sqlite"

    def edit(self, statement: str) -> None:
        with closing(sqlite3.connect(self.location)) as connection:
            triggers = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            ).fetchall()
            for name, _ in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(statement)
            for _, sql in triggers:
                connection.execute(sql)
            connection.commit()

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.location)) as connection:
            connection.execute(statement)
            connection.commit()


@dataclass(frozen=True)
class PostgresPlace:
    """A database with a ledger, and a way to edit it in spite of its triggers."""

    location: str
    kind: str = "postgres"
    user: str = "postgres"

    def edit(self, statement: str) -> None:
        self.execute("ALTER TABLE hourglass.entries DISABLE TRIGGER USER")
        self.execute(statement.replace("entries", "hourglass.entries"))
        self.execute("ALTER TABLE hourglass.entries ENABLE TRIGGER USER")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.location, autocommit=True) as connection:
            connection.execute(statement.encode())

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.location, autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def role(self, name: str, options: str = "") -> PostgresPlace:
        """The same database, as a new role that can log in and has no rights of its own."""
        role = f"{name}_{os.urandom(4).hex()}"
        self.execute(f"CREATE ROLE {role} LOGIN {options}")
        return PostgresPlace(self.location.replace("postgres:@", f"{role}:@"), user=role)


Place = SqlitePlace | PostgresPlace


def shared(place: Place) -> str:
    """The ledger for the harness: in PostgreSQL, the owner's URL and that of a plain analyst."""
    if place.kind == "sqlite":
        return place.location
    assert isinstance(place, PostgresPlace)
    analyst = place.role("ann")
    create_budget(place.location, "other", epsilon=1)
    grant_role(place.location, analyst.user)
    return f"{place.location} {analyst.location}"


def fresh(place: Place, epsilon: Any = 1, delta: Any = 0, **options: Any) -> Budget:
    """A new budget named b in a new ledger."""
    return create_budget(place.location, "b", epsilon=epsilon, delta=delta, **options)


def harness(command: str, *arguments: object, timeout: float = 600) -> dict[str, Any]:
    """Run one command of the forking harness and read what it reports."""
    done = apart.run(
        [sys.executable, str(HARNESS), command, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert isinstance(report, dict)
    return report
