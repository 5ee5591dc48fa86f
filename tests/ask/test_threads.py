"""Sixteen threads that ask at once, as in the service: exact totals, and noise of its own each."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hourglass.ask.question import mean_question
from hourglass.core.totals import Groups
from hourglass.noise.bits import SECURE
from hourglass.read.threads import THREADED_ROWS

THREADS = 16
#: More rows than are added up in one thread.
ROWS = THREADED_ROWS + 1000
NAMES = ["a", "b", "c"]


@pytest.fixture
def eager() -> Iterator[None]:
    """Threads change places a hundred times as often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(before)


def questions(folder: Path) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Data and options of a question of each kind; no two draws of their noise are ever equal."""
    dice = np.random.default_rng(1)
    x = dice.normal(0, 3, ROWS)
    few: dict[str, Any] = {
        "x": x[:5000],
        "y": x[5000:10_000],
        "g": [NAMES[i % 3] for i in range(5000)],
    }
    pq.write_table(pa.table(few), folder / "t.parquet")
    (folder / "t.csv").write_text("x\n" + "".join(f"{number}\n" for number in few["x"]))
    column: dict[str, Any] = {"column": "x", "bounds": (-5, 5)}
    both = {"x": (-5, 5), "y": (-9, 9)}
    return {
        "array": (x, {"bounds": (-5, 5)}),
        "csv": (folder / "t.csv", column),
        "columns": (folder / "t.parquet", {"column": ["x", "y"], "bounds": both}),
        "spread": (folder / "t.parquet", column | {"spread": True}),
        "groups": (folder / "t.parquet", column | {"by": "g", "keys": NAMES}),
        "secret": (folder / "t.parquet", column | {"by": "g", "delta": 1e-6}),
    }


def exact(secret: Groups) -> list[str]:
    """The totals as text, in the order of the groups' names."""
    sums = [map(str, each) for each in secret.totals.sums]
    return sorted(map(repr, zip(secret.keys, map(str, secret.count), *sums, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["array", "csv", "columns", "spread", "groups", "secret"])
def test_sixteen_threads_ask_at_once(kind: str, tmp_path: Path, eager: None) -> None:
    """No lock protects what they share, such as the laws, which are made when first needed."""
    data, options = questions(tmp_path)[kind]
    expected = exact(mean_question(data, epsilon=1, **options).read())
    start = threading.Barrier(THREADS)
    faults: list[str] = []
    noises: list[str] = []

    def ask() -> None:
        try:
            start.wait(600)  # all need a law at once that none has made yet
            question = mean_question(data, epsilon=f"0.1{len(kind)}37", **options)
            secret = question.read()
            noisy = question.noise(secret, SECURE)
            answer = question.answer(noisy, private=True).to_dict()
            if exact(secret) != expected:
                faults.append("other totals")
            noises.append(repr(answer))
        except Exception as error:
            faults.append(repr(error))
            start.abort()

    threads = [threading.Thread(target=ask) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(set(noises)) == len(noises) == THREADS
