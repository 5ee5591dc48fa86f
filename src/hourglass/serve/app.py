"""The application: routes, static files, and the headers that every reply carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import api, pages
from .failures import Failure
from .people import Door
from .service import Service
from .web import Call, Desk, endpoint, told_as_json

__all__ = ["make_app"]

_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_HTTPS: Final = (b"strict-transport-security", b"max-age=31536000")
#: The reply to a request that a proxy may take to end elsewhere than we do: it may hide another.
_TWO_LENGTHS: Final = JSONResponse(
    Failure("two_lengths").to_dict(), Failure("two_lengths").status, {"connection": "close"}
)
#: The static files of the page; no others are served.
_FILES: Final = {
    "style.css": "text/css",
    "preview.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def _file(name: str, kind: str) -> Any:
    content = (Path(__file__).parent / "static" / name).read_bytes()

    async def handle(request: Request) -> Response:
        return Response(content, media_type=kind)

    return handle


class Headers:
    """Adds the headers; only static files may be cached."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        """Around an application."""
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and add the headers to its reply."""
        kept = b"max-age=3600" if scope.get("path", "").startswith("/static/") else b"no-store"
        # After a reload, the catalogue may declare a proxy, or no longer declare one.
        secure = self._service.state.catalogue.settings.secure

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                https = [_HTTPS] if secure else []
                lines = [*_HEADERS, *https, (b"cache-control", kept)]
                message["headers"] = [*message["headers"], *lines]
            await send(message)

        names = {name for name, _ in scope.get("headers", ())}
        if {b"content-length", b"transfer-encoding"} <= names:
            await _TWO_LENGTHS(scope, receive, with_headers)
        else:
            await self._app(scope, receive, with_headers)


def make_app(service: Service, door: Door) -> ASGIApp:
    """The service as an ASGI application."""
    desk = Desk.of(service, door)
    routes: list[Any] = [
        Route(path, endpoint(desk, path, work, public=public), methods=[method])
        for path, method, work, public in api.ROUTES
    ]
    tell = pages.told_as_page
    routes += [
        Route(path, endpoint(desk, path, work, tell=tell, public=public), methods=[method])
        for path, method, work, public in pages.ROUTES
    ]
    routes += [Route(f"/static/{name}", _file(name, kind)) for name, kind in _FILES.items()]

    def refused(code: str) -> Any:
        async def tell(request: Request, error: Exception) -> Response:
            call = Call(request, desk, desk.service.state, None)
            desk.metrics.refused(code)
            wants_page = "text/html" in request.headers.get("accept", "")
            return (pages.told_as_page if wants_page else told_as_json)(call, Failure(code))

        return tell

    app = Starlette(
        routes=routes,
        exception_handlers={404: refused("not_found"), 405: refused("method_not_allowed")},
    )
    app.router.redirect_slashes = False
    return Headers(app, service)
