"""DuckDB databases that are kept for the next question: nothing of the last one is left in them."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.engines import duckdb_scans
from hourglass.read.engines.duckdb_scans import OwnDatabase
from tests import apart


@pytest.fixture(autouse=True)
def _none_is_idle() -> None:
    gc.collect()  # a question of another test may still have one
    while duckdb_scans._idle:
        duckdb_scans._idle.pop()[0].close()


def asked(data: Any, **more: Any) -> Any:
    return hg.mean(data, "x", bounds=(0, 1), epsilon=1, **more)


@pytest.mark.slow
def test_the_next_question_uses_the_same_database(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [0.5]}), tmp_path / "t.parquet")
    asked(tmp_path / "t.parquet")
    (kept,) = duckdb_scans._idle
    asked(tmp_path / "t.parquet")
    assert duckdb_scans._idle == [kept]


@pytest.mark.slow
def test_nothing_of_a_question_is_left() -> None:
    """Neither tables nor settings of its own, nor a reference to the data."""
    table = pa.table({"x": [0.25, 0.75]})
    alive = weakref.ref(table)
    asked(table)
    del table
    gc.collect()
    assert alive() is None
    database = OwnDatabase()
    tables = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views()"
    own = database.connection.execute(f"{tables} WHERE NOT internal").fetchall()
    assert own == []
    settings = dict(
        database.connection.execute("SELECT name, value FROM duckdb_settings()").fetchall()
    )
    fresh = dict(
        duckdb_scans.connect().execute("SELECT name, value FROM duckdb_settings()").fetchall()
    )
    differing = {name for name, value in settings.items() if fresh[name] != value}
    assert differing <= {"temp_directory"}
    assert settings["enable_external_file_cache"] == "false"
    assert settings["enable_progress_bar"] == "false"
    assert settings["disabled_optimizers"] == "statistics_propagation"


@pytest.mark.slow
def test_questions_at_the_same_time_have_databases_of_their_own() -> None:
    both = OwnDatabase(), OwnDatabase()
    for number, own in enumerate(both):
        own.connection.execute(f"CREATE TABLE t AS SELECT {number} AS x")
    assert [own.connection.execute("FROM t").fetchall() for own in both] == [[(0,)], [(1,)]]
    found: list[Any] = []
    table = pa.table({"x": [0.5] * 1000})
    ask = [threading.Thread(target=lambda: found.append(asked(table))) for _ in range(8)]
    for thread in ask:
        thread.start()
    for thread in ask:
        thread.join()
    assert len(found) == 8
    assert len(duckdb_scans._idle) <= duckdb_scans._MOST


@pytest.mark.slow
def test_a_database_that_failed_is_not_kept(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [0.5] * 100_000}), file)
    question = mean_question(file, "x", bounds=(0, 1), epsilon=1)
    file.unlink()
    with pytest.raises(hg.HourglassError):
        question.read()
    assert duckdb_scans._idle == []


@pytest.mark.slow
def test_a_database_that_spilled_is_not_kept() -> None:
    """Its files may hold data; they are removed when it is closed."""
    own = OwnDatabase()
    own.connection.execute("SET memory_limit = '60MB'; SET threads = 1")
    own.connection.execute(
        "SELECT count(*) FROM (SELECT DISTINCT random() AS x FROM range(5_000_000))"
    ).fetchall()
    assert own._spill.exists()
    own.close(keep=True)
    assert duckdb_scans._idle == []
    assert not own._spill.exists()


def refused(data: Any) -> None:
    with pytest.raises(hg.HourglassError):
        hg.mean(data, "there is no such column", bounds=(0, 1), epsilon=1)


def explained(data: Any) -> None:
    asked(data, explain=True)


@pytest.mark.slow
@pytest.mark.parametrize("never_read", [refused, explained])
def test_a_question_that_never_reads_gives_its_database_back(never_read: Any) -> None:
    """With nothing in it of the table that was registered."""
    asked(pa.table({"x": [0.5]}))
    ((kept, _),) = duckdb_scans._idle
    table = pa.table({"x": [0.25, 0.75]})
    alive = weakref.ref(table)
    never_read(table)
    del table
    gc.collect()
    assert alive() is None
    assert [database for database, _ in duckdb_scans._idle] == [kept]
    own = OwnDatabase()
    assert own.connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal"
                                  ).fetchall() == []  # fmt: skip


@pytest.mark.slow
def test_abandoned_databases_are_kept_up_to_the_limit() -> None:
    several = [OwnDatabase() for _ in range(duckdb_scans._MOST + 2)]
    several[0].close(keep=False)
    connections = [own.connection for own in several]
    several.clear()
    gc.collect()
    assert len(duckdb_scans._idle) == duckdb_scans._MOST
    for connection in connections:  # whoever still has one cannot see what comes next
        with pytest.raises(duckdb.ConnectionException):
            connection.execute("SELECT 42")


@pytest.mark.slow
def test_an_abandoned_database_that_spilled_is_not_kept() -> None:
    own = OwnDatabase()
    own._spill.mkdir()
    del own
    gc.collect()
    assert duckdb_scans._idle == []


@pytest.mark.slow
def test_a_source_that_is_read_twice_leaves_other_questions_alone() -> None:
    table = pa.table({"x": [0.5] * 1000})
    first = mean_question(table, "x", bounds=(0, 1), epsilon=1)
    first.read()
    second = mean_question(table, "x", bounds=(0, 1), epsilon=1)
    with pytest.raises(hg.HourglassError):
        first.read()
    assert second.read().totals.count.tolist() == [1000]


@pytest.mark.slow
def test_a_broken_idle_database_is_replaced() -> None:
    OwnDatabase().close(keep=True)
    ((kept, _),) = duckdb_scans._idle
    kept.close()
    own = OwnDatabase()
    assert own.connection.execute("SELECT 42").fetchall() == [(42,)]


@pytest.mark.slow
def test_a_kept_database_never_spills_to_a_directory_that_is_gone() -> None:
    """Such as one that a cleaner of temporary files removed: the query would fail if it spilled."""
    own = OwnDatabase()
    first = own._spill
    own.close(keep=True)
    shutil.rmtree(first.parent)
    own = OwnDatabase()
    told = own.connection.execute("SELECT current_setting('temp_directory')").fetchone()
    assert told == (str(own._spill),)
    assert own._spill.parent.is_dir()
    assert own._spill.parent != first.parent


FORKED = """
import gc, os, sys
import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.engines import duckdb_scans
table = sys.argv[2]
ask = lambda: hg.mean(table, "x", bounds=(0, 1), epsilon=1)
ask()
assert len(duckdb_scans._idle) == 1
unread = [mean_question(table, "x", bounds=(0, 1), epsilon=1) for _ in range(2)]
ask()
assert len(duckdb_scans._idle) == 1
child = os.fork()
if not child:
    assert duckdb_scans._idle == []
    if sys.argv[1] == "drops":
        del unread
        gc.collect()
        assert duckdb_scans._idle == []
    if sys.argv[1] != "leaves":
        ask()
    sys.exit(7)  # runs destructors, unlike os._exit
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
ask()
assert len(duckdb_scans._idle) == 1
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.parametrize("child", ["asks", "drops", "leaves"])
def test_a_forked_child_leaves_the_idle_databases_alone(tmp_path: Path, child: str) -> None:
    """Their threads do not run in the child: to use or to close one would crash it."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [0.5] * 1000}), path)
    done = apart.run(
        [sys.executable, "-c", FORKED, child, path],
        capture_output=True,
        text=True,
        timeout=60,
        whole=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", ", explain=True", ", by='g', keys=['a']"])
def test_nothing_is_written_as_the_process_ends(tmp_path: Path, more: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "g": ["a", "b"]}), path)
    program = (
        f"import hourglass as hg\nhg.mean({str(path)!r}, 'x', bounds=(0, 3), epsilon=1{more})\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
