"""``hg.connect``: the API of ``hourglass serve`` from Python, using only the standard library.

``gateway.mean`` takes the name of a dataset where :func:`hourglass.mean` takes data, and returns
the same kind of answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ..errors import GatewayError, OptionError, shown
from ..noise.bits import SECURE

__all__ = ["Gateway", "connect", "restored"]

#: Failures after which a question may have been charged.
_UNCERTAIN: Final = frozenset({"unreachable", "unknown", "internal", "unavailable", "ledger_busy"})

#: Options of :func:`hourglass.mean` that a catalogue sets.
_OWNERS: Final = {"bounds", "budget", "delta", "grid", "keys", "missing", "parse", "unit"}


def connect(url: str, token: str, *, timeout: float = 30.0) -> Gateway:
    """Connect to a gateway that holds data and budgets; ask with ``gateway.mean(...)``.

    ``token`` is what ``hourglass serve token`` printed. It is sent only over https or to this
    machine; plain http to another machine is refused, since the token could be read on the way.
    """
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if not parts.hostname:
        raise OptionError(
            f"url={shown(url)} is not the address of a service; give one such as "
            "https://statistics.example.org or http://127.0.0.1:8420"
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and local):
        raise OptionError(
            f"url={shown(url)}: the token would be sent unencrypted; give an https address"
        )
    plain = token.strip() if isinstance(token, str) else ""
    if not plain or not plain.isascii() or not plain.isprintable():
        raise OptionError(
            "token: not an access token; give the text that `hourglass serve token` printed"
        )
    return Gateway(url.rstrip("/"), plain, timeout)


class Gateway:
    """A service that answers questions about data without showing it."""

    def __init__(self, url: str, token: str, timeout: float = 30.0) -> None:
        """Constructed by :func:`connect`; nothing is sent yet."""
        self.url = url
        self._token = token
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"Gateway({self.url!r})"

    def datasets(self) -> list[dict[str, Any]]:
        """What may be asked: datasets, columns, groups, prices."""
        found: list[dict[str, Any]] = self._send("/datasets")["datasets"]
        return found

    def budget(self) -> list[dict[str, Any]]:
        """What may still be spent."""
        found: list[dict[str, Any]] = self._send("/budget")["budgets"]
        return found

    def plan(
        self,
        dataset: str,
        column: str | Sequence[str],
        *,
        epsilon: Any,
        by: str | Sequence[str] | None = None,
        filter: str | None = None,
        spread: bool = False,
        records: int | None = None,
        mean: float | None = None,
        **others: Any,
    ) -> dict[str, Any]:
        """The price and the expected accuracy of a question; costs nothing and reads no data."""
        from urllib.parse import urlencode

        _refuse(others, "plan", "epsilon, by, filter, spread, records and mean")
        fields: list[tuple[str, Any]] = [("dataset", dataset), ("epsilon", str(epsilon))]
        fields += [("columns", name) for name in _names(column)]
        fields += [("by", ",".join(_names(by))), ("filter", filter)]
        fields += [("spread", "true" if spread else "")]
        fields += [("records", records), ("mean", mean)]
        address = urlencode([(name, value) for name, value in fields if value not in (None, "")])
        return self._send(f"/plan?{address}")

    def mean(
        self,
        dataset: str,
        column: str | Sequence[str],
        *,
        epsilon: Any,
        by: str | Sequence[str] | None = None,
        filter: str | None = None,
        spread: bool = False,
        request: str | None = None,
        **others: Any,
    ) -> Any:
        """The private mean of a column, or of several; see :func:`hourglass.mean`.

        Bounds, keys or delta, and unit are those of the catalogue; ``filter`` names one of its
        filters. ``request`` is your key for the question; asking again under it returns the stored
        answer at no charge. By default a key is generated, and the question is sent again under it
        if the first reply is lost.
        """
        _refuse(others, "mean", "epsilon, by, filter, spread and request")
        key = request or SECURE.words(2).tobytes().hex()
        fields = {
            "dataset": dataset,
            "columns": _names(column),
            "by": ",".join(_names(by)),
            "filter": filter or "",
            "spread": spread,
            "epsilon": str(epsilon),
            "request": key,
        }
        with _naming(key):
            try:
                answer = self._send("/releases", fields)
            except GatewayError as error:
                if error.code != "unreachable":
                    raise
                answer = self._send("/releases", fields)
            return _served(answer)

    def release(self, request: str, person: str | None = None) -> Any:
        """A stored answer, by its request key."""
        from urllib.parse import quote

        whose = f"{quote(person, safe='')}/" if person else ""
        return _served(self._send(f"/releases/{whose}{quote(request, safe='')}"))

    def _send(self, place: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        body = None
        if fields is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(fields).encode()
        request = Request(self.url + place, body, headers)
        try:
            try:
                with self._opener().open(request, timeout=self._timeout) as reply:
                    found = json.load(reply)
            except HTTPError as error:
                with error:
                    raise _failure(error.code, error.read(100_000)) from None
        except (OSError, HTTPException, ValueError):  # no reply, a part of one, or none of ours
            found = None
        if isinstance(found, dict):
            return found
        raise GatewayError(
            f"{self.url} does not answer; check the address, or try again (under the same "
            "request key a question is charged only once)",
            code="unreachable",
        )

    def _opener(self) -> Any:
        """Sends the token only to the given address: it follows no redirect.

        A proxy that the environment names is used for https, of which it sees nothing; plain http,
        which is for this machine, goes to no proxy.
        """
        from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

        class Staying(HTTPRedirectHandler):
            def redirect_request(self, *given: Any, **options: Any) -> None:
                """Follow no redirect."""

        proxies = () if self.url.lower().startswith("https:") else (ProxyHandler({}),)
        return build_opener(Staying, *proxies)


@contextmanager
def _naming(key: str) -> Iterator[None]:
    """If it is not known whether a question was charged, add a note that names its key."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, GatewayError) or error.code in _UNCERTAIN:
            error.add_note(
                f"The question may have been charged. With request={key!r} it is charged at most "
                "once."
            )
        raise


