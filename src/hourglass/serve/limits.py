"""Limits on the size and speed of request bodies and on the rate of requests."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from starlette.requests import ClientDisconnect

from .failures import Failure

__all__ = ["BODY", "Rates", "body_of"]

#: No body may be longer than this many bytes, or take longer than this many seconds to arrive.
BODY: Final = 64 * 1024
SECONDS: Final = 10.0
_MOST_NAMES: Final = 10_000


class Rates:
    """A limit on events per minute for each name; unused ones accumulate up to that number."""

    def __init__(
        self, a_minute: Callable[[], float], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """No events so far. The limit per minute is looked up again for each event."""
        self._a_minute = a_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[str, tuple[float, float]] = {}

    def check(self, name: str, cost: float = 1.0) -> None:
        """Count an event; raises a Failure if the limit is exceeded."""
        now, a_minute = self._clock(), self._a_minute()
        with self._lock:
            if len(self._used) > _MOST_NAMES:
                self._used.clear()
            used, at = self._used.get(name, (0.0, now))
            used = max(0.0, used - (now - at) * a_minute / 60)
            if used + cost > a_minute:
                raise Failure("too_fast")
            self._used[name] = (used + cost, now)


async def body_of(request: Any) -> bytes:
    """The body of a request, if it is short and arrives in time."""
    try:
        return await asyncio.wait_for(_read(request), SECONDS)
    except TimeoutError:
        raise Failure("too_slow") from None
    except ClientDisconnect:
        raise Failure("cut_off") from None


async def _read(request: Any) -> bytes:
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > BODY:
            raise Failure("too_large")
    return bytes(found)
