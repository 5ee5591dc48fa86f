"""Each row of the table of faults in docs/budget.md, on each store where it can happen."""

from __future__ import annotations

import itertools
import os
import random
import resource
import shutil
import sqlite3
import stat
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from hourglass.errors import (
    BudgetExistsError,
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerMissingError,
    LedgerRolledBackError,
    LedgerUnreachableError,
    LedgerUnsafeError,
    LedgerVersionError,
    LedgerWriteError,
)
from hourglass.ledger import Budget, create_budget, entries, replay
from hourglass.ledger import budget as session
from hourglass.ledger.entries import make_row
from hourglass.ledger.sqlite import SqliteStore

from .support import Place, PostgresPlace, SqlitePlace, fresh, harness

TENTH = Fraction(1, 10)


@pytest.fixture
def file(tmp_path: Path) -> SqlitePlace:
    return SqlitePlace(str(tmp_path / "budget.db"))


def usable(place: Place, spent: Fraction) -> None:
    """The fault left the sum unchanged, a valid chain, and a ledger that accepts a charge."""
    budget = Budget(place.location, "b")
    assert budget.balance().spent.epsilon == spent
    assert budget.verify().sound
    budget.reserve(TENTH, question="later")
    assert budget.balance().spent.epsilon == spent + TENTH


# lock held; COMMIT fails; disk full; read-only


@pytest.mark.slow
def test_lock_held(place: Place) -> None:
    budget = fresh(place, wait=0.3)
    if place.kind == "sqlite":
        holder: sqlite3.Connection | psycopg.Connection = sqlite3.connect(
            place.location, isolation_level=None
        )
        holder.execute("BEGIN IMMEDIATE")
    else:
        holder = psycopg.connect(place.location)
        holder.execute("SELECT hourglass.hold('b')")
    started = time.monotonic()
    with pytest.raises(LedgerBusyError, match="locked"):
        budget.reserve(TENTH, question="q")
    assert 0.2 < time.monotonic() - started < 5
    holder.rollback()
    holder.close()
    usable(place, Fraction(0))


