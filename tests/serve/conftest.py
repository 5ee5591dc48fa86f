from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="Starlette is not installed: hourglass-dp[serve]")

from tests.ledger.conftest import place as ledger_place
from tests.ledger.conftest import postgres, postgres_server, quick_folder

from .support import Place, serving

__all__ = ["ledger_place", "postgres", "postgres_server"]


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory: commits are quick there."""
    folder = quick_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def running() -> Iterator[Place]:
    """A server for all tests of a module, on a SQLite ledger."""
    folder = quick_folder()
    place = Place(folder, str(folder / "budget.db"), epsilon=1000, allowance=300)
    with serving(place):
        yield place
    shutil.rmtree(folder, ignore_errors=True)
