"""Roles of a PostgreSQL ledger: analysts charge through the owner's functions, and no more."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hourglass.errors import (
    BudgetExceededError,
    EpsilonError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerUnsafeError,
    LedgerVersionError,
    LedgerWriteError,
    OptionError,
    RequestReusedError,
)
from hourglass.ledger import Budget, create_budget, grant_role, revoke_role
from hourglass.ledger.postgres_functions import CALLED, FUNCTIONS

from .garbage import EXPECTED, call, fuzz, violations
from .support import PostgresPlace
from .test_cli import run

TENTH = Fraction(1, 10)
HASH = "0" * 64


@pytest.fixture
def steward(postgres: PostgresPlace) -> PostgresPlace:
    """The owner of a ledger with two budgets: a plain role, no superuser."""
    place = postgres.role("steward")
    postgres.execute(f"GRANT CREATE ON DATABASE postgres TO {place.user}")
    create_budget(place.location, "b", epsilon=1, delta="1e-8")
    create_budget(place.location, "c", epsilon="0.2")
    return place


@pytest.fixture
def every_rule(steward: PostgresPlace) -> None:
    """Budgets of the other rules beside them."""
    create_budget(steward.location, "s", slots=(40, "1/1000"), delta="1e-9")
    create_budget(steward.location, "r", epsilon="0.01", delta="1e-9", filter="renyi")


@pytest.fixture
def analyst(postgres: PostgresPlace, steward: PostgresPlace) -> PostgresPlace:
    place = postgres.role("ann")
    grant_role(steward.location, place.user)
    return place


@pytest.fixture
def other(postgres: PostgresPlace, steward: PostgresPlace) -> PostgresPlace:
    place = postgres.role("bob")
    grant_role(steward.location, place.user)
    return place


# --- what an analyst can do -----------------------------------------------------------------


def test_an_analyst_charges_answers_and_asks_again(
    analyst: PostgresPlace, other: PostgresPlace, steward: PostgresPlace
) -> None:
    budget = Budget(analyst.location, "b")
    assert budget.reserve(TENTH, question="q", request="k").settle({"mean": 1}) == {"mean": 1}
    shared = Budget(other.location, "b").reserve(TENTH, question="q", request="k")
    assert shared.answer == {"mean": 1}
    with pytest.raises(BudgetExceededError, match=r"remaining 0\.9"):
        budget.reserve("0.95", question="q")
    with pytest.raises(RequestReusedError, match="another question"):
        Budget(other.location, "b").reserve(TENTH, question="q2", request="k")
    (charge,) = Budget(steward.location, "b").history()
    assert charge.by == analyst.user
    assert analyst.user in run("history", "b", "--ledger", steward.location)
    assert Budget(steward.location, "b").verify().sound


def test_only_who_charged_may_answer(analyst: PostgresPlace, other: PostgresPlace) -> None:
    """A crashed charge is resumed by its own role; another is refused before it reads the data."""
    Budget(analyst.location, "b").reserve(TENTH, question="q", request="k")
    with pytest.raises(RequestReusedError, match=analyst.user):
        Budget(other.location, "b").reserve(TENTH, question="q", request="k")
    with psycopg.connect(other.location, autocommit=True) as connection:
        statement = "SELECT hourglass.settle('b', 1, %s)"
        assert call(connection, statement, ('{"mean":99}',)) == "HG009"
    again = Budget(analyst.location, "b").reserve(TENTH, question="q", request="k")
    assert again.reopened
    assert again.settle({"mean": 1}) == {"mean": 1}


def test_a_role_without_a_grant_can_do_nothing(
    postgres: PostgresPlace, steward: PostgresPlace
) -> None:
    stranger = postgres.role("eve")
    with pytest.raises(LedgerWriteError, match="budget grant"):
        Budget(stranger.location, "b")
    for function in CALLED:
        name, _, types = function.partition("(")
        nulls = ", ".join(f"NULL::{kind}" for kind in types.rstrip(")").split(", "))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            stranger.execute(f"SELECT {name}({nulls})")
    # An advisory lock, which any role can take, holds up nobody.
    with psycopg.connect(stranger.location) as holder:
        holder.execute("SELECT pg_advisory_lock(hashtextextended('hourglass:b', 0))")
        Budget(steward.location, "b", wait=2).reserve(TENTH, question="q")


def test_a_reader_cannot_charge(postgres: PostgresPlace, steward: PostgresPlace) -> None:
    reader = postgres.role("rita")
    steward.execute(f"GRANT USAGE ON SCHEMA hourglass TO {reader.user}")
    steward.execute(f"GRANT SELECT ON hourglass.ledger, hourglass.entries TO {reader.user}")
    budget = Budget(reader.location, "b")
    assert budget.verify().sound
    with pytest.raises(LedgerWriteError, match="budget grant"):
        budget.reserve(TENTH, question="q")


def test_an_analyst_cannot_create_a_budget(analyst: PostgresPlace) -> None:
    with pytest.raises(LedgerWriteError, match="only the owner creates budgets"):
        create_budget(analyst.location, "own", epsilon=90)
    assert "only the owner" in run(
        "init", "own", "--ledger", analyst.location, "--epsilon", "90", code=3
    )
    assert Budget(analyst.location, "b").terms.limit.epsilon == 1


FORBIDDEN = [
    *(
        f"{verb} hourglass.{table}{rest}"
        for table in ("entries", "ledger")
        for verb, rest in [
            ("DELETE FROM", ""),
            ("TRUNCATE", ""),
            ("DROP TABLE", ""),
            ("ALTER TABLE", " ADD COLUMN x text"),
            ("ALTER TABLE", " DISABLE TRIGGER ALL"),
            ("ALTER TABLE", " OWNER TO CURRENT_USER"),
            ("DO 'BEGIN LOCK TABLE", " IN ROW SHARE MODE; END'"),
            ("DO 'BEGIN LOCK TABLE", " IN ACCESS EXCLUSIVE MODE; END'"),
            ("SELECT * FROM", " FOR UPDATE"),
            ("SELECT * FROM", " FOR KEY SHARE"),
            ("CREATE INDEX ON", " ((1))"),
        ]
    ),
    "INSERT INTO hourglass.entries VALUES ('own', 0, '{}', '')",
    "INSERT INTO hourglass.entries SELECT 'own', number, body, hash, answer FROM hourglass.entries",
    "COPY hourglass.entries FROM STDIN",
    "UPDATE hourglass.entries SET answer = ''",
    "UPDATE hourglass.ledger SET version = 1",
    "CREATE TRIGGER t BEFORE INSERT ON hourglass.entries EXECUTE FUNCTION hourglass.refuse()",
    "CREATE RULE r AS ON INSERT TO hourglass.entries DO INSTEAD NOTHING",
    "CREATE TABLE hourglass.mine (a text)",
    "CREATE FUNCTION hourglass.hold(name) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "DROP FUNCTION hourglass.hold(text)",
    "ALTER FUNCTION hourglass.hold(text) SECURITY INVOKER",
    "DROP SCHEMA hourglass CASCADE",
    "ALTER SCHEMA hourglass RENAME TO mine",
    "CREATE TABLE public.child () INHERITS (hourglass.entries)",
    "SELECT hourglass.append(NULL, 'init', '', NULL, NULL)",
    "SELECT hourglass.head('b')",
    "SELECT hourglass.plus('1/1', '1/1')",
    "SET SESSION AUTHORIZATION postgres",
    "SET session_replication_role = replica",
]


def test_an_analyst_can_change_nothing(
    trap: None, analyst: PostgresPlace, steward: PostgresPlace
) -> None:
    budget = Budget(analyst.location, "b")
    budget.reserve(TENTH, question="q").settle({"mean": 1})
    everything = "SELECT * FROM hourglass.entries ORDER BY budget, number"
    before = steward.rows(everything)
    with psycopg.connect(analyst.location, autocommit=True) as connection:
        for statement in [*FORBIDDEN, f"SET ROLE {steward.user}"]:
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(statement.encode())
            assert caught.value.sqlstate in ("42501", "0LP01"), (statement, caught.value.sqlstate)
        # A GRANT without the right to give it is a warning: it must have given nothing.
        connection.execute("GRANT INSERT ON hourglass.entries TO CURRENT_USER")
    assert steward.rows(everything) == before
    budget.reserve(TENTH, question="q")
    assert budget.verify().sound


def test_public_has_no_rights(steward: PostgresPlace, analyst: PostgresPlace) -> None:
    """Of all functions an analyst may call three, PUBLIC none."""
    called = steward.rows(
        "SELECT p.oid::regprocedure::text, bool_or(a.grantee = 0) FROM pg_proc p, "
        "aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a "
        "WHERE p.pronamespace = 'hourglass'::regnamespace AND a.grantee <> p.proowner GROUP BY 1"
    )
    expected = {function.replace(", ", ",") for function in CALLED}
    assert {name for name, _ in called} == expected
    assert not any(public for _, public in called)


# --- garbage --------------------------------------------------------------------------------


def _after_garbage(steward: PostgresPlace, analyst: PostgresPlace) -> None:
    """Every budget can be replayed, verified, shown, exported and charged as before."""
    for name in ("b", "c", "s", "r"):
        assert violations(steward.location, name) == []
        budget = Budget(analyst.location, name)
        assert budget.verify().sound
        for charge in budget.history():
            with suppress(LedgerCorruptError):  # an answer that Python cannot read: its key only
                budget.answer(charge.request)
        for command in ("show", "history", "export"):
            assert "\x1b" not in run(command, name, "--ledger", steward.location)
        if name in ("s", "r"):
            assert budget.balance().charges > 1  # and they may be used up
            continue
        assert budget.balance().remaining.epsilon > Fraction(1, 1000)
        budget.reserve("1e-4", question="after", request="after").settle({"mean": 1})


@pytest.mark.attack
def test_garbage_leaves_every_budget_usable(
    every_rule: None, steward: PostgresPlace, analyst: PostgresPlace, other: PostgresPlace
) -> None:
    outcomes = fuzz([analyst.location, other.location], 800, seed=1)
    assert outcomes["reserve done"] > 20
    assert outcomes["settle done"] > 10
    for number in ("002", "004", "005", "006", "010"):
        assert outcomes[f"reserve HG{number}"] > 0, number
    for state in ("settle HG004", "settle HG008", "settle HG009", "settle 22P02"):
        assert outcomes[state] > 0, state
    for outcome in outcomes:
        assert outcome.endswith(" done") or outcome.split()[1].startswith(EXPECTED), outcome
    _after_garbage(steward, analyst)


@pytest.fixture
def trap(postgres: PostgresPlace) -> Iterator[None]:
    """An operator in the schema public that a careless function would take for its own."""
    postgres.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
    postgres.execute(
        "CREATE FUNCTION public.no(numeric, numeric) RETURNS boolean LANGUAGE sql AS 'SELECT false'"
    )
    postgres.execute(
        "CREATE OPERATOR public.> (LEFTARG = numeric, RIGHTARG = numeric, FUNCTION = public.no)"
    )
    yield
    postgres.execute("DROP FUNCTION public.no CASCADE")
    postgres.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")


#: Settings and objects by which a caller could bend a careless function.
HOSTILE = (
    "CREATE TEMP TABLE entries (budget text, number bigint, body text, hash text, answer text)",
    "CREATE TEMP TABLE pg_namespace (oid oid)",
    "CREATE FUNCTION pg_temp.hold(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "SET search_path = public, pg_temp, pg_catalog",
    "SET standard_conforming_strings = off",
    "SET escape_string_warning = off",
    "SET transform_null_equals = on",
    "SET bytea_output = 'escape'",
    "SET DateStyle = 'German'",
    "SET TimeZone = 'Asia/Kathmandu'",
    "SET IntervalStyle = 'sql_standard'",
    "SET extra_float_digits = -15",
    "SET synchronous_commit = off",
    "SET enable_seqscan = off",
    "SET plpgsql.extra_errors = 'all'",
)


@pytest.mark.attack
def test_a_caller_s_settings_bend_nothing(
    trap: None, every_rule: None, steward: PostgresPlace, analyst: PostgresPlace
) -> None:
    outcomes = fuzz([analyst.location], 300, seed=2, settings=HOSTILE)
    assert outcomes["reserve done"] > 20
    _after_garbage(steward, analyst)
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        change = f"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        outcomes = fuzz([analyst.location], 60, seed=3, settings=(change,))
        assert not any(outcome in outcomes for outcome in ("reserve done", "settle done"))


def test_what_others_wrote_is_shown_plainly(steward: PostgresPlace, analyst: PostgresPlace) -> None:
    """Text that would reverse a terminal's line, or be interpreted as markup."""
    with psycopg.connect(analyst.location, autocommit=True) as connection:
        statement = "SELECT hourglass.reserve('b', %s, %s, %s, '1/10', '0/1')"
        assert call(connection, statement, ("k\u202ek", HASH, "[red]\u2066")) == "done"
    said = run("history", "b", "--ledger", steward.location)
    assert r"k\u202ek" in said
    assert r"[red]\u2066" in said
    assert not any(not c.isprintable() and c != "\n" for c in said)


