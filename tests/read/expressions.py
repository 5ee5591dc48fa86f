"""The corpus of filters and expressions, its rows, and a reference: a plain interpreter of trees.

The interpreter computes with fractions and Python values, one row at a time, and shares only the
nodes with the code under test.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hourglass.read.sql.expression import nodes as n

Row = Mapping[str, Any]

# --- rows -----------------------------------------------------------------------------------------

REALS = [
    None, math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.3e-308,
    1.5, -2.25, 3.0, 0.1, 0.2, 7.0, 100.0, -100.0, 999.5, 1e308, -1e308, 1.7976931348623157e308,
    1e-200, -1e-200, 1e200, 2.0**52, 2.0**53 + 2, 0.49999999999999994, -0.5, 12.0,
]  # fmt: skip
WHOLES = [
    None, 0, 1, -1, 2, 3, 7, 12, 100, -100, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63),
    2**62 + 1,
]  # fmt: skip
TEXTS = [
    None, "", " ", "a", "A", "b", "abc", "ABC", "Abc", "abc ", "é", "É", "e\u0301", "straße",
    "STRASSE", "日本", "😀", "a😀b", "a%b", "a_b", "axb", "a\\b", "it's", 'q"q', "a\nb", "zz", "Z",
    "JFK", "12", "1e3", "null", "${x}", "x" * 4096, "x" * 4097, "ﬁ",
]  # fmt: skip
DAYS = [
    None, date(1, 1, 1), date(4, 2, 29), date(1600, 2, 29), date(1900, 2, 28), date(1900, 3, 1),
    date(1969, 12, 31), date(1970, 1, 1), date(1999, 12, 31), date(2000, 2, 29), date(2000, 3, 1),
    date(2023, 2, 28), date(2024, 2, 29), date(2024, 12, 31), date(2025, 1, 1), date(9999, 12, 31),
]  # fmt: skip
TIMES = [
    None, datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1),
    datetime(2000, 2, 29, 0, 0, 0, 1), datetime(2024, 2, 29, 13, 45, 6, 500000),
    datetime(2024, 3, 10, 2, 30), datetime(2024, 10, 27, 1, 30), datetime(2024, 12, 31, 23, 30),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
]  # fmt: skip
DECIMALS = [None, *map(Decimal, ["0", "0.1000", "1.0050", "-2.2500", "123456789012345.6789"])]


def rows(size: int = 240) -> list[dict[str, Any]]:
    """Rows in which every value occurs, in many combinations."""
    dice = random.Random(16)
    zoned = [None if t is None or t.year in (1, 9999) else t.replace(tzinfo=UTC) for t in TIMES]
    kinds: dict[str, list[Any]] = {
        "x": REALS, "y": REALS, "n": WHOLES, "m": WHOLES, "t": TEXTS, "u": TEXTS,
        "flag": [None, True, False], "k": [1, 2, 3], "day": DAYS, "at": TIMES, "zoned": zoned,
        "amount": DECIMALS,
    }  # fmt: skip
    return [
        {
            name: values[i] if i < len(values) else dice.choice(values)
            for name, values in kinds.items()
        }
        for i in range(size)
    ]


TYPES = {
    "x": pa.float64(), "y": pa.float64(), "n": pa.int64(), "m": pa.int64(), "t": pa.string(),
    "u": pa.string(), "flag": pa.bool_(), "k": pa.int64(),
}  # fmt: skip
#: SQLite has no types for these.
MORE = TYPES | {
    "day": pa.date32(),
    "at": pa.timestamp("us"),
    "zoned": pa.timestamp("us", "UTC"),
    "amount": pa.decimal128(20, 4),
}


def table(found: list[dict[str, Any]], types: Mapping[str, pa.DataType]) -> pa.Table:
    return pa.table({c: pa.array([row[c] for row in found], kind) for c, kind in types.items()})


# --- the corpus -----------------------------------------------------------------------------------

NUMBERS = [
    "x", "-x", "x + y", "x - y", "x * y", "x / y", "1 / x", "x / 0", "0 * x", "x - x", "-(-x)",
    "x * x * x", "x / y / y", "x + 1 - 1", "(x + y) * (x - y)", "1e308 * 10 * x",
    "1e-300 * x * 1e-300",
    "n", "n + 0.5", "n * n", "n / 3", "n - m", "2 - n", "ABS(x)", "ABS(n) + ABS(-y)", "FLOOR(x)",
    "FLOOR(x / 0.3)", "FLOOR(-x)", "FLOOR(n / 7)", "LEAST(x, y)", "GREATEST(x, y, 0)",
    "LEAST(n, 10)",
    "GREATEST(n, m)", "COALESCE(x, y)", "COALESCE(x, y, -1)", "COALESCE(n, 0) + 1",
    "COALESCE(x / y, 5)", "CASE WHEN x > 0 THEN x ELSE -x END", "CASE WHEN flag THEN 1 END",
    "CASE WHEN x > y THEN 1 WHEN x < y THEN NULL ELSE n END", "LENGTH(t)", "LENGTH(LOWER(t))",
    "LENGTH(COALESCE(t, u, ''))", "CASE WHEN t = '' THEN 0 ELSE LENGTH(t) END * 2",
    "x + y + n + m + 1 + 2 + 3", "((((x))))", "-x * -y / -1",
]  # fmt: skip
CONDITIONS = [
    "x > 0", "x >= 0", "x = 0", "x <> 0", "x < y", "x = y", "x * y > 0", "x > 1e-320", "x / y = 1",
    "n = 9007199254740993", "n > 9007199254740992", "n = m", "n <> m", "n < 9223372036854775807",
    "n > -9223372036854775808", "n = 9007199254740993.0", "n > 1e300", "n > x", "n > 0.5",
    "NOT x > 0", "x > 0 AND y > 0", "x > 0 OR y > 0", "NOT (x > 0 OR NOT y > 0)", "flag",
    "NOT flag",
    "flag = TRUE", "flag <> (x > 0)", "(x > 0) = (y > 0)", "flag IS NULL", "x IS NULL",
    "x / 0 IS NULL", "x - x IS NOT NULL", "COALESCE(flag, x > 0, FALSE)", "x IN (1.5, 3, -0.0)",
    "x NOT IN (0, 7)", "n IN (1, 9007199254740993)", "n NOT IN (0, 12.5)", "x BETWEEN -1 AND 7",
    "x NOT BETWEEN y AND 7", "n BETWEEN 2 AND 9007199254740992", "t = 'a'", "t <> ''", "t = ''",
    "t < 'b'", "t >= 'é'", "t > u", "t = u", "t IN ('JFK', '日本', 'it''s', 'a\\b')", "t IS NULL",
    "t BETWEEN 'A' AND 'a'", "LOWER(t) = 'abc'", "LOWER(t) = LOWER(u)", "LOWER(t) = 'É'",
    "t LIKE 'a%'", "t LIKE '%b'", "t LIKE '_'", "t LIKE 'a_b'", "t LIKE 'a!_b' ESCAPE '!'",
    "t LIKE 'a!%b' ESCAPE '!'", "t LIKE 'a\\b'", "t LIKE '%!!%' ESCAPE '!'", "t LIKE ''",
    "t LIKE '%'",
    "t NOT LIKE '%c%'", "t LIKE 'a%b'", "t = '${x}'", "LENGTH(t) = 1", "COALESCE(t, u) = 'abc'",
    "CASE WHEN x > 0 THEN t ELSE u END LIKE 'A%'", "CASE WHEN x > 0 THEN flag ELSE NULL END",
    "CASE WHEN n > 1 THEN t = 'a' WHEN flag THEN NULL END", "COALESCE(x > 0, flag) = (y > 0)",
    "CASE WHEN flag THEN x > 0 WHEN y > 0 THEN NULL WHEN NOT flag THEN TRUE ELSE t = u END",
]  # fmt: skip
#: Tests of what may contain other tests, see the writer.
CONDITIONS += [
    f"CASE WHEN flag THEN {results} END {test}"
    for results, tests in {
        "x ELSE y": ["BETWEEN -1 AND 7", "NOT BETWEEN y AND n", "IN (1.5, 3, -0.0)", "NOT IN (0)"],
        "t WHEN x > 0 THEN u": ["BETWEEN 'A' AND u", "NOT BETWEEN t AND 'b'", "IN ('JFK', 'it''s')",
        "NOT IN ('a', 'b')", "LIKE 'a%b'", "NOT LIKE 'a!_%' ESCAPE '!'"],
        "'a' ELSE 'Z'": ["BETWEEN t AND 'b'"],
    }.items()
    for test in tests
]  # fmt: skip
#: A whole number compares with each constant by itself: exactly if that is whole, too.
CONDITIONS += [
    template.format(*pair)
    for template in ("n IN ({}, {})", "n NOT IN ({1}, {0})", "n BETWEEN {1} AND {0}",
    "n NOT BETWEEN {0} AND {1}", "{0} BETWEEN n AND {1}", "{0} BETWEEN {1} AND n")
    for pair in [("9007199254740993", "0.5"), ("9223372036854775807", "1e18"),
    ("9007199254740992", "x"), ("9007199254740993", "9007199254740993.0")]
    if "IN" not in template or "x" not in pair
]  # fmt: skip
DATED = [
    "YEAR(day)", "MONTH(day)", "DAY(day)", "WEEKDAY(day)", "YEAR(at)", "MONTH(at)", "DAY(at)",
    "WEEKDAY(at)", "HOUR(at)", "YEAR(zoned)", "DAY(zoned)", "HOUR(zoned)", "WEEKDAY(zoned)",
    "YEAR(day) * 100 + MONTH(day)", "amount", "amount * 2",
]  # fmt: skip
DATED_CONDITIONS = [
    "day = '2024-02-29'", "day >= '2000-03-01'", "day BETWEEN '1900-01-01' AND '1999-12-31'",
    "day IN ('2024-02-29', '0001-01-01')", "day IS NULL", "at < '1970-01-01'",
    "at = '2024-02-29 13:45:06.5'", "at >= '2024-10-27T01:30'", "at IS NOT NULL",
    "zoned >= '2024-02-29 15:45:06.500000+02:00'", "zoned < '2024-03-10'", "amount = 0.1",
    "MONTH(day) = 2 AND DAY(day) = 29", "amount > 1.005",
]  # fmt: skip
FILTERS = [
    "x > 0", "n = 9007199254740993", "t = 'abc'", "t <> u", "flag", "NOT flag", "x IS NULL",
    "x / y > 1 OR t LIKE 'a%'", "n IN (1, 2, 3) AND NOT (t = '' OR t IS NULL)",
    "x * y BETWEEN -1 AND 1",
    "LENGTH(t) > LENGTH(u)", "COALESCE(x, 0) >= 0", "CASE WHEN n > 2 THEN flag ELSE TRUE END",
    "FALSE", "TRUE", "1 = 1", "x = x", "t LIKE '%b%' AND LOWER(u) > 'a'",
    "LEAST(x, y) < 0 AND k <> 2",
    "GREATEST(n, m) >= 9007199254740992", "n BETWEEN -100 AND 100 AND FLOOR(x) = x",
    "ABS(x) > 1e300",
    "t IN ('日本', '😀', 'é') OR u = 'É'", "x - y <> 0", "NOT (x > 0 AND y > 0)", "k = 2",
]  # fmt: skip

# --- the judge ------------------------------------------------------------------------------------


def _number(value: Any) -> float | None:
    """A cell or a constant as an operand."""
    if value is None:
        return None
    value = float(value)
    return None if math.isnan(value) else 0.0 if abs(value) < 2.0**-1022 else value


def _rounded(exact: Fraction) -> float:
    if abs(exact) < Fraction(2) ** -1022:
        return 0.0
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _arithmetic(sign: str, a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    if sign == "-":
        return _arithmetic("+", a, -b)
    if math.isinf(a) or math.isinf(b) or (sign == "/" and b == 0):
        return _at_the_ends(sign, a, b)
    x, y = Fraction(a), Fraction(b)
    return _rounded(x + y if sign == "+" else x * y if sign == "*" else x / y)


def _at_the_ends(sign: str, a: float, b: float) -> float | None:
    if sign == "/":
        if b == 0:
            return None if a == 0 else math.copysign(math.inf, a)
        if math.isinf(b):
            return None if math.isinf(a) else 0.0
        return a if b > 0 else -a
    found = a + b if sign == "+" else a * b
    return None if math.isnan(found) else found


def judged(node: n.Node, row: Row) -> Any:
    """The value of an expression in a row."""
    match node:
        case n.Column():
            return _cell(row[node.name])
        case n.Number(value=float()):
            return _number(node.value)
        case n.Number() | n.Text() | n.Truth():
            return node.value
        case n.Null():
            return None
        case n.Negate():
            found = _number(judged(node.operand, row))
            return None if found is None else 0.0 - found
        case n.Arithmetic():
            left, right = _number(judged(node.left, row)), _number(judged(node.right, row))
            return _arithmetic(node.sign, left, right)
        case n.Case():
            results = (r for test, r in node.branches if judged(test, row) is True)
            return _result(judged(next(results, node.otherwise), row))
        case n.Call():
            return _call(node.name, [judged(each, row) for each in node.arguments])
        case n.Not():
            return _not(judged(node.operand, row))
        case n.All():
            found_ = [judged(each, row) for each in node.conditions]
            return False if False in found_ else None if None in found_ else True
        case n.Any():
            found_ = [judged(each, row) for each in node.conditions]
            return True if True in found_ else None if None in found_ else False
        case n.IsNull():
            return judged(node.operand, row) is None
        case n.Like():
            text = judged(node.operand, row)
            return None if text is None else _like(text, node.pattern)
        case n.Compare():
            return _compare(node.sign, judged(node.left, row), judged(node.right, row))
        case n.In():
            value = judged(node.operand, row)
            found_ = [_compare("=", value, judged(item, row)) for item in node.items]
            return True if True in found_ else None if None in found_ else False
    assert isinstance(node, n.Between)
    value = judged(node.operand, row)
    low = _compare(">=", value, judged(node.low, row))
    high = _compare("<=", value, judged(node.high, row))
    return False if False in (low, high) else None if None in (low, high) else True


def _cell(value: Any) -> Any:
    if isinstance(value, float | Decimal):
        return _number(value)
    if isinstance(value, str) and len(value.encode()) > 4096:
        return None
    return value


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _result(value: Any) -> Any:
    """A number that is a result is a double."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _compare(sign: str, a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    if isinstance(a, date) or isinstance(b, date):
        a, b = (_moment(each, a, b) for each in (a, b))
    elif isinstance(a, str):
        a, b = a.encode(), b.encode()
    elif isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
    order = (a > b) - (a < b)
    found: bool = {
        "=": order == 0, "<>": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0,
        ">=": order >= 0,
    }[sign]  # fmt: skip
    return found


