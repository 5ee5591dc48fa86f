"""The differentially private mean that cannot be beaten.

A value goes one way through the house:

    read       sources/     numbers in memory, whatever library holds them
    bound      grid         clamp to public bounds
    quantise   grid         the nearest of G+1 integer cells
    aggregate  sources/     exact integer totals (sum of cells, number of records): secret
    noise      noise/       the hourglass, an exact law on integer pairs: from here on safe
    estimate   estimate     mean, sum and count; interval: how far off they can be
    report     release      the frozen answer
"""

from . import accuracy
from .errors import (
    BoundsError,
    BudgetError,
    DataError,
    EpsilonError,
    GridError,
    HourglassError,
    OptionError,
    RequestError,
    SourceError,
)
from .grid import Bounds
from .interval import Interval
from .noise import (
    DiscreteLaplace,
    Hourglass,
    SecureBits,
    SeededBits,
    Staircase,
    Staircase2D,
)
from .pipeline import mean
from .private_bounds import FoundBounds, find_bounds
from .release import Release

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "BoundsError",
    "BudgetError",
    "DataError",
    "DiscreteLaplace",
    "EpsilonError",
    "FoundBounds",
    "GridError",
    "Hourglass",
    "HourglassError",
    "Interval",
    "OptionError",
    "Release",
    "RequestError",
    "SecureBits",
    "SeededBits",
    "SourceError",
    "Staircase",
    "Staircase2D",
    "accuracy",
    "find_bounds",
    "mean",
]
