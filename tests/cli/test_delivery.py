"""After the charge nothing is lost: what cannot be written is printed, with its request key."""

from __future__ import annotations

import io
import json
import os
import resource
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import TotalsQuestion
from hourglass.cli.delivery import NOT_WRITTEN, Delivery
from hourglass.cli.parts import Account

from .running import ASK, run, spawn

DEVICE = Path("/dev/full")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DEVICE.is_char_device(), reason="needs /dev/full, a disk without room"),
]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A file on a full disk; a link, so that faulty code cannot remove the device."""
    for name in ("full", "full.png"):
        (tmp_path / name).symlink_to(DEVICE)
    return tmp_path / "full"


@pytest.fixture
def paid(tmp_path: Path) -> list[str | Path]:
    """The words of a question on a budget, without a request key of its own."""
    table = {"x": [float(i % 10) for i in range(300)], "g": ["n", "s", "e"] * 100}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=9)
    return [tmp_path / "t.parquet", "x", "--budget", "b", "--ledger", tmp_path / "b.db"]


def stored(tmp_path: Path) -> dict[str, Any]:
    """The one answer in the budget."""
    budget = hg.Budget(str(tmp_path / "b.db"), "b")
    (charge,) = budget.history()
    found = budget.answer(charge.request)
    assert found is not None
    return dict(found.answer)


BY = ["--by", "g", "--keys", "n,s,e"]


@pytest.mark.parametrize("more", [[], ["--format", "json"]])
def test_what_was_charged_is_told_on_stderr(paid: list[str | Path], more: list[str]) -> None:
    """And only there: what is on stdout is the answer alone, the first time as well as later."""
    words: list[str | Path] = ["mean", *paid, *ASK, *more]
    first, again = (run(*words, "--request", "march") for _ in range(2))
    assert first.stderr == "hourglass: charged epsilon 1 to 'b' as 'march'; epsilon 8 remains\n"
    assert again.stderr == (
        "hourglass: stored answer of request 'march' in 'b'; nothing was charged\n"
    )
    assert "hourglass: " not in first.stdout
    if more:
        assert json.loads(first.stdout)["mean"] == json.loads(again.stdout)["mean"]
    named = run(*words)
    assert "as 'charge-3'; epsilon 7 remains" in named.stderr
    refused = run("mean", *paid, "--bounds", "0", "9", *more, "--epsilon", "20")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert "charged epsilon" not in refused.stderr


def test_a_charge_that_was_left_open_is_told_as_such(
    paid: list[str | Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = (tmp_path / "t.parquet").read_bytes()
    words: list[str | Path] = ["mean", *paid, *ASK, "--request", "march"]
    with monkeypatch.context() as patch:
        patch.setattr(TotalsQuestion, "read", _fails)
        assert run(*words).returncode == 4
    assert (tmp_path / "t.parquet").read_bytes() == table
    assert run(*words).stderr == (
        "hourglass: request 'march' was charged to 'b' before; nothing more was charged\n"
    )


def _fails(question: object) -> None:
    raise hg.SourceError("the source failed")


def test_what_was_charged_is_not_told_where_stderr_is_closed(paid: list[str | Path]) -> None:
    told = spawn("mean", *paid, *ASK, "--format", "json", shell="2>&-")
    assert json.loads(told.stdout)["unit"] == "row"
    assert (told.returncode, told.stderr) == (0, b"")


def test_without_a_budget_nothing_is_told(paid: list[str | Path]) -> None:
    assert run("mean", *paid[:2], *ASK).stderr == ""


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("mean", []),
        ("mean", ["--format", "json"]),
        ("mean", [*BY, "--format", "csv"]),
        ("mean", [*BY, "--format", "parquet"]),
        ("bounds", []),
    ],
)
def test_a_full_disk_at_the_output(
    paid: list[str | Path], tmp_path: Path, full: Path, command: str, more: list[str]
) -> None:
    asked = ["--epsilon", "1"] if command == "bounds" else ASK
    claim: list[str | Path] = (
        [] if command == "bounds" else ["--statement", tmp_path / "claim.yaml"]
    )
    told = run(command, *paid, *asked, *more, "--output", full, *claim)
    assert told.returncode == NOT_WRITTEN
    assert full.is_symlink()  # what was there before is not removed
    assert f"--output '{full}' cannot be written: No space left on device" in told.stderr
    assert "--request charge-1 " in told.stderr
    assert json.loads(told.stdout) == stored(tmp_path)
    assert all(path.stat().st_size for path in claim if isinstance(path, Path))  # the rest is there
    again = run(command, *paid, *asked, *more, "--request", "charge-1", "--output", tmp_path / "o")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "o").stat().st_size
    assert hg.Budget(str(tmp_path / "b.db"), "b").balance().charges == 1


@pytest.mark.parametrize("option", ["statement", "plot"])
def test_another_part_that_cannot_be_written(
    paid: list[str | Path], full: Path, option: str
) -> None:
    full = full.with_suffix(".png" if option == "plot" else "")
    told = run("mean", *paid, *ASK, *BY, "--format", "json", f"--{option}", full)
    assert told.returncode == NOT_WRITTEN
    assert f"--{option} '{full}' cannot be written: No space left on device" in told.stderr
    assert "--request charge-1 " in told.stderr
    assert len(json.loads(told.stdout)["groups"]) == 3  # printed once, where it was asked for


def test_without_a_budget_the_answer_is_printed_all_the_same(
    paid: list[str | Path], full: Path
) -> None:
    told = run("mean", *paid[:2], *ASK, "--output", full)
    assert told.returncode == NOT_WRITTEN
    assert "No budget was charged" in told.stderr
    assert "--request" not in told.stderr
    assert json.loads(told.stdout)["epsilon"] == "1"


@pytest.mark.parametrize(
    ("command", "format_"), [("mean", "table"), ("mean", "json"), ("bounds", "table")]
)
def test_standard_output_on_a_full_disk(
    paid: list[str | Path], tmp_path: Path, command: str, format_: str
) -> None:
    asked = ["--epsilon", "1"] if command == "bounds" else ASK
    told = spawn(command, *paid, *asked, "--format", format_, shell="> /dev/full")
    assert told.returncode == NOT_WRITTEN
    error = told.stderr.decode()
    assert "Exception ignored" not in error
    assert "standard output cannot be written: No space left on device" in error
    assert "--request charge-1 " in error
    assert json.loads(error[error.index("\n{") :]) == stored(tmp_path)


def test_closed_streams(paid: list[str | Path], tmp_path: Path, full: Path) -> None:
    told = spawn("mean", *paid, *ASK, shell=">&-")
    assert told.returncode == 2
    assert b"standard output is closed" in told.stderr
    assert not hg.Budget(str(tmp_path / "b.db"), "b").history()
    both = spawn("mean", *paid, *ASK, "--output", full, shell="> /dev/full 2> /dev/full")
    assert both.returncode == NOT_WRITTEN


def test_a_reader_that_closes_the_pipe_is_not_an_error(paid: list[str | Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told = spawn("mean", *paid, *ASK, "--format", "json", stdout=writing)
    os.close(writing)
    assert told.returncode == NOT_WRITTEN
    assert b"--request charge-1 " in told.stderr
    assert b"noisy_totals" not in told.stderr
    assert b"Exception ignored" not in told.stderr


def test_half_a_file_does_not_stay_behind(paid: list[str | Path], tmp_path: Path) -> None:
    """A limit on the size of files ends a write in its middle, as a full disk does."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text("before")
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        told = [run("mean", *paid[:2], *ASK, "--format", "json", "--output", p) for p in (new, old)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    for one in told:
        assert one.returncode == NOT_WRITTEN
        assert "File too large" in one.stderr
        assert json.loads(one.stdout)["epsilon"] == "1"
    assert not new.exists()
    assert old.exists()


def test_an_interrupt_names_the_request(paid: list[str | Path], tmp_path: Path) -> None:
    account = Account(str(tmp_path / "b.db"), "b")
    account.reserve(1, question="{}", request="of march")
    delivery, told = Delivery(None, account), io.StringIO()
    with redirect_stderr(told), pytest.raises(KeyboardInterrupt), delivery.part("output", None):
        raise KeyboardInterrupt
    assert "--request 'of march'" in told.getvalue()


def test_of_a_foreign_error_only_the_type_is_shown() -> None:
    def fails() -> None:
        raise RuntimeError("a cell of the data")

    told = io.StringIO()
    delivery = Delivery(hg.mean([1.0], bounds=(0, 2), epsilon=1), None)
    with redirect_stderr(told), delivery.part("statement", Path("claim.yaml")):
        fails()
    assert "cannot be written: RuntimeError" in told.getvalue()
    assert "cell" not in told.getvalue()


# --- errors, where standard error cannot be written ----------------------------------------------


@pytest.mark.parametrize("more", [[], ["--format", "json"]])
@pytest.mark.parametrize("shell", ["2>&-", f"2>{DEVICE}"])
def test_an_error_that_cannot_be_told_keeps_its_exit_code(
    paid: list[str | Path], shell: str, more: list[str]
) -> None:
    """Standard output is for answers only."""
    refused = spawn("mean", *paid, "--epsilon", "10", "--bounds", "0", "9", *more, shell=shell)
    assert (refused.returncode, refused.stdout) == (3, b"")
    bad = spawn("mean", *paid, "--epsilon", "1", "--bounds", "9", "0", *more, shell=shell)
    assert (bad.returncode, bad.stdout) == (2, b"")


@pytest.mark.parametrize("more", [[], ["--format", "json"]])
def test_a_full_standard_error_does_not_change_that_of_an_answer(
    paid: list[str | Path], more: list[str]
) -> None:
    found = spawn("mean", *paid, *ASK, *more, shell=f"2>{DEVICE}")
    assert found.returncode == 0
    assert b"mean" in found.stdout


def test_what_is_no_answer_and_cannot_be_printed_has_the_same_exit_code(
    paid: list[str | Path],
) -> None:
    for words in (
        ["plan", "--bounds", "0", "1", "--records", "100", "--epsilon", "1"],
        ["budget", "show", "b", *paid[4:]],
        ["mean", *paid[:2], *ASK, "--explain"],
    ):
        found = spawn(*words, shell=f">{DEVICE}")
        assert found.returncode == NOT_WRITTEN, words
        told = "hourglass: standard output cannot be written: No space left on device\n"
        assert found.stderr.decode() == told


def test_nor_does_it_depend_on_a_buffer() -> None:
    words = ["plan", "--bounds", "0", "1", "--records", "100", "--epsilon", "1"]
    found = spawn(*words, shell=f">{DEVICE}", PYTHONUNBUFFERED="1")
    assert found.returncode == NOT_WRITTEN
    assert b"cannot be written: No space left on device" in found.stderr