def _failure(status: int, body: bytes) -> GatewayError:
    try:
        told = json.loads(body)["error"]
        message, code = str(told["message"]), str(told["code"])
    except (ValueError, KeyError, TypeError):
        message, code = f"the gateway replied with status {status}", "unknown"
    else:
        for what, part in (("epsilon", ""), ("delta", "_delta")):
            if {f"requested{part}", f"remaining{part}"} <= set(told):
                asked, left = told[f"requested{part}"], told[f"remaining{part}"]
                message += f" Asked for {what} {asked}, left {left}."
    return GatewayError(message, code=code)


def _names(given: str | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _refuse(others: dict[str, Any], call: str, known: str) -> None:
    """Refuse an option that the service does not take, with what to do instead."""
    for name in others:
        if name == "where":
            remedy = (
                "the owner decides on the filters; name one of them with filter=, and "
                "gateway.datasets() lists them"
            )
        elif name in _OWNERS:
            remedy = "the catalogue of the service sets it; leave it out"
        else:
            remedy = f"it takes {known}"
        raise OptionError(f"{name}: gateway.{call} does not take this option; {remedy}")


def _served(reply: dict[str, Any]) -> Any:
    """The release in a reply, whose statement names the budget that it was charged to."""
    found = restored(reply["answer"])
    if isinstance(name := reply.get("budget"), str):
        object.__setattr__(found, "charged_to", name)
    return found


def restored(stored: dict[str, Any]) -> Any:
    """Restore the release from a stored answer."""
    from ..release.columns import Columns
    from ..release.release import Release, Releases

    if "columns" in stored:
        return Columns.from_dict(stored)
    return (Releases if "by" in stored else Release).from_dict(stored)
