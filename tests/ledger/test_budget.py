"""Budgets on both stores: charges, request keys, answers, amounts."""

from __future__ import annotations

import pickle
import sys
import uuid
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hourglass.core.urls import shown_url
from hourglass.errors import (
    BudgetError,
    BudgetExceededError,
    EpsilonError,
    HourglassError,
    OptionError,
    RequestReusedError,
)
from hourglass.ledger import Amount, Anchor, Budget, create_budget
from hourglass.ledger.entries import shown_number
from hourglass.ledger.store import open_store

from .support import Place, SqlitePlace, fresh


@pytest.fixture
def budget(tmp_path: Any) -> Budget:
    return fresh(SqlitePlace(str(tmp_path / "budget.db")))


def test_charge_settle_ask_again(place: Place) -> None:
    budget = fresh(place)
    first = budget.reserve("0.25", question="q", request="march", description="mean of age")
    assert (first.answer, first.reopened, first.request) == (None, False, "march")
    assert budget.balance().open == 1
    assert first.settle({"mean": 0.1, "count": 3}) == {"mean": 0.1, "count": 3}
    other = Budget(place.location, "b").reserve("0.25", question="q", request="march")
    assert other.answer == {"mean": 0.1, "count": 3}
    assert other.settle({"mean": 99}) == {"mean": 0.1, "count": 3}
    balance = budget.balance()
    assert (balance.spent.epsilon, balance.charges, balance.open) == (Fraction(1, 4), 1, 0)
    charge = budget.history()[0]
    assert (charge.status, charge.description) == ("settled", "mean of age")
    by = "postgres" if place.kind == "postgres" else None
    assert charge.by == by


@pytest.mark.slow
def test_same_key_a_thousand_times(budget: Budget) -> None:
    answers = set()
    for number in range(1000):
        reservation = budget.reserve(1, question="q", request="k")
        answers.add(str(reservation.settle({"noise": number})))
    assert answers == {"{'noise': 0}"}
    assert budget.balance().charges == 1


def test_key_of_another_question(place: Place) -> None:
    budget = fresh(place)
    budget.reserve("0.1", question="q", request="k")
    for question, epsilon in (("other", "0.1"), ("q", "0.2")):
        with pytest.raises(RequestReusedError, match="another question") as caught:
            budget.reserve(epsilon, question=question, request="k")
        assert caught.value.exit_code == 3
    assert budget.balance().spent.epsilon == Fraction(1, 10)


def test_crash_is_taken_up_once_charged(place: Place) -> None:
    fresh(place).reserve(1, question="q", request="k")  # and then the process was gone
    again = Budget(place.location, "b").reserve(1, question="q", request="k")
    assert again.reopened
    assert again.charge.amount.epsilon == 1
    assert again.settle({"mean": 1}) == {"mean": 1}
    assert Budget(place.location, "b").balance().spent.epsilon == 1


def test_first_settle_wins(place: Place) -> None:
    one = fresh(place).reserve("0.1", question="q", request="k")
    two = Budget(place.location, "b").reserve("0.1", question="q", request="k")
    assert two.settle({"noise": 2}) == {"noise": 2}
    assert one.settle({"noise": 1}) == {"noise": 2}
    assert one.answer == {"noise": 2}


def test_a_charge_without_a_key_gets_one(budget: Budget) -> None:
    first = budget.reserve("0.1", question="q")
    assert first.request == "charge-1"
    assert budget.reserve("0.1", question="q", request="charge-1").reopened
    budget.reserve("0.1", question="q", request="charge-3")
    assert budget.reserve("0.1", question="q").request.startswith("charge-3-")  # not that one's


