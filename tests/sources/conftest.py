"""Every place that a table can live in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from . import places

IN_MEMORY = ["pandas", "polars", "polars lazy", "arrow", "arrow stream", "relation"]
ON_FILE = ["relation of a file"]
SERVED = ["duckdb", "sqlite", "datafusion", "postgres", "spark"]


@pytest.fixture(scope="session", params=[*SERVED, *ON_FILE, *IN_MEMORY])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Every place that a table can live in."""
    return _place(request, tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session", params=SERVED)
def engine_place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One place for each engine."""
    return _place(request, tmp_path_factory.mktemp("tables"))


def _place(request: pytest.FixtureRequest, folder: Path) -> Any:
    name = request.param
    if name == "postgres":
        return places.postgres(request.getfixturevalue("postgres_url"))
    if name == "spark":
        return places.spark(request.getfixturevalue("spark_session"), folder)
    if name == "sqlite":
        return places.sqlite(folder)
    if name in ("duckdb", "datafusion"):
        return places.parquet(folder, name)
    if name == "relation of a file":
        return places.parquet_relation(folder)
    return places.frame(name)
