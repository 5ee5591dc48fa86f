"""The entries of a ledger, the hash chain through them, and the values that they record.

Amounts are rationals and are stored as the text ``p/q``: ten times 0.1 is exactly 1, and a charge
of 1e-17 is not lost.

An entry is a line of JSON that is never changed. Its hash covers the line and the hash of the entry
before it, so that a line cannot be altered, dropped, added or moved without breaking every later
hash. Entries are ordered by number, not by time; ``at`` is only informative. An answer is stored
beside its entry, which contains the answer's hash, so that a long chain can be verified without
reading the answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, Literal

from ..core.exact import exact_number
from ..errors import EpsilonError, OptionError, shown

__all__ = [
    "FIRST", "GENESIS", "MAX_LIMIT", "Allowance", "Amount", "Anchor", "Charge", "Entry", "Fault",
    "Row", "StoredAnswer", "Verification", "amount_fields", "answer_text", "charged_amount",
    "checked_name", "checked_question", "checked_text", "digest", "limit_amount", "make_row", "now",
    "ratio_text", "read_row", "short_text", "shown_number", "shown_numbers",
]  # fmt: skip

# --- amounts and charges --------------------------------------------------------------------------

#: A total above this offers no protection.
MAX_LIMIT: Final = Fraction(10_000)
#: Longest numerator or denominator of an amount: more digits than any epsilon needs.
MAX_DIGITS: Final = 60
MAX_TEXT: Final = 200
#: Longest denominator of a sum, in bits, so that a sum can be written out.
MAX_SUM_BITS: Final = 8_000
#: How much of that is reserved for decimals, so that other fractions cannot crowd them out: the
#: least common multiple of denominators below 10**MAX_DIGITS that divide powers of ten is shorter.
DECIMAL_BITS: Final = 400

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_ANCHOR: Final = re.compile(r"hourglass-anchor:([A-Za-z0-9._-]+):(\d{1,18}):([0-9a-f]{64})")


@dataclass(frozen=True)
class Amount:
    """An exact price (epsilon, delta); amounts on overlapping data add up."""

    epsilon: Fraction
    delta: Fraction = field(default=Fraction(0))

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.epsilon - other.epsilon, self.delta - other.delta)

    def writable_with(self, spent: Amount) -> bool:
        """Whether the sum with what is spent is short enough to be written out exactly."""
        return all(
            (one + other).denominator.bit_length()
            <= MAX_SUM_BITS - (DECIMAL_BITS if 10**200 % one.denominator else 0)  # no decimal
            for one, other in ((self.epsilon, spent.epsilon), (self.delta, spent.delta))
        )

    def fits(self, room: Amount) -> bool:
        """Whether neither part exceeds that of the other amount."""
        return self.epsilon <= room.epsilon and self.delta <= room.delta

    def least(self, other: Amount) -> Amount:
        """The smaller of each part."""
        return Amount(min(self.epsilon, other.epsilon), min(self.delta, other.delta))

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        """The two parts as a plain pair."""
        return self.epsilon, self.delta

    @property
    def words(self) -> str:
        """The amount within a sentence."""
        return str(self).replace("=", " ")

    def __str__(self) -> str:
        text = f"epsilon={shown_number(self.epsilon)}"
        return text if self.delta == 0 else f"{text} and delta={shown_number(self.delta)}"


@dataclass(frozen=True)
class Allowance:
    """The limit on the charges of one person within a shared budget.

    A charge is that person's if its request key begins with their name and a slash.
    """

    person: str
    limit: Amount


@dataclass(frozen=True)
class Charge:
    """One charge: its price, its purpose and its state.

    ``open`` means charged without an answer: in progress, or ended by a crash. It counts as spent.
    Ledgers of earlier versions may contain ``void`` charges, which were given back and do not
    count. ``by`` is the PostgreSQL role that made the charge, if the entry says so.
    """

    number: int
    amount: Amount
    request: str
    question: str
    description: str
    reserved: str
    status: Literal["open", "settled", "void"] = "open"
    closed: str | None = None
    by: str | None = None
    answer_number: int | None = None
    answer_hash: str | None = None


@dataclass(frozen=True)
class Anchor:
    """A receipt: the ledger held this entry, with this hash, when the line was printed."""

    name: str
    number: int
    hash: str

    def __str__(self) -> str:
        return f"hourglass-anchor:{self.name}:{self.number}:{self.hash}"

    @classmethod
    def parse(cls, line: str | Anchor) -> Anchor:
        """Parse a printed anchor line."""
        if isinstance(line, Anchor):
            return line
        match = _ANCHOR.fullmatch(line.strip())
        if match is None:
            raise OptionError(
                f"anchor={line[:80]!r} is not an anchor line; give the whole line that "
                "`hourglass budget show` printed, beginning with hourglass-anchor:"
            )
        return cls(match[1], int(match[2]), match[3])


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it was stored under its request key."""

    request: str
    charge: int
    answer: dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """Something wrong in a ledger; ``number`` is the entry, None for the store itself."""

    number: int | None
    what: str

    def __str__(self) -> str:
        return self.what if self.number is None else f"entry {self.number}: {self.what}"