def test_refusal_says_requested_spent_remaining(place: Place) -> None:
    budget = fresh(place, epsilon=1, delta="1e-6")
    budget.reserve("0.75", "4e-7", question="q0")
    with pytest.raises(BudgetExceededError) as caught:
        budget.reserve("0.5", "1e-6", question="q1", request="k")
    error = caught.value
    assert error.exit_code == 3
    assert error.requested == (Fraction(1, 2), Fraction(1, 10**6))
    assert error.spent == (Fraction(3, 4), Fraction(4, 10**7))
    assert error.remaining == (Fraction(1, 4), Fraction(6, 10**7))
    for words in (
        "requested 0.5, spent 0.75 of 1, remaining 0.25",
        "remaining 6e-7",
        "ask for no more",
    ):
        assert words in str(error)
    budget.reserve("0.25", "6e-7", question="q2")
    assert budget.balance().remaining == Amount(Fraction(0))
    with pytest.raises(BudgetExceededError, match="it is used up; an earlier request can be"):
        budget.reserve("0.1", question="q3")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.remaining) == (str(error), error.remaining)


def test_only_delta_can_be_exceeded_too(budget: Budget) -> None:
    with pytest.raises(BudgetExceededError, match="delta: requested 1e-9") as caught:
        budget.reserve("0.1", "1e-9", question="q")
    assert "epsilon: requested" not in str(caught.value)


def test_budgets_of_one_ledger_are_apart(place: Place) -> None:
    one = fresh(place)
    two = create_budget(place.location, "c", epsilon=2)
    one.reserve(1, question="q", request="k")
    two.reserve(2, question="other", request="k")
    assert one.balance().spent == Amount(Fraction(1))
    assert two.balance().spent == Amount(Fraction(2))
    assert one.verify().sound
    assert two.verify().sound


def test_nothing_of_the_question_is_stored(place: Place) -> None:
    budget = fresh(place)
    budget.reserve("0.1", question="canary-7b1", request="k").settle({"mean": 1})
    assert "canary" not in str(budget.rows())


def test_ten_tenths_are_one(place: Place) -> None:
    budget = fresh(place)
    for number in range(10):
        budget.reserve(0.1, question=f"q{number}")
    assert budget.balance().remaining.epsilon == 0
    with pytest.raises(BudgetExceededError):
        budget.reserve(1e-17, question="q")


def test_nothing_is_free(budget: Budget) -> None:
    budget.reserve(1e-17, question="q0")
    assert budget.balance().spent.epsilon == Fraction(1, 10**17)
    with pytest.raises(BudgetExceededError):
        budget.reserve(1, question="q1")


@pytest.mark.slow
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.fractions(0, 1, max_denominator=1000).filter(bool), max_size=6),
    st.integers(0, 2),
)
def test_sums_are_exact(tmp_path: Any, amounts: list[Fraction], short: int) -> None:
    """A limit of the exact sum takes all; one smallest step less refuses the last."""
    step = Fraction(short, 10**30)
    limit = sum(amounts, Fraction(1)) - step
    path = tmp_path / f"{uuid.uuid4().hex}.db"
    budget = create_budget(str(path), "b", epsilon=limit)
    for amount in amounts:
        budget.reserve(amount, question="q")
    assert budget.balance().spent.epsilon == sum(amounts)
    if step:
        with pytest.raises(BudgetExceededError):
            budget.reserve(1, question="q")
    else:
        budget.reserve(1, question="q")
        assert Budget(str(path), "b").balance().remaining.epsilon == 0


@pytest.mark.parametrize(
    "value", [0, -1, "nan", "inf", float("nan"), "a", True, None, [1], "1e-70"]
)
def test_bad_epsilon(budget: Budget, tmp_path: Any, value: Any) -> None:
    with pytest.raises(EpsilonError, match="epsilon="):
        budget.reserve(value, question="q")
    with pytest.raises(EpsilonError, match="epsilon="):
        create_budget(str(tmp_path / "new.db"), "b", epsilon=value)
    assert not (tmp_path / "new.db").exists()
    assert budget.balance().charges == 0


def test_bad_limit(tmp_path: Any) -> None:
    with pytest.raises(EpsilonError, match="10000"):
        create_budget(str(tmp_path / "new.db"), "b", epsilon=1e9)


