"""Guards of the service, one by one: each test fails if its guard is taken away."""

from __future__ import annotations

import hmac
import json
import logging
import os
import socket
import stat
import time
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.errors import (
    BudgetExceededError,
    LedgerError,
    LedgerMissingError,
    OptionError,
    SourceError,
)
from hourglass.ledger import Amount, create_budget
from hourglass.mechanisms.count import LaplaceCount
from hourglass.serve import checking, connections, limits, server
from hourglass.serve.accounts import Standing
from hourglass.serve.api import ROUTES as API
from hourglass.serve.catalogue import Catalogue, Person
from hourglass.serve.failures import FAILURES, Failure, failure_of
from hourglass.serve.holdings import Choice, _question
from hourglass.serve.journal import Journal
from hourglass.serve.limits import Rates
from hourglass.serve.pages import ROUTES as PAGES
from hourglass.serve.people import Door, Visitor
from hourglass.serve.previews import _chance, _records
from hourglass.serve.reading import CatalogueError, read_catalogue, read_text
from hourglass.serve.server import _Reloading
from hourglass.serve.service import load
from hourglass.serve.tokens import hashed, matching, token

from .support import CANARY, Place, asking, serving
from .test_attacks import form_key, signed_in

pytestmark = pytest.mark.attack

# --- every reply ----------------------------------------------------------------------------

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@pytest.mark.slow
@pytest.mark.enumeration
def test_no_reply_is_kept_or_framed(running: Place) -> None:
    """Every route, also where it fails; browsers and proxies keep nothing but static files."""
    places = [(path, method) for path, method, *_ in (*API, *PAGES)]
    places += [("/none", "GET"), ("/budget", "DELETE"), ("/static/style.css", "GET")]
    with running.client("olga") as olga, running.client() as stranger:
        for (path, method), client in product(places, (olga, stranger)):
            path = path.replace("{dataset}", "clinic").replace("{person}", "ana")
            reply = client.request(method, path.replace("{key}", "k"))
            assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS, path
            static = path.startswith("/static/")
            assert reply.headers["cache-control"] == ("max-age=3600" if static else "no-store")


# --- who may what ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_dataset_for_nobody_is_for_nobody(running: Place) -> None:
    """An empty list of people is not a missing one."""
    text = running.text().replace('people = ["ben"]', "people = []")
    found = read_text(text, running.path)
    seen = {
        name: (set(found.datasets_of(person)), set(found.budgets_of(person)))
        for name, person in found.people.items()
    }
    everybody = ({"clinic"}, {"main"})
    whole = ({"clinic", "secret"}, {"main", "other"})
    assert seen == dict.fromkeys(seen, everybody) | {"olga": whole}


def test_a_budget_of_closed_datasets_is_closed(running: Place) -> None:
    with running.client("ana") as ana, running.client("ben") as ben:
        seen = [
            [each["budget"] for each in client.get("/budget").json()["budgets"]]
            for client in (ana, ben)
        ]
    assert seen == [["main"], ["main", "other"]]


def test_only_owners_verify_and_only_by_their_form(running: Place) -> None:
    before = running.journal.count('"verify"')
    with signed_in(running, "ana") as ana, signed_in(running, "olga") as olga:
        mine = {"form_key": form_key(ana)}
        assert ana.post("/owner/verify", data=mine).status_code == 403
        assert olga.post("/owner/verify", data=mine).status_code == 403
        assert olga.post("/owner/verify").status_code == 403
        assert running.journal.count('"verify"') == before
        assert olga.post("/owner/verify", data={"form_key": form_key(olga)}).status_code == 200
    assert running.journal.count('"verify"') == before + 1


def test_an_analyst_sees_nobody_elses_questions(running: Place) -> None:
    with running.client("ben") as ben, running.client("ana") as ana:
        assert ben.post("/releases", json=asking("of-ben-alone")).status_code == 200
        assert "of-ben-alone" in ben.get("/history").text
        assert "of-ben-alone" not in ana.get("/history?who=all").text