@pytest.mark.slow
def test_commit_fails_sqlite(file: SqlitePlace) -> None:
    budget = fresh(file, wait=0.3)
    with closing(sqlite3.connect(file.location, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entries").fetchone()  # a reader holds up COMMIT, not BEGIN
        with pytest.raises(LedgerBusyError):
            budget.reserve(TENTH, question="q")
        reader.execute("ROLLBACK")
    usable(file, Fraction(0))


def test_commit_fails_postgres(postgres: PostgresPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = fresh(postgres)

    def cut(step: str) -> None:
        assert step in ("reserve:locked", "reserve:written")
        if step == "reserve:written":
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "application_name = 'hourglass ledger' AND datname = current_database()"
            )

    with monkeypatch.context() as patch:
        patch.setattr(session, "hook", cut)
        with pytest.raises(LedgerUnreachableError):
            budget.reserve(TENTH, question="q")
    usable(postgres, Fraction(0))


def test_disk_full(file: SqlitePlace) -> None:
    report = harness("disk_full", file.location)
    assert report["error"] == "LedgerWriteError"
    assert report["exit"] == 3
    assert 5 < report["accepted"] < 1000
    usable(file, Fraction(report["accepted"], 1000))


@pytest.mark.parametrize("room", [0, 4096])
def test_disk_full_when_the_file_is_created(tmp_path: Path, room: int) -> None:
    """An empty file would be refused as a ledger that lost its content."""
    path = tmp_path / "new.db"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(LedgerWriteError):
            create_budget(path, "b", epsilon=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    assert create_budget(path, "b", epsilon=1).balance().charges == 0


def test_disk_full_after_the_charge(file: SqlitePlace) -> None:
    assert harness("disk_full_at_settle", file.location) == {
        "error": "LedgerWriteError",
        "answer": "None",
    }
    usable(file, Fraction(1, 1000))
    again = Budget(file.location, "b").reserve("0.001", question="q", request="k")
    assert again.reopened
    assert again.settle({"mean": 2}) == {"mean": 2}


def test_read_only_file() -> None:
    assert harness("read_only") == {
        "spent": "1/1000",
        "error": "LedgerWriteError",
        "usable later": 2,
    }


def test_read_only_server(postgres: PostgresPlace) -> None:
    fresh(postgres)
    url = postgres.location + "&options=-c%20default_transaction_read_only%3Don"
    budget = Budget(url, "b")
    assert budget.balance().spent.epsilon == 0
    with pytest.raises(LedgerWriteError, match="read-only"):
        budget.reserve(TENTH, question="q")
    usable(postgres, Fraction(0))


def test_server_gone() -> None:
    with pytest.raises(LedgerUnreachableError) as caught:
        Budget("postgresql://someone:hunter2@127.0.0.1:1/db?password=hunter3", "b", wait=1)
    assert "hunter" not in str(caught.value)
    assert "hunter" not in repr(caught.value.__cause__)


# missing or empty file; flipped bytes; newer schema


def test_missing_ledger(place: Place) -> None:
    with pytest.raises(LedgerMissingError, match="init"):
        Budget(place.location, "b")
    if place.kind == "sqlite":
        assert not Path(place.location).exists()


def test_missing_budget(place: Place) -> None:
    fresh(place)
    with pytest.raises(LedgerMissingError, match="other"):
        Budget(place.location, "other")


def test_file_removed_while_in_use(file: SqlitePlace) -> None:
    budget = fresh(file)
    Path(file.location).unlink()
    with pytest.raises(LedgerMissingError):
        budget.reserve(TENTH, question="q")
    assert not Path(file.location).exists()


def test_empty_file(file: SqlitePlace) -> None:
    os.close(os.open(file.location, os.O_CREAT, 0o600))
    with pytest.raises(LedgerCorruptError, match="empty"):
        Budget(file.location, "b", wait=0.1)
    os.utime(file.location, (0, 0))  # nobody is creating it any more
    with pytest.raises(LedgerCorruptError, match="empty"):
        Budget(file.location, "b")
    with pytest.raises(LedgerCorruptError, match="empty"):
        fresh(file)
    assert Path(file.location).stat().st_size == 0


def test_a_file_that_another_process_is_creating_is_awaited(
    file: SqlitePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is empty until its tables are committed; it was said to be lost, and to be removed."""
    fresh(file)
    path = Path(file.location)
    content = path.read_bytes()
    os.truncate(path, 0)
    monkeypatch.setattr(time, "sleep", lambda _: path.write_bytes(content))
    assert Budget(file.location, "b").balance().charges == 0


def test_truncated_file(file: SqlitePlace) -> None:
    budget = fresh(file)
    budget.reserve(TENTH, question="q").settle({"noise": "x" * 9000})
    whole = Path(file.location).read_bytes()
    for size in (1, 99, 100, 4095, 4096, len(whole) - 4096):
        Path(file.location).write_bytes(whole[:size])
        with pytest.raises(LedgerError):
            Budget(file.location, "b").reserve(TENTH, question="q")


def test_not_a_ledger(file: SqlitePlace) -> None:
    with closing(sqlite3.connect(file.location)) as connection:
        connection.execute("CREATE TABLE entries (a)")
    Path(file.location).chmod(0o600)
    with pytest.raises(LedgerVersionError, match="not an hourglass ledger"):
        fresh(file)
    Path(file.location).write_text("some other file, longer than a header " * 9)
    with pytest.raises(LedgerCorruptError):
        fresh(file)


def test_newer_schema(place: Place) -> None:
    budget = fresh(place)
    newer = {
        "sqlite": "PRAGMA user_version = 2",
        "postgres": "UPDATE hourglass.ledger SET version = 4",
    }
    place.execute(newer[place.kind])
    with pytest.raises(LedgerVersionError, match="schema"):
        budget.reserve(TENTH, question="q")
    with pytest.raises(LedgerVersionError, match="schema"):
        Budget(place.location, "b")


def test_trigger_removed(place: Place) -> None:
    budget = fresh(place)
    removal = {
        "sqlite": "DROP TRIGGER entries_keep",
        "postgres": "ALTER TABLE hourglass.entries DISABLE TRIGGER entries_stay",
    }
    place.execute(removal[place.kind])
    with pytest.raises(LedgerVersionError, match="triggers"):
        budget.reserve(TENTH, question="q")


def _flips(stride: int, folder: Path) -> Counter[str]:
    """Flip a bit of every stride-th byte, and of each in the header; open, look, charge; count.

    A flip either is refused by a typed error, or changes nothing: the balance, the chain and
    the stored answer are as they were, before and after one more charge.
    """
    path = folder / "budget.db"
    budget = create_budget(str(path), "b", epsilon=1)
    for number in range(6):
        budget.reserve(TENTH, question=f"q{number}", request=f"k{number}").settle({"mean": number})
    budget.reserve(TENTH, question="long", request="long").settle({"noise": "5" * 6000})
    spent = budget.balance().spent.epsilon
    whole = path.read_bytes()
    outcomes: Counter[str] = Counter()
    dice = random.Random(20)
    for offset in [*range(100), *range(100, len(whole), stride)]:
        changed = bytearray(whole)
        changed[offset] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        try:
            budget = Budget(str(path), "b", wait=1)
            assert budget.balance().spent.epsilon == spent, offset
            again = budget.reserve(TENTH, question="q3", request="k3")
            assert again.answer == {"mean": 3}, offset
            budget.reserve(TENTH, question="new", request="new").settle({"mean": 9})
            found = budget.verify()
            # The one place that only verify and the asking itself read: another key's answer.
            assert found.sound or [f.what for f in found.faults] == [
                "its answer was changed, added or removed"
            ], offset
            assert Budget(str(path), "b").balance().spent.epsilon == spent + TENTH, offset
            outcomes["changed nothing" if found.sound else "found by verify"] += 1
        except LedgerError as error:
            outcomes[type(error).__name__] += 1
        for leftover in folder.glob("budget.db-*"):
            leftover.unlink()
    outcomes["bytes"] = len(whole)
    return outcomes


@pytest.mark.slow
def test_flipped_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = _flips(67, tmp_path)
    with capsys.disabled():
        print(f"\nflipped bytes: {dict(outcomes)}")
    assert outcomes["LedgerCorruptError"] > 100
    assert outcomes["found by verify"] > 0


@pytest.mark.long
def test_every_byte_flipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = _flips(1, tmp_path)
    with capsys.disabled():
        print(f"\nevery byte flipped: {dict(outcomes)}")
    assert outcomes["LedgerCorruptError"] > 1000


# clock moved; an older file copied back; rows edited by hand


def test_clock_moved(file: SqlitePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(3000, -1)
    monkeypatch.setattr(entries, "now", lambda: f"{next(clock)}-01-01T00:00:00.000+00:00")
    budget = fresh(file)
    for number in range(5):
        budget.reserve(TENTH, question=f"q{number}", request=f"k{number}")
    history = Budget(file.location, "b").history()
    assert [charge.request for charge in history] == [f"k{number}" for number in range(5)]
    assert [charge.reserved for charge in history] == sorted(
        (charge.reserved for charge in history), reverse=True
    )
    assert budget.verify().sound


def test_older_copy_put_back(file: SqlitePlace) -> None:
    budget = fresh(file)
    budget.reserve(TENTH, question="q0", request="k0").settle({"mean": 0})
    older = Path(file.location).read_bytes()
    budget.reserve(TENTH, question="q1", request="k1").settle({"mean": 1})
    anchor = str(budget.balance().anchor)
    Path(file.location).write_bytes(older)
    with pytest.raises(LedgerRolledBackError, match="seen before"):
        budget.reserve(TENTH, question="q2")
    with pytest.raises(LedgerRolledBackError, match="seen before"):  # and it stays refused
        budget.reserve(TENTH, question="q2")
    with pytest.raises(LedgerRolledBackError, match="anchor"):
        Budget(file.location, "b", anchor=anchor)
    assert Budget(file.location, "b").balance().spent.epsilon == TENTH  # undetectable without
    Budget(file.location, "b").reserve(TENTH, question="q2").settle({"mean": 2})
    with pytest.raises(LedgerRolledBackError, match="rewritten"):  # as long as before, but not it
        Budget(file.location, "b", anchor=anchor)
    with pytest.raises(LedgerRolledBackError, match="seen before"):
        budget.reserve(TENTH, question="q3")


def test_older_copy_put_back_after_ctrl_c(
    file: SqlitePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view whose change was interrupted is made anew, but its last entry is not forgotten."""
    budget = fresh(file)
    budget.reserve(TENTH, question="q0")
    older = Path(file.location).read_bytes()
    budget.reserve(TENTH, question="q1")
    move = replay._MOVES["reserve"]

    def interrupted(view: replay.View, entry: entries.Entry) -> None:
        move(view, entry)
        raise KeyboardInterrupt

    monkeypatch.setitem(replay._MOVES, "reserve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        budget.reserve(TENTH, question="q2")
    monkeypatch.undo()
    newer = Path(file.location).read_bytes()
    Path(file.location).write_bytes(older)
    for _ in range(2):
        with pytest.raises(LedgerRolledBackError, match="older copy"):
            budget.balance()
    Path(file.location).write_bytes(newer)
    usable(file, 3 * TENTH)
    assert budget.balance().spent.epsilon == 4 * TENTH


def test_tail_cut_off(place: Place) -> None:
    budget = fresh(place)
    budget.reserve(TENTH, question="q0", request="k0").settle({"mean": 0})
    anchor = budget.balance().anchor
    place.edit("DELETE FROM entries WHERE number = 2")
    with pytest.raises(LedgerRolledBackError):
        budget.reserve(TENTH, question="q1")
    with pytest.raises(LedgerRolledBackError):
        Budget(place.location, "b", anchor=anchor)


@pytest.mark.parametrize(
    ("edit", "where"),
    [
        ("UPDATE entries SET body = replace(body, '1/10', '1/99') WHERE number = 3", 3),
        ("UPDATE entries SET hash = 'f' || substr(hash, 2, 62) || 'g' WHERE number = 3", 3),
        ("DELETE FROM entries WHERE number = 3", 4),
        ("UPDATE entries SET number = 30 WHERE number = 3", 4),
        ("UPDATE entries SET budget = 'c' WHERE number = 3", 4),
        (
            "INSERT INTO entries SELECT budget, number + 100, body, hash, answer FROM entries "
            "WHERE number = 3",
            103,
        ),
    ],
    ids=["amount", "hash", "deleted", "renumbered", "moved away", "copied"],
)
def test_rows_edited_by_hand(place: Place, edit: str, where: int) -> None:
    budget = fresh(place)
    for number in range(4):
        budget.reserve(TENTH, question=f"q{number}").settle({"mean": number})
    place.edit(edit)
    found = budget.verify()
    assert not found.sound
    assert where in [fault.number for fault in found.faults]
    assert len(found.faults) <= 3
    with pytest.raises(LedgerCorruptError, match=f"entry {where}"):
        Budget(place.location, "b")


def test_answer_edited_by_hand(place: Place) -> None:
    budget = fresh(place)
    budget.reserve(TENTH, question="q0", request="k0").settle({"mean": 0})
    place.edit("UPDATE entries SET answer = '{\"mean\":1}' WHERE number = 2")
    assert [fault.number for fault in budget.verify().faults] == [2]
    with pytest.raises(LedgerCorruptError, match="answer was changed"):
        budget.reserve(TENTH, question="q0", request="k0")
    with pytest.raises(LedgerCorruptError, match="answer was changed"):
        budget.answer("k0")


def test_chain_forged_with_a_forbidden_move(place: Place) -> None:
    """Correct hashes do not make an overdraft valid."""
    budget = fresh(place)
    row = make_row(
        "b", 1, budget.balance().anchor.hash, "reserve",
        {"epsilon": "2/1", "delta": "0/1", "request": "k", "question": "", "description": ""},
    )  # fmt: skip
    place.edit(f"INSERT INTO entries VALUES ('b', {row.number}, '{row.body}', '{row.hash}', NULL)")
    with pytest.raises(LedgerCorruptError, match="more than remained"):
        Budget(place.location, "b")
    assert "more than remained" in budget.verify().faults[0].what


@pytest.mark.parametrize("said", [{"epsilon": "1/11", "delta": "0/1"}, {"epsilon": "1/10"}, 7])
@pytest.mark.parametrize("kind", ["reserve", "settle"])
def test_chain_forged_with_a_wrong_sum(file: SqlitePlace, kind: str, said: object) -> None:
    """The next charge would be computed from it."""
    anchor = fresh(file).balance().anchor
    fields: dict[str, object] = {"epsilon": "1/10", "delta": "0/1"}
    fields |= {"request": "k", "question": "", "description": ""}
    right = {"epsilon": "1/10", "delta": "0/1"}
    rows = [
        make_row(
            "b", 1, anchor.hash, "reserve",
            fields | {"spent": said if kind == "reserve" else right},
        )
    ]  # fmt: skip
    if kind == "settle":
        answered = {"charge": 1, "answer": entries.digest("{}"), "spent": said}
        rows.append(make_row("b", 2, rows[0].hash, "settle", answered))
    for row in rows:
        answer = "'{}'" if row.number == 2 else "NULL"
        file.edit(
            f"INSERT INTO entries VALUES ('b', {row.number}, '{row.body}', '{row.hash}', {answer})"
        )
    with pytest.raises(LedgerCorruptError, match=f"entry {len(rows)}"):
        Budget(file.location, "b")


@pytest.mark.parametrize("resumed", [False, True])
def test_a_charge_given_back_by_an_earlier_version(file: SqlitePlace, resumed: bool) -> None:
    """Its person has it back; a charge that was resumed may have been answered, and stands."""
    previous = fresh(file).balance().anchor.hash
    charge: dict[str, object] = {"epsilon": "1/10", "delta": "0/1"}
    charge |= {"request": "ana/1", "question": "", "description": ""}
    given: list[tuple[str, dict[str, object]]] = [("reserve", charge), ("void", {"charge": 1})]
    moves = [given[0], ("reopen", given[1][1]), given[1]] if resumed else given
    for number, (kind, fields) in enumerate(moves, 1):
        row = make_row("b", number, previous, kind, fields)
        file.edit(f"INSERT INTO entries VALUES ('b', {number}, '{row.body}', '{row.hash}', NULL)")
        previous = row.hash
    if resumed:
        with pytest.raises(LedgerCorruptError, match="entry 3: it gives back a charge that was"):
            Budget(file.location, "b")
        return
    budget = Budget(file.location, "b")
    assert budget.balance().spent.epsilon == budget.spent_by("ana")[1].epsilon == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = ''",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries VALUES ('b', 1, '', '', NULL)",
    ],
)
def test_sqlite_triggers_refuse(file: SqlitePlace, statement: str) -> None:
    fresh(file).reserve(TENTH, question="q")
    with pytest.raises(sqlite3.IntegrityError, match="never"):
        file.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE hourglass.entries SET body = ''",
        "DELETE FROM hourglass.entries",
        "TRUNCATE hourglass.entries",
    ],
)
def test_postgres_triggers_refuse(postgres: PostgresPlace, statement: str) -> None:
    fresh(postgres).reserve(TENTH, question="q")
    with pytest.raises(psycopg.errors.RaiseException, match="never"):
        postgres.execute(statement)


# symlink, wide permissions


@pytest.mark.parametrize("mask", [0o000, 0o777])
def test_created_for_the_owner_alone(file: SqlitePlace, mask: int) -> None:
    before = os.umask(mask)
    try:
        fresh(file)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(file.location).st_mode) == 0o600


