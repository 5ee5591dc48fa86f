"""Budgets with slots and with a Renyi filter, on both stores and by every way in."""

from __future__ import annotations

import json
import os
import re
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.errors import (
    BudgetExceededError,
    BudgetExistsError,
    LedgerCorruptError,
    LedgerVersionError,
    RequestReusedError,
)
from hourglass.ledger import Allowance, Amount, Anchor, Budget, Renyi, Slots, create_budget
from hourglass.ledger.entries import amount_fields, make_row

from .garbage import call
from .old.reader import first_limit
from .support import Place, PostgresPlace, SqlitePlace, harness, shared
from .test_cli import run
from .test_roles import HASH, analyst, steward  # noqa: F401 - fixtures

TENTH = Fraction(1, 10)
NANO = Fraction(1, 10**9)
ZERO = Fraction(0)
ONE = Fraction(1)


def slots(place: Place, count: int = 3, size: Any = "1/10", **options: Any) -> Budget:
    return create_budget(
        place.location, "b", **({"slots": (count, size), "delta": "1e-9"} | options)
    )


def filtered(place: Place, epsilon: Any = 3, **options: Any) -> Budget:
    terms = {"epsilon": epsilon, "delta": "1e-9", "filter": "renyi"} | options
    return create_budget(place.location, "b", **terms)


# --- slots ----------------------------------------------------------------------------------


def test_a_release_takes_one_slot_whatever_its_epsilon(place: Place) -> None:
    budget = slots(place)
    budget.reserve("0.1", question="q").settle({"mean": 1})
    budget.reserve("0.001", question="q", request="k").settle({"mean": 2})
    assert budget.reserve("0.001", question="q", request="k").answer == {"mean": 2}
    for again in (budget, Budget(place.location, "b")):
        balance = again.balance()
        assert balance.used == (Fraction(2),)
        assert balance.spent.pair == (Fraction(101, 1000), ZERO)
        assert balance.remaining.pair == (TENTH, ZERO)
        assert balance.more(TENTH) == 1
    assert str(balance) == (
        "budget b: 2 of 3 slots of epsilon 0.1 used, 1 left; all 3 together are (0.3, 1e-9)-DP"
    )
    budget.reserve("1/30", question="q")
    with pytest.raises(BudgetExceededError, match=r"all 3 slots of epsilon 0\.1 are") as refused:
        budget.reserve("1e-9", question="q")
    assert refused.value.remaining == (ZERO, ZERO)
    assert refused.value.requested == (NANO, ZERO)
    with pytest.raises(RequestReusedError):
        budget.reserve("0.001", question="q2", request="k")
    assert budget.verify().sound
    assert Budget(place.location, "b").balance().charges == 3


def test_what_no_slot_takes(place: Place) -> None:
    budget = slots(place)
    with pytest.raises(
        BudgetExceededError, match=r"epsilon=0.2 is larger than its slots of"
    ) as one:
        budget.reserve("0.2", question="q")
    assert "several slots do not add up to a larger one" in str(one.value)
    assert one.value.remaining == (TENTH, ZERO)
    with pytest.raises(BudgetExceededError, match=r"delta=1e-12: its delta is used .* keys="):
        budget.reserve("0.1", "1e-12", question="q")
    assert budget.balance().charges == 0
    assert budget.balance().more("0.2") == budget.balance().more("0.1", "1e-12") == 0
    assert not budget.balance().covers("0.2")
    assert budget.balance().covers("0.1")


def test_a_hundred_slots_cost_less_than_their_sum(place: Place) -> None:
    budget = slots(place, 100)
    terms = budget.terms
    assert isinstance(terms.rule, Slots)
    assert terms.limit.delta == NANO
    assert Fraction(595, 100) < terms.limit.epsilon < Fraction(596, 100)
    with pytest.raises(BudgetExistsError, match=r"limit of 100 slots of epsilon 0\.1, together"):
        slots(place, 7)


def test_what_is_spent_is_never_more_than_promised(place: Place) -> None:
    """Sixty slots of 1/10 add up to more than all hundred promise."""
    limit = slots(place, 100).terms.limit
    budget = Budget(place.location, "b", keep_connection=True)
    for number in range(61):
        budget.reserve("0.1", question=f"q{number}")
        spent, total = budget.balance().spent, (number + 1) * TENTH
        assert spent == (Amount(total) if total <= limit.epsilon else limit)


