"""The attack: compare a source with its neighbours (one row added, removed or changed) from
outside.

``python -m tests.read.attacking SEEDS FOLDER`` runs it on a Spark Connect session of its own: one
process holds one kind of session.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hourglass as hg
from hourglass.read.source import spill_directory
from tests.read import targets
from tests.read.observer import Question, complaints, in_python, observe, through_command
from tests.read.targets import Target

Maker = Callable[[random.Random, Path], Target]
#: The neighbours of one base: one row added, replaced or removed.
KINDS = ("add", "add", "change", "remove", "add", "add", "change", "remove")
#: Where queries are expensive: one of each, and many poisons at once, which touch no clean group.
DEAR = ("add", "change", "remove", "crowd")
CROWD = 12
#: How many neighbours were looked at, by their kind.
SEEN: Counter[str] = Counter()


def attack(
    target: Target, question: Question, rng: random.Random, temporary: Path, kinds: tuple[str, ...]
) -> list[str]:
    """Everything that distinguishes a base from its neighbours."""
    ledger = str(temporary.parent / f"ledger-{rng.getrandbits(64)}.db")
    budget = hg.create_budget(ledger, "attacked", epsilon=10_000, delta=0.5)
    ask = through_command(ledger) if target.command else in_python
    rows = [target.good(i) for i in range(12)]
    for _ in range(rng.randrange(3)):
        rows.insert(rng.randrange(len(rows) + 1), target.bad(rng))

    def look(of: list[Any]) -> Any:
        return observe(target.make(of), question, budget, temporary, target.engine, ask)

    spill_directory()  # a process creates its spill folder at its first question
    base, found = look(rows), []
    for kind in kinds:
        other, came, went = neighbour(rows, kind, target, rng)
        clean = [name for name in target.clean if not any(_names(row, name) for row in went)]
        added, gone = (sum(map(target.records, some)) for some in (came, went))
        wrong = complaints(base, look(other), question, added=added, gone=gone, clean=clean)
        SEEN[kind] += 1
        if wrong:
            said = str((kind, came, went))[:300]
            found.append(f"{question.name} {said}: {wrong}; {question.options} {str(rows)[:1500]}")
    os.unlink(ledger)
    return found


def neighbour(
    rows: list[Any], kind: str, target: Target, rng: random.Random
) -> tuple[list[Any], list[Any], list[Any]]:
    """The rows of a neighbour, the added rows, and the removed rows."""
    other, went = list(rows), []
    if kind in ("change", "remove"):
        went.append(other.pop(rng.randrange(len(other))))
    came = [target.bad(rng) for _ in range({"remove": 0, "crowd": CROWD}.get(kind, 1))]
    for row in came:
        other.insert(rng.randrange(len(other) + 1), row)
    return other, came, went


def _names(row: Any, name: str) -> bool:
    return name in (row.decode(errors="replace") if isinstance(row, bytes) else str(row))


def run(make: Maker, seeds: range, temporary: Path, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """What the attack finds with each of the seeds; the questions are asked in turn."""
    found = []
    for seed in seeds:
        rng = random.Random(seed)
        target = make(rng, temporary.parent)
        question = target.questions[seed % len(target.questions)]
        wrong = attack(target, question, rng, temporary, kinds)
        found += [f"seed {seed}: {one}" for one in wrong]
    return found


def on_connect(seeds: range, folder: Path) -> list[str]:
    """Files and DataFrames through Spark Connect, in this process."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote("local[2]").getOrCreate()
    assert "connect" in type(session).__module__
    temporary = folder / "temporary"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    try:
        return run(targets.on_spark(session), seeds, temporary, DEAR)
    finally:
        session.stop()


if __name__ == "__main__":
    first, last = map(int, sys.argv[1].split("-"))
    found = on_connect(range(first, last), Path(sys.argv[2]))
    print("found:", json.dumps([found, SEEN]))
