"""Expressions as deep as the language allows: engines prepare them, and answer by the reference."""

from __future__ import annotations

import re
import sys
import threading
from itertools import accumulate
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.sql.dialects import Dialect
from hourglass.read.sql.expression import nodes
from hourglass.read.sql.expression.checking import PARTS, type_of
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
    "tests of numbers": "CASE WHEN CASE WHEN " * 7
    + "n"
    + " NOT BETWEEN m AND 9 THEN x ELSE y END IN (1.5, 3, 7) THEN n ELSE m + 1 END" * 7,
    "tests of texts": "CASE WHEN CASE WHEN LOWER(COALESCE(" * 4
    + "t"
    + ", u)) BETWEEN 'a' AND u THEN t ELSE u END LIKE 'a%b' THEN u ELSE t END" * 4
    + " >= 'a'",
    "LENGTH": "CASE WHEN LENGTH(" * 9 + "t" + ") > 1 THEN u ELSE t END" * 9 + " > 'a'",
    "results": "CASE WHEN x > 0 THEN 1 + " * (DEPTH // 2) + "x" + " ELSE y END" * (DEPTH // 2),
    "conditions": "CASE WHEN COALESCE(n > 1 AND " * 9 + "flag" + ", m > 0) THEN flag END" * 9,
    "many": "COALESCE(" + ", ".join(["COALESCE(" + "t, " * 98 + "u)"] * 8) + ") = 'a'",
}
#: What takes Spark a second or more to plan; what it has is also in the others.
SLOW_ON_SPARK = {
    "a chain of sums", "a chain of all", "quotients", "results", "tests of numbers",
    "COALESCE of sums",
}  # fmt: skip
KINDS = dict.fromkeys("xynm", "number") | {"t": "text", "u": "text", "flag": "boolean"}
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
    if engine == "spark" and name in SLOW_ON_SPARK:
        pytest.skip("on Spark, which takes seconds to plan each, the others have what these have")
    text = DEEP[name]
    is_number = type_of(parsed(text, "expression"), KINDS) == "number"
    condition = f"{text} > 0.5" if is_number else text
    tree = parsed(condition, "expression")
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
    values = [expressions.judged(tree, row) for row in ROWS]
    found = divmod(question.read().only.cells, FINE)
    assert found == (values.count(True), values.count(None))


# --- everything in everything else ----------------------------------------------------------------

#: Each operator and function, by the types of its operand {e} and of its result: numbers, texts and
#: conditions. {i} is the level, so that no two parts are equal.
FORMS = {
    "nn": [
        "(-{e})", "({e} + {i})", "({i} - {e})", "({e} * m)", "(m / {e})", "ABS({e})", "FLOOR({e})",
        "LEAST({e}, m)", "GREATEST({i}, {e})", "COALESCE({e}, {i})", "COALESCE(n, {e}, {i})",
        "CASE WHEN n > {i} THEN {e} ELSE m END", "CASE WHEN n > {i} THEN NULL ELSE {e} END",
    ],
    "nc": [
        "({e} > {i})", "({i} <> {e})", "({e} = m)", "({e} IN ({i}))", "({e} NOT IN ({i}, 2.5))",
        "({e} IS NULL)", "({e} IS NOT NULL)", "({e} BETWEEN {i} AND 9)", "({i} BETWEEN {e} AND 9)",
        "(n NOT BETWEEN 1 AND {e})", "({e} NOT BETWEEN m AND 9)", "({e} IN (1, 2, 3, 4, {i}))",
    ],
    "tt": [
        "LOWER({e})", "COALESCE({e}, u)", "COALESCE(u, {e}, '{i}')", "COALESCE({e}, LOWER(u))",
        "CASE WHEN n > {i} THEN {e} ELSE u END", "CASE WHEN n > {i} THEN NULL ELSE {e} END",
        "CASE WHEN n > {i} THEN {e} END",
    ],
    "tn": ["LENGTH({e})"],
    "tc": [
        "({e} = '{i}')", "(u >= {e})", "({e} <> u)", "({e} IN ('{i}'))", "({e} IN ('a', '{i}'))",
        "({e} NOT IN ('a', 'b', 'c', 'd', '{i}'))", "({e} IS NULL)", "({e} BETWEEN '{i}' AND 'b')",
        "({e} NOT BETWEEN u AND 'b')", "(u BETWEEN {e} AND 'b')", "(u BETWEEN 'a' AND {e})",
        "({e} LIKE '{i}%')", "({e} LIKE '%{i}')", "({e} LIKE '{i}%b')", "({e} NOT LIKE '%{i}%')",
        "({e} LIKE '%')", "({e} LIKE 'a_{i}')", "({e} LIKE '{i}')", "({e} LIKE '!%{i}' ESCAPE '!')",
    ],
    "cc": [
        "(NOT {e})", "({e} AND n > {i})", "(n > {i} OR {e})", "({e} = (n > {i}))", "({e} <> TRUE)",
        "({e} IS NULL)", "COALESCE({e}, n > {i})", "COALESCE(n > {i}, {e}, FALSE)",
        "CASE WHEN {e} THEN n > {i} ELSE m > {i} END", "CASE WHEN {e} THEN TRUE ELSE NULL END",
        "CASE WHEN n > {i} THEN {e} END", "CASE WHEN n > {i} THEN m > {i} ELSE {e} END",
        "CASE WHEN n > {i} THEN NULL WHEN {e} THEN FALSE ELSE flag END",
    ],
    "cn": ["CASE WHEN {e} THEN n ELSE {i} END", "CASE WHEN n > {i} THEN m WHEN {e} THEN {i} END"],
    "ct": ["CASE WHEN {e} THEN t ELSE u END", "CASE WHEN n > {i} THEN u WHEN {e} THEN '{i}' END"],
}  # fmt: skip
#: What each of them is in, and what is in it, in turn.
OTHERS = {
    "nn": ["CASE WHEN m > {i} THEN {e} ELSE n END"],
    "tt": ["CASE WHEN m > {i} THEN {e} ELSE t END"],
    "cc": ["(m > {i} AND {e})", "CASE WHEN m > {i} THEN n > {i} ELSE {e} END"],
    "cn": ["CASE WHEN {e} THEN n + {i} ELSE m END"],
    "ct": ["CASE WHEN {e} THEN t ELSE '{i}' END"],
    "nc": ["({e} > {i})"],
    "tc": ["({e} = '{i}')"],
    "nt": ["CASE WHEN {e} > {i} THEN t ELSE u END"],
}
#: The innermost part, which has a number of its own.
LEAVES = {"n": "(m + {mark})", "t": "COALESCE(t, '{mark}')", "c": "(n = {mark})"}
WHOLE = {"n": "{e} > 0.5", "t": "{e} = 'a'", "c": "{e}"}
#: How often both are in each other.
TIMES = 4


