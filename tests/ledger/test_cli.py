"""The commands, as a user runs them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sqlite3
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hourglass.cli import main
from hourglass.cli.budget import budget_app
from hourglass.errors import BudgetError
from hourglass.ledger import Budget, create_budget
from hourglass.ledger.entries import shown_number
from tests import apart

from .support import Place, SqlitePlace, fresh

DOCS = Path(__file__).parents[2] / "docs" / "budget.md"


def run(*arguments: str, code: int = 0) -> str:
    """One run of the command; what it says on stdout, or else on stderr."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["hourglass", "budget", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as caught:
            main()
    finally:
        sys.argv = before
    assert caught.value.code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() or err.getvalue()


@pytest.mark.slow
def test_a_budget_s_life(place: Place) -> None:
    ledger = ("--ledger", place.location)
    said = run("init", "b", *ledger, "--epsilon", "1", "--delta", "1e-6", "--description", "[v]")
    anchor = said.splitlines()[-1]
    assert re.fullmatch(r"hourglass-anchor:b:0:[0-9a-f]{64}", anchor)
    budget = Budget(place.location, "b")
    budget.reserve("0.25", question="q", request="[march]").settle({"mean": 1})
    budget.reserve("0.25", "1e-7", question="q2", description="mean of age")

    shown = run("show", "b", *ledger)
    assert re.search(r"epsilon +1 +0\.5 +0\.5\n", shown)
    assert "2 charges, 1 without an answer" in shown
    assert "[v]" in shown
    assert str(budget.balance().anchor) in shown
    figures = json.loads(run("show", "b", *ledger, "--format", "json", "--at-delta", "1e-3"))
    assert figures["spent"] == {"epsilon": "1/2", "delta": "1/10000000"}
    assert figures["remaining"] == {"epsilon": "1/2", "delta": "9/10000000"}
    assert figures["optimal_composition"]["epsilon"] < 0.5
    shown = run("show", "b", *ledger, "--at-delta", "1e-3")
    assert "by optimal composition: epsilon 0." in shown
    condition = "fixed before the first answer was seen"
    assert condition in figures["optimal_composition"]["holds_only_if"]
    assert condition in " ".join(shown.split())
    assert condition in " ".join(DOCS.read_text(encoding="utf-8").split())
    assert json.loads(run("show", *ledger, "--format", "json"))[0]["name"] == "b"

    listed = run("history", "b", *ledger)
    assert "[march]" in listed
    assert "mean of age" in listed
    charges = json.loads(run("history", "b", *ledger, "--format", "json"))
    assert [(c["request"], c["status"]) for c in charges] == [
        ("[march]", "settled"),
        ("charge-3", "open"),
    ]

    assert "4 entries, nothing wrong" in run("verify", *ledger)
    assert "4 entries, nothing wrong" in run("verify", "b", *ledger, "--anchor", anchor)
    refused = run("init", "b", *ledger, "--epsilon", "2", code=3)
    assert "already" in refused


def test_verify_says_what_and_where(place: Place) -> None:
    budget = fresh(place)
    for number in range(3):
        budget.reserve("0.1", question=f"q{number}").settle({"mean": number})
    place.edit("UPDATE entries SET body = replace(body, '1/10', '0/10') WHERE number = 3")
    ledger = ("--ledger", place.location)
    said = run("verify", *ledger, code=3)
    assert "entry 3: the line and its hash do not belong together" in said
    found = json.loads(run("verify", "b", *ledger, "--format", "json", code=3))
    assert not found["sound"]
    assert [fault["entry"] for fault in found["faults"]] == [3]
    assert "entry 3" in run("show", "b", *ledger, code=3)


def test_verify_with_an_anchor_finds_a_copy_put_back(tmp_path: Path) -> None:
    place = SqlitePlace(str(tmp_path / "budget.db"))
    budget = fresh(place)
    older = Path(place.location).read_bytes()
    budget.reserve("0.1", question="q")
    anchor = str(budget.balance().anchor)
    Path(place.location).write_bytes(older)
    ledger = ("--ledger", place.location)
    assert "nothing wrong" in run("verify", *ledger)
    assert "older copy" in run("verify", *ledger, "--anchor", anchor, code=3)
    assert "older copy" in run("show", "b", *ledger, "--anchor", anchor, code=3)


