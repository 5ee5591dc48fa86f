"""This version beside another one, question by question: python -m benchmarks.versions CHECKOUT

CHECKOUT is a working copy of the other version, for example one made by ``git worktree add``. Each
version has a process of its own, with the same dependencies; they answer the same questions about
the same data, alternately. The figures are ratios of median times, below 1 if this version is
faster. The section "Compared with an earlier version" of docs/performance.md is
rewritten.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from .engines import written
from .figures import Figure, machine, printed, replace_section

HEADING: Final = "Compared with an earlier version"
OURS: Final = Path(__file__).parents[1]

#: What each process does once, with the folder of the data as its argument.
PREPARED: Final = """
import os, sys, time
import numpy as np
import hourglass as hg
small = np.random.default_rng(1).random(1_000)
large = np.random.default_rng(1).random(1_000_000)
part, whole = (f"{sys.argv[1]}/rows-{rows}.parquet" for rows in (1_000, 10_000_000))
ask = dict(bounds=(0, 100), epsilon=1)
budget = hg.create_budget(f"{sys.argv[1]}/{os.getpid()}.ledger", "b", epsilon=10**4)
for line in sys.stdin:
    times, question = line.split(maxsplit=1)
    code = compile(question, "question", "exec")
    start = time.perf_counter()
    for _ in range(int(times)):
        exec(code)
    print((time.perf_counter() - start) / int(times), flush=True)
"""

#: Each question, how many times it is asked in a turn, and what is asked.
QUESTIONS: Final = (
    ("1,000 values in memory", 200, "hg.mean(small, bounds=(0, 1), epsilon=1)"),
    ("its exact interval", 5, "hg.mean(small, bounds=(0, 1), epsilon=1).interval()"),
    ("1,000,000 values in memory", 10, "hg.mean(large, bounds=(0, 1), epsilon=1)"),
    ("a file of 1,000 rows, with a budget", 10, "hg.mean(part, 'x', budget=budget, **ask)"),
    ("a file of 10,000,000 rows", 1, "hg.mean(whole, 'x', **ask)"),
    ("1,000 groups", 1, "hg.mean(whole, 'x', by='thousand', keys=list(range(1000)), **ask)"),
    (
        "100,000 groups",
        1,
        "hg.mean(whole, 'x', by='million', keys=list(range(100_000)), **ask).means",
    ),
    (
        "1,000,000 secret groups",
        1,
        "hg.mean(whole, 'x', by='million', delta=1e-6, **ask)",
    ),
    ("each person once", 1, "hg.mean(whole, 'x', unit=hg.per_person('person'), **ask)"),
    ("private bounds", 1, "hg.find_bounds(whole, 'x', epsilon=1)"),
    ("1,000,000 samples", 1, "hg.Hourglass(1, 2**32).sample(1_000_000)"),
)


class Version:
    """A process that answers with the code of a checkout."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PREPARED, str(folder)],
            env={**os.environ, "PYTHONPATH": str(checkout / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, times: int, question: str) -> float:
        """The mean time of the question, asked so many times."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(times, question, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=60)


def figures(other: Path, folder: Path, turns: int) -> Iterator[Figure]:
    """Each question's ratio, and the time of this version."""
    for rows in (1_000, 10_000_000):
        written(folder, rows)
    versions = Version(OURS, folder), Version(other, folder)
    for name, times, question in QUESTIONS:
        found: tuple[list[float], list[float]] = ([], [])
        for turn in range(turns + 1):
            for version, seconds in zip(versions, found, strict=True):
                taken = version.seconds(times, question)
                if turn:  # the first turn warms up
                    seconds.append(taken)
        ours, theirs = map(statistics.median, found)
        yield Figure(name, ours / theirs, f"x ({_said(ours)} / {_said(theirs)})")
    for version in versions:
        version.close()


def _said(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.3g} ms"


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("checkout", type=Path)
    options.add_argument("--turns", type=int, default=5)
    asked = options.parse_args(arguments)
    name = subprocess.run(
        [sys.executable, "-c", "import hourglass; print(hourglass.__version__)"],
        env={**os.environ, "PYTHONPATH": str(asked.checkout / "src")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        found = list(printed(figures(asked.checkout, Path(folder), asked.turns)))
    words = (
        "`python -m benchmarks.versions CHECKOUT` asks this version and an earlier one the same\n"
        f"questions, alternately. The figures are the times of this version over those of {name}."
    )
    rows = [f"| {figure.what} | {figure.said} |" for figure in found]
    lines = "\n".join(["| question | this version / the earlier one |", "|---|---|", *rows])
    replace_section(HEADING, f"{words}\n\n{machine()}:\n\n{lines}")


if __name__ == "__main__":
    main()
