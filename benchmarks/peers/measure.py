"""What is measured: accuracy, speed and memory, behaviour. Results are plain values."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from .environments import Environment, PeerError, Process, adapter

#: A worker's ``ask``.
Ask = Callable[..., Any]

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


@dataclass(frozen=True)
class Wide:
    """Several columns of reals in (0, 1) with the same mean, asked for at one epsilon."""

    columns: int
    rows: int
    mean: float = 0.1

    @property
    def title(self) -> str:
        """As it stands in the report."""
        return f"{self.columns} columns, n = {self.rows:,}"


WIDE: Final = tuple(Wide(columns, rows) for columns in (3, 10) for rows in (10_000, 1_000))
WIDE_EPSILONS: Final = (0.1, 1.0, 4.0)
#: The calls for means, and one count with the sums of centred values, divided by hand.
WAYS: Final = ("means", "sums")

#: (title, rows, groups)
SPEEDS: Final = (
    ("one release, n = 1,000", 1_000, 0),
    ("one release, 1,000,000 rows", 1_000_000, 0),
    ("1,000 groups, 1,000,000 rows", 1_000_000, 1_000),
    ("100,000 groups, 1,000,000 rows", 1_000_000, 100_000),
)


#: The title of the row with the samplers, in samples a second.
SAMPLES: Final = "samples a second"
#: Who has taken so many seconds over a question, or twice that to warm up, is not asked again.
ENOUGH: Final = 20.0
#: At n * epsilon up to here the noise is as large as the data.
DROWNED: Final = 50.0
#: A cell gets so many seconds even if the standard error is small before.
LEAST: Final = 1.0


def accuracy(
    environment: Environment,
    target: float,
    minutes: float,
    say: Callable[[str], None],
    least: float = LEAST,
) -> list[dict[str, Any]]:
    """Every cell at every epsilon until the standard error is the target or the time is up.

    A cell may take half as much again as its share of the time that is left; the small data come
    first, where a slow peer gets the most runs for its time. Who has another estimate for a small
    n * epsilon is asked for that one too.
    """
    own = adapter(environment.name)
    asked = [(cell, e) for cell in sorted(CELLS, key=lambda c: c.rows) for e in EPSILONS]

    def measured(ask: Ask, number: int, limit: float) -> dict[str, Any]:
        cell, epsilon = asked[number]
        question: dict[str, Any] = {
            "kind": cell.kind, "rows": cell.rows, "mean": cell.mean, "bounds": cell.bounds,
            "epsilon": epsilon, "target": target, "least": least, "limit": limit,
        }  # fmt: skip
        row = ask("accuracy", 120 + 4 * limit, **question)
        if cell.rows * epsilon <= DROWNED and hasattr(own, "repeat_small"):
            row["small"] = ask("accuracy", 120 + 4 * limit, **question, small=True)
        return dict(row)

    names = [{"cell": cell.title, "epsilon": epsilon} for cell, epsilon in asked]
    return _in_time(environment, "accuracy", names, measured, target, minutes, say)


def columns(
    environment: Environment,
    target: float,
    minutes: float,
    say: Callable[[str], None],
    least: float = LEAST,
) -> list[dict[str, Any]]:
    """Several columns at every epsilon, in each way that the peer has; likewise."""
    own = adapter(environment.name)
    ways = [way for way in WAYS if getattr(own, way.upper())]
    asked = [
        (c, e, w) for c in sorted(WIDE, key=lambda c: c.rows) for e in WIDE_EPSILONS for w in ways
    ]

    def measured(ask: Ask, number: int, limit: float) -> dict[str, Any]:
        cell, epsilon, way = asked[number]
        row = ask(
            "columns", 120 + 4 * limit, count=cell.columns, rows=cell.rows, mean=cell.mean,
            bounds=(0.0, 1.0), epsilon=epsilon, way=way, target=target, least=least, limit=limit,
        )  # fmt: skip
        return dict(row)

    names = [{"cell": c.title, "epsilon": e, "way": way} for c, e, way in asked]
    return _in_time(environment, "columns", names, measured, target, minutes, say)


def _in_time(
    environment: Environment,
    stage: str,
    names: list[dict[str, Any]],
    measured: Callable[[Ask, int, float], dict[str, Any]],
    target: float,
    minutes: float,
    say: Callable[[str], None],
) -> list[dict[str, Any]]:
    """The rows of one peer, each within its share of the minutes."""
    process, until = Process(environment), time.monotonic() + 60 * minutes
    found: list[dict[str, Any]] = []
    with contextlib.suppress(PeerError):
        process.ask("load")
    for number, name in enumerate(names):
        row = dict(name)
        limit = 1.5 * (until - time.monotonic()) / (len(names) - number)
        if limit < 0:
            row["failed"] = "not reached"
        else:
            try:
                row |= measured(process.ask, number, limit)
            except PeerError as error:
                row["failed"] = str(error)
        found.append(row)
    process.close()
    errors = [row["error"] / row["mse"] for row in found if row.get("mse")]
    reached = sum(error <= target for error in errors)
    say(
        f"{stage}: {environment.name}: {60 * minutes + time.monotonic() - until:.0f} s, "
        f"{reached} of {len(found)} cells within {100 * target:g} %"
        + (f", median {100 * statistics.median(errors):.1f} %" if errors else "")
    )
    return found


def speed(
    environments: Iterable[Environment], turns: int, patience: float, say: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Medians of times taken in rotation; the first turn warms up, unless it is all there is."""
    processes = {e.name: Process(e) for e in environments}
    found: dict[str, dict[str, Any]] = {name: {} for name in processes}
    slow: set[str] = set()  # who ran out of time is not asked the larger questions
    for title, rows, groups in SPEEDS:
        ready: list[str] = []
        for name, process in processes.items():
            if groups and not hasattr(adapter(name), "groups"):
                found[name][title] = "no groups"
                continue
            if name in slow:
                found[name][title] = "not asked"
                continue
            try:
                process.ask("hold", seconds=patience, rows=rows, groups=groups)
                ready.append(name)
            except PeerError as error:
                found[name][title] = str(error)
                slow.add(name)
        asked = {"question": "time", "rows": rows, "groups": groups}
        for name, value in _medians(processes, ready, turns, patience, asked).items():
            found[name][title] = value
            if isinstance(value, str):
                slow.add(name)
        say(f"speed: {title}: " + ", ".join(f"{n} {_short(found[n][title])}" for n in processes))
    draw = [name for name in processes if hasattr(adapter(name), "sampler")]
    for name, value in _medians(processes, draw, turns, patience, {"question": "sampling"}).items():
        found[name][SAMPLES] = value
    say(f"{SAMPLES}: " + ", ".join(f"{n} {found[n].get(SAMPLES)}" for n in processes))
    for process in processes.values():
        process.close()
    return found


def _medians(
    processes: dict[str, Process],
    names: Iterable[str],
    turns: int,
    patience: float,
    asked: dict[str, Any],
) -> dict[str, float | str]:
    """The median answer of each, asked in turn; or the message of who gave up."""
    taken: dict[str, list[float]] = {name: [] for name in names}
    spent = dict.fromkeys(taken, 0.0)
    failed: dict[str, float | str] = {}
    for turn in range(turns + 1):
        for name in [name for name in taken if spent[name] < ENOUGH]:
            start = time.monotonic()
            try:
                taken[name].append(processes[name].ask(seconds=patience, **asked))
            except PeerError as error:
                failed[name] = str(error)
                del taken[name]
            took = time.monotonic() - start
            spent[name] += took if turn or took > 2 * ENOUGH else 0.0
    return failed | {n: statistics.median(times[1:] or times) for n, times in taken.items()}


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
