"""The examples of docs/columns.md print the output shown."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import apart

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "columns.md", ROOT / "README.md")


def examples(page: Path) -> list[tuple[str, str]]:
    """Each Python block, and the indented output that stands after it, if any."""
    text = page.read_text(encoding="utf-8")
    block = re.compile(
        r"^```python\n(.*?)^```\n\n(?:It prints[^\n]*\n\n)?((?:(?:    [^\n]*)?\n)*)",
        re.MULTILINE | re.DOTALL,
    )
    return [
        (code, "\n".join(line[4:] for line in shown.strip("\n").split("\n")))
        for code, shown in block.findall(text)
    ]


def masked(text: str) -> list[str]:
    """The words of an output, a line at a time, with every number replaced."""
    text = re.sub(r"-?\d[\d,.]*", "#", text)
    return [" ".join(re.sub("─+", "─", line).split()) for line in text.strip().split("\n")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_output_is_that_of_the_code(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word; the numbers are noisy, except in the table of expected errors."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    compared = 0
    for code, shown in examples(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(page), "exec"), space)
        if shown:
            compared += 1
            assert masked(out.getvalue()) == masked(shown)
        if "expected_error(" in code:
            assert out.getvalue().strip() == shown.strip()
    assert compared == 2


def test_the_thresholds_are_those_of_the_page() -> None:
    """One column and three, at epsilon 1 and delta 1e-6."""
    import polars as pl

    import hourglass as hg

    frame = pl.DataFrame({name: [0.5] * 50 for name in "abc"} | {"g": ["x"] * 50})
    asked: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "g", "delta": "1e-6"}
    thresholds = [hg.mean(frame, names, **asked).threshold for names in ("a", ["a", "b", "c"])]
    text = " ".join((ROOT / "docs" / "columns.md").read_text().split())
    assert "it is {} for one column and {} for three".format(*thresholds) in text


def test_the_command_draws_the_picture(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "columns.md").read_text().replace("\\\n", " ")
    (command,) = re.findall(r"^    (hourglass .*)$", text, re.MULTILINE)
    words = shlex.split(command)[1:]
    words[1] = str(ROOT / words[1])
    words[words.index("--plot") + 1] = "columns.png"
    run = [sys.executable, "-c", "from hourglass.cli import main; main()", *words]
    done = apart.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "columns.png").stat().st_size > 5000
