"""An exhibit is an experiment or a figure: a table of points, a drawing of it, and claims."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from ..errors import OptionError
from ..noise.bits import SECURE, Bits, SeededBits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .own import Own

__all__ = ["FULL_RECORDS", "FULL_RUNS", "Claim", "Exhibit", "Point", "Settings", "Table", "Tick"]

#: The size of the paper's own experiments.
FULL_RECORDS: Final = 10_000
FULL_RUNS: Final = 100_000
#: Below this a standard error is meaningless.
MIN_RUNS: Final = 40

#: Called once for every point measured, so that progress can be shown.
Tick = Callable[[], None]

#: How far, in standard errors, a measured value may lie from the expected one. A normal value
#: exceeds it with probability 2e-9, one of a hundred values with 2e-7.
SIGMAS: Final = 6.0


@dataclass(frozen=True)
class Settings:
    """How large a study is, where its random bits come from, and what else it measures.

    The bits are used for both the synthetic data and the noise. The default is the source that
    releases use. With a ``seed`` every exhibit has a stream of its own, so its numbers are the same
    whether it is run alone or with others; the output is labelled as not private. ``own`` are the
    user's own algorithms, measured in addition to those of the paper.
    """

    runs: int = FULL_RUNS
    records: int = FULL_RECORDS
    bits: Bits = SECURE
    seed: int | None = None
    own: tuple[Own, ...] = ()

    def stream(self, name: str) -> Settings:
        """The same settings with the stream of that name, from its start, if there is a seed."""
        if self.seed is None:
            return self
        digest = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        return replace(self, bits=SeededBits(int.from_bytes(digest)))

    @property
    def label(self) -> str:
        """The label of files made with a seed; empty without one."""
        return "" if self.seed is None else f"seed {self.seed}: reproducible, not private"

    def times(self, factor: int) -> Settings:
        """The same settings with more runs, for laws whose error depends on rare draws."""
        return replace(self, runs=factor * self.runs)

    def part(self, factor: int) -> Settings:
        """The same settings with a fraction of the runs, for what takes longer."""
        return replace(self, runs=max(MIN_RUNS, self.runs // factor))

    def __post_init__(self) -> None:
        if self.runs < MIN_RUNS:
            raise OptionError(
                f"runs={self.runs} is too few for a standard error; give {MIN_RUNS} or more"
            )
        if self.records < 100:
            raise OptionError(
                f"records={self.records}: the large-data experiments need 100 records or more"
            )


@dataclass(frozen=True)
class Point:
    """One measured value with its standard error; ``closed_form`` is the theoretical value.

    A value that was computed rather than sampled has ``se`` 0 and ``runs`` 0.
    """

    series: str
    x: float
    y: float
    se: float = 0.0
    closed_form: float = math.nan
    runs: int = 0
    panel: str = ""

    @property
    def deviation(self) -> float:
        """How far the value lies from the closed form, in standard errors.

        The standard error is rescaled to the closed form by sqrt(closed form / value): if a few
        rare draws make up most of an error, its spread grows with it, and a value that is low by
        chance would otherwise look more precise than it is.
        """
        if self.se == 0.0:
            return 0.0 if self.y == self.closed_form else math.inf
        return (self.y - self.closed_form) / (self.se * math.sqrt(self.closed_form / self.y))

    def over(self, other: Point) -> Point:
        """This value divided by another, independent one, with the error to first order."""
        ratio = self.y / other.y
        spread = math.hypot(self.se / self.y, other.se / other.y)
        return Point(
            f"{self.series} / {other.series}",
            self.x,
            ratio,
            ratio * spread,
            self.closed_form / other.closed_form,
            min(self.runs, other.runs),
            self.panel,
        )


@dataclass(frozen=True)
class Table:
    """Points, with the names of their two coordinates."""

    x: str
    y: str
    points: tuple[Point, ...]

    @property
    def panels(self) -> list[str]:
        """The panels in the order of first appearance."""
        return list(dict.fromkeys(point.panel for point in self.points))

    def series_names(self, panel: str = "") -> list[str]:
        """The series of a panel in the order of first appearance."""
        return list(dict.fromkeys(p.series for p in self.points if p.panel == panel))

    def series(self, name: str, panel: str = "") -> list[Point]:
        """The points of one series, in order."""
        return [p for p in self.points if p.series == name and p.panel == panel]

    def at(self, name: str, x: float, panel: str = "") -> Point:
        """The one point of a series at x."""
        (point,) = (p for p in self.series(name, panel) if math.isclose(p.x, x, abs_tol=1e-12))
        return point

    def write(self, path: Path, bits: str = "secure") -> None:
        """Write the points as CSV; ``bits`` says in every row where the randomness came from."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["panel", "series", self.x, self.y, *_TAIL])
            for p in self.points:
                numbers = (_text(v) for v in (p.x, p.y, p.se, p.closed_form))
                writer.writerow([p.panel, p.series, *numbers, p.runs, bits])

    @classmethod
    def read(cls, path: Path) -> tuple[Self, str]:
        """The points that :meth:`write` wrote, and where their randomness came from."""
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file)
        if tuple(head[4:]) != _TAIL:
            raise ValueError("not a table of points")
        points = []
        for panel, series, *numbers, runs, _ in rows:
            x, y, se, closed = (float(number or "nan") for number in numbers)
            points.append(Point(series, x, y, se, closed, int(runs), panel))
        return cls(head[2], head[3], tuple(points)), rows[0][-1]


_TAIL: Final = ("standard_error", "closed_form", "runs", "bits")


def _text(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"


@dataclass(frozen=True)
class Claim:
    """What is claimed, what was measured, and whether that confirms the claim.

    ``holds`` is None if the runs are too few to tell.
    """

    text: str
    measured: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return "too few runs" if self.holds is None else ("yes" if self.holds else "no")


def all_above(points: Iterable[Point], value: float) -> bool | None:
    """Whether all points lie above the value: by SIGMAS, not at all, or too close to tell."""
    heights = [(p.y - value, SIGMAS * p.se) for p in points]
    if any(height < -margin for height, margin in heights):
        return False
    return True if all(height > margin for height, margin in heights) else None


def largest_error(points: Sequence[Point]) -> str:
    """The largest standard error, in words."""
    return f"s.e. up to {max(p.se for p in points):.3f}"


def spread(points: Sequence[Point]) -> str:
    """The range of the values and their largest standard error, in words."""
    low, high = min(p.y for p in points), max(p.y for p in points)
    return f"{low:.3f} to {high:.3f} ({largest_error(points)})"


def furthest(points: Sequence[Point]) -> float:
    """The largest deviation from the closed form, in standard errors."""
    return max(abs(p.deviation) for p in points)


@dataclass(frozen=True)
class Exhibit:
    """An experiment or a figure: computes its table, draws it, and judges the claims.

    ``draw`` and ``claims`` use only the table. ``measured_with`` names the exhibit whose numbers
    this one shows in another form; the two share a stream of bits.
    """

    name: str
    title: str
    caption: str
    table: Callable[[Settings, Tick], Table]
    draw: Callable[[Table], Figure]
    claims: Callable[[Table], tuple[Claim, ...]]
    beyond: bool = field(default=False, kw_only=True)
    measured_with: str = field(default="", kw_only=True)

    @property
    def stream(self) -> str:
        """The name of its stream of bits."""
        return self.measured_with or self.name