def alternated(mark: int, kinds: str, *forms: str) -> str:
    """A condition in which the first form is in the second, that in the first, and so on."""
    text = LEAVES[kinds[0]].replace("{mark}", str(mark))
    for level in range(TIMES * len(forms)):
        text = forms[level % len(forms)].replace("{e}", text).replace("{i}", str(level))
    return WHOLE[kinds[0]].replace("{e}", text)


def pairs(*kinds: str) -> dict[int, str]:
    """By the number in the innermost part: each form, and what it is in and what is in it."""
    each = (
        (kind, form, other)
        for kind in kinds
        for form in FORMS[kind]
        for other in OTHERS[kind[::-1]]
    )
    return {mark: alternated(mark, *found) for mark, found in enumerate(each, 7001)}


def test_all_of_the_language_is_nested() -> None:
    """Caught: a new function or operator that the test below does not know."""
    found: list[nodes.Node] = [parsed(text, "expression") for text in pairs(*FORMS).values()]
    for node in found:
        found += node.parts
    calls = {node.name for node in found if isinstance(node, nodes.Call)}
    assert calls == set(nodes.FUNCTIONS) - set(PARTS)  # which take columns
    assert {type(node) for node in found} == set(nodes.Node.__subclasses__())


def plan_of(engine: str, question: Any) -> str:
    """The plan as text, after the optimiser."""
    source, sql = question.source, question.sql
    if engine == "duckdb":
        (found,) = source._connection.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall()
        return str(found[1])
    if engine == "datafusion":
        return str(source._context.sql(sql).optimized_logical_plan().display_indent())
    if engine == "postgres":
        return "".join(line for (line,) in source._asked(f"EXPLAIN (VERBOSE) {sql}"))
    source._frame.createOrReplaceTempView(source._view)
    plan = source._frame.sparkSession.sql(sql)._jdf.queryExecution().optimizedPlan()
    return str(plan.toString())


def nested_cases(plan: str) -> int:
    """How many CASEs are in each other, at most."""
    steps = (1 if word == "CASE" else -1 for word in re.findall(r"\b(?:CASE|END)\b", plan))
    return max(accumulate(steps), default=0)


#: Plans of so many expressions are made at once.
AT_ONCE = 8


@pytest.mark.slow
def test_no_plan_has_an_operand_many_times(
    engine_place: Any, request: pytest.FixtureRequest
) -> None:
    """Caught: BETWEEN, IN, LIKE, COALESCE, CASE or LENGTH as the engine has it, for operands that
    have a CASE in them. The engine writes out an operand of one of them twice, or three times, and
    so the innermost one 16 or 81 times.
    """
    engine = request.node.callspec.params["engine_place"]
    if engine in ("sqlite", "duckdb alone"):
        pytest.skip("SQLite evaluates each operand once; DuckDB is another parameter")
    placed = engine_place(expressions.table(ROWS[:1], expressions.TYPES))
    asked = pairs(*(FORMS if engine == "datafusion" else ("nc", "tc")))
    if engine == "spark":  # which takes long for each
        asked = {m: t for m, t in asked.items() if " BETWEEN '" in t or "%b'" in t}
    wrong: dict[str, int] = {}
    for start in range(0, len(asked), AT_ONCE):
        part = dict(list(asked.items())[start : start + AT_ONCE])
        columns = [hg.expression(text) for text in part.values()]
        question = mean_question(**placed, column=columns, bounds=(0, 1), epsilon=1)
        plan = plan_of(engine, question)
        if engine == "duckdb":  # what it finds to be there twice is another projection
            assert plan.count('"PROJECTION"') <= 5, list(part.values())
        # DataFusion looks for the type of a part of a CASE more than once. (LIKE '%' is a CASE.)
        if engine == "datafusion" and not any("LIKE '%'" in text for text in part.values()):
            assert nested_cases(plan) <= 2, list(part.values())
        once = 8 if engine == "postgres" else 1  # the output of each of the steps
        wrong |= {t: n for m, t in part.items() if (n := plan.count(str(m))) > 4 * once}
    assert wrong == {}


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
