"""Tables are as wide as the terminal, if that is wider than 80 characters."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pandas as pd
import pytest

import hourglass as hg

from .running import ASK, run, spawn

if sys.platform == "win32":
    pytest.skip("Windows has no pseudoterminals", allow_module_level=True)

NAME = "the department of long names and even longer descriptions of all that it does"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    data, keys = tmp_path / "t.csv", tmp_path / "keys.txt"
    data.write_text(f"g,x\n{NAME},3\nother,4\n")
    keys.write_text(f"{NAME}\nother\n")
    return ["mean", str(data), "x", *ASK, "--by", "g", "--keys-from", str(keys), "--total"]


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "whole"), [("160", True), ("90", False), ("40", False)])
def test_a_wide_terminal_does_not_wrap_names(words: list[str], columns: str, whole: bool) -> None:
    """Caught: names wrapped at 80 characters on every terminal; and tables narrower than that."""
    ours, theirs = os.openpty()
    result = spawn(*words, stdout=theirs, COLUMNS=columns)
    os.close(theirs)
    printed = os.read(ours, 65536).decode().splitlines()
    os.close(ours)
    assert result.returncode == 0
    assert any(NAME in line for line in printed) is whole
    widest = max(map(len, printed[:4]))
    assert widest > len(NAME) + 20 if whole else widest == max(80, int(columns))
    notes = printed[printed.index("") :]
    assert all(len(line) <= 80 for line in notes[: notes.index("", 1)])


def test_files_and_pipes_have_tables_of_80_characters(words: list[str], tmp_path: Path) -> None:
    """Whatever COLUMNS says, which ``run`` sets to 200."""
    piped = run(*words).stdout
    assert run(*words, "--output", tmp_path / "out.txt", "--format", "table").returncode == 0
    for text in (piped, (tmp_path / "out.txt").read_text()):
        assert NAME not in text
        assert max(map(len, text.splitlines())) == 80


def test_in_python_the_width_is_an_option() -> None:
    table = hg.mean([[1.0, 2.0], [3.0, 4.0]], bounds=(0, 9), epsilon=1)
    assert table.text(width=120) == table.text()
    frame = pd.DataFrame({"g": [NAME, "other"], "x": [1.0, 2.0]})
    found = hg.mean(frame, "x", bounds=(0, 9), epsilon=1, by="g", keys=[NAME, "other"])
    counts = hg.count(frame, epsilon=1, by="g", keys=[NAME, "other"])
    for answer in (found, counts, found.total()):
        assert max(map(len, answer.text().splitlines())) <= 80
    for each in (found, counts):
        assert NAME in each.text(width=160)
        assert NAME not in each.text()
    assert NAME in found.text(width=160, population=True)
    difference = found.difference(NAME, "other")
    assert NAME in difference.text(width=160)
    for wrong in (0, "wide", 99.5, True):
        with pytest.raises(hg.OptionError, match=r"width=.* is not a whole number of 1 or more"):
            found.text(width=wrong)  # type: ignore[arg-type]
