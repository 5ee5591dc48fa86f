"""Charts as the numbers that a template needs to draw SVG: positions on an axis, and its ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..release.rendering import number

__all__ = ["Axis", "Mark", "Strip", "Whiskers", "axis_of", "strip"]

#: The width of charts in drawing units; the page scales them.
WIDTH = 640.0
#: No label of a row is longer than this; the answer's table has it in full.
LABEL = 20


@dataclass(frozen=True)
class Axis:
    """A range of values on a line, with ticks at round numbers."""

    low: float
    high: float
    left: float = 0.0
    right: float = WIDTH
    ticks: tuple[tuple[float, str], ...] = ()

    def place(self, value: float) -> float:
        """The position of a value, clipped to the axis."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.left + min(max(share, 0.0), 1.0) * (self.right - self.left), 1)


def axis_of(
    values: Sequence[float], left: float = 0.0, right: float = WIDTH, *, share: bool = False
) -> Axis:
    """An axis around values, a little wider than they are, with ticks that have room.

    A ``share`` is written in per cent.
    """
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or abs(high) * 0.05 or 0.5
    low, high = low - pad, high + pad
    step = _step((high - low) / max(2.0, (right - left) / 110))
    places = _multiples(step, low, high)
    if len(places) < 2:  # one tick alone shows no scale
        step = _step(step / 2.6)
        places = _multiples(step, low, high)
    decimals = max(0, -math.floor(math.log10(step)))
    plain = Axis(low, high, left, right)
    ticks = tuple((plain.place(value), _tick(value, decimals, share)) for value in places)
    return Axis(low, high, left, right, ticks)


def _multiples(step: float, low: float, high: float) -> list[float]:
    first = math.ceil(low / step) * step
    return [first + i * step for i in range(int((high - first) / step) + 1)]


def _tick(value: float, decimals: int, share: bool) -> str:
    return f"{number(100 * value, max(0, decimals - 2))} %" if share else number(value, decimals)


def _step(raw: float) -> float:
    """The nearest round number: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= 0.999 * raw)


@dataclass(frozen=True)
class Strip:
    """Dots along an axis, stacked if they would overlap, and a band behind them."""

    dots: tuple[tuple[float, float], ...]
    band: tuple[float, float]
    centre: float
    axis: Axis
    height: float


def strip(answers: Sequence[float], mean: float, margin: float, *, share: bool = False) -> Strip:
    """Possible answers around the assumed mean."""
    axis = axis_of([*answers, mean - margin, mean + margin], 8, WIDTH - 8, share=share)
    stacks: dict[int, int] = {}
    dots = []
    for answer in sorted(answers):
        x = axis.place(answer)
        slot = round(x / 15)
        stacks[slot] = stacks.get(slot, -1) + 1
        dots.append((x, float(stacks[slot])))
    height = 40.0 + 15 * max(stacks.values())
    placed = tuple((x, height - 12 - 15 * level) for x, level in dots)
    band = axis.place(mean - margin), axis.place(mean + margin)
    return Strip(placed, band, axis.place(mean), axis, height)


@dataclass(frozen=True)
class Mark:
    """One row of a chart: the mean, the interval of the records, that of the population.

    The mean of hardly any records, which tells nothing, is None.
    """

    label: str
    mean: float | None
    low: float
    high: float
    wide_low: float
    wide_high: float


@dataclass(frozen=True)
class Whiskers:
    """Means with their intervals, one row each."""

    title: str
    marks: tuple[Mark, ...]
    share: bool = False

    @property
    def population(self) -> bool:
        """Whether intervals of the population are drawn."""
        return any((m.low, m.high) != (m.wide_low, m.wide_high) for m in self.marks)

    @property
    def unknown(self) -> bool:
        """Whether a mean is of too few records to tell anything."""
        return any(mark.mean is None for mark in self.marks)

    @property
    def axis(self) -> Axis:
        """An axis that covers every interval of a known mean; if there is none, all of them."""
        known = [mark for mark in self.marks if mark.mean is not None]
        ends = [
            end
            for mark in known or self.marks
            for end in (mark.low, mark.high, mark.wide_low, mark.wide_high)
        ]
        longest = max(min(len(mark.label), LABEL) for mark in self.marks)
        left = 24 + 11.5 * longest if longest else 16
        return axis_of(ends, left, WIDTH - 16, share=self.share)

    @property
    def height(self) -> float:
        """The height of the rows; the ticks come below."""
        return 30.0 * len(self.marks) + 10