def test_export_can_be_checked_without_us(place: Place, tmp_path: Path) -> None:
    budget = fresh(place)
    budget.reserve("0.1", question="q").settle({"mean": 1.5})
    target = tmp_path / "export.json"
    run("export", "b", "--ledger", place.location, "--output", str(target))
    exported = json.loads(target.read_text())
    previous = "0" * 64
    for number, entry in enumerate(exported["entries"]):
        line = json.loads(entry["line"])
        assert (line["number"], line["previous"]) == (number, previous)
        text = b"hourglass-ledger-1\n" + entry["line"].encode()
        previous = hashlib.sha256(text).hexdigest()
        assert entry["hash"] == previous
    answer = exported["entries"][2]["answer"]
    assert json.loads(answer) == {"mean": 1.5}
    assert line["answer"] == hashlib.sha256(answer.encode()).hexdigest()
    assert json.loads(run("export", "b", "--ledger", place.location)) == exported
    missing = str(tmp_path / "no" / "file")
    said = run("export", "b", "--ledger", place.location, "--output", missing, code=2)
    assert "--output" in said
    if Path(place.location).is_file():
        before = Path(place.location).read_bytes()
        said = run("export", "b", "--ledger", place.location, "--output", place.location, code=2)
        assert "is read by this command" in said
        assert Path(place.location).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "b", "--ledger", "{0}/none.db"), 3, "does not exist"),
        (("show", "c", "--ledger", "{0}/budget.db"), 3, "`hourglass budget init c`"),
        (("init", "b", "--ledger", "{0}/budget.db", "--epsilon", "1"), 3, "limit of epsilon 1;"),
        (("show", "--ledger", "mysql://x"), 2, "--ledger 'mysql://x' is not"),
        (("show", "--ledger", "{0}/budget.db", "--at-delta", "2"), 2, "--at-delta '2' is"),
        (("show", "--ledger", "{0}/budget.db", "--anchor", "x"), 2, "--anchor belongs to one"),
        (("verify", "b", "--ledger", "{0}/budget.db", "--anchor", "x"), 2, "--anchor 'x' is"),
        (("init", "b", "--ledger", "{0}/new.db", "--epsilon", "0"), 2, "--epsilon"),
        (("init", "a b", "--ledger", "{0}/new.db", "--epsilon", "1"), 2, "budget name"),
        (("init", "b", "--ledger", "{0}/new.db"), 2, "--epsilon"),
        (("show", "b"), 2, "--ledger"),
        (("grant", "ann", "--ledger", "{0}/budget.db"), 2, "only a ledger in PostgreSQL"),
        (("grant", "ann", "--ledger", "{0}/budget.db"), 2, "--ledger '{0}/budget.db' is a file"),
        (("revoke", "ann", "--ledger", "{0}/budget.db"), 2, "only a ledger in PostgreSQL"),
        (("grant", "PUBLIC", "--ledger", "postgresql:///none"), 2, "one role"),
        (("show", "--ledger", "postgresql://u:p%zz@127.0.0.1:1/d"), 2, "%25"),
    ],
)
def test_refusals(tmp_path: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    fresh(SqlitePlace(str(tmp_path / "budget.db")))
    said = run(*(a.format(tmp_path) for a in arguments), code=code)
    assert words.format(tmp_path) in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["budget.db"]


@pytest.mark.slow
def test_ledger_from_the_environment_in_a_process_of_its_own(tmp_path: Path) -> None:
    place = SqlitePlace(str(tmp_path / "budget.db"))
    fresh(place)
    command = [sys.executable, "-c", "from hourglass.cli import main; main()", "budget"]
    environment = {**os.environ, "HOURGLASS_LEDGER": place.location}
    done = apart.run(
        [*command, "verify"], capture_output=True, text=True, env=environment, check=True
    )
    assert "nothing wrong" in done.stdout
    done = apart.run(
        [*command, "show", "c"], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("hourglass: budget 'c' is not in this ledger")
    assert done.stderr.count("\n") == 1


def test_every_command_and_option_is_documented() -> None:
    import click
    import typer

    group: Any = typer.main.get_command(budget_app)
    text = DOCS.read_text(encoding="utf-8")
    assert len(group.commands) == 7
    for name, command in group.commands.items():
        assert f"hourglass budget {name}" in text, name
        for parameter in command.params:
            if isinstance(parameter, click.Option) or parameter.param_type_name == "option":
                for flag in parameter.opts:
                    assert flag in text or flag == "--help", (name, flag)


@pytest.mark.parametrize("command", ["show", "verify", "history"])
def test_a_similar_name_is_suggested_rather_than_a_second_budget(
    tmp_path: Path, command: str
) -> None:
    ledger = str(tmp_path / "budget.db")
    create_budget(ledger, "visits-2026", epsilon=1)
    said = run(command, "visit-2026", "--ledger", ledger, code=3)
    assert "did you mean 'visits-2026'? It has: visits-2026" in said
    assert "init" not in said


@pytest.mark.parametrize("mode", [0o644, 0o600])
def test_a_file_that_is_no_ledger(tmp_path: Path, mode: int) -> None:
    """Nobody is told to change the permissions of a data file."""
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "1\n" * 1000)
    path.chmod(mode)
    said = run("show", "--ledger", str(path), code=3)
    assert "check the path" in said
    assert "chmod" not in said
    os.remove(path)
    create_budget(str(path), "b", epsilon=1)
    path.chmod(0o644)
    assert "chmod 600" in run("show", "--ledger", str(path), code=3)


@pytest.mark.parametrize("mode", [0o644, 0o600])
@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_database_that_is_no_ledger(tmp_path: Path, mode: int, journal: str) -> None:
    """Nobody is told to change the permissions of another program's database."""
    path = tmp_path / "clinic.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE patients (name TEXT)")
        connection.commit()
    path.chmod(mode)
    before = path.read_bytes()
    for words in (("show",), ("show", "b"), ("init", "b", "--epsilon", "1")):
        said = run(*words, "--ledger", str(path), code=3)
        assert "not an hourglass ledger; check the path" in said
        assert "chmod" not in said
    assert path.read_bytes() == before