def test_never_wider_not_even_at_birth(file: SqlitePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    born: list[int] = []
    monkeypatch.setattr(
        os, "chmod", lambda path, mode: born.append(stat.S_IMODE(os.stat(path).st_mode))
    )
    before = os.umask(0)
    try:
        fresh(file)
    finally:
        os.umask(before)
    assert born == [0o600]


def test_symbolic_link(file: SqlitePlace, tmp_path: Path) -> None:
    budget = fresh(file)
    link = tmp_path / "link.db"
    link.symlink_to(file.location)
    with pytest.raises(LedgerUnsafeError, match="symbolic link"):
        Budget(str(link), "b")
    with pytest.raises(LedgerUnsafeError, match="symbolic link"):
        create_budget(str(link), "c", epsilon=1)
    Path(file.location).rename(tmp_path / "moved.db")
    Path(file.location).symlink_to(tmp_path / "moved.db")
    with pytest.raises(LedgerUnsafeError, match="symbolic link"):
        budget.reserve(TENTH, question="q")


def test_hard_link(file: SqlitePlace, tmp_path: Path) -> None:
    """Under another name SQLite would not find the journal that a crash left under this one."""
    budget = fresh(file)
    link = tmp_path / "link.db"
    os.link(file.location, link)
    attempts: list[Callable[[], object]] = [
        lambda: budget.reserve(TENTH, question="q"),  # a link that appears later
        lambda: budget.balance(),
        lambda: Budget(file.location, "b"),
        lambda: Budget(str(link), "b"),
        lambda: create_budget(str(link), "c", epsilon=1),
        lambda: create_budget(file.location, "c", epsilon=1),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerUnsafeError, match="2 names"):
            attempt()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["budget.db", "link.db"]
    link.unlink()
    usable(file, Fraction(0))


def _link(path: Path) -> None:
    os.link(path, path.with_name("link.db"))


def _rename(path: Path) -> None:
    path.rename(path.with_name("moved.db"))


def _replace(path: Path) -> None:
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o600)
    copy.rename(path)


