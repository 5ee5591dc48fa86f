"""One row that is easily misread is added, removed or changed: only its own record may change.

Everything observable except the noise is compared between neighbours: errors, output, logs,
charges, files left behind, the groups and their order, counts and sums (``observer.py``). The rows
are in ``poisons.py``, the sources in ``targets.py``. At epsilon 60 the noise is negligible, so that
counts and sums can be compared directly.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.noise import Hourglass, HourglassBox, HourglassTriangle
from tests.cli.running import spawn
from tests.read import targets
from tests.read.attacking import DEAR, SEEN, Maker, run
from tests.read.observer import EPSILON, NOISE, UPPER, Seen, complaints, words
from tests.read.places import QUICK_JAVA, java_17
from tests.read.targets import Target, by_command

pytestmark = pytest.mark.attack

MAKERS: dict[str, Maker] = {
    "text": lambda rng, folder: targets.text(rng, folder, None),
    "binary": targets.binary,
    "frame": targets.frame,
    "objects": targets.objects,
    "sqlite": targets.sqlite,
    "relation": targets.relation,
    "datafusion": lambda rng, folder: targets.binary(rng, folder, "datafusion"),
    "text by the command": lambda rng, folder: by_command(targets.text(rng, folder, None)),
    "binary by the command": lambda rng, folder: by_command(targets.binary(rng, folder)),
    "sqlite by the command": lambda rng, folder: by_command(targets.sqlite(rng, folder)),
    "datafusion by the command": lambda rng, folder: by_command(
        targets.binary(rng, folder, "datafusion")
    ),
}
#: Bases of each source, with the neighbours of ``DEAR`` each; every question takes its turn.
BASES = {
    "text": 12,
    "binary": 5,
    "frame": 8,
    "objects": 3,
    "sqlite": 6,
    "relation": 6,
    "datafusion": 3,
    "text by the command": 4,
    "binary by the command": 2,
    "sqlite by the command": 2,
    "datafusion by the command": 1,
}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder for temporary files, watched."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", BASES)
def test_neighbours(name: str, temporary: Path) -> None:
    assert run(MAKERS[name], range(BASES[name]), temporary, DEAR) == []


def test_neighbours_on_postgres(temporary: Path, postgres_url: str) -> None:
    assert run(partial(targets.postgres, url=postgres_url), range(4), temporary, DEAR) == []


def test_neighbours_on_spark(temporary: Path, spark_session: Any) -> None:
    assert run(targets.on_spark(spark_session), range(3), temporary, DEAR) == []


def on_connect(seeds: range, folder: Path) -> list[str]:
    """What the attack finds through Spark Connect, in a process of its own."""
    pytest.importorskip("grpc", reason="grpcio is not installed: pyspark[connect]")
    reason = java_17()
    if reason:
        pytest.skip(reason)
    told = subprocess.run(
        [sys.executable, "-m", "tests.read.attacking", f"{seeds.start}-{seeds.stop}", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": QUICK_JAVA},
    )
    assert told.returncode == 0, told.stderr[-2000:]
    found: list[str]
    found, seen = json.loads(told.stdout.partition("found:")[2])
    SEEN.update(seen)
    return found


@pytest.mark.slow
def test_a_command_of_its_own(temporary: Path) -> None:
    """In a process of its own, with what is written there to the two streams and to disk."""
    seen = []
    poisons = [b"1,k0,p50", b'1,"a\n\xff,a,q', b"1" + b",a" * 30_000]
    target = targets.text(random.Random(0), temporary.parent, None, "csv")
    question = next(one for one in target.questions if one.name == "secret")
    for poison in poisons:
        data = target.make([*map(target.good, range(12)), poison])
        asked = words(data, question, None)
        told = spawn(*asked, "--format", "csv", TMPDIR=str(temporary), COLUMNS="100")
        names = [line.split(b",")[0] for line in told.stdout.splitlines()]
        seen.append((told.returncode, told.stderr, names, sorted(temporary.rglob("*"))))
    assert seen == seen[:1] * len(poisons)
    assert seen[0][0] == 0
    assert seen[0][1] == b""


@pytest.mark.slow
def test_the_tolerance_on_sums() -> None:
    """A sum is off by half the tolerance, or a count at all, with a probability below 1e-12.

    That is on the grids that are asked with: 2^32 cells (2^23 for the spread), and whole numbers in
    up to 8 parts.
    """
    for G, parts in ((2**32, 1), *((UPPER, parts) for parts in range(1, 9))):
        law = Hourglass(EPSILON, G * parts)
        assert law.c * UPPER / (G * parts) < NOISE / 2
        inside = (2 * law.c + 1) / law.marginal_x.normaliser(400)
        wrong = 1 - float(inside) + 2 * float(law.count_tail(1))
        assert float(1 - inside) + 2 * float(law.count_tail(1)) < 1e-12, (G, parts, wrong)
    for grids in product((UPPER, 4 * UPPER, 8 * UPPER, 2**32), repeat=2):
        box = HourglassBox(60, grids)
        assert all(c * UPPER / G < NOISE / 2 for c, G in zip(box.centres, grids, strict=True))
        centre = (2 * box.centres[0] + 1) * (2 * box.centres[1] + 1)
        assert float(1 - centre / box.normaliser(400)) < 1e-12, grids
    for G, fold in ((2**23, 1), *((UPPER, fold) for fold in range(1, 9))):
        triangle = HourglassTriangle(60, fold * G * G)
        # (U1 + 2 U2) / 2 W of the range is the noise on the sum, U2 / W that on the squares.
        assert 1.5 * triangle.centre / (fold * G * G) * UPPER < NOISE / 2
        assert triangle.centre / (fold * G * G) * UPPER**2 < NOISE * UPPER / 2
        assert float(1 - triangle.points(0, 0) / triangle.normaliser(400)) < 1e-12, (G, fold)


def test_what_would_be_seen() -> None:
    """Each observable causes its own complaint if it differs."""
    question = targets.questions(keys=targets.PUBLIC)[0]
    base = Seen(groups={(): (12, 66.0)}, shape="Release")
    same = replace(base, groups={(): (13, 166.0)})
    assert complaints(base, same, question, added=1, gone=0, clean=[]) == []
    for change in (
        {"error": "SourceError"}, {"code": 4}, {"shape": "Releases"}, {"output": "a"},
        {"logged": ["a"]}, {"charged": (1, 0, 1)}, {"left": [".tmp 5"]}, {"threshold": 3},
        {"groups": {(): (14, 66.0)}}, {"groups": {(): (11, 66.0)}}, {"groups": {(): (12, 167.0)}},
    ):  # fmt: skip
        other = replace(base, **change)
        assert complaints(base, other, question, added=1, gone=0, clean=[]), change
    grouped = targets.questions(keys=targets.PUBLIC)[2]
    two = Seen(groups={"k0": (2, 5.0), "a": (2, 5.0)})
    for groups in ({"k0": (2, 5.01), "a": (2, 5.0)}, {"a": (2, 5.0), "k0": (2, 5.0)}):
        other = replace(two, groups=groups)
        assert complaints(two, other, grouped, added=1, gone=0, clean=["k0"]), groups
    for name, moved, most in (
        ("spread", (13, 66.0, 510.0), 1e4),
        ("columns", (13, 66.0, 5.0), 100),
        ("outside", (13, 66.0, 6.0), 1),
    ):
        asked = next(one for one in targets.questions(keys=None) if one.name == name)
        rest = (0.0,) * (len(asked.spans) - 2)
        one = Seen(groups={(): (12, 66.0, 5.0, *rest)})
        other = Seen(groups={(): (*moved, *rest)})
        assert complaints(one, other, asked, added=1, gone=0, clean=[]) == []
        other.groups = {(): (13, 66.0, 5.5 + most, *rest)}
        assert complaints(one, other, asked, added=1, gone=0, clean=[]), name


@pytest.mark.slow
def test_a_swallowed_row_is_detected(temporary: Path) -> None:
    """With ``hg.multiline`` an unclosed quote swallows rows, as documented; the attack detects
    it."""

    def make(rng: random.Random, folder: Path) -> Target:
        target = targets.text(rng, folder, None, "csv")
        return replace(target, make=lambda lines: hg.multiline(target.make(lines)))

    found = run(make, range(6, 8), temporary)
    assert any("may" in one or "not touched" in one or "failed" in one for one in found)


#: Bases of each source for the long form, with the neighbours of ``KINDS`` each.
LONG = {
    "text": 260,
    "binary": 160,
    "frame": 100,
    "objects": 40,
    "sqlite": 80,
    "relation": 80,
    "datafusion": 100,
    "text by the command": 80,
    "binary by the command": 60,
    "sqlite by the command": 40,
    "datafusion by the command": 40,
}
CHUNK = 20


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Prints how many neighbours a long test looked at, where output is shown (``-s``)."""
    SEEN.clear()
    yield
    print(f"\nattacked: {request.node.name}: {dict(SEEN)}")


@pytest.mark.long
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    ("name", "start"),
    [(name, start) for name, bases in LONG.items() for start in range(1000, 1000 + bases, CHUNK)],
)
def test_many_neighbours(name: str, start: int, temporary: Path) -> None:
    assert run(MAKERS[name], range(start, start + CHUNK), temporary) == []


@pytest.mark.long
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("start", range(1000, 1060, CHUNK))
def test_many_neighbours_on_postgres(start: int, temporary: Path, postgres_url: str) -> None:
    make = partial(targets.postgres, url=postgres_url)
    assert run(make, range(start, start + CHUNK), temporary) == []


@pytest.mark.long
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("start", range(1000, 1060, CHUNK))
def test_many_neighbours_on_spark(start: int, temporary: Path, spark_session: Any) -> None:
    make = targets.on_spark(spark_session)
    assert run(make, range(start, start + CHUNK), temporary, DEAR) == []


@pytest.mark.long
@pytest.mark.usefixtures("counted")
@pytest.mark.engine("spark")
def test_many_neighbours_on_connect(tmp_path: Path) -> None:
    assert on_connect(range(1000, 1030), tmp_path) == []
