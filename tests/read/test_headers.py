"""Headers: a column is found by its name and place, or refused before the charge."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from tests.tools import everything


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    return str(request.param)


def written(path: Path, header: str, *rows: str) -> Path:
    path.write_bytes("\n".join([header, *rows, ""]).encode())
    return path


def total(data: Any, column: str, **more: Any) -> tuple[int, int]:
    found = mean_question(data, column, bounds=(0, 9), grid=9, epsilon=1, **more).read()
    return found.totals.cells.tolist()[0], found.count.tolist()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "row", "column"),
    [
        ("x,note,note,pid", "5,7,8,1", "x"),
        ("a,a,x,salary", "1,2,5,9", "x"),
        (",x,g", "1,5,2", "x"),
        ("g,x,", "1,5,2", "x"),
        ("A,a,x", "1,2,5", "x"),
        ("A,a,x", "5,2,1", "A"),
        ("A,a,x", "1,5,2", "a"),
        ('"x","g"', '"5","2"', "x"),
        ('"a,b",x', "1,5", "x"),
        ('"a""b",x', "5,1", 'a"b'),
        ('a"b,x', "5,1", 'a"b'),
        ("x,g,h,i,j", "5", "x"),
        ("1,2,3", "7,5,7", "2"),
        ("é😀,x", "5,1", "é😀"),
        ("c0,c1", "1,5", "c1"),
        ("line,object,value", "1,2,5", "value"),
        ("${x},`y`,it's", "1,5,2", "`y`"),
        ("${x},`y`,it's", "5,1,2", "${x}"),
        ("${x},`y`,it's", "1,2,5", "it's"),
        ("a.b,a", "5,1", "a.b"),
        ('x,"g', "5,1", "x"),
    ],
)
def test_the_column_of_that_name(
    tmp_path: Path, engine: str, header: str, row: str, column: str
) -> None:
    path = written(tmp_path / "a.csv", header, row, row)
    assert total(path, column, engine=engine) == (10, 2)


def test_a_person_is_the_one_of_their_own_column(tmp_path: Path, engine: str) -> None:
    """A duplicate name used to shift the columns after it."""
    path = written(tmp_path / "a.csv", "x,note,note,pid", *[f"5,{i},{i},ann" for i in range(100)])
    once = {"unit": hg.per_person("pid"), "engine": engine}
    assert total(path, "x", **once) == (5, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "asked", "told"),
    [
        ("x,note,note", {"column": "note"}, "2 columns of that name; rename one"),
        ("x,g,g", {"column": "x", "by": "g", "keys": ["a"]}, "2 columns of that name"),
        ("x,g,g", {"column": "x", "unit": hg.per_person("g")}, "2 columns of that name"),
        ("A,a", {"column": "A", "by": "a", "keys": ["5"]}, "differ in case alone"),
        ("x,", {"column": ""}, "no such column"),
        ("x,g", {"column": "X"}, "did you mean 'x'"),
        ("5, net amount", {"column": "net_amount"}, "did you mean ' net amount'"),
        ("", {"column": "x"}, "no header line"),
        ("\r", {"column": "x"}, "no header line"),
        ("x\0,g", {"column": "g"}, "not UTF-8"),
        ("x\ry,g", {"column": "g"}, "contains a carriage return"),
        ("x,g\r5,a\r6,b\r", {"column": "g"}, "contains a carriage return"),
        (f"x,{'y' * 2**20}", {"column": "x"}, "longer than"),
    ],
)
def test_refused_before_the_charge(
    tmp_path: Path, engine: str, header: str, asked: dict[str, Any], told: str
) -> None:
    path = written(tmp_path / "a.csv", header, "5,5,5")
    budget = hg.create_budget(str(tmp_path / "ledger.db"), "b", epsilon=1)
    with pytest.raises(hg.RequestError, match=told):
        hg.mean(path, bounds=(0, 9), epsilon=1, engine=engine, budget=budget, **asked)
    assert budget.history() == []


def test_a_header_that_is_not_utf_8(tmp_path: Path, engine: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,\xff\n5,5\n")
    with pytest.raises(hg.DataError, match="not UTF-8"):
        total(tmp_path / "a.csv", "x", engine=engine)
    (tmp_path / "b.csv").write_bytes("x,g\n5,5\n".encode("utf-16"))
    with pytest.raises(hg.DataError, match="not UTF-8"):
        total(tmp_path / "b.csv", "x", engine=engine)


@pytest.mark.parametrize("lines", ["ann,7301\nbob,7302\n", "ann,7301\rbob,7302\r"])
def test_a_record_in_the_place_of_a_header_is_not_quoted(
    tmp_path: Path, engine: str, lines: str
) -> None:
    (tmp_path / "a.csv").write_bytes(lines.encode())
    grouped = {"column": "ann", "by": "group", "delta": 1e-6}
    for asked in ({"column": "x"}, {"column": "730"}, grouped):
        with pytest.raises(hg.DataError) as caught:
            hg.mean(tmp_path / "a.csv", bounds=(0, 9), epsilon=1, engine=engine, **asked)
        shown = everything(caught.value).partition("DataError")[2]
        assert "7301" not in shown
        assert "bob" not in shown


def test_files_of_a_glob_name_the_same_columns(tmp_path: Path, engine: str) -> None:
    written(tmp_path / "1.csv", "x,g", "5,a")
    (tmp_path / "2.csv").write_bytes(b'\xef\xbb\xbf"x","g"\r\n5,a\r\nx,g\r\n')
    assert total(str(tmp_path / "*.csv"), "x", engine=engine) == (10, 2)
    written(tmp_path / "3.csv", "g,x", "5,a")
    with pytest.raises(hg.DataError, match=r"3\.csv' has other columns than .*1\.csv'"):
        total(str(tmp_path / "*.csv"), "x", engine=engine)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "cut"), [(99, 12), (99, 30), (99, -9), (12_000, -9)])
def test_a_compressed_file_that_was_cut_off(
    tmp_path: Path, engine: str, rows: int, cut: int
) -> None:
    """In its header, in its rows or in its checksum, and far past what is read for the header."""
    path = tmp_path / "a.csv.gz"
    dice = random.Random(rows)
    lines = ["x,g", *(f"{i * i},{dice.randbytes(50).hex()}" for i in range(rows)), ""]
    assert rows < 100 or len("\n".join(lines)) > 1 << 20
    whole = gzip.compress("\n".join(lines).encode(), 1)
    path.write_bytes(whole[:cut])
    budget = hg.create_budget(str(tmp_path / "ledger.db"), "b", epsilon=1)
    with pytest.raises(hg.DataError, match=r"a\.csv\.gz' ends early"):
        hg.mean(path, "x", bounds=(0, 9), epsilon=1, engine=engine, budget=budget)
    assert budget.history() == []
    path.write_bytes(whole[:40] + bytes(8) + whole[48:])
    with pytest.raises(hg.DataError, match=r"damaged|cannot be read|ends early"):
        total(path, "x", engine=engine)
    path.write_bytes(whole)
    assert total(path, "x", engine=engine)[1] == rows


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path: Path) -> None:
    """It is truncated after the check: our message says so, without the engine's own."""
    path = tmp_path / "a.csv.gz"
    whole = gzip.compress(b"x,g\n" + b"".join(b"%d,a\n" % (i * i) for i in range(9999)))
    path.write_bytes(whole)
    question = mean_question(path, "x", bounds=(0, 9), epsilon=1)
    path.write_bytes(whole[:-100])
    with pytest.raises(hg.SourceError, match="is truncated"):
        question.read()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz.csv", "a.tsv"])
def test_a_compressed_file_without_the_ending(tmp_path: Path, name: str) -> None:
    """The message names the remedy, and the remedy works."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"x\n5\n"))
    with pytest.raises(hg.DataError, match=r"compressed by gzip.*rename it"):
        total(path, "x")
    assert total(path.rename(tmp_path / f"{name}.gz"), "x") == (5, 1)


def test_an_ending_without_compression(tmp_path: Path) -> None:
    """Another format under the name, a wrong checksum, or bytes after the end."""
    whole = gzip.compress(b"x\n5\n")
    for data in (b"x\n5\n", whole[:-8] + bytes(4) + whole[-4:], whole + b"more"):
        path = tmp_path / "a.csv.gz"
        path.write_bytes(data)
        with pytest.raises(hg.DataError, match=r"not compressed by gzip; copy .* take \.gz off"):
            total(path, "x")
    (tmp_path / "a.csv").write_bytes(b"x\n5\n")
    assert total(tmp_path / "a.csv", "x") == (5, 1)
