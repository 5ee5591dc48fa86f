"""What limits the influence of a record, as a question states it: unit, bounds, grid and scale.

A unit says whose presence is hidden: a row's, or a person's with all of their rows. It is enforced
in the query, never assumed of the data: however many rows a person has, no more of them count than
the unit allows. Which ones depends on the person's id and own rows alone, so one person's rows
never affect which rows of another are kept.

Bounds clamp a value, and the grid makes it an integer. A value x in [lower, upper] becomes a cell:
the integer q in 0..G that is nearest to G (x - lower) / (upper - lower). This is the only place
where floats become integers, and the expression is written so that every engine evaluates it to the
same integer, bit for bit (docs/how-it-works.md):

    s  = G / (upper - lower)
    l0 = lower + 0.25 / s              below it the cell is 0 (and nothing underflows)
    u1 = the double before upper       above it the cell is G
    q  = 0                             if x <= l0
         nearest((x - lower) * s)      if x <= u1
         G                             if x <= infinity
         missing                       otherwise: NaN, NULL

Halfway between two cells the even one is nearest, which is how doubles round: (y + NEAREST) -
NEAREST is the integer nearest to y, by the rules of IEEE 754, on every engine.

An integer column on its own grid (G = upper - lower) needs no floats: q = clamp(x) - lower.

A scale has public candidates for bounds, chosen before the data is seen. A record falls into one of
2m + 1 buckets, m the number of candidates c_0 < c_1 < ...: bucket 2i + 1 holds the values equal to
c_i, the even ones those strictly between. The rule is made of comparisons alone, so every engine
puts every value into the same bucket:

    bucket(x) = (how many c_i < x) + (how many c_i <= x);  missing, NaN: none

:mod:`hourglass.mechanisms.scan` needs the number of records strictly beyond each candidate on
either side, which follows from a histogram of the buckets.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np

from ..errors import BoundsError, GridError, OptionError, shown
from .keys import Public, is_column
from .totals import Secret

__all__ = [
    "DEFAULT_GRID", "MAX_GRID", "NEAREST", "Bounds", "Counts", "Grid", "Scale", "Unit", "as_unit",
    "check_centre", "check_grid", "counts_from_histogram", "doubles_around",
    "one_or_more", "per_person", "per_row",
]  # fmt: skip

# --- the unit -------------------------------------------------------------------------------------

#: The largest rows times groups; with more, an epsilon of 1 leaves too little for a record.
MAX_SHARES = 1_000_000


@dataclass(frozen=True)
class Unit:
    """A row (``person`` is None), or a person identified by a column.

    ``rows`` is the most rows of a person that count in a group; None means that the person counts
    once, with the mean of their rows. ``groups`` is the most groups in which a person counts.
    """

    person: str | None = None
    rows: int | None = None
    groups: int = 1

    @property
    def records(self) -> int:
        """The most records of a group that one unit can have."""
        return self.rows or 1

    @property
    def shares(self) -> int:
        """How many equal parts epsilon is divided into: records per group, times groups."""
        return self.records * self.groups

    def __str__(self) -> str:
        if self.person is None:
            return "row"
        limits = [f"up to {self.rows} rows" if self.rows else "counted once"]
        if self.groups > 1:
            limits.append(f"in up to {self.groups} groups")
        return f"person ({self.person}: {' '.join(limits)})"


def per_row() -> Unit:
    """Protect each row; suitable if a person has at most one row."""
    return Unit()


def per_person(column: str, *, rows: int | None = None, groups: int = 1) -> Unit:
    """Protect each person, identified by ``column``, with all of their rows.

    Without ``rows`` a person counts once in a group, with the mean of their own rows, at the full
    epsilon. With ``rows=k`` up to k rows of a person count, and with ``groups=m`` a person counts
    in up to m groups; epsilon is divided by k * m. Rows whose person is NULL are left out.
    """
    if not isinstance(column, str) or not column:
        raise OptionError(
            f"per_person({shown(column)}): give the name of the column that identifies persons"
        )
    if rows is not None:
        one_or_more("rows", rows)
    one_or_more("groups", groups)
    shares = (rows or 1) * groups
    if shares > MAX_SHARES:
        raise OptionError(
            f"rows * groups = {shown(shares)} is above {MAX_SHARES}; lower one of them"
        )
    return Unit(column, rows, groups)


def as_unit(unit: Any) -> Unit:
    """The given unit; rows by default."""
    if unit is None:
        return per_row()
    if not isinstance(unit, Unit):
        person = unit if type(unit) is str and len(unit) <= 60 else "id"
        raise OptionError(
            f"unit={shown(unit)} is not a unit; give hg.per_row() or hg.per_person({person!r})"
        )
    return unit


def one_or_more(name: str, value: Any) -> None:
    """Refuse an option that is not a whole number of 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(
            f"{name}={shown(value)} is not a whole number of 1 or more; give one such as {name}=3"
        )


