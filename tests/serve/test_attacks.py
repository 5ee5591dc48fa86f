"""Strangers and colleagues who try: tokens, cookies, keys, fields, bodies, paths."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import httpx
import pytest
from starlette.datastructures import Headers

from hourglass.serve import connections, limits
from hourglass.serve.api import ROUTES as API
from hourglass.serve.catalogue import Person
from hourglass.serve.failures import FAILURES, Failure
from hourglass.serve.journal import Journal
from hourglass.serve.limits import Rates
from hourglass.serve.pages import ROUTES as PAGES
from hourglass.serve.people import LINK, SESSION, Door
from hourglass.serve.reading import read_catalogue, read_text
from hourglass.serve.tokens import hashed

from .support import CANARY, Place, asking, serving, spent

pytestmark = [pytest.mark.attack, pytest.mark.slow]

CLOSED = [(path, method) for path, method, _, public in (*API, *PAGES) if not public]
#: What an attacker puts into a field: SQL, HTML, templates, paths, controls, other types.
HOSTILE = [
    "' OR 1=1; DROP TABLE entries; --",
    '"><script>alert(1)</script>',
    "{{ 918273645 * 3 }}",
    "../../etc/passwd",
    "%2e%2e%2f",
    "a\x00b",
    "a\nb",
    "\ud800",
    "x" * 5000,
    "",
    " ana",
    "ana/figures",
    0,
    -1,
    1e400,
    True,
    None,
    [],
    {"a": 1},
    [["minutes"]],
]


@contextmanager
def signed_in(place: Place, person: str) -> Iterator[httpx.Client]:
    """A browser of that person's, by the form of the page."""
    with place.client() as client:
        reply = client.post("/login", data={"token": place.tokens[person]})
        assert reply.status_code == 303, reply.text
        yield client


def form_key(client: httpx.Client) -> str:
    found = re.search(r'name="form_key" value="([0-9a-f]{64})"', client.get("/").text)
    assert found
    return found[1]


# --- who asks -------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "method"), CLOSED)
@pytest.mark.parametrize(
    "credentials",
    [
        {},
        {"Authorization": "Bearer hg_wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YW5hOmFuYQ=="},
        {"Cookie": "hourglass=guessed"},
        {"X-Remote-User": "olga", "X-Forwarded-User": "olga", "X-Forwarded-For": "127.0.0.1"},
    ],
    ids=["none", "wrong", "empty", "basic", "cookie", "headers"],
)
def test_nobody_gets_in_without_a_token(
    running: Place, path: str, method: str, credentials: dict[str, str]
) -> None:
    path = path.replace("{dataset}", "clinic").replace("{person}", "ana").replace("{key}", "k")
    with running.client() as stranger:
        reply = stranger.request(method, path, headers=credentials)
    assert reply.status_code in (401, 403, 303, 429), reply.text
    if reply.status_code == 303:
        assert reply.headers["location"] == "/login"
    assert "clinic" not in reply.text.replace(path, "")


def test_a_hash_of_a_token_is_no_token(running: Place) -> None:
    """Who reads the catalogue has not got in."""
    text = running.path.read_text()
    for known in re.findall(r"sha256:([0-9a-f]{64})", text):
        for offered in (known, f"sha256:{known}"):
            headers = {"Authorization": f"Bearer {offered}"}
            assert httpx.get(
                f"{running.url}/budget", headers=headers, verify=False
            ).status_code in (401, 429)
    assert not any(secret in text for secret in running.tokens.values())


def test_another_persons_keys_are_ones_own(running: Place) -> None:
    """Ben uses the key that Ana used: he gets an answer of his own, and never hers."""
    with running.client("ana") as ana, running.client("ben") as ben:
        hers = ana.post("/releases", json=asking("guessed")).json()["answer"]
        assert ben.get("/releases/guessed").status_code == 404
        for path in ("ana/guessed", "ana%2Fguessed", "../releases/ana/guessed"):
            assert ben.get(f"/releases/{path}").status_code == 404, path
            assert ben.get(f"/answers/{path}").status_code in (303, 404), path
        before = spent(running)
        his = ben.post("/releases", json=asking("guessed")).json()["answer"]
        assert spent(running) - before == Fraction(1, 10)
        taken = ben.post("/releases", json=asking("ana/guessed"))
    assert his["noisy_totals"] != hers["noisy_totals"]
    assert taken.json()["error"]["code"] == "bad_key"


