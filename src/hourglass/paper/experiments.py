"""The paper's experiments, E1 to E8, in one table: what is swept, drawn and claimed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from . import charts, claims, sweeps
from .claims import Judge
from .exhibit import Claim, Exhibit, Settings, Table, Tick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENTS"]

LAPLACE: Final = ("independent", "shifted", "laplace")
STAIRCASES: Final = ("staircase", "hourglass")
#: Rare draws make up much of the error at large epsilon, so there are more runs than in the paper.
RARE: Final = 10

#: E6 and E8 show ratios of the numbers of E5 and E7, so these are cached.
_small_laplace = lru_cache(maxsize=1)(
    partial(sweeps.over_records, (*LAPLACE, sweeps.BASELINE), Fraction(1))
)
_small_staircases = lru_cache(maxsize=1)(partial(sweeps.over_records, STAIRCASES, Fraction(4)))


def _experiment(
    name: str,
    title: str,
    caption: str,
    table: Callable[[Settings, Tick], Table],
    draw: Callable[[Table], Figure],
    *judges: Judge,
    measured_with: str = "",
) -> Exhibit:
    def judged(table: Table) -> tuple[Claim, ...]:
        return tuple(judge(table) for judge in judges)

    return Exhibit(name, title, caption, table, draw, judged, measured_with=measured_with)


EXPERIMENTS: Final = (
    _experiment(
        "e1",
        "Strong privacy, ε = 0.1 to 1, mean 0.01: the Laplace algorithms",
        "Error over ε for data of mean 0.01, in units of 2/(nε)². Crosses: the swap baseline, for "
        "which the number of records is public. The lower bound speaks of the worst mean; at mean "
        "0.01 an error may lie 2 % below it.",
        partial(
            sweeps.over_epsilon, (*LAPLACE, "swap"), [Fraction(i, 10) for i in range(1, 11)]
        ),
        partial(
            charts.over_epsilon,
            title="Laplace algorithms, ε ≤ 1, mean 0.01",
            log=False,
            close=("laplace", "swap"),
        ),
        claims.ratio(
            "Transformed Laplace has half the error of shifted Laplace for ε ≤ 1.",
            "shifted", "laplace", claims.about(2, 0.02),
        ),
        claims.ratio(
            "At a small mean it has a quarter of the error of independent Laplace.",
            "independent", "laplace", claims.about(4, 0.1),
        ),
        claims.near_the_bound,
    ),
    _experiment(
        "e2",
        "Strong privacy, ε = 1, means from 0 to 1",
        "Error over the mean at ε = 1, in units of 2/(nε)². Left: the same close to zero, where "
        "the data sum to a few records and clipping the estimate to the range removes error.",
        partial(sweeps.over_means, LAPLACE, Fraction(1)),
        partial(
            charts.over_means,
            title="Laplace algorithms, ε = 1, means 0 to 1",
            ticks=(0.25, 0.5, 1, 2, 4, 8),
        ),
        claims.ratio(
            "Transformed Laplace has half the error of shifted Laplace at every mean.",
            "shifted", "laplace", claims.about(2, 0.02), means=(0.01, 0.99),
        ),
        claims.ratio(
            "Independent Laplace is worse than either at every mean.",
            "independent", "laplace", claims.above(2),
        ),
        claims.m_shape("laplace"),
    ),
    _experiment(
        "e3",
        "Weak privacy, ε = 1 to 10, mean 0.01: staircase and hourglass",
        "Error over ε for data of mean 0.01, in units of 2/(nε)². Crosses: the swap baseline, for "
        "which the number of records is public. Hourglass points lie on the lower bound (2 % below "
        "it, as 0.01 is not the worst mean).",
        partial(
            sweeps.over_epsilon,
            (*STAIRCASES, "swap"),
            [Fraction(i) for i in range(1, 11)],
            times=RARE,
        ),
        partial(
            charts.over_epsilon,
            title="Staircase and hourglass, ε ≥ 1, mean 0.01",
            log=True,
            close=("hourglass", "swap"),
        ),
        claims.meets_the_bound,
        claims.ratio(
            "Not knowing the number of records costs nothing against the swap baseline.",
            "hourglass", "swap", claims.at_most(1),
        ),
        claims.falls_behind,
        claims.rates,
    ),
    _experiment(
        "e4",
        "Weak privacy, ε = 4, means from 0 to 1",
        "Error over the mean at ε = 4, in units of 2/(nε)². Left: the same close to zero, where "
        "the data sum to a few records and clipping the estimate to the range removes error.",
        partial(sweeps.over_means, STAIRCASES, Fraction(4), times=RARE),
        partial(charts.over_means, title="Staircase and hourglass, ε = 4, means 0 to 1"),
        claims.m_shape("staircase"),
        claims.m_shape("hourglass"),
        claims.under_the_bound,
        claims.ratio(
            "Hourglass beats the 2-d staircase at every mean.",
            "staircase", "hourglass", claims.above(1),
        ),
    ),
    _experiment(
        "e5",
        "Small data, ε = 1, mean 0.01: the Laplace algorithms",
        "Mean squared error times ε²/2 over the number of records, at ε = 1, data of mean 0.01, a "
        "fresh data set in every run. Black: the paper's lower-bound curve, the staircase with a "
        "public number of records, clipped like the others. For few records it is no bound: "
        "clipping gains more where the count is noisy too.",
        _small_laplace,
        partial(charts.over_records, title="Laplace algorithms on small data, ε = 1, mean 0.01"),
        claims.best_from_two,
        claims.only_transformed_converges,
    ),
    _experiment(
        "e6",
        "Small data, ε = 1, mean 0.01: how much the transformed noise saves",
        "The errors of the figure before, over that of transformed Laplace.",
        partial(sweeps.ratios_of, _small_laplace, "laplace"),
        partial(
            charts.over_records,
            title="Small data, ε = 1, mean 0.01: error / transformed Laplace",
            ratio=True,
        ),
        claims.twice_from_sixteen,
        measured_with="e5",
    ),
    _experiment(
        "e7",
        "Small data, ε = 4, mean 0.01: staircase and hourglass",
        "Mean squared error times ε²/2 over the number of records, at ε = 4, data of mean 0.01, a "
        "fresh data set in every run.",
        _small_staircases,
        partial(
            charts.over_records, title="Staircase and hourglass on small data, ε = 4, mean 0.01"
        ),
    ),
    _experiment(
        "e8",
        "Small data, ε = 4, mean 0.01: how much the hourglass saves",
        "The staircase's error of the figure before, over the hourglass's.",
        partial(sweeps.ratios_of, _small_staircases, "hourglass"),
        partial(
            charts.over_records,
            title="Small data, ε = 4, mean 0.01: error / hourglass",
            ratio=True,
        ),
        claims.wins_at_every_size,
        measured_with="e7",
    ),
)  # fmt: skip
