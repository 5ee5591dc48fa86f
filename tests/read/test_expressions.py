"""Filters and expressions: every engine gives the totals of the reference, bit for bit."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid
from hourglass.read.sql.expression.checking import type_of
from hourglass.read.sql.expression.parsing import parsed
from tests.read import expressions as given
from tests.read.corpus import cell_of
from tests.read.places import spark

pytestmark = pytest.mark.usefixtures("as_for_users")

ROWS = given.rows()
BOUNDS = Bounds(-1000, 1000)
#: Stands for NULL in sums; no expression of the corpus has this value.
NULL = 617.28125
NULL_CELL = Grid.choose(BOUNDS).cell(NULL) or 0
#: Cells of a condition; the sums of as many rows tell TRUE from NULL.
FINE = 1000
KINDS = {
    "x": "number", "y": "number", "n": "number", "m": "number", "k": "number", "t": "text",
    "u": "text", "flag": "boolean", "day": "date", "at": "timestamp", "zoned": "timestamp",
    "amount": "number",
}  # fmt: skip


@cache
def expected(text: str) -> tuple[int, int]:
    """The total and the number of the values, by the reference."""
    tree = parsed(text, "expression")
    boolean = type_of(tree, KINDS) == "boolean"
    grid = Grid(Bounds(0, 1), 1, True) if boolean else Grid.choose(BOUNDS)
    cells = [cell_of(given.judged(tree, row), grid) for row in ROWS]
    present = [cell for cell in cells if cell is not None]
    return sum(present), len(present)


def all_of(placed: dict[str, Any], texts: list[str], **asked: Any) -> dict[str, int]:
    """The totals of many expressions in one question."""
    columns = [hg.expression(text) for text in texts]
    question = mean_question(**placed, column=columns, epsilon=1, **asked)
    return dict(zip(texts, question.read().only.sums, strict=True))


def parts(texts: list[str]) -> list[list[str]]:
    """As many as are read at once: on Spark a query of all of them takes long to compile."""
    return [texts[start : start + 24] for start in range(0, len(texts), 24)]


def check_numbers(placed: dict[str, Any], texts: list[str]) -> None:
    """NULL counts as a value that no expression has."""
    wrong = {}
    for part in parts(texts):
        totals = all_of(placed, part, bounds=tuple(BOUNDS), missing=NULL)
        for text in part:
            cells, count = expected(text)
            should = cells + NULL_CELL * (len(ROWS) - count)
            if totals[text] != should:
                wrong[text] = (totals[text], should)
    assert wrong == {}


def check_conditions(placed: dict[str, Any], texts: list[str], every: int = 8) -> None:
    """TRUE counts as more cells than there are rows, and NULL as one: the total tells how many rows
    have each. On the grid of conditions themselves NULL counts as FALSE, and whether one in so many
    of them is NULL is another column."""
    wrong = {}
    for part in parts(texts):
        totals = all_of(placed, part, bounds=(0, 1), grid=FINE, missing=1 / FINE)
        for text in part:
            true, count = expected(text)
            if divmod(totals[text], FINE) != (true, len(ROWS) - count):
                wrong[text] = (divmod(totals[text], FINE), (true, len(ROWS) - count))
    nulls = {text: f"({text}) IS NULL" for text in texts[::every]}
    totals = all_of(placed, [*nulls, *nulls.values()], bounds=(0, 1), missing=0)
    for text, null in nulls.items():
        true, count = expected(text)
        if (totals[text], totals[null]) != (true, len(ROWS) - count):
            wrong[null] = ((totals[text], totals[null]), (true, len(ROWS) - count))
    assert wrong == {}


@pytest.fixture
def placed(engine_place: Any) -> tuple[dict[str, Any], bool]:
    """The table on an engine, and whether it has dates."""
    try:
        return engine_place(given.table(ROWS, given.MORE)), True
    except Exception:
        return engine_place(given.table(ROWS, given.TYPES)), False


@pytest.mark.slow
def test_no_expression_has_the_value_that_stands_for_null() -> None:
    trees = [parsed(text, "expression") for text in given.NUMBERS]
    assert NULL not in {given.judged(tree, row) for tree in trees for row in ROWS}


def test_the_corpus_is_large() -> None:
    assert len(given.NUMBERS) + len(given.CONDITIONS) >= 60
    assert len(given.FILTERS) >= 25
    assert len(ROWS) < FINE


@pytest.mark.slow
def test_numbers(placed: tuple[dict[str, Any], bool]) -> None:
    check_numbers(placed[0], given.NUMBERS)


@pytest.mark.slow
def test_conditions(placed: tuple[dict[str, Any], bool], request: pytest.FixtureRequest) -> None:
    few = "spark" in request.node.callspec.params.values()  # where columns take long to compile
    check_conditions(placed[0], given.CONDITIONS, 24 if few else 8)


@pytest.mark.slow
def test_dates_and_decimals(placed: tuple[dict[str, Any], bool]) -> None:
    if not placed[1]:
        pytest.skip("SQLite has no types for these")
    check_numbers(placed[0], given.DATED)
    check_conditions(placed[0], given.DATED_CONDITIONS)


#: What Spark may leave to the reader of a file, which leaves out rows by its own rules.
LEFT_TO_THE_READER = [
    "x > 0", "n = 9007199254740993", "t = 'abc'", "NOT flag", "x IS NULL", "n IN (1, 2, 3) AND "
    "NOT (t = '' OR t IS NULL)", "n BETWEEN -100 AND 100 AND FLOOR(x) = x", "FALSE",
]  # fmt: skip


def kept_by(text: str) -> list[int]:
    """The numbers k of the rows that pass, by the reference."""
    tree = parsed(text, "where")
    return [row["k"] for row in ROWS if given.judged(tree, row) is True]


@pytest.mark.slow
def test_filters(placed: tuple[dict[str, Any], bool], request: pytest.FixtureRequest) -> None:
    """One by one; on Spark, where a question takes long, the others in the test below."""
    few = "spark" in request.node.callspec.params.values()
    wrong = {}
    for text in LEFT_TO_THE_READER if few else given.FILTERS:
        kept = kept_by(text)
        ask: dict[str, Any] = {"column": "k", "bounds": (0, 3), "epsilon": 1, "where": text}
        totals = mean_question(**placed[0], **ask).read().only
        if (totals.cells, totals.count) != (sum(kept), len(kept)):
            wrong[text] = totals.count, len(kept)
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.engine("spark")
def test_filters_at_once_on_spark(spark_session: Any, tmp_path: Path) -> None:
    """All the rows again for each of the filters, which alone decides which of them pass."""
    assert {*LEFT_TO_THE_READER} <= {*given.FILTERS}
    rows = [{**row, "part": case} for case in range(len(given.FILTERS)) for row in ROWS]
    table = given.table(rows, {**given.MORE, "part": pa.int64()})
    where = " OR ".join(f"(part = {case} AND ({text}))" for case, text in enumerate(given.FILTERS))
    found = mean_question(
        **spark(spark_session, tmp_path)(table), column="k", bounds=(0, 3), epsilon=1,
        by="part", keys=range(len(given.FILTERS)), where=where,
    ).read()  # fmt: skip
    pairs = zip(found.totals.cells.tolist(), found.totals.count.tolist(), strict=True)
    totals = dict(zip((key for (key,) in found.keys), pairs, strict=True))
    expected = [kept_by(text) for text in given.FILTERS]
    wrong = {
        text: totals.get(case)
        for case, (text, kept) in enumerate(zip(given.FILTERS, expected, strict=True))
        if totals.get(case, (0, 0)) != (sum(kept), len(kept))
    }
    assert wrong == {}