def test_a_dataset_for_others_is_as_good_as_none(running: Place) -> None:
    with running.client("ana") as ana:
        there = ana.post("/releases", json=asking("x", dataset="secret", columns=["cost"]))
        none = ana.post("/releases", json=asking("x", dataset="no-such", columns=["cost"]))
        pages = [ana.get(f"/ask/{name}") for name in ("secret", "no-such")]
    assert (there.status_code, there.text) == (none.status_code, none.text) == (404, none.text)
    assert pages[0].text == pages[1].text


# --- cookies and other sites ----------------------------------------------------------------


def test_the_cookie_is_out_of_reach(running: Place) -> None:
    with running.client() as client:
        cookie = client.post("/login", data={"token": running.tokens["ana"]}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
    ids=["origin", "null", "cross-site", "same-site", "no key"],
)
def test_another_site_cannot_spend(running: Place, headers: dict[str, str]) -> None:
    before = spent(running)
    with signed_in(running, "ana") as browser:
        fields = {"what": "minutes", "by": "", "epsilon": "0.1", "key": "stolen"}
        if headers:
            fields["form_key"] = form_key(browser)
        assert browser.post("/ask/clinic", data=fields, headers=headers).status_code == 403
        assert browser.post("/logout", data=fields, headers=headers).status_code == 403
        sent = browser.post("/releases", json=asking("stolen"), headers=headers)
        assert sent.status_code in (401, 403)
    assert spent(running) == before


def test_the_form_of_one_session_is_of_no_use_in_another(running: Place) -> None:
    with signed_in(running, "ana") as ana, signed_in(running, "ben") as ben:
        fields = {"what": "minutes", "epsilon": "0.1", "key": "k", "form_key": form_key(ben)}
        assert ana.post("/ask/clinic", data=fields).status_code == 403
        fields["form_key"] = form_key(ana)
        assert ana.post("/ask/clinic", data=fields).status_code == 303


@pytest.mark.parametrize(
    "origin",
    [
        "http://[", "http://127.0.0.1:{port}.evil.example", "https://127.0.0.1:{port}",
        "http://127.0.0.1", "http://user@evil.example:{port}", "//127.0.0.1:{port}", "", "x",
        "http://127.0.0.1:{port}, http://evil.example", "http://127.0.0.1:99999",
    ],
)  # fmt: skip
def test_origins_that_are_not_ours(running: Place, origin: str) -> None:
    """Scheme, host and port must all be the same; what cannot be read is not ours."""
    with signed_in(running, "ana") as browser:
        fields = {"what": "minutes", "epsilon": "0.1", "key": "k", "form_key": form_key(browser)}
        given = {"Origin": origin.format(port=running.port)}
        assert browser.post("/ask/clinic", data=fields, headers=given).status_code == 403
        good = browser.post("/logout", data=fields, headers={"Origin": running.url.upper()})
        assert good.status_code == 303


def test_a_second_credential_is_none(running: Place) -> None:
    mine = f"Bearer {running.tokens['ana']}"
    for second in ("Bearer x", mine, ""):
        with running.client() as client:
            both = [("Authorization", mine), ("Authorization", second)]
            assert client.get("/budget", headers=both).status_code in (401, 429)


def test_nobody_opens_sessions_without_end(running: Place) -> None:
    """Somebody with a token neither pushes others out nor fills the journal."""
    text = running.path.read_text()
    catalogue = read_text(text, running.path)
    door = Door()
    other = door.open_session(catalogue.people["ben"])
    first = door.open_session(catalogue.people["ana"])
    for _ in range(60):
        last = door.open_session(catalogue.people["ana"])
    assert door.sessions == 51
    assert door.by_session(catalogue, other) is not None
    assert door.by_session(catalogue, last) is not None
    assert door.by_session(catalogue, first) is None


