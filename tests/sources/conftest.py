"""Every place that a table can live in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from . import places

IN_MEMORY = ["pandas", "polars", "polars lazy", "arrow", "arrow stream", "relation"]
ON_FILE = ["relation of a file"]
SERVED = ["duckdb", "duckdb alone", "sqlite", "datafusion", "postgres", "spark"]


@pytest.fixture(scope="session", params=[*SERVED, *ON_FILE, *IN_MEMORY])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every place that a table can live in."""
    with _alone(request.param == "duckdb alone"):
        yield _place(request, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session", params=SERVED)
def engine_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One place for each engine."""
    with _alone(request.param == "duckdb alone"):
        yield _place(request, tmp_path_factory.mktemp("tables"))


@contextmanager
def _alone(wanted: bool) -> Iterator[None]:
    """DuckDB as it is without PyArrow, which hands columns over to NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        if wanted:
            patch.setattr("hourglass.sources.duckdb._arrow_is_here", lambda: False)
        yield


def _place(request: pytest.FixtureRequest, folder: Path) -> Any:
    name = request.param
    if name == "postgres":
        return places.postgres(request.getfixturevalue("postgres_url"))
    if name == "spark":
        return places.spark(request.getfixturevalue("spark_session"), folder)
    if name == "sqlite":
        return places.sqlite(folder)
    if name in ("duckdb", "duckdb alone", "datafusion"):
        return places.parquet(folder, name.split()[0])
    if name == "relation of a file":
        return places.parquet_relation(folder)
    return places.frame(name)
