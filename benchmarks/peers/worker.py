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
import sys
import time
import warnings
from pathlib import Path
from typing import Any

#: A turn of the clock lasts at least this long, so that short calls are timed by the dozen.
LEAST = 0.05


def drawn(kind: str, rows: int, mean: float, lower: float) -> list[float]:
    """The same values for every peer: they hang on the question alone."""
    if kind == "yes/no":  # the share is exact
        ones = round(rows * mean)
        return [int(i < ones) for i in range(rows)]
    rng = random.Random(f"{kind} {rows} {mean}")
    return [lower + rng.betavariate(4 * mean, 4 * (1 - mean)) for _ in range(rows)]


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
        runs: int,
        limit: float,
    ) -> dict[str, Any]:
        """Moments of the error of many releases: as many as asked for, or as time allows."""
        values = drawn(kind, rows, mean, bounds[0])
        true = math.fsum(values) / len(values)
        column = self.adapter.column(values)
        self.adapter.repeat(column, tuple(bounds), epsilon, 1)  # imports and tables, untimed
        errors: list[float] = []
        start, batch, invalid = time.perf_counter(), 8, 0
        while len(errors) + invalid < runs:
            for found in self.adapter.repeat(column, tuple(bounds), epsilon, batch):
                if math.isfinite(found):
                    errors.append(found - true)
                else:
                    invalid += 1
            spent = time.perf_counter() - start
            if spent > limit:
                break
            pace = (len(errors) + invalid) / spent
            batch = max(1, min(runs - len(errors) - invalid, int(pace * (limit - spent)) + 1))
            batch = min(batch, 4 * (len(errors) + invalid))
        squares = [error * error for error in errors]
        mse = math.fsum(squares) / len(squares)
        spread = math.fsum((square - mse) ** 2 for square in squares) / max(len(squares) - 1, 1)
        return {
            "mse": mse,
            "error": math.sqrt(spread / len(squares)),
            "runs": len(squares),
            "invalid": invalid,
            "seconds": time.perf_counter() - start,
        }

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

    def memory(self) -> float:
        """The peak of this process and of the processes that it started, in MB."""
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return (own + sum(_peak(child) for child in _below(os.getpid()))) / 1024

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
        kinds = sorted({str(w.message).split(".")[0] for w in caught})
        return said + (f", with a warning: {kinds[0]}" if kinds else "")


def _below(parent: int) -> list[int]:
    """The living descendants of a process, where the system tells (Linux)."""
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    children = [int(child) for child in listed.read_text().split()] if listed.exists() else []
    return children + [below for child in children for below in _below(child)]


def _peak(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return 0


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
