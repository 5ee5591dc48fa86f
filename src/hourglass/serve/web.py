"""What the page and the API share: authentication, parsing of requests, reporting of failures."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .failures import Failure, failure_of
from .limits import Rates, body_of
from .metrics import Metrics
from .people import Door, Visitor
from .previews import Worth, worth
from .service import Asked, Found, Service, State

__all__ = ["Call", "Desk", "Work"]

log = logging.getLogger("hourglass.serve")
_GENEROUS: Final = 20
#: The most requests that are processed at once. More would slow down the thread that holds the
#: ledger's lock, for which all others wait.
_THREADS: Final = 16


@dataclass
class Desk:
    """Everything that a request may need."""

    service: Service
    door: Door
    questions: Rates
    requests: Rates
    strangers: Rates
    metrics: Metrics = field(default_factory=Metrics)
    threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS))

    @classmethod
    def of(cls, service: Service, door: Door) -> Desk:
        """With the rates of the catalogue that is in force at the time of a request."""

        def a_minute() -> int:
            return service.state.catalogue.settings.questions_per_minute

        requests = Rates(lambda: _GENEROUS * a_minute())
        return cls(service, door, Rates(a_minute), requests, Rates(lambda: 60))


@dataclass(frozen=True)
class Call:
    """A request, with its caller and the state at its beginning."""

    request: Request
    desk: Desk
    state: State
    visitor: Visitor | None
    body: bytes = b""

    @property
    def service(self) -> Service:
        """The service."""
        return self.desk.service

    @property
    def person(self) -> Any:
        """The caller; raises a Failure if nobody is signed in."""
        if self.visitor is None:
            raise Failure("not_signed_in")
        return self.visitor.person

    @property
    def address(self) -> str:
        """Where the connection comes from."""
        return self.request.client.host if self.request.client else ""

    def needs(self, *roles: str) -> None:
        """Raise a Failure unless the caller has one of these roles."""
        if not self.person.may(*roles):
            raise Failure("not_allowed")

    def asked(self, *question: Any) -> Asked:
        """The caller's question: dataset, columns, by, filter, spread, epsilon."""
        return self.state.asked(self.person, *question)

    def worth(self, asked: Asked, records: Any, mean: Any) -> Worth:
        """The price of a question for the caller, and the expected accuracy of its answer."""
        return worth(self.state, self.person, asked, records, mean)

    def ask(self, asked: Asked, key: Any) -> Any:
        """The answer, charged to the caller; the rate is limited."""
        self.desk.questions.check(self.person.name)
        return self.service.ask(self.state, self.person, asked, key)

    def found(self, key: str, whose: str | None = None) -> Found:
        """A stored answer: the caller's own or, for readers and owners, anybody's."""
        return self.state.answer(self.person, key, whose)

    def query(self, name: str, default: str = "") -> str:
        """A value of the address, or the last of several."""
        return self.request.query_params.get(name, default)

    def queries(self, name: str) -> list[str]:
        """All values of that name in the address."""
        return self.request.query_params.getlist(name)

    def json(self) -> dict[str, Any]:
        """The body as a JSON object."""
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Failure("not_json")
        try:
            found = json.loads(self.body, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            raise Failure("not_json") from None
        if not isinstance(found, dict):
            raise Failure("not_json")
        return found

    def form(self) -> dict[str, str]:
        """The fields of a form, which must have been made by us for this visitor."""
        fields = _fields(self.body)
        if self.visitor is not None and not self.desk.door.is_form_key(
            self.visitor, fields.get("form_key", "")
        ):
            raise Failure("cross_site")
        return fields


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of two fields of one name, another program might read the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Failure("bad_fields", words="A field is given more than once; give each once.")
    return found


def _fields(body: bytes) -> dict[str, str]:
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise Failure("bad_fields") from None
    return {name: values[-1] for name, values in found.items()}


Work = Callable[[Call], Response]
Told = Callable[[Call, Failure], Response]


def told_as_json(call: Call, failure: Failure) -> Response:
    """A failure as JSON."""
    headers = {"WWW-Authenticate": "Bearer"} if failure.status == 401 else {}
    return JSONResponse(failure.to_dict(), failure.status, headers)


def endpoint(
    desk: Desk, path: str, work: Work, *, tell: Told = told_as_json, public: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """A handler: authenticates the caller, checks the origin, reads the body, runs in a thread."""

    async def handle(request: Request) -> Response:
        started, state = time.perf_counter(), desk.service.state
        call = Call(request, desk, state, None)
        try:
            check_host(request, state)
            call = Call(request, desk, state, _visitor(request, desk, state))
            if not public:
                desk.requests.check(call.person.name)
            if request.method == "POST":
                _check_origin(request, call)
                call = Call(request, desk, state, call.visitor, await body_of(request))
            reply = await to_thread.run_sync(work, call, limiter=desk.threads)
        except Exception as error:
            failure = failure_of(error)
            if failure.code == "internal":
                log.error("unexpected", extra={"facts": {"kind": type(error).__name__}})
            desk.metrics.refused(failure.code)
            reply = tell(call, failure)
        _note(path, reply, call, started)
        return reply

    return handle


def _note(path: str, reply: Response, call: Call, started: float) -> None:
    """Count and log a reply, by the pattern of its route instead of the URL."""
    call.desk.metrics.served(path, reply.status_code)
    facts = {
        "method": call.request.method,
        "route": path,
        "status": reply.status_code,
        "person": call.visitor.person.name if call.visitor else None,
        "ms": round(1000 * (time.perf_counter() - started), 1),
    }
    log.info("request", extra={"facts": facts})


def check_host(request: Request, state: State) -> None:
    """Refuse foreign host names (DNS rebinding), and connections that bypass the proxy."""
    settings = state.catalogue.settings
    allowed = {settings.host, "localhost", "127.0.0.1", "::1"}
    if settings.url:
        allowed.add(urlsplit(settings.url).hostname or "")
    try:
        named = urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        named = None
    if request.scope["path"] == "/healthz":
        return  # for health checks on the machine itself, under any host name
    if named not in allowed:
        raise Failure("wrong_host")
    address = request.client.host if request.client else ""
    if settings.proxy is not None and address not in settings.proxy.addresses:
        raise Failure("not_by_proxy")  # connections that bypass the proxy are not encrypted


def _check_origin(request: Request, call: Call) -> None:
    """Refuse requests that another site caused a browser to send."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise Failure("cross_site")
    settings = call.state.catalogue.settings
    own = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    for origin in request.headers.getlist("origin"):
        if _site(origin) is None or _site(origin) != _site(settings.url or own):
            raise Failure("cross_site")


def _site(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port, the usual port where none is given; None for what has no host."""
    try:
        parts = urlsplit(url)
        usual = 443 if parts.scheme == "https" else 80
        return (parts.scheme, parts.hostname, parts.port or usual) if parts.hostname else None
    except ValueError:
        return None


def cookie_name(state: State) -> str:
    """The name of the session cookie; with https it is bound to this host."""
    return "__Host-hourglass" if state.catalogue.settings.secure else "hourglass"


def _visitor(request: Request, desk: Desk, state: State) -> Visitor | None:
    catalogue, door = state.catalogue, desk.door
    address = request.client.host if request.client else ""
    offered = request.headers.getlist("authorization")
    if offered:
        scheme, _, token = offered[0].partition(" ")
        alone = len(offered) == 1 and scheme.lower() == "bearer"
        found = door.by_token(catalogue, token.strip()) if alone else None
        if found is None:
            desk.strangers.check(address)
            raise Failure("not_signed_in")
        return found
    if any(door.named_by_proxy(catalogue, address, request.headers)):
        # Known here or not: a cookie may be left over from somebody else.
        return door.by_proxy(catalogue, address, request.headers)
    cookie = request.cookies.get(cookie_name(state))
    return door.by_session(catalogue, cookie) if cookie else None
