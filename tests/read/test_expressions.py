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

pytestmark = pytest.mark.usefixtures("as_for_users")

ROWS = given.rows()
BOUNDS = Bounds(-1000, 1000)
#: Stands for NULL in sums; no expression of the corpus has this value.
NULL = 617.28125
NULL_CELL = Grid.choose(BOUNDS).cell(NULL) or 0
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


def all_of(placed: dict[str, Any], texts: list[str], missing: float) -> dict[str, int]:
    """The totals of many expressions in one question, with a value for those that are NULL."""
    columns = [hg.expression(text) for text in texts]
    bounds = {
        column: (0, 1) if type_of(column.tree, KINDS) == "boolean" else tuple(BOUNDS)
        for column in columns
    }
    question = mean_question(**placed, column=columns, bounds=bounds, epsilon=1, missing=missing)
    return dict(zip(texts, question.read().only.sums, strict=True))


def check(placed: dict[str, Any], texts: list[str]) -> None:
    """Numbers: NULL counts as a value that no expression has. Conditions: NULL counts as FALSE,
    and whether they are NULL is another column."""
    wrong = {}
    for start in range(0, len(texts), 24):
        part = texts[start : start + 24]
        boolean = type_of(parsed(part[0], "expression"), KINDS) == "boolean"
        nulls = {text: f"({text}) IS NULL" for text in part} if boolean else {}
        totals = all_of(placed, [*part, *nulls.values()], 0 if boolean else NULL)
        for text in part:
            cells, count = expected(text, ROWS)
            missing = len(ROWS) - count
            told = [totals[each] for each in (text, nulls.get(text)) if each]
            should = [cells, missing] if boolean else [cells + NULL_CELL * missing]
            if told != should:
                wrong[text] = (told, should)
    assert wrong == {}


@pytest.fixture(scope="module")
def placed(engine_place: Any) -> tuple[dict[str, Any], bool]:
    """The table on an engine, and whether it has dates."""
    try:
        return engine_place(given.table(ROWS, given.MORE)), True
    except Exception:
        return engine_place(given.table(ROWS, given.TYPES)), False


@pytest.mark.slow
def test_no_expression_has_the_value_that_stands_for_null() -> None:
    rows = [(parsed(text, "expression"), row) for text in given.NUMBERS for row in ROWS]
    assert NULL not in {given.judged(tree, row) for tree, row in rows}


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
