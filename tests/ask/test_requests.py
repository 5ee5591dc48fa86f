"""What a request key covers: a file is its path as written, as docs/budget.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.errors import RequestReusedError


def test_a_file_is_its_path_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers hold hashes of this text, so another rule would charge stored answers again."""
    hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=10)
    for name, value in (("here", 1), ("there", 9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text("x\n" + f"{value}\n" * 1000)
    ask: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1, "parse": "integer"}
    ask |= {"budget": hg.Budget(str(tmp_path / "b.db"), "b"), "request": "march"}
    monkeypatch.chdir(tmp_path / "here")
    first = hg.mean("t.csv", "x", **ask)
    with pytest.raises(RequestReusedError):
        hg.mean("./t.csv", "x", **ask)
    monkeypatch.chdir(tmp_path / "there")
    assert hg.mean("t.csv", "x", **ask).mean == first.mean < 5


def test_names_that_look_like_formulas_are_written_as_they_are(tmp_path: Path) -> None:
    """A sign in front of them would change negative numbers and every join."""
    from tests.cli.running import run

    (tmp_path / "t.csv").write_text("g,x\n-1,1\n=A1,1\n")
    words: list[str | Path] = [
        "count",
        tmp_path / "t.csv",
        "--epsilon",
        "1",
        "--by",
        "g",
        "--keys",
        "-1,=A1",
    ]
    lines = run(*words, "--format", "csv").stdout.splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["-1", "=A1"]