# --- bounds and grid ------------------------------------------------------------------------------

#: The grid of real-valued columns: rounding to it moves a value by at most 2^-33 of the range.
DEFAULT_GRID: Final = 1 << 32
#: Doubles of this size are integers, so adding it rounds |y| <= 2^51 to the nearest one.
NEAREST: Final = 1.5 * 2.0**52
#: The finest grid for which the sums of all engines are exact and the noise fits an int64.
MAX_GRID: Final = 1 << 32


def check_grid(grid: Any) -> int:
    """The number of cells as an int in 1..2^32, or a GridError."""
    if isinstance(grid, bool) or not isinstance(grid, int | np.integer):
        raise GridError(f"grid={shown(grid)} is not a whole number; give a number from 1 to 2^32")
    if not 1 <= grid <= MAX_GRID:
        raise GridError(
            f"grid={shown(grid)} is outside 1..2^32; give another number of steps, or leave it "
            "out of a question to have it chosen"
        )
    return int(grid)


def check_centre(centre: Any, grid: int) -> int:
    """The half-width of the centre stair as an int in 0..G-1, or a GridError."""
    if isinstance(centre, bool) or not isinstance(centre, int | np.integer):
        raise GridError(
            f"centre={shown(centre)} is not a whole number; give a number from 0 to grid-1"
        )
    if not 0 <= centre < grid:
        raise GridError(
            f"centre={centre} is outside 0..{grid - 1}; leave it out for the optimal one"
        )
    return int(centre)


