"""Side by side with the peers, by one command: python -m benchmarks.peers"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import measure
from .adapters import NAMES
from .environments import ROOT, installed
from .report import write

STAGES = ("behaviour", "speed", "accuracy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--stages", nargs="*", choices=STAGES, default=list(STAGES))
    parser.add_argument("--runs", type=int, default=8000, help="releases a cell, at most")
    parser.add_argument("--seconds", type=float, default=5.0, help="time a cell, about")
    parser.add_argument("--minutes", type=float, default=8.0, help="time of a peer's cells in all")
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
        kept.write_text(json.dumps(_measured(asked), indent=1))
    results = json.loads(kept.read_text())
    left = [stage for stage in STAGES if stage not in results]
    if left:
        _say(f"no report yet: {', '.join(left)} still to be run")
    else:
        write(results, asked.out)
        _say(f"written: {asked.out / 'comparison.md'}")


def _measured(asked: argparse.Namespace) -> dict[str, Any]:
    _say("installing: " + ", ".join(asked.only))
    with ThreadPoolExecutor(asked.jobs) as pool:
        jobs = [pool.submit(installed, name, asked.cache, asked.install) for name in asked.only]
        environments = [job.result() for job in jobs]
    ready = [environment for environment in environments if not environment.failed]
    for environment in environments:
        _say(f"{environment.name}: {environment.failed or environment.version}")
    peers = {
        e.name: {"version": e.version, "megabytes": e.megabytes, "failed": e.failed}
        for e in environments
    }
    results: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}",
        "asked": {key: getattr(asked, key) for key in ("runs", "seconds", "minutes", "turns")},
        "patience": asked.patience,
        "peers": peers,
    }
    kept = asked.cache / "results.json"
    if kept.exists():  # stages and peers that are not asked for again keep their last results
        last = json.loads(kept.read_text())
        results = {**last, **results, "peers": {**last["peers"], **peers}}
    if "behaviour" in asked.stages:
        said = {e.name: measure.behaviour(e, asked.patience) for e in ready}
        results["behaviour"] = {**results.get("behaviour", {}), **said}
        kept.write_text(json.dumps(results, indent=1))
        _say("behaviour: done")
    if "speed" in asked.stages:
        times = measure.speed(ready, asked.turns, asked.patience, _say)
        results["speed"] = {**results.get("speed", {}), **times}
        for environment in ready:
            found = measure.import_and_memory(environment, asked.patience)
            results["speed"][environment.name] |= found
            kept.write_text(json.dumps(results, indent=1))
            _say(f"import and memory: {environment.name}: {found}")
    if "accuracy" in asked.stages:
        private = [environment for environment in ready if environment.name != "plain"]
        with ThreadPoolExecutor(asked.jobs) as pool:
            tasks = {
                e.name: pool.submit(measure.accuracy, e, asked.runs, asked.seconds, asked.minutes)
                for e in private
            }
            cells = {name: task.result() for name, task in tasks.items()}
        results["accuracy"] = {**results.get("accuracy", {}), **cells}
        _say("accuracy: done")
    return results


def _say(words: str) -> None:
    print(f"{datetime.datetime.now():%H:%M:%S} {words}", flush=True)


if __name__ == "__main__":
    main()
