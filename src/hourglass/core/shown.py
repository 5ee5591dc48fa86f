"""How a message names what was given: a plain scalar by its value, all else by its type.

An option can be given a whole column by mistake (``by=frame.city``), and the text of a column
holds its cells. So a message never prints more of a value than this.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final

import numpy as np

from ..errors import OptionError

__all__ = ["one_of", "shown"]

_LONGEST: Final = 60
_SCALARS: Final = (bool, int, float, complex, str, bytes, Fraction, Decimal, date, type(None))


def shown(value: Any) -> str:
    """A scalar as Python prints it, cut to 60 characters; anything else by its type."""
    if isinstance(value, PurePath):
        value = str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, _SCALARS):
        return f"<{type(value).__name__}>"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """Refuse an option that is not one of the names offered."""
    offered = tuple(choices)
    if not isinstance(value, str) or value not in offered:
        raise OptionError(f"{name}={shown(value)} is not one of {', '.join(offered)}")
