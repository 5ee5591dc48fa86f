"""The tutorial, run as is in an empty folder, and the page of databases."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hourglass.data import PENGUINS

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def sections(page: str) -> dict[str, list[tuple[str, str]]]:
    """The blocks of code under each heading, with their language."""
    parts = re.split(r"^## (.+)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = zip(["", *parts[1::2]], [parts[0], *parts[2::2]], strict=True)
    return {name: BLOCK.findall(text) for name, text in named}


#: Runs Python blocks in one interpreter and shell blocks beside it, as a reader would.
TYPIST = """
import json, subprocess, sys
for language, block in json.load(sys.stdin):
    if language == "python":
        exec(compile(block, "tutorial", "exec"), globals())
    else:
        sys.stdout.flush()
        subprocess.run(["sh", "-e", "-c", block], check=True)
"""


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path: Path) -> None:
    """From the first line to the last, except for the installation."""
    import json

    found = [block for blocks in sections("tutorial.md").values() for block in blocks]
    assert found[0] == ("sh", "pip install '.[plot]' pandas polars\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = subprocess.run(
        [sys.executable, "-c", TYPIST],
        input=json.dumps(found[1:]),
        env={**os.environ, "PATH": path, "HOME": str(tmp_path), "PYTHONUTF8": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stderr) == (0, "")
    for words in ("Gentoo", "4,500", "Mean of body_mass_g, clamped to [2,500, 6,500].", "persons"):
        assert words in told.stdout
    made = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert made == ["penguins.csv", "species.png"]


def run(names: list[str], given: dict[str, Any], folder: Path) -> str:
    """The blocks of Python of these sections of the page about databases."""
    space: dict[str, Any] = dict(given)
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        for name in names:
            blocks = [block for language, block in sections("databases.md")[name] if language == "python"]  # fmt: skip # noqa: E501
            assert blocks
            for block in blocks:
                exec(compile(block, f"databases: {name}", "exec"), space)
    return out.getvalue()


def test_postgresql(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE penguins (species TEXT, mass INTEGER, year INTEGER)")
        with cursor.copy("COPY penguins FROM STDIN") as copy:
            for line in PENGUINS.read_text().splitlines()[1:]:
                cells = line.split(",")
                mass = int(cells[5]) if cells[5].isdigit() else None
                copy.write_row((cells[0], mass, int(cells[7])))
    shown = run(["", "PostgreSQL"], {"postgres_url": postgres_url}, tmp_path)
    assert "Gentoo" in shown.rpartition("species")[2]


def test_duckdb_files(tmp_path: Path) -> None:
    assert "clamped to [2,500, 6,500]" in run(["", "DuckDB and SQLite files"], {}, tmp_path)


def test_spark(tmp_path: Path, spark_session: Any) -> None:
    given = {"spark": spark_session, "PENGUINS": PENGUINS}
    assert "Gentoo" in run(["", "Spark"], given, tmp_path).rpartition("species")[2]