# --- the filter -----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_filter_takes_what_its_allowance_covers(place: Place) -> None:
    budget = filtered(place)
    rule = budget.terms.rule
    assert isinstance(rule, Renyi)
    assert budget.balance().more("0.1") == 24
    for _ in range(24):
        budget.reserve("0.1", question="q")
    with pytest.raises(BudgetExceededError, match=r"next release may have at most 0\.0") as refused:
        budget.reserve("0.1", question="q")
    assert refused.value.remaining[0] < TENTH
    balance = Budget(place.location, "b").balance()
    assert balance.used == (24 * rule.order / 200,)
    assert re.fullmatch(
        r"budget b: 99\.6 % of the Renyi filter for epsilon 3 and delta 1e-9 used in 24 charges; "
        r"there is room for 0 more releases of epsilon 0\.1, or for one of at most epsilon 0\.0\d+",
        str(balance),
    )
    most = balance.remaining.epsilon
    with pytest.raises(BudgetExceededError):
        budget.reserve(most + Fraction(2, 10**6), question="q")
    budget.reserve(most, question="q")
    assert budget.verify().sound


def test_a_large_release_costs_its_epsilon(place: Place) -> None:
    budget = filtered(place)
    budget.reserve(1, question="q")
    assert budget.balance().used == (ONE,)
    assert budget.balance().more(1) == 0


def test_the_filter_takes_no_delta(place: Place) -> None:
    with pytest.raises(BudgetExceededError, match="no release may have one of its own"):
        filtered(place).reserve("0.1", "1e-12", question="q")


def test_odd_fractions_crowd_nobody_out_of_a_filter(place: Place) -> None:
    """Their costs are rounded up to 30 places, so that the sum stays short."""
    budget = filtered(place, epsilon=10)
    for number in range(20):
        budget.reserve(Fraction(1, 10**55 + 2 * number + 1), question="q", request=f"ana/{number}")
    budget.reserve("0.1", question="q")
    balance = Budget(place.location, "b").balance()
    assert balance.used[0].denominator <= 10**30
    assert balance.spent.epsilon.denominator <= 10**30
    assert budget.spent_by("ana")[1].epsilon == 20 * Fraction(1, 10**30)


# --- both rules -----------------------------------------------------------------------------

RULES: dict[str, dict[str, Any]] = {
    "slots": {"slots": (8, "1/4"), "delta": "1e-6"},
    "filter": {"epsilon": 1, "delta": "1e-6", "filter": "renyi"},
}


@pytest.mark.parametrize("rule", RULES)
def test_a_release_through_the_library(place: Place, rule: str) -> None:
    budget = create_budget(place.location, "b", **RULES[rule])
    values = [3, 4, 5] * 50
    found = hg.mean(values, bounds=(0, 9), epsilon=0.2, budget=budget, request="k")
    again = hg.mean(values, bounds=(0, 9), epsilon=0.2, budget=budget, request="k")
    assert again == found
    assert budget.balance().charges == 1
    with pytest.raises(BudgetExceededError):
        hg.mean(values, bounds=(0, 9), epsilon=0.9, budget=budget)
    told = str(found.statement(budget=budget))
    assert f"together, by {'the optimal' if rule == 'slots' else 'a Renyi'}" in " ".join(
        told.split()
    )


