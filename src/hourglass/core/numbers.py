"""Privacy parameters as exact numbers, so that exactly what is used is charged."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any, Final

import numpy as np

from ..errors import EpsilonError, shown

__all__ = [
    "MAX_EPSILON",
    "MIN_EPSILON",
    "Exact",
    "exact_delta",
    "exact_epsilon",
    "exact_number",
    "exact_rate",
]

#: The types that an exact number may be given as; a float means the decimal that it prints as.
Exact = int | float | str | Fraction | Decimal

#: Below this the noise exceeds the signal of any dataset that fits on a disk.
MIN_EPSILON: Final = Fraction(1, 1_000_000)
#: Above this a release offers practically no protection.
MAX_EPSILON: Final = Fraction(100)

#: Beyond this exponent a decimal's exact value would fill the memory; doubles end at 308.
_MAX_EXPONENT: Final = 400


def exact_number(value: Any) -> Fraction | None:
    """The rational that ``value`` means, or None if it means none.

    An int, Fraction or Decimal means itself, text the decimal (or ratio) that it denotes, and a
    float the decimal that it prints as: 0.1 is 1/10, not the nearest double. A boolean is not a
    number here.
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, np.generic):
        value = value.item() if isinstance(value, np.integer) else str(value)
    if isinstance(value, float):
        value = repr(value)
    try:
        if isinstance(value, str):
            value = Fraction(value) if "/" in value else Decimal(value)
        if isinstance(value, Decimal) and abs(value.adjusted()) > _MAX_EXPONENT:
            return None
        if isinstance(value, Rational | Decimal):
            return Fraction(value)
    except (ValueError, ArithmeticError, InvalidOperation):
        return None
    return None


def exact_epsilon(value: Any) -> Fraction:
    """Epsilon as an exact rational in [1e-6, 100]; otherwise raises an EpsilonError."""
    if value is None:
        raise EpsilonError(
            "epsilon is missing; give the privacy parameter, such as epsilon=1 (smaller is more "
            "private)"
        )
    epsilon = exact_number(value)
    if epsilon is None:
        raise EpsilonError(
            f"epsilon={shown(value)} is not a number; give a positive number such as 1, 0.1 or "
            "'1/10'"
        )
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise EpsilonError(
            f"epsilon={shown(value)} is outside [{MIN_EPSILON}, {MAX_EPSILON}]; "
            "useful values lie between 0.01 and 10, and smaller is more private"
        )
    return epsilon


def exact_delta(value: Any) -> Fraction:
    """Delta as an exact rational in (0, 1); otherwise raises an EpsilonError."""
    delta = exact_number(value)
    if delta is None or not 0 < delta < 1:
        raise EpsilonError(
            f"delta={shown(value)} is not a number between 0 and 1 (both excluded); "
            "choose it far below one over the number of people, such as 1e-9"
        )
    return delta


def exact_rate(value: Any) -> Fraction:
    """The decay of a law per integer step, any exact positive number."""
    rate = exact_number(value)
    if rate is None or rate <= 0:
        raise EpsilonError(f"rate={shown(value)} is not a positive number")
    return rate
