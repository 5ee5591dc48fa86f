"""A cell of many characters is read in time, by the rule of all cells, wherever text is read."""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.read.sql.expression.words import _matches
from tests.read import places

#: More digits than Python's int() takes of a text, and enough for what is quadratic to be seen.
LONG = 6_000
NINES, ZEROS, SPACES = "9" * LONG, "0" * LONG, " " * LONG
#: Texts, and what they are as a real and as an integer, clamped to 0 to 10.
CELLS: list[tuple[str, float | None, int | None]] = [
    (NINES, 10, 10),
    (f"-{NINES}", 0, 0),
    (f"{ZEROS}7", 7, 7),
    (f"-{ZEROS}7", 0, 0),
    (f"+{ZEROS}", 0, 0),
    (f"{SPACES}7{SPACES}", 7, 7),
    (f"0.{ZEROS}1", 0, None),
    (f"7.{ZEROS}", 7, None),
    (f"1e{NINES}", 10, None),
    (f"7e{ZEROS}", 7, None),
    *(
        (start + NINES + end, None, None)
        for start in ("", ".", "1.", "1e", f"{NINES}.")
        for end in ("x", " x", ".x", "e1x", "e")
        if (start, end) != (f"{NINES}.", ".x")
    ),
    (f"{SPACES}x", None, None),
    (f"7{SPACES}x", None, None),
]


def placed(engine: str, table: pa.Table, request: pytest.FixtureRequest, folder: Path) -> Any:
    if engine == "sqlite":
        return places.sqlite(folder)(table)
    if engine == "spark":
        return places.spark(request.getfixturevalue("spark_session"), folder)(table)
    if engine == "duckdb":
        return places.parquet(folder, engine)(table)
    path = folder / "t.csv"
    path.write_text("x,k\n" + "".join(f"{text},a\n" for text in table["x"].to_pylist()))
    return {"data": path}


@pytest.mark.parametrize("parse", ["real", "integer"])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "duckdb csv", "spark"])
def test_long_numbers(
    engine: str, parse: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """One cell neither ends the query nor takes a time that grows with its square."""
    table = pa.table({"x": [text for text, *_ in CELLS], "k": ["a"] * len(CELLS)})
    ask = placed(engine, table, request, tmp_path)
    question = mean_question(**ask, column="x", bounds=(0, 10), epsilon=1, parse=parse, grid=10)
    start = time.perf_counter()
    found = question.read().only
    assert time.perf_counter() - start < 10
    told = [real if parse == "real" else whole for _, real, whole in CELLS]
    numbers = [number for number in told if number is not None]
    assert (found.cells, found.count) == (sum(numbers), len(numbers))


@pytest.mark.slow
@pytest.mark.parametrize("parse", ["real", "integer"])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "duckdb alone", "duckdb csv", "spark"])
def test_long_numbers_that_are_names_too(
    engine: str, parse: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """As a name such a cell is NULL, as a number it is what it was, whoever counts."""
    texts = [text for text, *_ in CELLS] + ["7"]
    table = pa.table({"x": texts, "k": ["a"] * len(texts)})
    ask = placed(engine.removesuffix(" alone"), table, request, tmp_path)
    told = [real if parse == "real" else whole for _, real, whole in CELLS]
    numbers = [number for number in told if number is not None]
    more: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "parse": parse, "grid": 10}
    units = [hg.per_row(), hg.per_person("k", rows=99, groups=2)]
    for by, nothing in (("x", None), (["x", "k"], (None, "a"))):
        keys: list[Any] = [nothing, "7" if by == "x" else ("7", "a")]
        # On Spark, where a query takes long, each unit once.
        for unit in units if engine != "spark" else units[by == "x" :][:1]:
            question = mean_question(**ask, column="x", by=by, keys=keys, unit=unit, **more)
            assert question.keys is not None
            found = question.keys.padded(question.read()).totals
            assert list(found.cells) == [sum(numbers), 7]
            assert list(found.count) == [len(numbers), 1]


# --- LIKE on SQLite -------------------------------------------------------------------------------


def test_patterns_match_as_a_regular_expression_would() -> None:
    """Every pattern of up to four characters on every text of up to five."""
    texts = ["".join(t) for n in range(6) for t in itertools.product("ab", repeat=n)]
    for pattern in ("".join(p) for n in range(5) for p in itertools.product("ab%_", repeat=n)):
        expected = re.compile(pattern.replace("%", ".*").replace("_", "."))
        wrong = [t for t in texts if _matches(t, pattern) is not bool(expected.fullmatch(t))]
        assert not wrong, (pattern, wrong[:3])
    assert _matches("a%\n_", "_\\%%\\_")
    assert not _matches("ab\n_", "_\\%%\\_")


def test_long_texts_match_in_time(tmp_path: Path) -> None:
    ask = places.sqlite(tmp_path)(pa.table({"t": ["a" * 4096] * 40}))
    start = time.perf_counter()
    for pattern in ("%a%b", "%a%a_b", "a%a%b", "%aaa%aab"):
        assert count_question(**ask, where=f"t LIKE '{pattern}'", epsilon=1).read().only.count == 0
    assert time.perf_counter() - start < 5
    assert hg.count(**ask, where="t LIKE '%a%a_a'", epsilon=60).count == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"column": "k", "by": "x", "delta": 0.5}, 0.1),
        ({"column": "k", "where": "x LIKE '%7'"}, 0.1),
        ({"column": "x", "parse": "real"}, 1.1),
        ({"column": "x", "parse": "integer"}, 1.1),
    ],
)
def test_long_texts_in_sqlite_are_not_copied(
    asked: dict[str, Any], most: float, tmp_path: Path
) -> None:
    """Caught: one cell of text for which Python needs a multiple of its size, and may not get it.

    No name is as long, and a number is ASCII, which the bytes tell without being decoded.
    """
    size, path = 8_000_000, tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x TEXT, k INTEGER)")
    rows = [("7", 1), ("\N{GRINNING FACE}" * (size // 4), 2)]
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    del rows
    question = mean_question(hg.sql(f"sqlite:///{path}", "t"), bounds=(0, 9), epsilon=1, **asked)
    tracemalloc.start()
    try:
        found = question.read()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert int(found.count.sum()) == 1
    assert peak < most * size
