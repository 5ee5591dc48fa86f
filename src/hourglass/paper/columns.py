"""E9, beyond the paper: several columns from one epsilon, compared with the alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..core.totals import Totals
from ..estimate.accuracy import leading_error
from ..estimate.point import share
from ..mechanisms.base import make
from .charts import closed_forms, legend, marks
from .data import UNIT, Data, data_set
from .exhibit import SIGMAS, Claim, Exhibit, Point, Settings, Table, Tick
from .measure import Error
from .rivals import KNorm, LaplaceSums, hardt_talwar
from .style import DASHDOT, DASHES, DOTS, LOOKS, Look, figure, plain_log_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXHIBIT"]

#: The position of the mean of every column in its range: far enough from the bounds that no
#: estimate is clipped, which would favour the noisier ones.
MEAN: Final = 0.1
EPSILONS: Final = (Fraction(1, 10), Fraction(1), Fraction(4))
COLUMNS: Final = tuple(range(1, 11))
#: Where errors are measured; between them there is the closed form.
MEASURED: Final = (1, 2, 3, 5, 10)
#: At epsilon 4 rare draws make up much of the error: ten times the runs of the paper.
PORTIONS: Final = 10
#: The least gain of asking together, by the number of columns.
GAINS: Final = {2: 2.4, 3: 3.7, 5: 6.0, 10: 9.5}
#: How far a measured error may lie from the closed form.
WITHIN: Final = 0.02

BOX, APART, SUMS, STAIRS, NORM = "box", "apart", "sums", "stairs", "norm"
_LOOKS: Final = {
    APART: Look("#0072B2", DASHES, "D", "separate hourglasses at ε/d"),
    SUMS: Look("#CC79A7", DOTS, "s", "Laplace on d sums and one count"),
    NORM: Look("#E69F00", DASHDOT, "", "K-norm (l∞)"),
    STAIRS: Look("#000000", (0, (2.6, 1.4)), "", "K-norm (l∞), stairs and wide centre"),
    BOX: Look(LOOKS["hourglass"].colour, "-", "o", "hourglass of the box"),
}
#: A leading error at a mean; by epsilon and the number of columns.
_FORMS: Final[dict[str, Callable[[Fraction, int, float], float]]] = {
    APART: lambda epsilon, d, mean: leading_error(epsilon / d, mean=mean),
    SUMS: lambda epsilon, d, mean: LaplaceSums(epsilon, d).error(mean),
    NORM: hardt_talwar,
    STAIRS: lambda epsilon, d, mean: KNorm(epsilon, d).error(mean),
    BOX: lambda epsilon, d, mean: leading_error(epsilon, mean=mean, columns=d),
}
Floats = npt.NDArray[np.float64]


def table(settings: Settings, tick: Tick) -> Table:
    """n^2 MSE eps^2/2 of a column: at the data's mean with measured points, and at the worst."""

    def points() -> Iterator[Point]:
        for epsilon in EPSILONS:
            data = data_set(MEAN, settings.records, settings.bits)
            for series, form in _FORMS.items():
                for d in COLUMNS:
                    yield _point(series, form, epsilon, d, data, settings, tick)
        for epsilon in EPSILONS:
            unit = float(epsilon) ** 2 / 2
            for series, form in _FORMS.items():
                for d in COLUMNS:
                    worst = form(epsilon, d, 0.0) * unit
                    yield Point(series, d, worst, closed_form=worst, panel=_worst(epsilon))

    return Table("columns", "normalised_mse", tuple(points()))


def _at_mean(epsilon: Fraction) -> str:
    return f"ε = {float(epsilon):g}"


def _worst(epsilon: Fraction) -> str:
    return f"ε = {float(epsilon):g}, worst mean"


def _point(
    series: str,
    form: Callable[[Fraction, int, float], float],
    epsilon: Fraction,
    d: int,
    data: Data,
    settings: Settings,
    tick: Tick,
) -> Point:
    unit, panel = float(epsilon) ** 2 / 2, _at_mean(epsilon)
    lead = form(epsilon, d, data.mean) * unit
    if series not in _DRAWS or d not in MEASURED:
        return Point(series, d, lead, closed_form=lead, panel=panel)
    squares = [_DRAWS[series](epsilon, d, data, settings) for _ in range(PORTIONS)]
    tick()
    error = Error.of(np.concatenate(squares))
    return error.point(series, d, unit * settings.records**2, lead, panel)


# --- squared errors, one per run --------------------------------------------------------------


def _together(epsilon: Fraction, d: int, data: Data, settings: Settings) -> Floats:
    """By the mechanism of d columns, each with the same data: the average of their squares."""
    mechanism = make("hourglass", epsilon, (UNIT,) * d, "columns")
    cells, count = data.totals.cells, data.totals.count
    totals = Totals(cells, count, (cells,) * (d - 1))
    noisy = mechanism.noise(totals, bits=settings.bits, size=settings.runs)
    squares: Floats = np.mean([_squares(column, data) for column in noisy.columns], axis=0)
    return squares


def _alone(epsilon: Fraction, d: int, data: Data, settings: Settings) -> Floats:
    mechanism = make("hourglass", epsilon / d, UNIT)
    return _squares(mechanism.noise(data.totals, bits=settings.bits, size=settings.runs), data)


def _laplace(epsilon: Fraction, d: int, data: Data, settings: Settings) -> Floats:
    return _squares(LaplaceSums(epsilon, d).noise(data, settings.bits, settings.runs), data)