@pytest.mark.parametrize("rule", RULES)
def test_allowances_are_sums_of_epsilons(place: Place, rule: str) -> None:
    budget = create_budget(place.location, "b", **RULES[rule])
    own = Allowance("ana", Amount(Fraction(3, 20)))
    budget.reserve("0.1", question="q", request="ana/1", allowance=own)
    budget.reserve("0.1", question="q", request="bob/1")
    with pytest.raises(BudgetExceededError, match="an allowance within budget"):
        budget.reserve("0.1", question="q", request="ana/2", allowance=own)
    budget.reserve("0.05", question="q", request="ana/3", allowance=own)
    assert budget.spent_by("ana")[1].epsilon == Fraction(3, 20)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(sorted(RULES)),
    st.lists(
        st.one_of(
            st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=10**12),
            st.sampled_from([TENTH, Fraction(1, 4), Fraction(1, 20)]),
        ),
        max_size=14,
    ),
)
def test_both_stores_and_the_server_itself_accept_the_same(
    tmp_path: Any, postgres: PostgresPlace, rule: str, asked: list[Fraction]
) -> None:
    """The client in front of a file, in front of PostgreSQL, and bare calls of the functions."""
    name = "b-" + os.urandom(6).hex()
    file = create_budget(str(tmp_path / "budget.db"), name, **RULES[rule])
    create_budget(postgres.location, name, **RULES[rule])
    server = Budget(postgres.location, name, keep_connection=True)
    bare = create_budget(postgres.location, f"{name}-bare", **RULES[rule])
    statement = "SELECT hourglass.reserve(%s, %s, %s, '', %s, '0/1')"
    outcomes: list[list[bool]] = [[], [], []]
    with psycopg.connect(postgres.location, autocommit=True) as connection:
        for number, epsilon in enumerate(asked):
            for budget, found in zip((file, server), outcomes, strict=False):
                try:
                    budget.reserve(epsilon, question="q")
                    found.append(True)
                except BudgetExceededError:
                    found.append(False)
            text = f"{epsilon.numerator * 3}/{epsilon.denominator * 3}"
            code = call(connection, statement, (f"{name}-bare", f"k{number}", HASH, text))
            assert code in ("done", "HG006", "HG010")
            outcomes[2].append(code == "done")
    assert outcomes[0] == outcomes[1] == outcomes[2]
    balances = [Budget(file.ledger, name).balance(), server.balance(), bare.balance()]
    assert len({each.used for each in balances}) == 1
    assert balances[0].used[0] <= file.terms.rule.capacity[0]
    assert server.verify().sound
    assert bare.verify().sound


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "room"),
    [("slots", {"slots": (25, "1/1000"), "delta": "1e-9"}),
     ("filter", {"epsilon": "0.01", "delta": "1e-9", "filter": "renyi"})],
)  # fmt: skip
def test_processes_that_race_for_the_last_slots(
    place: Place, rule: str, room: dict[str, Any]
) -> None:
    report = harness("race", shared(place), 8, 10, json.dumps(room))
    budget = Budget(place.location, "b")
    fits = 25 if rule == "slots" else int(budget.terms.rule.capacity[0] / Fraction(1, 1000))
    assert 0 < fits < 80
    assert report["failed"] == 0
    assert report["accepted"] == report["distinct"] == budget.balance().charges == fits
    assert report["refused"] == 80 - fits
    assert report["sound"]


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_killed_at_each_step(place: Place, rule: str) -> None:
    report = harness("failpoints", shared(place), json.dumps(RULES[rule]))
    for step, found in report.items():
        before = step in ("reserve:locked", "reserve:written")
        assert found["killed"]
        assert found["charged"] == (0 if before else 1)
        assert found["charged at last"] == 1
        assert found["violations"] == []


# --- ledgers that were tampered with, or are read by an earlier version ---------------------


@pytest.mark.parametrize("rule", RULES)
def test_earlier_versions_refuse_such_a_budget(place: Place, rule: str) -> None:
    """They know one kind of first entry, and would add up what has another rule."""
    budget = create_budget(place.location, "b", **RULES[rule])
    ((row, _),) = budget.rows()
    with pytest.raises(ValueError, match="unknown kind"):
        first_limit(row.body, row.hash)
    plain = create_budget(place.location, "plain", epsilon=1)
    ((row, _),) = plain.rows()
    assert first_limit(row.body, row.hash) == (ONE, ZERO)
    if isinstance(place, PostgresPlace):  # where they refuse the whole ledger by its schema
        assert place.rows("SELECT version FROM hourglass.ledger") == [(3,)]


