"""Engines spill into a private directory, which is removed afterwards."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.read import source
from hourglass.read.engines.sqlite import SQLite
from tests.read import places

CANARY = "CANARY8f31"
#: More names than fit into the memory that the program below is given.
ROWS = 200_000


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary place of its own, for this process and for those that it starts."""
    home = tmp_path / "tmp"
    home.mkdir()
    monkeypatch.setenv("TMPDIR", str(home))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(source, "_own", None)
    yield home
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spill") / "names.parquet"
    duckdb.sql(
        f"COPY (SELECT 1.0 AS x, '{CANARY}' || range || repeat('-', 40) AS g FROM range({ROWS})) "
        f"TO '{path}' (FORMAT parquet)"
    )
    return path


#: Asks by group with so little memory that the engine must spill.
PROGRAM = """
import sys
import datafusion, duckdb
class Small(datafusion.RuntimeEnvBuilder):
    def with_disk_manager_specified(self, *paths):
        return super().with_disk_manager_specified(*paths).with_fair_spill_pool(16_000_000)
datafusion.RuntimeEnvBuilder = Small
configure = datafusion.SessionConfig
def alone(options):  # with two, a run was seen to hang
    return configure({**options, "datafusion.execution.target_partitions": "1"})
datafusion.SessionConfig = alone
connect = duckdb.connect
def small(*arguments, config=None, **more):
    return connect(*arguments, config={**config, "memory_limit": "30MB", "threads": "1"}, **more)
duckdb.connect = small
import hourglass as hg
ask = dict(bounds=(0, 1), epsilon=1, by="g", delta=1e-6, unit=hg.per_person("g"))
hg.mean(sys.argv[1], "x", engine=sys.argv[2], **ask)
print("answered", flush=True)
"""


def started(table: Path, engine: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(table), engine],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


def has_spilled(place: Path) -> bool:
    return any(CANARY.encode() in path.read_bytes() for path in files(place))


def stop_once_spilled(process: subprocess.Popen[str], place: Path) -> None:
    """Stop it at a moment when there are names in a file: it is looked at while it stands still."""
    while True:
        process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended, and no name was seen in a file"
        if has_spilled(place):
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.01)


SPILLING = pytest.mark.parametrize("engine", ["duckdb", "datafusion"])


@pytest.mark.slow
@SPILLING
def test_spilled_data_is_private_and_is_swept_after_a_kill(
    place: Path, table: Path, engine: str
) -> None:
    process = started(table, engine)
    try:
        stop_once_spilled(process, place)
        (home,) = place.iterdir()
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert has_spilled(home)
        source.sweep(place)
        assert home.exists()  # its owner lives
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    assert has_spilled(home)
    hg.mean(table, "x", bounds=(0, 1), epsilon=1)  # the next start
    assert not home.exists()
    assert not has_spilled(place)


@pytest.mark.slow
@SPILLING
def test_nothing_is_left_after_an_answer(place: Path, table: Path, engine: str) -> None:
    process = started(table, engine)
    try:
        stop_once_spilled(process, place)
        process.send_signal(signal.SIGCONT)
        out, error = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert out == "answered\n", error
    assert list(place.iterdir()) == []


def test_a_directory_for_each_process(place: Path) -> None:
    first = source.spill_directory()
    assert first.parent == source.spill_directory().parent != place
    assert first != source.spill_directory()
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.write(writing, str(source.spill_directory().parent).encode())
        os._exit(0)
    os.waitpid(child, 0)
    other = Path(os.read(reading, 1000).decode())
    os.close(reading)
    os.close(writing)
    assert other.parent == place
    assert other != first.parent
    assert first.parent.exists()  # the fork did not sweep what its parent owns
    source.sweep(place)
    assert first.parent.exists()
    assert not other.exists()  # the fork is gone


#: Forks while another thread makes the directory.
FORKED_MEANWHILE = """
import os, signal, threading
from hourglass.read import source

inside, done, sweep = threading.Event(), threading.Event(), source.sweep

def slow(folder):
    inside.set()
    done.wait()

source.sweep = slow
thread = threading.Thread(target=source.spill_directory)
thread.start()
inside.wait()
source.sweep = sweep
if os.fork() == 0:
    signal.alarm(60)  # ends a child that waits for ever
    source.spill_directory()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.wait()[1])
done.set()
raise SystemExit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_fork_while_the_directory_is_made(place: Path) -> None:
    """The child waited for ever for a thread that it does not have."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED_MEANWHILE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_directory_that_was_taken_away_is_made_again(place: Path) -> None:
    first = source.spill_directory().parent
    (first / "owner.lock").unlink()
    first.rmdir()
    second = source.spill_directory().parent
    assert second != first
    assert second.is_dir()


