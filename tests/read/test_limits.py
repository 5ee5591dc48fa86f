"""Resources that run out after the charge: threads, file descriptors, an iterator that fails."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.ledger import budget as session
from hourglass.ledger.budget import Budget
from hourglass.read import arrow_stream, source
from hourglass.read.source import guarded, guarded_schema
from tests import apart

CANARY = "31.41592"
ASK: Any = {"bounds": (0, 9), "epsilon": 100}


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return hg.create_budget(tmp_path / "budget.db", "b", epsilon=1000)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "4\n" * 1000)
    return path


def test_a_text_file_is_read_where_no_thread_can_be_started(
    lines: Path, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limited(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", limited)
    assert hg.mean(lines, "x", budget=budget, **ASK).count == pytest.approx(1000, abs=9)


#: Asks when Python no longer starts threads in a pool: the main thread has ended.
LATE = """
import atexit, sys, threading
import hourglass as hg

ended = threading.main_thread().join

def ask():
    print(round(hg.mean(sys.argv[1], "x", bounds=(0, 9), epsilon=100).count), flush=True)

def late():
    ended()
    ask()

{start}
"""


@pytest.mark.parametrize("start", ["atexit.register(ask)", "threading.Thread(target=late).start()"])
def test_a_text_file_is_read_after_the_main_thread_has_ended(lines: Path, start: str) -> None:
    done = apart.run(
        [sys.executable, "-c", LATE.replace("{start}", start), str(lines)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert abs(int(done.stdout) - 1000) < 9, done.stderr


class Failing:
    """Numbers whose iterator cannot even be made."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __iter__(self) -> Iterator[float]:
        raise self.error


@pytest.mark.parametrize("kind", [ValueError, MemoryError, RecursionError, StopIteration])
def test_an_iterator_that_cannot_be_made_is_not_quoted(kind: Any, budget: Budget) -> None:
    with pytest.raises(hg.SourceError, match="the iterator failed") as caught:
        hg.mean(Failing(kind(f"cell {CANARY}")), budget=budget, **ASK)
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    (charge,) = budget.history()
    assert any(charge.request in note for note in caught.value.__notes__)
    again = hg.mean([4.0] * 100, budget=budget, request=charge.request, **ASK)
    assert again.mean == pytest.approx(4, abs=1)
    assert len(budget.history()) == 1


@pytest.mark.parametrize(
    ("guard", "expected"), [(guarded, hg.SourceError), (guarded_schema, hg.DataError)]
)
def test_a_panic_is_withheld(guard: Any, expected: type[Exception]) -> None:
    """Engines written in Rust raise one that is no Exception, such as where threads run out."""
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})
    with pytest.raises(expected, match="PanicException") as caught, guard("data: it failed"):
        raise panic(f"cell {CANARY}")
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_the_panic_of_an_engine_is_the_one_that_is_withheld() -> None:
    """Nothing else tells it: the type is made by the library."""
    polars: Any = pytest.importorskip("polars")
    kind = polars.exceptions.PanicException
    assert not issubclass(kind, Exception)
    assert (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")


# --- a database that is there before the charge, and cannot be opened after it ------------------


@pytest.fixture
def table(tmp_path: Path) -> Any:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x REAL)")
    connection.executemany("INSERT INTO t VALUES (?)", [(4.0,)] * 1000)
    connection.commit()
    connection.close()
    return hg.sql(f"sqlite:///{path}", "t")


@contextmanager
def no_descriptors() -> Iterator[None]:
    """No file can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("fault", ["descriptors", "removed", "emptied"])
def test_a_sqlite_file_that_fails_after_the_charge_is_a_source_that_failed(
    fault: str, table: Any, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A DataError would say, as would its exit code, that nothing was charged."""
    path = Path(table.path)
    content, limit = path.read_bytes(), no_descriptors()

    def fail(step: str) -> None:
        if step != "reserve:committed":
            return
        if fault == "descriptors":
            limit.__enter__()
        elif fault == "removed":
            path.unlink()
        else:
            path.write_bytes(b"no database at all")

    monkeypatch.setattr(session, "hook", fail)
    try:
        with pytest.raises(hg.SourceError) as caught:
            hg.mean(table, "x", budget=budget, **ASK)
    finally:
        if fault == "descriptors":
            limit.__exit__(None, None, None)
    monkeypatch.undo()
    assert ("is not a SQLite file" in str(caught.value)) is (fault == "emptied")
    path.write_bytes(content)
    (charge,) = budget.history()
    assert any(charge.request in note for note in caught.value.__notes__)
    again = hg.mean(table, "x", budget=budget, request=charge.request, **ASK)
    assert again.count == pytest.approx(1000, abs=9)
    assert len(budget.history()) == 1


def test_ctrl_c_while_sqlite_reads_text(
    tmp_path: Path, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when a function of ours is called, and SQLite reports an error of its own."""
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (x TEXT)")
    connection.execute("INSERT INTO t VALUES (?)", (CANARY,))
    connection.commit()
    connection.close()

    def interrupted(_: str) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr("hourglass.read.engines.sqlite._real", interrupted)
    table = hg.sql(f"sqlite:///{tmp_path / 't.db'}", "t")
    with pytest.raises(KeyboardInterrupt) as caught:
        hg.mean(table, "x", parse="real", budget=budget, **ASK)
    (charge,) = budget.history()
    assert any(charge.request in note for note in caught.value.__notes__)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


class Interrupted(dict[int, Any]):
    """Ctrl-C, once, where a callback looks something up: before it can catch anything."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _check(self) -> None:
        if sys._getframe(2).f_code.co_name == self.name:
            self.name = ""
            raise KeyboardInterrupt

    def __getitem__(self, key: int) -> Any:
        self._check()
        return super().__getitem__(key)

    def pop(self, key: int, *default: Any) -> Any:
        self._check()
        return super().pop(key, *default)


@pytest.mark.parametrize("called", ["_next_asked", "_released"])
def test_ctrl_c_while_a_text_file_is_read(
    tmp_path: Path,
    budget: Budget,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    called: str,
) -> None:
    """It comes as one of our callbacks is called, from where ctypes cannot raise it."""
    (tmp_path / "t.csv").write_text(f"x,g\n1,{CANARY}\n" * 10)
    monkeypatch.setattr(arrow_stream, "_held", Interrupted(called))
    hook = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt) as caught:
        hg.mean(tmp_path / "t.csv", "x", by="g", keys=["a"], budget=budget, **ASK)
    assert sys.unraisablehook is hook
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    assert capfd.readouterr() == ("", "")
    # A schema is released before the charge.
    for charge in budget.history():
        assert any(charge.request in note for note in caught.value.__notes__)


def test_a_spill_directory_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its lock it would never be swept."""
    opened = os.open

    def limited(path: Any, *options: Any, **more: Any) -> int:
        if str(path).endswith(source._LOCK):
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *options, **more)

    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr(source, "_own", None)
    monkeypatch.setattr(os, "open", limited)
    with pytest.raises(hg.SourceError, match=r"cannot be made .*TMPDIR"):
        source.spill_directory()
    assert list(place.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(hg.SourceError, match=r"cannot be made .*TMPDIR"):
        source.spill_directory()
