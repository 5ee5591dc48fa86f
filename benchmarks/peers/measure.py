"""What is measured: accuracy, speed and memory, behaviour. Results are plain values."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from .environments import Environment, PeerError, Process, adapter

EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
CASES: Final = ("NaN", "empty input", "empty group", "missing bound")


@dataclass(frozen=True)
class Cell:
    """Data of a kind: how many records, their mean, their bounds."""

    title: str
    kind: str
    rows: int
    mean: float
    bounds: tuple[float, float]


#: The most telling first: a slow peer may not come to the last.
CELLS: Final = (
    Cell("reals in (0, 1), mean 0.1, n = 10,000", "real", 10_000, 0.1, (0.0, 1.0)),
    Cell("reals in (0, 1), mean 0.1, n = 100", "real", 100, 0.1, (0.0, 1.0)),
    Cell("reals in (0, 1), mean 0.5, n = 10,000", "real", 10_000, 0.5, (0.0, 1.0)),
    Cell("reals in (0, 1), mean 0.5, n = 100", "real", 100, 0.5, (0.0, 1.0)),
    Cell("reals in (1000, 1001), mean 1000.1, n = 10,000", "real", 10_000, 0.1, (1000.0, 1001.0)),
    Cell("reals in (1000, 1001), mean 1000.1, n = 100", "real", 100, 0.1, (1000.0, 1001.0)),
    Cell("yes/no, 10 % yes, n = 10,000", "yes/no", 10_000, 0.1, (0, 1)),
    Cell("yes/no, 10 % yes, n = 100", "yes/no", 100, 0.1, (0, 1)),
    Cell("a group of 20, reals in (0, 1), mean 0.1", "real", 20, 0.1, (0.0, 1.0)),
)

#: (title, rows, groups)
SPEEDS: Final = (
    ("one release, n = 1,000", 1_000, 0),
    ("one release, 1,000,000 rows", 1_000_000, 0),
    ("1,000 groups, 1,000,000 rows", 1_000_000, 1_000),
    ("100,000 groups, 1,000,000 rows", 1_000_000, 100_000),
)


def accuracy(
    environment: Environment, runs: int, seconds: float, minutes: float
) -> list[dict[str, Any]]:
    """Every cell at every epsilon, until the minutes are spent."""
    process, found, until = Process(environment), [], time.monotonic() + 60 * minutes
    for cell in CELLS:
        for epsilon in EPSILONS:
            row: dict[str, Any] = {"cell": cell.title, "epsilon": epsilon}
            if time.monotonic() > until:
                row["failed"] = "not reached"
            else:
                try:
                    row |= process.ask(
                        "accuracy", max(60.0, 20 * seconds), kind=cell.kind, rows=cell.rows,
                        mean=cell.mean, bounds=cell.bounds, epsilon=epsilon, runs=runs,
                        limit=seconds,
                    )  # fmt: skip
                except PeerError as error:
                    row["failed"] = str(error)
            found.append(row)
    process.close()
    return found


def speed(
    environments: Iterable[Environment], turns: int, patience: float, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Medians of times taken turn by turn; the first turn warms up, unless it is all there is."""
    processes = {e.name: Process(e) for e in environments}
    found: dict[str, dict[str, Any]] = {name: {} for name in processes}
    slow: set[str] = set()  # who ran out of time is not asked the larger questions
    for title, rows, groups in SPEEDS:
        taken: dict[str, list[float]] = {}
        for name, process in processes.items():
            if groups and not hasattr(adapter(name), "groups"):
                found[name][title] = "no groups"
                continue
            if name in slow:
                found[name][title] = "not asked"
                continue
            try:
                process.ask("hold", seconds=patience, rows=rows, groups=groups)
                taken[name] = []
            except PeerError as error:
                found[name][title] = str(error)
                slow.add(name)
        for turn in range(turns + 1):
            for name in list(taken):
                if turn > 1 and sum(taken[name]) > patience / 4:
                    continue
                try:
                    one = processes[name].ask("time", seconds=patience, rows=rows, groups=groups)
                    taken[name].append(one)
                except PeerError as error:
                    found[name][title] = str(error)
                    del taken[name]
                    slow.add(name)
        for name, seconds in taken.items():
            found[name][title] = statistics.median(seconds[1:] or seconds)
        say(f"speed: {title}: " + ", ".join(f"{n} {_short(found[n][title])}" for n in processes))
    for process in processes.values():
        process.close()
    return found


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.3g} s"


def import_and_memory(environment: Environment, patience: float) -> dict[str, Any]:
    """Import time over fresh processes, and the peak of a process that answers for 1e6 rows."""
    times, found = [], {}
    try:
        for _ in range(3):
            process = Process(environment)
            times.append(process.ask("load", seconds=patience))
            last = process.ask("memory")
            process.close()
        found["import"] = statistics.median(times)
        found["memory after import"] = last
        process = Process(environment)
        process.ask("hold", seconds=patience, rows=1_000_000)
        found["memory with the data"] = process.ask("memory")
        process.ask("time", seconds=patience, rows=1_000_000)
        found["peak memory"] = process.ask("memory")
        process.close()
    except PeerError as error:
        found["failed"] = str(error)
    return found


def behaviour(environment: Environment, patience: float) -> dict[str, str]:
    process, found = Process(environment), {}
    for case in CASES:
        try:
            found[case] = process.ask("behaviour", seconds=patience, case=case)
        except PeerError as error:
            found[case] = str(error)
    process.close()
    return found
