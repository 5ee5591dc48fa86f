"""Expected errors of answers in closed form, without data.

Errors are those of the noise, to leading order in one over the number of records: exact in the
limit, and within a few per cent once n * epsilon is above about 20. They do not include clamping or
sampling error; :func:`plan` can include sampling error.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..core.exact import MAX_EPSILON, MIN_EPSILON, exact_epsilon, exact_share, to_double
from ..core.limits import DEFAULT_GRID, Bounds, Grid, one_or_more
from ..errors import OptionError, one_of, shown
from ..mechanisms.base import ALGORITHMS, MeanMechanism, make
from ..mechanisms.spread import FINEST
from ..noise.box import MOST_COLUMNS
from .point import error_at, leading_of, position
from .population import margin

__all__ = ["Plan", "compare", "expected_error", "gamma", "leading_error", "plan", "sigma2"]


def __dir__() -> list[str]:
    """The public names alone, for completion in notebooks."""
    return [*__all__]


def sigma2(epsilon: Any) -> float:
    """The least possible worst-case n^2 MSE / width^2 for real values (the paper's bound).

    (2^(-2/3) b^(2/3) (1+b)^(2/3) + b) / (1-b)^2 with b = exp(-epsilon).  [H8]
    """
    e = float(exact_epsilon(epsilon))
    b = math.exp(-e)
    return (math.pow(b * (1 + b) / 2, 2 / 3) + b) / math.expm1(-e) ** 2


def gamma(epsilon: Any) -> float:
    """The half-width of the optimal centre stair, as a share of a record.

    -beta + (beta (1+beta) (1+2 beta) / 2)^(1/3) with beta = b/(1-b): the form of
    Geng-Viswanath 2014, eq. 50, that the proof arrives at.
    """
    beta = 1 / math.expm1(float(exact_epsilon(epsilon)))
    # The cube root minus beta, without cancellation for large beta.
    excess = (3 * beta**2 + beta) / 2
    root = math.cbrt(beta**3 + excess)
    return excess / (root**2 + root * beta + beta**2)


def leading_error(
    epsilon: Any,
    *,
    algorithm: str = "hourglass",
    mean: float | None = None,
    bounds: Any = (0.0, 1.0),
    grid: int | None = None,
    columns: int = 1,
    spread: bool = False,
    outside: Any = None,
) -> float:
    """n^2 MSE / width^2 for large n, at a mean given in the units of the bounds.

    ``columns`` is the number of columns asked for together; the error is that of each of them.
    ``spread`` and ``outside`` are those of :func:`hourglass.mean`. Without a mean, the worst over
    all means. ``grid`` is 2^32 by default; give upper - lower of integer bounds for a column of
    integers. Otherwise the bounds matter only for "independent".
    """
    asked = _mechanism(algorithm, epsilon, bounds, grid, columns, spread, outside)
    return float(leading_of(asked, mean))


def expected_error(
    records: int,
    bounds: Any,
    epsilon: Any,
    *,
    algorithm: str = "hourglass",
    mean: float | None = None,
    grid: int | None = None,
    columns: int = 1,
    spread: bool = False,
    outside: Any = None,
) -> float:
    """The root mean squared error of a private mean, in the units of the data.

    ``columns`` is the number of columns asked for together; ``spread`` and ``outside`` are those of
    :func:`hourglass.mean`. The error is at most the width of the bounds, since no estimate is
    further off.
    """
    asked = _mechanism(algorithm, epsilon, bounds, grid, columns, spread, outside)
    return error_at(asked, records, mean)


def compare(
    records: int, bounds: Any, epsilon: Any, *, mean: float | None = None, grid: int | None = None
) -> dict[str, float]:
    """The expected error of every algorithm by name, the smallest first."""
    errors = {
        name: expected_error(records, bounds, epsilon, algorithm=name, mean=mean, grid=grid)
        for name in ALGORITHMS
    }
    return dict(sorted(errors.items(), key=lambda item: item[1]))


def _mechanism(
    algorithm: str,
    epsilon: Any,
    bounds: Any,
    cells: int | None,
    columns: int,
    spread: bool = False,
    outside: Any = None,
) -> MeanMechanism:
    """The mechanism of one of ``columns`` columns on the same grid, asked for together."""
    exact, grid = exact_epsilon(epsilon), _cut(bounds, cells, spread)
    if outside is not None:
        exact *= 1 - exact_share(outside)
    if spread:
        if columns != 1:
            raise OptionError("spread=True works only with one column; leave out columns=")
        one_of("algorithm", algorithm, ("hourglass",))
        triangle: MeanMechanism = make(algorithm, exact, grid, "spread")
        return triangle
    whole = isinstance(columns, int) and not isinstance(columns, bool)
    if not whole or not 1 <= columns <= MOST_COLUMNS:
        raise OptionError(
            f"columns={shown(columns)} is not a whole number from 1 to {MOST_COLUMNS}, the most "
            "columns in one question"
        )
    if columns == 1:
        return make(algorithm, exact, grid)
    one_of("algorithm", algorithm, ("hourglass",))
    found: MeanMechanism = make(algorithm, exact, (grid,) * columns, "columns").column(0)
    return found


def _cut(bounds: Any, cells: int | None, spread: bool = False) -> Grid:
    """The grid; that of a column of integers if it is upper - lower of integer bounds."""
    range_, finest = Bounds.of(bounds), FINEST if spread else DEFAULT_GRID
    whole = cells is not None and cells == range_.width
    return Grid.choose(range_, cells, integers=whole, finest=finest)


@dataclass(frozen=True)
class Plan:
    """A plan: ``records`` records and ``epsilon`` give ``error``.

    The error is the root mean squared error of the mean or, with ``population``, the margin of the
    interval for the population's mean, on its longer side.
    """

    epsilon: Fraction
    records: int
    error: float
    bounds: Bounds
    algorithm: str
    population: bool = False


def plan(
    bounds: Any,
    error: float,
    *,
    epsilon: Any = None,
    records: int | None = None,
    algorithm: str = "hourglass",
    mean: float | None = None,
    grid: int | None = None,
    columns: int = 1,
    spread: bool = False,
    outside: Any = None,
    population: bool = False,
    confidence: float = 0.95,
) -> Plan:
    """The epsilon or the number of records that a given error needs; give the other one.

    ``columns`` is the number of columns asked for together; ``spread`` and ``outside`` are those
    of :func:`hourglass.mean`. Epsilon is rounded up to three digits, so that the error is met.

    With ``population``, ``error`` is the margin of ``interval(confidence, of="population")``: the
    mean of the population that the records are a random sample of. It is computed from the bounds
    only, and with ``grid=1`` for yes/no data.
    """
    if (epsilon is None) == (records is None):
        raise OptionError("plan needs one of epsilon= and records=, and finds the other")
    if not (isinstance(error, int | float) and 0 < error < math.inf):
        raise OptionError(f"error={shown(error)} is not a positive number in the units of the data")
    if spread and population:
        raise OptionError(
            "population=True uses the bounds only; leave out spread=, whose interval for the "
            "population depends on the data"
        )
    range_ = Bounds.of(bounds)
    if error >= range_.width:
        raise OptionError(
            f"error={shown(error)} is not below the width of the bounds; give a smaller error"
        )

    def reached(eps: Fraction, n: int) -> float:
        mechanism = _mechanism(algorithm, eps, range_, grid, columns, spread, outside)
        if population:
            place = None if mean is None else float(position(mechanism.grid, mean))
            return margin(mechanism, n, place, confidence)
        return error_at(mechanism, n, mean)

    if epsilon is not None and population:
        exact = exact_epsilon(epsilon)
        slack = to_double(_cut(range_, grid).slack)
        if slack >= 0.9 * error:
            raise OptionError(
                f"error={shown(error)} is below the rounding to grid={grid}; give a finer grid"
            )
        records = _least_records(
            lambda n: bool(reached(exact, n) <= error), error - slack, to_double(range_.width)
        )
    elif epsilon is not None:
        exact = exact_epsilon(epsilon)
        lead = leading_error(
            exact, algorithm=algorithm, mean=mean, bounds=range_, grid=grid, columns=columns,
            spread=spread, outside=outside,
        )  # fmt: skip
        records = math.ceil(to_double(range_.width) * math.sqrt(lead) / error)
    else:
        assert records is not None
        one_or_more("records", records)
        exact = _least_epsilon(lambda eps: reached(eps, records) <= error, error, records)
    return Plan(exact, records, reached(exact, records), range_, algorithm, population)


def _least_records(enough: Any, error: float, width: float) -> int:
    """Double from what sampling alone needs until it is enough, then bisect, to three digits."""
    low, high = 1, max(2, math.ceil((width / error) ** 2 / 8))
    while not enough(high):
        low, high = high, 2 * high
    while high - low > max(1, high // 1000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _least_epsilon(enough: Any, error: float, records: int) -> Fraction:
    """Bisect on decimals of three digits; the error decreases in epsilon."""
    candidates = [
        Fraction(digits) * Fraction(10) ** (power - 2)
        for power in range(-6, 3)
        for digits in range(100, 1000)
        if MIN_EPSILON <= Fraction(digits) * Fraction(10) ** (power - 2) <= MAX_EPSILON
    ]
    place = bisect_left(candidates, True, key=enough)
    if place == len(candidates):
        raise OptionError(
            f"error={shown(error)} cannot be reached with {records} records at any epsilon up to "
            f"{MAX_EPSILON}; ask for a larger error or more records"
        )
    return candidates[place]
