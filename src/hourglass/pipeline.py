"""The flow: read, bound, quantise, aggregate, noise, estimate, report.

Everything that can be wrong with the question is found before the data is looked at.
"""

from __future__ import annotations

from typing import Any

from .algorithms import make
from .errors import BoundsError, OptionError
from .estimate import check_estimator
from .grid import Bounds, Grid
from .noise.bits import SECURE, Bits
from .privacy import exact_epsilon
from .release import Release
from .sources.memory import column

__all__ = ["mean"]


def mean(
    values: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    grid: int | None = None,
    missing: Any = "drop",
    bits: Bits = SECURE,
) -> Release:
    """The differentially private mean of a column of numbers, with its sum and count.

    ``bounds`` (the public range, values are clamped to it) and ``epsilon`` (the privacy
    parameter, smaller is more private) have no default. ``algorithm`` is "hourglass", the
    optimal one, or for comparison "staircase", "laplace", "shifted", "independent", "swap";
    ``estimator`` is "projected", "ratio" or, for small groups, "posterior". ``grid`` is the
    number of cells that the range is cut into; left out, a column of integers with integer
    bounds keeps its own and all else gets 2^32. ``missing`` is "drop", or the value that a
    missing one counts as. ``bits`` is for tests: a release made of seeded bits says
    ``private=False``.
    """
    exact = exact_epsilon(epsilon)
    range_ = Bounds.of(bounds)
    source = column(values)
    cut = source.grid(range_, grid)
    mechanism = make(algorithm, exact, cut)
    check_estimator(estimator, algorithm)
    missing_cell = _missing_cell(missing, cut)

    totals = source.totals(cut, missing_cell)
    noisy = mechanism.noise(totals, bits=bits)
    return Release.of(mechanism, noisy, estimator=estimator, private=bits.private)


def _missing_cell(missing: Any, grid: Grid) -> int | None:
    """The cell that a missing value counts as; None where it is left out."""
    if isinstance(missing, str) and missing == "drop":
        return None
    lower, upper = grid.bounds
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise OptionError(f'missing={missing!r} is neither "drop" nor a number')
    if not lower <= missing <= upper:
        raise BoundsError(f"missing={missing!r} is outside the bounds ({lower}, {upper})")
    return grid.cell(missing)
