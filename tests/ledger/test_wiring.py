"""Budgets in ``hg.mean`` and its command: charged before the data is read, answered once."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hourglass as hg
from hourglass.cli import main
from hourglass.errors import RequestReusedError
from hourglass.ledger import Reservation
from tests import apart

from .support import Place, SqlitePlace

VISITS = Path(__file__).parents[2] / "examples" / "visits.parquet"


@pytest.fixture
def budget(place: Place) -> hg.Budget:
    return hg.create_budget(place.location, "visits", epsilon=1, delta="1e-6")


class Watched:
    """A column that records the state of the ledger when it is first read."""

    def __init__(self, budget: hg.Budget, *, fails: bool = False) -> None:
        self.budget, self.fails = budget, fails
        self.spent: list[Fraction] = []

    def __iter__(self) -> Iterator[float]:
        self.spent.append(self.budget.balance().spent.epsilon)
        if self.fails:
            raise OSError("the disk is gone")
        return iter([0.5] * 100)


def ask(budget: hg.Budget | None, values: Any, **changes: Any) -> Any:
    settings: dict[str, Any] = {"bounds": (0, 1), "epsilon": "0.3", "budget": budget}
    return hg.mean(values, **(settings | changes))


def test_the_charge_is_in_the_ledger_when_the_data_is_first_looked_at(budget: hg.Budget) -> None:
    column = Watched(budget)
    ask(budget, column)
    assert column.spent == [Fraction(3, 10)]
    (charge,) = budget.history()
    assert charge.status == "settled"
    assert charge.description == "mean of a column in memory"


def test_a_refusal_comes_before_the_data(budget: hg.Budget) -> None:
    column = Watched(budget)
    with pytest.raises(hg.BudgetExceededError, match=r"requested 1\.5.*remaining 1") as caught:
        ask(budget, column, epsilon="1.5")
    assert caught.value.exit_code == 3
    assert column.spent == []
    assert budget.history() == []


@pytest.mark.parametrize("changes", [{"epsilon": 0}, {"bounds": (1, 0)}, {"algorithm": "none"}])
def test_a_bad_request_costs_nothing(budget: hg.Budget, changes: dict[str, Any]) -> None:
    with pytest.raises(hg.RequestError):
        ask(budget, Watched(budget), **changes)
    assert budget.history() == []


def test_the_same_request_is_answered_once(budget: hg.Budget) -> None:
    """However often it is repeated: one charge, one answer, one reading of the data."""
    column = Watched(budget)
    first = ask(budget, column, request="march")
    for _ in range(30):
        assert ask(budget, column, request="march") == first
    assert len(column.spent) == 1
    assert budget.balance().spent.epsilon == Fraction(3, 10)


@pytest.mark.parametrize(
    "changes", [{"bounds": (0, 2)}, {"epsilon": "0.2"}, {"estimator": "ratio"}, {"missing": 0}]
)
def test_another_question_under_the_same_name_is_refused(
    budget: hg.Budget, changes: dict[str, Any]
) -> None:
    ask(budget, [0.5], request="march")
    with pytest.raises(RequestReusedError):
        ask(budget, Watched(budget), request="march", **changes)


def test_a_failure_after_the_charge_keeps_it_and_names_the_request(budget: hg.Budget) -> None:
    with pytest.raises(hg.SourceError, match=r"the iterator failed \(OSError\)") as caught:
        ask(budget, Watched(budget, fails=True))
    (charge,) = budget.history()
    assert charge.status == "open"
    assert any(repr(charge.request) in note for note in caught.value.__notes__)
    again = ask(budget, [0.5] * 100, request=charge.request)
    assert isinstance(again, hg.Release)
    assert budget.balance().spent.epsilon == Fraction(3, 10)


def test_ctrl_c_when_the_answer_is_stored_names_the_request(
    budget: hg.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = Reservation.settle

    def interrupted(self: Reservation, answer: Any) -> None:
        settle(self, answer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Reservation, "settle", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        ask(budget, [0.5] * 100)
    monkeypatch.undo()
    (charge,) = budget.history()
    assert charge.status == "settled"
    assert any(repr(charge.request) in note for note in caught.value.__notes__)


def test_groups_are_one_charge_and_are_restored_unchanged(budget: hg.Budget) -> None:
    frame = pd.DataFrame({"g": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})
    settings: dict[str, Any] = {"bounds": (0, 5), "epsilon": "0.5", "by": "g", "budget": budget}
    first = hg.mean(frame, "x", keys=["a", "b", "c"], request="groups", **settings)
    again = hg.mean(frame, "x", keys=["a", "b", "c"], request="groups", **settings)
    assert isinstance(again, hg.Releases)
    assert again.to_dict() == first.to_dict()
    assert budget.balance().spent.epsilon == Fraction(1, 2)
    secret = hg.mean(frame, "x", delta="1e-7", request="secret", **settings)
    assert budget.balance().spent.delta == Fraction(1, 10**7)
    assert hg.mean(frame, "x", delta="1e-7", request="secret", **settings).groups == secret.groups


def test_a_request_needs_a_budget() -> None:
    with pytest.raises(hg.OptionError, match="budget="):
        ask(None, [0.5], request="march")


def test_extreme_bounds_can_be_written_down(budget: hg.Budget) -> None:
    """Beyond the largest double a sum is the largest double, since JSON has no infinity."""
    release = ask(budget, [1.7e308] * 5, bounds=(-1.7e308, 1.7e308))
    assert json.loads(json.dumps(release.to_dict(), allow_nan=False))


def test_bounds_are_charged_before_the_data_and_answered_once(budget: hg.Budget) -> None:
    column = Watched(budget)
    first = hg.find_bounds(column, epsilon="0.3", budget=budget, request="bounds")
    again = hg.find_bounds(column, epsilon="0.3", budget=budget, request="bounds")
    assert again == first
    assert again.bounds.origin == first.bounds.origin
    assert column.spent == [Fraction(3, 10)]
    assert [charge.description for charge in budget.history()] == ["bounds of a column in memory"]
    with pytest.raises(RequestReusedError):
        hg.find_bounds(column, epsilon="0.3", scale=[0, 1], budget=budget, request="bounds")
    with pytest.raises(hg.BudgetExceededError):
        hg.find_bounds(column, epsilon=1, budget=budget)
    release = hg.mean([0.5], bounds=again, epsilon="0.1", budget=budget)
    assert "epsilon 0.4 spent so far" in release.statement(budget=budget).words


# --- the command ----------------------------------------------------------------------------


def run_apart(*words: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-c", "from hourglass.cli import main; main()", *words]
    return apart.run(command, capture_output=True, text=True, timeout=120, check=False)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["hourglass", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as caught:
            main()
    finally:
        sys.argv = before
    assert isinstance(caught.value.code, int)
    return subprocess.CompletedProcess(words, caught.value.code, out.getvalue(), err.getvalue())


def mean_words(place: Place, *more: str) -> list[str]:
    return [
        "mean", str(VISITS), "visits", "--bounds", "0", "50", "--epsilon", "0.4",
        "--budget", "visits", "--ledger", place.location, *more,
    ]  # fmt: skip


@pytest.mark.slow
def test_the_command_charges_refuses_and_repeats(budget: hg.Budget, place: Place) -> None:
    first = run_apart(*mean_words(place, "--request", "march", "--format", "json"))
    again = run(*mean_words(place, "--request", "march", "--format", "json"))
    assert first.returncode == again.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert run(*mean_words(place)).returncode == 0
    refused = run(*mean_words(place))
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert "requested 0.4, spent 0.8 of 1, remaining 0.2" in refused.stderr
    other = run(*mean_words(place, "--request", "march", "--estimator", "ratio"))
    assert other.returncode == 3


def test_the_command_for_bounds_charges_and_repeats(budget: hg.Budget, place: Place) -> None:
    words = ["bounds", str(VISITS), "visits", "--epsilon", "0.4", "--request", "range"]
    words += ["--budget", "visits", "--ledger", place.location]
    first, again = run(*words), run(*words)
    assert first.returncode == again.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert budget.balance().spent.epsilon == Fraction(2, 5)
    assert run(*words[:4], "0.7", *words[7:]).returncode == 3


@pytest.mark.parametrize(
    "words", [["--budget", "visits"], ["--ledger", "x.db"], ["--request", "march"]]
)
def test_half_an_account_is_a_bad_request(words: list[str]) -> None:
    found = run("mean", str(VISITS), "visits", "--bounds", "0", "9", "--epsilon", "1", *words)
    assert found.returncode == 2
    assert "--budget" in found.stderr


def test_an_unknown_ledger_ends_the_command_before_the_data(tmp_path: Path) -> None:
    found = run(
        "mean", str(VISITS), "visits", "--bounds", "0", "9", "--epsilon", "1",
        "--budget", "visits", "--ledger", str(tmp_path / "none.db"),
    )  # fmt: skip
    assert found.returncode == 3
    assert not (tmp_path / "none.db").exists()


@pytest.mark.slow
def test_ctrl_c_after_the_charge_keeps_it_and_prints_the_request(tmp_path: Path) -> None:
    """The engine is made to wait: the command is charged by then, and interrupted there."""
    place = SqlitePlace(str(tmp_path / "budget.db"))
    budget = hg.create_budget(place.location, "visits", epsilon=1)
    code = (
        "import hourglass.read.engines.duckdb as d, time, sys\n"
        "d.DuckDB.run = lambda *a: time.sleep(60)\n"
        "from hourglass.cli import main\n"
        "main()"
    )
    command = [sys.executable, "-c", code, *mean_words(place)]
    process = apart.Process(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not budget.history() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    (charge,) = budget.history()
    assert charge.status == "open"
    assert "The charge stands. The same question with --request" in err
    assert charge.request in err


def test_a_statement_beside_the_answer(budget: hg.Budget, place: Place, tmp_path: Path) -> None:
    path = tmp_path / "statement.yaml"
    found = run(*mean_words(place, "--statement", str(path)))
    assert found.returncode == 0, found.stderr
    assert "epsilon 0.4 spent so far" in path.read_text()
    unwritable = run(*mean_words(place, "--statement", str(tmp_path / "no" / "statement.yaml")))
    assert unwritable.returncode == 2
    assert len(budget.history()) == 1
