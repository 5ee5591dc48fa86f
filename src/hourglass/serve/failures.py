"""Everything that can go wrong, each with a code, a status and a fixed sentence.

Some failures replace the sentence by one that names the argument and lists what the catalogue
offers (:mod:`.refusals`). No sentence quotes what was sent, and none comes from an engine or a
ledger, whose messages could reveal more than the caller may know.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from ..errors import (
    BudgetExceededError,
    HourglassError,
    LedgerBusyError,
    RequestReusedError,
)
from ..ledger.entries import shown_number

__all__ = ["FAILURES", "Failure", "exceeded", "failure_of"]

Pair = tuple[Fraction, Fraction]

#: code -> (HTTP status, sentence)
FAILURES: Final[dict[str, tuple[int, str]]] = {
    "not_signed_in": (401, "Sign in, or send a valid access token."),
    "not_allowed": (403, "Your role does not allow this. Ask the owner of the service."),
    "cross_site": (
        403,
        "This came from another site, or from a form that is too old. Reload the page, then try "
        "again.",
    ),
    "wrong_host": (400, "This service does not answer under that host name."),
    "not_by_proxy": (403, "This service can be reached only through its proxy."),
    "not_found": (404, "There is no such page."),
    "no_such_dataset": (404, "There is no such dataset, or it is not open to you."),
    "no_such_answer": (404, "There is no answer under this key, or it is not open to you."),
    "method_not_allowed": (405, "This address does not take that method."),
    "too_slow": (408, "The request took too long to arrive."),
    "key_reused": (409, "This request key belongs to another question. Choose another key."),
    "failed_before": (
        410,
        "This question failed after its noise was drawn, so it is never answered. The charge "
        "stands. Ask under another key, which is charged again.",
    ),
    "two_lengths": (400, "The request states its length in two ways."),
    "cut_off": (400, "The connection ended before the whole request had arrived."),
    "too_large": (413, "The request is too large."),
    "not_json": (400, "Send a JSON object, with the content type application/json."),
    "bad_fields": (422, "A field is missing, unknown or of the wrong type; see /openapi.json."),
    "bad_key": (
        422,
        "The request key is missing or not usable. Take 1 to 100 letters, digits, dots, dashes, "
        "colons and underscores, beginning with a letter or a digit.",
    ),
    "not_offered": (422, "These columns and groups are not offered together; see /datasets."),
    "bad_epsilon": (422, "This epsilon is not one of those offered; see /datasets."),
    "bad_assumption": (
        422,
        "The number of records or the mean that the preview is to assume is not usable.",
    ),
    "budget_exceeded": (
        402,
        "The budget or your allowance does not cover this question. Nothing was charged.",
    ),
    "too_fast": (429, "Too many requests. Wait a little and try again."),
    "ledger_busy": (503, "The budget is in use. Try again with the same request key."),
    "unavailable": (
        503,
        "The service cannot answer now. Try again later, with the same request key.",
    ),
    "internal": (
        500,
        "Something went wrong. If the question was charged, the same request key returns its "
        "answer at no further cost.",
    ),
}


class Failure(Exception):  # noqa: N818 - it is an answer, too
    """A request that is not answered as asked; ``facts`` are public facts to add to the code."""

    def __init__(self, code: str, *, words: str = "", **facts: Any) -> None:
        """One of the codes above, with its own sentence or another."""
        super().__init__(code)
        self.code = code
        self.status, sentence = FAILURES[code]
        self.message = words or sentence
        self.facts = facts

    def to_dict(self) -> dict[str, Any]:
        """The body of the reply."""
        return {"error": {"code": self.code, "message": self.message, **self.facts}}


def exceeded(requested: Pair, remaining: Pair) -> Failure:
    """Too little is left of epsilon, of delta, or of both."""
    facts = {
        f"{what}{part}": shown_number(max(Fraction(0), amount))
        for part, asked, left in zip(("", "_delta"), requested, remaining, strict=True)
        if asked > left
        for what, amount in (("requested", asked), ("remaining", left))
    }
    return Failure("budget_exceeded", **facts)


def failure_of(error: BaseException) -> Failure:
    """The failure that replaces one of our errors; nothing of its message is kept."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, BudgetExceededError):
        return exceeded(error.requested, error.remaining)
    if isinstance(error, RequestReusedError):
        return Failure("key_reused")
    if isinstance(error, LedgerBusyError):
        return Failure("ledger_busy")
    if isinstance(error, HourglassError):
        return Failure("unavailable")
    return Failure("internal")