def _squares(noisy: Any, data: Data) -> Floats:
    found: Floats = (share(noisy, "ratio") - data.mean) ** 2
    return found


_DRAWS: Final[dict[str, Callable[[Fraction, int, Data, Settings], Floats]]] = {
    APART: _alone,
    SUMS: _laplace,
    BOX: _together,
}


# --- the picture ----------------------------------------------------------------------------


def draw(table: Table) -> Figure:
    """Errors over the number of columns, and below them the same over that of the box."""
    drawn, axes = figure(7.8, 6.6, len(EPSILONS), rows=2, sharey="row")
    for epsilon, above, below in zip(EPSILONS, *axes, strict=True):
        above.set_yscale("log", nonpositive="mask")
        below.set_yscale("log", nonpositive="mask")
        for series, look in _LOOKS.items():
            _line(above, table.series(series, _at_mean(epsilon)), look)
            worst = table.series(series, _worst(epsilon))
            box = table.series(BOX, _worst(epsilon))
            _line(below, [p.over(q) for p, q in zip(worst, box, strict=True)], look)
        above.set_title(f"{_at_mean(epsilon)}, mean {MEAN:g}")
        below.set_title(_worst(epsilon))
        for ax in (above, below):
            ax.set_xlabel("columns d")
            ax.set_xticks(COLUMNS)
    plain_log_ticks(axes[0][0].yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100))
    plain_log_ticks(axes[1][0].yaxis, (1, 1.5, 2, 3, 4, 6, 8, 10))
    axes[0][0].set_ylabel(f"n² ε² MSE / 2 of a column, mean {MEAN:g}")
    axes[1][0].set_ylabel("error / that of the box, worst mean")
    legend(drawn, axes[0][0], (_LOOKS[name] for name in (BOX, APART, SUMS, NORM, STAIRS)), 2)
    return drawn


def _line(ax: Axes, points: Sequence[Point], look: Look) -> None:
    """The closed form, and marks with bars where errors were measured."""
    closed_forms(ax, points, look)
    measured = [p for p in points if p.runs]
    if measured:
        marks(ax, measured, look, line=False)


# --- the claims -----------------------------------------------------------------------------


def claims(table: Table) -> tuple[Claim, ...]:
    """The gain of asking together, its measurement, and the K-norm mechanisms."""
    return (
        *(_gain(table, d, gain) for d, gain in GAINS.items()),
        _measured(table),
        _below(table, NORM, "the K-norm mechanism of the l∞ ball"),
        _below(table, STAIRS, "the same with whole counts, stairs and its best centre"),
    )


def _over_box(table: Table, series: str, epsilon: Fraction, d: int) -> float:
    panel = _worst(epsilon)
    return table.at(series, d, panel).y / table.at(BOX, d, panel).y


def _gain(table: Table, d: int, gain: float) -> Claim:
    found = {epsilon: _over_box(table, APART, epsilon, d) for epsilon in EPSILONS}
    return Claim(
        f"{d} columns asked together have at most 1/{gain:g} of the squared error of separate "
        f"hourglasses at ε/{d} each, at the worst mean.",
        "separate / together: "
        + ", ".join(f"{value:.2f} at {_at_mean(epsilon)}" for epsilon, value in found.items()),
        all(value >= gain for value in found.values()),
    )


def _measured(table: Table) -> Claim:
    points = [p for e in EPSILONS for p in table.series(BOX, _at_mean(e)) if p.runs]
    ratios = [(p.y / p.closed_form, p.se / p.closed_form) for p in points]
    if any(abs(ratio - 1) > WITHIN + SIGMAS * se for ratio, se in ratios):
        holds: bool | None = False
    else:
        holds = True if all(abs(ratio - 1) <= WITHIN for ratio, _ in ratios) else None
    low, high = min(ratio for ratio, _ in ratios), max(ratio for ratio, _ in ratios)
    return Claim(
        "The measured error of the box is within 2 % of the closed form.",
        f"measured / closed form at {len(points)} points: {low:.3f} to {high:.3f} "
        f"(s.e. up to {max(se for _, se in ratios):.3f})",
        holds,
    )


def _below(table: Table, series: str, words: str) -> Claim:
    found = {(e, d): _over_box(table, series, e, d) for e in EPSILONS for d in COLUMNS}
    least, most = (end(found, key=found.__getitem__) for end in (min, max))
    shown = (
        f"{found[at]:.{_digits(found[at])}f} at {_at_mean(at[0])}, d = {at[1]}"
        for at in (least, most)
    )
    return Claim(
        f"At every ε and every number of columns the box is below {words}.",
        f"K-norm / box: {' to '.join(shown)}",
        all(value > 1 for value in found.values()),
    )


def _digits(ratio: float) -> int:
    """Enough to tell a ratio from one."""
    return 2 if ratio >= 1.01 else 5


EXHIBIT = Exhibit(
    "e9",
    "Several columns from one epsilon, ε = 0.1, 1 and 4, mean 0.1 and the worst",
    "Above: the error of each of d columns, their means at 0.1 of the range, in units of 2/(nε)²; "
    "lines are closed forms, marks are measured. Below: the same over the error of the box, at "
    "the worst mean, a bound. Separate hourglasses have ε/d each and a count each. Laplace: values "
    "centred, one count, and ε divided between the sums and the count in the way that is best "
    "for this d and ε. The K-norm mechanisms are not sampled here; the second of them has stairs "
    "and the centre that is best for this d and ε.",
    table,
    draw,
    claims,
    beyond=True,
)