#: Functions without one of their checks.
BROKEN = {
    "text": ("NOT hourglass.plain(_request, 1) OR NOT hourglass.plain(_description, 0)", "false"),
    "length": ("BETWEEN _least AND 200", "BETWEEN _least AND 2000"),
    "control characters": ("AND _text !~", "OR _text !~"),
    "question": ("OR _question IS NULL OR _question !~ '^[0-9a-f]{64}$'", ""),
    "epsilon": ("OR _epsilon IS NULL OR _epsilon !~ '^[1-9][0-9]{0,59}/", "OR _epsilon !~ '^.*/"),
    "delta": ("OR _delta IS NULL OR _delta !~ '^(0|[1-9][0-9]{0,59})/", "OR _delta !~ '^.*/"),
    "key": ("    IF FOUND THEN\n        IF hourglass", "    IF false THEN\n        IF hourglass"),
    "room": ("IF hourglass.overruns(_spent, hourglass.capacity(_terms)) IS NOT FALSE", "IF false"),
    "room for delta": ("            FROM generate_series(1, cardinality(_a)) AS _i);",
                       "            FROM generate_series(1, 1) AS _i);"),
    "sum": ("hourglass.plus(_a[_i], _b[_i])", "_a[_i]"),
    "size of a slot": ("IF hourglass.exceeds(_epsilon, hourglass.field(_terms, 'slot')) "
                       "IS NOT FALSE", "IF false"),
    "cost of a slot": ("RETURN ARRAY['1/1'];", "RETURN ARRAY['1/2'];"),
    "own delta": ("IF hourglass.exceeds(_delta, '0/1') THEN", "IF false THEN"),
    "divergence": ("_below := 2 * split_part", "_below := 4 * split_part"),
    "largest divergence": ("IF _above * _q > _p * _below THEN", "IF false THEN"),
    "rounding up": ("div(_above * _grains + _below - 1, _below)", "div(_above * _grains, _below)"),
    "kind": ("            AND hourglass.field(e.body, 'kind') = 'reserve';\n    IF NOT FOUND",
             ";\n    IF NOT FOUND"),
    "once": ("OR hourglass.closed(_budget, _charge, 'settle')", ""),
    "own": ("IF _by <> session_user::text", "IF false"),
    "object": ("json_typeof(_answer::json) <> 'object'", "false"),
    "role": ("to_json(session_user::text)", "to_json(current_user::text)"),
    "previous": ("|| ',\"previous\":\"' || _head.hash", "|| ',\"previous\":\"' || _head.body"),
    "search path": ("SET search_path = pg_catalog, pg_temp AS", "AS"),
}  # fmt: skip


