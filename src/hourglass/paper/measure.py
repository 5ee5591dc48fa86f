"""Mean squared errors by simulation, with the noise and the estimates of releases."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..estimate.point import share
from ..mechanisms.base import MeanMechanism
from .data import Data, Floats
from .exhibit import Settings

__all__ = ["Error", "error_of", "measure"]


@dataclass(frozen=True)
class Error:
    """A mean squared error, as a share of the range squared, and its standard error."""

    mse: float
    se: float
    runs: int


def measure(
    algorithm: MeanMechanism, data: Data, settings: Settings, *, estimator: str = "ratio"
) -> Error:
    """Add noise to the data's totals in each run and compare the estimate with the data's mean.

    The estimator is the paper's clipped ratio, or the middle if the count is zero.
    """
    noisy = algorithm.noise(data.totals, bits=settings.bits, size=settings.runs)
    return error_of(share(noisy, estimator), data)


def error_of(estimates: Floats, data: Data) -> Error:
    """The error of estimates already made."""
    squares = (estimates - data.mean) ** 2
    runs = len(squares)
    return Error(float(squares.mean()), float(squares.std(ddof=1)) / math.sqrt(runs), runs)