def test_signing_in_has_a_rate(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), rate=1, plain=True)
    codes = []
    with serving(place), place.client() as browser:
        for _ in range(23):
            browser.cookies.clear()
            reply = browser.post("/login", data={"token": place.tokens["ana"]})
            codes.append(reply.status_code)
    assert codes == [303] * 20 + [429] * 3
    assert place.journal.count('"sign in"') == 20


def test_a_link_ends_with_the_token_that_it_was_made_beside(running: Place) -> None:
    catalogue = read_text(running.path.read_text(), running.path)
    door = Door()
    code = door.link(catalogue.people["ana"])
    changed = running.text().replace(hashed(running.tokens["ana"]), hashed("another"))
    assert door.follow(read_text(changed, running.path), code) is None


def test_one_address_cannot_take_every_connection(
    running: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MOST_FROM_ONE", 20)
    with ExitStack() as stack:
        taken = [
            stack.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=20))
            for _ in range(25)
        ]
        ended = 0
        for each in taken[20:]:
            with suppress(ConnectionResetError):
                assert each.recv(10) == b""
            ended += 1
        assert ended == 5
        assert running.open["127.0.0.1"] <= 20
    with running.client("ana") as ana:
        for _ in range(200):
            with suppress(httpx.TransportError):
                if ana.get("/budget").status_code == 200:
                    break
        else:
            raise AssertionError("the connections that ended are still counted")


def test_a_line_of_which_a_part_was_written_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(Failure, match="unavailable"):
        journal.write("ask", "ana", key="torn")
    monkeypatch.setattr(os, "write", write)
    journal.write("ask", "ana", key="whole")
    journal.write("ask", "ana", key="next")
    journal.close()
    other = tmp_path / "ledger"
    with other.open("wb") as ledger:  # which gets the number of the journal's file
        with pytest.raises(Failure, match="unavailable"):
            journal.write("answered", "ana", key="late")
        assert ledger.tell() == other.stat().st_size == 0
    lines = journal.path.read_text().splitlines()
    assert [json.loads(line)["key"] for line in lines[1:]] == ["whole", "next"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1"])
def test_another_name_that_leads_here_is_refused(running: Place, host: str) -> None:
    with running.client("ana") as ana:
        assert ana.get("/budget", headers={"Host": host}).status_code == 400


def test_every_reply_says_what_browsers_may_do(running: Place) -> None:
    with running.client("ana") as ana:
        for path in ("/", "/datasets", "/none", "/static/style.css", "/login"):
            headers = ana.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"], path
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in headers
            assert "server" not in headers


def test_sessions_and_links_end() -> None:
    now = [0.0]
    door = Door(lambda: now[0])
    text = '[serve]\n[budgets.b]\nledger="l"\nepsilon=1\n[datasets]\n[people.ana]\nroles=["owner"]'
    catalogue = read_text(text, Path("c.toml"))
    ana: Person = catalogue.people["ana"]
    cookie, code, late = door.open_session(ana), door.link(ana), door.link(ana)
    assert door.by_session(catalogue, cookie) is not None
    assert door.follow(catalogue, code) == ana
    assert door.follow(catalogue, code) is None  # once
    now[0] = LINK + 1.0
    assert door.follow(catalogue, late) is None
    now[0] = SESSION + 1.0
    assert door.by_session(catalogue, cookie) is None
    assert door.by_session(catalogue, "") is None


# --- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["dataset", "columns", "by", "filter", "spread", "epsilon", "request", "odd"]
)
def test_hostile_fields_are_refused_with_fixed_words(running: Place, name: str) -> None:
    """None of them is charged, quoted, or a reason for an error of ours."""
    before, told = spent(running), set[str]()
    long = "0.1" + "0" * 60_000  # a price that is offered, in a tenth of a second
    with running.client("ana") as ana:
        for place, value in enumerate([*HOSTILE, long]):
            if name in ("by", "filter") and value in ("", None, []):
                continue  # all of these say that there is none
            body = json.dumps(asking(f"hostile-{name}-{place}", **{name: value}))
            reply = ana.post(
                "/releases", content=body, headers={"Content-Type": "application/json"}
            )
            assert 400 <= reply.status_code < 500, (name, value, reply.text)
            error = reply.json()["error"]
            if "argument" in error:
                assert error["message"].startswith(f"{error['argument']}: ")
                told.add(error["message"])
            elif name != "odd":
                assert error["message"] == FAILURES[error["code"]][1]
            assert set(error) <= {"code", "message", "argument", "offered"}
            if isinstance(value, str) and len(value) > 2:
                assert json.dumps(value)[1:-1] not in reply.text
    assert len(told) <= 2  # of another type, or not offered
    assert spent(running) == before