#: Calls that make most of them noticed soon, and more of them.
SEEDS = (18, 37, 47, 33, *range(18))


@pytest.mark.attack
def test_the_fuzz_notices_each_check_that_is_missing(
    trap: None,
    every_rule: None,
    postgres: PostgresPlace,
    steward: PostgresPlace,
    analyst: PostgresPlace,
    other: PostgresPlace,
) -> None:
    """A control: without any one of the checks, invalid data reaches the entries."""
    by = {analyst.user, other.user}
    unnoticed = []
    for check, (before, after) in BROKEN.items():
        broken = [text for text in FUNCTIONS if before in text]
        assert broken, check
        for text in broken:
            steward.execute(_replacing(text.replace(before, after)))
        hostile = HOSTILE if check == "search path" else ()
        for seed in SEEDS:
            fuzz([analyst.location, other.location], 80, seed, hostile)
            found = [text for name in "bcsr" for text in violations(steward.location, name)]
            roles = steward.rows(
                "SELECT DISTINCT hourglass.field(body, 'by') FROM hourglass.entries"
            )
            if found or not {role for (role,) in roles if role is not None} <= by:
                break
        else:
            unnoticed.append(check)
        with pytest.raises(LedgerVersionError, match="functions"):
            Budget(analyst.location, "b")
        for text in broken:
            steward.execute(_replacing(text))
        postgres.execute(
            "SET session_replication_role = replica; DELETE FROM hourglass.entries WHERE number > 0"
        )
        assert Budget(analyst.location, "b").balance().charges == 0  # the ledger is as it was
    assert unnoticed == []


