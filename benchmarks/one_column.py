"""Three columns beside one of an earlier version: python -m benchmarks.one_column CHECKOUT

CHECKOUT is a working copy of a version that answers one column only. Each version and the engine's
own AVG of the same columns run in a process per engine, all of them alternately: a whole release of
one column there, of three here. The figures are the ratios to AVG. The section "Three columns
beside one" of docs/performance.md is rewritten.
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

from .engines import COLUMNS, written
from .figures import Figure, machine, printed, replace_section
from .versions import OURS

HEADING: Final = "Three columns beside one"
ROWS: Final = 10**7
#: Spark compiles what runs often, and needs some turns for it.
WARM: Final = {"duckdb": 2, "spark": 6}

#: What each process does, with the file and the engine as its arguments.
PROGRAM: Final = """
import sys, time
import hourglass as hg
path, engine = sys.argv[1:]
if engine == "spark":
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
               .config("spark.ui.showConsoleProgress", "false")
               .config("spark.sql.shuffle.partitions", "4").getOrCreate())
    session.read.parquet(path).createOrReplaceTempView("t")
    average = lambda text: session.sql(text).toArrow()
else:
    import duckdb
    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute("SET enable_progress_bar = false")
    connection.read_parquet(path).create_view("t")
    average = lambda text: connection.execute(text).fetchnumpy()
for line in sys.stdin:
    start = time.perf_counter()
    exec(line)
    print("took", time.perf_counter() - start, flush=True)
"""


class Process:
    """A version with an engine of its own."""

    def __init__(self, checkout: Path, path: Path, engine: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, str(path), engine],
            env={
                **os.environ,
                "PYTHONPATH": str(checkout / "src"),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def seconds(self, line: str) -> float:
        """How long a line of Python takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(line, file=self._process.stdin, flush=True)
        for told in self._process.stdout:
            if told.startswith("took"):
                return float(told.split()[1])
        raise RuntimeError(f"the process ended at: {line}")

    def close(self) -> None:
        self._process.communicate(timeout=60)


def lines(engine: str, names: list[str], by: str | None) -> tuple[str, str]:
    """Our question and the engine's own, as lines of Python."""
    several = len(names) > 1
    column, bounds = (names, COLUMNS) if several else (names[0], COLUMNS[names[0]])
    groups = f", by={by!r}, delta=1e-6" if by else ""
    ours = f"hg.mean(path, {column!r}, bounds={bounds!r}, epsilon=1, engine=engine{groups})"
    averages = ", ".join(f"AVG({name})" for name in names)
    text = f"SELECT {by}, {averages} FROM t GROUP BY {by}" if by else f"SELECT {averages} FROM t"
    return ours, f"average({text!r})"


def figures(other: Path, path: Path, turns: int) -> Iterator[Figure]:
    """For each engine, and with and without groups: one column there, three columns here."""
    for engine in ("duckdb", "spark"):
        one, three = (Process(checkout, path, engine) for checkout in (other, OURS))
        for by in (None, "thousand"):
            asked = [(one, line) for line in lines(engine, ["x"], by)]
            asked += [(three, line) for line in lines(engine, list(COLUMNS), by)]
            times: list[list[float]] = [[] for _ in asked]
            for turn in range(turns + WARM[engine]):
                for (process, line), record in zip(asked, times, strict=True):
                    taken = process.seconds(line)
                    if turn >= WARM[engine]:
                        record.append(taken)
            ours, avg, ours_of_three, avg_of_three = map(statistics.median, times)
            what = f"{engine}, groups: {'1,000' if by else '1'}"
            goal = ours / avg
            yield Figure(f"{what}: three columns", ours_of_three / avg_of_three, "x AVG", goal)
        one.close()
        three.close()


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("checkout", type=Path)
    options.add_argument("--turns", type=int, default=15)
    asked = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), ROWS)
        found = list(printed(figures(asked.checkout, path, asked.turns)))
    words = (
        "`python -m benchmarks.one_column CHECKOUT` compares three columns with one column of the\n"
        "last version that answered only one: whole releases over ten million rows, each as a\n"
        "ratio to the engine's own `AVG` of the same columns, alternately on the same machine."
    )
    rows = [f"| {f.what} | {f.value:.2f} | {f.goal:.2f} |" for f in found]
    table = "\n".join(["| what | x AVG | one column then |", "|---|---|---|", *rows])
    replace_section(HEADING, f"{words}\n\n{machine()}:\n\n{table}")


if __name__ == "__main__":
    main()
