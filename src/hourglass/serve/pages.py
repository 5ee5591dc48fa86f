"""The web pages, rendered on the server; they work without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from ..ask.options import Conditions
from ..ledger import Amount, Charge
from ..ledger.entries import shown_number
from ..release.rendering import counts_persons, decimals_for, hidden, number
from .accounts import owner_of
from .catalogue import Catalogue, Dataset
from .charts import LABEL, strip
from .failures import Failure
from .holdings import Choice, column_sets
from .refusals import not_a_set
from .service import Asked, Found, dataset_of
from .shown import as_csv, chance_words, delta_words, picture, price_words, python_of, table_of
from .titles import Titles
from .tokens import random_text
from .web import Call, cookie_name

__all__ = ["ROUTES", "told_as_page"]

HERE: Final = Path(__file__).parent


def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "exact": shown_number,
        "tiny": delta_words,
        "price": price_words,
        "chance": chance_words,
        "near": lambda value, error: number(value, decimals_for(error)),
        "when": lambda text: text[:16].replace("T", " "),
        "count": lambda value: f"{value:,}",
        "counted_as": lambda unit: "persons" if counts_persons(str(unit)) else "records",
    }
    return found


_PAGES: Final = _environment()


def _called(catalogue: Catalogue, name: str) -> str:
    """What the page calls a person, and the name in the catalogue and the ledger if it differs."""
    person = catalogue.people.get(name)
    return name if person is None or person.shown == name else f"{person.shown} ({name})"


def _page(call: Call, name: str, status: int = 200, **values: Any) -> Response:
    visitor = call.visitor
    text = _PAGES.get_template(name).render(
        title=call.state.catalogue.settings.title,
        person=visitor.person if visitor else None,
        called=partial(_called, call.state.catalogue),
        form_key=call.desk.door.form_key(visitor) if visitor else "",
        here=call.request.scope["path"],
        **values,
    )
    return HTMLResponse(text, status)


def told_as_page(call: Call, failure: Failure) -> Response:
    """A failure as a page; people who are not signed in are asked to sign in."""
    if failure.code == "not_signed_in" and call.request.method == "GET":
        return RedirectResponse("/login", 303)
    return _page(call, "failure.html", failure.status, failure=failure)


# --- signing in ----------------------------------------------------------------------------------


def login(call: Call) -> Response:
    """The form that takes a token, or the button of a login link."""
    if call.visitor is not None:
        return RedirectResponse("/", 303)
    return _page(call, "login.html", code=call.query("code"), wrong=False)


def enter(call: Call) -> Response:
    """Open a session for a token or an unused link."""
    fields, state, door = call.form(), call.state, call.desk.door
    if code := fields.get("code", ""):
        person = door.follow(state.catalogue, code)
    else:
        found = door.by_token(state.catalogue, fields.get("token", "").strip())
        person = found.person if found else None
    if person is None:
        # Strangers cannot fill the disk of the journal.
        call.desk.strangers.check(call.address)
        call.service.journal.write("refused sign in", None)
        return _page(call, "login.html", 401, code="", wrong=True)
    call.desk.requests.check(person.name)
    call.service.journal.write("sign in", person.name)
    reply = RedirectResponse("/", 303)
    reply.set_cookie(cookie_name(state), door.open_session(person), **_cookie(call))
    return reply


def _cookie(call: Call) -> dict[str, Any]:
    """What a browser needs to take the cookie, and to forget it."""
    secure = call.state.catalogue.settings.secure
    return {"httponly": True, "samesite": "lax", "secure": secure, "path": "/"}


def leave(call: Call) -> Response:
    """The end of a session."""
    call.form()
    if call.visitor is not None:
        call.desk.door.close_session(call.visitor)
        call.service.journal.write("sign out", call.visitor.person.name)
    reply = RedirectResponse("/login", 303)
    reply.delete_cookie(cookie_name(call.state), **_cookie(call))
    return reply


# --- asking -------------------------------------------------------------------------------------


def catalogue(call: Call) -> Response:
    """What may be asked, and what is left to spend."""
    standings = call.state.standings(call.person)
    found = call.state.catalogue.datasets_of(call.person)
    return _page(call, "catalogue.html", datasets=found, standings=standings, hidden=hidden)


def _asked(call: Call, fields: Any) -> Asked:
    """The question in the fields of the form; by default the first that is offered."""
    dataset = call.state.dataset(call.person, call.request.path_params["dataset"])
    sets = {_set_name(each): each for each in column_sets(dataset)}
    what = fields.get("what", next(iter(sets)))
    if what not in sets:
        raise not_a_set(dataset)
    middle = dataset.epsilons[len(dataset.epsilons) // 2]
    return call.asked(
        dataset.name,
        sets[what],
        fields.get("by", ""),
        fields.get("filter", ""),
        fields.get("spread", "") == "1",
        fields.get("epsilon", shown_number(middle)),
    )


def _set_name(columns: tuple[str, ...]) -> str:
    return " + ".join(columns)


def _worth(call: Call, asked: Asked, fields: Any) -> dict[str, Any]:
    """The preview, computed from assumed data."""
    found = call.worth(asked, fields.get("records"), fields.get("mean"))
    pictures = [
        (each, strip(each.answers, each.mean, each.margin, share=each.share))
        for each in found.previews
    ]
    return {"asked": asked, "worth": found, "previews": pictures, "exact": shown_number}


def question(call: Call) -> Response:
    """The form of a question, beside the preview of its answer."""
    fields = dict(call.request.query_params)
    dataset = call.state.dataset(call.person, call.request.path_params["dataset"])
    trouble, worth = None, None
    while worth is None:
        try:
            asked = _asked(call, fields)
            worth = _worth(call, asked, fields)
        except Failure as failure:  # what is wrong is reported and left out, the rest kept
            wrong = failure.facts.get("argument", "")
            wrong = "what" if wrong == "columns" else wrong
            if wrong not in fields:
                raise
            trouble = trouble or failure
            fields = {name: value for name, value in fields.items() if name != wrong}
    return _page(
        call,
        "question.html",
        dataset=dataset,
        sets=[(_set_name(each), each) for each in column_sets(dataset)],
        what=_set_name(asked.choice.columns),
        fields=fields,
        trouble=trouble,
        hidden=hidden,
        **worth,
    )


def fragment(call: Call) -> Response:
    """Only the preview, for the script."""
    fields = dict(call.request.query_params)
    return _page(call, "preview.html", **_worth(call, _asked(call, fields), fields))


def confirm(call: Call) -> Response:
    """The question again, with its price and a request key, which is part of the URL.

    A question that is not offered leads back to its form, which says what is wrong.
    """
    fields = dict(call.request.query_params)
    try:
        asked = _asked(call, fields)
        worth = _worth(call, asked, fields)
    except Failure as failure:
        if "argument" not in failure.facts:
            raise
        form = call.request.scope["path"].removesuffix("/confirm")
        kept = urlencode({name: text for name, text in fields.items() if name != "key"})
        return RedirectResponse(f"{form}?{kept}", 303)
    if not fields.get("key"):
        wanted = _address(asked) | {n: fields[n] for n in ("records", "mean") if fields.get(n)}
        address = urlencode(wanted | {"key": random_text(2).replace("_", "-").strip("-")})
        return RedirectResponse(f"{call.request.scope['path']}?{address}", 303)
    try:
        answered = call.found(fields["key"])
    except Failure as failure:
        if failure.code != "no_such_answer":
            raise
        answered = None
    return _page(
        call,
        "confirm.html",
        dataset=asked.dataset,
        key=fields["key"],
        hidden_fields=_address(asked),
        back=urlencode({n: v for n, v in fields.items() if n != "key"}),
        answered=answered,
        hidden=hidden,
        **worth,
    )


def _address(asked: Asked) -> dict[str, str]:
    choice: Choice = asked.choice
    found = {"what": _set_name(choice.columns), "by": choice.grouping, "filter": choice.filter}
    return found | {"spread": "1" if choice.spread else "", "epsilon": shown_number(asked.epsilon)}


def ask(call: Call) -> Response:
    """Charge and answer; the same form sent twice leads to the same answer."""
    fields = call.form()
    key = fields.get("key", "")
    call.ask(_asked(call, fields), key)
    return RedirectResponse(f"/answers/{call.person.name}/{key}", 303)


# --- reading ------------------------------------------------------------------------------------


def answer(call: Call, format_: str = "html") -> Response:
    """An answer: table, chart, statement, and downloads."""
    where = call.request.path_params
    found = call.found(where["key"], where["person"])
    if format_ == "csv":
        name = f'attachment; filename="{found.key}.csv"'
        return Response(
            as_csv(found.answer), media_type="text/csv", headers={"Content-Disposition": name}
        )
    settings = call.state.catalogue.settings
    url = settings.url or str(call.request.base_url).rstrip("/")
    dataset = call.state.catalogue.datasets.get(found.dataset)
    titles = Titles(dataset)
    return _page(
        call,
        "answer.html",
        found=found,
        asked=titles.question(found.charge, call.state.holdings.get(found.dataset)),
        dataset=dataset,
        table=table_of(found.answer, titles),
        threshold=found.answer.threshold if found.answer.by else None,
        pictures=picture(found.answer, titles),
        label=LABEL,
        statement=found.answer.statement(budget=call.state.budgets[found.budget]).words.split("\n"),
        python=python_of(found, url, _filter_of(found, dataset)),
    )


def _filter_of(found: Found, dataset: Dataset | None) -> str:
    """The name of an answer's filter, found by its canonical spelling."""
    for each in dataset.filters.values() if dataset else ():
        if found.answer.where == Conditions.of(each.where, ()).text:
            return each.name
    return ""


