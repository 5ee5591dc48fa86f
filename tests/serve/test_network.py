"""Strangers on the network: they stall, break off, send what is not HTTP, and hold connections."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from hourglass.serve import connections
from hourglass.serve.connections import Listening, PatientProtocol

from .support import Place, process, serving

pytestmark = [pytest.mark.attack, pytest.mark.slow]

HOST = "Host: 127.0.0.1\r\n"


def until(true: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether it becomes true in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def stalled(place: Place, room: int = 2048) -> socket.socket:
    """A connection that asks again and again, and takes none of the replies."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    found.connect(("127.0.0.1", place.port))
    found.setblocking(False)
    asked = f"GET /static/style.css HTTP/1.1\r\n{HOST}\r\n".encode() * 100
    for _ in range(40):
        with suppress(OSError):  # full, or dropped already
            found.send(asked)
        time.sleep(0.01)
    return found


def test_a_client_that_takes_no_reply_is_dropped(
    running: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise its connection would be held for ever, and a few hundred are all there are."""
    monkeypatch.setattr(connections, "_READ_SECONDS", 0.5)
    with stalled(running):
        assert until(lambda: not running.open)


def test_a_client_that_takes_its_time_is_not(
    running: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has taken some of the replies at every look: each waits for that, since a busy machine
    may stop the client for longer than any patience."""
    monkeypatch.setattr(connections, "_READ_SECONDS", 0.05)
    look, looks = PatientProtocol._look, [(0, 0)]

    def after_some(protocol: Any) -> None:
        waiting = (id(protocol.cycle), protocol.transport.get_write_buffer_size())
        if waiting[1] and waiting == looks[-1]:
            asyncio.get_running_loop().call_later(0.01, protocol._look)
        else:
            looks.append(waiting)
            look(protocol)

    monkeypatch.setattr(PatientProtocol, "_look", after_some)
    with stalled(running, room=100_000) as slow:
        slow.settimeout(10)
        end, got = time.monotonic() + 60, b""
        while sum(size > 0 for _, size in looks) < 10 and time.monotonic() < end:
            got += slow.recv(100_000)
            time.sleep(0.05)
        assert running.open["127.0.0.1"] == 1
        assert sum(size > 0 for _, size in looks) >= 10
        assert got.count(b"HTTP/1.1 200") > 50


def test_a_handshake_that_never_ends_counts_as_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One address cannot use up the file descriptors of a service with a certificate."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout k -out c"
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    place.path.write_text(f'{place.text()}\n[serve.tls]\ncertificate = "c"\nkey = "k"\n')
    monkeypatch.setattr(connections, "_MOST_FROM_ONE", 20)
    url = place.url.replace("http", "https")
    with serving(place, url), ExitStack() as stack:
        assert until(lambda: not place.open)
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", place.port), timeout=20))
            for _ in range(25)
        ]
        for each in held[20:]:
            with suppress(ConnectionResetError):
                assert each.recv(10) == b""
        assert place.open["127.0.0.1"] == 20
        for each in held[:5]:
            each.close()
        assert until(lambda: place.open["127.0.0.1"] == 15)
        assert httpx.get(f"{url}/healthz", verify=False).status_code == 200


def test_a_declared_proxy_may_have_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_MOST_FROM_ONE", 1)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(connections, "_SPARE", 0)
    with Listening("127.0.0.1", 0) as listening, ExitStack() as stack:
        listening.listen()

        def taken() -> bool:
            stack.enter_context(socket.create_connection(listening.getsockname(), timeout=20))
            try:
                stack.enter_context(listening.accept()[0])
            except ConnectionAbortedError:
                return False
            return True

        assert [taken(), taken()] == [True, False]
        listening.proxies = lambda: ("127.0.0.1",)
        assert [taken(), taken()] == [True, False]


def test_a_request_of_two_lengths_hides_no_other(running: Place) -> None:
    """A proxy that goes by the one would hand on the rest as somebody else's request."""
    head = f"POST /login HTTP/1.1\r\n{HOST}Content-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n"
    hidden = f"0\r\n\r\nGET /healthz HTTP/1.1\r\n{HOST}\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as raw:
        raw.sendall((head + hidden).encode())
        reply = b""
        with suppress(ConnectionResetError):
            while part := raw.recv(65536):
                reply += part
    assert reply.count(b"HTTP/1.1") == 1
    assert b"two_lengths" in reply


GARBAGE = {
    "a chunk that is none, after the reply": [
        f"POST /releases HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n".encode(),
        b"EVIL\x1b[31m\r\nFatal\r\n",
    ],
    "a chunk that is none, before the reply": [
        f"POST /login HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n".encode(),
        b"EVIL\x1b[31m\r\nFatal\r\n",
    ],
    "not HTTP": [b"EVIL\r\n\r\n"],
    "two hosts": [f"GET /EVIL HTTP/1.1\r\n{HOST}{HOST}\r\n".encode()],
    "an upgrade": [
        f"GET /healthz HTTP/1.1\r\n{HOST}Connection: upgrade\r\nUpgrade: EVIL\r\n\r\n".encode()
    ],
    "half a body": [f"POST /login HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nEVIL".encode()],
}


def test_whatever_is_sent_the_log_is_lines_of_json(tmp_path: Path) -> None:
    """No stranger writes tracebacks, or words of their own, into the log of the service."""
    place = Place(tmp_path, str(tmp_path / "budget.db"), plain=True)
    with process(place) as server:
        for parts in GARBAGE.values():
            with socket.create_connection(("127.0.0.1", place.port), timeout=20) as raw:
                for part in parts:
                    raw.sendall(part)
                    time.sleep(0.05)
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with place.client("ana") as ana:
            assert ana.get("/budget").status_code == 200
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate(timeout=60)
    events = [json.loads(line) for line in log.splitlines()]
    assert "EVIL" not in log
    assert "Traceback" not in log
    assert [each for each in events if each["level"] == "error"] == []


def test_replies_are_sent_at_once() -> None:
    """Without TCP_NODELAY each reply on a kept connection takes 40 ms longer."""
    with Listening("127.0.0.1", 0) as listening:
        listening.listen()
        with socket.create_connection(listening.getsockname(), timeout=20):
            accepted, _ = listening.accept()
            with accepted:
                asyncio.run(_nodelay(accepted))


async def _nodelay(accepted: socket.socket) -> None:
    """An event loop sets it on connections that say they are TCP."""
    accepted.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, accepted)
    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    transport.close()