@pytest.mark.parametrize("value", [-1, 1, "x", True, "nan"])
def test_bad_delta(budget: Budget, tmp_path: Any, value: Any) -> None:
    with pytest.raises(EpsilonError, match="delta="):
        budget.reserve("0.1", value, question="q")
    with pytest.raises(EpsilonError, match="delta="):
        create_budget(str(tmp_path / "new.db"), "b", epsilon=1, delta=value)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "é", "x" * 101, None, 3, "a\n"])
def test_bad_name(tmp_path: Any, name: Any) -> None:
    with pytest.raises(OptionError, match="budget name"):
        create_budget(str(tmp_path / "new.db"), name, epsilon=1)
    assert not (tmp_path / "new.db").exists()


def test_a_ledger_and_a_name_that_are_swapped() -> None:
    for call in (Budget, partial(create_budget, epsilon=1)):
        with pytest.raises(OptionError, match="in Python the ledger comes before the name"):
            call("visits", "ledgers/budget.db")


def test_without_psycopg_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hourglass.ledger.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    told = r"package psycopg; install it with: pip install 'hourglass-dp\[postgres\]'"
    with pytest.raises(OptionError, match=told):
        Budget("postgresql://host/dp", "b")


@pytest.mark.parametrize("key", ["", " a", "a\n", "a\0", "x" * 201, 7])
def test_bad_request_key(budget: Budget, key: Any) -> None:
    with pytest.raises(OptionError, match="request="):
        budget.reserve("0.1", question="q", request=key)
    with pytest.raises(OptionError, match="question"):
        budget.reserve("0.1", question=key if key == 7 else "")
    assert budget.balance().charges == 0


def test_keys_of_any_script(place: Place) -> None:
    budget = fresh(place)
    for key in ("маrt'; DROP TABLE entries", "報告-三月", "🌡 report", '"quoted" %s {}'):
        budget.reserve("0.1", question="q", request=key).settle({key: key})
        stored = Budget(place.location, "b").answer(key)
        assert stored is not None
        assert stored.answer == {key: key}
    assert budget.answer("none") is None


@pytest.mark.parametrize("location", ["", "  ", "a\0b", "mysql://u:secret@h/db", None])
def test_bad_location(location: Any) -> None:
    with pytest.raises(OptionError, match="ledger") as caught:
        Budget(location, "b")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("wait", [0, -1, float("nan"), True, "5"])
def test_bad_wait(wait: Any) -> None:
    with pytest.raises(OptionError, match="wait="):
        Budget("budget.db", "b", wait=wait)


def test_paths_that_look_like_uris(tmp_path: Any) -> None:
    for name in ("a?mode=ro", "a#b", "a%20b", "file:x", "ü b"):
        path = tmp_path / name
        create_budget(str(path), "b", epsilon=1).reserve("0.1", question="q")
        assert path.exists()
        assert Budget(str(path), "b").balance().charges == 1


@pytest.mark.parametrize("answer", [{"x": float("nan")}, {"x": float("inf")}, {"x": {1, 2}}])
def test_answer_that_is_not_json(budget: Budget, answer: Any) -> None:
    reservation = budget.reserve("0.1", question="q")
    with pytest.raises(OptionError, match="answer"):
        reservation.settle(answer)
    assert reservation.settle({"x": 1}) == {"x": 1}


def test_answers_come_back_bit_for_bit(place: Place) -> None:
    answer = {"mean": 0.1 + 0.2, "tiny": 5e-324, "big": 2**70, "none": None, "list": [1, "\u0000"]}
    budget = fresh(place)
    assert budget.reserve("0.1", question="q", request="k").settle(answer) == answer
    stored = budget.answer("k")
    assert stored is not None
    assert stored.answer == answer


def test_anchor_is_checked(place: Place) -> None:
    budget = fresh(place)
    budget.reserve("0.1", question="q")
    line = str(budget.balance().anchor)
    budget.reserve("0.1", question="q")
    assert Budget(place.location, "b", anchor=line).balance().charges == 2
    assert Anchor.parse(line) == Anchor("b", 1, line[-64:])
    with pytest.raises(OptionError, match="anchor"):
        Budget(place.location, "b", anchor="nonsense")
    with pytest.raises(OptionError, match="not to"):
        Budget(place.location, "b", anchor=line.replace(":b:", ":c:"))
    with pytest.raises(BudgetError, match="anchor"):
        Budget(place.location, "b", anchor=line[:-1] + ("0" if line[-1] != "0" else "1"))


