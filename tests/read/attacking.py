"""The attack: a source and its neighbours, one row more, less or other, seen from outside.

``python -m tests.read.attacking SEEDS FOLDER`` runs it on a Spark Connect session of its own: one
process holds one kind of session.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hourglass as hg
from tests.read import targets
from tests.read.observer import Question, complaints, in_python, observe, through_command
from tests.read.targets import Target

Maker = Callable[[random.Random, Path], Target]
#: Neighbours of one base.
NEIGHBOURS = 8


def attack(
    target: Target,
    question: Question,
    rng: random.Random,
    temporary: Path,
    neighbours: int,
    crowd: int = 1,
) -> list[str]:
    """What tells a base from its neighbours.

    Where a query is dear, a ``crowd`` of poisons is added at once, which touches no clean group.
    """
    ledger = str(temporary.parent / f"ledger-{rng.getrandbits(64)}.db")
    budget = hg.create_budget(ledger, "attacked", epsilon=10_000, delta=0.5)
    ask = through_command(ledger) if target.command else in_python
    rows = [target.good(i) for i in range(12)]
    for _ in range(rng.randrange(3)):
        rows.insert(rng.randrange(len(rows) + 1), target.bad(rng))

    def look(of: list[Any]) -> Any:
        return observe(target.make(of), question, budget, temporary, target.engine, ask)

    look(rows)  # a process makes its folder for spilling with its first question
    base, found = look(rows), []
    for _ in range(neighbours):
        poison, added, gone, clean = target.bad(rng), 0, 0, target.clean
        other = list(rows)
        how = "add" if crowd > 1 else rng.choice(["add", "add", "add", "change", "remove"])
        place = rng.randrange(len(rows) + (how == "add"))
        if how != "add":
            gone = target.records(other.pop(place))
            clean = [name for name in clean if not _names(rows[place], name)]
        if how != "remove":
            added = target.records(poison)
            other.insert(place, poison)
        for _ in range(crowd - 1):
            more = target.bad(rng)
            added += target.records(more)
            other.insert(rng.randrange(len(other) + 1), more)
        wrong = complaints(base, look(other), question, added=added, gone=gone, clean=clean)
        if wrong:
            said = str((how, poison if how != "remove" else rows[place]))
            found.append(
                f"{question.name} {said[:150]}: {wrong}; {question.options} {str(rows)[:1500]}"
            )
    os.unlink(ledger)
    return found


def _names(row: Any, name: str) -> bool:
    return name in (row.decode(errors="replace") if isinstance(row, bytes) else str(row))


def run(
    make: Maker,
    seeds: range,
    temporary: Path,
    pairs: int = NEIGHBOURS,
    crowd: int = 1,
    several: bool = False,
) -> list[str]:
    """What the attack finds with each of the seeds; every question is asked in its turn.

    ``several`` asks for the totals of two columns instead.
    """
    found = []
    for seed in seeds:
        rng = random.Random(seed)
        target = make(rng, temporary.parent)
        question = target.questions[seed % len(target.questions)]
        if several:
            options = {"by": "g"} if seed % 2 else {}
            parse = target.questions[0].options.get("parse")
            question = Question("several", options | {"parse": parse}, columns=("x", "p"))
        wrong = attack(target, question, rng, temporary, pairs, crowd)
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
        return run(targets.on_spark(session), seeds, temporary, pairs=1, crowd=12)
    finally:
        session.stop()


if __name__ == "__main__":
    first, last = map(int, sys.argv[1].split("-"))
    print("found:", json.dumps(on_connect(range(first, last), Path(sys.argv[2]))))
