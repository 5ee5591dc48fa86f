"""The JSON API for scripts. Each function takes a call and returns one reply."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import JSONResponse, PlainTextResponse, Response

from .. import __version__
from ..ledger.entries import shown_number
from .accounts import Standing
from .catalogue import Dataset, Grouping
from .failures import Failure
from .holdings import Holding, choices
from .openapi import document
from .refusals import wrong_field
from .service import Asked, Found, State
from .web import Call

__all__ = ["ROUTES"]

_ASKED: Final = ("dataset", "columns", "by", "filter", "spread", "epsilon", "request")
_PLANNED: Final = ("dataset", "columns", "by", "filter", "spread", "epsilon", "records", "mean")
_TRUTHS: Final = {"": False, "false": False, "0": False, "true": True, "1": True}


def health(call: Call) -> Response:
    """Whether it runs."""
    return JSONResponse({"status": "ok", "version": __version__})


def openapi(call: Call) -> Response:
    """This API, described for programs."""
    return JSONResponse(document(call.state.catalogue.settings.title))


def metrics(call: Call) -> Response:
    """Counters, for owners."""
    call.needs("owner")
    desk = call.desk
    text = desk.metrics.text(desk.door.sessions, len(call.state.holdings))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def datasets(call: Call) -> Response:
    """What may be asked."""
    found = call.state.catalogue.datasets_of(call.person)
    return JSONResponse({"datasets": [described(call.state, each) for each in found.values()]})


def plan(call: Call) -> Response:
    """The price and the expected accuracy of a question; no data is read."""
    found = call.worth(from_address(call), call.query("records"), call.query("mean"))
    remaining = found.standing.remaining
    return JSONResponse(
        {
            **found.asked.facts,
            "columns": [
                {
                    "column": each.column,
                    "assumed_mean": each.mean,
                    "assumed_records": each.records,
                    "plus_minus": each.margin,
                    "confidence": 0.95,
                    "simulated": list(each.answers),
                }
                for each in found.previews
            ],
            "groups": found.groups,
            "threshold": found.threshold,
            "shown_with_probability": found.chance,
            "affordable": found.affordable,
            "remaining": shown_number(remaining.epsilon),
            "remaining_delta": shown_number(remaining.delta),
            "questions_left": found.questions_left,
        }
    )


def budget(call: Call) -> Response:
    """What the caller may still spend, budget by budget."""
    standings = call.state.standings(call.person)
    return JSONResponse({"budgets": [stood(name, each) for name, each in standings.items()]})


def ask(call: Call) -> Response:
    """Ask a question: it is charged once, and repeating it returns the same answer."""
    fields = call.json()
    _check_names(fields, "POST /releases", _ASKED, needed=("dataset", "epsilon", "request"))
    if call.visitor is not None and call.visitor.how == "session":
        raise Failure("not_signed_in")  # the session cookie is only for the page's own forms
    asked = call.asked(
        fields["dataset"],
        _columns(fields),
        _grouping(fields.get("by")),
        "" if fields.get("filter") is None else fields["filter"],
        fields.get("spread", False),
        fields["epsilon"],
    )
    answer = call.ask(asked, fields["request"])
    found = {"request": fields["request"], "budget": asked.dataset.budget}
    return JSONResponse(found | {"answer": answer.to_dict()})


def _check_names(
    fields: Any, where: str, known: tuple[str, ...], needed: tuple[str, ...] = ()
) -> None:
    """Refuse fields that are not known, which would have no effect, and those that are missing."""
    if set(fields) - {*known, "column"}:
        words = f"A field is not known here; {where} takes {', '.join(known)}."
        raise Failure("bad_fields", words=words, offered=known)
    for name in needed:
        if name not in fields:
            raise wrong_field(name, "missing; every question has one")


def _columns(fields: Any) -> Any:
    """The columns: as a list or, of one, as text; under either name."""
    given = [fields[name] for name in ("columns", "column") if name in fields]
    if len(given) != 1:
        words = "column means the same; give one of them" if given else "missing; name one or more"
        raise wrong_field("columns", words)
    return given if isinstance(given[0], str) else given[0]


def _grouping(by: Any) -> Any:
    """The name of a grouping: as text, as a list of columns, or none."""
    if by is None:
        return ""
    return ",".join(by) if isinstance(by, list) and all(type(b) is str for b in by) else by


def release(call: Call) -> Response:
    """A stored answer: the caller's own or, for readers and owners, anybody's."""
    where = call.request.path_params
    return JSONResponse(released(call.found(where["key"], where.get("person"))))


def from_address(call: Call) -> Asked:
    """The question in the query string, under the names of those in a body."""
    given = {name: call.queries(name) for name in call.request.query_params}
    _check_names(given, "GET /plan", _PLANNED)
    for name in set(given) - {"columns", "column", "by"}:
        if len(given[name]) > 1:
            raise wrong_field(name, "given more than once; give it once")
    spread = call.query("spread").lower()
    return call.asked(
        call.query("dataset"),
        _columns(given),
        ",".join(call.queries("by")),
        call.query("filter"),
        _TRUTHS.get(spread, spread),
        call.query("epsilon"),
    )


def described(state: State, dataset: Dataset) -> dict[str, Any]:
    """The public description of a dataset."""
    holding = state.holdings[dataset.name]
    return {
        "name": dataset.name,
        "title": dataset.title,
        "description": dataset.description,
        "unit": str(dataset.unit),
        "budget": dataset.budget,
        "epsilons": [shown_number(each) for each in dataset.epsilons],
        "columns": [
            {
                "name": each.name,
                "title": each.title,
                "bounds": list(each.bounds),
                "measured_in": each.measured_in,
                "description": each.description,
                "spread": each.spread,
            }
            for each in dataset.columns.values()
        ],
        "groups": [
            {"by": list(each.by), "title": each.title, **_names_of(each, holding)}
            for each in dataset.groupings.values()
        ],
        "filters": [
            {"name": each.name, "title": each.title, "where": each.where}
            for each in dataset.filters.values()
        ],
        "questions": [
            {
                "columns": list(each.columns),
                "by": each.grouping,
                "filter": each.filter,
                "spread": each.spread,
            }
            for each in choices(dataset)
        ],
    }


def _names_of(grouping: Grouping, holding: Holding) -> dict[str, Any]:
    """The public names of the groups, or the delta that answers with secret names take."""
    if grouping.delta:
        return {"keys": None, "delta": shown_number(grouping.delta)}
    return {"keys": holding.keys[grouping.name].written(), "delta": "0"}


def stood(name: str, standing: Standing) -> dict[str, Any]:
    """A standing as exact decimals: of epsilon and, with the suffix _delta, of delta.

    A person without an allowance of their own in a budget with slots or a filter has null.
    """
    whole = standing.budget
    amounts = {
        "remaining": standing.remaining,
        "allowance": standing.allowance,
        "spent": standing.spent,
        "budget_limit": whole.terms.limit,
        "budget_spent": whole.spent,
    }
    told: dict[str, Any] = {"budget": name, "rule": whole.terms.rule.name, "left": whole.left}
    for what, each in amounts.items():
        told[what] = None if each is None else shown_number(each.epsilon)
        told[f"{what}_delta"] = None if each is None else shown_number(each.delta)
    return told | whole.terms.rule.facts(whole.used)


def released(found: Found) -> dict[str, Any]:
    """A stored answer, with its charge."""
    charge = found.charge
    return {
        "request": found.key,
        "person": found.person,
        "dataset": found.dataset,
        "budget": found.budget,
        "question": charge.description,
        "epsilon": shown_number(charge.amount.epsilon),
        "delta": shown_number(charge.amount.delta),
        "at": charge.reserved,
        "answer": found.answer.to_dict(),
    }


#: address -> (method, function, whether anybody may call it)
ROUTES: Final = (
    ("/healthz", "GET", health, True),
    ("/openapi.json", "GET", openapi, True),
    ("/metrics", "GET", metrics, False),
    ("/datasets", "GET", datasets, False),
    ("/plan", "GET", plan, False),
    ("/budget", "GET", budget, False),
    ("/releases", "POST", ask, False),
    ("/releases/{key}", "GET", release, False),
    ("/releases/{person}/{key}", "GET", release, False),
)