SLOTS = {"epsilon": "1/1", "delta": "1/1000000000", "slots": 10, "slot": "1/10"}
RENYI = {"epsilon": "3/1", "delta": "1/1000000000", "order": "13/1", "allowance": "3/2"}


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("init-slots", {"slots": 10_001}, "out of range"),
        ("init-slots", {"slots": 0}, "out of range"),
        ("init-slots", {"slots": "10"}, "not a whole number"),
        ("init-slots", {"slot": "0/1"}, "out of range"),
        ("init-slots", {"slot": "1/0"}, "not a ratio"),
        ("init-slots", {"slot": "1/5"}, "more than the limit"),
        ("init-slots", {"slots": 100, "epsilon": "5/1"}, "more than the limit"),
        ("init-slots", {"delta": "0/1"}, "out of range"),
        ("init-slots", {"epsilon": "0/1"}, "out of range"),
        ("init-renyi", {"allowance": "157/100"}, "more than the limit"),
        ("init-renyi", {"allowance": "0/1"}, "out of range"),
        ("init-renyi", {"order": "1/1"}, "out of range"),
        ("init-renyi", {"order": "2/1"}, "more than the limit"),
        ("init-renyi", {"order": None}, "not a ratio"),
        ("init-renyi", {"delta": "0/1"}, "out of range"),
        ("init-gauss", {}, "unknown kind"),
    ],
)
def test_forged_terms_are_refused(
    tmp_path: Any, kind: str, fields: dict[str, object], words: str
) -> None:
    """Correct hashes do not make terms valid that promise more than they keep."""
    file = SqlitePlace(str(tmp_path / "budget.db"))
    create_budget(file.location, "other", epsilon=1)
    base: dict[str, object] = dict(SLOTS if kind == "init-slots" else RENYI)

    def forge(name: str, terms: dict[str, object]) -> None:
        row = make_row(name, 0, "0" * 64, kind, terms | {"description": ""})
        file.edit(f"INSERT INTO entries VALUES ('{name}', 0, '{row.body}', '{row.hash}', NULL)")

    forge("b", base | fields)
    with pytest.raises(LedgerCorruptError, match=f"entry 0: .*{words}"):
        Budget(file.location, "b")
    if kind != "init-gauss":
        forge("good", base)
        assert Budget(file.location, "good").verify().sound


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ([{"epsilon": "1/5"}], "entry 1: the charge is more than remained"),
        ([{"delta": "1/1000000000000"}], "entry 1: the charge is more than remained"),
        ([{}, {}, {}], "entry 3: the charge is more than remained"),
        ([{"used": "1/2"}], "entry 1: it states a wrong sum"),
        ([{"used": 7}], "entry 1: .*not a ratio"),
        ([{"used": "1/1"}, {"used": "1/1"}], "entry 2: it states a wrong sum"),
        ([{}, "void"], "entry 2: it gives back a charge"),
        (["init"], "entry 1: only the first entry"),
    ],
)
def test_forged_charges_are_refused(tmp_path: Any, moves: list[Any], words: str) -> None:
    file = SqlitePlace(str(tmp_path / "budget.db"))
    previous = slots(file, 2).balance().anchor.hash
    for number, move in enumerate(moves, 1):
        fields: dict[str, object] = {"charge": 1} if move == "void" else {}
        kind = "reserve"
        if isinstance(move, str):
            kind = move if move == "void" else "init-slots"
            fields |= SLOTS | {"description": ""}
        else:
            fields |= amount_fields(Amount(TENTH)) | {"request": f"k{number}", "question": ""}
            fields |= {"description": ""} | move
        row = make_row("b", number, previous, kind, fields)
        file.edit(f"INSERT INTO entries VALUES ('b', {number}, '{row.body}', '{row.hash}', NULL)")
        previous = row.hash
    with pytest.raises(LedgerCorruptError, match=words):
        Budget(file.location, "b")


# --- PostgreSQL: an analyst who calls the functions, and the ledgers of schema 2 -------------