@pytest.mark.parametrize(
    "name", ["what", "by", "filter", "spread", "epsilon", "records", "mean", "key", "odd"]
)
def test_hostile_fields_of_the_page_are_escaped_or_refused(running: Place, name: str) -> None:
    texts = [value for value in HOSTILE if isinstance(value, str) and value != "\ud800"]
    with signed_in(running, "ana") as browser:
        for text in texts:
            good = {"what": "minutes", "epsilon": "0.1", "key": "page-key"}
            for place in ("/ask/clinic", "/ask/clinic/preview", "/ask/clinic/confirm"):
                reply = browser.get(place, params=good | {name: text})
                assert reply.status_code < 500, (place, name, text)
                assert "<script>alert" not in reply.text
                assert "2754820935" not in reply.text  # a template in a template


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"3", b"null", b"{", b'{"a": NaN}', b"\xff\xfe", b"[" * 50_000, b'"x"'],
)
def test_bodies_that_are_no_questions(running: Place, body: bytes) -> None:
    with running.client("ana") as ana:
        reply = ana.post("/releases", content=body, headers={"Content-Type": "application/json"})
        typed = ana.post("/releases", content=json.dumps(asking("typed")))
    assert reply.status_code in (400, 413, 422)
    assert typed.json()["error"]["code"] == "not_json"


def test_huge_bodies_are_cut_off(running: Place) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 65536

    with running.client("ana") as ana:
        said = ana.post("/releases", content=b" " * (limits.BODY + 1))
        assert (said.status_code, said.json()["error"]["code"]) == (413, "too_large")
        with suppress(httpx.TransportError):  # the server may close before all is sent
            assert ana.post("/releases", content=endless()).status_code == 413
    with running.client("ana") as ana:
        assert ana.get("/budget").status_code == 200