@pytest.mark.slow
def test_an_owner_who_is_no_analyst_does_not_ask(tmp_path: Path) -> None:
    place = Place(
        tmp_path,
        f"{tmp_path}/budget.db",
        people={"olga": ["owner"], "ben": ["analyst"]},
        plain=True,
    )
    place.path.write_text(place.text().replace("zoe = 0", ""))
    service = place.service()
    person = service.state.catalogue.people["olga"]
    asked = service.state.asked(person, "clinic", ["minutes"], "", "", False, "0.1")
    with pytest.raises(Failure, match="not_allowed"):
        service.ask(service.state, person, asked, "k")
    assert '"ask"' not in place.journal
    service.journal.close()


@pytest.mark.parametrize("where", [0, 1, 2, None])
def test_a_token_is_compared_with_every_hash(
    where: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it matches: otherwise the time would tell whose it is."""
    compared, compare = [0], hmac.compare_digest

    def counting(one: Any, two: Any) -> bool:
        compared[0] += 1
        return compare(one, two)

    monkeypatch.setattr(hmac, "compare_digest", counting)
    known = [(str(i), hashed("hg_mine" if i == where else f"hg_{i}")) for i in range(3)]
    assert matching("hg_mine", known) == (None if where is None else str(where))
    assert compared == [3]


def test_a_token_has_256_bits() -> None:
    found = {token() for _ in range(20)}
    assert len(found) == 20
    assert {len(each) for each in found} == {len("hg_") + 43}  # base64 of 32 bytes


def test_a_session_ends_with_the_token_that_opened_it(running: Place) -> None:
    """Whoever gets a new token, or is no longer in the catalogue, is signed out everywhere."""
    text, door = running.text(), Door()
    cookie = door.open_session(read_text(text, running.path).people["rita"])
    assert door.by_session(read_text(text, running.path), cookie) is not None
    for old, new in ((hashed(running.tokens["rita"]), hashed("x")), ("people.rita", "people.rina")):
        changed = read_text(text.replace(old, new), running.path)
        assert door.by_session(changed, cookie) is None


def test_the_forms_of_two_people_behind_a_proxy_differ() -> None:
    """They have no sessions; the form of one is of no use to the other."""
    door = Door()
    ana, ben = (Visitor(Person(name, frozenset()), "proxy") for name in ("ana", "ben"))
    assert door.is_form_key(ana, door.form_key(ana))
    assert not door.is_form_key(ana, door.form_key(ben))
    assert not door.is_form_key(ana, "")
    assert not Door().is_form_key(ana, door.form_key(ana))


# --- how often, how long ----------------------------------------------------------------------


@pytest.mark.slow
def test_strangers_have_a_rate(tmp_path: Path) -> None:
    """Sixty wrong tokens a minute from one address, and no more lines in the journal."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)
    wrong = {"Authorization": "Bearer hg_wrong"}
    with serving(place), place.client() as stranger:
        began = time.monotonic()
        signed = [stranger.post("/login", data={"token": "x"}).status_code for _ in range(50)]
        asked = [stranger.get("/budget", headers=wrong).status_code for _ in range(50)]
        signed += [stranger.post("/login", data={"token": "x"}).status_code for _ in range(50)]
        earned = time.monotonic() - began + 1  # one a second
        with place.client("ana") as ana:
            assert ana.get("/budget").status_code == 200
    assert {*signed, *asked} == {401, 429}
    assert 60 <= (signed + asked).count(401) <= 60 + earned
    assert place.journal.count('"refused sign in"') == signed.count(401)


@pytest.mark.slow
def test_everybody_has_a_rate_of_their_own(tmp_path: Path) -> None:
    """Twenty requests for each question that may be asked; one person leaves the others theirs."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", rate=1, plain=True)
    with serving(place), place.client("ana") as ana, place.client("ben") as ben:
        codes = [ana.get("/healthz").status_code for _ in range(30)]  # open to all, and not counted
        assert codes == [200] * 30
        began = time.monotonic()
        codes = [ana.get("/budget").status_code for _ in range(60)]
        earned = (time.monotonic() - began) / 3 + 1
        assert ben.get("/budget").status_code == 200
    assert set(codes) == {200, 429}
    assert 20 <= codes.count(200) <= 20 + earned


def test_a_form_of_many_fields_is_refused(running: Place) -> None:
    with running.client() as stranger:
        reply = stranger.post("/login", data={f"f{i}": "" for i in range(51)})
        assert reply.status_code == 422
        reply = stranger.get("/budget")
    assert (reply.status_code, reply.headers["www-authenticate"]) == (401, "Bearer")


def test_names_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_MOST_NAMES", 10)
    rates = Rates(lambda: 3, lambda: 0.0)
    for number in range(100):
        rates.check(f"198.51.100.{number}")
        assert len(rates._used) <= 11


@pytest.mark.slow
def test_a_request_that_is_under_way_has_time(
    running: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for the head of a request ends with the head, not with its body or its answer."""
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.3)
    head = (
        "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as client:
        client.sendall(head.encode())
        time.sleep(1)
        client.sendall(b"a=b")
        assert client.recv(4096).startswith(b"HTTP/1.1 401")


def test_a_connection_that_is_closed_twice_is_counted_once() -> None:
    """Or others from its address would have as many more as it likes."""
    listening = connections.Listening("127.0.0.1", 0)
    listening.listen()
    with listening:
        clients = [socket.create_connection(listening.getsockname()) for _ in range(2)]
        (one, _), (two, _) = listening.accept(), listening.accept()
        assert listening.open == {"127.0.0.1": 2}
        for _ in range(3):
            one.close()
        assert listening.open == {"127.0.0.1": 1}
        two.close()
        assert not listening.open  # nor does an address that is gone take room
        for client in clients:
            client.close()


# --- what is written ------------------------------------------------------------------------


def test_the_journal_is_for_its_owner_and_follows_no_link(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        journal = Journal(tmp_path / "journal.jsonl")
    finally:
        os.umask(old)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    journal.write("ask", "ana")
    journal.close()
    again = Journal(tmp_path / "journal.jsonl")
    again.write("ask", "ben")
    again.close()
    people = [json.loads(line)["person"] for line in again.path.read_text().splitlines()]
    assert people == ["ana", "ben"]
    (tmp_path / "link").symlink_to(tmp_path / "journal.jsonl")
    with pytest.raises(OSError, match="link"):
        Journal(tmp_path / "link")


NONE, ONE = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(0))
SPENT = BudgetExceededError(CANARY, requested=ONE, spent=ONE, remaining=NONE)


@pytest.mark.parametrize(
    "error",
    [LedgerError(CANARY), SourceError(CANARY), OptionError(CANARY), ValueError(CANARY), SPENT],
    ids=lambda error: type(error).__name__,
)
def test_the_words_of_an_error_stay_here(error: Exception) -> None:
    failure = failure_of(error)
    assert CANARY not in json.dumps(failure.to_dict())
    assert failure.message == FAILURES[failure.code][1]


def test_what_is_left_is_never_negative() -> None:
    """A budget that was spent beyond an allowance, which was made smaller since."""
    beyond = (Fraction(-1), Fraction(0))
    error = BudgetExceededError("", requested=ONE, spent=ONE, remaining=beyond)
    assert failure_of(error).facts == {"requested": "1", "remaining": "0"}


@pytest.mark.slow
def test_an_unexpected_error_is_logged_by_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a reload, and on a request: its message may quote a cell."""

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError(CANARY)

    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)
    with serving(place) as (service, _), caplog.at_level(logging.INFO, "hourglass.serve"):
        monkeypatch.setattr(server, "load", fails)
        assert _Reloading(service, place.path)._reload("schedule") is False
        monkeypatch.setattr(type(service.state), "asked", fails)
        with place.client("ana") as ana:
            reply = ana.post("/releases", json=asking("k"))
            ana.get(f"/releases/{CANARY}?word={CANARY}")
    assert reply.json()["error"] == {"code": "internal", "message": FAILURES["internal"][1]}
    facts = [getattr(record, "facts", {}) for record in caplog.records]
    assert [each["kind"] for each in facts if "kind" in each] == ["ZeroDivisionError"] * 2
    assert {each["route"] for each in facts if "route" in each} >= {"/releases", "/releases/{key}"}
    assert CANARY not in caplog.text + json.dumps(facts)


def test_a_check_shows_no_password(running: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise LedgerMissingError("")

    monkeypatch.setattr(checking, "Budget", missing)
    text = running.text().replace(running.ledger, "postgresql://owner:passw0rd@db/x")
    told = checking._budget_problem(read_text(text, running.path).budgets["other"])
    assert told is not None
    assert "hourglass budget init other --epsilon 1" in told
    assert "passw0rd" not in told


# --- money ----------------------------------------------------------------------------------


@pytest.mark.enumeration
def test_what_is_left_buys_as_many_questions_as_fit(tmp_path: Path) -> None:
    """All small allowances, budgets and prices: the number is the largest that can be paid."""
    for e, f in product((1, 3), (0, 2)):
        left = Amount(Fraction(e), Fraction(f, 10))
        budget = create_budget(f"{tmp_path}/{e}{f}.db", "b", epsilon=e, delta=left.delta)
        balance = budget.balance()
        for a, b, c, d in product(range(4), range(3), (1, 2), (0, 1, 2)):
            allowance = Amount(Fraction(a), Fraction(b, 10))
            standing = Standing(allowance, Amount(Fraction(1)), balance)
            price = Amount(Fraction(c), Fraction(d, 10))
            many = standing.questions_left(price)
            room = standing.remaining
            assert room.fits(left)
            assert Amount(many * price.epsilon, many * price.delta).fits(room)
            more = Amount((many + 1) * price.epsilon, (many + 1) * price.delta)
            assert not more.fits(room)
            assert standing.affords(price) == (many > 0)


@pytest.mark.parametrize("terms", ["1000|2e-6", "999|1e-6"])
def test_a_catalogue_that_promises_another_budget_is_refused(running: Place, terms: str) -> None:
    """Also if only its delta differs; by the service, and by the check."""
    epsilon, delta = terms.split("|")
    text = running.text().replace("epsilon = 1000", f"epsilon = {epsilon}")
    text = text.replace('delta = "1e-6"', f'delta = "{delta}"')
    assert text != running.text()
    with pytest.raises(OptionError, match="never changes"):
        load(read_text(text, running.path))
    entry = read_text(text, running.path).budgets["main"]
    told = checking._budget_problem(entry)
    assert told is not None
    assert "never changes" in told


@pytest.mark.slow
def test_a_ledger_at_another_place_is_another_ledger(tmp_path: Path) -> None:
    """A new catalogue may move a budget of the same name; charges go to where it says."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)
    service = place.service()
    place.ledger = f"{tmp_path}/moved.db"
    create_budget(place.ledger, "main", epsilon=place.epsilon, delta=place.delta)
    create_budget(place.ledger, "other", epsilon=1)
    place.path.write_text(place.text())
    moved = load(read_catalogue(place.path), service.state)
    service.state = moved
    person = moved.catalogue.people["ana"]
    asked = moved.asked(person, "clinic", ["minutes"], "", "", False, "0.1")
    service.ask(moved, person, asked, "k")
    first, second = (
        hg.Budget(f"{tmp_path}/{name}.db", "main").balance() for name in ("budget", "moved")
    )
    assert (first.charges, second.charges) == (0, 1)
    service.journal.close()


def test_a_preview_assumes_no_more_records_than_can_be(running: Place) -> None:
    assert _records("1000000000000") == 10**12
    for records in ("1000000000001", 10**12 + 1, 0, -1, True, "9" * 5000, "1e3", "", None):
        with pytest.raises(Failure, match="bad_assumption"):
            _records(records)


@pytest.mark.slow
def test_the_slot_of_an_answer_is_for_all_groups_there_can_be(running: Place) -> None:
    """Not for as many as there are, or about as many: both would be seen in its length."""
    holding = running.service().state.holdings["clinic"]
    assert [holding.noised(by) for by in ("", "ward", "town")] == [1, 3, 20]
    assert [holding.groups(by) for by in ("", "ward", "town")] == [1, 3, 2]
    slots = [
        holding.paced(Choice(("minutes",), by), Fraction(1))._slot for by in ("", "ward", "town")
    ]
    assert slots == sorted(set(slots))


@pytest.mark.slow
def test_a_charge_that_was_taken_back_is_in_no_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)
    service = place.service()
    state, person = service.state, service.state.catalogue.people["ana"]
    asked = state.asked(person, "clinic", ["minutes"], "", "", False, "0.1")
    service.ask(state, person, asked, "k")
    ((name, charge),) = state.history(person)
    assert (name, charge.request) == ("main", "ana/k")
    void = replace(charge, status="void")
    monkeypatch.setattr(state.budgets["main"], "history", lambda: [void])
    assert state.history(person) == []
    service.journal.close()


