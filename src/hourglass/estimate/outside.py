"""The number and share of values outside the bounds, estimated from noisy counts.

A count has an exact interval, since the law of its noise does not depend on the data. A share
divides it by the noisy number of records, whose noise is independent. A twentieth of
1 - confidence is spent on the number of records, the rest on the count; both intervals hold
jointly with the given confidence, and so does that of the share.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ..core.exact import exact_number, to_double
from ..core.totals import NoisyTotals
from ..errors import OptionError, shown
from ..mechanisms.base import MeanMechanism
from ..mechanisms.count import reach_of
from .interval import Interval, check_confidence
from .point import count_reach

__all__ = ["count_ends", "share_of", "side_interval"]

#: The part of 1 - confidence that is spent on the number of records.
_ON_RECORDS: Final = Fraction(1, 20)


def count_ends(noisy: Any, epsilon: Fraction, confidence: float) -> tuple[Any, Any]:
    """The ends of the interval of a count, or of many: nonnegative integers."""
    return _within(noisy, reach_of(epsilon, _miss(confidence)))


def _miss(confidence: float) -> Fraction:
    check_confidence(confidence)
    return 1 - Fraction(exact_number(confidence) or 0)


def _within(noisy: Any, reach: int) -> tuple[Any, Any]:
    return np.maximum(noisy - reach, 0), np.maximum(noisy + reach, 0)


def share_of(noisy: int, totals: NoisyTotals) -> float:
    """The count divided by the number of records, from 0 to 1; NaN if that is not positive."""
    if totals.size <= 0:
        return math.nan
    return min(1.0, to_double(max(noisy, 0) / totals.size))


def side_interval(
    noisy: int,
    epsilon: Fraction,
    totals: NoisyTotals,
    mechanism: MeanMechanism,
    confidence: float,
    of: str,
) -> Interval:
    """The interval of "count" or "share"."""
    if of not in ("count", "share"):
        raise OptionError(f"of={shown(of)} is not one of count, share")
    if of == "count":
        low, high = count_ends(noisy, epsilon, confidence)
        return Interval(int(low), int(high), float(confidence), of)
    miss = _miss(confidence)
    low, high = _within(noisy, reach_of(epsilon, miss * (1 - _ON_RECORDS)))
    reach = Fraction(count_reach(mechanism, float(miss * _ON_RECORDS)))
    most, least = math.ceil(totals.size + reach), math.floor(totals.size - reach)
    ends = (
        float(Fraction(int(low), most)) if most > 0 else 0.0,
        min(1.0, float(Fraction(int(high), least))) if least > 0 else 1.0,
    )
    value = share_of(noisy, totals)
    held = ends if math.isnan(value) else (min(ends[0], value), max(ends[1], value))
    return Interval(min(held[0], 1.0), held[1], float(confidence), of, "valid")
