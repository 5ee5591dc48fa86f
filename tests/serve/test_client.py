"""The client: where it sends the token, and what it does when a reply is lost."""

from __future__ import annotations

import json
import pickle
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import hourglass as hg

from .support import Place

SECRET = "hg_not-for-others"


@contextmanager
def listening(*replies: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that gives these replies to one connection each; its address, and what it got."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for reply in replies:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    got.append(_received(connection))
                    connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", got
        server.close()
        thread.join(10)


def _received(connection: socket.socket) -> bytes:
    """A whole request: the head, and the body that it announces."""
    found = b""
    while part := connection.recv(65536):
        found += part
        head, end, body = found.partition(b"\r\n\r\n")
        announced = re.search(rb"(?i)content-length: ([0-9]+)", head)
        if end and len(body) >= int(announced[1] if announced else 0):
            break
    return found


@pytest.mark.slow
def test_no_proxy_of_the_environment_sees_the_token(
    running: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain http is for this machine, and would be readable at the proxy."""
    with listening(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n") as (proxy, got):
        for name in ("http_proxy", "all_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert hg.connect(running.url, running.tokens["ana"]).budget()
        assert got == []
        socket.create_connection(("127.0.0.1", int(proxy.rpartition(":")[2]))).close()


def _reply(body: bytes, status: str = "200 OK", missing: int = 0) -> bytes:
    length = f"content-length: {len(body) + missing}".encode()
    return b"HTTP/1.1 " + status.encode() + b"\r\n" + length + b"\r\n\r\n" + body


LOST = {
    "nothing": b"",
    "a part": _reply(b'{"answer": {', missing=500),
    "not HTTP": b"garbage\r\n\r\n",
    "a page": _reply(b"<html>"),
    "a list": _reply(b"[]"),
}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_a_lost_reply_is_asked_for_again_under_the_same_key(lost: bytes) -> None:
    answer: Any = hg.mean([1.0, 2.0], bounds=(0, 5), epsilon=1)
    good = _reply(json.dumps({"answer": answer.to_dict()}).encode())
    with listening(lost, good) as (url, got):
        assert hg.connect(url, SECRET).mean("clinic", "minutes", epsilon=1) == answer
    keys = {json.loads(each.partition(b"\r\n\r\n")[2])["request"] for each in got}
    assert (len(got), len(keys)) == (2, 1)


@pytest.mark.parametrize(
    "replies",
    [
        [LOST["a part"], LOST["nothing"]],
        [_reply(b"", "502 Bad gateway")],
        [_reply(b'{"error": {"code": "unavailable", "message": "Try again."}}', "503 No")],
    ],
    ids=["lost twice", "proxy", "unavailable"],
)
def test_a_question_that_may_be_charged_names_its_key(replies: list[bytes]) -> None:
    with listening(*replies) as (url, got), pytest.raises(hg.GatewayError) as caught:
        hg.connect(url, SECRET).mean("clinic", "minutes", epsilon=1)
    key = json.loads(got[0].partition(b"\r\n\r\n")[2])["request"]
    (note,) = caught.value.__notes__
    assert f"request={key!r}" in note


def test_a_question_that_is_refused_names_none(running: Place) -> None:
    with pytest.raises(hg.GatewayError) as caught:
        hg.connect(running.url, running.tokens["ana"]).mean("clinic", "minutes", epsilon=7)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"where": "minutes > 10"}, "where: gateway.{} does not take .* with filter="),
        ({"bounds": (0, 5)}, "bounds: gateway.{} does not take .* the catalogue .* leave it out"),
        ({"filtr": "long"}, "filtr: gateway.{} does not take .* it takes epsilon, by, filter,"),
    ],
)
def test_an_option_that_the_service_does_not_take_is_named(
    options: dict[str, Any], words: str
) -> None:
    """Before anything is sent."""
    gateway = hg.connect("http://127.0.0.1:9", SECRET)
    for name, call in (("mean", gateway.mean), ("plan", gateway.plan)):
        with pytest.raises(hg.OptionError, match=words.format(name)):
            call("clinic", "minutes", epsilon=1, **options)


@pytest.mark.slow
def test_the_statement_of_a_served_answer_names_its_budget(running: Place) -> None:
    gateway = hg.connect(running.url, running.tokens["ana"])
    one = gateway.mean("clinic", "minutes", epsilon=0.1, request="stated")
    wards = gateway.mean("clinic", "minutes", by="ward", epsilon=0.1)
    both = gateway.mean("clinic", ["minutes", "cost"], epsilon=0.1)
    named = "this release was charged to budget main; releases on the same data add up"
    for each in (one, wards, both, gateway.release("stated"), pickle.loads(pickle.dumps(one))):
        assert named in each.statement().words
        assert named in each.statement().yaml
    assert SECRET[:3] not in repr(vars(one))  # nothing of the gateway is kept in the answer
    alone = hg.mean([1.0, 2.0], bounds=(0, 5), epsilon=1)
    assert "this release alone" in alone.statement().words


@pytest.mark.parametrize("token", [f"{SECRET}\nX-Y: 1", f"{SECRET}\0", f"{SECRET}ü", "", " ", None])
def test_a_token_is_never_quoted(token: Any) -> None:
    with pytest.raises(hg.OptionError, match="not an access token") as caught:
        hg.connect("http://127.0.0.1:9", token)
    assert SECRET not in str(caught.value)


def test_a_token_from_a_file_ends_with_its_line(running: Place) -> None:
    assert hg.connect(running.url, running.tokens["ana"] + "\n").budget()


@pytest.mark.parametrize("url", ["127.0.0.1:8477", "localhost:8477", "", "http://"])
def test_an_address_without_a_host_is_named(url: str) -> None:
    with pytest.raises(hg.OptionError, match="give one such as https://"):
        hg.connect(url, SECRET)
