"""Every file is read once, and its name is taken literally, not as a pattern or as columns."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question

NAMES = [
    "a", "d*", "d1", "d[1]", "d?", "{a,b}", "[!a]", "[a-z]", "**", "sp ace", "p%20q", "h#x",
    "q'uote", 'q"uote', "back\\slash", "month=1", "]x[", "~", "$HOME", "é😀", "x!y", "-", "a;b",
    "a&b", "100%", "tab\t",
]  # fmt: skip


@pytest.fixture(params=["duckdb", "spark", "datafusion"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    return str(request.param)


def formats(engine: str) -> list[str]:
    return {
        "duckdb": [".parquet", ".csv", ".jsonl", ".arrow", ".pq"],
        "spark": [".parquet", ".csv", ".jsonl", ".pq"],
        "datafusion": [".parquet", ".pq"],
    }[engine]


def write(path: Path, value: int) -> None:
    table = pa.table({"x": [value], "g": ["a"]})
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif path.suffix == ".jsonl":
        path.write_text(f'{{"x": {value}, "g": "a"}}\n')
    else:
        path.write_text(f"x,g\n{value},a\n")


def total(data: Any, engine: str, **more: Any) -> tuple[int, int]:
    asked = {"bounds": (0, 10**6), "grid": 10**6, "epsilon": 1, **more}
    found = mean_question(data, "x", engine=engine, **asked).read()
    return int(found.totals.cells[0]), int(found.count[0])


@pytest.mark.slow
def test_a_name_is_not_a_pattern(tmp_path: Path, engine: str) -> None:
    """All files are in one folder, so that a pattern would match the others.

    So are two folders: the name of one, as a pattern, matches the other.
    """
    for ending in formats(engine):
        folder, beside = tmp_path / f"in {ending} [x]*", tmp_path / f"in {ending} x"
        folder.mkdir()
        beside.mkdir()
        for value, name in enumerate(NAMES):
            write(folder / f"{name}{ending}", 1 << value % 19)
            write(beside / f"{name}{ending}", 1 << 19)
        some = NAMES
        if engine == "spark":  # where a query takes long: one format with the dearest names
            some = {".parquet": NAMES[1:8], ".csv": NAMES[3:6]}.get(ending, [NAMES[3]])
        for name in some:
            path = folder / f"{name}{ending}"
            if engine == "duckdb" and ending in (".parquet", ".pq") and "\\" in name:
                with pytest.raises(hg.DataError, match="rename it"):
                    total(path, engine)
                path.unlink()
                path = tmp_path / f"{name}{ending}"  # in a folder without * and [
                write(path, 1 << NAMES.index(name) % 19)
            assert total(path, engine) == (1 << NAMES.index(name) % 19, 1), path.name
        left = [value for value, name in enumerate(NAMES) if (folder / f"{name}{ending}").exists()]
        pattern = str(tmp_path / f"in {ending} [[]x]*" / f"*{ending}")
        assert total(pattern, engine) == (sum(1 << value % 19 for value in left), len(left))


def test_relative_paths(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s3:").mkdir()
    write(tmp_path / "s3:" / "x.parquet", 3)
    write(tmp_path / "~.parquet", 5)
    monkeypatch.chdir(tmp_path)
    assert total("~.parquet", engine) == (5, 1)
    if engine != "spark":
        assert total("s3:/x.parquet", engine) == (3, 1)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_every_file_once(tmp_path: Path, engine: str, ending: str) -> None:
    if ending not in formats(engine):
        pytest.skip(f"{engine} does not read {ending}")
    if (engine, ending) == ("spark", ".jsonl"):
        pytest.skip("Spark gets the paths of all text files in the same way")
    deep = tmp_path / "g" / "h" / "i"
    deep.mkdir(parents=True)
    for value, folder in enumerate([tmp_path / "g", tmp_path / "g" / "h", deep]):
        write(folder / f"f{ending}", 10**value)
    assert total(str(tmp_path / "g" / "**" / "**" / f"*{ending}"), engine) == (111, 3)
    assert total(str(tmp_path / "**" / "g" / "**" / f"*{ending}"), engine) == (111, 3)
    os.symlink(deep / f"f{ending}", tmp_path / "g" / f"linked{ending}")
    os.symlink(deep, tmp_path / "g" / "folder")
    os.link(tmp_path / "g" / f"f{ending}", deep / f"hard{ending}")
    assert total(str(tmp_path / "g" / "**" / f"*{ending}"), engine) == (111, 3)
    assert total(tmp_path / "g" / f"linked{ending}", engine) == (100, 1)


def test_a_link_to_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", 1)
    os.symlink(tmp_path / "gone.csv", tmp_path / "b.csv")
    with pytest.raises(hg.DataError, match=r"b\.csv' cannot be read"):
        total(str(tmp_path / "*.csv"), "duckdb")


@pytest.fixture
def soon() -> Iterator[None]:
    """End what would wait for ever."""

    def end(*_: Any) -> None:
        raise AssertionError("it waits")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("soon")
def test_pipes_and_devices_are_refused(tmp_path: Path, engine: str) -> None:
    """Opened for its header, a pipe would wait for ever, or have no rows left."""
    for ending in formats(engine):
        os.mkfifo(tmp_path / f"a{ending}")
        os.symlink("/dev/null", tmp_path / f"b{ending}")
        for name in (f"a{ending}", f"b{ending}", f"*{ending}"):
            with pytest.raises(hg.DataError, match="a pipe, a socket or a device"):
                total(str(tmp_path / name), engine)


def test_directories_make_no_columns(tmp_path: Path, engine: str) -> None:
    for month in (1, 2):
        (tmp_path / f"month={month}" / "x=7").mkdir(parents=True)
        write(tmp_path / f"month={month}" / "x=7" / "a.parquet", month)
    pattern = str(tmp_path / "*" / "*" / "*.parquet")
    # Not 7: the name of the directory does not become a column.
    assert total(pattern, engine) == (3, 2)
    with pytest.raises(hg.DataError, match="no such column"):
        total(pattern, engine, by="month", delta=1e-6)


@pytest.mark.parametrize("url", ["mysql://u:secret@host/db", "https://host/a.csv"])
def test_urls_that_are_not_read(url: str) -> None:
    with pytest.raises(hg.DataError, match="a URL that cannot be read: databases have") as told:
        total(url, "duckdb")
    assert "secret" not in str(told.value)


def test_names_that_spark_skips_are_refused(tmp_path: Path, spark_session: Any) -> None:
    for name in ("_a.csv", ".a.csv", "a:b.csv"):
        write(tmp_path / name, 1)
        assert total(tmp_path / name, "duckdb") == (1, 1)
        with pytest.raises(hg.DataError, match="rename it, or use duckdb"):
            total(tmp_path / name, "spark")


def test_urls_that_spark_finds(tmp_path: Path, spark_session: Any) -> None:
    for value, name in enumerate(["a b", "p%20q", "d[1]", "d1", "é"]):
        write(tmp_path / f"{name}.csv", 10**value)
        write(tmp_path / f"{name}.parquet", 10**value)
    every = total(f"file://{tmp_path}/*.csv", "spark")
    assert every == (11111, 5)
    assert total(f"file://{tmp_path}/{{*,d*,a b}}.csv", "spark") == every
    assert total(f"file://{tmp_path}/{{*,d*}}.parquet", "spark") == every
    with pytest.raises(hg.DataError, match=r"cannot find it|no such file"):
        total(f"file://{tmp_path}/no*.csv", "spark")
    (tmp_path / "z.csv").write_text("g,x\n1,2\n")
    with pytest.raises(hg.DataError, match="other columns"):
        total(f"file://{tmp_path}/*.csv", "spark")
