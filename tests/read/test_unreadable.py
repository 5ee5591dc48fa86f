"""Sources that exist but cannot be read: which file an error names, and its exit code."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.read.engines import duckdb_scans
from hourglass.read.engines.duckdb import DuckDB, distinct_rows
from tests.cli.running import run

ASK = ["--bounds", "0", "9", "--epsilon", "1"]
_OPENED = {
    "duckdb": "import duckdb, sys; a = duckdb.connect(sys.argv[1])",
    "sqlite": "import sqlite3, sys; a = sqlite3.connect(sys.argv[1]); a.execute('BEGIN EXCLUSIVE')",
}


def database(folder: Path, scheme: str) -> Path:
    path = folder / f"clinic.{scheme}"
    made: Any = duckdb.connect(str(path)) if scheme == "duckdb" else sqlite3.connect(path)
    with closing(made):
        made.execute("CREATE TABLE visits (x DOUBLE PRECISION)")
        made.execute("INSERT INTO visits VALUES (1), (2), (3)")
        made.commit()
    return path


@contextmanager
def held(path: Path, scheme: str) -> Iterator[None]:
    """Another process has the file open for writing."""
    program = f"{_OPENED[scheme]}; print(flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        yield
        other.communicate(b"")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", _OPENED)
def test_a_locked_database_is_a_source_that_failed(
    tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(tmp_path, scheme)
    # By itself SQLite waits 5 seconds for a lock.
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0.1))
    hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=2)
    paid = ["--budget", "b", "--ledger", str(tmp_path / "b.db")]
    with held(path, scheme):
        told = run("mean", path, "x", *ASK, "--table", "visits", *paid)
    assert (told.returncode, told.stdout) == (4, "")
    assert "another process has it" in told.stderr
    assert "url" not in told.stderr
    assert not hg.Budget(str(tmp_path / "b.db"), "b").history()
    assert run("mean", path, "x", *ASK, "--table", "visits", *paid).returncode == 0


@pytest.mark.parametrize("scheme", _OPENED)
def test_a_damaged_database_is_a_source_that_failed(tmp_path: Path, scheme: str) -> None:
    path = database(tmp_path, scheme)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\x07" * (len(whole) - 100))
    told = run("mean", path, "x", *ASK, "--table", "visits")
    assert (told.returncode, told.stdout) == (4, "")
    assert "it is damaged" in told.stderr
    with pytest.raises(hg.DataError, match=r"data: there is no (DuckDB|SQLite) file"):
        hg.mean(hg.sql(f"{scheme}:///{tmp_path}/none", "t"), "x", bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion", "spark"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_of_several_files_the_damaged_one_is_named(
    tmp_path: Path, engine: str, ending: str
) -> None:
    if ending == "arrow" and engine != "duckdb":
        pytest.skip("read by DuckDB only")
    pytest.importorskip("pyspark" if engine == "spark" else engine)
    write: Any = pq.write_table if ending == "parquet" else feather.write_feather
    for name in "abc":
        write(pa.table({"x": [1.0, 2.0, 3.0]}), tmp_path / f"{name}.{ending}")
    cut = tmp_path / f"b.{ending}"
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(hg.DataError, match=rf"b\.{ending}") as error:
        hg.mean(str(tmp_path / f"*.{ending}"), "x", bounds=(0, 9), epsilon=1, engine=engine)
    assert f"a.{ending}" not in str(error.value)


def test_a_table_of_keys_that_fails_leaves_no_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught: an open database, and one that is kept for the next question after it failed."""
    pq.write_table(pa.table({"g": ["a", "b"]}), tmp_path / "keys.parquet")
    closed: list[bool] = []
    close = duckdb_scans.OwnDatabase.close

    def watched(self: Any, *, keep: bool) -> None:
        closed.append(keep)
        close(self, keep=keep)

    monkeypatch.setattr(duckdb_scans.OwnDatabase, "close", watched)
    assert distinct_rows(tmp_path / "keys.parquet", ("g",)) == [("a",), ("b",)]
    with pytest.raises(hg.DataError):
        distinct_rows(tmp_path / "keys.parquet", ("h",))
    monkeypatch.setattr(DuckDB, "_fill", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        distinct_rows(tmp_path / "keys.parquet", ("g",))
    assert closed == [True, False, False]


def test_a_database_that_is_not_there_or_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message used to be that --table does not apply to a file."""
    told = run("mean", tmp_path / "none.duckdb", "x", *ASK, "--table", "visits")
    assert (told.returncode, told.stdout) == (2, "")
    assert "none.duckdb': there is no such file" in told.stderr
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    assert "--table applies to databases" in run("mean", path, "x", *ASK, "--table", "t").stderr
    monkeypatch.setattr("hourglass.cli.parts.os.access", lambda path, mode: False)
    told = run("mean", path, "x", *ASK, "--table", "visits")
    assert (told.returncode, told.stdout) == (4, "")
    assert "this user may not read it" in told.stderr
