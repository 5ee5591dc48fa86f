"""Text files against DuckDB's own readers, side by side: python -m benchmarks.files

The same totals by the same query, alternately: over the lines that hourglass reads, and over
DuckDB's read_csv and read_json, which take quotes across lines. Medians of times, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from hourglass.ask.question import mean_question
from hourglass.read.engines.duckdb import DuckDB
from hourglass.read.engines.duckdb_scans import Table

from .engines import Work, in_turns
from .figures import Figure, printed

BOUNDS = (0, 100)
#: The ratio to stay below: what reading line by line may cost.
GOAL = 1.2
NAMES = ("x", "thousand", "note", "person")
#: What the second and third columns look like, and which of them are quoted.
FILES = {
    "plain": ("CAST(floor(random() * 1000) AS INTEGER)", "CAST(random() * 1e6 AS INTEGER)", ""),
    "quoted": (
        "'g' || CAST(floor(random() * 1000) AS INTEGER)",
        "'note ' || CAST(random() * 1e6 AS INTEGER)",
        ", FORCE_QUOTE (thousand, note)",
    ),
    "separators in quotes": (
        "'g' || CAST(floor(random() * 1000) AS INTEGER)",
        "'note, ' || CAST(random() * 1e6 AS INTEGER)",
        ", FORCE_QUOTE (thousand, note)",
    ),
}


def written(folder: Path, kind: str, rows: int) -> Path:
    thousand, note, options = FILES[kind]
    path = folder / f"{kind}-{rows}.csv"
    select = (
        f"SELECT random() * 102 - 1 AS x, {thousand} AS thousand, {note} AS note, "
        f"CAST(floor(random() * {max(1, rows // 10)}) AS BIGINT) AS person FROM range({rows})"
    )
    duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT csv{options})")
    return path


def lined(folder: Path, rows: int) -> Path:
    path = folder / f"objects-{rows}.jsonl"
    duckdb.connect().execute(
        "COPY (SELECT random() * 102 - 1 AS x, CAST(floor(random() * 1000) AS INTEGER) AS thousand "
        f"FROM range({rows})) TO '{path}' (FORMAT json)"
    )
    return path


def own_reader(path: Path) -> str:
    """DuckDB's own reader of the file, all columns declared as text."""
    columns = json.dumps(dict.fromkeys(NAMES if path.suffix == ".csv" else NAMES[:2], "VARCHAR"))
    if path.suffix == ".jsonl":
        return (
            f"read_json('{path}', format='newline_delimited', columns={columns}, "
            "ignore_errors=true)"
        )
    return (
        f"read_csv('{path}', columns={columns}, header=true, auto_detect=false, delim=',', "
        "quote='\"', escape='\"', null_padding=true, ignore_errors=true, strict_mode=false)"
    )


def compare(path: Path, name: str, turns: int) -> Iterator[Figure]:
    """One total, then totals by group."""
    for groups, more in (("1", {}), ("1,000", {"by": "thousand", "delta": 1e-6})):
        asked: dict[str, Any] = {"bounds": BOUNDS, "epsilon": 1, **more}

        def ours(asked: dict[str, Any] = asked) -> Work:
            return mean_question(path, "x", **asked).read

        def theirs(asked: dict[str, Any] = asked) -> Work:
            question = mean_question(path, "x", **asked)
            engine = DuckDB(Table(own_reader(path), text=question.source.schema()))
            sql = engine.sql(question.query, question.mechanism.grid.bounds)
            return lambda: engine.run(sql, question.query)

        first, second = in_turns(ours, theirs, turns)
        yield Figure(f"{name}, groups: {groups}", first / second, "x DuckDB's reader", GOAL)


def figures(rows: int, turns: int) -> Iterator[Figure]:
    """Every kind of file."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for kind in FILES:
            yield from compare(written(folder, kind, rows), f"CSV, {kind}", turns)
        yield from compare(lined(folder, rows), "JSON lines", turns)


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=2 * 10**6)
    options.add_argument("--turns", type=int, default=7)
    chosen = options.parse_args(arguments)
    print(f"{chosen.rows:,} rows")
    list(printed(figures(chosen.rows, chosen.turns)))


if __name__ == "__main__":
    main()
