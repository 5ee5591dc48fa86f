"""The sweeps that the experiments share: over epsilon, over the mean, over the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

from ..estimate.accuracy import sigma2
from ..estimate.point import leading_of
from ..mechanisms.base import make
from .data import UNIT, data_set, data_sets
from .exhibit import Point, Settings, Table, Tick
from .measure import measure

__all__ = [
    "BASELINE", "BOUND", "SMALL_MEAN", "over_epsilon", "over_means", "over_records", "ratios",
    "ratios_of",
]  # fmt: skip

#: The mean of the paper's data, if the mean is not swept.
SMALL_MEAN: Final = 0.01
#: The series of the lower bound.
BOUND: Final = "lower bound"
#: The univariate staircase with a public number of records: the paper's measured lower-bound curve.
BASELINE: Final = "swap"

SIZES: Final = tuple(2**i for i in range(7))


def over_epsilon(
    names: Sequence[str],
    epsilons: Sequence[Fraction],
    settings: Settings,
    tick: Tick,
    *,
    times: int = 1,
) -> Table:
    """n^2 MSE eps^2/2 at a small mean; a data set per epsilon, the same for all algorithms."""
    sweep = [(float(epsilon), epsilon, SMALL_MEAN) for epsilon in epsilons]
    return Table("epsilon", "normalised_mse", _large(names, sweep, settings.times(times), tick))


def over_means(
    names: Sequence[str], epsilon: Fraction, settings: Settings, tick: Tick, *, times: int = 1
) -> Table:
    """n^2 MSE eps^2/2 over the mean; a data set per mean, the same for all algorithms."""
    sweep = [(mean, epsilon, mean) for mean in means(settings.records)]
    return Table("mean", "normalised_mse", _large(names, sweep, settings.times(times), tick))


def means(records: int) -> list[float]:
    """0 to 1 in twentieths, and denser at both ends, where the sum is a few records.

    In increasing order and each once, since with few records the two sets overlap.
    """
    edge = [k / records for k in (0.25, 0.5, 1, 2, 4, 8)]
    inner = [0.01, *(i / 20 for i in range(1, 20)), 0.99]
    return sorted({0.0, *edge, *inner, *(1.0 - mean for mean in edge), 1.0})


def _large(
    names: Sequence[str],
    sweep: Iterable[tuple[float, Fraction, float]],
    settings: Settings,
    tick: Tick,
) -> tuple[Point, ...]:
    """The errors and the lower bound at each (x, epsilon, mean)."""
    points = []
    for x, epsilon, mean in sweep:
        data = data_set(mean, settings.records, settings.bits)
        unit = float(epsilon) ** 2 / 2
        for name, mechanism, lead in _algorithms(names, epsilon, data.mean, settings):
            error = measure(mechanism, data, settings)
            points.append(error.point(name, x, settings.records**2 * unit, lead * unit))
            tick()
        bound = sigma2(epsilon) * unit
        points.append(Point(BOUND, x, bound, closed_form=bound))
    return tuple(points)


def _algorithms(
    names: Sequence[str], epsilon: Fraction, mean: float, settings: Settings
) -> Iterator[tuple[str, Any, float]]:
    """Each algorithm by name with its leading n^2 MSE at that mean: ours, then the user's own."""
    for name in names:
        mechanism = make(name, epsilon, UNIT)
        yield name, mechanism, float(leading_of(mechanism, mean))
    for own in settings.own:
        mechanism = own.make(epsilon, UNIT)
        yield own.name, mechanism, own.lead(mechanism, mean)


def over_records(names: Sequence[str], epsilon: Fraction, settings: Settings, tick: Tick) -> Table:
    """MSE eps^2/2 over |D| = 2^0..2^6 at a small mean; a fresh data set in every run."""
    points = []
    unit = float(epsilon) ** 2 / 2
    for records in SIZES:
        data = data_sets(SMALL_MEAN, records, settings.runs, settings.bits)
        for name, mechanism, lead in _algorithms(names, epsilon, SMALL_MEAN, settings):
            error = measure(mechanism, data, settings)
            points.append(error.point(name, records, unit, lead / records**2 * unit))
            tick()
    return Table("records", "mse_times_half_epsilon_squared", tuple(points))


def ratios_of(
    measured: Callable[[Settings, Tick], Table], below: str, settings: Settings, tick: Tick
) -> Table:
    """The ratios of the values of another experiment."""
    return ratios(measured(settings, tick), below)


def ratios(table: Table, below: str) -> Table:
    """Every series of a table divided by one of them, except the swap baseline."""
    points = tuple(
        point.over(table.at(below, point.x))
        for name in table.series_names()
        if name not in (below, BASELINE)
        for point in table.series(name)
    )
    return Table(table.x, "ratio_of_mse", points)
