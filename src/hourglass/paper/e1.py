"""E1: the three Laplace algorithms where privacy is strong, epsilon 0.1 to 1."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

ALGORITHMS: Final = ("independent", "shifted", "laplace", "swap")
EPSILONS: Final = tuple(Fraction(i, 10) for i in range(1, 11))


def table(settings: Settings, tick: Tick) -> Table:
    """The error at a mean of 0.01 over epsilon."""
    return sweeps.over_epsilon(ALGORITHMS, EPSILONS, settings, tick)


def draw(table: Table) -> Figure:
    """Lines over epsilon."""
    return charts.over_epsilon(
        table, "Laplace algorithms, mean 0.01", log=False, close=("laplace", "swap")
    )


def claims(table: Table) -> tuple[Claim, ...]:
    """What the paper says of the transformed Laplace noise at small epsilon."""
    below = {p.x: p for p in table.series("laplace")}
    shifted = [p.over(below[p.x]) for p in table.series("shifted")]
    independent = [p.over(below[p.x]) for p in table.series("independent")]
    bound = {p.x: p for p in table.series(sweeps.BOUND)}
    to_bound = [below[x].over(bound[x]) for x in sorted(below)]
    return (
        Claim(
            "Transformed Laplace has half the error of shifted Laplace for ε ≤ 1.",
            f"shifted / transformed: {charts.spread(shifted)}",
            all(abs(p.y - 2) <= 0.02 + SIGMAS * p.se for p in shifted),
        ),
        Claim(
            "At a small mean it has a quarter of the error of independent Laplace.",
            f"independent / transformed: {charts.spread(independent)}",
            all(abs(p.y - 4) <= 0.1 + SIGMAS * p.se for p in independent),
        ),
        Claim(
            "It comes close to the lower bound as ε falls to 0.",
            f"transformed / bound: {to_bound[0].y:.3f} at ε = {to_bound[0].x:g}, "
            f"{to_bound[-1].y:.3f} at ε = {to_bound[-1].x:g}",
            all(abs(p.y - 1) <= 0.05 + SIGMAS * p.se for p in to_bound),
        ),
    )


EXHIBIT = Exhibit(
    "e1",
    "Strong privacy: the Laplace algorithms",
    "Error over ε for data of mean 0.01, in units of 2/(nε)². Crosses: the swap baseline, for "
    "which the number of records is public. The lower bound speaks of the worst mean; at mean "
    "0.01 an error may lie 2 % below it.",
    table,
    draw,
    claims,
)
