"""Totals against the engine's own AVG, side by side: python -m benchmarks.engines

Both read the same Parquet file in the same process, turn by turn; the figures are medians of
times and ratios of medians. ``--rows 100000000`` is the long run; ``--parts spark`` runs Spark.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.run import run
from hourglass.ask.search import bounds_question as checked_bounds
from hourglass.core.grid import Bounds
from hourglass.core.unit import Unit
from hourglass.read.open import open_source
from hourglass.read.sql.query import Query, Value

BOUNDS = (0, 100)
GROUPS = {"1": None, "1,000": "thousand", "1,000,000": "million"}
#: The three columns that are read at once, with their bounds.
COLUMNS = {"x": BOUNDS, "y": (-3, 12), "z": (0.0, 3.0)}
PARTS = ("memory", "totals", "columns", "persons", "bounds", "whole", "spark")
LIMITS = {
    "duckdb": {"1": 2.0, "1,000": 1.6, "1,000,000": 1.4},
    "spark": {"1": 2.0, "1,000": 1.5, "1,000,000": 1.2},
}


def written(folder: Path, rows: int) -> Path:
    """Random doubles in three columns, some out of bounds, with two groups and a person each."""
    path = folder / f"rows-{rows}.parquet"
    if not path.exists():
        duckdb.connect().execute(
            "COPY (SELECT random() * 102 - 1 AS x, random() * 16 - 4 AS y, random() * 3.1 AS z, "
            "CAST(floor(random() * 1000) AS INTEGER) AS thousand, "
            "CAST(floor(random() * 1000000) AS INTEGER) AS million, "
            f"CAST(floor(random() * {max(1, rows // 10)}) AS BIGINT) AS person "
            f"FROM range({rows})) TO '{path}' (FORMAT parquet)"
        )
    return path


Work = Callable[[], Any]


def in_turns(first: Callable[[], Work], second: Callable[[], Work], turns: int) -> Any:
    """The median times of both, taken turn by turn; connecting is not in them, closing is."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + 1):
        for prepare, record in zip((first, second), times, strict=True):
            work = prepare()
            start = time.perf_counter()
            work()
            if turn:  # the first turn warms the file's cache
                record.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def line(name: str, ours: float, theirs: float, limit: float | None) -> None:
    within = "" if limit is None else ("   ok" if ours / theirs <= limit else f"   over {limit}")
    print(f"{name:<44}{ours:>9.3f} s{theirs:>9.3f} s{ours / theirs:>8.2f}{within}", flush=True)


def ratio_to_avg(path: Path, engine: str, average: Callable[[str], Work], turns: int) -> None:
    """One query for each number of groups."""
    for name, by in GROUPS.items():
        text = f"SELECT {by}, AVG(x) FROM t GROUP BY {by}" if by else "SELECT AVG(x) FROM t"

        def totals(by: str | None = by) -> Work:
            more: dict[str, Any] = {"by": by, "delta": 1e-6} if by else {}
            return mean_question(path, "x", bounds=BOUNDS, epsilon=1, engine=engine, **more).read

        def avg(text: str = text) -> Work:
            return average(text)

        ours, theirs = in_turns(totals, avg, turns)
        line(f"{engine}: totals, groups: {name}", ours, theirs, LIMITS[engine][name])


def columns(path: Path, engine: str, average: Callable[[str], Work], turns: int) -> None:
    """Three columns in one pass, and one for comparison: each against its own averages."""
    for name, by in list(GROUPS.items())[:2]:
        for names in (["x"], list(COLUMNS)):
            averages = ", ".join(f"AVG({column})" for column in names)
            text = (
                f"SELECT {by}, {averages} FROM t GROUP BY {by}"
                if by
                else f"SELECT {averages} FROM t"
            )

            def totals(names: list[str] = names, by: str | None = by) -> Work:
                source = open_source(path, (*names, *([by] if by else [])), engine)
                schema = source.schema()
                fields = [schema.field(column, "column") for column in names]
                values = (Value(f, f.grid(Bounds(*COLUMNS[f.name]), None)) for f in fields)
                query = Query(tuple(values), (schema.key(by),) if by else ())
                sql = source.sql(query, Bounds(*BOUNDS))
                return lambda: source.run(sql, query)

            def avg(text: str = text) -> Work:
                return average(text)

            ours, theirs = in_turns(totals, avg, turns)
            what = "three columns at once" if len(names) > 1 else "one column"
            line(f"{engine}: {what}, groups: {name}", ours, theirs, None)


