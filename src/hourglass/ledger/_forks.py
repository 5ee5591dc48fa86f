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
from typing import Final

__all__ = ["no_fork"]

#: A fork looks again after this many seconds, in case that Ctrl-C prevented the notice.
_AGAIN: Final = 0.1


class _Gate:
    """The threads that are in a transaction, and whether a fork waits for them.

    Ctrl-C can end a transaction at any instant, and may leave the main thread in the set. So a set
    of threads is kept instead of a count: the thread's next transaction removes it, and so does a
    fork that it makes.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside: set[int] = set()
        self.forking = False


_gate = _Gate()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep this process from forking until the end of the block; blocks are not nested."""
    thread = threading.get_ident()
    with _gate.changed:
        while _gate.forking:
            _gate.changed.wait()
        _gate.inside.add(thread)
    try:
        yield
    finally:
        _gate.inside.discard(thread)  # at once: Ctrl-C may come while waiting for the lock
        with _gate.changed:
            _gate.changed.notify_all()


def _before() -> None:
    _gate.changed.acquire()
    _gate.forking = True
    _gate.inside.discard(threading.get_ident())
    while _gate.inside:
        _gate.changed.wait(_AGAIN)


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
