"""Expressions as deep as the language allows: engines prepare them, and answer by the reference."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.sql.dialects import Dialect
from hourglass.read.sql.expression.parsing import parsed
from tests.read import expressions

#: The most operations that use the result of the one before, and the most parts within each other.
CHAIN, DEPTH = 38, 29
DEEP = {
    "a chain of sums": " + ".join("xy"[i % 2] for i in range(CHAIN + 1)),
    "a chain of all": "x" + " * y + n / x - 2" * (CHAIN // 4),
    "FLOOR": "FLOOR(" * DEPTH + "x / 3" + ")" * DEPTH,
    "ABS": "ABS(" * DEPTH + "x" + ")" * DEPTH,
    "quotients": "(" * DEPTH + "x" + " / y)" * DEPTH,
    "CASE": "CASE WHEN x > 0 THEN " * (DEPTH // 2) + "x / y" + " ELSE y * 2 END" * (DEPTH // 2),
    "COALESCE": "COALESCE(" * DEPTH + "x / y" + ", y)" * DEPTH,
    "COALESCE of sums": "COALESCE(x + " * (DEPTH // 2) + "x / y" + ", y)" * (DEPTH // 2),
    "OR": "(x > 1 OR " * DEPTH + "y > 2" + ")" * DEPTH,
    "NOT": "NOT (" * (DEPTH // 2) + "flag" + ")" * (DEPTH // 2),
}
ROWS = expressions.rows(60)
#: Cells of a condition; the sums of as many rows tell TRUE from NULL.
FINE = 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEP)
def test_the_deepest_expressions(
    engine_place: Any, name: str, request: pytest.FixtureRequest
) -> None:
    """Caught: an operand that is written twice, or whose type is looked for twice, which takes
    twice as long with each level and brought PostgreSQL down; parsers that recurse, and fail with
    an error of their own or after the charge.
    """
    engine = request.node.callspec.params["engine_place"]
    if engine == "spark" and name in ("a chain of sums", "quotients"):
        pytest.skip("on Spark, which takes seconds to plan each, 'a chain of all' has them")
    text = DEEP[name]
    condition = text if name in ("OR", "NOT") else f"{text} > 0.5"
    placed = engine_place(expressions.table(ROWS, expressions.TYPES))
    asked: dict[str, Any] = {"bounds": (0, 1), "grid": FINE, "missing": 1 / FINE, "epsilon": 1}
    try:
        question = mean_question(**placed, column=hg.expression(condition), **asked)
    except hg.DataError:
        if engine != "sqlite":
            raise
        with pytest.raises(hg.DataError, match="nest fewer parts"):  # its parser's stack is short
            mean_question(**placed, column=hg.expression(condition), **asked)
        return
    tree = parsed(condition, "expression")
    values = [expressions.judged(tree, row) for row in ROWS]
    found = divmod(question.read().only.cells, FINE)
    assert found == (values.count(True), values.count(None))


def test_translations_at_the_same_time_leave_the_limit_of_calls_alone() -> None:
    before = sys.getrecursionlimit()
    deep = [f"SELECT {'ABS(' * 60}{i}{')' * 60}" for i in range(12)]
    done: list[str] = []
    threads = [
        threading.Thread(target=lambda text=text: done.append(Dialect("sqlite").write(text)))
        for text in deep
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(deep)
    assert sys.getrecursionlimit() == before
