"""Public keys as values of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import OptionError
from .key_columns import KeyColumn

__all__ = ["LONGEST", "key_column", "key_value"]

#: The longest name of a group or a person, in bytes of UTF-8; a longer text is treated as NULL.
LONGEST: Final = 4096
#: The longest integer, in bits; Python refuses to print one that is much longer.
LONGEST_INTEGER: Final = 4096


def key_column(
    values: Sequence[Any] | npt.NDArray[Any], kind: str, column: str, *, written: bool = True
) -> KeyColumn:
    """One part of all public keys, as values of a column of this kind.

    ``written`` is for the text of a file that declares no types, where a whole number is looked up
    as it is written.

    Integers for a column of integers and strings for a column of text are checked all at once;
    other values are converted one by one.
    """
    if isinstance(values, range) and abs(values.start) < 2**62 > abs(values.stop):
        values = np.arange(values.start, values.stop, values.step)
    if isinstance(values, np.ndarray):
        if kind == "integer" and values.dtype.kind in "iu":
            return KeyColumn.of(values)
        values = values.tolist()
    types = set(map(type, values))
    if kind == "text" and types == {str} and _short(values):
        return KeyColumn.of(values)
    if kind == "integer" and types == {int}:
        found = KeyColumn.of(values)
        if found.whole or max(map(int.bit_length, values)) <= LONGEST_INTEGER:
            return found
    return KeyColumn.of(
        [key_value(v, kind, column, place, written=written) for place, v in enumerate(values)]
    )


def _short(texts: Any) -> bool:
    """Whether all strings are valid, and short enough whatever their characters are."""
    try:
        "".join(texts).encode()
    except ValueError:
        return False
    return max(map(len, texts)) <= LONGEST // 4


def key_value(value: Any, kind: str, column: str, place: int = 0, *, written: bool = True) -> Any:
    """One part of a public key as a value of a column of this kind; None is NULL."""
    if hasattr(value, "item"):
        value = value.item()
    if _absent(value):
        return None
    number = kind == "text" and not isinstance(value, str)
    found = None if number and not written else _CONVERT[kind](value)
    if found is None:
        raise OptionError(f"keys[{place}] is {_unfit(value, kind, column)}")
    return found


_HELD: Final = {
    "text": "text", "integer": "whole numbers", "boolean": "booleans", "date": "dates"
}  # fmt: skip


def _unfit(value: Any, kind: str, column: str) -> str:
    """What is wrong with a key, and the remedy; the key itself may be a cell and is not shown."""
    if kind == "text" and isinstance(value, str):
        return f"not usable text for column {column!r}; give text of up to {LONGEST} bytes of UTF-8"
    what = "text" if isinstance(value, str) else f"a value of type {type(value).__name__}"
    if kind == "integer" and isinstance(value, int) and not isinstance(value, bool):
        what = f"a number of more than {LONGEST_INTEGER} bits"
    form = {"boolean": ": True or False", "date": " such as 2026-01-31"}.get(kind, "")
    if kind == "text":
        form = ", numbers too: in quotes, exactly as they are written in the column"
    return f"{what}, but column {column!r} holds {_HELD[kind]}; give {_HELD[kind]}{form}"


def _absent(value: Any) -> bool:
    """Whether a value is None or a frame's missing value: NaN, NA, NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if not isinstance(value, str | int):
        return None
    try:
        return str(value) if len(str(value).encode()) <= LONGEST else None
    except ValueError:  # a lone surrogate, or an integer of thousands of digits
        return None


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas turns integers with a missing value into floats
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value.bit_length() <= LONGEST_INTEGER else None


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _date(value: Any) -> date | None:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return value if type(value) is date else None


_CONVERT = {"text": _text, "integer": _integer, "boolean": _boolean, "date": _date}