@dataclass(frozen=True)
class Bounds:
    """The public range that values are clamped to; ``lower < upper``, both finite.

    An end is stored as an int if it was given as one, otherwise as the nearest double. ``origin``
    says where the bounds come from, for the statement of a release, and ``leaves`` how many records
    a private search aimed to leave below and above (None at an end of its scale).
    """

    lower: int | float
    upper: int | float
    origin: str = field(
        default="stated as public knowledge", compare=False, repr=False, kw_only=True
    )
    leaves: tuple[int | None, int | None] | None = field(
        default=None, compare=False, repr=False, kw_only=True
    )

    def __post_init__(self) -> None:
        lower, upper = _bound("lower", self.lower), _bound("upper", self.upper)
        if not lower < upper:
            relation = "equal to" if lower == upper else "above"
            remedy = "a larger upper bound" if lower == upper else "the smaller number first"
            raise BoundsError(
                f"bounds=({lower}, {upper}): the lower bound is {relation} the upper one; give "
                f"{remedy}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @classmethod
    def of(cls, bounds: Any) -> Bounds:
        """Bounds from a pair, from bounds, or from found bounds."""
        bounds = getattr(bounds, "bounds", bounds)
        if isinstance(bounds, Bounds):
            return bounds
        if bounds is None:
            raise BoundsError(
                "bounds are missing; give the public range of the values, as in bounds=(0, 120). "
                "Bounds read off the data would leak it"
            )
        # A Series, an array or a longer list may be a column of the data, or computed from it, so
        # not even its length is shown.
        ends = list(bounds) if isinstance(bounds, list | tuple) else []
        if len(ends) != 2:
            raise BoundsError(
                f"bounds={shown(bounds)} is not a pair; give bounds=(lower, upper), two public "
                "numbers"
            )
        return cls(ends[0], ends[1])

    @property
    def whole(self) -> bool:
        """Whether both ends are integers."""
        return isinstance(self.lower, int) and isinstance(self.upper, int)

    @property
    def width(self) -> Fraction:
        """upper - lower, exactly."""
        return Fraction(self.upper) - Fraction(self.lower)

    def __iter__(self) -> Any:
        return iter((self.lower, self.upper))


_NUMBERS: Final = "give numbers, as in bounds=(0, 100)"
_FINITE: Final = "give a public, finite range, as in bounds=(0, 100)"


def _bound(name: str, value: Any) -> int | float:
    if isinstance(value, bool | np.bool_):
        raise BoundsError(f"bounds: the {name} bound is a boolean; {_NUMBERS}")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        if abs(value) > 2**1000:
            raise BoundsError(f"bounds: the {name} bound is an integer beyond 2^1000; {_FINITE}")
        return value
    if isinstance(value, float | Fraction | Decimal):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
        raise BoundsError(f"bounds: the {name} bound {shown(value)} is not finite; {_FINITE}")
    # The text is not shown, because a list of two may be cells of the data.
    kind = "text" if isinstance(value, str) else f"of type {type(value).__name__}"
    raise BoundsError(f"bounds: the {name} bound is not a number but {kind}; {_NUMBERS}")


@dataclass(frozen=True)
class Grid:
    """A range divided into G steps, with cells numbered 0..G, and the constants of the rule.

    ``own`` marks a column of integers on its own grid, where quantising changes nothing.
    """

    bounds: Bounds
    cells: int
    own: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", check_grid(self.cells))
        if self.own:
            if not self.bounds.whole or self.cells != self.bounds.width:
                raise GridError(
                    f"grid={self.cells}: an integer column's own grid is upper - lower "
                    "of integer bounds"
                )
        elif not self.lower < self.upper:
            raise BoundsError(
                f"bounds=({self.bounds.lower}, {self.bounds.upper}) are the same double; "
                "widen them, or give a column of integers"
            )
        elif self._cell(self.first_above) != 0 or self._cell(self.last_below) > self.cells:
            raise GridError(
                f"grid={self.cells} is too fine for bounds=({self.bounds.lower}, "
                f"{self.bounds.upper}): doubles are not precise enough; give a coarser grid or "
                "wider bounds"
            )

    @property
    def yes_or_no(self) -> bool:
        """Whether the values are 0 and 1 only, so that their mean is a share."""
        return self.own and tuple(self.bounds) == (0, 1)

    @property
    def unit(self) -> Grid:
        """The same number of cells between simple bounds."""
        return Grid(Bounds(0, self.cells) if self.own else Bounds(0.0, 1.0), self.cells, self.own)

    @classmethod
    def choose(
        cls,
        bounds: Bounds,
        cells: Any = None,
        *,
        integers: bool = False,
        finest: int = DEFAULT_GRID,
    ) -> Grid:
        """The grid for a column: as given, or an integer column's own, or the finest.

        The choice depends on the column's declared type and the bounds, never on its values.
        """
        own = integers and bounds.whole and bounds.width <= finest
        if cells is None:
            return cls(bounds, int(bounds.width) if own else finest, own)
        cells = check_grid(cells)
        if cells > finest:
            raise GridError(
                f"grid={cells} is too fine for the sum of squares that spread=True needs; give at "
                f"most {finest}, or leave it out"
            )
        return cls(bounds, cells, own and cells == bounds.width)

    @cached_property
    def lower(self) -> float:
        """The lower bound as a double."""
        return float(self.bounds.lower)

    @cached_property
    def upper(self) -> float:
        """The upper bound as a double."""
        return float(self.bounds.upper)

    @cached_property
    def shrink(self) -> float:
        """1, or 1/2 if upper - lower would overflow a double; values are scaled by it."""
        return 1.0 if math.isfinite(self.upper - self.lower) else 0.5

    @cached_property
    def scale(self) -> float:
        """s: cells per unit of the (shrunken) value."""
        width = self.upper * self.shrink - self.lower * self.shrink
        return self.cells / width if math.isfinite(self.cells / width) else math.inf

    @property
    def first_above(self) -> float:
        """l0: at and below this value the cell is 0."""
        return self.lower + 0.25 / self.scale / self.shrink

    @property
    def last_below(self) -> float:
        """u1: above this value the cell is G."""
        return math.nextafter(self.upper, -math.inf)

    @cached_property
    def ends(self) -> tuple[int, int, int]:
        """Integers (l, w, d): the lower bound is l / d and the width of the range w / d."""
        lower, width = Fraction(self.bounds.lower), self.bounds.width
        whole = math.lcm(lower.denominator, width.denominator)
        return int(lower * whole), int(width * whole), whole

    @property
    def step(self) -> Fraction:
        """The width of a cell in the units of the data, exactly."""
        return self.bounds.width / self.cells

    @property
    def slack(self) -> Fraction:
        """How far a record can be from its cell: half a step; for a person's mean, a whole step."""
        return Fraction(0) if self.own else self.step

    def _cell(self, x: float) -> float:
        cell = (x * self.shrink - self.lower * self.shrink) * self.scale
        return round(cell) if math.isfinite(cell) else math.inf

    def cell(self, x: int | float) -> int | None:
        """The cell of one value, None if it is missing; the reference for all engines."""
        if self.own:
            return min(max(int(x), int(self.bounds.lower)), int(self.bounds.upper)) - int(
                self.bounds.lower
            )
        if x <= self.first_above:
            return 0
        if x <= self.last_below:
            return int(self._cell(float(x)))
        return self.cells if x <= math.inf else None


# --- the scale of candidates for bounds -----------------------------------------------------------

#: 2^(0/4) to 2^(3/4) as the nearest doubles: four candidates per doubling.
_QUARTERS: Final = (1.0, 1.189207115002721, 1.4142135623730951, 1.681792830507429)
#: The default scale spans 2^-64 to 2^64 on either side of zero.
_OCTAVES: Final = 64
_MOST: Final = 100_000


@dataclass(frozen=True)
class Scale:
    """Candidates in increasing order; ``pivot`` is the index of the one nearest to zero."""

    candidates: tuple[int | float, ...]

    def __post_init__(self) -> None:
        given = self.candidates
        if not 2 <= len(given) <= _MOST:
            raise BoundsError(
                f"scale takes from 2 to {_MOST} candidates in increasing order; {len(given)} given"
            )
        try:  # each neighbouring pair must be valid bounds: finite, increasing numbers
            pairs = [Bounds(low, high) for low, high in pairwise(given)]
        except BoundsError:
            pairs = []
        if not pairs:
            raise BoundsError(
                "scale is not a list of finite numbers in increasing order; sort the candidates, "
                "each once, as in scale=[0, 10, 100]"
            )
        ends = (*(pair.lower for pair in pairs), pairs[-1].upper)
        object.__setattr__(self, "candidates", ends)

    @classmethod
    def of(cls, scale: Any, *, integers: bool = False) -> Scale:
        """A scale from a scale, from candidates, or the default one."""
        if isinstance(scale, Scale):
            return scale
        if scale is None:
            return _default(integers)
        if isinstance(scale, Public):
            scale = scale.values
        elif is_column(scale):
            raise BoundsError(
                f"scale={shown(scale)} may be a column of the data; if its candidates come from a "
                "public source, declare that with scale=hg.public(...)"
            )
        if isinstance(scale, str | bytes | Mapping | set | frozenset) or not isinstance(
            scale, Iterable
        ):
            raise BoundsError(
                f"scale of type {type(scale).__name__} is not a list of candidates; give public "
                "numbers in increasing order, such as range(0, 121, 5), or leave it out"
            )
        return cls(tuple(islice(scale, _MOST + 1)))

    @cached_property
    def pivot(self) -> int:
        """Where the scans start: the candidate nearest to zero, the lower of two in a tie."""
        return min((abs(candidate), place) for place, candidate in enumerate(self.candidates))[1]

    def bucket(self, x: int | float) -> int | None:
        """The bucket of one value, None if it is missing; the reference for all engines."""
        if not -math.inf <= x <= math.inf:
            return None
        return bisect_left(self.candidates, x) + bisect_right(self.candidates, x)


@lru_cache(maxsize=2)
def _default(integers: bool) -> Scale:
    """0 and ±2^(k/4): from 2^-64 to 2^64, or for integers rounded and from 1."""
    first = 0 if integers else -_OCTAVES
    sizes = [
        math.ldexp(quarter, octave) for octave in range(first, _OCTAVES) for quarter in _QUARTERS
    ]
    sizes.append(math.ldexp(1.0, _OCTAVES))
    positive: list[int] | list[float] = sorted({round(s) for s in sizes}) if integers else sizes
    return Scale((*(-size for size in reversed(positive)), 0 if integers else 0.0, *positive))


@dataclass(frozen=True, repr=False)
class Counts(Secret):
    """How many records lie strictly below and strictly above each candidate. Secret."""

    below: tuple[int, ...]
    above: tuple[int, ...]

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            tuple(a + b for a, b in zip(self.below, other.below, strict=True)),
            tuple(a + b for a, b in zip(self.above, other.above, strict=True)),
        )


def counts_from_histogram(scale: Scale, records: Mapping[int, int]) -> Counts:
    """The counts from a histogram of the buckets; buckets that are left out are empty."""
    buckets = 2 * len(scale.candidates) + 1
    cumulated = [0]
    for bucket in range(buckets):
        cumulated.append(cumulated[-1] + int(records.get(bucket, 0)))
    # The buckets before 2i + 1 are below c_i, those after it above.
    return Counts(
        tuple(cumulated[1:buckets:2]),
        tuple(cumulated[-1] - part for part in cumulated[2:buckets:2]),
    )


def doubles_around(c: int | float) -> tuple[float, float]:
    """The last double at or below c and the first at or above it; Python compares exactly."""
    nearest = float(c)
    return (
        nearest if nearest <= c else math.nextafter(nearest, -math.inf),
        nearest if nearest >= c else math.nextafter(nearest, math.inf),
    )
