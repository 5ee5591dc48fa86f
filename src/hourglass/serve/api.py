"""The JSON API: what scripts use. Each function takes a call and makes one reply."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import JSONResponse, PlainTextResponse, Response

from .. import __version__
from ..ledger.values import shown_number
from .accounts import Standing
from .catalogue import Dataset
from .failures import Failure
from .holdings import choices
from .openapi import document
from .previews import preview
from .service import Asked, Found, State
from .web import Call

__all__ = ["ROUTES"]

_ASKED: Final = {"dataset", "columns", "by", "filter", "spread", "epsilon", "request"}


def health(call: Call) -> Response:
    """Whether it runs."""
    return JSONResponse({"status": "ok", "version": __version__})


def openapi(call: Call) -> Response:
    """This API, described for programs."""
    return JSONResponse(document(call.state.catalogue.settings.title))


def metrics(call: Call) -> Response:
    """Counters, for owners."""
    if not call.person.may("owner"):
        raise Failure("not_allowed")
    desk = call.desk
    text = desk.metrics.text(desk.door.sessions, len(call.state.holdings))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def datasets(call: Call) -> Response:
    """What may be asked."""
    found = call.state.catalogue.datasets_of(call.person)
    return JSONResponse({"datasets": [described(call.state, each) for each in found.values()]})


def plan(call: Call) -> Response:
    """What a question would cost and be worth; no data is touched."""
    asked = from_address(call)
    holding = call.state.holdings[asked.dataset.name]
    previews = preview(asked, holding, call.query("records"), call.query("mean"))
    standing = call.state.account(call.person, asked.dataset.budget).standing()
    return JSONResponse(
        {
            **asked.facts,
            "columns": [
                {
                    "column": each.column,
                    "pretended_mean": each.mean,
                    "pretended_records": each.records,
                    "plus_minus": each.margin,
                    "confidence": 0.95,
                    "simulated": list(each.answers),
                }
                for each in previews
            ],
            "affordable": asked.epsilon <= standing.remaining,
            "remaining": shown_number(standing.remaining),
            "questions_left": standing.questions_left(asked.epsilon),
        }
    )


def budget(call: Call) -> Response:
    """What the caller may still spend, budget by budget."""
    person, state = call.person, call.state
    names = state.catalogue.budgets_of(person)
    standings = {name: state.account(person, name).standing() for name in names}
    return JSONResponse({"budgets": [stood(name, each) for name, each in standings.items()]})


def ask(call: Call) -> Response:
    """A question: charged once, answered, and answered the same ever after."""
    fields = call.json()
    if set(fields) - _ASKED or {"dataset", "columns", "epsilon", "request"} - set(fields):
        raise Failure("bad_fields")
    person = call.person
    if call.visitor is not None and call.visitor.how == "session":
        raise Failure("not_signed_in")  # the page's cookie is for the page's own forms
    call.desk.questions.check(person.name)
    asked = call.service.asked(
        person,
        fields["dataset"],
        fields["columns"],
        _grouping(fields.get("by")),
        "" if fields.get("filter") is None else fields["filter"],
        fields.get("spread", False),
        fields["epsilon"],
    )
    answer = call.service.ask(person, asked, fields["request"])
    return JSONResponse({"request": fields["request"], "answer": answer.to_dict()})


def _grouping(by: Any) -> Any:
    """The name of a grouping: as text, as a list of columns, or none."""
    if by is None:
        return ""
    return ",".join(by) if isinstance(by, list) and all(type(b) is str for b in by) else by


def release(call: Call) -> Response:
    """An answer that was given before: one's own, or anybody's for readers."""
    where = call.request.path_params
    found = call.service.answer(call.person, where["key"], where.get("person"))
    return JSONResponse(released(found))


def from_address(call: Call) -> Asked:
    """The question that an address spells."""
    return call.service.asked(
        call.person,
        call.query("dataset"),
        call.queries("column"),
        call.query("by"),
        call.query("filter"),
        call.query("spread") in ("true", "1"),
        call.query("epsilon"),
    )


def described(state: State, dataset: Dataset) -> dict[str, Any]:
    """A dataset, in public words."""
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
                "unit": each.unit,
                "description": each.description,
                "spread": each.spread,
            }
            for each in dataset.columns.values()
        ],
        "groups": [
            {"by": list(each.by), "keys": holding.keys[each.name].written()}
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


def stood(name: str, standing: Standing) -> dict[str, Any]:
    """A standing as exact decimals."""
    whole = standing.budget
    return {
        "budget": name,
        "remaining": shown_number(standing.remaining),
        "allowance": shown_number(standing.allowance.epsilon),
        "spent": shown_number(standing.spent.epsilon),
        "budget_limit": shown_number(whole.terms.limit.epsilon),
        "budget_spent": shown_number(whole.spent.epsilon),
    }


def released(found: Found) -> dict[str, Any]:
    """A stored answer, with what paid for it."""
    charge = found.charge
    return {
        "request": found.key,
        "person": found.person,
        "dataset": found.dataset,
        "question": charge.description,
        "epsilon": shown_number(charge.amount.epsilon),
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
