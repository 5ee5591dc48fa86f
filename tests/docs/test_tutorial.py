"""The tutorial's examples run, one after the other, as they are printed."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from hourglass.data import PENGUINS

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def sections() -> dict[str, list[str]]:
    """The Python blocks under each heading."""
    parts = re.split(r"^## (.+)$", TUTORIAL.read_text(encoding="utf-8"), flags=re.MULTILINE)
    blocks = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return {name: blocks.findall(text) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def run(names: list[str], given: dict[str, Any], folder: Path) -> str:
    space: dict[str, Any] = dict(given)
    out = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out):
        for name in names:
            for block in sections()[name]:
                exec(compile(block, f"tutorial: {name}", "exec"), space)
    return out.getvalue()


def test_files_frames_groups_and_persons(tmp_path: Path) -> None:
    shown = run(["A file", "A frame", "Groups", "Persons"], {}, tmp_path)
    assert "Gentoo" in shown
    assert (tmp_path / "species.png").exists()


def test_postgresql(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE penguins (species TEXT, mass INTEGER, year INTEGER)")
        with cursor.copy("COPY penguins FROM STDIN") as copy:
            for line in PENGUINS.read_text().splitlines()[1:]:
                cells = line.split(",")
                mass = int(cells[5]) if cells[5].isdigit() else None
                copy.write_row((cells[0], mass, int(cells[7])))
    shown = run(["A file", "PostgreSQL"], {"postgres_url": postgres_url}, tmp_path)
    assert "Gentoo" in shown.rpartition("species")[2]


def test_spark(tmp_path: Path, spark_session: Any) -> None:
    shown = run(["A file", "Spark"], {"spark": spark_session}, tmp_path)
    assert "Gentoo" in shown.rpartition("species")[2]


@pytest.mark.parametrize("section", ["A file", "A frame", "PostgreSQL", "Spark"])
def test_each_place_has_its_page(section: str) -> None:
    assert sections()[section]
