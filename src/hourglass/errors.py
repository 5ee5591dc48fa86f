"""Every error that hourglass raises on purpose.

HourglassError
├── RequestError            the question cannot be answered as asked (exit code 2)
│   ├── EpsilonError        epsilon or delta is not a usable privacy parameter
│   ├── BoundsError         the bounds are missing, reversed, not finite, of the wrong type
│   ├── GridError           the grid is out of range, or too fine for the bounds
│   ├── DataError           the data, or a column of it, cannot be used as asked
│   └── OptionError         another argument has a value that is not offered
├── BudgetError             the ledger refused the charge (exit code 3)
│   ├── BudgetExceededError     the price exceeds what remains; has requested, spent, remaining
│   ├── BudgetExistsError       a budget of that name already exists
│   ├── RequestReusedError      the request key belongs to another question
│   ├── ChargeClosedError       an earlier version gave the charge back
│   └── LedgerError             the ledger itself cannot be used
│       ├── LedgerMissingError      no such file, no ledger in it, no such budget
│       ├── LedgerUnsafeError       a link, moved or replaced, or open to others
│       ├── LedgerVersionError      not a ledger, or one of another schema
│       ├── LedgerCorruptError      bytes changed: the hash chain or the file is broken
│       ├── LedgerRolledBackError   older than an anchor, or than what was seen before
│       ├── LedgerBusyError         locked for longer than the wait
│       ├── LedgerUnreachableError  the server does not answer
│       └── LedgerWriteError        read-only, disk full, or the disk fails
├── GatewayError            a gateway refused or does not answer; its code says why (exit code 3)
└── SourceError             the data could not be read (exit code 4)

A message names the argument, the value given, the rule and the remedy. It never quotes a cell of
the data: values are formatted by :func:`shown`, and an error that replaces a foreign one, whose
message may quote cells, is raised by :class:`hourglass.read.source.guarded` or ``from None``.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, ClassVar, Final

import numpy as np

__all__ = [
    "BoundsError", "BudgetError", "BudgetExceededError", "BudgetExistsError", "ChargeClosedError",
    "DataError", "EpsilonError", "GatewayError", "GridError", "HourglassError", "LedgerBusyError",
    "LedgerCorruptError", "LedgerError", "LedgerMissingError", "LedgerRolledBackError",
    "LedgerUnreachableError", "LedgerUnsafeError", "LedgerVersionError", "LedgerWriteError",
    "OptionError", "RequestError", "RequestReusedError", "SourceError", "needs_extra", "not_one_of",
    "one_of", "shown",
]  # fmt: skip


class HourglassError(Exception):
    """Base class of all errors raised by hourglass."""

    exit_code: ClassVar[int] = 1


class RequestError(HourglassError, ValueError):
    """The question cannot be answered as asked; raised before anything is read or charged."""

    exit_code = 2


class EpsilonError(RequestError):
    """Epsilon (or delta) is not a usable privacy parameter."""


class BoundsError(RequestError):
    """The bounds are missing, reversed, not finite or of the wrong type."""


class GridError(RequestError):
    """The grid is out of range, or too fine for the bounds."""


class DataError(RequestError, TypeError):
    """The data, or a column of it, cannot be used as asked."""


class OptionError(RequestError):
    """An option has an unsupported value."""


class BudgetError(HourglassError):
    """The ledger refused the charge or cannot be used; nothing was released."""

    exit_code = 3


class BudgetExceededError(BudgetError):
    """The price exceeds what remains; nothing was charged."""

    def __init__(
        self,
        message: str,
        *,
        requested: tuple[Fraction, Fraction],
        spent: tuple[Fraction, Fraction],
        remaining: tuple[Fraction, Fraction],
    ) -> None:
        """Each amount is an (epsilon, delta) pair."""
        super().__init__(message)
        self.requested = requested
        self.spent = spent
        self.remaining = remaining

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep all attributes when pickled."""
        return _exceeded, (str(self), self.requested, self.spent, self.remaining)


def _exceeded(
    message: str,
    requested: tuple[Fraction, Fraction],
    spent: tuple[Fraction, Fraction],
    remaining: tuple[Fraction, Fraction],
) -> BudgetExceededError:
    return BudgetExceededError(message, requested=requested, spent=spent, remaining=remaining)


class BudgetExistsError(BudgetError):
    """The ledger already has a budget of that name; it was not changed."""


class RequestReusedError(BudgetError):
    """The request key belongs to another question; nothing was charged."""


class ChargeClosedError(BudgetError):
    """An earlier version of hourglass gave the charge back, so no answer can be stored for it."""


class LedgerError(BudgetError):
    """The ledger itself cannot be used; nothing was released."""


class LedgerMissingError(LedgerError):
    """There is no such file, no ledger in it, or no budget of that name."""


class LedgerUnsafeError(LedgerError):
    """The ledger is a link, was moved or replaced, or is open to other users."""


class LedgerVersionError(LedgerError):
    """The database is not a ledger, or has a schema that this version does not know."""


class LedgerCorruptError(LedgerError):
    """Bytes have changed: the hash chain or the file is broken."""


class LedgerRolledBackError(LedgerError):
    """The ledger is older than an anchor says, or than this process has seen it."""


class LedgerBusyError(LedgerError):
    """Another process kept the ledger locked for longer than the wait."""


class LedgerUnreachableError(LedgerError):
    """The ledger's server does not answer."""


class LedgerWriteError(LedgerError):
    """The ledger cannot be written: read-only, disk full, or the disk fails."""


class GatewayError(HourglassError):
    """A gateway (``hg.connect``) refused a question or does not answer; ``code`` says why."""

    exit_code = 3

    def __init__(self, message: str, *, code: str) -> None:
        """``code`` is that of the gateway's reply, or "unreachable"."""
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep all attributes when pickled."""
        return _refused, (str(self), self.code)


def _refused(message: str, code: str) -> GatewayError:
    return GatewayError(message, code=code)


class SourceError(HourglassError):
    """The data could not be read, or an earlier error ended the question for good."""

    exit_code = 4


# --- how a message shows a value -----------------------------------------------------------

_LONGEST: Final = 60
_SCALARS: Final = (bool, int, float, complex, str, bytes, Fraction, Decimal, date, type(None))


def shown(value: Any) -> str:
    """The ``repr`` of a scalar, cut to 60 characters; of anything else, only its type.

    An option can be given a whole column by mistake (``by=frame.city``), and the ``repr`` of a
    column contains its cells. So a message never shows more of a value than this.
    """
    if isinstance(value, PurePath):
        value = str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, _SCALARS):
        return f"<{type(value).__name__}>"
    try:
        text = repr(value)
    except ValueError:  # Python does not print a number of thousands of digits
        return f"<{type(value).__name__} of thousands of digits>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def needs_extra(what: str, package: str, extra: str) -> str:
    """What is wrong if a package is not installed, and how to install it."""
    return (
        f"{what} needs the package {package}; install it with: pip install 'hourglass-dp[{extra}]'"
    )


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse an option that is not one of the names offered."""
    offered = tuple(choices)
    if not isinstance(value, str) or value not in offered:
        raise not_one_of(name, value, offered)


def not_one_of(name: str, value: Any, choices: Iterable[str]) -> OptionError:
    """The error for an option that is not one of the names offered."""
    return OptionError(f"{name}={shown(value)} is not one of {', '.join(choices)}")