def test_a_delta_on_a_budget_without_one(tmp_path: Path) -> None:
    budget = create_budget(str(tmp_path / "budget.db"), "b", epsilon=1)
    with pytest.raises(BudgetError, match=r"allows no delta: list the public names .* keys="):
        budget.reserve(1, "1e-6", question="q")


def test_amounts_have_one_notation(tmp_path: Path) -> None:
    ledger = str(tmp_path / "budget.db")
    for name, limit, spent, left in (
        ("a", "1e-6", "1e-7", "9e-7"),
        ("b", "1e-3", "1e-6", "9.99e-4"),
    ):
        budget = create_budget(ledger, name, epsilon=1, delta=limit)
        budget.reserve("0.25", spent, question="q").settle({"mean": 1})
        budget.reserve("0.25", question="q")
        shown = run("show", name, "--ledger", ledger)
        assert re.search(rf"delta +{limit} +{spent} +{left}\n", shown)
        assert re.search(r"epsilon +1 +0\.5 +0\.5\n", shown)
    assert [shown_number(Fraction(each)) for each in ("1e-6", "1.5e-7", "0.0001", "0")] == [
        "1e-6", "1.5e-7", "0.0001", "0"
    ]  # fmt: skip


def test_the_history_of_a_file_and_a_total_that_is_no_tighter(tmp_path: Path) -> None:
    ledger = str(tmp_path / "budget.db")
    budget = create_budget(ledger, "b", epsilon=100)
    for epsilon in ("0.5", "10"):
        budget.reserve(epsilon, question="q").settle({"mean": 1})
    head, _, first, second = run("history", "b", "--ledger", ledger).splitlines()[1:]
    assert re.split("  +", head) == [
        "entry", "epsilon", "delta", "status", "request", "charged (UTC)", "about"
    ]  # fmt: skip
    assert [line[:14].split() for line in (first, second)] == [["1", "0.5"], ["3", "10"]]
    assert first.index("0.5") + 3 == second.index("10") + 2
    assert "tighter" not in run("show", "b", "--ledger", ledger)
    for _ in range(60):
        budget.reserve("0.01", question="q")
    assert "This tighter total holds only if" in run("show", "b", "--ledger", ledger)
