"""Processes that are killed, race and fork: the user never sees an answer that was not charged."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import pytest

from hourglass.errors import BudgetExceededError, LedgerBusyError
from hourglass.ledger import budget as session
from tests import apart

from .support import Place, SqlitePlace, fresh, harness, shared

#: What the ledger holds right after a death at each step: (told, charged, stored).
AFTER = {
    "reserve:locked": (0, 0, False),
    "reserve:written": (0, 0, False),
    "reserve:committed": (0, 1, False),
    "settle:locked": (0, 1, False),
    "settle:written": (0, 1, False),
    "settle:committed": (0, 1, True),
}


def test_every_failpoint_is_in_the_table() -> None:
    assert tuple(AFTER) == session.STEPS
    assert session.hook is None


@pytest.mark.slow
def test_kill_at_each_failpoint(place: Place) -> None:
    report = harness("failpoints", shared(place))
    held = {step: (r["told"], r["charged"], r["stored"]) for step, r in report.items()}
    assert held == AFTER
    for step, found in report.items():
        assert found["killed"], step
        assert found["charged at last"] == 1, step
        assert found["violations"] == [], step


def test_the_harness_catches_a_leak(tmp_path: Any) -> None:
    """A control: returning an answer before settling is detected as noise drawn twice."""
    report = harness("failpoint", str(tmp_path / "budget.db"), "settle:locked", "leaky")
    assert report["violations"] == ["k noised 2 times"]


def _kills(place: Place, count: int, show: Callable[[str], None]) -> None:
    report = harness("kills", shared(place), count, 7, timeout=1800)
    show(f"{place.kind}: {report}")
    assert report["violations"] == []
    assert report["died early"] == 0
    assert report["charges"] >= report["keys answered"] > 0
    assert report["kills between charge and answer"] > count / 50
    assert report["charges taken up again"] > count / 50


@pytest.mark.slow
def test_random_kills(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        _kills(place, 30, lambda text: print(f"\n{text}"))


@pytest.mark.long
def test_five_hundred_random_kills(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        _kills(place, 500, lambda text: print(f"\n{text}"))


@pytest.mark.slow
@pytest.mark.parametrize("room", [1, 37])
def test_eight_processes_race(place: Place, room: int) -> None:
    report = harness("race", shared(place), 8, 10, room)
    assert report == {
        "failed": 0,
        "accepted": room,
        "distinct": room,
        "refused": 80 - room,
        "spent": str(room),
        "sound": True,
    }


@pytest.mark.slow
def test_eight_processes_create_one_ledger(place: Place) -> None:
    report = harness("creation", place.location, 8)
    assert report == {"failed": 0, "budgets": 8, "charges": 8}


@pytest.mark.slow
def test_eight_processes_share_one_key(place: Place) -> None:
    report = harness("same_key", shared(place), 8)
    assert report == {"failed": 0, "answers": 8, "charges": 1, "violations": []}


@pytest.mark.slow
def test_children_forked_among_threads(place: Place) -> None:
    report = harness("forks_of_threads", shared(place), 10)
    assert report["failed"] == 0
    assert report["by children"] == 10
    assert report["charges"] == 10 + report["by threads"]
    assert report["sound"]


@pytest.mark.slow
def test_eight_threads_race(place: Place) -> None:
    budget = fresh(place, epsilon=1, wait=60)
    outcomes: list[str] = []

    def work() -> None:
        for _ in range(5):
            try:
                outcomes.append(budget.reserve("0.1", question="q").request)
            except BudgetExceededError:
                outcomes.append("refused")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("refused") == 30
    assert len(set(outcomes)) == 11
    assert budget.balance().remaining.epsilon == 0


@pytest.mark.slow
def test_a_thread_waits_no_longer_than_the_limit(tmp_path: Any) -> None:
    budget = fresh(SqlitePlace(str(tmp_path / "budget.db")), wait=0.2)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with budget._session.looking():
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    with pytest.raises(LedgerBusyError, match="another thread"):
        budget.balance()
    done.set()
    holder.join()
    assert budget.balance().charges == 0


#: Forks while a thread holds a budget, whose second user in the child comes while the first still
#: puts it in order.
TWO_IN_A_CHILD = """
import os, signal, sys, threading
from hourglass import ledger

ledger.create_budget(sys.argv[1], "b", epsilon=1)
budget = ledger.Budget(sys.argv[1], "b", wait=1)
held, done = threading.Event(), threading.Event()

def hold():
    with budget._session._lock:
        held.set()
        done.wait()

holder = threading.Thread(target=hold)
holder.start()
held.wait()
if os.fork() == 0:
    signal.alarm(60)
    threading.Thread(target=done.wait).start()  # takes the identity of the thread that is gone
    found = []
    second = threading.Thread(target=lambda: found.append(budget.balance().charges))

    def trace(frame, event, _):
        if event == "line" and frame.f_code.co_name == "_forget" and second.ident is None:
            if frame.f_lineno > frame.f_code.co_firstlineno + 2:  # after its first statement
                second.start()
                second.join()
        return trace

    sys.settrace(trace)
    found.append(budget.balance().charges)
    sys.settrace(None)
    if second.ident is None:
        second.start()
        second.join()
    os._exit(found != [0, 0])