def test_the_chance_to_be_shown_is_that_of_the_threshold() -> None:
    """A group of n records is shown from N + K = threshold on, and is refused just below it."""
    law = LaplaceCount(Fraction(1))
    for size in range(1, 30):
        k = 10 - size
        exact = law.count_tail(k)
        chance = _chance("ana", law, 10, size)
        assert chance is not None
        assert chance <= float(exact.high)
        assert chance > float(law.count_tail(k + 1).high)
    assert _chance("ana", law, None, 5) is None


# --- the catalogue --------------------------------------------------------------------------

MAIN = "[budgets.main]"
GROUPS = '[datasets.clinic.groups.ward]\nkeys = ["east", "west", "nowhere"]\n'


def wrong(running: Place, old: str, new: str) -> list[str]:
    text = running.text()
    assert old in text
    try:
        read_text(text.replace(old, new, 1), running.path)
    except CatalogueError as error:
        return [each.what for each in error.problems]
    return []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("zoe = 0", 'zoe = {epsilon = 1, delta = "-1e-9"}', "is negative"),
        ("zoe = 0", "zoe = -1", "is negative"),
        ("zoe = 0", "zoe = true", "takes a number"),
        ('people = ["ben"]', 'people = ["petra"]', "'petra' is not in [people]"),
        ('people = ["ben"]', 'people = ["ben", "ben"]', "names something twice"),
        ("[people.rita]", f"[people.{'x' * 41}]", "a name has 1 to 40 letters"),
        ("records = 300", "records = true", "takes a whole number"),
        ("records = 300", "records = 0", "takes a whole number"),
        ("about = 2", "about = 21", "is above most"),
        ("most = 20", "most = 100001", "take too long"),
        ('delta = "1e-9"', 'delta = "1e-9"\nkeys = ["a"]', "takes one of keys"),
        (GROUPS, GROUPS + '[datasets.clinic.groups.w2]\nby = ["ward"]\nkeys = ["a"]\n', "same col"),
        (MAIN, f'[serve.proxy]\naddresses = ["10.0.0.0/8"]\n{MAIN}', "not an IP address"),
        (MAIN, f"[serve.proxy]\naddresses = []\n{MAIN}", "is missing"),
        (MAIN, f'[serve.tls]\nkey = "no"\ncertificate = "no"\n{MAIN}', "there is no such file"),
    ],
)  # fmt: skip
def test_each_mistake_is_told(running: Place, old: str, new: str, words: str) -> None:
    assert any(words in told for told in wrong(running, old, new))


