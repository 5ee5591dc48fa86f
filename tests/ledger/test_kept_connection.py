"""A connection to PostgreSQL that is kept between charges: lost, old, forked, shared by threads."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import psycopg
import pytest

from hourglass.errors import LedgerBusyError, LedgerUnreachableError
from hourglass.ledger import Budget, create_budget, postgres_kept
from hourglass.ledger import budget as session

from .support import PostgresPlace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]

TENTH = Fraction(1, 10)
_OURS = (
    "FROM pg_stat_activity WHERE application_name = 'hourglass ledger' "
    "AND datname = current_database()"
)


def backends(place: PostgresPlace) -> list[int]:
    """The server's processes that serve ledgers now."""
    return [pid for (pid,) in place.rows(f"SELECT pid {_OURS} ORDER BY pid")]


def soon(place: PostgresPlace, holds: Callable[[list[int]], bool]) -> bool:
    """Whether a condition comes to hold: a process ends a moment after its connection is closed.

    That of a connection that stays open never ends.
    """
    for _ in range(100):
        if holds(backends(place)):
            return True
        place.execute("SELECT pg_sleep(0.05)")
    return False


def end_them(place: PostgresPlace) -> None:
    place.execute(f"SELECT pg_terminate_backend(pid, 5000) {_OURS}")


@pytest.fixture
def budget(postgres: PostgresPlace) -> Budget:
    create_budget(postgres.location, "b", epsilon=10)
    found = Budget(postgres.location, "b", keep_connection=True)
    assert soon(postgres, lambda pids: len(pids) == 1)
    return found


def charge(budget: Budget, key: str) -> None:
    budget.reserve(TENTH, question="q", request=key).settle({"mean": 1.5})


def test_one_connection_serves_many_charges(postgres: PostgresPlace, budget: Budget) -> None:
    first = backends(postgres)
    for number in range(5):
        charge(budget, str(number))
    assert soon(postgres, lambda pids: pids == first)
    assert len(first) == 1
    plain = Budget(postgres.location, "b")
    plain.balance()
    assert soon(postgres, lambda pids: pids == first)


def test_nothing_stays_open_without_the_budget(postgres: PostgresPlace) -> None:
    create_budget(postgres.location, "b", epsilon=10)
    Budget(postgres.location, "b", keep_connection=True).balance()
    gc.collect()
    assert soon(postgres, lambda pids: not pids)


def test_a_lost_connection_is_replaced(postgres: PostgresPlace, budget: Budget) -> None:
    charge(budget, "before")
    end_them(postgres)
    charge(budget, "after")
    assert budget.balance().spent.epsilon == 2 * TENTH
    assert soon(postgres, lambda pids: len(pids) == 1)


def test_one_that_is_lost_within_a_charge_is_not_used_again(
    postgres: PostgresPlace, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(step: str) -> None:
        if step == "reserve:written":
            end_them(postgres)

    with monkeypatch.context() as patch:
        patch.setattr(session, "hook", cut)
        with pytest.raises(LedgerUnreachableError):
            charge(budget, "cut")
    assert budget.balance().spent.epsilon == 0
    charge(budget, "cut")
    assert budget.balance().spent.epsilon == TENTH


def test_one_that_failed_is_not_kept(postgres: PostgresPlace) -> None:
    create_budget(postgres.location, "b", epsilon=10)
    budget = Budget(postgres.location, "b", keep_connection=True, wait=0.2)
    before = backends(postgres)
    with psycopg.connect(postgres.location) as other:
        other.execute("SELECT hourglass.hold('b')")
        with pytest.raises(LedgerBusyError):
            charge(budget, "busy")
    charge(budget, "free")
    assert soon(postgres, lambda pids: set(pids).isdisjoint(before))


def test_an_old_one_is_replaced(
    postgres: PostgresPlace, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = backends(postgres)
    monkeypatch.setattr(postgres_kept, "_OLDEST", -1.0)
    charge(budget, "later")
    assert soon(postgres, lambda pids: set(pids).isdisjoint(before))


def test_threads_never_share_one(postgres: PostgresPlace) -> None:
    """Three of one ledger, used by twelve threads: every charge counts once."""
    create_budget(postgres.location, "b", epsilon=10)
    budgets = [Budget(postgres.location, "b", keep_connection=True) for _ in range(3)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda i: charge(budgets[i % 3], str(i)), range(48)))
    assert budgets[0].balance().charges == 48
    assert Budget(postgres.location, "b").verify().sound
    assert soon(postgres, lambda pids: len(pids) == 3)


def test_a_forked_child_leaves_its_parents_alone(postgres: PostgresPlace, budget: Budget) -> None:
    charge(budget, "parent-1")
    before = backends(postgres)
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                charge(budget, f"child-{number}")
                del budget
                gc.collect()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    charge(budget, "parent-2")
    assert set(before) <= set(backends(postgres))  # still the same connection
    assert budget.balance().spent.epsilon == 6 * TENTH


def test_a_server_that_does_not_respond_is_given_up(
    postgres: PostgresPlace, budget: Budget
) -> None:
    """Options of the socket; they have no effect on a local one, and the server takes them."""
    (found,) = (c for c, _ in _connections(budget)._idle)
    given: dict[str, Any] = found.info.get_parameters()
    assert given["keepalives_idle"] == "30"
    assert int(given["tcp_user_timeout"]) == 10_000


def _connections(budget: Budget) -> Any:
    return budget._store._connections  # type: ignore[attr-defined]