code = os.waitstatus_to_exitcode(os.wait()[1])
done.set()
sys.exit(code)
"""


def test_two_threads_of_a_forked_child_use_one_budget(tmp_path: Any) -> None:
    done = apart.run(
        [sys.executable, "-c", TWO_IN_A_CHILD, str(tmp_path / "budget.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


#: Ends a transaction by Ctrl-C at each line of the gate in turn, and forks after each.
INTERRUPTED = """
import os, signal, sys
from hourglass.ledger import sqlite as forks

signal.alarm(60)  # a fork that waits for ever ends the process
lines, reached = 0, True
while reached:
    lines, passed, reached = lines + 1, 0, False

    def trace(frame, event, _):
        global passed, reached
        if frame.f_code.co_filename != forks.__file__:
            return None
        passed += event == "line"
        if event == "line" and passed == lines:
            reached = True
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        with forks.no_fork():
            pass
    except KeyboardInterrupt:
        pass
    sys.settrace(None)
    if os.fork() == 0:
        os._exit(0)
    os.wait()
print(lines)
"""


@pytest.mark.slow
def test_a_fork_after_ctrl_c_does_not_wait_for_ever() -> None:
    done = apart.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 8


def test_ctrl_c_while_a_charge_is_committed_names_its_key(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is made, and without the key it could only be paid again."""
    budget = fresh(place)
    store: Any = type(budget._store)
    begun = store._begun

    @contextmanager
    def interrupted(self: Any, **options: Any) -> Iterator[Any]:
        with begun(self, **options) as found:
            yield found
        raise KeyboardInterrupt  # as it comes when the disk has been waited for

    monkeypatch.setattr(store, "_begun", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        budget.reserve("0.1", question="q")
    monkeypatch.undo()
    (charge,) = budget.history()
    (note,) = caught.value.__notes__
    assert f"request={charge.request!r} is charged at most once" in note
    assert budget.reserve("0.1", question="q", request=charge.request).reopened
    assert budget.balance().spent.epsilon == Fraction(1, 10)


#: Ends a charge by Ctrl-C at each call in turn, where Python looks for signals, and then uses the
#: same budget again, also from another thread.
AT_EACH_CALL = """
import sys, threading
from pathlib import Path
from hourglass import ledger

place = sys.argv[1]
ledger.create_budget(place, "b", epsilon=1000)
budget, other = (ledger.Budget(place, "b", wait=2) for _ in range(2))
ours = str(Path(ledger.__file__).parent)
calls, reached, bad = 0, True, []
while reached:
    calls, passed, reached = calls + 1, 0, False

    def profile(frame, event, _):
        global passed, reached
        if event in ("call", "c_return") and frame.f_code.co_filename.startswith(ours):
            passed += 1
            if passed == calls:
                reached = True
                sys.setprofile(None)
                raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        budget.reserve("0.01", question="q").settle({"mean": 1})
    except KeyboardInterrupt:
        pass
    sys.setprofile(None)
    found = []
    thread = threading.Thread(target=lambda: found.append(budget.balance()))
    thread.start()
    thread.join()
    if found != [other.balance()]:
        bad.append(calls)
print(calls, bad)
"""


@pytest.mark.slow
def test_a_budget_is_usable_after_ctrl_c_at_any_call(tmp_path: Any) -> None:
    done = apart.run(
        [sys.executable, "-c", AT_EACH_CALL, str(tmp_path / "budget.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    calls, _, bad = done.stdout.strip().partition(" ")
    assert int(calls) > 200
    assert bad == "[]", done.stderr


#: Ends a charge by Ctrl-C at each call in turn after its entry was written, and looks for the key.
NAMED = """
import sys
from hourglass import ledger
from hourglass.ledger import budget as session

ledger.create_budget(sys.argv[1], "b", epsilon=1000)
budget, other = (ledger.Budget(sys.argv[1], "b") for _ in range(2))
calls, reached, made, unnamed = 0, True, 0, []
while reached:
    calls, passed, reached = calls + 1, 0, False

    def profile(frame, event, _):
        global passed, reached
        passed += event in ("call", "c_return")
        if passed == calls:
            reached = True
            sys.setprofile(None)
            raise KeyboardInterrupt

    def start(step):
        if step == "reserve:written":
            session.hook = None
            sys.setprofile(profile)

    session.hook = start
    notes = []
    try:
        charge = budget.reserve("0.01", question="q")
    except KeyboardInterrupt as error:
        notes = getattr(error, "__notes__", [])
    sys.setprofile(None)
    known = other.balance().charges
    if reached and known > made and not any(f"charge-{known}'" in note for note in notes):
        unnamed.append(calls)
    made = known
print(calls, made, unnamed)
"""


@pytest.mark.slow
def test_ctrl_c_at_any_call_after_the_charge_names_its_key(tmp_path: Any) -> None:
    done = apart.run(
        [sys.executable, "-c", NAMED, str(tmp_path / "budget.db")],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    calls, made, unnamed = done.stdout.split(maxsplit=2)
    assert int(calls) > 50
    assert int(made) > 10
    assert unnamed.strip() == "[]", done.stderr
