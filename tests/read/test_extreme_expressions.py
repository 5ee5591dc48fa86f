"""Random expressions over rows of extreme values: every engine agrees with the judge.

The corpus in :mod:`tests.read.expressions` has every operator; here they are combined at random,
over random bits, values next to the limits of overflow and underflow, integers next to 2^53 and
2^63, dates of all centuries, and texts of characters that patterns and collations treat in a
special way. A number is compared with what the judge finds in some row, so that one unit in the
last place is seen.
"""

from __future__ import annotations

import math
import random
import struct
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.sql.expression import nodes as n
from hourglass.read.sql.expression.arithmetic import FORMULAS, PAIR
from hourglass.read.sql.expression.parsing import parsed
from tests.read import expressions, places

pytestmark = pytest.mark.property

SIZE = 40
#: Cells of a condition; the sums of as many rows tell TRUE from NULL.
FINE = 1000
#: Next to these, results overflow, underflow, or cease to be exact.
EDGES = [
    2.0**-1074, 2.0**-1022, 2.0**-513, 2.0**-511, 0.5, 1.0, 2.0**51, 2.0**52, 2.0**53, 2.0**62,
    2.0**63, 2.0**511, 2.0**513, 2.0**1023, sys.float_info.max,
]  # fmt: skip
CHARACTERS = [*"aAbBzZ%_\\'\" .$?*[]^{}()|\n\t", *"éİßﬀ日😀", "\x01", "\x7f", "\u0301", "\ufffd"]
CHARACTERS += ["\U0010ffff", "\u2028"]
LENGTHS = ["", "é" * 2048, "é" * 2048 + "a", "😀" * 1024, "a" * 4095 + "é", "a" * 4096]
#: Columns that SQLite has no types for.
DATED = {"day", "at", "zoned", "amount"}

Dice = random.Random


# --- rows -----------------------------------------------------------------------------------------


def real(dice: Dice) -> float | None:
    match dice.randrange(8):
        case 0:
            return dice.choice(expressions.REALS)
        case 1:  # any double at all
            found: float = struct.unpack("<d", struct.pack("<Q", dice.getrandbits(64)))[0]
            return found
        case 2:
            exponent = dice.choice([-1074, -1023, -1022, -513, -512, 511, 512, 1022, 1023])
            return math.copysign(math.ldexp(dice.uniform(1, 2), exponent), dice.random() - 0.5)
        case 3:
            edge = dice.choice(EDGES)
            for _ in range(dice.randrange(3)):
                edge = math.nextafter(edge, dice.choice([0, math.inf]))
            return math.copysign(edge, dice.random() - 0.5)
        case 4:
            return dice.choice([None, math.nan, math.inf, -math.inf, 0.0, -0.0])
        case _:
            return dice.choice([dice.uniform(-9, 9), dice.randint(-20, 20) / 4])


def whole(dice: Dice) -> int | None:
    near = dice.choice([2**53, 2**54, 2**62, 2**63 - 1, -(2**53), -(2**63)]) + dice.randint(-3, 3)
    several = [None, dice.randint(-30, 30), dice.randint(-(2**63), 2**63 - 1), near]
    found = dice.choice([*several, *dice.sample(expressions.WHOLES, 2)])
    return None if found is None else max(-(2**63), min(2**63 - 1, found))


def text(dice: Dice) -> str | None:
    some = "".join(dice.choices(CHARACTERS, k=dice.randrange(6)))
    return dice.choice([None, some, some, dice.choice(expressions.TEXTS), dice.choice(LENGTHS)])


def day(dice: Dice) -> date:
    return date.fromordinal(dice.choice([dice.randint(1, 3_652_059), dice.randint(1, 10**6)]))


def moment(dice: Dice) -> datetime:
    passed = dice.choice([0, 1, 86_400_000_000 - 1, dice.randrange(86_400_000_000)])
    return datetime.combine(day(dice), datetime.min.time()) + timedelta(microseconds=passed)


def row(dice: Dice) -> dict[str, Any]:
    zoned = moment(dice).replace(tzinfo=UTC)
    amount = dice.choice([dice.randint(-(10**20) + 1, 10**20 - 1), dice.randint(-(10**6), 10**6)])
    found = {
        "x": real(dice), "y": real(dice), "n": whole(dice), "m": whole(dice), "t": text(dice),
        "u": text(dice), "flag": dice.choice([None, True, False]), "k": 1, "day": day(dice),
        "at": moment(dice), "zoned": zoned if 2 < zoned.year < 9998 else None,
        "amount": Decimal(amount).scaleb(-4),
    }  # fmt: skip
    return found | {name: None for name in DATED if dice.random() < 0.1}