def _widen(path: Path) -> None:
    path.chmod(0o644)


@pytest.mark.parametrize("change", [_link, _rename, _replace, _widen])
@pytest.mark.parametrize("step", ["reserve:locked", "reserve:written", "settle:written"])
def test_file_changed_during_a_charge(
    file: SqlitePlace, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], step: str
) -> None:
    """What was written must be what the path leads to, or nothing is released."""
    budget = fresh(file)

    def interfere(reached: str) -> None:
        if reached == step:
            change(Path(file.location))

    def release() -> None:
        budget.reserve(TENTH, question="q", request="k").settle({"mean": 1})

    monkeypatch.setattr(session, "hook", interfere)
    with pytest.raises((LedgerUnsafeError, LedgerMissingError)):
        release()


def test_file_replaced_while_it_is_committed(
    file: SqlitePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look comes after the commit: the charge must not lie in a file that is gone."""
    budget = fresh(file)
    checks = itertools.count()
    check = SqliteStore._check_file

    def racing(store: SqliteStore) -> tuple[int, int]:
        found = check(store)
        if next(checks) == 1:  # opened and begun; the next look is after the commit
            _replace(Path(file.location))
        return found

    monkeypatch.setattr(SqliteStore, "_check_file", racing)
    with pytest.raises(LedgerUnsafeError, match="replaced"):
        budget.reserve(TENTH, question="q")
    monkeypatch.undo()
    assert Budget(file.location, "b").balance().spent.epsilon == 0


@pytest.mark.slow
@pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0
    if shutil.which("unshare")
    else True,
    reason="needs the right to mount",
)
def test_file_mounted_by_itself(file: SqlitePlace, tmp_path: Path) -> None:
    """As containers do with a single file: the journal would be in two directories."""
    fresh(file)
    there = tmp_path / "a container"
    there.mkdir()
    (there / "budget.db").touch(0o600)
    code = "import sys; from hourglass.ledger import Budget; Budget(sys.argv[1], 'b')"
    mounted = str(there / "budget.db")
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4" "$2"'
    words = ["sh", "-c", script, "sh", file.location, mounted, sys.executable, code]
    done = subprocess.run(["unshare", "-m", *words], capture_output=True, text=True, check=False)
    assert "LedgerUnsafeError" in done.stderr, done.stderr
    assert "mount its directory instead" in done.stderr


def test_linked_directory_is_the_same_ledger(file: SqlitePlace, tmp_path: Path) -> None:
    """Its journal lies in the one directory, under whichever path."""
    fresh(file)
    (tmp_path / "folder").symlink_to(tmp_path, target_is_directory=True)
    through = str(tmp_path / "folder" / "budget.db")
    Budget(through, "b").reserve(TENTH, question="q")
    usable(file, TENTH)


@pytest.mark.slow
@pytest.mark.attack
def test_a_linked_ledger_loses_no_charge(file: SqlitePlace) -> None:
    """What a crash left half written is found under its first name only; nobody charges before."""
    report = harness("linked", file.location)
    assert report == {"journal": True, "refused": "LedgerUnsafeError", "lost": []}


def test_dangling_link_is_not_followed_by_init(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "target.db")
    with pytest.raises(LedgerUnsafeError):
        create_budget(str(tmp_path / "link.db"), "b", epsilon=1)
    assert not (tmp_path / "target.db").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o777])
def test_wide_permissions(file: SqlitePlace, mode: int) -> None:
    budget = fresh(file)
    Path(file.location).chmod(mode)
    with pytest.raises(LedgerUnsafeError, match="chmod 600"):
        budget.reserve(TENTH, question="q")
    Path(file.location).chmod(0o600)
    usable(file, Fraction(0))


def _forged_journal(page: bytes, pages: int) -> bytes:
    """A rollback journal as SQLite writes it, of a first page and a number of pages."""
    size, nonce = len(page), 7
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 1, nonce, pages, 512, size)
    total = sum(page[place] for place in range(size - 200, 0, -200))
    return head.ljust(512, b"\0") + struct.pack(">I", 1) + page + struct.pack(">I", nonce + total)


def _open_to_all(journal: Path) -> None:
    journal.chmod(0o666)


def _of_another_user(journal: Path) -> None:
    journal.chmod(0o600)
    os.chown(journal, 65534, 65534)


def _with_two_names(journal: Path) -> None:
    journal.chmod(0o600)
    os.link(journal, journal.with_name("second"))


def _linked(journal: Path) -> None:
    journal.chmod(0o600)
    journal.symlink_to(journal.rename(journal.with_name("elsewhere")))


root = pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="gives a file away")


@pytest.mark.parametrize(
    "planted",
    [_open_to_all, pytest.param(_of_another_user, marks=root), _with_two_names, _linked],
)
def test_a_planted_journal_undoes_no_charge(
    file: SqlitePlace, planted: Callable[[Path], None]
) -> None:
    """SQLite writes any journal into the file that it is named after, whoever made it."""
    budget, path = fresh(file), Path(file.location)
    before = path.read_bytes()
    budget.reserve(TENTH, question="q")
    after = path.read_bytes()
    size = 256 * before[16] + before[17]
    journal = path.with_name("budget.db-journal")
    journal.write_bytes(_forged_journal(before[:size], len(before) // size))
    planted(journal)
    for attempt in (budget.balance, lambda: Budget(file.location, "b")):
        with pytest.raises(LedgerUnsafeError, match=r"budget\.db-journal, that is a link, belongs"):
            attempt()
    assert path.read_bytes() == after
    journal.unlink()
    usable(file, TENTH)


def test_a_journal_that_is_being_deleted_is_none(
    file: SqlitePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lookup during another process's commit may find its journal without a name."""
    budget = fresh(file, epsilon=1)
    with open(tmp_path / "journal", "wb") as journal:
        os.chmod(journal.fileno(), 0o600)
        os.unlink(journal.name)
        nameless, look = os.fstat(journal.fileno()), os.lstat
    assert nameless.st_nlink == 0

    def lstat(path: str | Path) -> os.stat_result:
        return nameless if str(path).endswith("-journal") else look(path)

    monkeypatch.setattr(os, "lstat", lstat)
    assert budget.reserve("0.1", question="q").request == "charge-1"


def test_the_journal_that_a_crash_left_is_taken(file: SqlitePlace) -> None:
    """The control of the test above: such a journal is genuine if nobody else can have made it."""
    fresh(file)
    path = Path(file.location)
    before = path.read_bytes()
    size = 256 * before[16] + before[17]
    torn = before[: size - 40] + bytes(40) + before[size:]
    path.write_bytes(torn)
    journal = path.with_name("budget.db-journal")
    journal.write_bytes(_forged_journal(before[:size], len(before) // size))
    journal.chmod(0o600)
    usable(file, Fraction(0))


def test_a_planted_write_ahead_log_is_not_read(file: SqlitePlace) -> None:
    """Opening the ledger with SQLite would be enough to write the log into it."""
    fresh(file)
    path, copy = Path(file.location), Path(file.location).with_name("copy.db")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as forger:
        forger.execute("PRAGMA journal_mode = WAL")
        forger.execute("VACUUM")  # writes every page into the log
        log = copy.with_name("copy.db-wal").read_bytes()
    Budget(file.location, "b").reserve(TENTH, question="q")
    after = path.read_bytes()
    planted = path.with_name("budget.db-wal")
    planted.write_bytes(log)
    planted.chmod(0o600)
    with pytest.raises(LedgerUnsafeError, match=r"budget\.db-wal beside it"):
        Budget(file.location, "b")
    assert path.read_bytes() == after
    planted.unlink()
    path.with_name("budget.db-shm").unlink(missing_ok=True)
    usable(file, TENTH)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_directory_where_everybody_can_create_files(
    file: SqlitePlace, tmp_path: Path, mode: int
) -> None:
    budget = fresh(file)
    tmp_path.chmod(mode)
    attempts: list[Callable[[], object]] = [
        lambda: budget.reserve(TENTH, question="q"),
        lambda: Budget(file.location, "b"),
        lambda: create_budget(str(tmp_path / "new.db"), "b", epsilon=1),
    ]
    for attempt in attempts:
        with pytest.raises(LedgerUnsafeError, match="a directory of your own"):
            attempt()
    assert not (tmp_path / "new.db").exists()
    tmp_path.chmod(0o770)
    usable(file, Fraction(0))


def test_directory_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnsafeError, match="not a plain file"):
        Budget(str(tmp_path), "b")


def test_folder_missing(tmp_path: Path) -> None:
    with pytest.raises(LedgerWriteError, match="cannot be created"):
        create_budget(str(tmp_path / "no" / "budget.db"), "b", epsilon=1)


def test_init_never_changes_a_budget(place: Place) -> None:
    budget = fresh(place)
    budget.reserve(TENTH, question="q")
    with pytest.raises(BudgetExistsError, match="limit of epsilon 1;"):
        fresh(place, epsilon=5)
    assert budget.balance().terms.limit.epsilon == 1
    usable(place, TENTH)


@pytest.mark.long
def test_postgres_disk_full() -> None:
    report = harness("postgres_disk_full")
    settled = report.pop("settled")
    assert 10 < settled < 60
    assert report == {
        "error": "LedgerWriteError",
        "spent": settled + 1,
        "stored": False,
        "sound": True,
        "settled later": True,
    }


def test_postgres_commits_survive_a_lazy_default(postgres: PostgresPlace) -> None:
    """A role with synchronous_commit = off could lose charges at a power cut."""
    fresh(postgres)
    lazy = postgres.location + "&options=-c%20synchronous_commit%3Doff"
    from hourglass.ledger.postgres import PostgresStore

    store = PostgresStore(lazy)
    with store.transaction("b", write=True) as transaction:
        found = transaction._connection.execute("SHOW synchronous_commit").fetchone()
    assert found == ("on",)
