"""A gate that keeps a fork out of a SQLite transaction.

SQLite keeps track of its locks in process memory. A child forked while another thread holds a lock
would inherit that state and find the ledger locked for ever. So a fork waits for the current
transaction; transactions are short.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_fork"]


class _Gate:
    """Counts the transactions in progress in this process, and whether a fork waits for them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside = 0
        self.forking = False


_gate = _Gate()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep this process from forking until the end of the block."""
    with _gate.changed:
        while _gate.forking:
            _gate.changed.wait()
        _gate.inside += 1
    try:
        yield
    finally:
        with _gate.changed:
            _gate.inside -= 1
            _gate.changed.notify_all()


def _before() -> None:
    _gate.changed.acquire()
    _gate.forking = True
    while _gate.inside:
        _gate.changed.wait()


def _after_in_parent() -> None:
    _gate.forking = False
    _gate.changed.notify_all()
    _gate.changed.release()


def _after_in_child() -> None:
    global _gate
    _gate = _Gate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
