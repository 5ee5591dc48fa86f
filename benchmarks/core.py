"""The core's speed and memory: python -m benchmarks.core [--rows N] [--peers build/peers]

Ratios are taken side by side in one run, turn by turn; times are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

import hourglass as hg
from hourglass.core.grid import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate.interval import mean_ends
from hourglass.estimate.reach import reaches_of
from hourglass.mechanisms.base import make
from hourglass.read.kernel import total_of_array
from hourglass.read.open import open_source
from hourglass.read.sql.query import Query, Value

from .peers.environments import ROOT, Environment, Process

#: Where benchmarks.peers installs the peers, each in an environment of its own.
PEERS: Final = ROOT / "build" / "peers"

Row = tuple[str, str, str]


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: list[Callable[[], Any]], turns: int = 7) -> list[float]:
    """The median time of each, all of them taking turns; the first turn is thrown away."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(turns + 1):
        for work, record in zip(works, times, strict=True):
            taken = seconds(work)
            if turn:
                record.append(taken)
    return [statistics.median(record) for record in times]


def samples() -> list[Row]:
    size = 1_000_000
    rows = []
    for epsilon in ("0.01", "0.1", "1", "4"):
        law = hg.Hourglass(epsilon, 2**32)
        (taken,) = medians([lambda law=law: law.sample(size)], turns=5)  # type: ignore[misc]
        target = {"1": "over 1e7", "0.01": "over 3e6"}.get(epsilon, "")
        rows.append(
            (f"hourglass samples a second, epsilon {epsilon}", f"{size / taken:.2e}", target)
        )
    for columns, target in ((1, ""), (3, "over 2e6"), (10, "")):
        box = hg.HourglassBox(1, [2**32] * columns)
        (taken,) = medians([lambda law=box: law.sample(size)], turns=3)  # type: ignore[misc]
        name = f"box of {columns} columns, samples a second, epsilon 1"
        rows.append((name, f"{size / taken:.2e}", target))
    for name, sister in (
        ("triangle", hg.HourglassTriangle(1, 2**32)),
        ("discrete Laplace", hg.DiscreteLaplace("1/1000")),
        ("2-d staircase", hg.Staircase2D(1, 2**32)),
    ):
        (taken,) = medians([lambda s=sister: s.sample(size)], turns=3)  # type: ignore[misc]
        rows.append((f"{name} samples a second", f"{size / taken:.2e}", ""))
    return rows


def randomness() -> list[Row]:
    """Why words come straight from the system: a keyed stream is not much faster."""
    size = 1 << 24
    system, stream = medians(
        [lambda: os.urandom(size), lambda: hashlib.shake_128(os.urandom(32)).digest(size)], turns=5
    )
    return [
        ("system randomness", f"{size / system / 1e6:.0f} MB/s", ""),
        ("SHAKE-128 of a fresh key", f"{system / stream:.2f} x system", ""),
    ]


def small(peers: Path) -> list[Row]:
    """One release of 1000 values, and of a million, beside what others take in the same run."""
    dice = np.random.default_rng(1)
    values, many = dice.random(1000), dice.random(1_000_000)

    def ours(epsilon: str = "1") -> float:
        return _each(lambda: hg.mean(values, bounds=(0.0, 1.0), epsilon=epsilon).mean)

    def clipped() -> float:
        return _each(lambda: np.clip(many, 0.0, 1.0).mean())

    def million() -> float:
        return _each(lambda: hg.mean(many, bounds=(0.0, 1.0), epsilon=1).mean)

    one, weak, plain, ours_of_million = interleaved([ours, lambda: ours("0.01"), clipped, million])
    rows: list[Row] = [
        ("one release at n = 1000, epsilon 1", f"{one * 1e3:.3f} ms", ""),
        ("one release at n = 1000, epsilon 0.01", f"{weak * 1e3:.3f} ms", ""),
        ("one release at n = 1e6", f"{ours_of_million / plain:.2f} x clip().mean()", "at most 1.5"),
    ]
    python = peers / "pydp" / "bin" / "python"
    if not python.exists():
        return [*rows, ("one release at n = 1000, beside PyDP", "not installed", "")]
    peer = Process(Environment("pydp", python))
    try:
        peer.ask("hold", rows=1000)
        one, theirs = interleaved([ours, lambda: float(peer.ask("time", rows=1000))])
    finally:
        peer.close()
    ratio = f"{one / theirs:.2f} x PyDP"
    return [*rows, ("one release at n = 1000, epsilon 1", ratio, "at most 1")]


def interleaved(clocks: list[Callable[[], float]], turns: int = 9) -> list[float]:
    """The median of what each clock says, all of them taking turns; the first is thrown away."""
    found = [[clock() for clock in clocks] for _ in range(turns + 1)][1:]
    return [statistics.median(times) for times in zip(*found, strict=True)]


def _each(work: Callable[[], Any], least: float = 0.05) -> float:
    """The seconds of one of as many as take a while."""
    times, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < least or not times:
        work()
        times += 1
    return spent / times