def history(call: Call) -> Response:
    """The caller's questions; for readers and owners also those of others."""
    person = call.person
    everyone = person.may("reader", "owner") and call.query("who") == "all"
    open_to = call.state.catalogue.datasets_of(person)
    charges = [
        (_listed(call, charge, open_to), charge, *owner_of(charge))
        for _, charge in call.state.history(person, everyone=everyone)
    ]
    return _page(call, "history.html", charges=charges, everyone=everyone)


def _listed(call: Call, charge: Charge, open_to: Mapping[str, Dataset]) -> str:
    """A question in a list, with the dataset; one that the person may not use has no titles."""
    dataset = open_to.get(dataset_of(charge))
    if dataset is None:
        return charge.description
    asked = Titles(dataset).question(charge, call.state.holdings.get(dataset.name))
    return f"{dataset.title}: {asked}"


def owner(call: Call, verified: Any = None) -> Response:
    """Who spent what, the anchor of each budget, and the verification of its entries."""
    call.needs("owner")
    state, budgets = call.state, []
    for name, entry in state.catalogue.budgets.items():
        balance, charges = state.budgets[name].state()
        spent: dict[str, Any] = {}
        for charge in charges:
            if charge.status != "void":
                whose = owner_of(charge)[0] or "(outside of this service)"
                count, amount = spent.get(whose, (0, Amount(Fraction(0))))
                spent[whose] = (count + 1, amount + charge.amount)
        rows = [
            (whose, count, amount, entry.allowance_of(whose))
            for whose, (count, amount) in sorted(spent.items())
        ]
        budgets.append((name, entry, balance, rows))
    return _page(call, "owner.html", budgets=budgets, verified=verified or {})


def verify(call: Call) -> Response:
    """Verify every entry of every budget, and show all faults."""
    call.form()
    call.needs("owner")
    call.service.journal.write("verify", call.person.name)
    return owner(call, {name: each.verify() for name, each in call.state.budgets.items()})


#: address -> (method, function, whether anybody may call it)
ROUTES: Final = (
    ("/login", "GET", login, True),
    ("/login", "POST", enter, True),
    ("/logout", "POST", leave, True),
    ("/", "GET", catalogue, False),
    ("/ask/{dataset}", "GET", question, False),
    ("/ask/{dataset}", "POST", ask, False),
    ("/ask/{dataset}/preview", "GET", fragment, False),
    ("/ask/{dataset}/confirm", "GET", confirm, False),
    ("/answers/{person}/{key}", "GET", answer, False),
    ("/answers/{person}/{key}/csv", "GET", partial(answer, format_="csv"), False),
    ("/history", "GET", history, False),
    ("/owner", "GET", owner, False),
    ("/owner/verify", "POST", verify, False),
)
