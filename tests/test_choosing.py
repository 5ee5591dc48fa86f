"""Engines are chosen on pytest's command line, and all of Spark stays on one worker."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
#: One file with every place, one with servers started by fixtures, one that starts its own Spark.
FILES = ("test_conformance.py", "test_secrets.py", "test_spark_modes.py")


#: Prints the tests that were left out: these and the others are all tests of one collection.
LEFT = """
def pytest_deselected(items):
    print(*(f"left {item.nodeid}" for item in items), sep="\\n")
"""


def collected(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "says_what_is_left.py").write_text(LEFT)
    files = [str(ROOT / "tests" / "read" / name) for name in FILES]
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q"]
    return subprocess.run(
        [*words, "-o", "addopts=", "-p", "says_what_is_left", *options, *files],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def chosen_by(folder: Path, *options: str) -> tuple[frozenset[str], frozenset[str]]:
    """The tests that were kept, and those that were left out."""
    found = collected(folder, *options)
    assert found.returncode == 0, found.stdout + found.stderr
    lines = [line for line in found.stdout.splitlines() if "::" in line]
    left = {line for line in lines if line.startswith("left ")}
    kept, gone = (
        frozenset(line.rpartition("/")[2] for line in some) for some in ({*lines} - left, left)
    )
    return kept, gone


def about(tests: frozenset[str], *words: str) -> frozenset[str]:
    return frozenset(test for test in tests if any(word in test for word in words))


def test_only_the_engines_asked_for_are_met(tmp_path: Path) -> None:
    two, gone = chosen_by(tmp_path, "--engine", "sqlite", "--engine", "duckdb")
    every = two | gone
    for name in ("duckdb", "sqlite", "datafusion", "postgres", "spark"):
        assert about(every, f"test_reals[{name}-"), name
    left = about(every, "datafusion", "postgres", "spark", "quotes_a_cell", "silenced_too")
    assert about(left, "spark_modes")
    assert about(left, "test_spark_is_silenced")
    assert gone == left
    assert not two & gone
    assert about(two, "[relation of a file")


def test_an_unknown_engine_is_refused_with_the_list(tmp_path: Path) -> None:
    found = collected(tmp_path, "--engine", "Spark")
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--engine Spark: not one of duckdb, sqlite, datafusion, postgres, spark" in (
        found.stdout + found.stderr
    )


@pytest.mark.xdist_group("choosing")
def test_tests_of_a_group_run_on_one_worker(request: pytest.FixtureRequest) -> None:
    """pytest-xdist reads the group from the name of a test, where it has put it itself."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("not run by --dist loadgroup, as make test does")
    assert request.node.nodeid.endswith("@choosing")
