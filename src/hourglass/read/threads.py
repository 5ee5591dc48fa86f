"""Rows divided among threads: NumPy releases the GIL, so that two cores take about half the time.

The threads are kept for the next question, because starting them takes a quarter of the time that a
million numbers take. Where no thread can be started, this thread does all the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

__all__ = ["HEAD_START", "THREADED_ROWS", "cores", "in_threads", "threads_for"]

Result = TypeVar("Result")

#: Arrays of at least this many rows are divided; below it, waking a thread takes longer than it
#: saves.
THREADED_ROWS: Final = 1 << 19
MAX_THREADS: Final = 8
#: About as many rows as a thread adds up while another one is woken. If this thread has that many
#: more to do, it does not have to wait for the others and be woken itself.
HEAD_START: Final = 1 << 16

_pool: ThreadPoolExecutor | None = None


def threads_for(rows: int) -> int:
    """How many threads add up this many rows."""
    return 1 if rows < THREADED_ROWS else min(MAX_THREADS, cores())


def cores() -> int:
    """How many cores this process may use."""
    known = hasattr(os, "sched_getaffinity")  # as on Linux
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def in_threads(
    work: Callable[[int, int], Result], rows: int, threads: int, more: int = 0
) -> list[Result]:
    """The results of ``work(start, stop)`` for parts of the rows, one part per thread.

    The first part is done by this thread, and has ``more`` rows than the others, which are equal.
    ``work`` must not use threads itself.
    """
    first = min(rows, -(-(rows + (threads - 1) * more) // threads))
    size = max(1, -(-(rows - first) // max(1, threads - 1)))
    parts = [(start, min(start + size, rows)) for start in range(first, rows, size)]
    started = [_started(work, *part) for part in parts]
    found = [work(0, first)]
    for future, part in zip(started, parts, strict=True):
        found.append(work(*part) if future is None else future.result())
    return found


def _started(work: Callable[[int, int], Result], start: int, stop: int) -> Future[Result] | None:
    """The work in another thread; None if none can be started."""
    global _pool
    pool = _pool  # which another thread may replace
    if pool is None:
        pool = _pool = ThreadPoolExecutor(MAX_THREADS - 1, "hourglass")
    try:
        return pool.submit(work, start, stop)
    except RuntimeError:  # the limit of the process, or the interpreter is shutting down
        _pool = None  # its queue has the work that nobody does
        return None


def _forget() -> None:
    """A forked process has the pool, but not its threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