def test_slow_clients_are_not_waited_for(running: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that drips its body, and two that never end the head of a request: first and second."""
    monkeypatch.setattr(limits, "SECONDS", 0.5)
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.5)
    head = (
        f"POST /releases HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n"
        f"Authorization: Bearer {running.tokens['ana']}\r\n\r\n"
    )
    whole, half = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost:"

    def told(first: bytes, sent: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as slow:
            if first:
                slow.sendall(first)
                reply = b""
                while b'"ok"' not in reply:
                    reply += slow.recv(4096)
            slow.sendall(sent)
            return slow.recv(4096)

    with ThreadPoolExecutor(3) as pool:
        dripping, *silent = pool.map(told, (b"", b"", whole), (head.encode() + b"{", half, half))
    assert b"408" in dripping
    assert silent == [b"", b""]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../catalogue.toml", "/static/%2e%2e/app.py", "/static/..%2fapp.py",
        "/static//etc/passwd", "/static/%00", "/ask/../owner", "/ask/%2e%2e/owner",
        "/releases/%2e%2e%2fbudget", "//evil.example", "/ask/clinic/../../owner", "/ask/clinic/",
        "/answers/ana/x/csv/", "/" + "a" * 5000, "/releases/\u00e9", "/ask/{dataset}",
    ],
)  # fmt: skip
def test_paths_lead_nowhere_else(running: Place, path: str) -> None:
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as raw:
        line = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        token = f"Authorization: Bearer {running.tokens['ana']}\r\n\r\n"
        raw.sendall((line + token).encode())
        reply = b""
        while chunk := raw.recv(65536):
            reply += chunk
    status = int(reply.split(b" ")[1])
    assert status in (303, 400, 403, 404), reply[:200]
    assert b"sha256:" not in reply
    assert b"import" not in reply


def test_too_fast_is_told(tmp_path: Path) -> None:
    now = [0.0]
    rates = Rates(lambda: 3, lambda: now[0])
    for _ in range(3):
        rates.check("ana")
    with pytest.raises(Failure, match="too_fast"):
        rates.check("ana")
    rates.check("ben")
    now[0] = 21.0  # a third of a minute earns one
    rates.check("ana")
    with pytest.raises(Failure, match="too_fast"):
        rates.check("ana")
    place = Place(tmp_path, str(tmp_path / "budget.db"), rate=2, plain=True)
    with serving(place), place.client("ana") as ana, place.client("ben") as ben:
        codes = [ana.post("/releases", json=asking(f"k{i}")).status_code for i in range(4)]
        assert ben.post("/releases", json=asking("k")).status_code == 200
    assert codes == [200, 200, 429, 429]
    assert spent(place) == Fraction(3, 10)


# --- money ----------------------------------------------------------------------------------


def test_together_they_never_spend_more_than_there_is(tmp_path: Path) -> None:
    """Three with allowances of 0.5 each collude against a budget of 1, all at once."""
    place = Place(tmp_path, str(tmp_path / "budget.db"), epsilon=1, allowance="1/2", plain=True)

    def ask(number: int) -> int:
        with place.client(("ana", "ben", "olga")[number % 3]) as one:
            return one.post("/releases", json=asking(f"k{number}")).status_code

    with serving(place), ThreadPoolExecutor(12) as pool:
        codes = list(pool.map(ask, range(30)))
    assert sorted(codes) == [200] * 10 + [402] * 20
    assert spent(place) == 1


# --- the proxy ------------------------------------------------------------------------------


def test_a_declared_proxy_is_believed_and_nobody_else(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    plain = place.text()
    for addresses, expected in (("127.0.0.1", 200), ("10.9.9.9", 403)):
        proxy = f'[serve.proxy]\naddresses = ["{addresses}"]\nuser_header = "X-User"\n'
        place.path.write_text(plain + proxy)
        with serving(place), place.client() as client:
            reply = client.get("/budget", headers={"X-User": "ana"})
            assert reply.status_code == expected
            if expected == 403:  # only the proxy's own connections are taken
                assert reply.json()["error"]["code"] == "not_by_proxy"
                assert client.get("/login").status_code == 403
                continue
            assert client.get("/budget", headers={"X-User": "nobody"}).status_code == 401
            fields = {"what": "minutes", "epsilon": "0.1", "key": "k"}
            sent = client.post("/ask/clinic", data=fields, headers={"X-User": "ana"})
            assert sent.status_code in (401, 403)
            secure = client.post("/login", data={"token": place.tokens["ana"]})
            assert "Secure" in secure.headers["set-cookie"]
            assert "strict-transport-security" in reply.headers
    catalogue = read_catalogue(place.path)
    assert catalogue.settings.secure
    door, word = Door(), Headers({"X-User": "ana"})
    assert door.by_proxy(catalogue, "10.9.9.9", word) is not None
    assert door.by_proxy(catalogue, "127.0.0.1", word) is None
    twice = Headers(raw=[(b"x-user", b"olga"), (b"x-user", b"ana")])
    assert door.by_proxy(catalogue, "10.9.9.9", twice) is None


def test_the_proxys_word_counts_more_than_a_cookie_left_behind(tmp_path: Path) -> None:
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    proxy = '[serve.proxy]\naddresses = ["127.0.0.1"]\nuser_header = "X-User"\n'
    place.path.write_text(place.text() + proxy)
    with serving(place), place.client() as browser:
        cookie = browser.post("/login", data={"token": place.tokens["ana"]}).headers["set-cookie"]
        left = {"Cookie": cookie.partition(";")[0]}
        assert ">ana</span>" in browser.get("/", headers=left).text
        assert ">ben</span>" in browser.get("/", headers=left | {"X-User": "ben"}).text
        for names in (("nobody",), ("olga", "ben"), ("", "olga")):
            said = [("X-User", name) for name in names]
            assert browser.get("/budget", headers=[*left.items(), *said]).status_code == 401
        assert browser.get("/budget", headers=left | {"X-User": ""}).status_code == 200


def test_no_word_of_the_data_in_any_reply(running: Place) -> None:
    with signed_in(running, "olga") as owner:
        pages = [
            owner.get(path).text for path in ("/", "/ask/clinic", "/history?who=all", "/owner")
        ]
    assert not any(CANARY in page for page in pages)
