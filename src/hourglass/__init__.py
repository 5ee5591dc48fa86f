"""The differentially private mean that cannot be beaten.

A value goes one way through the house:

    read       read/        numbers in memory, or a table where it lives
    bound      core/grid    clamp to public bounds
    quantise   core/grid    the nearest of G+1 integer cells
    aggregate  read/        exact integer totals (sum of cells, number of records): secret
    noise      noise/       the hourglass, an exact law on integer pairs: from here on safe
    estimate   estimate     mean, sum and count; interval: how far off they can be
    report     release      the frozen answer
"""

from .ask.bounds import find_bounds
from .ask.mean import mean
from .core.grid import Bounds
from .core.public import public
from .core.unit import per_person, per_row
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
from .estimate import accuracy
from .estimate.interval import Interval
from .ledger import Budget, create_budget
from .noise import (
    DiscreteLaplace,
    Hourglass,
    HourglassBox,
    HourglassTriangle,
    SecureBits,
    SeededBits,
    Staircase,
    Staircase2D,
)
from .read.database import sql
from .read.files import multiline
from .release.found import FoundBounds
from .release.release import Release
from .release.releases import Releases
from .release.statement import Statement

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
    "HourglassBox",
    "HourglassError",
    "HourglassTriangle",
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
    "multiline",
    "per_person",
    "per_row",
    "public",
    "sql",
]