# --- expressions ----------------------------------------------------------------------------------


def constant(dice: Dice) -> n.Number:
    value = dice.choice([whole(dice), real(dice), dice.randint(-9, 9)])
    return n.Number(value if value is not None and math.isfinite(value) else 0.1)


def pattern(dice: Dice) -> str:
    parts = [
        dice.choice(["_", "\\%", "\\_", "\\\\", *CHARACTERS]) for _ in range(dice.randrange(4))
    ]
    parts = ["\\\\" if part == "\\" else "a" if part == "%" else part for part in parts]
    for _ in range(dice.randrange(3)):  # a pattern may have two
        parts.insert(dice.randint(0, len(parts)), "%")
    return "".join(parts)


def tree(dice: Dice, kind: str, depth: int, *, dated: bool) -> n.Node:
    """A random tree of that type."""
    if not depth or dice.random() < 0.1:
        return leaf(dice, kind, dated=dated)

    def some(of: str) -> n.Node:
        return tree(dice, of, depth - 1, dated=dated)

    def several(of: str) -> tuple[n.Node, ...]:
        return tuple(some(of) for _ in range(dice.randint(2, 3)))

    makers: list[Callable[[], n.Node]] = [
        lambda: n.Case(((some("boolean"), some(kind)), (some("boolean"), n.Null())), some(kind)),
        lambda: n.Call("COALESCE", several(kind)),
    ]
    if kind == "number":
        arithmetic = [lambda: n.Arithmetic(dice.choice("+-*/"), some(kind), some(kind))] * 6
        makers += arithmetic
        makers += [
            lambda: n.Negate(some(kind)),
            lambda: n.Call(dice.choice(["ABS", "FLOOR"]), (some(kind),)),
            lambda: n.Call(dice.choice(["LEAST", "GREATEST"]), several(kind)),
            lambda: n.Call("LENGTH", (some("text"),)),
        ]
        if dated:
            makers += [lambda: part_of_date(dice)]
    elif kind == "text":
        makers += [lambda: n.Call("LOWER", (some(kind),))]
    else:
        makers += conditions(dice, some, several)
        if dated:
            makers += [lambda: comparison_of_dates(dice)]
    return dice.choice(makers)()


def leaf(dice: Dice, kind: str, *, dated: bool) -> n.Node:
    if kind == "number":
        names = ["x", "y", "x", "y", "n", "m", *(["amount"] if dated else [])]
        return n.Column(dice.choice(names)) if dice.random() < 0.7 else constant(dice)
    if kind == "text":
        found = n.Text(text(dice) or "a")
        return n.Column(dice.choice("tu")) if dice.random() < 0.7 else found
    return n.Column("flag") if dice.random() < 0.7 else n.Truth(dice.random() < 0.5)


def conditions(
    dice: Dice, some: Callable[[str], n.Node], several: Callable[[str], tuple[n.Node, ...]]
) -> list[Callable[[], n.Node]]:
    sign = dice.choice(["=", "<>", "<", "<=", ">", ">="])
    names = tuple(n.Text(text(dice) or "") for _ in range(2))
    numbers = tuple(constant(dice) for _ in range(3))
    compared: Callable[[], n.Node] = lambda: n.Compare(sign, some("number"), some("number"))  # noqa: E731
    return [
        compared,
        compared,
        lambda: n.Compare(sign, some("text"), some("text")),
        lambda: n.Compare(dice.choice(["=", "<>"]), some("boolean"), some("boolean")),
        lambda: n.All(several("boolean")),
        lambda: n.Any(several("boolean")),
        lambda: n.Not(some("boolean")),
        lambda: n.IsNull(some(dice.choice(["number", "text", "boolean"]))),
        lambda: n.In(some("number"), numbers),
        lambda: n.In(some("text"), names),
        lambda: n.Between(some("number"), some("number"), some("number")),
        lambda: n.Between(some("text"), some("text"), some("text")),
        lambda: n.Like(some("text"), pattern(dice)),
        lambda: n.Like(n.Column("t"), pattern(dice)),
    ]


