"""How the claims of the experiments are judged: one function of the table per claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .exhibit import SIGMAS, Claim, Point, Table, all_above, furthest, largest_error, spread
from .style import LOOKS
from .sweeps import BASELINE, BOUND

__all__ = [
    "Judge", "about", "above", "at_most", "best_from_two", "falls_behind", "m_shape",
    "meets_the_bound", "near_the_bound", "only_transformed_converges", "rates", "ratio",
    "twice_from_sixteen", "under_the_bound", "wins_at_every_size",
]  # fmt: skip

Judge = Callable[[Table], Claim]
Holds = Callable[[Sequence[Point]], bool | None]

#: The transformed Laplace noise is "laplace" in the tables.
_WORDS = {"laplace": "transformed"}


def _over(table: Table, top: str, below: str) -> list[Point]:
    return [p.over(table.at(below, p.x)) for p in table.series(top)]


def ratio(text: str, top: str, below: str, holds: Holds, *, means: tuple[float, ...] = ()) -> Judge:
    """A claim about the ratio of two errors; ``means`` are the first and the last covered."""

    def judge(table: Table) -> Claim:
        points = [p for p in _over(table, top, below) if not means or means[0] <= p.x <= means[1]]
        where = f", means {means[0]:g} to {means[1]:g}" if means else ""
        names = f"{_WORDS.get(top, top)} / {_WORDS.get(below, below)}"
        return Claim(text, f"{names}{where}: {spread(points)}", holds(points))

    return judge


def about(value: float, slack: float) -> Holds:
    """Every point is about ``value``, to within ``slack`` and chance."""
    return lambda points: all(abs(p.y - value) <= slack + SIGMAS * p.se for p in points)


def at_most(value: float) -> Holds:
    """No point is above ``value``, beyond chance."""
    return lambda points: all(p.y <= value + SIGMAS * p.se for p in points)


def above(value: float) -> Holds:
    """Every point is above ``value``, beyond chance."""
    return lambda points: all_above(points, value)


def near_the_bound(table: Table) -> Claim:
    """Transformed Laplace noise for small epsilon."""
    points = _over(table, "laplace", BOUND)
    return Claim(
        "It comes close to the lower bound as ε falls to 0.",
        f"transformed / bound: {points[0].y:.3f} at ε = {points[0].x:g}, "
        f"{points[-1].y:.3f} at ε = {points[-1].x:g} ({largest_error([points[0], points[-1]])})",
        all(abs(p.y - 1) <= 0.05 + SIGMAS * p.se for p in points),
    )


def meets_the_bound(table: Table) -> Claim:
    """The hourglass over epsilon."""
    hourglass = table.series("hourglass")
    gap = max(abs(p.y / p.closed_form - 1) for p in hourglass)
    return Claim(
        "Hourglass meets the lower bound for every ε: its error at mean a is the bound times "
        "(1-a)² + a², which is the bound itself at the worst mean.",
        f"furthest of {len(hourglass)} points from that: {furthest(hourglass):.1f} "
        f"standard errors, {gap:.1%}",
        furthest(hourglass) <= SIGMAS,
    )


def falls_behind(table: Table) -> Claim:
    """The staircase relative to the hourglass over epsilon."""
    ratio, shown = {p.x: p for p in _over(table, "staircase", "hourglass")}, (1, 4, 8, 10)
    return Claim(
        "The 2-d staircase is worse than the hourglass, the more so the larger ε.",
        ", ".join(f"{ratio[e].y:.2f} at ε = {e:g}" for e in shown)
        + f" ({largest_error([ratio[e] for e in shown])})",
        all(abs(p.deviation) <= SIGMAS for p in ratio.values())
        and ratio[1].y < ratio[4].y < ratio[8].y < ratio[10].y,
    )


def rates(table: Table) -> Claim:
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
        f"{slopes['staircase']:.3f} (s.e. up to {max(errors.values()):.3f}; limits 0.667 and "
        "0.500)",
        all(gap <= 0.06 + SIGMAS * se for gap, se in zip(near, errors.values(), strict=True)),
    )


def _rise(high: Point, low: Point) -> Point:
    return Point("", high.x, high.y - low.y, math.hypot(high.se, low.se))


def m_shape(series: str) -> Judge:
    """Peaks on both sides of the middle, above it and above both ends, beyond chance."""

    def judge(table: Table) -> Claim:
        points, label = table.series(series), LOOKS[series].label
        middle = table.at(series, 0.5)
        left = max((p for p in points if 0 < p.x < 0.5), key=lambda p: p.y)
        right = max((p for p in points if 0.5 < p.x < 1), key=lambda p: p.y)
        lows = (points[0], middle, points[-1])
        return Claim(
            f"{label[0].upper()}{label[1:]}: the error over the mean has the shape of an M, as "
            "clipping helps close to 0 and 1.",
            f"ends {points[0].y:.3f} and {points[-1].y:.3f}, peaks {left.y:.3f} and "
            f"{right.y:.3f}, middle {middle.y:.3f} ({largest_error([*lows, left, right])})",
            all_above((_rise(peak, low) for peak in (left, right) for low in lows), 0),
        )

    return judge


def under_the_bound(table: Table) -> Claim:
    """The hourglass over the mean."""
    hourglass = table.series("hourglass")
    bound = table.series(BOUND)[0].y
    top = max(hourglass, key=lambda p: p.y)
    return Claim(
        "No mean takes the hourglass above the lower bound on the worst case.",
        f"largest error / bound: {top.y / bound:.3f} (s.e. {top.se / bound:.3f}), "
        f"at mean {top.x:.5g}",
        all(p.y <= bound + SIGMAS * p.se for p in hourglass),
    )


def best_from_two(table: Table) -> Claim:
    """Transformed Laplace noise on small data."""
    ratio = [p for name in ("independent", "shifted") for p in _over(table, name, "laplace")]
    one, more = [p for p in ratio if p.x == 1], [p for p in ratio if p.x > 1]
    return Claim(
        "With two or more records transformed Laplace is the best of the three on small data too.",
        f"others / transformed for |D| = 2 to 64: {spread(more)}; for one record "
        f"independent / transformed {one[0].y:.2f}, shifted / transformed {one[1].y:.2f} "
        f"({largest_error(one)})",
        all_above(more, 1),
    )


def only_transformed_converges(table: Table) -> Claim:
    """Over the lower-bound curve: transformed within a tenth of it in the end, the others not."""
    found = {
        name: [p for p in _over(table, name, BASELINE) if p.x >= 16]
        for name in ("laplace", "shifted", "independent")
    }
    values = (
        f"{_WORDS.get(name, name)} {', '.join(f'{p.y:.2f}' for p in points)}"
        for name, points in found.items()
    )
    first, last = found["laplace"][0], found["laplace"][-1]
    others = all_above((*found["shifted"], *found["independent"]), 1.25)
    if SIGMAS * last.se > 0.2:
        others = None
    near = abs(last.y - 1) <= 0.1 + SIGMAS * last.se
    closer = abs(last.y - 1) <= abs(first.y - 1) + SIGMAS * math.hypot(first.se, last.se)
    return Claim(
        "As the data grow only transformed Laplace converges to the lower-bound curve.",
        f"error / lower bound for |D| = 16, 32, 64: {'; '.join(values)} "
        f"({largest_error([p for points in found.values() for p in points])})",
        others if near and closer else False,
    )


def twice_from_sixteen(table: Table) -> Claim:
    """Shifted over transformed Laplace noise on small data."""
    large = [p for p in table.series("shifted / laplace") if p.x >= 16]
    values = ", ".join(f"{p.y:.2f} at |D| = {p.x:g}" for p in large)
    return Claim(
        "With 16 or more records shifted Laplace has about twice the error of the transformed.",
        f"shifted / transformed: {values} ({largest_error(large)})",
        all(abs(p.y - 2) <= 0.2 + SIGMAS * p.se for p in large),
    )


def wins_at_every_size(table: Table) -> Claim:
    """The hourglass on small data."""
    ratio = table.series("staircase / hourglass")
    values = ", ".join(f"{p.y:.2f}" for p in ratio)
    return Claim(
        "Hourglass beats the 2-d staircase at every size of the data.",
        f"staircase / hourglass: {values} for |D| = 1 to 64 ({largest_error(ratio)})",
        all_above(ratio, 1),
    )