def duckdb_average(path: Path) -> Callable[[str], Work]:
    scan = f"read_parquet('{path}')"

    def average(text: str) -> Work:
        connection = duckdb.connect(config={"preserve_insertion_order": "false"})
        query = text.replace("FROM t", f"FROM {scan}")

        def work() -> None:  # ours drops its database too before it answers
            connection.execute(query).fetchnumpy()
            connection.close()

        return work

    return average


def persons(path: Path, turns: int) -> None:
    """Each person once, against the average of the persons' averages."""
    average = duckdb_average(path)
    text = "SELECT AVG(a) FROM (SELECT AVG(x) AS a FROM t GROUP BY person) AS p"
    unit = hg.per_person("person")
    ours, theirs = in_turns(
        lambda: mean_question(path, "x", bounds=BOUNDS, epsilon=1, unit=unit).read,
        lambda: average(text),
        turns,
    )
    line("duckdb: each person once", ours, theirs, 1.7)


def bounds(path: Path, turns: int) -> None:
    """The counts behind private bounds, 1,027 buckets, by row and with one row a person."""
    average = duckdb_average(path)
    for name, unit in (("row", hg.per_row()), ("person", hg.per_person("person"))):

        def counts(unit: Unit = unit) -> Work:
            return checked_bounds(path, "x", epsilon=1, unit=unit).read

        ours, theirs = in_turns(counts, lambda: average("SELECT AVG(x) FROM t"), turns)
        line(f"duckdb: counts for bounds, per {name}", ours, theirs, None)


def end_to_end(path: Path, folder: Path, turns: int) -> None:
    """The whole way: query, noise, estimates."""
    million = mean_question(path, "x", bounds=BOUNDS, epsilon=1, by="million", keys=range(10**6))
    start = time.perf_counter()
    found = run(million)
    assert isinstance(found, hg.Releases)
    table = found.columns()
    print(f"{'1,000,000 public groups, answered':<44}{time.perf_counter() - start:>9.3f} s")
    assert len(table["mean"]) == 10**6
    small = folder / "small.parquet"
    duckdb.connect().execute(
        "COPY (SELECT random() * 100 AS x, CAST(floor(random() * 100000) AS INTEGER) AS g "
        f"FROM range(1000000)) TO '{small}' (FORMAT parquet)"
    )
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        hg.mean(small, "x", bounds=BOUNDS, epsilon=1, by="g", keys=range(100_000)).columns()
        times.append(time.perf_counter() - start)
    took = statistics.median(times)
    verdict = "ok" if took < 2 else "over 2"
    print(f"{'100,000 groups over 1,000,000 rows':<44}{took:>9.3f} s{verdict:>24}")


def memory(folder: Path, rows: int) -> None:
    """Peak memory of a process of its own, for two sizes."""
    for size in (rows // 10, rows):
        program = (
            "import re, hourglass as hg\n"
            f"hg.mean({str(written(folder, size))!r}, 'x', bounds={BOUNDS}, epsilon=1)\n"
            "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        )
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        peak = int(told.stdout) // 1024
        print(f"{f'peak memory, {size:,} rows, one group':<44}{peak:>9} MiB", flush=True)


def spark(path: Path, turns: int) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    session.read.parquet(str(path)).createOrReplaceTempView("t")
    ratio_to_avg(path, "spark", lambda text: lambda: session.sql(text).toArrow(), turns)
    columns(path, "spark", lambda text: lambda: session.sql(text).toArrow(), turns)
    session.stop()


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10**7)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS[:-1]))
    options.add_argument("--folder", type=Path, default=None)
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        print(f"{chosen.rows:,} rows{'':<34}{'ours':>9}  {'AVG':>9}  {'ratio':>6}")
        path = written(folder, chosen.rows)
        works: dict[str, Work] = {
            "memory": lambda: memory(folder, chosen.rows),
            "totals": lambda: ratio_to_avg(path, "duckdb", duckdb_average(path), chosen.turns),
            "columns": lambda: columns(path, "duckdb", duckdb_average(path), chosen.turns),
            "persons": lambda: persons(path, chosen.turns),
            "bounds": lambda: bounds(path, chosen.turns),
            "whole": lambda: end_to_end(path, folder, chosen.turns),
            "spark": lambda: spark(path, chosen.turns),
        }
        for part in chosen.parts:
            works[part]()


if __name__ == "__main__":
    main()