@pytest.mark.attack
def test_bare_calls_take_no_more_than_fits(
    steward: PostgresPlace,  # noqa: F811
    analyst: PostgresPlace,  # noqa: F811
) -> None:
    create_budget(steward.location, "few", slots=(2, "1/10"), delta="1e-9")
    create_budget(steward.location, "filter", epsilon=1, delta="1e-9", filter="renyi")
    statement = "SELECT hourglass.reserve(%s, %s, %s, '', %s, %s)"
    with psycopg.connect(analyst.location, autocommit=True) as connection:

        def ask(budget: str, key: str, epsilon: str, delta: str = "0/1") -> str:
            return call(connection, statement, (budget, key, HASH, epsilon, delta))

        assert ask("few", "a", "1/5") == "HG010"
        assert ask("few", "a", "11/100") == "HG010"
        assert ask("few", "a", "1/10", "1/1000000000000") == "HG010"
        assert ask("few", "a", "1/100") == "done"
        assert ask("few", "b", "1/10") == "done"
        assert ask("few", "b", "1/10") == "done"  # the same charge
        assert ask("few", "b", "1/11") == "HG005"
        assert ask("few", "c", "1/1" + "0" * 58) == "HG006"
        assert ask("filter", "a", "1/10", "1/1000000000000") == "HG010"
        assert ask("filter", "a", "9/10") == "HG006"
        made = [ask("filter", f"k{n}", "1/10") for n in range(8)]
        assert made == ["done"] * 5 + ["HG006"] * 3
        for function in ("cost('{}', '1/1', '0/1')", "capacity('{}')", "added('{1/1}', '{1/1}')"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT hourglass.{function}".encode())
    for name, used in (("few", Fraction(2)), ("filter", 5 * TENTH)):
        budget = Budget(analyst.location, name)
        assert budget.balance().used == (used,)
        assert budget.verify().sound


@pytest.fixture
def older(postgres: PostgresPlace) -> Any:
    """A ledger of schema 2, as pg_dump wrote it, with its owner, an analyst and a reader."""
    from .test_old import OLD

    for role in ("older_steward", "older_analysts", "older_readers"):
        postgres.execute(f"DROP ROLE IF EXISTS {role}")
        postgres.execute(f"CREATE ROLE {role} LOGIN")
    postgres.execute((OLD / "budget-2.sql").read_text(encoding="utf-8"))
    yield {
        who: PostgresPlace(postgres.location.replace("postgres:@", f"{who}:@"), user=who)
        for who in ("older_steward", "older_analysts", "older_readers")
    }
    postgres.execute("DROP SCHEMA hourglass CASCADE")
    for role in ("older_steward", "older_analysts", "older_readers"):
        postgres.execute(f"DROP ROLE {role}")


def test_a_ledger_of_schema_2_is_migrated_by_its_owner(older: dict[str, PostgresPlace]) -> None:
    owner, ana, reader = older.values()
    before = owner.rows("SELECT * FROM hourglass.entries ORDER BY budget, number")
    (head,) = owner.rows("SELECT number, hash FROM hourglass.entries WHERE number = 5")
    for other in (ana, reader):
        with pytest.raises(LedgerVersionError, match=r"has schema 2, .*owner must open it once"):
            Budget(other.location, "visits")
    assert owner.rows("SELECT version FROM hourglass.ledger") == [(2,)]
    run("show", "--ledger", owner.location)
    assert owner.rows("SELECT version FROM hourglass.ledger") == [(3,)]
    assert owner.rows("SELECT * FROM hourglass.entries ORDER BY budget, number") == before
    budget = Budget(ana.location, "visits", anchor=str(Anchor("visits", *head)))
    assert budget.balance().spent.pair == (Fraction(177, 700), NANO)
    stored = budget.answer("secret")
    assert stored is not None
    assert stored.answer == {"mean": 0.1 + 0.2}
    crashed = budget.reserve("0.01", question="q-crashed", request="crashed")
    assert crashed.reopened
    crashed.settle({"mean": 3})
    budget.reserve("0.1", "1e-9", question="new").settle({"mean": 4})
    with pytest.raises(BudgetExceededError):
        Budget(ana.location, "full").reserve("1e-9", question="q")
    create_budget(owner.location, "many", slots=(5, "1/10"), delta="1e-9")
    Budget(ana.location, "many").reserve("0.1", question="q").settle({"mean": 5})
    assert Budget(reader.location, "many").balance().used == (ONE,)
    assert "nothing wrong" in run("verify", "--ledger", reader.location)
    called = owner.rows(
        "SELECT DISTINCT p.proname, a.grantee::regrole::text FROM pg_proc p, "
        "aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a "
        "WHERE p.pronamespace = 'hourglass'::regnamespace AND a.grantee <> p.proowner"
    )
    assert sorted(called) == [(name, ana.user) for name in ("hold", "reserve", "settle")]


def test_a_superuser_migrates_schema_2_for_its_owner(
    postgres: PostgresPlace, older: dict[str, PostgresPlace]
) -> None:
    Budget(postgres.location, "visits")
    owners = postgres.rows(
        "SELECT DISTINCT r.rolname FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner "
        "WHERE p.pronamespace = 'hourglass'::regnamespace"
    )
    assert owners == [("older_steward",)]


# --- the command line -----------------------------------------------------------------------


def test_the_commands_speak_of_slots(place: Place) -> None:
    ledger = ("--ledger", place.location)
    said = run("init", "b", *ledger, "--slots", "100x1/10", "--delta", "1e-9")
    assert "100 slots of epsilon 0.1, together (5.95965, 1e-9)-DP." in said
    Budget(place.location, "b").reserve("0.05", question="q")
    shown = run("show", "b", *ledger)
    assert re.search(r"slots of epsilon 0\.1 +100 +1 +99\n", shown)
    said = "is together (5.95965, 1e-9)-DP. 99 of 100 slots of epsilon 0.1 are left."
    assert said in " ".join(shown.split())
    assert "optimal composition" not in shown
    facts = json.loads(run("show", "b", *ledger, "--format", "json"))
    assert facts["rule"] == "slots"
    assert facts["slots"] == {"count": 100, "epsilon": "1/10", "used": 1, "left": 99}
    assert facts["spent"] == {"epsilon": "1/20", "delta": "0"}
    assert facts["remaining"] == {"epsilon": "1/10", "delta": "0"}
    assert "optimal_composition" not in facts
    for command in ("history", "export"):
        assert "charge-1" in run(command, "b", *ledger)


def test_the_commands_speak_of_the_filter(place: Place) -> None:
    ledger = ("--ledger", place.location)
    said = run("init", "b", *ledger, "--epsilon", "3", "--delta", "1e-9", "--filter", "renyi")
    assert "epsilon 3 and delta 1e-9 by a Renyi filter, with room for 24 releases" in said
    Budget(place.location, "b").reserve("0.1", question="q")
    shown = run("show", "b", *ledger)
    assert re.search(r"Renyi divergence of order 13 +1\.56685 +0\.065 +1\.50185\n", shown)
    assert "There is room for 23 more releases of epsilon 0.1" in " ".join(shown.split())
    facts = json.loads(run("show", *ledger, "--format", "json"))[0]
    assert facts["rule"] == "renyi"
    assert facts["filter"]["used"] == "13/200"
    assert facts["filter"]["releases_of_0.1_left"] == 23
    plain = json.loads(run("init", "plain", *ledger, "--epsilon", "3", "--format", "json"))
    assert plain["rule"] == "sum"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--slots", "100"], "--slots '100' is not COUNTxEPSILON"),
        (["--slots", "x1/10"], "is not COUNTxEPSILON"),
        (["--slots", "-1x1/10"], "is not COUNTxEPSILON"),
        (["--slots", "2x"], "is not COUNTxEPSILON"),
        (["--slots", "2xx"], "is not a number"),
        (["--slots", "2x1", "--epsilon", "1"], "leave out --epsilon"),
        (["--filter", "renyi"], "epsilon is missing"),
        (["--filter", "gauss", "--epsilon", "1"], "--filter 'gauss' is not one of renyi"),
        ([], "epsilon is missing; give the limit"),
        ([], "such as --epsilon 1, or --slots 100x1/10"),
    ],
)
def test_bad_terms_create_nothing(tmp_path: Any, words: list[str], said: str) -> None:
    path = tmp_path / "budget.db"
    found = run("init", "b", "--ledger", str(path), "--delta", "1e-9", *words, code=2)
    assert said in " ".join(found.split()).replace("--epsilon is", "epsilon is")
    assert not path.exists()
