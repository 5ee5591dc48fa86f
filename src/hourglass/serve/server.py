"""Run the service: socket, signals, refreshing of totals, logs, graceful shutdown."""

from __future__ import annotations

import difflib
import json
import logging
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

import uvicorn

from ..errors import HourglassError, OptionError
from ..release.rendering import counted
from .app import make_app
from .catalogue import Catalogue
from .connections import MOST_CONNECTIONS, Listening, PatientProtocol
from .journal import Journal
from .people import Door
from .reading import read_catalogue
from .service import Service, load

__all__ = ["run"]

log = logging.getLogger("hourglass.serve")
#: How many seconds running requests have to finish when the service is stopped.
_GRACE: Final = 20
#: A computing thread yields the interpreter after this many seconds. The thread that holds the
#: ledger's lock needs it again after every statement, while all others wait for that lock.
_SWITCH: Final = 0.0005


def run(path: Path, *, link_for: str | None = None) -> None:
    """Serve a catalogue until the process is stopped."""
    sys.setswitchinterval(_SWITCH)
    catalogue = read_catalogue(path)
    if link_for is not None and link_for not in catalogue.people:
        near = difflib.get_close_matches(link_for, catalogue.people, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(catalogue.people)}"
        raise OptionError(f"--link {link_for!r} is not in [people] of the catalogue; {hint}")
    listening = Listening(catalogue.settings.host, catalogue.settings.port)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to read again
    _log_as_json()
    service = Service(load(catalogue), Journal(catalogue.settings.journal))
    listening.proxies = lambda: service.state.catalogue.settings.proxies
    door = Door()
    server = uvicorn.Server(_config(service, door, catalogue))
    _say_where(catalogue, door, link_for)
    why: list[str] = []

    def stop(number: int, frame: object) -> None:
        # uvicorn shuts down gracefully and then sends itself the signal again, when all is done.
        # A signal that comes before uvicorn handles them counts, too.
        why.append(signal.Signals(number).name)
        server.should_exit = True

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    with _Reloading(service, path):
        server.run(sockets=[listening])
    service.journal.close()
    log.info("stopped", extra={"facts": {"why": why[0] if why else "unknown"}})


def _config(service: Service, door: Door, catalogue: Catalogue) -> uvicorn.Config:
    settings = catalogue.settings
    return uvicorn.Config(
        make_app(service, door),
        host=settings.host,
        port=settings.port,
        loop="asyncio",  # the one that counts connections by Listening
        http=PatientProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=settings.tls.certificate if settings.tls else None,
        ssl_keyfile=settings.tls.key if settings.tls else None,
        ssl_ciphers="ECDHE+AESGCM:ECDHE+CHACHA20",  # of TLS 1.2; all of 1.3 are good
    )


def _say_where(catalogue: Catalogue, door: Door, link_for: str | None) -> None:
    settings = catalogue.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = settings.url or f"{'https' if settings.tls else 'http'}://{host}:{settings.port}"
    print(f"hourglass serves {counted(len(catalogue.datasets), 'dataset')} at {url}", flush=True)
    if link_for is None:
        owners = [name for name, each in catalogue.people.items() if each.may("owner")]
        link_for = owners[0] if settings.host in ("127.0.0.1", "::1", "localhost") else None
    if link_for is not None:
        code = door.link(catalogue.people[link_for])
        link = f"{url}/login?code={code}"
        print(f"Sign in as {link_for} (works once, for 15 minutes): {link}", flush=True)


class _Reloading:
    """Reads totals again on the owner's schedule and the catalogue on SIGHUP, and prepares laws."""

    def __init__(self, service: Service, path: Path) -> None:
        self._service = service
        self._path = path
        self._ended = threading.Event()
        # Why a reload is wanted. With a threading.Event, a second signal that interrupts the first
        # one's handler would wait for its lock for ever.
        self._wanted: SimpleQueue[str] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> None:
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: self._wanted.put("SIGHUP"))
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._wanted.put("the end")
        self._thread.join(5)

    def _work(self) -> None:
        rehearsed = self._rehearse()
        while not self._ended.is_set():
            why = self._next()
            if self._ended.is_set():
                return
            if self._reload(why) or not rehearsed:
                # or the time of an answer would reveal who was the first to ask
                rehearsed = self._rehearse()

    def _next(self) -> str:
        """Wait until a reload is wanted or due, and return why; several signals count as one."""
        try:
            why = self._wanted.get(timeout=self._service.state.catalogue.settings.refresh)
        except Empty:
            return "schedule"
        while not self._wanted.empty():
            self._wanted.get()
        return why

    def _reload(self, why: str) -> bool:
        """Read everything again; if that fails, the previous state remains in force."""
        try:
            self._service.state = load(read_catalogue(self._path), self._service.state)
        except HourglassError as error:
            log.error("kept the old catalogue", extra={"facts": {"why": why, "error": str(error)}})
            return False
        except Exception as error:
            facts = {"why": why, "kind": type(error).__name__}
            log.error("kept the old catalogue", extra={"facts": facts})
            return False
        log.info("loaded the catalogue", extra={"facts": {"why": why}})
        return True

    def _rehearse(self) -> bool:
        """Prepare the laws of all questions in advance, so that no first answer is slow.

        Returns False if it was interrupted.
        """
        for holding in self._service.state.holdings.values():
            for question in holding.rehearsals():
                if self._ended.is_set() or not self._wanted.empty():
                    return False
                question.rehearse()
                self._ended.wait(0.02)  # requests come first
        log.info("rehearsed every question")
        return True


class _JsonLines(logging.Formatter):
    """A line of JSON for each event; of errors only the type, since messages may quote data."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = getattr(record, "facts", {})
        return json.dumps(
            {"at": at, "level": record.levelname.lower(), "event": _event(record), **facts}
        )


def _event(record: logging.LogRecord) -> str:
    """What happened. Messages of asyncio go on with objects and sources on further lines."""
    return str(record.msg).partition("\n")[0]


def _log_as_json() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    levels = {"hourglass.serve": logging.INFO, "uvicorn": logging.WARNING, "asyncio": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
