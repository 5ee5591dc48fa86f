"""Many groups beside DuckDB's AVG, by kind of key: python -m benchmarks.groups

A whole release is timed, from the call of ``hg.mean`` on a Parquet file until its means are at
hand, and AVG until it is fetched as NumPy arrays. Both read the same file in the same process, in
turns; the figures are ratios of median times. Peak memory is that of a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb

import hourglass as hg

from .engines import BOUNDS, Work, in_turns, ratio
from .figures import Figure, printed

#: The numbers of groups, and the largest ratios that are wanted for integer keys.
GOALS: Final = {100_000: 2.0, 1_000_000: 1.8}
#: For each kind of key: the SQL that makes it of the number of a group, and whether it is public.
KINDS: Final = {
    "integer": ("k", True),
    "distant integer": ("CAST(k AS BIGINT) * 1000003", True),
    "text": ("'group ' || k", True),
    "secret integer": ("k", False),
    "secret text": ("'group ' || k", False),
}


def written(folder: Path, key: str, rows: int, groups: int) -> Path:
    """Random doubles, some out of bounds, in so many groups."""
    path = folder / f"groups-{rows}-{groups}-{len(key)}.parquet"
    if not path.exists():
        duckdb.connect().execute(
            f"COPY (SELECT {key} AS g, x FROM (SELECT random() * 102 - 1 AS x, "
            f"CAST(floor(random() * {groups}) AS INTEGER) AS k FROM range({rows}))) "
            f"TO '{path}' (FORMAT parquet)"
        )
    return path


def options(kind: str, groups: int) -> dict[str, Any]:
    """How the groups are asked for."""
    key, public = KINDS[kind]
    if not public:
        return {"delta": 1e-6}
    if "group" in key:
        return {"keys": [f"group {i}" for i in range(groups)]}
    return {"keys": range(0, groups * 1_000_003, 1_000_003) if "*" in key else range(groups)}


def release(path: Path, more: dict[str, Any]) -> Work:
    """The means of all groups."""
    return lambda: hg.mean(path, "x", bounds=BOUNDS, epsilon=1, by="g", **more).means


def average(path: Path) -> Work:
    """The averages of all groups, from a connection that is there already."""
    connection = duckdb.connect()
    text = f"SELECT g, AVG(x) FROM read_parquet('{path}') GROUP BY g"
    return lambda: connection.sql(text).fetchnumpy()


def memory(path: Path, kind: str, groups: int) -> int:
    """The peak of a process that makes one release, in megabytes."""
    program = (
        "import re\nfrom pathlib import Path\nfrom benchmarks.groups import options, release\n"
        f"release(Path({str(path)!r}), options({kind!r}, {groups}))()\n"
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return int(told.stdout) // 1024


def figures(folder: Path, rows: int, turns: int, kinds: Sequence[str]) -> Iterator[Figure]:
    """The ratio and the memory of each kind and number of groups."""
    for kind in kinds:
        for groups, goal in GOALS.items():
            path = written(folder, KINDS[kind][0], rows, groups)
            ours, theirs = in_turns(
                partial(release, path, options(kind, groups)), partial(average, path), turns
            )
            what = f"{groups:,} groups, {kind} keys"
            yield ratio(f"whole release, {what}", ours, theirs, goal if kind == "integer" else None)
            yield Figure(f"peak memory, {what}", memory(path, kind, groups), "MB")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--folder", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        print(f"{chosen.rows:,} rows")
        list(printed(figures(folder, chosen.rows, chosen.turns, chosen.kinds)))


if __name__ == "__main__":
    main()