def test_mistakes_about_addresses_and_tokens_are_told(running: Place) -> None:
    listen = f"127.0.0.1:{running.port}"
    assert wrong(running, listen, "127.0.0.1:65536")
    for host in ("localhost.example", "0.0.0.0", "[::]", "10.0.0.1"):
        told = wrong(running, f'"{listen}"', f'"{host}:8420"\nurl = "https://stats.example"')
        assert any("nothing would be encrypted" in each for each in told), host
    for host in ("localhost", "127.0.0.2", "[::1]"):
        assert not wrong(running, listen, f"{host}:8420")
    ana, ben = (hashed(running.tokens[name]) for name in ("ana", "ben"))
    assert any("the same token" in each for each in wrong(running, ana, ben))
    for token_ in (f"{ana}0", ana.upper(), ana[:-1], "hg_abc"):
        assert any("is not a hash" in each for each in wrong(running, ana, token_))


def test_nothing_is_not_everything(running: Place) -> None:
    """A zero in the catalogue is a zero, not a value that is missing."""

    def read(old: str, new: str) -> Catalogue:
        assert old in running.text()
        return read_text(running.text().replace(old, new, 1), running.path)

    nothing = read("zoe = 0", 'zoe = {epsilon = 1, delta = "0"}').budgets["main"]
    assert nothing.allowance_of("zoe") == Amount(Fraction(1), Fraction(0))
    nothing = read("zoe = 0", "zoe = {epsilon = 0}").budgets["main"]
    allowance = nothing.allowance_of("zoe")
    assert allowance is not None
    assert allowance.epsilon == 0
    minutes = read("bounds = [0, 60]", "bounds = [0, 60]\nmissing = 0").datasets["clinic"]
    assert minutes.columns["minutes"].missing == 0
    prices = read('["1/100", 0.1, 0.5, 1]', '[1, 0.5, "1/100", 0.5, "1/2"]').datasets["clinic"]
    assert prices.epsilons == (Fraction(1, 100), Fraction(1, 2), Fraction(1))


