"""Authentication: by an access token, by a session of the page, or by a trusted proxy."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers

from .catalogue import Catalogue, Person
from .tokens import hashed, matching, random_text

__all__ = ["Door", "Visitor"]

#: The lifetimes of a session and of a sign-in link, in seconds.
SESSION: Final = 12 * 3600
LINK: Final = 15 * 60
#: The most sessions of a person at once.
_MOST_SESSIONS: Final = 50


@dataclass(frozen=True)
class Visitor:
    """A person, how they signed in ("token", "session", "proxy"), and the session's hash."""

    person: Person
    how: str
    session: str = field(default="", repr=False)


@dataclass(frozen=True)
class _Session:
    person: str
    token: str = field(repr=False)
    ends: float = 0.0


class Door:
    """Authenticates people. Of tokens, links and sessions only hashes are kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """No sessions yet."""
        self._clock = clock
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._links: dict[str, _Session] = {}
        self._secret = random_text().encode()

    def by_token(self, catalogue: Catalogue, token: str) -> Visitor | None:
        """The person whose token it is."""
        known = [(name, each.token) for name, each in catalogue.people.items() if each.token]
        name = matching(token, known)
        return None if name is None else Visitor(catalogue.people[name], "token")

    def by_session(self, catalogue: Catalogue, cookie: str) -> Visitor | None:
        """The person whose session it is, until it expires or their token changes."""
        name = hashed(cookie)
        with self._lock:
            found = self._sessions.get(name)
        person = self._whose(catalogue, found)
        return None if person is None else Visitor(person, "session", name)

    def by_proxy(self, catalogue: Catalogue, address: str, headers: Headers) -> Visitor | None:
        """The person named by the declared proxy; nobody else is trusted.

        Two names count as none: the client may have sent the first, and the proxy added its own.
        """
        named = self.named_by_proxy(catalogue, address, headers)
        person = catalogue.people.get(named[0]) if len(named) == 1 else None
        return None if person is None else Visitor(person, "proxy")

    def named_by_proxy(self, catalogue: Catalogue, address: str, headers: Headers) -> list[str]:
        """What the declared proxy says about who is signed in, whether or not we know them."""
        proxy = catalogue.settings.proxy
        if proxy is None or proxy.header is None or address not in proxy.addresses:
            return []
        return headers.getlist(proxy.header)

    def open_session(self, person: Person) -> str:
        """Open a session; the returned text is only for the person's cookie."""
        secret, now = random_text(), self._clock()
        with self._lock:
            self._forget(now, person.name)
            self._sessions[hashed(secret)] = _Session(person.name, person.token, now + SESSION)
        return secret

    def close_session(self, visitor: Visitor) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(visitor.session, None)

    def link(self, person: Person) -> str:
        """A code that can open a session for the person, once."""
        code = random_text()
        with self._lock:
            ends = self._clock() + LINK
            self._links[hashed(code)] = _Session(person.name, person.token, ends)
        return code

    def follow(self, catalogue: Catalogue, code: str) -> Person | None:
        """The person that a sign-in link was made for; it works once."""
        with self._lock:
            found = self._links.pop(hashed(code), None)
        return self._whose(catalogue, found)

    def _whose(self, catalogue: Catalogue, found: _Session | None) -> Person | None:
        """The person of a session or a link, until it expires or their token changes."""
        if found is None or found.ends < self._clock():
            return None
        person = catalogue.people.get(found.person)
        return person if person is not None and person.token == found.token else None

    def form_key(self, visitor: Visitor) -> str:
        """The key in every form of this visitor, which other sites cannot know."""
        whose = visitor.session or f"proxy {visitor.person.name}"
        return hmac.new(self._secret, whose.encode(), hashlib.sha256).hexdigest()

    def is_form_key(self, visitor: Visitor, offered: str) -> bool:
        """Whether a form was made for this visitor."""
        known = self.form_key(visitor).encode()
        return hmac.compare_digest(known, offered.encode("utf-8", "replace"))

    @property
    def sessions(self) -> int:
        """How many sessions are open."""
        return len(self._sessions)

    def _forget(self, now: float, person: str) -> None:
        """Drop expired sessions, and the person's oldest if they have too many."""
        ended = [name for name, each in self._sessions.items() if each.ends < now]
        own = [name for name, each in self._sessions.items() if each.person == person]
        for name in ended + own[: max(0, len(own) - _MOST_SESSIONS + 1)]:
            self._sessions.pop(name, None)