def left_behind(place: Path, name: str = "hourglass-spill-left") -> Path:
    home = place / name
    home.mkdir(mode=0o700)
    (home / "owner.lock").touch()
    (home / "data.tmp").write_text(CANARY)
    return home


def test_what_is_not_ours_is_left_alone(place: Path, tmp_path: Path) -> None:
    """Links, other names, directories that others can enter, and directories just being created."""
    other = left_behind(tmp_path)
    link = place / "hourglass-spill-link"
    link.symlink_to(other, target_is_directory=True)
    wide = left_behind(place, "hourglass-spill-wide")
    wide.chmod(0o755)
    named = left_behind(place, "hourglass-other")
    file = place / "hourglass-spill-file"
    file.touch()
    young = place / "hourglass-spill-young"
    young.mkdir(mode=0o700)
    linked = place / "hourglass-spill-linked"
    linked.mkdir(mode=0o700)
    (linked / "owner.lock").symlink_to(other / "owner.lock")
    gone = left_behind(place, "hourglass-spill-gone")
    (gone / "inner").symlink_to(other, target_is_directory=True)
    source.sweep(place)
    assert not gone.exists()
    for path in (other, link, wide, named, file, young, linked):
        assert path.exists(), path
    assert (other / "data.tmp").read_text() == CANARY


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to another user")
def test_directories_of_other_users_are_left_alone(place: Path) -> None:
    home = left_behind(place)
    os.chown(home, 65534, 65534)
    source.sweep(place)
    assert home.exists()


def test_a_sweep_of_a_place_that_is_not_there(tmp_path: Path) -> None:
    source.sweep(tmp_path / "nowhere")


def test_datafusion_and_sqlite(place: Path, tmp_path: Path) -> None:
    """DataFusion gets the same directory; SQLite keeps temporary data in memory."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0] * 3, "g": list("abc")}), path)
    found = hg.mean(path, "x", bounds=(0, 1), epsilon=60, by="g", keys=["a"], engine="datafusion")
    assert found["a"].count == 1
    assert all(p.name.startswith("hourglass-spill-") for p in place.iterdir())
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (x REAL)")
    connection.close()
    engine = SQLite(hg.sql(f"sqlite:///{tmp_path / 't.db'}", "t"))
    assert engine._asked("PRAGMA temp_store") == [(2,)]  # memory


def test_old_time_is_not_waited_for(place: Path) -> None:
    """A sweep of many directories with living owners does not wait for their locks."""
    for i in range(3):
        left_behind(place, f"hourglass-spill-{i}")
    holders = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import fcntl, sys, time; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); "
                "print('held', flush=True); time.sleep(60)",
                str(place / f"hourglass-spill-{i}" / "owner.lock"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    try:
        for holder in holders:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
        start = time.monotonic()
        source.sweep(place)
        assert time.monotonic() - start < 10
        assert len(list(place.iterdir())) == 3
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()
    source.sweep(place)
    assert list(place.iterdir()) == []


@pytest.mark.engine("spark")
@pytest.mark.xdist_group("spark processes")
def test_a_session_of_our_own_spills_to_the_same_place(place: Path) -> None:
    """It shuffles numbers without SQL, of which Spark loads several seconds of classes."""
    reason = places.java_17()
    if reason:
        pytest.skip(reason)
    program = (
        "from hourglass.read.engines.spark import session\n"
        "made = session('local[1]')\n"
        "context = made.sparkContext\n"
        "numbers = context._jvm.java.util.ArrayList()\n"
        "for number in range(9):\n"
        "    numbers.add(number)\n"
        "context._jsc.parallelize(numbers).repartition(3).count()\n"
        "print(context.getConf().get('spark.local.dir'), flush=True)\n"
        "made.stop()\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": places.QUICK_JAVA},
    )
    assert told.stdout.startswith(f"{place}/hourglass-spill-"), told.stderr
    assert not [path for path in place.iterdir() if path.name.startswith("blockmgr")]
    assert not [path for path in place.iterdir() if path.name.startswith("hourglass-spill-")]