def test_the_options_of_a_column_are_those_of_its_questions(running: Place) -> None:
    """Alone and together with another, which has others."""
    text = running.text().replace("bounds = [0, 60]", "bounds = [0, 60]\nmissing = 30\ngrid = 20")
    dataset = read_text(text, running.path).datasets["clinic"]
    asked = {"bounds": (0, 60), "missing": 30, "grid": 20}
    other = {"bounds": (0, 100), "missing": "drop"}
    one = _question(dataset, dataset.source, Choice(("minutes",)), Fraction(1))
    plain = mean_question(dataset.source, "minutes", epsilon=1, **asked)
    assert one.text == plain.text
    both = _question(dataset, dataset.source, Choice(("minutes", "cost")), Fraction(1))
    each = {
        name: {"minutes": asked[name], "cost": other[name]} for name in ("bounds", "missing")
    } | {"grid": {"minutes": 20}}
    names = ["minutes", "cost"]
    plain = mean_question(dataset.source, names, epsilon=1, **each)
    assert both.text == plain.text


# --- proxies and the client -------------------------------------------------------------------


@pytest.mark.slow
def test_no_header_changes_where_a_connection_comes_from(tmp_path: Path) -> None:
    """A proxy adds X-Forwarded-For, and so can everybody; the cookie is bound to https."""
    place = Place(tmp_path, f"{tmp_path}/budget.db", plain=True)
    for address, code in (("10.9.9.9", 403), ("127.0.0.1", 401)):
        proxy = f'[serve.proxy]\naddresses = ["{address}"]\nuser_header = "X-User"\n'
        place.path.write_text(place.text() + proxy)
        with serving(place), place.client() as client:
            said = {"X-Forwarded-For": "10.9.9.9", "Forwarded": "for=10.9.9.9"}
            assert client.get("/budget", headers=said).status_code == code
            if code == 401:
                reply = client.post("/login", data={"token": place.tokens["ana"]})
                assert reply.headers["set-cookie"].startswith("__Host-hourglass=")


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.example.org", "http://127.0.0.1.example.org", "ftp://localhost",
        "http://::1.example.org", "http://user@example.org", "http://localhost@example.org",
    ],
)  # fmt: skip
def test_no_token_is_sent_unencrypted(url: str) -> None:
    with pytest.raises(OptionError, match=r"unencrypted|not the address"):
        hg.connect(url, "hg_secret")
