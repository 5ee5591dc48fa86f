"""Picture: the unit balls of the three Laplace algorithms in the plane of sum and count.

A ball contains the noise that is less likely than none by at most a factor of exp(-epsilon). It
must contain the changes of (sum, count) by one record, the two segments ±{(x, 1): 0 <= x <= 1}; the
smaller it is, the less noise.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from ..mechanisms.base import make
from .data import UNIT
from .exhibit import Claim, Exhibit, Point, Settings, Table, Tick
from .style import INK, LOOKS, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

NAMES: Final = ("independent", "shifted", "laplace")
EPSILON: Final = Fraction(1)


def table(settings: Settings, tick: Tick) -> Table:
    """The corners of each ball in order, from the laws that the algorithms sample."""
    points = []
    for name in NAMES:
        first, second = _half_axes(make(name, EPSILON, UNIT))
        corners = (first, second, _minus(first), _minus(second), first)
        points += [Point(name, float(x), float(y)) for x, y in corners]
        tick()
    return Table("sum", "count", tuple(points))


Corner = tuple[Fraction, Fraction]


def _half_axes(algorithm: Any) -> tuple[Corner, Corner]:
    """Where noise on only one of the two numbers is less likely by a factor of exp(-epsilon)."""
    G = UNIT.cells
    if algorithm.name == "laplace":  # on S and on G N - S
        reach = EPSILON / algorithm.law.rate / G
        return (reach, reach), (Fraction(0), reach)
    total = EPSILON / algorithm.sum_law.rate / (algorithm.parts * G)
    count = EPSILON / algorithm.count_law.rate
    # No noise on parts S + offset N while N moves by ``count``.
    return (total, Fraction(0)), (-algorithm.offset * count / (algorithm.parts * G), count)


def _minus(corner: Corner) -> Corner:
    return -corner[0], -corner[1]


def area(points: list[Point]) -> float:
    """The area of a polygon given by its corners, the first repeated at the end."""
    return abs(sum(a.x * b.y - b.x * a.y for a, b in itertools.pairwise(points))) / 2


def draw(table: Table) -> Figure:
    """The balls side by side, with the changes that a record can make."""
    drawn, axes = figure(7.6, 3.9, 3, sharex=True, sharey=True)
    for ax, name in zip(axes, NAMES, strict=True):
        look, corners = LOOKS[name], table.series(name)
        xs, ys = [p.x for p in corners], [p.y for p in corners]
        ax.fill(xs, ys, color=look.colour, alpha=0.28, linewidth=0)
        ax.plot(xs, ys, color=look.colour, linestyle=look.dash)
        for sign in (1, -1):
            ax.plot([0, sign], [sign, sign], color=INK, linewidth=2.6, solid_capstyle="butt")
        ax.set(title=f"{look.label}\narea {area(corners):g}", xlabel="change of the sum (records)")
        ax.set(aspect="equal", xlim=(-2.3, 2.3), ylim=(-2.3, 2.3))
        ax.set_xticks(range(-2, 3))
        ax.set_yticks(range(-2, 3))
    axes[0].set_ylabel("change of the count (records)")
    drawn.suptitle("What noise has to hide, for every ε and mean", x=0.01, ha="left", fontsize=10)
    axes[2].text(0.5, 1.15, "adding a record", ha="center", va="bottom")
    axes[2].text(-0.5, -1.15, "removing a record", ha="center", va="top")
    return drawn


def claims(table: Table) -> tuple[Claim, ...]:
    """Each step halves the ball, and the last is the least convex one."""
    areas = [area(table.series(name)) for name in NAMES]
    corners = {(p.x, p.y) for p in table.series("laplace")}
    return (
        Claim(
            "The transformed ball is the convex hull of what one record can do, a half of the "
            "shifted ball, a quarter of the independent one.",
            "areas " + ", ".join(f"{a:g}" for a in areas),
            areas == [8.0, 4.0, 2.0] and corners == {(1, 1), (0, 1), (-1, -1), (0, -1)},
        ),
    )


EXHIBIT = Exhibit(
    "balls",
    "Why the transformation helps, for every ε and mean",
    "The noise at most a factor e^-ε less likely than none, for values in [0, 1]. Black: what "
    "adding or removing one record does to sum and count, which the ball has to hold.",
    table,
    draw,
    claims,
)