def _moment(value: Any, *others: Any) -> Any:
    timed = any(isinstance(each, datetime) for each in others)
    if isinstance(value, str):
        value = datetime.fromisoformat(value) if timed else date.fromisoformat(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


def _like(text: str, pattern: str) -> bool:
    """By the definition: the first element of the pattern, and then the rest."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    if pattern[0] == "\\":
        pattern = pattern[1:]
    elif pattern[0] == "_":
        return bool(text) and _like(text[1:], pattern[1:])
    return text[:1] == pattern[0] and _like(text[1:], pattern[1:])


def _call(name: str, values: list[Any]) -> Any:
    if name == "COALESCE":
        return _result(next((v for v in values if v is not None), None))
    if name in ("LEAST", "GREATEST"):
        present = [x for x in map(_number, values) if x is not None]
        return (min if name == "LEAST" else max)(present) if present else None
    (value,) = values
    if value is None:
        return None
    if name == "LOWER":
        return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in value)
    if name == "LENGTH":
        return float(len(value))
    if name in ("ABS", "FLOOR"):
        number = _number(value)
        if name == "ABS" or number is None or math.isinf(number):
            return None if number is None else abs(number) if name == "ABS" else number
        return float(math.floor(number))
    return float({"WEEKDAY": value.isoweekday}[name]() if name == "WEEKDAY" else _part(name, value))


def _part(name: str, value: date) -> int:
    found: int = getattr(value, name.lower())
    return found


def elsewhere(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same instants, written in another time zone."""
    zone = timezone(timedelta(hours=-7))
    return [
        row | {"zoned": row["zoned"].astimezone(zone) if row["zoned"] else None} for row in found
    ]
