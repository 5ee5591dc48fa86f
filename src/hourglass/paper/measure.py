"""Mean squared errors by simulation: the product's noise, the product's estimates."""

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
    """Noise the data's totals once a run and hold the estimate against the data's own mean.

    The estimator is the paper's: the ratio, clipped; the middle where the count is zero.
    """
    noisy = algorithm.noise(data.totals, bits=settings.bits, size=settings.runs)
    return error_of(share(noisy, estimator), data)


def error_of(estimates: Floats, data: Data) -> Error:
    """The error of estimates already made."""
    squares = (estimates - data.mean) ** 2
    runs = len(squares)
    return Error(float(squares.mean()), float(squares.std(ddof=1)) / math.sqrt(runs), runs)