def test_two_budgets_of_one_name_differ(tmp_path: Any) -> None:
    lines = [
        str(create_budget(str(tmp_path / file), "b", epsilon=1).balance().anchor)
        for file in ("one.db", "two.db")
    ]
    assert lines[0] != lines[1]


def test_location_is_shown_without_secrets() -> None:
    assert shown_url("budget.db") == "budget.db"
    url = "postgresql://ann:s3cret@db.example:5433/dp?password=s3cret&sslkey=x"
    assert shown_url(url) == "postgresql://ann@db.example:5433/dp"
    several = "postgresql://ann:s3cret@[2001:db8::1]:5433,db2/dp"
    assert shown_url(several) == "postgresql://ann@[2001:db8::1]:5433,db2/dp"
    assert shown_url("postgresql:///dp?host=/run") == "postgresql:///dp"
    assert shown_url("postgresql://u:s3cret@h:bad/db") == "postgresql://..."


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.text("ab@:/?#%[]&=,. é1", max_size=4),
    st.text("ab@:/?#%[]&=,. é1", max_size=4),
    st.sampled_from(["postgresql", "postgres", "mysql", "x"]),
    st.sampled_from(["db.example", "", "h:5432", "[::1]", "a,b"]),
)
def test_no_password_is_ever_shown(before: str, after: str, scheme: str, host: str) -> None:
    """Even if it is not escaped: what cannot be parsed with certainty is not shown."""
    for user in ("ann:", "ann@corp:", ":", "ann:12/"):
        url = f"{scheme}://{user}{before}hunter2{after}@{host}/dp"
        assert "hunter2" not in shown_url(url)
        try:
            said = open_store(url, wait=1).location
        except OptionError as error:
            said = str(error)
        assert "hunter2" not in said


def test_repr_contains_no_secret(budget: Budget) -> None:
    assert repr(budget).endswith("budget.db', 'b')")
    assert "open" in repr(budget.reserve("0.1", question="q"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(0), "0"),
        (Fraction(20), "20"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(1, 3), "1/3 (about 0.333333)"),
        (Fraction(12345678901234567, 10**17), "0.12345678901234567"),
    ],
)
def test_numbers_are_shown_exactly(value: Fraction, text: str) -> None:
    assert shown_number(value) == text


def test_a_sum_too_long_to_write_is_refused(budget: Budget) -> None:
    """It is refused instead of charged and then unreadable, and decimals still fit afterwards."""
    first, refused = 10**55 + 1, 0
    for prime in [*range(first, first + 100, 2), *range(999, 900, -2)]:
        try:
            budget.reserve(Fraction(1, prime * 10**3), question="q")
        except EpsilonError as error:
            refused += "short decimal" in str(error)
    assert refused > 20
    assert 20 < budget.balance().charges < 80
    assert "about" in str(budget.balance().spent)
    assert str(budget.balance().spent.epsilon)
    for decimal in ("0.1", Fraction(1, 2**199), Fraction(1, 5**85), Fraction(1, 10**59)):
        budget.reserve(decimal, question="q")
    assert str(budget.balance().spent.epsilon)


def test_every_ledger_error_is_a_budget_error() -> None:
    from hourglass import errors

    drawn = errors.__doc__ or ""
    kinds = [name for name in errors.__all__ if name.endswith("Error")]
    assert len(kinds) > 20
    for name in kinds:
        kind = getattr(errors, name)
        assert issubclass(kind, HourglassError)
        assert name in drawn
        if "Ledger" in name or issubclass(kind, BudgetError):
            assert kind.exit_code == 3


def test_a_ledger_can_be_given_as_a_path(tmp_path: Path) -> None:
    created = create_budget(tmp_path / "b.db", "b", epsilon=1)
    assert Budget(tmp_path / "b.db", "b").ledger == created.ledger == str(tmp_path / "b.db")
