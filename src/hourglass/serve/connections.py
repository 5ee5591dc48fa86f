"""Connections: how many there may be, from whom, and how long a client may take."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import OptionError

__all__ = ["MOST_CONNECTIONS", "Listening", "PatientProtocol"]

#: The most connections at once; further ones get an error that asks to retry.
MOST_CONNECTIONS: Final = 500
#: How many further ones are accepted, only to be sent that error.
_SPARE: Final = 50
#: The most connections from one address, so that nobody can take them all.
_MOST_FROM_ONE: Final = 250
#: A connection that has not sent the head of a request after this many seconds is closed.
_HEAD_SECONDS: Final = 10.0
#: A client that takes nothing of a reply for this many seconds, at most twice that, is dropped.
_READ_SECONDS: Final = 30.0
#: What the system may hold of a reply, in bytes. With more, anybody could fill the memory, and a
#: slow client could not be told from one that takes nothing.
_IN_TRANSIT: Final = 128 * 1024


class Listening(socket.socket):
    """A listening socket that takes no more connections than one address, and all, may have.

    They are counted when they are accepted: one whose TLS handshake never ends counts as well.
    """

    #: Returns the addresses that serve many people, and may have all connections.
    proxies: Callable[[], Sequence[str]]

    def __init__(self, host: str, port: int) -> None:
        """Bind the socket; it has no proxies yet."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol named, the event loop sends small packets at once.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _IN_TRANSIT)  # and of those accepted
        self.proxies = tuple
        self.open: Counter[str] = Counter()
        try:
            self.bind((host, port))
        except OSError as error:
            self.close()
            raise OptionError(
                f"listen: {host}:{port} cannot be used ({error.strerror}); choose another address "
                "or port in [serve] of the catalogue"
            ) from None

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection; raises an error that the event loop ignores if it is refused."""
        accepted, address = super().accept()
        most = MOST_CONNECTIONS if address[0] in self.proxies() else _MOST_FROM_ONE
        if self.open[address[0]] >= most or self.open.total() >= MOST_CONNECTIONS + _SPARE:
            accepted.close()
            raise ConnectionAbortedError
        return _Counted(accepted, address[0], self.open), address


class _Counted(socket.socket):
    """A connection that is counted until it is closed."""

    def __init__(self, accepted: socket.socket, address: str, opened: Counter[str]) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        self._address, self._opened = address, opened
        opened[address] += 1

    def close(self) -> None:
        """Close the connection, and count it no more."""
        address, self._address = self._address, ""
        if address:
            self._opened[address] -= 1
            if not self._opened[address]:
                del self._opened[address]
        super().close()


class PatientProtocol(H11Protocol):
    """HTTP that drops clients that do not finish the head of a request, or do not take a reply."""

    _deadline: asyncio.TimerHandle | None = None
    _watch: asyncio.TimerHandle | None = None
    _seen: tuple[Any, int] = (None, 0)

    def connection_made(self, transport: Any) -> None:
        """Give the first request its time."""
        super().connection_made(transport)
        self._await_head()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Give the next request its time, if its head has begun and not ended."""
        super().data_received(data)
        cycle: Any = self.cycle  # the request under way, None before the first
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Reply that what came is not HTTP, unless a reply has begun or was sent before."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is left to wait for."""
        self._stop_waiting()
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(_HEAD_SECONDS, self._expire)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _look(self) -> None:
        """Drop the connection if nothing of the reply was taken since the last look."""
        waiting = self.transport.get_write_buffer_size()
        if waiting and self._seen == (self.cycle, waiting):
            self.transport.abort()
            return
        self._seen = (self.cycle, waiting)
        self._watch = asyncio.get_running_loop().call_later(_READ_SECONDS, self._look)