def _replacing(function: str) -> str:
    return function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.fractions(0, 1, max_denominator=10**30).filter(bool), min_size=1, max_size=8))
def test_sums_in_the_server_are_exact(
    steward: PostgresPlace, analyst: PostgresPlace, amounts: list[Fraction]
) -> None:
    """A limit of the exact sum takes all; the smallest step more is refused, by the server."""
    name = "exact-" + os.urandom(4).hex()
    limit = sum(amounts, Fraction(0))
    if max(limit.numerator, limit.denominator) >= 10**60:
        return
    create_budget(steward.location, name, epsilon=limit)
    statement = "SELECT hourglass.reserve(%s, %s, %s, '', %s, '0/1')"
    with psycopg.connect(analyst.location, autocommit=True) as connection:
        for number, amount in enumerate(amounts[:-1]):
            text = f"{amount.numerator * 3}/{amount.denominator * 3}"
            assert call(connection, statement, (name, f"k{number}", HASH, text)) == "done"
        last = amounts[-1]
        more = last + Fraction(1, 10**29 * last.denominator)
        for amount, outcome in ((more, "HG006"), (last, "done"), (Fraction(1, 10**59), "HG006")):
            text = f"{amount.numerator}/{amount.denominator}"
            key = f"{amount.denominator}"
            assert call(connection, statement, (name, key, HASH, text)) == outcome
    assert Budget(steward.location, name).balance().remaining.epsilon == 0


