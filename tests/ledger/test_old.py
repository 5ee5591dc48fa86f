"""Ledgers of schema 1 are read, charged and, in PostgreSQL, migrated to schema 2.

``old/budget.db`` and ``old/budget.sql`` were made by the last version that wrote schema 1 in
PostgreSQL, with the same calls: a budget
``visits`` with settled, open, reopened and voided charges, and a budget ``full``. The SQL is
pg_dump's, with the grants that its manual gave, to the role ``old_analysts``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

import hourglass as hg
from hourglass.errors import (
    BudgetExceededError,
    LedgerCorruptError,
    LedgerUnsafeError,
    LedgerVersionError,
    LedgerWriteError,
    RequestReusedError,
)
from hourglass.ledger import Anchor, Budget, create_budget, grant_role

from .support import Place, PostgresPlace, SqlitePlace
from .test_cli import run

OLD = Path(__file__).with_name("old")
SPENT = Fraction(52, 75)


@pytest.fixture
def restored(postgres: PostgresPlace) -> Iterator[PostgresPlace]:
    """The old ledger in the server, with a plain role as its owner."""
    postgres.execute("DROP ROLE IF EXISTS old_analysts")
    postgres.execute("CREATE ROLE old_analysts")
    owner = postgres.role("owner")
    postgres.execute((OLD / "budget.sql").read_text(encoding="utf-8"))
    for what in ("SCHEMA hourglass", "TABLE hourglass.entries", "TABLE hourglass.ledger"):
        postgres.execute(f"ALTER {what} OWNER TO {owner.user}")
    postgres.execute(f"ALTER FUNCTION hourglass.refuse() OWNER TO {owner.user}")
    yield owner
    postgres.execute("DROP SCHEMA hourglass CASCADE")
    postgres.execute("DROP ROLE old_analysts")


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "postgres":
        found: PostgresPlace = request.getfixturevalue("restored")
        return found
    path = tmp_path / "budget.db"
    shutil.copy(OLD / "budget.db", path)
    path.chmod(0o600)
    return SqlitePlace(str(path))


def test_everything_is_read_as_it_was(old: Place) -> None:
    budget = Budget(old.location, "visits")
    assert [(c.number, c.status, c.request) for c in budget.history()] == [
        (1, "settled", "march"),
        (3, "settled", '報告-四月 "x"'),
        (5, "void", "again"),
        (7, "settled", "again"),
        (9, "open", "crashed"),
        (11, "settled", "release"),
    ]
    assert budget.balance().spent.pair == (SPENT, Fraction(1, 10**7))
    assert budget.terms.description == "all visits of 2025"
    assert all(charge.by is None for charge in budget.history())
    assert budget.verify().sound
    answers = {
        "march": {"mean": 41.5, "count": 12, "none": None},
        '報告-四月 "x"': {"mean": 0.1 + 0.2},
        "again": {"mean": 2},
    }
    for request, answer in answers.items():
        stored = budget.answer(request)
        assert stored is not None
        assert stored.answer == answer
    for command in ("show", "history", "verify", "export"):
        assert "visits" in run(command, "visits", "--ledger", old.location)
    with pytest.raises(BudgetExceededError, match="remaining 0"):
        Budget(old.location, "full").reserve("1e-9", question="q")


def test_it_goes_on_where_it_stopped(old: Place) -> None:
    budget = Budget(old.location, "visits")
    with pytest.raises(RequestReusedError):
        budget.reserve("0.1", question="another", request="march")
    again = budget.reserve("0.1", question="q-march", request="march")
    assert again.answer == {"mean": 41.5, "count": 12, "none": None}
    crashed = budget.reserve("0.01", question="q-crashed", request="crashed")
    assert crashed.reopened
    assert crashed.settle({"mean": 3}) == {"mean": 3}
    budget.reserve("0.1", "1e-8", question="new").settle({"mean": 4})
    after = Budget(old.location, "visits").balance()
    assert after.spent.pair == (SPENT + Fraction(1, 10), Fraction(11, 10**8))
    rest = after.remaining.epsilon
    with pytest.raises(BudgetExceededError):
        budget.reserve(rest + Fraction(1, 10**20), question="too much")
    budget.reserve(rest, question="the rest")
    assert Budget(old.location, "visits").balance().remaining.epsilon == 0
    assert budget.verify().sound


def test_a_release_of_the_old_version_comes_back(old: Place) -> None:
    stored = Budget(old.location, "visits").answer("release")
    assert stored is not None
    release = hg.Release.from_dict(stored.answer)
    assert release.epsilon == Fraction(1, 5)
    assert release.mean == stored.answer["mean"]


def test_an_anchor_taken_before_the_migration_still_holds(restored: PostgresPlace) -> None:
    (row,) = restored.rows(
        "SELECT number, hash FROM hourglass.entries WHERE budget = 'visits' AND number = 9"
    )
    line = str(Anchor("visits", *row))
    budget = Budget(restored.location, "visits", anchor=line)
    budget.reserve("0.01", question="q")
    assert "nothing wrong" in run("verify", "--ledger", restored.location, "--anchor", line)


# --- migration in PostgreSQL ----------------------------------------------------------------


def _analyst(postgres: PostgresPlace) -> PostgresPlace:
    return postgres.role("ann", "IN ROLE old_analysts")


def test_analysts_wait_for_the_owner(postgres: PostgresPlace, restored: PostgresPlace) -> None:
    analyst = _analyst(postgres)
    with pytest.raises(LedgerVersionError, match="its owner must open it once"):
        Budget(analyst.location, "visits")
    with pytest.raises(LedgerVersionError, match="its owner must open it once"):
        create_budget(analyst.location, "own", epsilon=90)
    assert restored.rows("SELECT version FROM hourglass.ledger") == [(1,)]
    assert "its owner must open it once" in run("show", "--ledger", analyst.location, code=3)
    run("show", "--ledger", restored.location)  # the owner looks
    assert restored.rows("SELECT version FROM hourglass.ledger") == [(3,)]
    budget = Budget(analyst.location, "visits")
    budget.reserve("0.01", question="q").settle({"mean": 1})
    assert budget.history()[-1].by == analyst.user
    with pytest.raises(RequestReusedError, match="earlier version"):  # whose it is, nobody knows
        budget.reserve("0.01", question="q-crashed", request="crashed")
    for statement in (
        "INSERT INTO hourglass.entries VALUES ('own', 0, '', '')",
        "DELETE FROM hourglass.entries",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            analyst.execute(statement)
    with pytest.raises(LedgerWriteError, match="only the owner creates"):
        create_budget(analyst.location, "own", epsilon=90)


def test_a_superuser_s_look_gives_no_superuser_s_rights(
    postgres: PostgresPlace, restored: PostgresPlace
) -> None:
    Budget(postgres.location, "visits")
    owners = restored.rows(
        "SELECT DISTINCT r.rolname FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner "
        "WHERE p.pronamespace = 'hourglass'::regnamespace"
    )
    assert owners == [(restored.user,)]


@pytest.mark.attack
@pytest.mark.parametrize(
    "body", ["garbage", "5", "{}", '{"request":"' + "x" * 9000 + '"}', '{"kind":"\\u0000"}']
)
def test_garbage_in_one_budget_stops_neither_migration_nor_the_others(
    postgres: PostgresPlace, restored: PostgresPlace, body: str
) -> None:
    """What an analyst could write under the old grants."""
    analyst = _analyst(postgres)
    analyst.execute(f"INSERT INTO hourglass.entries VALUES ('full', 4, '{body}', 'x')")
    assert Budget(restored.location, "visits").balance().spent.epsilon == SPENT
    Budget(analyst.location, "visits").reserve("0.01", question="q")
    with pytest.raises(LedgerCorruptError, match="entry 4"):
        Budget(analyst.location, "full")
    with pytest.raises(psycopg.Error, match="damaged"):
        analyst.execute(
            f"SELECT hourglass.reserve('full', 'k', '{'0' * 64}', '', '1/1000000000', '0/1')"
        )
    restored.edit("DELETE FROM entries WHERE budget = 'full' AND number = 4")
    assert Budget(analyst.location, "full").verify().sound


def test_rights_of_everyone_end_with_the_migration(
    postgres: PostgresPlace, restored: PostgresPlace
) -> None:
    """A careless owner had given everything to everyone."""
    restored.execute("GRANT ALL ON SCHEMA hourglass TO PUBLIC")
    restored.execute("GRANT ALL ON ALL TABLES IN SCHEMA hourglass TO PUBLIC")
    restored.execute("GRANT INSERT (body) ON hourglass.entries TO old_analysts")
    Budget(restored.location, "visits")
    stranger = postgres.role("eve")
    with pytest.raises(LedgerWriteError, match="budget grant"):
        Budget(stranger.location, "visits")
    grant_role(restored.location, stranger.user)
    Budget(stranger.location, "visits").reserve("0.01", question="q")
    restored.execute(f"GRANT INSERT ON hourglass.entries TO {stranger.user}")
    with pytest.raises(LedgerUnsafeError):
        Budget(stranger.location, "visits")
