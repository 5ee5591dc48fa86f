"""The differentially private mean that cannot be beaten.

A value goes one way through the house:

    read       sources/     numbers in memory, or a table where it lives
    bound      grid         clamp to public bounds
    quantise   grid         the nearest of G+1 integer cells
    aggregate  sources/     exact integer totals (sum of cells, number of records): secret
    noise      noise/       the hourglass, an exact law on integer pairs: from here on safe
    estimate   estimate     mean, sum and count; interval: how far off they can be
    report     release      the frozen answer
"""

from . import accuracy
from .bounds_search import find_bounds
from .errors import (
    BoundsError,
    BudgetError,
    BudgetExceededError,
    DataError,
    EpsilonError,
    GridError,
    HourglassError,
    LedgerError,
    OptionError,
    RequestError,
    SourceError,
)
from .grid import Bounds
from .interval import Interval
from .ledger import Budget, create_budget
from .noise import (
    DiscreteLaplace,
    Hourglass,
    SecureBits,
    SeededBits,
    Staircase,
    Staircase2D,
)
from .pipeline import mean
from .private_bounds import FoundBounds
from .release import Release
from .releases import Releases
from .sources.database import sql
from .statement import Statement
from .units import per_person, per_row

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "BoundsError",
    "Budget",
    "BudgetError",
    "BudgetExceededError",
    "DataError",
    "DiscreteLaplace",
    "EpsilonError",
    "FoundBounds",
    "GridError",
    "Hourglass",
    "HourglassError",
    "Interval",
    "LedgerError",
    "OptionError",
    "Release",
    "Releases",
    "RequestError",
    "SecureBits",
    "SeededBits",
    "SourceError",
    "Staircase",
    "Staircase2D",
    "Statement",
    "accuracy",
    "create_budget",
    "find_bounds",
    "mean",
    "per_person",
    "per_row",
    "sql",
]
