"""Totals against the engine's own AVG, side by side: python -m benchmarks.engines

Both read the same Parquet file in the same process, alternately; the figures are medians of
times and ratios of medians. ``--rows 100000000`` is the long run. :mod:`.servers` has Spark and
PostgreSQL.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question as checked_bounds
from hourglass.core.limits import Bounds
from hourglass.read.open import open_source, public_keys
from hourglass.read.sql.query import Query, Value

from .figures import Figure, printed

BOUNDS = (0, 100)
GROUPS = {"1": None, "1,000": "thousand", "1,000,000": "million"}
#: The three columns that are read at once, with their bounds.
COLUMNS = {"x": BOUNDS, "y": (-3, 12), "z": (0.0, 3.0)}
PARTS = ("memory", "totals", "columns", "persons", "bounds", "whole")
LIMITS = {
    "duckdb": {"1": 1.5, "1,000": 1.6, "1,000,000": 1.4},
    "spark": {"1": 2.0, "1,000": 1.5, "1,000,000": 1.2},
}
#: What the ratio of one column was before there were several: the goal for three.
ONE_COLUMN = {"duckdb": {"1": 1.89, "1,000": 1.47}, "spark": {"1": 1.36, "1,000": 1.17}}


def written(folder: Path, rows: int) -> Path:
    """Random doubles in three columns, some out of bounds, with groups and a person each."""
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


def in_turns(
    first: Callable[[], Work], second: Callable[[], Work], turns: int, *, warm: bool = True
) -> Any:
    """The median times of both, taken alternately; what prepares them is not in them."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns + warm):
        for prepare, record in zip((first, second), times, strict=True):
            work = prepare()
            start = time.perf_counter()
            work()
            if turn >= warm:  # the first turn warms the file's cache
                record.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def ratio_to_avg(
    data: Any, engine: str, average: Callable[[str], Work], turns: int
) -> Iterator[Figure]:
    """One query for each number of groups."""
    for name, by in GROUPS.items():
        text = f"SELECT {by}, AVG(x) FROM t GROUP BY {by}" if by else "SELECT AVG(x) FROM t"
        more: dict[str, Any] = {"by": by, "delta": 1e-6} if by else {}
        more |= {"engine": engine} if isinstance(data, Path) else {}

        def read(more: dict[str, Any] = more) -> Work:
            return mean_question(data, "x", bounds=BOUNDS, epsilon=1, **more).read

        ours, theirs = in_turns(read, partial(average, text), turns)
        goal = LIMITS.get(engine, {}).get(name)
        yield ratio(f"{engine}: totals, groups: {name}", ours, theirs, goal)


def columns(data: Any, engine: str, average: Callable[[str], Work], turns: int) -> Iterator[Figure]:
    """Three columns in one pass, and one for comparison: each against its own averages.

    A million groups have public keys.
    """
    for name, by in GROUPS.items():
        if by == "million" and engine != "duckdb":
            continue
        for names in (["x"], list(COLUMNS)):
            averages = ", ".join(f"AVG({column})" for column in names)
            text = (
                f"SELECT {by}, {averages} FROM t GROUP BY {by}"
                if by
                else f"SELECT {averages} FROM t"
            )
            ours, theirs = in_turns(
                partial(totals, data, engine, names, by), partial(average, text), turns
            )
            what = "three columns at once" if len(names) > 1 else "one column"
            goal = ONE_COLUMN.get(engine, {}).get(name) if len(names) > 1 else None
            yield ratio(f"{engine}: {what}, groups: {name}", ours, theirs, goal)


def totals(data: Any, engine: str, names: list[str], by: str | None) -> Work:
    """Our totals of the columns, by group or over all rows."""
    file = isinstance(data, str | Path)
    source = open_source(data, (*names, *([by] if by else [])), engine if file else None)
    schema = source.schema()
    fields = [schema.field(column, "column") for column in names]
    values = tuple(Value(f, f.grid(Bounds(*COLUMNS[f.name]), None)) for f in fields)
    groups = (schema.key(by),) if by else ()
    query = Query(values, groups)
    if by == "million":
        public = public_keys(range(10**6), groups)
        query = Query(values, groups, allowed=public.allowed(), places=public.places)
    sql = source.sql(query, Bounds(*BOUNDS))
    return lambda: source.run(sql, query)


