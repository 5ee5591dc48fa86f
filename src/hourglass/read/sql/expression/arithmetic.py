"""+ - * / and FLOOR on doubles: total, and the same bits on every engine.

Engines compute with doubles in the same way, but differ at the extremes: PostgreSQL raises an error
on overflow, underflow and division by zero, Spark on division by zero, and SQLite returns NULL for
it; -0.0 sorts below 0.0 on DataFusion, and SQLite does not store it. So comparisons handle the
extremes, in the same order everywhere:

- a result that would be NaN is NULL (0/0, infinity minus infinity, 0 times infinity);
- zero has no sign, and a nonzero number divided by zero is infinity with the sign of the number;
- overflow gives infinity;
- results closer to zero than 2^-1022 are zero: there are no subnormal numbers.

A formula refers to its operands as p.a and p.b, where p is :data:`PAIR`. Neither the operands nor
the result are NaN, -0.0 or subnormal. Each engine has a way to evaluate the operands once: see
:mod:`.words`.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from ..cells import double

__all__ = ["FORMULAS", "NAMES", "PAIR", "SCALARS", "VECTORS", "tidy"]

_TINY: Final = 2.0**-1022
_SHIFT: Final = 2.0**-513
_INF, _MINUS_INF, _ZERO, _ONE = map(double, (math.inf, -math.inf, 0.0, 1.0))

#: The name of the function for each operator.
NAMES: Final = {
    "+": "HOURGLASS_ADD",
    "-": "HOURGLASS_SUBTRACT",
    "*": "HOURGLASS_MULTIPLY",
    "/": "HOURGLASS_DIVIDE",
    "floor": "HOURGLASS_FLOOR",
}


def tidy(x: str) -> str:
    """A double as an operand: NaN is NULL, -0.0 and subnormal numbers are 0.0."""
    return (
        f"CASE WHEN ABS({x}) < {double(_TINY)} THEN {_ZERO} "
        f"WHEN {x} >= {_MINUS_INF} AND {x} <= {_INF} THEN {x} END"
    )


def _sum(sign: str, below: str, above: str) -> str:
    """a + b or a - b; ``above`` and ``below`` test that b does not cancel an infinite a."""
    half = f"p.a * {double(0.5)} {sign} p.b * {double(0.5)}"
    return (
        f"CASE WHEN p.a = {_INF} THEN CASE WHEN {above} THEN {_INF} END "
        f"WHEN p.a = {_MINUS_INF} THEN CASE WHEN {below} THEN {_MINUS_INF} END "
        f"WHEN {half} >= {double(2.0**1023)} THEN {_INF} "
        f"WHEN {half} <= {double(-(2.0**1023))} THEN {_MINUS_INF} "
        f"WHEN ABS(p.a {sign} p.b) < {double(_TINY)} THEN {_ZERO} ELSE p.a {sign} p.b END"
    )


#: Infinity with the sign of a product or a quotient; NULL if an operand is missing.
_SIGNED: Final = (
    f"CASE WHEN (p.a > {_ZERO}) = (p.b > {_ZERO}) THEN {_INF} "
    f"WHEN (p.a > {_ZERO}) <> (p.b > {_ZERO}) THEN {_MINUS_INF} END"
)
# If both factors are at least 1, the product scaled down by 2^-1026 neither overflows nor
# underflows, and is rounded like the product: it reaches 1/4 if and only if the product overflows.
_PRODUCT: Final = (
    f"CASE WHEN p.a = {_ZERO} OR p.b = {_ZERO} "
    f"THEN CASE WHEN ABS(p.a) < {_INF} AND ABS(p.b) < {_INF} THEN {_ZERO} END "
    f"WHEN ABS(p.b) < {_ONE} "
    f"THEN CASE WHEN ABS(p.a) < {double(_TINY)} / ABS(p.b) THEN {_ZERO} ELSE p.a * p.b END "
    f"WHEN ABS(p.a) <= {_ONE} THEN p.a * p.b "
    f"WHEN ABS((p.a * {double(_SHIFT)}) * (p.b * {double(_SHIFT)})) >= {double(0.25)} "
    f"THEN {_SIGNED} ELSE p.a * p.b END"
)
_QUOTIENT: Final = (
    f"CASE WHEN p.b = {_ZERO} "
    f"THEN CASE WHEN p.a > {_ZERO} THEN {_INF} WHEN p.a < {_ZERO} THEN {_MINUS_INF} END "
    f"WHEN p.a = {_ZERO} THEN CASE WHEN ABS(p.b) <= {_INF} THEN {_ZERO} END "
    f"WHEN ABS(p.b) = {_INF} THEN CASE WHEN ABS(p.a) < {_INF} THEN {_ZERO} END "
    f"WHEN ABS(p.a) = {_INF} THEN {_SIGNED} "
    f"WHEN ABS(p.b) >= {_ONE} "
    f"THEN CASE WHEN ABS(p.a) < {double(_TINY)} * ABS(p.b) THEN {_ZERO} ELSE p.a / p.b END "
    f"WHEN ABS(p.a) <= {_ONE} THEN p.a / p.b "
    f"WHEN ABS((p.a * {double(_SHIFT)}) / (p.b * {double(1 / _SHIFT)})) >= {double(0.25)} "
    f"THEN {_SIGNED} ELSE p.a / p.b END"
)
# From 2^52 on every double is whole; Spark's FLOOR returns a 64-bit integer.
_FLOOR: Final = (
    f"CASE WHEN ABS(p.a) < {double(2.0**52)} THEN CAST(FLOOR(p.a) AS DOUBLE) ELSE p.a END"
)
_BY_OPERATOR: Final = {
    "+": _sum("+", f"p.b < {_INF}", f"p.b > {_MINUS_INF}"),
    "-": _sum("-", f"p.b > {_MINUS_INF}", f"p.b < {_INF}"),
    "*": _PRODUCT,
    "/": _QUOTIENT,
    "floor": _FLOOR,
}
#: The name that qualifies the operands in a formula; no column of a question may have it.
PAIR: Final = "hourglass_pair"
#: The operators as SQL in DuckDB's dialect.
FORMULAS: Final = {
    operator: re.sub(r"\bp[.]", f"{PAIR}.", formula) for operator, formula in _BY_OPERATOR.items()
}


# --- the same in Python, for SQLite ---------------------------------------------------------------


def _tidied(x: float) -> float | None:
    return None if x != x else 0.0 if abs(x) < _TINY else x


def _add(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else _tidied(a + b)


def _subtract(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else _tidied(a - b)


def _multiply(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    if 0.0 < abs(b) < 1.0 and abs(a) < _TINY / abs(b):
        return 0.0
    return _tidied(a * b)


def _divide(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    if b == 0.0:
        return math.copysign(math.inf, a) if a else None
    if 1.0 <= abs(b) < math.inf and abs(a) < _TINY * abs(b):
        return 0.0
    return _tidied(a / b)


def _floor(a: float | None) -> float | None:
    return a if a is None or math.isinf(a) else float(math.floor(a))


#: By the name of the function, with the number of its operands.
SCALARS: Final[dict[str, tuple[int, Any]]] = {
    "HOURGLASS_ADD": (2, _add),
    "HOURGLASS_SUBTRACT": (2, _subtract),
    "HOURGLASS_MULTIPLY": (2, _multiply),
    "HOURGLASS_DIVIDE": (2, _divide),
    "HOURGLASS_FLOOR": (1, _floor),
}


# --- the same on arrays, NaN for NULL, for DataFusion ---------------------------------------------


def _tidy_array(x: Any) -> Any:
    return np.where(np.abs(x) < _TINY, 0.0, x)


def _multiply_arrays(a: Any, b: Any) -> Any:
    small = (b != 0.0) & (np.abs(b) < 1.0) & (np.abs(a) < _TINY / np.abs(b))
    return _tidy_array(np.where(small, np.where(np.isnan(a), a, 0.0), a * b))


def _divide_arrays(a: Any, b: Any) -> Any:
    sign = np.where(a > 0.0, np.inf, np.where(a < 0.0, -np.inf, np.nan))
    small = (np.abs(b) >= 1.0) & np.isfinite(b) & (np.abs(a) < _TINY * np.abs(b))
    found = np.where(small, 0.0, a / b)
    return _tidy_array(np.where(b == 0.0, sign, found))


#: By the name of the function, with the number of its operands.
VECTORS: Final[dict[str, tuple[int, Any]]] = {
    "HOURGLASS_ADD": (2, lambda a, b: _tidy_array(a + b)),
    "HOURGLASS_SUBTRACT": (2, lambda a, b: _tidy_array(a - b)),
    "HOURGLASS_MULTIPLY": (2, _multiply_arrays),
    "HOURGLASS_DIVIDE": (2, _divide_arrays),
    "HOURGLASS_FLOOR": (1, np.floor),
}
