"""The examples of the docs run. Links are checked in test_site."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hourglass.audit import Bench
from hourglass.audit.mutants import mutants
from tests import apart

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("src/**/*.md")])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "how-it-works.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page in one namespace, in a folder that has the repository's examples."""
    python = [block for block in blocks(page, "python") if "# not run" not in block]
    if not python:
        pytest.skip("no Python on this page")
    if page.name in ("tutorial.md", "databases.md"):
        pytest.skip("test_tutorial.py runs it, with PostgreSQL and Spark")
    if (ROOT / "examples").exists():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in python:
        exec(compile(block, str(page), "exec"), namespace)


def test_the_balance_is_printed_as_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "budget.md"
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), namespace)
        assert f"```\n\n    {capsys.readouterr().out}\n" in page.read_text()


def test_shell_examples_of_the_readme_run(tmp_path: Path) -> None:
    """Every ``hourglass`` command of the README, one after the other, in one folder."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text = (ROOT / "README.md").read_text().replace("\\\n", " ")
    commands = re.findall(r"^    (hourglass .*)$", text, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)[1:]
        run = [sys.executable, "-c", "from hourglass.cli import main; main()", *words]
        done = apart.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (command, done.stderr)
    assert (tmp_path / "chart.png").stat().st_size > 5000


def test_the_audit_page_lists_every_mutant() -> None:
    rows = re.findall(r"^\| (.*?) \|", (ROOT / "docs" / "audit.md").read_text(), re.MULTILINE)
    assert rows == ["mutant", *(mutant.name for mutant in mutants(Bench()))]


def test_the_demo_runs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    run = [sys.executable, "examples/demo.py"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for word in ("excellent", "poor", "hourglass", "independent", "differentially private"):
        assert word in done.stdout
    assert (tmp_path / "examples" / "visits-by-health.png").stat().st_size > 5000
