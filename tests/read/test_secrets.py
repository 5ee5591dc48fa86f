"""Nothing about the data leaks except through the noisy answer."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass import errors
from hourglass.ask.question import mean_question
from hourglass.core.totals import Groups
from hourglass.noise.bits import SeededBits
from hourglass.read.engines.duckdb import DuckDB
from hourglass.read.source import guarded
from tests import apart
from tests.tools import command, everything

CANARY = "canary-7351842"
ASK: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1}


def test_each_question_has_a_duckdb_of_its_own(tmp_path: Path) -> None:
    """Were it shared, an internal error that one row causes would end every later question."""
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.parquet")
    one, other = (mean_question(tmp_path / "t.parquet", "x", **ASK).source for _ in range(2))
    assert isinstance(one, DuckDB)
    assert isinstance(other, DuckDB)
    one._connection.execute("CREATE TABLE seen AS SELECT 1")
    assert other._connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


def test_a_foreign_error_is_neither_quoted_nor_chained() -> None:
    with pytest.raises(hg.SourceError) as caught, guarded("data: it failed"):
        raise ValueError(f"Could not convert string '{CANARY}' to DOUBLE")
    assert CANARY not in everything(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        if frame.f_code.co_filename == errors.__file__:
            assert not any(isinstance(value, ValueError) for value in frame.f_locals.values())


def test_errors_of_ours_and_ctrl_c_pass_a_guard() -> None:
    for error in (hg.DataError("ours"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, guarded("data: it failed"):
            raise error
        assert caught.value is error


def _failing_sources(postgres_url: str) -> list[Any]:
    """Sources whose own queries fail on a cell, and quote it."""
    import psycopg

    relation = duckdb.connect().sql(
        f"SELECT CAST(v AS DOUBLE) AS x FROM (VALUES ('1'), ('{CANARY}')) AS t(v)"
    )
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bad (v TEXT)")
        connection.execute("INSERT INTO bad VALUES ('1'), (%s)", [CANARY])
    postgres = hg.sql(postgres_url, "SELECT CAST(v AS DOUBLE PRECISION) AS x FROM bad")
    return [relation, postgres]


def test_an_engine_that_quotes_a_cell_is_silenced(postgres_url: str) -> None:
    for source in _failing_sources(postgres_url):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(hg.SourceError) as caught:
            hg.mean(source, "x", bounds=(0, 1), epsilon=1)
        assert CANARY not in everything(caught.value) + out.getvalue() + err.getvalue()
        assert caught.value.__context__ is None


def test_a_search_for_bounds_is_silenced_too(postgres_url: str) -> None:
    for source in _failing_sources(postgres_url):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(hg.SourceError) as caught:
            hg.find_bounds(source, "x", epsilon=1)
        assert CANARY not in everything(caught.value) + out.getvalue() + err.getvalue()
        assert caught.value.__context__ is None


@pytest.mark.slow
def test_the_bounds_command_shows_no_cell(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [CANARY]}), tmp_path / "2.parquet")
    (tmp_path / "a.csv").write_text(f"x\n1\n{CANARY}\n")
    program = [sys.executable, "-c", "from hourglass.cli import main; main()", "bounds"]
    for name, code in (("*.parquet", 2), ("a.csv", 0)):
        asked = [*program, str(tmp_path / name), "x", "--epsilon", "1"]
        told = apart.run(asked, capture_output=True, text=True, check=False)
        assert told.returncode == code
        assert (told.stderr == "") == (code == 0)
        assert CANARY not in told.stdout + told.stderr


def test_the_control_would_have_quoted_it() -> None:
    with pytest.raises(duckdb.Error, match=CANARY):
        duckdb.connect().execute(f"SELECT CAST('{CANARY}' AS DOUBLE)")


def test_spark_is_silenced(spark_session: Any) -> None:
    frame = spark_session.sql(
        f"SELECT CAST(v AS DOUBLE) AS x FROM VALUES ('1'), ('{CANARY}') AS (v)"
    )
    with pytest.raises(hg.SourceError) as caught:
        hg.mean(frame, "x", bounds=(0, 1), epsilon=1)
    assert CANARY not in everything(caught.value)


POISONS = ["1", CANARY, "1e400", "nan", "inf", "", '"', str(2**70)]


def asked_about(poison: str, path: Path) -> list[str]:
    """The command about a file with this value in a group that is not asked for."""
    path.write_text("x,g\n" + "1,a\n" * 50 + f"{poison.replace(chr(34), chr(34) * 2)},b\n")
    return [
        "mean", str(path), "x", "--bounds", "0", "1", "--epsilon", "1", "--by", "g",
        "--keys", "a,c", "--format", "csv",
    ]  # fmt: skip


@pytest.mark.parametrize("poison", POISONS)
def test_a_poison_row_changes_no_byte_but_the_noise(
    tmp_path: Path, poison: str, capfd: pytest.CaptureFixture[str]
) -> None:
    told = command(*asked_about(poison, tmp_path / "a.csv"))
    assert (told.code, told.err) == (0, "")
    assert [line.split(",")[0] for line in told.out.splitlines()] == ["g", "a", "c"]
    assert CANARY not in told.out
    assert capfd.readouterr() == ("", "")  # nor do the engine's own libraries write anything


@pytest.mark.slow
def test_a_poison_row_changes_nothing_in_a_process_of_its_own(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from hourglass.cli import main; main()"]
    asked = asked_about(CANARY, tmp_path / "a.csv")
    told = subprocess.run([*program, *asked], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert [line.split(",")[0] for line in told.stdout.splitlines()] == ["g", "a", "c"]
    assert CANARY not in told.stdout


def test_totals_and_groups_print_nothing() -> None:
    table = pa.table({"x": [1.0, 2.0], "g": [CANARY, "b"]})
    request = mean_question(table, "x", bounds=(0, 9), epsilon=1, by="g", delta=1e-6)
    found = request.read()
    assert repr(found) == "Groups(secret)"
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="secret"):
            copied(found)
    assert CANARY not in repr(request) + str(request.sql)


def test_a_password_is_not_shown() -> None:
    source = hg.sql("postgresql://me:pw-4711@127.0.0.1:1/db", "t")
    assert "pw-4711" not in repr(source)
    with pytest.raises(hg.SourceError, match="cannot be reached") as caught:
        hg.mean(source, "x", bounds=(0, 1), epsilon=1)
    assert "pw-4711" not in everything(caught.value)


@pytest.mark.slow
def test_secret_groups_show_by_their_noisy_count_alone() -> None:
    sizes = {"many": 200, CANARY: 1}
    names = [name for name, size in sizes.items() for _ in range(size)]
    table = pa.table({"x": [1.0] * len(names), "g": names})
    for seed in range(50):
        found = hg.mean(
            table, "x", bounds=(0, 9), epsilon=1, by="g", delta=1e-6, bits=SeededBits(seed)
        )
        assert list(found) == ["many"]
        assert found.threshold == 17


def test_the_order_is_that_of_the_keys_never_of_the_data() -> None:
    names = ["zoe", "bob", "ann", "mia"] * 100
    table = pa.table({"x": [1.0] * 400, "g": names})
    found = hg.mean(table, "x", bounds=(0, 9), epsilon=1, by="g", delta=1e-6)
    assert list(found) == ["ann", "bob", "mia", "zoe"]


def test_a_key_that_is_not_utf8_is_missing() -> None:
    """Invalid UTF-8 in a column of text is NULL, and does not make the query fail."""
    offsets, data = pa.array([0, 1, 1 + len(CANARY) + 1], pa.int32()), f"a{CANARY}".encode()
    bad = pa.StringArray.from_buffers(2, offsets.buffers()[1], pa.py_buffer(data + b"\xff"))
    found = hg.mean(pa.table({"x": [1.0, 0.0], "g": bad}), "x", by="g", delta=1e-6, **ASK)
    assert CANARY not in repr(found.to_dict())


@pytest.mark.parametrize("bounds", [(0, 1), (0, 1e300)])
def test_odd_doubles_raise_no_warning(bounds: Any) -> None:
    """A signalling NaN, or an underflow: NumPy would warn, which is an error in tests."""
    odd = np.array([0x7FF0000000000001, 1, 0x3FF0000000000000], np.uint64).view(np.float64)
    with np.errstate(all="raise"):
        for data, column in ((odd, None), (pa.table({"x": odd}), "x")):
            found = mean_question(data, column, bounds=bounds, epsilon=1).read()
            count = found.count.tolist() if isinstance(found, Groups) else [found.count]
            assert count == [2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [("Query interrupted", KeyboardInterrupt), (f"Query interrupted {CANARY}", hg.SourceError)],
)
def test_an_interrupt_in_duckdb_is_one(
    monkeypatch: pytest.MonkeyPatch, words: str, expected: type[BaseException]
) -> None:
    """DuckDB raises its own error for Ctrl-C while it runs a query."""

    def stopped(*_: Any) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr("hourglass.read.engines.duckdb.Groups.of_arrow", stopped)
    with pytest.raises(expected) as caught:
        hg.mean(pa.table({"x": [1.0], "g": ["a"]}), "x", by="g", keys=["a"], **ASK)
    assert CANARY not in everything(caught.value)
    assert caught.value.__context__ is None


def test_an_interrupted_reading_lets_the_connection_go(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(chunks: Any, *_: Any) -> None:
        next(chunks)
        raise KeyboardInterrupt

    monkeypatch.setattr("hourglass.read.sql.query.total_of_chunks", stopped)
    connection = duckdb.connect()
    rows = connection.sql("SELECT CAST(i AS DOUBLE) AS x FROM range(2000000) AS t(i)")
    with pytest.raises(KeyboardInterrupt) as caught:  # it holds the frames, as a notebook does
        hg.mean(rows, "x", **ASK)
    assert connection.execute("SELECT 42").fetchall() == [(42,)]
    assert caught.value.__traceback__ is not None
