"""How the versions before slots and filters read a line of a ledger, and what they accept first.

Copied from their ``entries.py`` and ``replay.py``, reduced to what decides about a first entry.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

KINDS = frozenset({"init", "reserve", "reopen", "settle", "void"})


def first_limit(body: str, hash_: str) -> tuple[Fraction, Fraction]:
    """The limit of the plain sum that an earlier version enforces; ValueError if it refuses."""
    if hashlib.sha256(b"hourglass-ledger-1\n" + body.encode()).hexdigest() != hash_:
        raise ValueError("the line and its hash do not belong together")
    fields = json.loads(body)
    if fields["kind"] not in KINDS:
        raise ValueError("the line is of an unknown kind")
    if (fields["kind"] == "init") != (fields["number"] == 0):
        raise ValueError("only the first entry opens a budget")
    return Fraction(fields["epsilon"]), Fraction(fields["delta"])
