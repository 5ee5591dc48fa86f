"""Engines are chosen on pytest's command line, and all of Spark stays on one worker."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
#: One file with every place, one with servers started by fixtures, one that starts its own Spark.
FILES = ("test_conformance.py", "test_secrets.py", "test_spark_modes.py")


def collected(*options: str) -> subprocess.CompletedProcess[str]:
    files = [str(ROOT / "tests" / "read" / name) for name in FILES]
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q"]
    return subprocess.run(
        [*words, "-o", "addopts=", *options, *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def chosen_by(*options: str) -> frozenset[str]:
    found = collected(*options)
    assert found.returncode == 0, found.stdout + found.stderr
    lines = found.stdout.splitlines()
    return frozenset(line.rpartition("/")[2] for line in lines if "::" in line)


def about(tests: frozenset[str], *words: str) -> frozenset[str]:
    return frozenset(test for test in tests if any(word in test for word in words))


def test_only_the_engines_asked_for_are_met() -> None:
    every, two = chosen_by(), chosen_by("--engine", "sqlite", "--engine", "duckdb")
    for name in ("duckdb", "sqlite", "datafusion", "postgres", "spark"):
        assert about(every, f"test_reals[{name}-"), name
    left = about(every, "datafusion", "postgres", "spark", "quotes_a_cell", "silenced_too")
    assert about(left, "spark_modes")
    assert about(left, "test_spark_is_silenced")
    assert two == every - left
    assert about(two, "[relation of a file")


def test_an_unknown_engine_is_refused_with_the_list() -> None:
    found = collected("--engine", "Spark")
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
