"""docs/paper.md says what its own files say, and shows every picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hourglass.paper import EXHIBITS, FULL_RUNS, Claim, Settings, run
from hourglass.paper.index import CLAIM_HEAD

from .conftest import read_table

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
#: `hourglass paper --seed 2024` made the files beside the page.
SETTINGS = Settings(seed=2024)


def claims_markdown(rows: list[tuple[str, Claim]]) -> str:
    lines = [f"| {' | '.join(CLAIM_HEAD)} |", "|---|---|---|---|"]
    for name, claim in rows:
        cells = (name, claim.text, claim.measured, claim.verdict)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def claims_of(beyond: bool) -> str:
    rows = [
        (name, claim)
        for name, exhibit in EXHIBITS.items()
        if exhibit.beyond is beyond
        for claim in exhibit.claims(read_table(DOCS / "paper" / f"{name}.csv"))
    ]
    return claims_markdown(rows)


def test_the_table_of_claims_is_that_of_the_files_beside_the_page() -> None:
    (block,) = re.findall(r"<!-- claims: start -->\n(.*)<!-- claims: end -->", PAGE, re.DOTALL)
    paper, beyond = claims_of(False), claims_of(True)
    assert block == f"Of the paper:\n\n{paper}\nOur own:\n\n{beyond}"
    # Every claim of the paper holds; two of our own do not, and the page says so.
    assert "| no |" not in paper
    assert beyond.count("| no |") == 2
    assert "too few runs" not in block


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_picture_is_shown_and_there(name: str) -> None:
    assert f"](paper/{name}.png)" in PAGE
    assert (DOCS / "paper" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["e1", "e2", "e5", "e7"])
def test_the_files_are_of_full_size(name: str) -> None:
    runs = {p.runs for p in read_table(DOCS / "paper" / f"{name}.csv").points}
    assert runs <= {0, FULL_RUNS}
    assert FULL_RUNS in runs


def test_the_page_keeps_within_its_weight() -> None:
    assert sum(path.stat().st_size for path in (DOCS / "paper").iterdir()) < 3_000_000


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_files_say_which_seed_made_them(name: str) -> None:
    lines = (DOCS / "paper" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    assert all(line.endswith(f'"{SETTINGS.label}"') for line in lines[1:])


@pytest.mark.long
@pytest.mark.parametrize("name", ["density", "e7"])
def test_the_seed_brings_the_files_again(name: str, tmp_path: Path) -> None:
    """Byte for byte, at full size; on another platform the last of ten digits might differ."""
    (shown,) = run([EXHIBITS[name]], SETTINGS, tmp_path)
    assert shown.csv.read_bytes() == (DOCS / "paper" / f"{name}.csv").read_bytes()
