"""Side by side with the peers, by one command: python -m benchmarks.peers"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import measure
from .adapters import NAMES
from .environments import ROOT, Environment, installed
from .quick import write_speed
from .report import write
from .wide import write_columns

STAGES = ("behaviour", "speed", "accuracy", "columns")
DURATION = "On two quiet cores it takes about 40 minutes, once the peers are installed."
#: Who takes longest goes first, so that nobody is waited for at the end.
FIRST = ("tumult", "opendp", "smartnoise")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=DURATION)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--stages", nargs="*", choices=STAGES, default=list(STAGES))
    parser.add_argument(
        "--target", type=float, default=0.025, help="relative standard error to reach in a cell"
    )
    parser.add_argument(
        "--minutes", type=float, default=14.0, help="time of a peer's cells in all, at most"
    )
    parser.add_argument(
        "--wide-minutes", type=float, default=2.0, help="the same for several columns"
    )
    parser.add_argument("--turns", type=int, default=5, help="turns of the clock")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds for one answer")
    parser.add_argument("--install", type=float, default=600.0, help="seconds to install a peer")
    parser.add_argument("--jobs", type=int, default=2, help="peers measured for accuracy at once")
    parser.add_argument("--report", action="store_true", help="only write the report again")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    asked = parser.parse_args()
    kept = asked.cache / "results.json"
    if not asked.report:
        asked.cache.mkdir(parents=True, exist_ok=True)
        _measured(asked, kept)
    results = json.loads(kept.read_text())
    left = [stage for stage in STAGES if "ours" not in results[stage]]
    alone = {"columns": write_columns, "speed": write_speed}
    if not left:
        write(results, asked.out)
        _say(f"written: {asked.out / 'comparison.md'}")
    for stage in alone if left else ():
        if stage not in left:
            alone[stage](results, asked.out)
            _say(f"written: the section on {stage} in {asked.out / 'comparison.md'}")
    if left:
        _say(f"of ours still to be run for the whole page: {', '.join(left)}")


def _measured(asked: argparse.Namespace, kept: Path) -> None:
    """Stage by stage into the file; what is not asked for again keeps its last results."""
    _say("installing: " + ", ".join(asked.only))
    with ThreadPoolExecutor(asked.jobs) as pool:
        jobs = [pool.submit(installed, name, asked.cache, asked.install) for name in asked.only]
        environments = [job.result() for job in jobs]
    for environment in environments:
        _say(f"{environment.name}: {environment.failed or environment.version}")
    ready = [environment for environment in environments if not environment.failed]
    results: dict[str, Any] = {"peers": {}, "runs": {}, "when": {}} | {s: {} for s in STAGES}
    if kept.exists() and "runs" in (last := json.loads(kept.read_text())):
        results |= last
    run = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    results["runs"][run] = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        **{
            key: getattr(asked, key)
            for key in ("target", "minutes", "wide_minutes", "turns", "patience", "jobs")
        },
        "took": {},
    }
    for e in environments:
        results["peers"][e.name] = {
            "version": e.version, "megabytes": e.megabytes, "failed": e.failed
        }  # fmt: skip
    measured: dict[str, Callable[[], dict[str, Any]]] = {
        "behaviour": lambda: {e.name: measure.behaviour(e, asked.patience) for e in ready},
        "speed": lambda: _speed(ready, asked),
        "accuracy": lambda: _accuracy(ready, asked, measure.accuracy, asked.minutes),
        "columns": lambda: _accuracy(ready, asked, measure.columns, asked.wide_minutes),
    }
    for stage in STAGES:
        if stage not in asked.stages:
            continue
        start = time.monotonic()
        found = measured[stage]()
        results["runs"][run]["took"][stage] = (time.monotonic() - start) / 60
        if stage == "columns":
            found = {name: merged(results[stage].get(name, []), found[name], run) for name in found}
        results[stage] |= found
        results["when"].setdefault(stage, {}).update(dict.fromkeys(found, run))
        kept.write_text(json.dumps(results, indent=1))
        _say(f"{stage}: done in {results['runs'][run]['took'][stage]:.1f} minutes")


def merged(
    last: list[dict[str, Any]], rows: list[dict[str, Any]], run: str
) -> list[dict[str, Any]]:
    """The rows of a run; where it did not get to an answer, the last one that there was."""
    names = ("cell", "epsilon", "way")
    known = {tuple(row[name] for name in names): row for row in last if "failed" not in row}
    return [
        known.get(tuple(row[name] for name in names), row)
        if "failed" in row
        else row | {"run": run}
        for row in rows
    ]


def _speed(ready: list[Environment], asked: argparse.Namespace) -> dict[str, Any]:
    times = measure.speed(ready, asked.turns, asked.patience, _say)
    for environment in ready:
        found = measure.import_and_memory(environment, asked.patience)
        times[environment.name] |= found
        _say(f"import and memory: {environment.name}: {found}")
    return times


def _accuracy(
    ready: list[Environment],
    asked: argparse.Namespace,
    measured: Callable[..., list[dict[str, Any]]],
    minutes: float,
) -> dict[str, Any]:
    private = [environment for environment in ready if environment.name != "plain"]
    private.sort(key=lambda e: FIRST.index(e.name) if e.name in FIRST else len(FIRST))
    with ThreadPoolExecutor(asked.jobs) as pool:
        tasks = {e.name: pool.submit(measured, e, asked.target, minutes, _say) for e in private}
        return {name: task.result() for name, task in tasks.items()}


def _say(words: str) -> None:
    print(f"{datetime.datetime.now():%H:%M:%S} {words}", flush=True)


if __name__ == "__main__":
    main()