@dataclass(frozen=True)
class Verification:
    """The result of checking every entry; ``anchor`` is the last entry that was read."""

    name: str
    entries: int
    faults: tuple[Fault, ...]
    anchor: Anchor | None

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


# --- checks, and numbers as text ------------------------------------------------------------------


def limit_amount(epsilon: Any, delta: Any = 0) -> Amount:
    """The limit of a new budget; otherwise raises an EpsilonError."""
    exact = _exact("epsilon", epsilon, "give the limit on the total of all charges, such as 1")
    if not 0 < exact <= MAX_LIMIT:
        raise EpsilonError(
            f"epsilon={shown(epsilon)} is outside (0, {MAX_LIMIT}]; a budget is a positive "
            "total, commonly between 0.1 and 20"
        )
    return Amount(exact, _delta(delta))


def charged_amount(epsilon: Any, delta: Any = 0) -> Amount:
    """The price of one release, which must be positive; otherwise raises an EpsilonError."""
    exact = _exact("epsilon", epsilon, "give the release's epsilon, such as 0.1")
    if exact <= 0:
        raise EpsilonError(f"epsilon={shown(epsilon)} is not positive; no release is free")
    return Amount(exact, _delta(delta))


def checked_name(name: Any) -> str:
    """Check a budget's name."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        swapped = isinstance(name, str) and ("/" in name or name.endswith((".db", ".ledger")))
        raise OptionError(
            f"budget name {shown(name)} is not usable; use 1 to 100 letters, digits, dots, "
            "dashes and underscores, beginning with a letter or a digit"
            + ("; in Python the ledger comes before the name" if swapped else "")
        )
    return name


def checked_question(question: Any) -> str:
    """Check the text of a question."""
    if not isinstance(question, str) or not question:
        raise OptionError("question: not a string; give the whole question as canonical JSON")
    return question


def checked_text(what: str, text: Any, *, empty: bool = False) -> str:
    """Check a short printable text such as a request key."""
    good = isinstance(text, str) and len(text) <= MAX_TEXT and text.isprintable()
    if not good or text != text.strip() or not (text or empty):
        raise OptionError(
            f"{what}={shown(text)} is not usable; give at most {MAX_TEXT} printable characters "
            "without spaces at the ends" + ("" if empty else ", and at least one")
        )
    return str(text)


def short_text(text: str) -> str:
    """The text as :func:`checked_text` accepts it: printable, and cut if it is long."""
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text).strip()
    short = len(printable) <= MAX_TEXT
    return printable if short else f"{printable[: MAX_TEXT - 3].rstrip()}..."


def shown_number(value: Fraction, *, powers: bool = False) -> str:
    """The number as a decimal of up to 30 places, else as p/q if short, with an approximation.

    A small decimal is written with a power of ten, such as 1e-6; with ``powers`` every one is.
    """
    for places in range(31):
        scaled = value * 10**places
        if scaled.denominator == 1:
            with localcontext(prec=2 * MAX_DIGITS):
                decimal = Decimal(scaled.numerator).scaleb(-places).normalize()
                tiny = value != 0 and (powers or _is_small(value))
                return f"{decimal:e}" if tiny else f"{decimal:f}"
    about = f"about {float(value):.6g}"
    return about if value.denominator >= 10**12 else f"{value} ({about})"


def shown_numbers(values: Iterable[Fraction]) -> list[str]:
    """The numbers of one table, in one notation: if one has a power of ten, all have."""
    found = list(values)
    powers = any(map(_is_small, found))
    return [shown_number(value, powers=powers) for value in found]


def _is_small(value: Fraction) -> bool:
    return 0 < abs(value) < Fraction(1, 10_000)


def _delta(delta: Any) -> Fraction:
    exact = _exact("delta", delta, "give 0, or a number such as 1e-9")
    if not 0 <= exact < 1:
        raise EpsilonError(
            f"delta={shown(delta)} is outside [0, 1); give 0, or a small number such as 1e-9"
        )
    return exact


def _exact(what: str, value: Any, remedy: str) -> Fraction:
    exact = exact_number(value)
    if exact is None:
        raise EpsilonError(f"{what}={shown(value)} is not a number; {remedy}")
    if max(abs(exact.numerator), exact.denominator) >= 10**MAX_DIGITS:
        raise EpsilonError(
            f"{what}={shown(value)} has more than {MAX_DIGITS} digits as a ratio; round it up"
        )
    return exact


# --- entries --------------------------------------------------------------------------------------

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
        return Amount(self.ratio("epsilon"), self.ratio("delta"))


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
