"""One row more, less or other, made to be misread: nothing but its own record may move.

Everything that can be seen besides the noise is compared between neighbours: errors, output, logs,
charges, files left behind, the groups and their order, counts and sums (``observer.py``). The rows
are in ``poisons.py``, the doors they come in by in ``targets.py``. At epsilon 60 the noise is
as good as nil, so that counts and sums are read as they are.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from tests.read import targets
from tests.read.observer import Question, complaints, observe
from tests.read.targets import Target

pytestmark = pytest.mark.attack

Maker = Callable[[random.Random, Path], Target]
MAKERS: dict[str, Maker] = {
    "text": lambda rng, folder: targets.text(rng, folder, None),
    "binary": targets.binary,
    "frame": targets.frame,
    "objects": targets.objects,
    "sqlite": targets.sqlite,
    "relation": targets.relation,
    "datafusion": lambda rng, folder: targets.binary(rng, folder, "datafusion"),
}
PAIRS = {
    "text": 96,
    "binary": 40,
    "frame": 64,
    "objects": 24,
    "sqlite": 48,
    "relation": 48,
    "datafusion": 24,
}
#: Neighbours of one base.
NEIGHBOURS = 8


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder for temporary files, watched."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


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
    rows = [target.good(i) for i in range(12)]
    for _ in range(rng.randrange(3)):
        rows.insert(rng.randrange(len(rows) + 1), target.bad(rng))

    def look(of: list[Any]) -> Any:
        return observe(target.make(of), question, budget, temporary, target.engine)

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


def spark_maker(rng: random.Random, folder: Path) -> Target:
    if rng.random() < 0.7:
        return targets.text(rng, folder, "spark")
    return targets.binary(rng, folder, "spark")


@pytest.mark.parametrize("name", PAIRS)
def test_neighbours(name: str, temporary: Path) -> None:
    assert run(MAKERS[name], range(PAIRS[name] // NEIGHBOURS), temporary) == []


@pytest.mark.parametrize("name", PAIRS)
def test_neighbours_of_several_columns(name: str, temporary: Path) -> None:
    """The second column is read from cells that name persons: most are no numbers at all."""
    assert run(MAKERS[name], range(6), temporary, several=True) == []


def test_neighbours_of_several_columns_on_postgres(temporary: Path, postgres_url: str) -> None:
    make = partial(targets.postgres, url=postgres_url)
    assert run(make, range(2), temporary, several=True) == []


def test_crowds_of_several_columns_on_spark(temporary: Path, spark_session: Any) -> None:
    assert run(spark_maker, range(2), temporary, pairs=1, crowd=12, several=True) == []


def test_neighbours_on_postgres(temporary: Path, postgres_url: str) -> None:
    assert run(partial(targets.postgres, url=postgres_url), range(4), temporary) == []


def test_crowds_on_spark(temporary: Path, spark_session: Any) -> None:
    assert run(spark_maker, range(4), temporary, pairs=1, crowd=12) == []


def test_a_swallowed_row_is_seen(temporary: Path) -> None:
    """With ``hg.multiline`` an unclosed quote swallows rows, as it says: the attack finds that."""

    def make(rng: random.Random, folder: Path) -> Target:
        target = targets.text(rng, folder, None, "csv")
        return replace(target, make=lambda lines: hg.multiline(target.make(lines)))

    found = run(make, range(6, 8), temporary)
    assert any("may" in one or "not touched" in one or "failed" in one for one in found)


#: At least 5,000 files in all: bases of each door, with ``NEIGHBOURS`` neighbours each.
LONG = {
    "text": 250,
    "binary": 100,
    "frame": 150,
    "objects": 60,
    "sqlite": 100,
    "relation": 100,
    "datafusion": 60,
}
CHUNK = 10


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "start"),
    [(name, start) for name, bases in LONG.items() for start in range(1000, 1000 + bases, CHUNK)],
)
def test_many_neighbours(name: str, start: int, temporary: Path) -> None:
    assert run(MAKERS[name], range(start, start + CHUNK), temporary) == []


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1060, CHUNK))
def test_many_neighbours_on_postgres(start: int, temporary: Path, postgres_url: str) -> None:
    make = partial(targets.postgres, url=postgres_url)
    assert run(make, range(start, start + CHUNK), temporary) == []


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1060, CHUNK))
def test_many_crowds_on_spark(start: int, temporary: Path, spark_session: Any) -> None:
    assert run(spark_maker, range(start, start + CHUNK), temporary, pairs=2, crowd=12) == []