def release() -> list[Row]:
    values = np.random.default_rng(1).random(1000)

    def interval() -> None:
        hg.mean(values, bounds=(0.0, 1.0), epsilon=1).interval()

    law, groups = make("hourglass", Fraction(1), Grid.choose(Bounds(0.0, 1.0))), 100_000
    sizes = np.random.default_rng(2).integers(1, 10_000, groups)
    cells = (sizes * (law.grid.cells // 3)).astype(np.int64)
    noisy = NoisyTotals(cells, sizes * law.grid.cells - cells, law.grid.cells)

    def intervals() -> None:
        reaches_of.cache_clear()
        mean_ends(law, noisy, 0.95, exact=False)

    (with_interval,) = medians([interval], turns=15)
    (by_group,) = medians([intervals], turns=3)
    return [
        ("release and its exact interval", f"{with_interval * 1e3:.1f} ms", ""),
        (f"exact intervals of {groups:,} groups", f"{by_group:.2f} s", ""),
    ]


def kernel(rows: int) -> list[Row]:
    values = np.random.default_rng(2).random(rows)
    unit = Grid.choose(Bounds(0.0, 1.0))
    other = Grid.choose(Bounds(-0.5, 1.5))
    works: list[Callable[[], Any]] = [
        lambda: values.mean(),
        lambda: total_of_array(values, unit, threads=1),
        lambda: total_of_array(values, other, threads=1),
        lambda: total_of_array(values, unit, threads=2),
    ]
    plain, one, shifted, two = medians(works, turns=5)
    found: list[Row] = [
        ("np.mean", f"{plain / rows * 1e9:.2f} ns a row", ""),
        ("our totals, one thread, bounds (0, 1)", f"{one / plain:.2f} x np.mean", "at most 3.5"),
        ("our totals, one thread, bounds (-0.5, 1.5)", f"{shifted / plain:.2f} x np.mean", ""),
        ("our totals, two threads", f"{two / plain:.2f} x np.mean", ""),
    ]
    ages = np.random.default_rng(3).integers(0, 121, rows)
    own = Grid.choose(Bounds(0, 120), integers=True)
    plain, ours = medians([lambda: ages.mean(), lambda: total_of_array(ages, own, threads=1)], 5)
    found.append(("integers on their own grid, one thread", f"{ours / plain:.2f} x np.mean", ""))
    return found


def several_columns(rows: int) -> list[Row]:
    """Three columns at once against one of the same length, each by the kernel's own choice."""
    dice, found = np.random.default_rng(4), []
    bounds = [Bounds(0.0, 1.0), Bounds(-0.5, 1.5), Bounds(0.1, 0.9)]

    def work(data: Any, names: tuple[str, ...]) -> Callable[[], Any]:
        source = open_source(data, names, None)
        schema = source.schema()
        fields = [schema.field(name, "column") for name in names or ("",)]
        pairs = zip(fields, bounds, strict=False)
        query = Query(tuple(Value(field, field.grid(ends, None)) for field, ends in pairs))
        return lambda: source.run(None, query)

    for name, share in (("clean", 0.0), ("1 % NaN", 0.01)):
        columns = [dice.random(rows) for _ in bounds]
        for column in columns:
            column[dice.random(rows) < share] = np.nan
        matrix = np.column_stack(columns)
        works = [
            *(work(column, ()) for column in columns),
            work(columns, ("0", "1", "2")),
            work(matrix[:, 0], ()),
            work(matrix, ("0", "1", "2")),
        ]
        *ones, several, strided, of_matrix = medians(works, turns=5)
        one = statistics.mean(ones)
        found += [
            (f"three columns, {name}", f"{several / one:.2f} x one", "at most 3"),
            (f"three of a matrix, {name}", f"{of_matrix / strided:.2f} x one of it", "at most 3"),
            (f"three of a matrix, {name}", f"{of_matrix / one:.2f} x one", ""),
        ]
    return found


def start_up() -> list[Row]:
    def spawn(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    bare, numpy, ours = medians(
        [spawn("pass"), spawn("import numpy"), spawn("import hourglass")], turns=9
    )
    return [
        ("import hourglass", f"{ours - bare:.3f} s", "under 0.3 s"),
        ("of which NumPy", f"{numpy - bare:.3f} s", ""),
    ]


def memory() -> list[Row]:
    """The peak of a process that reads a generator: flat in the number of rows."""
    code = (
        "import re, sys, hourglass as hg\n"
        "n = int(sys.argv[1])\n"
        "hg.mean((i % 97 / 97 for i in range(n)), bounds=(0, 1), epsilon=1)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    rows: list[Row] = []
    for n in (100_000, 1_000_000, 10_000_000):
        run = [sys.executable, "-c", code, str(n)]
        peak = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        rows.append((f"peak memory, {n:,} rows of a generator", f"{peak / 1024:.0f} MB", "flat"))
    return rows


def run(rows: int = 100_000_000, peers: Path = PEERS) -> list[Row]:
    """Every figure: what, how much, and the target where there is one."""
    return [
        *samples(),
        *randomness(),
        *small(peers),
        *release(),
        *kernel(rows),
        *several_columns(rows // 5),
        *start_up(),
        *memory(),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of the array kernel")
    parser.add_argument("--peers", type=Path, default=PEERS, help="where benchmarks.peers installs")
    asked = parser.parse_args(arguments)
    for what, figure, target in run(asked.rows, asked.peers):
        print(f"{what:48} {figure:>18}   {target}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{'peak memory of this run':48} {peak / 2**20:>15.1f} GB")


if __name__ == "__main__":
    main()