def test_odd_fractions_do_not_crowd_out_decimals(
    steward: PostgresPlace, analyst: PostgresPlace, other: PostgresPlace
) -> None:
    """Fractions that cost next to nothing fill the exact sum up to the last digit."""
    statement = "SELECT hourglass.reserve('b', %s, %s, '', %s, '0/1')"
    first, outcomes = 10**55 + 1, Counter[str]()
    with psycopg.connect(analyst.location, autocommit=True) as connection:
        for prime in [*range(first, first + 100, 2), *range(999, 900, -2)]:
            text = f"1/{prime * 10**3}"
            outcomes[call(connection, statement, (str(prime), HASH, text))] += 1
    assert outcomes["HG007"] > 20
    assert set(outcomes) == {"HG007", "done"}
    budget = Budget(other.location, "b")
    with pytest.raises(EpsilonError, match="short decimal"):
        budget.reserve(Fraction(1, 10**55 + 9999), question="q")
    for decimal in ("0.1", Fraction(1, 2**199), Fraction(1, 5**85), Fraction(1, 10**59)):
        budget.reserve(decimal, question="q").settle({"mean": 1})
    assert budget.verify().sound


# --- processes ------------------------------------------------------------------------------


@pytest.mark.attack
def test_the_server_is_killed_in_mid_charge(analyst: PostgresPlace) -> None:
    """kill -9 of the process that serves a charge: the server recovers, the ledger is whole."""
    budget = Budget(analyst.location, "b", wait=30)
    told: list[str] = []
    stop = threading.Event()

    def charge() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            try:
                told.append(budget.reserve("1/5000", question="q", request=f"k{number}").request)
            except LedgerError:
                time.sleep(0.05)

    thread = threading.Thread(target=charge)
    thread.start()
    for killed in range(3):
        wanted = len(told) + 3
        deadline = time.monotonic() + 60
        while len(told) < wanted and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(told) >= wanted, killed
        _kill_a_charge(analyst)
    stop.set()
    thread.join()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            held = {charge.request for charge in budget.history()}
            break
        except LedgerError:
            time.sleep(0.1)
    assert set(told) <= held
    assert budget.verify().sound


