"""Random trees: their text parses back to them, and engines agree with the reference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid
from hourglass.read.sql.expression import nodes as n
from hourglass.read.sql.expression.parsing import parsed
from tests.read import expressions, places
from tests.read.corpus import cell_of

pytestmark = pytest.mark.property

NUMBERS = [
    0,
    1,
    -1,
    2,
    7,
    12,
    2**53 + 1,
    -(2**63),
    2**63 - 1,
    0.5,
    -2.25,
    0.1,
    1e308,
    1e-308,
    3e-308,
]
WORDS = ["", "a", "A", "abc", "é", "日本", "it's", 'q"q', "a%b", "a\\b", "${x}", "😀", "x\ny"]
PATTERNS = ["", "%", "a%", "%b", "_", "a\\%b", "\\_", "%\\\\%", "é", "_%", "a_b", "%"]


def _leaf(kind: str) -> st.SearchStrategy[n.Node]:
    columns = {"number": ["x", "y", "n", "m"], "text": ["t", "u"], "boolean": ["flag"]}[kind]
    constants: dict[str, st.SearchStrategy[n.Node]] = {
        "number": st.sampled_from(NUMBERS).map(n.Number),
        "text": st.sampled_from(WORDS).map(n.Text),
        "boolean": st.booleans().map(n.Truth),
    }
    return st.sampled_from(columns).map(n.Column) | constants[kind]


def trees(kind: str, depth: int = 3) -> st.SearchStrategy[n.Node]:
    """Trees of a type, of every node that can have it."""
    leaf = _leaf(kind)
    if not depth:
        return leaf
    number, text, boolean = (trees(each, depth - 1) for each in ("number", "text", "boolean"))
    same = {"number": number, "text": text, "boolean": boolean}[kind]
    more = [
        st.builds(
            n.Case,
            st.lists(st.tuples(boolean, same), min_size=1, max_size=2).map(tuple),
            same | st.just(n.Null()),
        ),
        st.lists(same, min_size=2, max_size=3).map(lambda a: n.Call("COALESCE", tuple(a))),
    ]
    if kind == "number":
        operand = number.filter(lambda node: not isinstance(node, n.Number))
        more += [
            st.builds(n.Arithmetic, st.sampled_from("+-*/"), number, number),
            operand.map(n.Negate),
            number.map(lambda a: n.Call("ABS", (a,))),
            number.map(lambda a: n.Call("FLOOR", (a,))),
            st.tuples(number, number).map(lambda a: n.Call("LEAST", a)),
            st.tuples(number, number).map(lambda a: n.Call("GREATEST", a)),
            text.map(lambda a: n.Call("LENGTH", (a,))),
        ]
    elif kind == "text":
        more.append(text.map(lambda a: n.Call("LOWER", (a,))))
    else:
        more += _conditions(number, text, boolean)
    return leaf | st.one_of(more)


def _conditions(number: Any, text: Any, boolean: Any) -> list[st.SearchStrategy[n.Node]]:
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    joined = st.lists(boolean, min_size=2, max_size=3).map(tuple)
    numbers = st.lists(st.sampled_from(NUMBERS).map(n.Number), min_size=1, max_size=3).map(tuple)
    words = st.lists(st.sampled_from(WORDS).map(n.Text), min_size=1, max_size=3).map(tuple)
    return [
        st.builds(n.Compare, signs, number, number),
        st.builds(n.Compare, signs, text, text),
        st.builds(n.Compare, st.sampled_from(["=", "<>"]), boolean, boolean),
        joined.map(n.All),
        joined.map(n.Any),
        boolean.map(n.Not),
        (number | text | boolean).map(n.IsNull),
        st.builds(n.In, number, numbers),
        st.builds(n.In, text, words),
        st.builds(n.Between, number, number, number),
        st.builds(n.Between, text, text, text),
        st.builds(n.Like, text, st.sampled_from(PATTERNS)),
    ]


ANY = trees("boolean") | trees("number")


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(ANY)
def test_the_text_of_a_tree_leads_back_to_it(tree: n.Node) -> None:
    text = n.text_of(tree)
    assert parsed(text, "where") == tree


def _each(children: list[n.Node], other: n.Node, make: Any, places: int) -> Iterator[n.Node]:
    """A node for each child in each place, the other places filled with another node."""
    for child in children:
        for place in range(places):
            yield make(*(child if i == place else other for i in range(places)))


def _over(numbers: list[n.Node], conditions: list[n.Node]) -> tuple[list[n.Node], list[n.Node]]:
    """Every operator over every one of these operands, in every place: numbers and conditions."""
    x, flag = n.Column("x"), n.Column("flag")
    found = [
        node
        for sign in "+-*/"
        for node in _each(numbers, x, lambda a, b, s=sign: n.Arithmetic(s, a, b), 2)
    ]
    found += [n.Negate(each) for each in numbers if not isinstance(each, n.Number)]
    found += [n.Call(name, (each,)) for each in numbers for name in ("ABS", "FLOOR")]
    found += _each(numbers, x, lambda a, b: n.Call("LEAST", (a, b)), 2)
    found += _each(conditions, flag, lambda a, b: n.Case(((a, x), (b, n.Null())), x), 2)
    tests: list[n.Node] = [
        node
        for sign in ("=", "<", ">=")
        for node in _each(numbers, x, lambda a, b, s=sign: n.Compare(s, a, b), 2)
    ]
    tests += _each(conditions, flag, lambda a, b: n.Compare("<>", a, b), 2)
    for kind in (n.All, n.Any):
        tests += _each(conditions, flag, lambda a, b, c, k=kind: k((a, b, c)), 3)
    tests += _each(numbers, x, n.Between, 3)
    tests += [n.In(each, (n.Number(-1), n.Number(0.5))) for each in numbers]
    tests += [n.IsNull(each) for each in (*numbers, *conditions)]
    tests += [n.Not(each) for each in (*conditions, *tests)]
    return found, tests


def every_pair() -> list[n.Node]:
    """Every operator within every other, in every place."""
    numbers, conditions = _over([n.Column("x"), n.Number(-2)], [n.Column("flag")])
    deeper, tests = _over(numbers, conditions)
    return [*numbers, *conditions, *deeper, *tests]


@pytest.mark.slow
@pytest.mark.enumeration
def test_every_operator_within_every_other() -> None:
    """The text parses back to the tree, and SQLGlot parses it like the fully bracketed text."""
    pairs = every_pair()
    assert len(pairs) > 1000
    wrong = [n.text_of(tree) for tree in pairs if parsed(n.text_of(tree), "where") != tree]
    assert wrong == []
    dice = random.Random(1)
    for tree in dice.sample(pairs, 300):
        assert _plain(n.text_of(tree)) == _plain(_bracketed(tree))


def _bracketed(node: n.Node) -> str:
    """The text with a bracket around every part, which no rule of precedence can change."""
    if isinstance(node, n.All | n.Any):
        word = " AND " if isinstance(node, n.All) else " OR "
        text = _bracketed(node.conditions[0])
        for each in node.conditions[1:]:
            text = f"({text}{word}{_bracketed(each)})"
        return text
    if isinstance(node, n.Compare | n.Arithmetic):
        return f"({_bracketed(node.left)} {node.sign} {_bracketed(node.right)})"
    if isinstance(node, n.Not):
        return f"(NOT {_bracketed(node.operand)})"
    if isinstance(node, n.Negate):
        return f"(-{_bracketed(node.operand)})"
    if isinstance(node, n.Between):
        ends = f"{_bracketed(node.low)} AND {_bracketed(node.high)}"
        return f"({_bracketed(node.operand)} BETWEEN {ends})"
    if isinstance(node, n.IsNull):
        return f"({_bracketed(node.operand)} IS NULL)"
    return f"({n.text_of(node)})"


def _plain(text: str) -> str:
    """What SQLGlot reads, without brackets."""
    tree: Any = sqlglot.parse_one(f"SELECT {text}", read="duckdb")
    while bracket := tree.find(sqlglot.expressions.Paren):
        bracket.replace(bracket.this)
    return repr(tree)


ROWS = expressions.rows()[:100]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("tables")
    made = expressions.table(ROWS, expressions.TYPES)
    return [places.parquet(folder)(made), places.sqlite(folder)(made)]


@pytest.mark.slow
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    st.lists(trees("number"), min_size=4, max_size=8),
    st.lists(trees("boolean"), min_size=4, max_size=8),
)
def test_engines_agree_with_the_judge(
    tables: list[dict[str, Any]], numbers: list[n.Node], conditions: list[n.Node]
) -> None:
    grids = {n.text_of(tree): Grid.choose(Bounds(-1000, 1000)) for tree in numbers}
    grids |= {n.text_of(tree): Grid(Bounds(0, 1), 1, True) for tree in conditions}
    kept = {text: grid for text, grid in grids.items() if n.columns_of(parsed(text, "where"))}
    if len(kept) < 2:
        return
    where = conditions[0]
    rows = [row for row in ROWS if expressions.judged(where, row) is True]
    sums = []
    for text, grid in kept.items():
        tree = parsed(text, "where")
        cells = (cell_of(expressions.judged(tree, row), grid) for row in rows)
        zero = grid.cell(0)
        sums.append(sum(zero if cell is None else cell for cell in cells))  # type: ignore[misc]
    for placed in tables:
        question = mean_question(
            **placed,
            column=[hg.expression(text) for text in kept],
            bounds={hg.expression(text): tuple(grid.bounds) for text, grid in kept.items()},
            epsilon=1,
            missing=0,
            where=n.text_of(where),
        )
        assert list(question.read().only.sums) == sums


def test_constants_that_compare_differently_are_different_questions() -> None:
    """An integer compares as 64 bits; a double, or a negated constant, as a double."""
    texts = ["n = -9007199254740993", "n = -(9007199254740993)", "n = -9007199254740993.0"]
    texts += ["n = 0.0", "n = 0", "n = -(0)", "n IN (1, 2)", "n IN (1.0, 2)"]
    trees = [parsed(text, "where") for text in texts]
    assert len({n.text_of(tree) for tree in trees}) == len({*trees}) == len(texts)
