"""Differentially private means, sums and counts with the smallest possible error.

Data flows through the packages in one direction:

    ask        ask/         a question is checked and prepared; no row has been read
    charge     ledger/      its price is charged to a budget
    read       read/        exact, secret integer totals, computed where the data is
    noise      mechanisms/  an exact law from noise/ is added to the totals, which makes them safe
    answer     release/     mean, sum and count with intervals, computed by estimate/
"""

from .ask.run import count, find_bounds, mean
from .ask.run import sum_ as sum
from .core.keys import public
from .core.limits import Bounds, per_person, per_row
from .errors import (
    BoundsError,
    BudgetError,
    BudgetExceededError,
    DataError,
    EpsilonError,
    GatewayError,
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
from .read.open import multiline
from .read.sql.expression.given import Expression, expression
from .release.columns import Columns
from .release.counts import Count, Counts
from .release.found import FoundBounds
from .release.release import Release, Releases
from .release.statement import Statement
from .serve.client import Gateway, connect

__version__ = "0.2.0"

__all__ = [
    "Bounds",
    "BoundsError",
    "Budget",
    "BudgetError",
    "BudgetExceededError",
    "Columns",
    "Count",
    "Counts",
    "DataError",
    "DiscreteLaplace",
    "EpsilonError",
    "Expression",
    "FoundBounds",
    "Gateway",
    "GatewayError",
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
    "connect",
    "count",
    "create_budget",
    "expression",
    "find_bounds",
    "mean",
    "multiline",
    "per_person",
    "per_row",
    "public",
    "sql",
    "sum",
]
