"""Spark beyond one process: a server with a client (Connect), and a cluster of workers behind it.

One process holds one kind of session, and the other tests have a classic one, so this has a process
of its own. It runs a part of the corpus and compares it with the plain reference, fails on a cell
and says nothing of it, then attacks as test_attack.py does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.read.places import QUICK_JAVA, java_17

CANARY = "canary-7f3a"

pytestmark = [pytest.mark.engine("spark"), pytest.mark.xdist_group("spark processes")]

PROGRAM = """
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa

warnings.simplefilter("ignore")
from pyspark.sql import SparkSession

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from tests.read import corpus, places
from tests.read.attacking import DEAR, SEEN, run
from tests.read.corpus import PERSON, table, totals
from tests.read.targets import on_spark

folder = Path(sys.argv[1])
cluster = "local-cluster[2,1,512]"  # two workers, each with one core and 512 MB
session = (
    SparkSession.builder.remote(cluster)
    .config("spark.executor.memory", "512m")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
assert "connect" in type(session).__module__
assert session.conf.get("spark.master") == cluster
for name, value in places.QUICK_SPARK.items():
    if "codegen" in name:  # the other tests have it: here a second and a third process compile
        session.conf.set(name, value)
place = places.spark(session, folder)
bounds = Bounds(-1.5, 2.25)
grid = Grid.choose(bounds)
rows = corpus.rows(corpus.reals(grid))
placed = place(table(rows, pa.float64(), pa.string()))
for unit in (None, hg.per_person(PERSON, rows=3, groups=2)):  # with partial sums; with windows
    assert totals(placed, bounds, None, unit=unit) == corpus.reference(rows, grid, unit), unit
print("equal")
bad = session.sql(f"SELECT CAST(v AS DOUBLE) AS x FROM VALUES ('1'), ('{sys.argv[2]}') AS t(v)")
try:
    hg.mean(bad, "x", bounds=(0, 1), epsilon=1)
except hg.SourceError as error:
    assert error.__context__ is None
    print("told:", error)
temporary = folder / "temporary"
temporary.mkdir()
tempfile.tempdir = str(temporary)
print("found:", run(on_spark(session), range(2), temporary, DEAR), sum(SEEN.values()))
session.stop()
"""


def test_the_corpus(tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed: pyspark[connect]")
    reason = java_17()
    if reason:
        pytest.skip(reason)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), CANARY],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": QUICK_JAVA},
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert "equal" in told.stdout
    assert "told: data: Spark failed" in told.stdout
    assert CANARY not in told.stdout  # the log on stderr is Spark's own
    assert "found: [] 8" in told.stdout, told.stdout
