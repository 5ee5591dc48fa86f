"""One row more, less or other, made to be misread: nothing but its own record may move.

Everything that can be seen besides the noise is compared between neighbours: errors, output, logs,
charges, files left behind, the groups and their order, counts and sums (``observer.py``). The rows
are in ``poisons.py``, the doors they come in by in ``targets.py``. At epsilon 60 the noise of a
count is zero, but for a chance of 1e-20, so that counts and sums are read as they are.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
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
PAIRS = {"text": 96, "binary": 40, "frame": 64, "objects": 24, "sqlite": 48, "relation": 48, "datafusion": 24}
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
    target: Target, question: Question, rng: random.Random, temporary: Path, neighbours: int
) -> list[str]:
    """What tells a base from its neighbours."""
    ledger = str(temporary.parent / f"ledger-{rng.getrandbits(64)}.db")
    budget = hg.create_budget(ledger, "attacked", epsilon=10_000, delta=0.5)
    rows = [target.good(i) for i in range(12)]
    touched = rng.randrange(12)
    for _ in range(rng.randrange(3)):
        rows.insert(rng.randrange(len(rows) + 1), target.bad(rng))

    def look(of: list[Any]) -> Any:
        return observe(target.make(of), question, budget, temporary, target.engine)

    base, found = look(rows), []
    for _ in range(neighbours):
        poison, added, gone, clean = target.bad(rng), 0, 0, target.clean
        other = list(rows)
        how = rng.choice(["add", "add", "add", "change", "remove"])
        place = rng.randrange(len(rows) + (how == "add"))
        if how != "add":
            gone = target.records(other.pop(place))
            clean = [name for name in clean if not _names(rows[place], name)]
        if how != "remove":
            added = target.records(poison)
            other.insert(place, poison)
        wrong = complaints(base, look(other), question, added=added, gone=gone, clean=clean)
        if wrong:
            said = str((how, poison if how != "remove" else rows[place]))
            found.append(f"{question.name} {said[:150]}: {wrong}; {question.options} {str(rows)[:1500]}")
    os.unlink(ledger)
    return found


def _names(row: Any, name: str) -> bool:
    return name in (row.decode(errors="replace") if isinstance(row, bytes) else str(row))


def run(make: Maker, seeds: range, temporary: Path, pairs: int = NEIGHBOURS) -> list[str]:
    found = []
    for seed in seeds:
        rng = random.Random(seed)
        target = make(rng, temporary.parent)
        question = target.questions[seed % len(target.questions)]
        found += [f"seed {seed}: {one}" for one in attack(target, question, rng, temporary, pairs)]
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_neighbours(name: str, temporary: Path) -> None:
    assert run(MAKERS[name], range(PAIRS[name] // NEIGHBOURS), temporary) == []