def _kill_a_charge(analyst: PostgresPlace) -> None:
    """SIGKILL to a server process that serves the analyst, once there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            found = analyst.rows(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'hourglass ledger'"
            )
            for (pid,) in found:
                os.kill(pid, signal.SIGKILL)
            if found:
                return
        except (psycopg.Error, ProcessLookupError):
            time.sleep(0.05)
    raise AssertionError("no charge was seen")


def test_a_charge_in_an_open_transaction_is_waited_for(
    analyst: PostgresPlace, other: PostgresPlace
) -> None:
    with psycopg.connect(analyst.location) as holder:
        arguments = ("b", "k", HASH, "", "1/10", "0/1")
        holder.execute("SELECT hourglass.reserve(%s, %s, %s, %s, %s, %s)", arguments)
        with pytest.raises(LedgerBusyError, match="locked"):
            Budget(other.location, "b", wait=0.3).reserve(TENTH, question="q")
        Budget(other.location, "c", wait=5).reserve("0.001", question="q")
        holder.rollback()
    assert Budget(other.location, "b").reserve(TENTH, question="q").charge.number == 1


# --- giving and taking rights ---------------------------------------------------------------


def test_grant_and_revoke_by_command(postgres: PostgresPlace, steward: PostgresPlace) -> None:
    role = postgres.role("carl")
    ledger = ("--ledger", steward.location)
    assert "may now read" in run("grant", role.user, *ledger)
    budget = Budget(role.location, "b")
    budget.reserve(TENTH, question="q")
    assert "no longer has rights" in run("revoke", role.user, *ledger)
    with pytest.raises(LedgerWriteError, match="budget grant"):
        budget.reserve(TENTH, question="q")
    assert "no such role" in run("grant", "nobody_at_all", *ledger, code=3)
    assert "no such role" in run("grant", 'a"b; DROP SCHEMA hourglass CASCADE; --', *ledger, code=3)
    assert Budget(steward.location, "b").balance().charges == 1


def test_bad_role(steward: PostgresPlace) -> None:
    bad: list[Any] = ["", "public", "PUBLIC", "a\0b", 7, None]
    for role in bad:
        with pytest.raises(OptionError, match="role"):
            grant_role(steward.location, role)


def test_rights_are_changed_by_several_processes_at_once(
    postgres: PostgresPlace, steward: PostgresPlace
) -> None:
    """PostgreSQL fails two changes of the same rights that overlap: about a third of them did."""
    roles = [postgres.role("ann").user for _ in range(4)]
    failed: list[LedgerError] = []

    def change(role: str) -> None:
        for _ in range(5):
            for work in (grant_role, revoke_role, grant_role):
                try:
                    work(steward.location, role)
                except LedgerError as error:
                    failed.append(error)

    threads = [threading.Thread(target=change, args=(role,)) for role in roles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for role in roles:
        Budget(steward.location.replace(steward.user, role), "b").reserve(TENTH, question="q")


def test_only_the_owner_gives_rights(analyst: PostgresPlace, other: PostgresPlace) -> None:
    with pytest.raises(LedgerWriteError, match="only the owner"):
        grant_role(analyst.location, other.user)
    with pytest.raises(LedgerWriteError, match="only the owner"):
        revoke_role(analyst.location, other.user)
    Budget(other.location, "b").reserve(TENTH, question="q")


RIGHTS = [
    "INSERT ON hourglass.entries",
    "INSERT (budget, number, body, hash) ON hourglass.entries",
    "UPDATE (answer) ON hourglass.entries",
    "TRIGGER ON hourglass.entries",
    "REFERENCES ON hourglass.entries",
    "UPDATE ON hourglass.ledger",
    "CREATE ON SCHEMA hourglass",
]


def test_rights_past_the_functions_are_refused(
    steward: PostgresPlace, analyst: PostgresPlace
) -> None:
    """As for a file that others can write to."""
    budget = Budget(analyst.location, "b")
    for right in RIGHTS:
        steward.execute(f"GRANT {right} TO {analyst.user}")
        for place in (analyst, steward):
            with pytest.raises(LedgerUnsafeError, match="directly"):
                Budget(place.location, "b")
        with pytest.raises(LedgerUnsafeError, match="directly"):
            budget.reserve(TENTH, question="q")
        steward.execute(f"REVOKE {right} FROM {analyst.user}")
        budget.reserve(TENTH, question="q")


def test_default_privileges_do_not_open_a_new_ledger(postgres: PostgresPlace) -> None:
    owner, stranger = postgres.role("olga"), postgres.role("eve")
    postgres.execute(f"GRANT CREATE ON DATABASE postgres TO {owner.user}")
    for what in ("TABLES", "FUNCTIONS", "SCHEMAS"):
        owner.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO {stranger.user}")
    create_budget(owner.location, "b", epsilon=1)
    with pytest.raises(LedgerWriteError, match="budget grant"):
        Budget(stranger.location, "b")
    Budget(owner.location, "b").reserve(TENTH, question="q")


def test_a_changed_function_is_refused(steward: PostgresPlace, analyst: PostgresPlace) -> None:
    budget = Budget(analyst.location, "b")
    steward.execute(
        "ALTER FUNCTION hourglass.reserve(text, text, text, text, text, text) RESET ALL"
    )
    with pytest.raises(LedgerVersionError, match="functions"):
        budget.reserve(TENTH, question="q")
