"""Rows divided among threads: every row once, also where no thread can be started."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hourglass.read import threads as threads_module
from hourglass.read.threads import THREADED_ROWS, in_threads, threads_for

#: A release of so many rows that they are divided; its count at this epsilon is the number of rows.
RELEASE = f"""
import os, sys
import numpy as np
import hourglass as hg
from hourglass.read import threads

threads.threads_for = lambda rows: 2  # on a machine with one core, too
import hourglass.read.kernel, hourglass.read.several
hourglass.read.kernel.threads_for = hourglass.read.several.threads_for = threads.threads_for
column = np.arange({THREADED_ROWS}.0) % 7

def answer():
    one = hg.mean(column, bounds=(0, 6), epsilon=100)
    both = hg.mean([column, column], bounds=(0, 6), epsilon=100)
    print(round(one.count), round(both["0"].count), flush=True)
"""


def run(program: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RELEASE + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert not found.stderr
    return found.stdout.splitlines()


@pytest.mark.parametrize("more", [0, 1, 5])
@pytest.mark.parametrize("threads", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("rows", range(12))
def test_every_row_is_in_one_part(rows: int, threads: int, more: int) -> None:
    parts = in_threads(lambda start, stop: list(range(start, stop)), rows, threads, more)
    assert [row for part in parts for row in part] == list(range(rows))
    assert 1 <= len(parts) <= threads
    first, others = len(parts[0]), [len(part) for part in parts[1:]]
    assert all(size == max(others) for size in others[:-1])  # the last may be shorter
    assert not others or min(more, rows) - 1 <= first - max(others) <= more + threads


@pytest.mark.parametrize("allowed", range(4))
def test_rows_that_no_thread_takes_are_taken_here(
    allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some threads no more can be started: every row is still in one part, and in order."""
    submit, made = ThreadPoolExecutor.submit, [0]

    def limited(self: Any, work: Any, *part: int) -> Any:
        made[0] += 1
        if made[0] > allowed:
            raise RuntimeError("can't start new thread")
        return submit(self, work, *part)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", limited)
    monkeypatch.setattr(threads_module, "_pool", None)
    parts = in_threads(lambda start, stop: list(range(start, stop)), 40, 4)
    assert parts == [list(range(start, start + 10)) for start in range(0, 40, 10)]
    # A pool that a part was left in is not used again.
    assert (threads_module._pool is None) == (allowed < 3)


def test_few_rows_need_no_thread() -> None:
    assert threads_for(0) == threads_for(THREADED_ROWS - 1) == 1
    assert 1 <= threads_for(THREADED_ROWS) <= 8


@pytest.mark.slow
def test_while_the_interpreter_shuts_down() -> None:
    """Then no thread can be started any more, whether or not there was one before."""
    told = f"{THREADED_ROWS} {THREADED_ROWS}"
    assert run("import atexit; atexit.register(answer)") == [told]
    assert run("import atexit; atexit.register(answer); answer()") == [told, told]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no os.fork on this system")
def test_a_forked_process_starts_its_own() -> None:
    """It would wait for ever for the threads of its parent."""
    program = """
answer()
if os.fork() == 0:
    answer()
    os._exit(0)
os.wait()
"""
    assert run(program) == [f"{THREADED_ROWS} {THREADED_ROWS}"] * 2
