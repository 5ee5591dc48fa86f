"""Connections to a PostgreSQL server; one may be kept between transactions.

Connecting costs the server a process and a password check, several times the cost of the
transaction itself, so a process that makes many charges can keep its connection. At most one idle
connection is kept; a thread that finds none opens a new one. A connection that failed in any way is
not kept, and a forked child does not touch that of its parent.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.pq import TransactionStatus

from .postgres_schema import Connection

__all__ = ["Connections"]

#: After this many seconds a connection is replaced, so that changed passwords and rights apply.
_OLDEST: Final = 600.0
#: Connections of a parent process, kept alive because closing them would end the parent's.
_inherited: list[Connection] = []


class Connections:
    """Connections to the server at a URL, each used by one thread at a time."""

    def __init__(self, url: str, wait: float, *, keep: bool = False) -> None:
        """Opens no connection yet. With ``keep``, one stays open between transactions."""
        self._url = url
        self._wait = wait
        self._keep = keep
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[tuple[Connection, float]] = []
        weakref.finalize(self, _close, self._idle, self._process)

    def new(self) -> Connection:
        """A new connection."""
        return psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, round(self._wait)),
            application_name="hourglass ledger",
            client_encoding="utf8",
            **(self._unstuck() if self._keep else {}),
        )

    @contextmanager
    def begun(self, begin: Callable[[Connection], None]) -> Iterator[Connection]:
        """A connection on which ``begin`` was called: the kept one, or a new one."""
        connection, opened = self._kept(begin) or self._fresh(begin)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        if self._keep and connection.info.transaction_status == TransactionStatus.IDLE:
            with self._lock:
                if not self._idle:
                    self._idle.append((connection, opened))
                    return
        connection.close()

    def _fresh(self, begin: Callable[[Connection], None]) -> tuple[Connection, float]:
        connection = self.new()
        try:
            begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection, time.monotonic()

    def _kept(self, begin: Callable[[Connection], None]) -> tuple[Connection, float] | None:
        """The kept connection and when it was opened; None if it is old, lost or in use."""
        self._leave_parents()
        with self._lock:
            found = self._idle.pop() if self._idle else None
        if found is None:
            return None
        connection, opened = found
        try:
            if time.monotonic() - opened <= _OLDEST:
                begin(connection)
                return found
        except psycopg.Error:
            pass  # it was lost in the meantime; no query was sent on it yet
        connection.close()
        return None

    def _leave_parents(self) -> None:
        if os.getpid() != self._process:
            # In a forked child, another thread of its parent may have held the lock.
            _inherited.extend(connection for connection, _ in self._idle)
            self._process, self._lock, self._idle = os.getpid(), threading.Lock(), []
            weakref.finalize(self, _close, self._idle, self._process)

    def _unstuck(self) -> dict[str, Any]:
        """Settings with which a server that disappears silently is noticed within the wait."""
        return {
            "keepalives_idle": 30,
            "keepalives_interval": 5,
            "tcp_user_timeout": max(2000, round(self._wait * 1000)),
        }


def _close(idle: list[tuple[Connection, float]], process: int) -> None:
    if os.getpid() == process:
        for connection, _ in idle:
            connection.close()