def part_of_date(dice: Dice) -> n.Node:
    if dice.random() < 0.2:
        return n.Call("HOUR", (n.Column(dice.choice(["at", "zoned"])),))
    name = dice.choice(["YEAR", "MONTH", "DAY", "WEEKDAY"])
    return n.Call(name, (n.Column(dice.choice(["day", "at", "zoned"])),))


def comparison_of_dates(dice: Dice) -> n.Node:
    name, sign = dice.choice(["day", "at", "zoned"]), dice.choice(["=", "<>", "<", "<=", ">", ">="])
    told = day(dice).isoformat() if name == "day" else moment(dice).isoformat(sep=" ")
    return n.Compare(sign, n.Column(name), n.Text(told))


def drawn(dice: Dice, rows: list[dict[str, Any]], size: int, *, dated: bool) -> list[str]:
    """Conditions; half of them compare a number with the one that the judge finds in some row."""
    found: dict[str, None] = {}
    while len(found) < size:
        kind = dice.choice(["boolean", "number"])
        made = tree(dice, kind, dice.randint(1, 3), dated=dated)
        if kind == "number":
            values = (expressions.judged(made, each) for each in dice.sample(rows, len(rows)))
            known = next((v for v in values if v is not None and math.isfinite(v)), None)
            made = n.IsNull(made) if known is None else n.Compare("=", made, n.Number(float(known)))
        written = n.text_of(made)
        if n.columns_of(made) and len(written) < 3000 and parsed(written, "expression") == made:
            found.setdefault(written)
    return list(found)


# --- the comparison -------------------------------------------------------------------------------


def disagreements(
    place: Callable[[pa.Table], dict[str, Any]],
    seed: int,
    size: int,
    types: Mapping[str, Any] = expressions.MORE,
) -> dict[str, Any]:
    """Expressions for which a place and the judge count different rows as TRUE or as NULL."""
    dice = random.Random(seed)
    rows = [row(dice) for _ in range(SIZE)]
    texts = drawn(dice, rows, size, dated="day" in types)
    placed = place(expressions.table(rows, types))
    columns = [hg.expression(each) for each in texts]
    asked = {"bounds": (0, 1), "grid": FINE, "missing": 1 / FINE, "epsilon": 1}
    sums = mean_question(**placed, column=columns, **asked).read().only.sums
    wrong = {}
    for written, total in zip(texts, sums, strict=True):
        node = parsed(written, "expression")
        values = [expressions.judged(node, each) for each in rows]
        should = values.count(True), values.count(None)
        if divmod(total, FINE) != should:
            wrong[written] = divmod(total, FINE), should
    return wrong


def types_of(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    of_sqlite = "sqlite" in request.node.callspec.params.values()
    return expressions.TYPES if of_sqlite else expressions.MORE


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_engines_agree_at_the_extremes(
    engine_place: Any, seed: int, request: pytest.FixtureRequest
) -> None:
    assert disagreements(engine_place, seed, 12, types_of(request)) == {}


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 1100, 10))
def test_engines_agree_in_many_cases(
    engine_place: Any, start: int, request: pytest.FixtureRequest
) -> None:
    for seed in range(start, start + 10):
        assert disagreements(engine_place, seed, 24, types_of(request)) == {}, seed


#: Formulas that are slightly wrong, and from which seed on it is noticed.
MUTANTS = {
    "+": ("p.a + p.b", "p.b + p.a * 1.0000000000000002", 0),
    "*": ("ABS(p.a) < CAST('2.2250738585072014e-308' AS DOUBLE) / ABS(p.b)", "FALSE", 4),
    "/": ("ABS(p.a) < CAST('2.2250738585072014e-308' AS DOUBLE) * ABS(p.b)", "FALSE", 16),
    "floor": ("FLOOR(p.a)", "FLOOR(p.a + 0.0000000000000001)", 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("operator", MUTANTS)
def test_a_formula_that_is_slightly_wrong_is_noticed(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *parts, first = MUTANTS[operator]
    right, wrong = (str(part).replace("p.", f"{PAIR}.") for part in parts)
    formula = FORMULAS[operator]
    assert right in formula
    monkeypatch.setitem(FORMULAS, operator, formula.replace(right, wrong))
    place = places.parquet(tmp_path)
    assert any(disagreements(place, seed, 24) for seed in range(first, first + 40))
