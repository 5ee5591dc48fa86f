"""The core's speed and memory: python -m benchmarks.core [--rows N]

Ratios are taken side by side in one run, alternately; times are medians.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate.interval import mean_ends
from hourglass.estimate.point import _reaches_of
from hourglass.mechanisms.base import make
from hourglass.read.kernel import total_of_array
from hourglass.read.open import open_source
from hourglass.read.sql.query import Query, Value

from .figures import Figure, printed
from .peers.environments import ROOT, Environment, Process

#: Where benchmarks.peers installs the peers, each in an environment of its own.
PEERS: Final = ROOT / "build" / "peers"


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: Sequence[Callable[[], Any]], turns: int = 7) -> list[float]:
    """The median time of each, all of them taking turns; the first turn is thrown away."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(turns + 1):
        for work, record in zip(works, times, strict=True):
            taken = seconds(work)
            if turn:
                record.append(taken)
    return [statistics.median(record) for record in times]


def samples() -> Iterator[Figure]:
    size = 1_000_000
    laws: list[tuple[str, Any, float | None]] = [
        ("hourglass, epsilon 0.01", hg.Hourglass("0.01", 2**32), 3e6),
        ("hourglass, epsilon 0.1", hg.Hourglass("0.1", 2**32), None),
        ("hourglass, epsilon 1", hg.Hourglass(1, 2**32), 1e7),
        ("hourglass, epsilon 4", hg.Hourglass(4, 2**32), None),
        ("box of 3 columns, epsilon 1", hg.HourglassBox(1, [2**32] * 3), 2e6),
        ("box of 10 columns, epsilon 1", hg.HourglassBox(1, [2**32] * 10), None),
        ("triangle, epsilon 1", hg.HourglassTriangle(1, 2**32), None),
        ("discrete Laplace", hg.DiscreteLaplace("1/1000"), None),
        ("2-d staircase, epsilon 1", hg.Staircase2D(1, 2**32), None),
    ]
    works = [partial(law.sample, size) for _, law, _ in laws]
    for (name, _, goal), taken in zip(laws, medians(works, turns=5), strict=True):
        yield Figure(f"samples, {name}", size / taken, "a second", goal, least=True)


def randomness() -> Iterator[Figure]:
    """Why words come straight from the system: a keyed stream is not much faster."""
    size = 1 << 24
    system, stream = medians(
        [lambda: os.urandom(size), lambda: hashlib.shake_128(os.urandom(32)).digest(size)], turns=5
    )
    yield Figure("system randomness", size / system / 1e6, "MB/s")
    yield Figure("SHAKE-128 of a fresh key", system / stream, "x system")


def small(peers: Path) -> Iterator[Figure]:
    """One release of 1,000 values, and of a million, beside what others take in the same run."""
    dice = np.random.default_rng(1)
    values, many = dice.random(1000), dice.random(1_000_000)

    def ours(epsilon: str = "1") -> float:
        return _each(lambda: hg.mean(values, bounds=(0.0, 1.0), epsilon=epsilon).mean)

    def clipped() -> float:
        return _each(lambda: np.clip(many, 0.1, 0.9).mean())

    def million() -> float:
        return _each(lambda: hg.mean(many, bounds=(0.1, 0.9), epsilon=1).mean)

    one, weak, plain, ours_of_million = interleaved([ours, lambda: ours("0.01"), clipped, million])
    yield Figure("one release, n = 1,000, epsilon 1", one * 1e3, "ms", 0.064)
    yield Figure("one release, n = 1,000, epsilon 0.01", weak * 1e3, "ms")
    yield Figure("one release, n = 1,000,000", ours_of_million / plain, "x clip and mean", 1.5)
    python = peers / "pydp" / "bin" / "python"
    if not python.exists():  # `make peers` installs it
        return
    peer = Process(Environment("pydp", python))
    try:
        peer.ask("hold", rows=1000)
        one, theirs = interleaved([ours, lambda: float(peer.ask("time", rows=1000))])
    finally:
        peer.close()
    told = f"x PyDP ({theirs * 1e3:.3f} ms)"
    yield Figure("one release, n = 1,000, epsilon 1", one / theirs, told, 1.0)


