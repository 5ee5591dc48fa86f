"""How the cost grows with rows, groups, columns and executors: python -m benchmarks.scale

A billion rows by default, in ten Parquet files of a hundred million: 21 GB in a temporary
folder (``--folder`` keeps them), nine of them copies. Every figure is the ratio of our totals
to the engine's own AVG over the same files, alternately in the same process. The section "How it
grows" of docs/performance.md is written anew.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb

from .engines import COLUMNS, Work, duckdb_average, in_turns, totals
from .figures import Figure, machine, printed, replace_section

HEADING: Final = "How it grows"
PIECE: Final = 10**8
#: From so many rows on, no whole turn is spent on warming up.
WHOLE: Final = 10**9
WORDS: Final = """\
`python -m benchmarks.scale` asks for our totals and for the engine's own `AVG` over the same
Parquet files, alternately, for up to `--rows` rows. The figures are the ratios of
the two, with the median time of ours in brackets. The million groups have public keys. DuckDB's
memory is the peak of a process that makes a whole release; Spark's is the largest peak among the
driver and the executors, each of which has one core and 2 GB."""


def written(folder: Path, rows: int) -> str:
    """Files of random doubles in two columns, two in a hundred out of bounds, with two groups.

    Beyond a piece, the others are copies of the first. (Links would be read once, as one file.)
    """
    size = min(PIECE, rows)
    folder = folder / f"rows-{rows}"
    folder.mkdir(exist_ok=True)
    first = folder / "0.parquet"
    if not first.exists():
        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            "COPY (SELECT random() * 102 - 1 AS x, random() * 16 - 4 AS y, "
            "CAST(floor(random() * 1000) AS INTEGER) AS thousand, "
            "CAST(floor(random() * 1000000) AS INTEGER) AS million "
            f"FROM range({size})) TO '{first}' (FORMAT parquet)"
        )
    for number in range(1, rows // size):
        if not (copy := folder / f"{number}.parquet").exists():
            shutil.copyfile(first, copy)
    return str(folder / "*.parquet")


def averages(names: Sequence[str], by: str | None) -> str:
    """The engine's own averages of the same columns, from a table ``t``."""
    asked = ", ".join(f"AVG({name})" for name in names)
    return f"SELECT {by}, {asked} FROM t GROUP BY {by}" if by else f"SELECT {asked} FROM t"


#: Columns and group of each question.
QUESTIONS: Final[tuple[tuple[str, list[str], str | None], ...]] = (
    ("one total", ["x"], None),
    ("two columns", ["x", "y"], None),
    ("1,000 groups", ["x"], "thousand"),
    ("1,000,000 groups", ["x"], "million"),
)


def compared(
    engine: str, path: str, rows: int, average: Callable[[str], Work], turns: int
) -> Iterator[Figure]:
    """Each question on so many rows: the ratio, and our seconds."""
    for name, columns, by in QUESTIONS:
        if rows >= WHOLE:  # the columns into the cache of the system, by the cheapest query
            average(averages([*columns, *([by] if by else [])], None))()
        ours, theirs = in_turns(
            partial(totals, path, engine, columns, by),
            partial(average, averages(columns, by)),
            turns,
            warm=rows < WHOLE,
        )
        what = f"{engine}, {rows:,} rows, {name}"
        yield Figure(what, ours / theirs, f"x AVG ({ours:.1f} s)")


def peak(path: str, rows: int) -> Figure:
    """The peak memory of a process that answers one question."""
    program = (
        "import re, hourglass as hg\n"
        f"hg.mean({path!r}, 'x', bounds={COLUMNS['x']}, epsilon=1)\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return Figure(f"duckdb, {rows:,} rows, peak memory", int(told.stdout) / 1024, "MB")


@contextmanager
def spark_session(executors: int) -> Iterator[Any]:
    """A cluster of one-core executors on this machine."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master(f"local-cluster[{executors},1,2048]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.memory", "2g")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "8")
        .getOrCreate()
    )
    try:
        yield session
    finally:
        session.stop()


def spark_memory() -> float:
    """The largest peak among the Java processes below this one, in megabytes."""
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        pid = int(status.parent.name)
        parents[pid] = int(re.findall(r"^PPid:\s*(\d+)", text, re.MULTILINE)[0])
        if "Name:\tjava" in text:
            peaks[pid] = int(re.findall(r"^VmHWM:\s*(\d+)", text, re.MULTILINE)[0])
    return max(mb for pid, mb in peaks.items() if _below(pid, parents)) / 1024


def _below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def on_spark(path: str, rows: int, executors: int, turns: int) -> Iterator[Figure]:
    with spark_session(executors) as session:
        session.read.parquet(path).createOrReplaceTempView("t")

        def average(text: str) -> Work:
            return lambda: session.sql(text).toArrow()

        many = f"spark, {executors} executor{'s' if executors > 1 else ''}"
        for figure in compared("spark", path, rows, average, turns):
            what = figure.what.replace("spark", many)
            yield Figure(what, figure.value, figure.unit)
        yield Figure(f"{many}, {rows:,} rows, peak memory of a process", spark_memory(), "MB")


def figures(folder: Path, rows: int, turns: int, parts: Sequence[str]) -> Iterator[Figure]:
    """Every figure of the parts, from a hundredth of the rows to all of them."""
    for size in (rows // 100, rows // 10, rows):
        path = written(folder, size)
        if "duckdb" in parts:
            yield from compared("duckdb", path, size, duckdb_average(path), turns)
            yield peak(path, size)
        if "spark" in parts:
            for executors in (1, 2) if size == rows // 10 else (2,):
                yield from on_spark(path, size, executors, turns)


def pivot(found: Sequence[Figure]) -> str:
    """A row for each engine and number of rows, a column for each question and for memory."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for figure in found:
        where, size, what = re.fullmatch(r"(.*), ([\d,]+) rows, (.*)", figure.what).groups()  # type: ignore[union-attr]
        said = f"{figure.value:,.0f} MB" if figure.unit == "MB" else figure.said
        rows.setdefault((where, size), {})[what.split(" of")[0]] = said.replace(" AVG", "")
    heads = [*(name for name, _, _ in QUESTIONS), "peak memory"]
    lines = [
        "| " + " | ".join([where, size, *(row.get(head, "") for head in heads)]) + " |"
        for (where, size), row in rows.items()
    ]
    rule = "|---" * (len(heads) + 2) + "|"
    return "\n".join([f"| engine | rows | {' | '.join(heads)} |", rule, *lines])


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10**9)
    options.add_argument("--turns", type=int, default=3)
    options.add_argument("--parts", nargs="*", default=["duckdb", "spark"])
    options.add_argument("--folder", type=Path, default=None)
    asked = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        found: list[Figure] = []
        for figure in printed(figures(folder, asked.rows, asked.turns, asked.parts)):
            found.append(figure)  # a long run may be ended before its end
            turns = f"{asked.turns} turn{'s' if asked.turns > 1 else ''}"
            replace_section(HEADING, f"{WORDS}\n\n{machine()}, {turns}:\n\n{pivot(found)}")


if __name__ == "__main__":
    main()
