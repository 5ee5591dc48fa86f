"""The entries of a ledger and the hash chain through them.

An entry is a line of JSON that is never changed. Its hash covers the line and the hash of the entry
before it, so that a line cannot be altered, dropped, added or moved without breaking every later
hash. Entries are ordered by number, not by time; ``at`` is only informative. An answer is stored
beside its entry, which contains the answer's hash, so that a long chain can be verified without
reading the answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from ..errors import OptionError
from .values import Amount

__all__ = [
    "FIRST",
    "GENESIS",
    "Entry",
    "Row",
    "amount_fields",
    "answer_text",
    "digest",
    "make_row",
    "now",
    "ratio_text",
    "read_row",
]

#: The previous hash of the first entry.
GENESIS: Final = "0" * 64

#: The kinds of a budget's first entry, one for each rule. Versions that know only ``init`` refuse
#: the others, instead of adding up what has another rule.
FIRST: Final = frozenset({"init", "init-slots", "init-renyi"})

_KINDS: Final = FIRST | {"reserve", "reopen", "settle", "void"}
_DOMAIN: Final = b"hourglass-ledger-1\n"


@dataclass(frozen=True)
class Row:
    """An entry as it is stored: number, line and hash."""

    number: int
    body: str
    hash: str


@dataclass(frozen=True)
class Entry:
    """A parsed line: the previous hash, its kind, and the fields of that kind."""

    budget: str
    number: int
    previous: str
    kind: str
    at: str
    fields: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A field that must be text."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise ValueError(f"the field {name!r} is missing or not text")
        return value

    def whole(self, name: str) -> int:
        """A field that must be a whole number."""
        value = self.fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"the field {name!r} is missing or not a whole number")
        return value

    def ratio(self, name: str) -> Fraction:
        """A field that must be a ratio p/q."""
        try:
            return Fraction(self.text(name))
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"the field {name!r} is missing or not a ratio p/q") from None

    def amount(self) -> Amount:
        """The amount in the fields epsilon and delta."""
        try:
            return Amount(Fraction(self.text("epsilon")), Fraction(self.text("delta")))
        except (ValueError, ZeroDivisionError):
            raise ValueError("epsilon or delta is not an amount p/q") from None


def make_row(budget: str, number: int, previous: str, kind: str, fields: Mapping[str, Any]) -> Row:
    """The row with these fields, chained to the entry whose hash is ``previous``."""
    body = json.dumps(
        {
            "budget": budget,
            "number": number,
            "previous": previous,
            "kind": kind,
            "at": now(),
            **fields,
        },
        separators=(",", ":"),
        allow_nan=False,
    )
    return Row(number, body, _hash(body))


def read_row(row: Row) -> Entry:
    """Parse a row; a ValueError says what is wrong with it without quoting it."""
    if _hash(row.body) != row.hash:
        raise ValueError("the line and its hash do not belong together")
    try:
        fields = json.loads(row.body)
    except (ValueError, RecursionError):
        raise ValueError("the line is not JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("the line is not a JSON object")
    entry = Entry("", -1, "", "", "", fields)
    kind = entry.text("kind")
    if kind not in _KINDS:
        raise ValueError("the line is of an unknown kind, perhaps of a newer version")
    return Entry(
        budget=entry.text("budget"),
        number=entry.whole("number"),
        previous=entry.text("previous"),
        kind=kind,
        at=entry.text("at"),
        fields=fields,
    )


def amount_fields(amount: Amount) -> dict[str, str]:
    """The amount as the text p/q, which every language reads exactly."""
    return {"epsilon": ratio_text(amount.epsilon), "delta": ratio_text(amount.delta)}


def ratio_text(value: Fraction) -> str:
    """The number as p/q, even if q is 1."""
    return f"{value.numerator}/{value.denominator}"


def answer_text(answer: Mapping[str, Any]) -> str:
    """The answer as strict JSON, so that what is stored equals what is returned."""
    try:
        return json.dumps(dict(answer), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        raise OptionError(
            "answer: not JSON; give a dict of text, finite numbers, booleans, None, lists and dicts"
        ) from None


def digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def now() -> str:
    """The current time, in a readable form."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _hash(body: str) -> str:
    return hashlib.sha256(_DOMAIN + body.encode("utf-8", "surrogatepass")).hexdigest()
