"""The progress bar, on a real pseudo-terminal and away from one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import apart

pytestmark = pytest.mark.slow

pty = pytest.importorskip("pty", reason="pseudo-terminals are POSIX")

RUN = [sys.executable, "-c", "from hourglass.cli import main; main()"]


def shown_on_a_terminal(*arguments: object) -> str:
    """What the command writes to a terminal that is its standard error."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    words = [*RUN, *map(str, arguments)]
    done = apart.Process(words, stdout=subprocess.DEVNULL, stderr=follower, env=environment)
    os.close(follower)
    parts = []
    try:
        while part := os.read(leader, 4096):
            parts.append(part)
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(leader)
    assert done.wait(60) == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(parts).decode())


def table(folder: Path, rows: int) -> Path:
    path = folder / f"{rows}.csv"
    path.write_text("x\n" + "1\n" * rows)
    return path


def test_reading_shows_the_time_and_nothing_of_the_data(tmp_path: Path) -> None:
    # No count of anything: a number of rows or groups on the screen would be a release.
    for rows in (100, 300_000):
        words = ["mean", table(tmp_path, rows), "x", "--bounds", 0, 1, "--epsilon", 1]
        shown = shown_on_a_terminal(*words)
        assert "reading" in shown
        assert re.findall(r"\d+", re.sub(r"\d:\d\d:\d\d", "", shown)) == []


def test_figures_and_points_are_counted(tmp_path: Path) -> None:
    words = ["paper", "balls", "space", "--runs", 100, "--out", tmp_path]
    shown = shown_on_a_terminal(*words)
    assert re.search(r"points .* 12 ", shown)  # 3 balls, 9 moves
    assert re.search(r"figures .* 2 ", shown)


def test_nothing_is_written_away_from_a_terminal(tmp_path: Path) -> None:
    words = [*RUN, "paper", "balls", "--runs", "100", "--out", str(tmp_path)]
    done = apart.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert done.stderr == ""
    assert "1 of 1 claims hold" in done.stdout