def interleaved(clocks: Sequence[Callable[[], float]], turns: int = 31) -> list[float]:
    """The median of what each clock says, all of them taking turns; the first is thrown away."""
    found = [[clock() for clock in clocks] for _ in range(turns + 1)][1:]
    return [statistics.median(times) for times in zip(*found, strict=True)]


def _each(work: Callable[[], Any], least: float = 0.05) -> float:
    """The seconds of one call, from as many as take a while."""
    times, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < least or not times:
        work()
        times += 1
    return spent / times


def intervals() -> Iterator[Figure]:
    values = np.random.default_rng(1).random(1000)

    def interval() -> None:
        hg.mean(values, bounds=(0.0, 1.0), epsilon=1).interval()

    law, groups = make("hourglass", Fraction(1), Grid.choose(Bounds(0.0, 1.0))), 100_000
    sizes = np.random.default_rng(2).integers(1, 10_000, groups)
    cells = (sizes * (law.grid.cells // 3)).astype(np.int64)
    noisy = NoisyTotals(cells, sizes * law.grid.cells - cells, law.grid.cells)

    def of_groups() -> None:
        _reaches_of.cache_clear()
        mean_ends(law, noisy, 0.95, exact=False)

    (with_interval,) = medians([interval], turns=15)
    (by_group,) = medians([of_groups], turns=3)
    yield Figure("release and its exact interval", with_interval * 1e3, "ms")
    yield Figure(f"exact intervals of {groups:,} groups", by_group, "s")


def kernel(rows: int) -> Iterator[Figure]:
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
    yield Figure("np.mean", plain / rows * 1e9, "ns a row")
    yield Figure("totals, one thread, bounds (0, 1)", one / plain, "x np.mean", 3.5)
    yield Figure("totals, one thread, bounds (-0.5, 1.5)", shifted / plain, "x np.mean")
    yield Figure("totals, two threads", two / plain, "x np.mean")
    ages = np.random.default_rng(3).integers(0, 121, rows)
    own = Grid.choose(Bounds(0, 120), integers=True)
    plain, ours = medians([lambda: ages.mean(), lambda: total_of_array(ages, own, threads=1)], 5)
    yield Figure("integers on their own grid, one thread", ours / plain, "x np.mean")


def several_columns(rows: int) -> Iterator[Figure]:
    """Three columns at once against one of the same length, each by the kernel's own choice."""
    dice = np.random.default_rng(4)
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
        yield Figure(f"three columns, {name}", several / one, "x one", 3.0)
        yield Figure(f"three of a matrix, {name}", of_matrix / strided, "x one of it", 3.0)
        yield Figure(f"three of a matrix, {name}", of_matrix / one, "x one")


def start_up() -> Iterator[Figure]:
    def spawn(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    bare, numpy, ours = medians(
        [spawn("pass"), spawn("import numpy"), spawn("import hourglass")], turns=9
    )
    yield Figure("import hourglass", ours - bare, "s", 0.3)
    yield Figure("of which NumPy", numpy - bare, "s")


def memory() -> Iterator[Figure]:
    """The peak of a process that reads a generator: flat in the number of rows."""
    code = (
        "import re, sys, hourglass as hg\n"
        "n = int(sys.argv[1])\n"
        "hg.mean((i % 97 / 97 for i in range(n)), bounds=(0, 1), epsilon=1)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    for n in (100_000, 1_000_000, 10_000_000):
        run = [sys.executable, "-c", code, str(n)]
        peak = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        yield Figure(f"peak memory, {n:,} rows of a generator", peak / 1024, "MB")


def figures(rows: int = 100_000_000) -> Iterator[Figure]:
    """Every figure."""
    yield from samples()
    yield from randomness()
    yield from small(PEERS)
    yield from intervals()
    yield from kernel(rows)
    yield from several_columns(rows // 5)
    yield from start_up()
    yield from memory()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000, help="rows of the array kernel")
    list(printed(figures(parser.parse_args(arguments).rows)))


if __name__ == "__main__":
    main()
