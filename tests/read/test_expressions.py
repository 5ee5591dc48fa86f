"""Filters and expressions: every engine gives the totals of the reference, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.grid import Bounds, Grid
from hourglass.read.sql.expression.checking import type_of
from hourglass.read.sql.expression.parsing import parsed
from tests.read import expressions as given
from tests.read.corpus import cell_of

ROWS = given.rows()
BOUNDS = Bounds(-1000, 1000)
ZERO = Grid.choose(BOUNDS).cell(0.0) or 0
KINDS = {
    "x": "number", "y": "number", "n": "number", "m": "number", "k": "number", "t": "text",
    "u": "text", "flag": "boolean", "day": "date", "at": "timestamp", "zoned": "timestamp",
    "amount": "number",
}  # fmt: skip


def expected(text: str, rows: list[dict[str, Any]]) -> tuple[int, int]:
    """The total and the number of the values, by the reference."""
    tree = parsed(text, "expression")
    boolean = type_of(tree, KINDS) == "boolean"
    grid = Grid(Bounds(0, 1), 1, True) if boolean else Grid.choose(BOUNDS)
    cells = [cell_of(given.judged(tree, row), grid) for row in rows]
    present = [cell for cell in cells if cell is not None]
    return sum(present), len(present)


def all_of(placed: dict[str, Any], texts: list[str]) -> dict[str, int]:
    """The totals of many expressions in one question, what is missing as 0, and how much is."""
    together = [*texts, *(f"({text}) IS NULL" for text in texts)]
    bounds = {}
    columns = [hg.expression(text) for text in together]
    for column in columns:
        boolean = type_of(column.tree, KINDS) == "boolean"
        bounds[column] = (0, 1) if boolean else tuple(BOUNDS)
    question = mean_question(**placed, column=columns, bounds=bounds, epsilon=1, missing=0)
    return dict(zip(together, question.read().only.sums, strict=True))


def check(placed: dict[str, Any], texts: list[str]) -> None:
    wrong = {}
    for start in range(0, len(texts), 24):
        part = texts[start : start + 24]
        totals = all_of(placed, part)
        for text in part:
            cells, count = expected(text, ROWS)
            tree = parsed(text, "expression")
            zero = 0 if type_of(tree, KINDS) == "boolean" else ZERO
            missing = len(ROWS) - count
            told = (totals[text] - zero * totals[f"({text}) IS NULL"], totals[f"({text}) IS NULL"])
            if told != (cells, missing):
                wrong[text] = (told, (cells, missing))
    assert wrong == {}


@pytest.fixture(scope="module")
def placed(engine_place: Any) -> tuple[dict[str, Any], bool]:
    """The table on an engine, and whether it has dates."""
    try:
        return engine_place(given.table(ROWS, given.MORE)), True
    except Exception:
        return engine_place(given.table(ROWS, given.TYPES)), False


def test_the_corpus_is_large() -> None:
    assert len(given.NUMBERS) + len(given.CONDITIONS) >= 60
    assert len(given.FILTERS) >= 25


@pytest.mark.slow
def test_numbers(placed: tuple[dict[str, Any], bool]) -> None:
    check(placed[0], given.NUMBERS)


@pytest.mark.slow
def test_conditions(placed: tuple[dict[str, Any], bool]) -> None:
    check(placed[0], given.CONDITIONS)


@pytest.mark.slow
def test_dates_and_decimals(placed: tuple[dict[str, Any], bool]) -> None:
    if not placed[1]:
        pytest.skip("SQLite has no types for these")
    check(placed[0], given.DATED)
    check(placed[0], given.DATED_CONDITIONS)


@pytest.mark.slow
def test_filters(placed: tuple[dict[str, Any], bool]) -> None:
    wrong = {}
    for text in given.FILTERS:
        tree = parsed(text, "where")
        kept = [row["k"] for row in ROWS if given.judged(tree, row) is True]
        ask: dict[str, Any] = {"column": "k", "bounds": (0, 3), "epsilon": 1, "where": text}
        totals = mean_question(**placed[0], **ask).read().only
        if (totals.cells, totals.count) != (sum(kept), len(kept)):
            wrong[text] = totals.count, len(kept)
    assert wrong == {}
