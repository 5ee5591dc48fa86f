"""Attacks on everything but the noise: errors, messages, plans, groups, logs.

Every kind of table is queried twice, with and without one poisoned row. Only the noise may differ
or, with the noise held fixed, what follows from the totals.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.audit import RecordingBits
from hourglass.core.unit import Unit
from hourglass.ledger import Budget, create_budget
from hourglass.noise import SeededBits
from tests.tools import command, everything

pytestmark = pytest.mark.attack

CANARY = "canary-7351842"
NUMBERS = [0.0, 1.0, 2.0, 3.0, 4.0] * 4


def csv(rows: list[Any], folder: Path) -> Any:
    (folder / "t.csv").write_text("x,g\n" + "".join(f"{'' if r is None else r},a\n" for r in rows))
    return folder / "t.csv"


def json_lines(rows: list[Any], folder: Path) -> Any:
    lines = (json.dumps({"x": row if _finite(row) else str(row), "g": "a"}) for row in rows)
    (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "t.jsonl"


def _finite(row: Any) -> bool:
    return row is None or not isinstance(row, float) or math.isfinite(row)


def parquet(rows: list[Any], folder: Path) -> Any:
    pq.write_table(pa.table({"x": pa.array(rows, pa.float64())}), folder / "t.parquet")
    return folder / "t.parquet"


def relation(rows: list[Any], folder: Path) -> Any:
    return duckdb.connect().read_parquet(str(parquet(rows, folder)))


def frame(rows: list[Any], folder: Path) -> Any:
    return pd.DataFrame({"x": pd.Series(rows, dtype="float64")})


def polars_frame(rows: list[Any], folder: Path) -> Any:
    return pl.DataFrame({"x": pl.Series(rows, dtype=pl.Float64)})


def sqlite(rows: list[Any], folder: Path) -> Any:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "t.db")) as connection:
        connection.execute("DROP TABLE IF EXISTS t")
        connection.execute("CREATE TABLE t (x REAL)")  # a declared type, which SQLite ignores
        connection.executemany("INSERT INTO t VALUES (?)", [(row,) for row in rows])
        connection.commit()
    return hg.sql(f"sqlite:///{folder / 't.db'}", "t")


def datafusion(rows: list[Any], folder: Path) -> Any:
    return parquet(rows, folder)


Place = Callable[[list[Any], Path], Any]
TYPED = [math.nan, math.inf, -math.inf, None, -0.0, 5e-324, 1.7e308]
TEXT = [*TYPED, CANARY, "1e400", str(2**70), "", '"', "NULL", "1,5", "0x10", " 7 "]
PLACES: list[tuple[Place, list[Any]]] = [
    (csv, TEXT),
    (json_lines, TEXT),
    (sqlite, [*TYPED, CANARY, 2**62, b"\x00\xff"]),
    (parquet, TYPED),
    (datafusion, TYPED),
    (relation, TYPED),
    (frame, TYPED),
    (polars_frame, TYPED),
]
CASES = [(place, poison) for place, poisons in PLACES for poison in poisons]


#: What is seen of each place without poison, found once.
CLEAN: dict[Place, dict[str, Any]] = {}


def seen(place: Place, rows: list[Any], folder: Path, caplog: Any) -> dict[str, Any]:
    """Everything observable but the noise: status, shape of the answer, charge, log."""
    caplog.clear()
    name = f"b{len(list(folder.glob('*.ledger')))}"
    ledger = str(folder / f"{name}.ledger")
    create_budget(ledger, name, epsilon=1)
    budget = Budget(ledger, name)
    engine = "datafusion" if place is datafusion else None
    found: dict[str, Any] = {}
    try:
        release = hg.mean(
            place(rows, folder), "x", bounds=(0.0, 10.0), epsilon=1, budget=budget, engine=engine
        )
        public = {"epsilon", "bounds", "grid", "own_grid", "algorithm", "unit", "private"}
        answer = release.to_dict()
        found["answer"] = {key: answer[key] for key in sorted(public & answer.keys())}
        found["keys"] = sorted(answer)
    except hg.HourglassError as error:
        found["error"] = everything(error)
    return found | {"spent": budget.balance().spent.epsilon, "log": caplog.text}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "poison"), CASES, ids=lambda x: x.__name__ if callable(x) else repr(x)[:20]
)
def test_error_oracle(
    place: Place, poison: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Below this level DataFusion logs its plans, with the file's name.
    caplog.set_level(logging.INFO)
    if place not in CLEAN:
        CLEAN[place] = seen(place, NUMBERS, tmp_path, caplog)
    poisoned = seen(place, [*NUMBERS, poison], tmp_path, caplog)
    assert "error" not in CLEAN[place]
    assert poisoned == CLEAN[place]


@pytest.mark.parametrize("odd", [CANARY, {CANARY: 1}, 1j, b"5", [1.0], object(), CANARY.split])
def test_a_list_with_something_else_in_it(odd: Any) -> None:
    """A list declares no type: an element that is not a number is silently missing."""
    for kind in (list, iter, lambda rows: np.array(rows, dtype=object)):
        answers = [
            hg.mean(kind(rows), bounds=(0, 1), epsilon=1, bits=SeededBits(1)).to_dict()
            for rows in ([1.0, None], [1.0, odd])
        ]
        assert answers[0] == answers[1]


# --- cells in messages --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("extra", [(), ("--by", "g", "--keys", "a,z"), ("--missing", "3")])
@pytest.mark.parametrize("format_", ["table", "json", "csv", "yaml"])
def test_canary(tmp_path: Path, extra: tuple[str, ...], format_: str) -> None:
    """A distinctive cell, as value and as group, appears in no output and not in the ledger."""
    path = tmp_path / "t.csv"
    path.write_text(f"x,g\n1,a\n{CANARY},{CANARY}\n2,a\n")
    ledger = tmp_path / "b.db"
    create_budget(str(ledger), "b", epsilon=1)
    told = command(
        "mean", path, "x", "--bounds", 0, 10, "--epsilon", 1, "--format", format_, *extra,
        "--budget", "b", "--ledger", ledger,
    )  # fmt: skip
    assert told.code == 0, told.err
    kept = b"".join(file.read_bytes() for file in tmp_path.glob("b.db*"))
    assert CANARY not in told.out + told.err
    assert CANARY.encode() not in kept


def test_canary_in_an_error(tmp_path: Path) -> None:
    """If an engine fails on a cell and quotes it, the quotation is not passed on."""
    source = duckdb.connect().sql(
        f"SELECT CAST(v AS DOUBLE) AS x FROM (VALUES ('1'), ('{CANARY}')) AS t(v)"
    )
    with pytest.raises(hg.SourceError) as caught:
        hg.mean(source, "x", bounds=(0, 1), epsilon=1)
    assert CANARY not in everything(caught.value)
    with pytest.raises(duckdb.Error, match=CANARY):  # without our handling it would be
        source.fetchall()


# --- type inference by content ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("poison", ["abc", "0.5", "1e400", "2026-01-01", "", str(2**70)])
@pytest.mark.parametrize("place", [csv, json_lines])
def test_type_inference(place: Place, poison: str, tmp_path: Path) -> None:
    """Text files have no types: the plan is the same whatever their last row contains."""
    plans = set()
    for rows in (["1", "2"] * 3000, [*["1", "2"] * 3000, poison]):
        source = place(rows, tmp_path)
        plans.add(hg.mean(source, "x", bounds=(0, 10), epsilon=1, explain=True))
        plans.add(str(hg.mean(source, "x", bounds=(0, 10), epsilon=1).grid))
    assert len(plans) == 2  # one SQL, one grid


def test_type_inference_of_frames() -> None:
    """One 0.5 in a list of integers does not change the grid, nor in an array of objects."""
    for rows in ([1, 2, 3], [1, 2, 0.5], [1, None, 3]):
        assert hg.mean(rows, bounds=(0, 10), epsilon=1).grid == 2**32
        objects = np.array(rows, dtype=object)
        assert hg.mean(objects, bounds=(0, 10), epsilon=1).grid == 2**32


# --- presence of a group ------------------------------------------------------------------


def table(names: list[str]) -> pa.Table:
    return pa.table({"x": [1.0] * len(names), "g": names})


@pytest.mark.slow
def test_presence_of_a_public_group() -> None:
    """Listed groups without rows get noise, others are dropped, and the order is that of the
    list."""
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "g"}
    keys = ["b", "nobody", "a"]
    names = ["a"] * 5 + ["b"] * 5
    recorded = RecordingBits()
    before = hg.mean(table(names), "x", keys=keys, bits=recorded, **ask)
    after = hg.mean(table([*names, "unlisted"]), "x", keys=keys, bits=recorded.replayed(), **ask)
    assert list(before) == keys
    assert before.to_dict() == after.to_dict()
    counts = {
        hg.mean(table(names), "x", keys=keys, **ask)["nobody"].noisy_totals.cells for _ in range(10)
    }
    assert len(counts) > 5


@pytest.mark.slow
def test_presence_of_a_secret_group() -> None:
    """A group of one is published with a probability of at most delta: here 1e-3, in 100 runs.

    More than 4 of 100 at that rate has a probability below 1e-7. Power: a group far above the
    threshold is always published, and so would be the group of one without the threshold.
    """
    names = ["big"] * 60 + ["one"]
    source = table(names)
    shown = 0
    for _ in range(100):
        found = hg.mean(source, "x", bounds=(0, 1), epsilon=1, by="g", delta="1e-3")
        assert "big" in found
        shown += "one" in found
    assert shown <= 4


# --- progress, row counts, logs -----------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("format_", ["table", "json", "csv", "yaml"])
def test_progress_and_logs(tmp_path: Path, format_: str, caplog: pytest.LogCaptureFixture) -> None:
    """With the noise held fixed, rows that do not count (missing, unlisted) change no byte."""
    caplog.set_level(logging.DEBUG)
    told = []
    recorded = RecordingBits()
    for bits, more in ((recorded, ""), (None, "nan,a\n,a\n7,unlisted\n" * 50)):
        path = tmp_path / "t.csv"
        path.write_text("x,g\n" + "1,a\n4,b\n" * 20 + more)
        told.append(
            command("mean", path, "x", "--bounds", 0, 10, "--epsilon", 1, "--by", "g",
                    "--keys", "a,b", "--format", format_, bits=bits or recorded.replayed())
        )  # fmt: skip
    assert told[0].code == 0
    assert told[0] == told[1]
    assert told[0].err == ""
    # Other tests may have started Spark in this process, whose driver logs what it releases.
    assert not [record for record in caplog.records if not record.name.startswith("py4j")]


# --- composition and retries --------------------------------------------------------------


def test_parallel_composition(tmp_path: Path) -> None:
    """Two releases on overlapping parts of the data cost their sum."""
    create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    budget = Budget(str(tmp_path / "b.db"), "b")
    rows = table(["a"] * 10 + ["b"] * 10)
    for part in ("a", "b"):
        hg.mean(rows, "x", bounds=(0, 1), epsilon="0.4", by="g", keys=[part], budget=budget)
    assert str(budget.balance().spent.epsilon) == "4/5"
    with pytest.raises(hg.BudgetError):
        hg.mean(rows, "x", bounds=(0, 1), epsilon="0.4", by="g", keys=["a"], budget=budget)


def test_a_person_in_two_groups() -> None:
    """Counted in one group, or in both with half of epsilon for each."""
    people = pa.table({"x": [1.0] * 8, "g": ["a", "b"] * 4, "id": ["p", "p", "q", "q"] * 2})
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "g", "keys": ["a", "b"]}

    def counted(unit: Unit) -> int:
        from hourglass.ask.question import mean_question

        request = mean_question(people, "x", unit=unit, **ask)
        found = request.keys.padded(request.read()).totals  # type: ignore[union-attr]
        return sum(found.count)

    assert counted(hg.per_person("id")) == 2
    assert counted(hg.per_person("id", groups=2)) == 4
    for groups in (1, 2):
        found = hg.mean(people, "x", unit=hg.per_person("id", groups=groups), **ask)
        assert found.epsilon == 1
        assert found._algorithm.epsilon * groups == 1


@pytest.mark.slow
def test_averaging_by_retry(tmp_path: Path) -> None:
    """The same request two hundred times: one charge, one answer."""
    create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    budget = Budget(str(tmp_path / "b.db"), "b")
    answers = {
        hg.mean([0.5] * 9, bounds=(0, 1), epsilon="0.5", budget=budget, request="r").sum
        for _ in range(200)
    }
    assert len(answers) == 1
    assert len(budget.history()) == 1
    assert str(budget.balance().spent.epsilon) == "1/2"
