"""The M of the error over the mean: low at both ends, high beside them, lower in the middle."""

from __future__ import annotations

import math

from .exhibit import Claim, Point, Table, all_above
from .style import LOOKS

__all__ = ["edge_scale", "m_shape"]


def edge_scale(table: Table) -> int:
    """The number of records, read off the smallest mean above zero, a quarter record."""
    return round(0.25 / min(p.x for p in table.points if p.x > 0))


def _rise(high: Point, low: Point) -> Point:
    return Point("", high.x, high.y - low.y, math.hypot(high.se, low.se))


def m_shape(table: Table, series: str) -> Claim:
    """Peaks on both sides above both ends and above the middle, beyond chance."""
    points = table.series(series)
    middle = table.at(series, 0.5)
    left = max((p for p in points if 0 < p.x < 0.5), key=lambda p: p.y)
    right = max((p for p in points if 0.5 < p.x < 1), key=lambda p: p.y)
    lows = (points[0], middle, points[-1])
    return Claim(
        f"{LOOKS[series].label[0].upper()}{LOOKS[series].label[1:]}: the error over the mean "
        "has the shape of an M, as clipping helps close to 0 and 1.",
        f"ends {points[0].y:.3f} and {points[-1].y:.3f}, peaks {left.y:.3f} and {right.y:.3f}, "
        f"middle {middle.y:.3f}",
        all_above((_rise(peak, low) for peak in (left, right) for low in lows), 0),
    )
