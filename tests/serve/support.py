"""A gateway under test: real data in a file, a real ledger, a real server on this machine."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import httpx
import uvicorn

from hourglass.ledger import create_budget
from hourglass.serve.connections import Listening
from hourglass.serve.journal import Journal
from hourglass.serve.people import Door
from hourglass.serve.reading import read_catalogue
from hourglass.serve.server import _config
from hourglass.serve.service import Service, load
from hourglass.serve.tokens import hashed, token
from tests import apart

#: Stands in the data and must never come out anywhere.
CANARY = "Zanzibar-4711"

CATALOGUE = """
[serve]
title = "Test"
listen = "127.0.0.1:{port}"
questions_per_minute = {rate}

[budgets.main]
ledger = "{ledger}"
epsilon = {epsilon}
delta = "{delta}"
allowance = "{allowance}"
[budgets.main.allowances]
zoe = 0

[budgets.other]
ledger = "{ledger}"
epsilon = 1

[datasets.clinic]
source = "{data}"
budget = "main"
records = 300
epsilons = ["1/100", 0.1, 0.5, 1]
together = [["minutes", "cost"]]
[datasets.clinic.columns.minutes]
bounds = [0, 60]
measured_in = "minutes"
[datasets.clinic.columns.cost]
bounds = [0, 100]
[datasets.clinic.groups.ward]
keys = ["east", "west", "nowhere"]
[datasets.clinic.groups.town]
title = "Town"
delta = "1e-9"
about = 2
most = 20

[datasets.clinic.filters.long]
title = "Long visits"
where = "minutes > 30"

[datasets.secret]
source = "{data}"
budget = "other"
people = ["ben"]
epsilons = [0.1]
[datasets.secret.columns.cost]
bounds = [0, 100]

"""

PEOPLE = {
    "olga": ["owner", "analyst"],
    "ana": ["analyst"],
    "ben": ["analyst"],
    "zoe": ["analyst"],
    "rita": ["reader"],
}


def write_data(path: Path, rows: int = 300, wards: str = "east,west") -> None:
    """A table of visits. One ward is the canary's, and a town that only one row is in."""
    names = ", ".join(f"'{name}'" for name in wards.split(","))
    duckdb.sql(
        f"COPY (SELECT (i * 7) % 61 AS minutes, (i * 13) % 101 AS cost, "
        f"([{names}, '{CANARY}'])[1 + i % {len(wards.split(',')) + 1}] AS ward, "
        f"CASE WHEN i = 0 THEN '{CANARY}' ELSE (['north', 'south'])[1 + i % 2] END AS town "
        f"FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )


@dataclass
class Place:
    """A folder with a catalogue, its data, its ledger, and everybody's tokens."""

    folder: Path
    ledger: str
    epsilon: Any = 20
    delta: Any = "1e-6"
    allowance: Any = 10
    rate: int = 100_000
    rows: int = 300
    port: int = 0
    extra: str = ""
    #: Without groups and filters to ask for, the service starts much sooner.
    plain: bool = False
    people: dict[str, list[str]] = field(default_factory=lambda: dict(PEOPLE))
    tokens: dict[str, str] = field(default_factory=dict)
    open: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.port = self.port or free_port()
        self.tokens = {name: token() for name in self.people}
        write_data(self.folder / "visits.parquet", self.rows)
        create_budget(self.ledger, "main", epsilon=self.epsilon, delta=self.delta)
        create_budget(self.ledger, "other", epsilon=1)
        self.path.write_text(self.text())

    @property
    def path(self) -> Path:
        return self.folder / "catalogue.toml"

    @property
    def journal(self) -> str:
        return (self.folder / "journal.jsonl").read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def text(self) -> str:
        people = "".join(
            f'[people.{name}]\nroles = {roles!r}\ntoken = "{hashed(self.tokens[name])}"\n'
            for name, roles in self.people.items()
        )
        filled = CATALOGUE.format(
            port=self.port,
            rate=self.rate,
            ledger=self.ledger,
            data=self.folder / "visits.parquet",
            epsilon=self.epsilon,
            delta=self.delta,
            allowance=self.allowance,
        )
        if self.plain:
            start, end = (
                filled.index(f"[datasets.{name}]") for name in ("clinic.groups.ward", "secret")
            )
            filled = filled[:start] + filled[end:]
        return filled + self.extra + people

    def client(self, person: str | None = None, **options: Any) -> httpx.Client:
        """Somebody's client, with their token."""
        headers = {} if person is None else {"Authorization": f"Bearer {self.tokens[person]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=False, **options)

    def service(self) -> Service:
        """The service alone, without a server."""
        catalogue = read_catalogue(self.path)
        return Service(load(catalogue), Journal(catalogue.settings.journal))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server(uvicorn.Server):
    """Ends as soon as it is asked to, where its own loop looks ten times a second."""

    async def main_loop(self) -> None:
        self._asked, self._loop = asyncio.Event(), asyncio.get_running_loop()
        await self.on_tick(0)
        if not self.should_exit:
            await self._asked.wait()

    def end(self) -> None:
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._asked.set)


@contextmanager
def serving(place: Place, url: str | None = None) -> Iterator[tuple[Service, Door]]:
    """The real server, in a thread."""
    service, door = place.service(), Door()
    server = Server(_config(service, door, service.state.catalogue))
    listening = Listening(service.state.catalogue.settings.host, place.port)
    place.open = listening.open
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    wait_for(url or place.url)
    try:
        yield service, door
    finally:
        server.end()
        thread.join(30)
        service.journal.close()


@contextmanager
def process(place: Place, url: str | None = None) -> Iterator[apart.Process]:
    """The command itself, as an owner starts it."""
    run = [sys.executable, "-c", "from hourglass.cli import main; main()"]
    started = apart.Process(
        [*run, "serve", str(place.path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(url or place.url, started)
        yield started
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=30)


def wait_for(url: str, started: apart.Process | None = None) -> None:
    for _ in range(3000):
        if started is not None and started.poll() is not None:
            raise AssertionError(started.communicate())
        try:
            if httpx.get(f"{url}/healthz", timeout=5, verify=False).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.02)
    raise AssertionError("the server does not come up")


def asking(key: str, **changes: Any) -> dict[str, Any]:
    """A question as the API takes it."""
    plain = {"dataset": "clinic", "columns": ["minutes"], "epsilon": "0.1", "request": key}
    return plain | changes


def spent(place: Place, budget: str = "main") -> Fraction:
    """What the ledger says was spent, asked of the ledger itself."""
    from hourglass.ledger import Budget

    return Budget(place.ledger, budget).balance().spent.epsilon
