"""Every error that hourglass raises on purpose.

HourglassError
├── RequestError            the question cannot be answered as asked (exit code 2)
│   ├── EpsilonError        epsilon or delta is not a usable privacy parameter
│   ├── BoundsError         the bounds are missing, reversed, not finite, of the wrong type
│   ├── GridError           the grid is out of range, or too fine for the bounds
│   ├── DataError           the data is of a kind that has no mean: text, dates, nested
│   └── OptionError         another argument has a value that is not offered
├── BudgetError             the ledger refused the charge (exit code 3)
└── SourceError             the data could not be read (exit code 4)

A message names the argument, the value given, the rule and the remedy. It never quotes a
cell of the data, and an error that stands for a foreign one is raised ``from None``: the
foreign message may quote cells.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BoundsError",
    "BudgetError",
    "DataError",
    "EpsilonError",
    "GridError",
    "HourglassError",
    "OptionError",
    "RequestError",
    "SourceError",
]


class HourglassError(Exception):
    """The root of the tree: ``except HourglassError`` catches all of ours."""

    exit_code: ClassVar[int] = 1


class RequestError(HourglassError, ValueError):
    """The question cannot be answered as asked; nothing was read and nothing charged."""

    exit_code = 2


class EpsilonError(RequestError):
    """Epsilon (or delta) is not a usable privacy parameter."""


class BoundsError(RequestError):
    """The bounds are missing, reversed, not finite or of the wrong type."""


class GridError(RequestError):
    """The grid is out of range, or too fine for the bounds."""


class DataError(RequestError, TypeError):
    """The data is of a kind that has no mean."""


class OptionError(RequestError):
    """An option has a value that is not offered."""


class BudgetError(HourglassError):
    """The ledger refused the charge; the data was not looked at."""

    exit_code = 3


class SourceError(HourglassError):
    """The data could not be read."""

    exit_code = 4
