"""docs/paper-map.md names every statement of the paper, and only what exists."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "`" in line]

#: How many of each the paper has.
COUNTED = {"Theorem": 4, "Lemma": 10, "Corollary": 2, "Definition": 3, "Algorithm": 3,
           "Equation": 10, "Figure": 4}  # fmt: skip


@lru_cache
def names(path: Path) -> frozenset[str]:
    """Functions, classes and their methods, as ``Class.method``."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            members = (m.name for m in node.body if isinstance(m, ast.FunctionDef))
            found |= {f"{node.name}.{member}" for member in members}
    return frozenset(found)


def missing(text: str) -> list[str]:
    """What a page names that is not there."""
    gone = []
    for place in re.findall(r"`((?:src|tests|proof)/[^`]+)`", text):
        file, _, name = place.partition("::")
        path = ROOT / file
        if not path.is_file() or (name and name not in names(path)):
            gone.append(place)
    return gone


def test_every_file_and_test_exists() -> None:
    assert missing(PAGE) == []


@pytest.mark.parametrize(
    "place",
    ["tests/noise/test_gone.py", "tests/noise/test_privacy.py::test_gone", "src/hourglass/gone.py"],
)
def test_missing_names_are_detected(place: str) -> None:
    assert missing(f"| x | `{place}` |") == [place]


def test_every_row_names_a_test() -> None:
    assert len(ROWS) > 30
    assert [row for row in ROWS if "`tests/" not in row] == []


@pytest.mark.parametrize("kind", COUNTED)
def test_every_statement_is_on_the_page(kind: str) -> None:
    listed = re.findall(rf"^\| {kind}s? (\d+)(?: and (\d+))?\b", PAGE, re.MULTILINE)
    numbers = sorted(int(number) for pair in listed for number in pair if number)
    assert numbers == list(range(1, COUNTED[kind] + 1))
