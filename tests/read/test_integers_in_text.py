"""parse="integer": whole numbers of any length are clamped as they are in memory."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.core.limits import Bounds, Grid

ENDS = [0, 2**31, 2**53, 2**63, 2**64, 2**65, 2**70, 10**30, 10**38, 10**39, 10**60]
NUMBERS = [sign * (end + d) for end in ENDS for sign in (1, -1) for d in range(-3, 4)]
BOUNDS = [
    (0, 120),
    (2**63 - 2**20, 2**63 + 2**20),
    (-(2**63) - 2, -(2**63) + 2),
    (2**70 - 2, 2**70 + 2**30),
    (-(10**30) - 2, -(10**30) + 2),
    (2**63 - 3, 2**63 - 1),
    (10**38 - 4, 10**38 - 1),
]
#: Bounds too wide for a cell to be a number: cells of doubles.
WIDE = [(0, 2**70), (-(2**80), 2**80), (0, 10**45), (-(2**63), 2**63), (0, 10**400 // 10**200)]


@pytest.fixture(params=["duckdb", "duckdb alone", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    if request.param == "duckdb alone":
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
    return str(request.param).split()[0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    dice = random.Random(1)
    texts = [dice.choice(["{}", " {}", "{} ", "0{}"]).format(n) for n in NUMBERS if n >= 0]
    texts += [dice.choice(["{}", " {}", "{} "]).format(n) for n in NUMBERS if n < 0]
    texts += ["+7", "-0", "0007", "1.5", "1e3", "", "abc", "5\r", "５", "--5", "9" * 500]
    found = tmp_path / "a.csv"
    found.write_bytes(("x,y\n" + "".join(f"{text},1\n" for text in texts)).encode())
    return found


#: What the other texts say.
MORE = [7, 0, 7, int("9" * 500)]


@pytest.mark.slow
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_on_their_own_grid(path: Path, engine: str, bounds: tuple[int, int]) -> None:
    asked = mean_question(path, "x", bounds=bounds, epsilon=1, parse="integer", engine=engine)
    grid = asked.mechanism.grid
    assert grid.own
    cells = [grid.cell(n) for n in [*NUMBERS, *MORE]]
    found = asked.read()
    assert found.count.tolist() == [len(cells)]
    assert found.totals.cells.tolist() == [sum(c for c in cells if c is not None)]


@pytest.mark.slow
@pytest.mark.parametrize("bounds", WIDE, ids=range(len(WIDE)))
def test_on_a_grid_of_reals(path: Path, engine: str, bounds: tuple[int, int]) -> None:
    asked = mean_question(
        path, "x", bounds=bounds, epsilon=1, parse="integer", engine=engine, grid=1000
    )
    grid = asked.mechanism.grid
    assert grid == Grid.choose(Bounds(*bounds), 1000)
    found = asked.read()
    cells = [grid.cell(_double(n)) for n in [*NUMBERS, *MORE]]
    assert found.count.tolist() == [len(cells)]
    assert found.totals.cells.tolist() == [sum(c for c in cells if c is not None)]


def _double(number: int) -> float:
    return float(number) if abs(number) < 10**300 else float("inf")


def test_counts_for_bounds(path: Path, engine: str) -> None:
    scale = [-(10**30), -(2**64), -(2**63), 0, 7, 2**63 - 1, 2**63, 2**63 + 1, 2**64, 10**38 - 2]
    asked = bounds_question(path, "x", epsilon=1, scale=scale, parse="integer", engine=engine)
    counts = asked.read()
    numbers = [*NUMBERS, *MORE]
    for attribute, lies in (("below", int.__lt__), ("above", int.__gt__)):
        found = getattr(counts, attribute)
        assert list(found) == [sum(lies(n, c) for n in numbers) for c in scale], attribute


def test_bounds_past_38_digits_are_refused(path: Path) -> None:
    bounds = (10**40, 10**40 + 10)
    with pytest.raises(hg.BoundsError, match="38 digits"):
        hg.mean(path, "x", bounds=bounds, epsilon=1, parse="integer")


@pytest.mark.parametrize("bounds", [b for b in [*BOUNDS, *WIDE] if max(map(abs, b)) > 2**63])
def test_bounds_beyond_what_sqlite_reads_are_refused(
    tmp_path: Path, bounds: tuple[int, int]
) -> None:
    """There a number beyond 64 bits counts as the largest, so wider bounds would be wrong."""
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (x TEXT)")
        connection.execute("INSERT INTO t VALUES ('5')")
        connection.commit()
    source = hg.sql(f"sqlite:///{tmp_path / 't.db'}", "t")
    ask: dict[str, Any] = {"epsilon": 1, "parse": "integer"}
    with pytest.raises(hg.BoundsError, match="beyond 64 bits"):
        hg.mean(source, "x", bounds=bounds, **ask)
    hg.mean(source, "x", bounds=(-(2**62), 2**62), **ask)
