"""E3: two-dimensional staircase and hourglass where privacy is weak, epsilon 1 to 10."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from . import charts, sweeps
from .exhibit import SIGMAS, Claim, Exhibit, Settings, Table, Tick

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

#: Rare draws make up much of the error at large epsilon: more runs than the paper's.
RUNS: Final = 10
ALGORITHMS: Final = ("staircase", "hourglass", "swap")
EPSILONS: Final = tuple(Fraction(i) for i in range(1, 11))


def table(settings: Settings, tick: Tick) -> Table:
    """The error at a mean of 0.01 over epsilon."""
    return sweeps.over_epsilon(ALGORITHMS, EPSILONS, settings.times(RUNS), tick)


def draw(table: Table) -> Figure:
    """Lines over epsilon, the error on a log scale."""
    return charts.over_epsilon(
        table, "Staircase and hourglass, mean 0.01", log=True, close=("hourglass", "swap")
    )


def claims(table: Table) -> tuple[Claim, ...]:
    """The hourglass meets the bound; the staircase falls behind."""
    hourglass = table.series("hourglass")
    to_swap = [p.over(table.at("swap", p.x)) for p in hourglass]
    ratio = {p.x: p.over(table.at("hourglass", p.x)) for p in table.series("staircase")}
    return (
        Claim(
            "Hourglass meets the lower bound for every ε: its error at mean a is the bound times "
            "(1-a)² + a², which is the bound itself at the worst mean.",
            f"furthest of {len(hourglass)} points from that: {charts.furthest(hourglass):.1f} "
            f"standard errors, {_largest_gap(table):.1%}",
            charts.furthest(hourglass) <= SIGMAS,
        ),
        Claim(
            "Not knowing the number of records costs nothing against the swap baseline.",
            f"hourglass / swap: {charts.spread(to_swap)}",
            all(p.y <= 1 + SIGMAS * p.se for p in to_swap),
        ),
        Claim(
            "The 2-d staircase is worse than the hourglass, the more so the larger ε.",
            ", ".join(f"{ratio[e].y:.2f} at ε = {e:g}" for e in (1, 4, 8, 10)),
            all(abs(p.deviation) <= SIGMAS for p in ratio.values())
            and ratio[1].y < ratio[4].y < ratio[8].y < ratio[10].y,
        ),
        _rates(table),
    )


def _largest_gap(table: Table) -> float:
    return max(abs(p.y / p.closed_form - 1) for p in table.series("hourglass"))


def _rates(table: Table) -> Claim:
    """The fall of log MSE per unit of epsilon between 8 and 10, on its way to the limit."""
    slopes, errors = {}, {}
    for name in ("hourglass", "staircase"):
        first, last = table.at(name, 8), table.at(name, 10)
        slopes[name] = math.log(first.y / 8**2 / (last.y / 10**2)) / 2
        errors[name] = math.hypot(first.se / first.y, last.se / last.y) / 2
    near = (abs(slopes["hourglass"] - 2 / 3), abs(slopes["staircase"] - 1 / 2))
    return Claim(
        "For large ε the error falls as e^(-2ε/3) with hourglass, as e^(-ε/2) with the staircase.",
        f"exponents between ε = 8 and 10: {slopes['hourglass']:.3f} and "
        f"{slopes['staircase']:.3f} (limits 0.667 and 0.500)",
        all(gap <= 0.06 + SIGMAS * se for gap, se in zip(near, errors.values(), strict=True)),
    )


EXHIBIT = Exhibit(
    "e3",
    "Weak privacy: staircase and hourglass",
    "Error over ε for data of mean 0.01, in units of 2/(nε)². Crosses: the swap baseline, for "
    "which the number of records is public. Hourglass points lie on the lower bound (2 % below "
    "it, as 0.01 is not the worst mean).",
    table,
    draw,
    claims,
)
