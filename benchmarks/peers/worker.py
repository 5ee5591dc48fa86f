"""Inside a peer's environment: questions as JSON lines on stdin, answers on stdout.

    python -m benchmarks.peers.worker NAME

It needs the standard library and the peer, nothing else. What a peer prints goes to stderr.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import random
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: A turn of the clock lasts at least this long, so that short calls are timed by the dozen.
LEAST = 0.05


def drawn(kind: str, rows: int, mean: float, lower: float, column: int = 0) -> list[float]:
    """The same values for every peer: they depend on the question alone."""
    if kind == "yes/no":  # the share is exact
        ones = round(rows * mean)
        return [int(i < ones) for i in range(rows)]
    rng = random.Random(f"{kind} {rows} {mean}" + (f" {column}" if column else ""))
    return [lower + rng.betavariate(4 * mean, 4 * (1 - mean)) for _ in range(rows)]


class Squares:
    """Squared errors, added up as they come; the first are kept for the median."""

    KEPT = 20_000

    def __init__(self, true: float) -> None:
        self.true = true
        self.runs = self.invalid = 0
        self.total = self.fourth = self.largest = 0.0
        self.kept: list[float] = []

    def add(self, found: Any) -> None:
        """The answers of a batch, a list or an array; those that are no number are counted."""
        if hasattr(found, "dtype"):
            squares = (found - self.true) ** 2
            self._count(len(squares), float(squares.sum()), float((squares**2).sum()))
            self.largest = max(self.largest, float(squares.max()))
            room = self.KEPT - len(self.kept)
            self.kept += squares[:room].tolist() if room > 0 else []
            return
        known = [answer for answer in found if answer is not None and math.isfinite(answer)]
        self.invalid += len(found) - len(known)
        self._take([(answer - self.true) ** 2 for answer in known])

    def add_rows(self, found: Any, true: list[float]) -> None:
        """Answers for several columns, a row a run: the mean of a row's squared errors counts.

        A row may have the first columns alone. One with an answer that is no number is left out.
        """
        for row in found:
            errors = [answer - mean for answer, mean in zip(row, true, strict=False)]
            if all(map(math.isfinite, errors)):
                self._take([math.fsum(error * error for error in errors) / len(errors)])
            else:
                self.invalid += 1

    def _take(self, squares: list[float]) -> None:
        self._count(len(squares), math.fsum(squares), math.fsum(s * s for s in squares))
        self.largest = max(self.largest, *squares) if squares else self.largest
        self.kept += squares[: max(self.KEPT - len(self.kept), 0)]

    def _count(self, runs: int, total: float, fourth: float) -> None:
        self.runs += runs
        self.total += total
        self.fourth += fourth

    @property
    def spread(self) -> float:
        """The relative standard error of the mean squared error."""
        if self.runs < 2 or not self.total:
            return math.inf
        mse = self.total / self.runs
        variance = max(self.fourth / self.runs - mse * mse, 0.0)
        return math.sqrt(variance / (self.runs - 1)) / mse

    def told(self) -> dict[str, Any]:
        mse = self.total / self.runs
        return {
            "mse": mse,
            "error": mse * self.spread if mse else 0.0,
            "median": statistics.median(self.kept),
            "largest": self.largest / self.total if mse else 0.0,
            "runs": self.runs,
            "invalid": self.invalid,
        }


class Worker:
    """One adapter, and the data that it was last asked about."""

    def __init__(self, name: str) -> None:
        self.adapter = importlib.import_module(f".adapters.{name}", __package__)
        self.held: dict[Any, Any] = {}

    def load(self) -> float:
        """The seconds that the import takes."""
        start = time.perf_counter()
        importlib.import_module(self.adapter.MODULE)
        return time.perf_counter() - start

    def accuracy(
        self,
        kind: str,
        rows: int,
        mean: float,
        bounds: list[float],
        epsilon: float,
        target: float,
        least: float,
        limit: float,
        small: bool = False,
    ) -> dict[str, Any]:
        """Moments of the squared error, until its relative standard error is the target.

        It takes the least seconds at any rate, and the limit at most, save for the last batch.
        ``small`` asks for the estimate that is meant for a small n * epsilon.
        """
        values = drawn(kind, rows, mean, bounds[0])
        true = math.fsum(values) / len(values)
        column, ends = self.adapter.column(values), (bounds[0], bounds[1])
        repeat = self.adapter.repeat_small if small else self.adapter.repeat
        squares = Squares(true)
        return self._until(
            squares,
            lambda batch: squares.add(repeat(column, ends, epsilon, batch)),
            target, least, limit,
        )  # fmt: skip

    def columns(
        self,
        count: int,
        rows: int,
        mean: float,
        bounds: list[float],
        epsilon: float,
        way: str,
        target: float,
        least: float,
        limit: float,
    ) -> dict[str, Any]:
        """The same for several columns that are asked for at one epsilon: "means" or "sums".

        A peer without a call for several means answers for the first column, at its part of
        epsilon: the others are like it.
        """
        values = [drawn("real", rows, mean, bounds[0], column) for column in range(count)]
        true = [math.fsum(column) / rows for column in values]
        ends, adapter, squares = (bounds[0], bounds[1]), self.adapter, Squares(0.0)
        repeat = getattr(adapter, f"repeat_{way}", None)
        if repeat is None:
            first = adapter.column(values[0])
            return self._until(
                squares,
                lambda batch: squares.add_rows(
                    [[mean] for mean in adapter.repeat(first, ends, epsilon / count, batch)], true
                ),
                target, least, limit,
            )  # fmt: skip
        data = adapter.several(values)
        return self._until(
            squares,
            lambda batch: squares.add_rows(repeat(data, ends, epsilon, batch), true),
            target, least, limit,
        )  # fmt: skip

    def _until(
        self,
        squares: Squares,
        more: Callable[[int], None],
        target: float,
        least: float,
        limit: float,
    ) -> dict[str, Any]:
        """Batch after batch."""
        batch = getattr(self.adapter, "FIRST", 100)
        start = time.perf_counter()
        while True:
            more(batch)
            spent = time.perf_counter() - start
            if spent > limit or (spent > least and squares.spread <= target):
                break
            done = squares.runs + squares.invalid
            batch = max(1, min(4 * done, int(done / spent * (limit - spent)) + 1))
        return {**squares.told(), "seconds": spent}

    def hold(self, rows: int, groups: int = 0) -> None:
        """Data for the clock, made beforehand."""
        rng = random.Random(rows)
        values = [rng.random() for _ in range(rows)]
        if groups:
            data = self.adapter.table([i % groups for i in range(rows)], values)
        else:
            data = self.adapter.column(values)
        self.held = {(rows, groups): data}

    def time(self, rows: int, groups: int = 0) -> float:
        """The seconds of one release, or of one for each group, over the held data."""
        data, keys, times = self.held[rows, groups], list(range(groups)), 0
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < LEAST or not times:
            if groups:
                found = self.adapter.groups(data, keys, (0.0, 1.0), 1.0)
                assert len(found) == groups, f"{len(found)} answers for {groups} groups"
            else:
                self.adapter.release(data, (0.0, 1.0), 1.0)
            times += 1
        return spent / times

    def sampling(self) -> float:
        """Samples a second of the library's own noise, as many at a time as take a while."""
        size, spent = 250, 0.0
        while spent < 4 * LEAST:
            size *= 4
            draw = self.adapter.sampler(size)
            start = time.perf_counter()
            draw()
            spent = time.perf_counter() - start
        return size / spent

    def memory(self) -> float:
        """The peak of this process and of the processes that it started, in MB."""
        return sum(_peak(process) for process in [os.getpid(), *_below(os.getpid())]) / 1024

    def behaviour(self, case: str) -> str:
        """What happens, in words: the answer, or the error."""
        adapter, bounds = self.adapter, (0.0, 1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                if case == "NaN":
                    values = [0.25] * 500 + [float("nan")] * 500
                    said = f"{adapter.release(adapter.column(values), bounds, 20.0):.2f}"
                elif case == "empty input":
                    said = f"{adapter.release(adapter.column([]), bounds, 1.0):.3g}"
                elif case == "missing bound":
                    said = f"{adapter.release(adapter.column([0.25] * 1000), None, 1.0):.2f}"
                elif not hasattr(adapter, "groups"):
                    return "no groups"
                else:
                    found = adapter.groups(adapter.table([1] * 50, [0.5] * 50), [1, 2], bounds, 1.0)
                    said = f"{found[2]:.3g}" if 2 in found else "left out"
            except Exception as error:
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                return f"{type(error).__name__}: {lines[0] if lines else ''}"
        idle = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
        told = [w for w in caught if not issubclass(w.category, idle)]  # the rest is for the user
        kinds = sorted({str(w.message).split(".")[0] for w in told})
        return said + (f", with a warning: {kinds[0]}" if kinds else "")


def _below(parent: int) -> list[int]:
    """The living descendants of a process, where the system tells (Linux)."""
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    children = [int(child) for child in listed.read_text().split()] if listed.exists() else []
    return children + [below for child in children for below in _below(child)]


def _peak(process: int) -> int:
    """Of the program that runs now, in kB: rusage keeps what its parent had when it began."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = status.read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        question = json.loads(line)
        try:
            found = getattr(worker, question.pop("ask"))(**question)
            answer = {"found": found}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