def ratio(what: str, ours: float, theirs: float, goal: float | None) -> Figure:
    return Figure(what, ours / theirs, f"x ({ours:.2f} / {theirs:.2f} s)", goal)


def duckdb_average(path: Path | str) -> Callable[[str], Work]:
    """Averages by a database that is kept between them, as ours is."""
    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute("SET enable_progress_bar = false")

    def average(text: str) -> Work:
        query = text.replace("FROM t", f"FROM read_parquet('{path}')")
        return lambda: connection.execute(query).fetchnumpy()

    return average


def persons(path: Path, turns: int) -> Iterator[Figure]:
    """Each person once, and one row of each person for bounds, against averages by person."""
    average = duckdb_average(path)
    text = "SELECT AVG(a) FROM (SELECT AVG(x) AS a FROM t GROUP BY person) AS p"
    unit = hg.per_person("person")
    mean = partial(mean_question, path, "x", bounds=BOUNDS, epsilon=1, unit=unit)
    ours, theirs = in_turns(lambda: mean().read, partial(average, text), turns)
    yield ratio("duckdb: each person once", ours, theirs, 1.5)
    counts = partial(checked_bounds, path, "x", epsilon=1, unit=unit)
    ours, theirs = in_turns(lambda: counts().read, partial(average, text), turns)
    yield ratio("duckdb: counts for bounds, one row of each person", ours, theirs, 2.0)


def bounds(path: Path, turns: int) -> Iterator[Figure]:
    """The counts behind private bounds, 1,027 buckets."""
    counts = partial(checked_bounds, path, "x", epsilon=1)
    average = partial(duckdb_average(path), "SELECT AVG(x) FROM t")
    ours, theirs = in_turns(lambda: counts().read, average, turns)
    yield ratio("duckdb: counts for bounds", ours, theirs, None)


def whole(path: Path, turns: int) -> Iterator[Figure]:
    """A whole release: open, check, query, noise and estimate. :mod:`.groups` has many groups."""
    small = written(path.parent, 1000)
    ask = partial(hg.mean, small, "x", bounds=BOUNDS, epsilon=1)
    average = partial(duckdb_average(small), "SELECT AVG(x) FROM t")
    ours, theirs = in_turns(lambda: ask, average, 10 * turns)
    more = f"ms (AVG: {1e3 * theirs:.1f})"
    yield Figure("duckdb: whole release, one group of 1,000 rows", 1e3 * ours, more)
    ask = partial(hg.mean, path, "x", bounds=BOUNDS, epsilon=1)
    average = partial(duckdb_average(path), "SELECT AVG(x) FROM t")
    ours, theirs = in_turns(lambda: ask, average, turns)
    yield ratio("duckdb: whole release, one group", ours, theirs, 1.5)


def memory(folder: Path, rows: int) -> Iterator[Figure]:
    """Peak memory of a process of its own, for two sizes."""
    for size in (rows // 10, rows):
        program = (
            "import re, hourglass as hg\n"
            f"hg.mean({str(written(folder, size))!r}, 'x', bounds={BOUNDS}, epsilon=1)\n"
            "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        )
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        yield Figure(f"peak memory, {size:,} rows, one group", int(told.stdout) // 1024, "MB")


def figures(rows: int, turns: int, parts: Sequence[str], folder: Path) -> Iterator[Figure]:
    """Every figure of the parts."""
    path = written(folder, rows)
    works: dict[str, Callable[[], Iterator[Figure]]] = {
        "memory": lambda: memory(folder, rows),
        "totals": lambda: ratio_to_avg(path, "duckdb", duckdb_average(path), turns),
        "columns": lambda: columns(path, "duckdb", duckdb_average(path), turns),
        "persons": lambda: persons(path, turns),
        "bounds": lambda: bounds(path, turns),
        "whole": lambda: whole(path, turns),
    }
    for part in parts:
        yield from works[part]()


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10**7)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    options.add_argument("--folder", type=Path, default=None)
    chosen = options.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        print(f"{chosen.rows:,} rows")
        list(printed(figures(chosen.rows, chosen.turns, chosen.parts, folder)))


if __name__ == "__main__":
    main()
