"""Mean squared errors by simulation, with the noise and the estimates of releases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from ..estimate.point import share
from ..mechanisms.base import MeanMechanism
from .data import Data, Floats
from .exhibit import Point, Settings

__all__ = ["Error", "error_of", "measure"]


@dataclass(frozen=True)
class Error:
    """A mean squared error, as a share of the range squared, and its standard error."""

    mse: float
    se: float
    runs: int

    @classmethod
    def of(cls, squares: Floats) -> Self:
        """The mean of squared errors, one per run."""
        runs = len(squares)
        return cls(float(squares.mean()), float(squares.std(ddof=1)) / math.sqrt(runs), runs)

    def point(
        self, series: str, x: float, unit: float = 1.0, closed_form: float = math.nan,
        panel: str = "",
    ) -> Point:  # fmt: skip
        """The error times ``unit``, with its closed form in the same unit."""
        return Point(series, x, self.mse * unit, self.se * unit, closed_form, self.runs, panel)


def measure(algorithm: MeanMechanism, data: Data, settings: Settings) -> Error:
    """Add noise to the data's totals in each run and compare the estimate with the data's mean.

    The estimator is the paper's clipped ratio, or the middle if the count is zero.
    """
    noisy = algorithm.noise(data.totals, bits=settings.bits, size=settings.runs)
    return error_of(share(noisy, "ratio"), data)


def error_of(estimates: Floats, data: Data) -> Error:
    """The error of estimates already made."""
    return Error.of((estimates - data.mean) ** 2)
