"""A line is a record, whatever the others contain, on every engine that reads text."""

from __future__ import annotations

import csv
import gzip
import json
import random
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.core.grid import Bounds, Grid
from hourglass.read import blocks, lines
from hourglass.read.engines import spark_files
from tests.read import reference
from tests.read.reference import Fields
from tests.tools import command

ENGINES = ["duckdb", "duckdb alone", "spark"]
GRID = Grid.choose(Bounds(0, 9), 9)
Totals = dict[Any, tuple[int, int]]


@pytest.fixture(params=ENGINES)
def read(request: pytest.FixtureRequest) -> Callable[..., Totals]:
    """The totals by group of a file, on each engine that reads text."""
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    elif request.param == "duckdb alone":
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
    return reader(request.param)


@pytest.fixture(params=ENGINES[:2])
def read_by_us(request: pytest.FixtureRequest) -> Callable[..., Totals]:
    """The same on the engines whose lines we split."""
    if request.param == "duckdb alone":
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
    return reader(request.param)


def reader(engine: str) -> Callable[..., Totals]:
    def totals(data: Any, by: str | None = "g", column: str = "x", **more: Any) -> Totals:
        asked = mean_question(
            data, column, bounds=(0, 9), grid=9, epsilon=1, by=by, delta=1e-6 if by else None,
            engine=engine.split(maxsplit=1)[0], **more,
        )  # fmt: skip
        found = asked.read()
        pairs = zip(found.totals.cells.tolist(), found.totals.count.tolist(), strict=True)
        if not by:
            return {None: next(pairs)}
        keys = (key for (key,) in found.keys)
        return {key: pair for key, pair in zip(keys, pairs, strict=True) if pair[1]}

    totals.engine = engine  # type: ignore[attr-defined]
    return totals


def expected(rows: Counter[Fields]) -> Totals:
    """The totals by group of fields (x, g)."""
    totals: dict[Any, tuple[int, int]] = {}
    for (text, group), times in rows.items():
        value = reference.number(text)
        if value is not None and group is not None:
            cells, count = totals.get(group, (0, 0))
            totals[group] = cells + times * (GRID.cell(value) or 0), count + times
    return totals


# --- the rule itself ------------------------------------------------------------------------


def blocks_of(data: bytes, path: Path, size: int) -> list[bytes]:
    path.write_bytes(data)
    return list(blocks.blocks(str(path), size=size))


def read_by_numpy(data: bytes, path: Path, size: int, separator: str = ",") -> Counter[Fields]:
    """Fields 0 and 1 of a file, from the views that engines are given."""
    found: Counter[Fields] = Counter()
    for block in blocks_of(data, path, size):
        views = lines.records(
            block, [0, 1], separator=separator.encode(), headers=frozenset([b"x,g,h"])
        )
        found.update(zip(*(texts(views, column) for column in range(2)), strict=True))
    return found


def texts(views: lines.Views, column: int) -> list[str | None]:
    found = []
    for view in views.columns[column]:
        length = int(view[0])
        if length <= 12:
            raw = view[1:].tobytes()
            assert raw[length:] == bytes(12 - length)
            raw = raw[:length]
        else:
            buffer, place = views.buffers[int(view[2])], int(view[3])
            raw = buffer[place : place + length]
            assert raw[:4] == view[1:2].tobytes()
        found.append(raw.decode() or None)
    present = int.from_bytes(views.present(column).tobytes(), "little")
    assert [bool(present >> i & 1) for i in range(len(found))] == [f is not None for f in found]
    return found


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.parametrize("files", [300, pytest.param(3000, marks=pytest.mark.long)])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_views_are_the_fields_of_the_reference(tmp_path: Path, separator: str, files: int) -> None:
    dice = random.Random(17)
    for _ in range(files):
        data = reference.nasty_file(dice, dice.randrange(12))
        size = dice.choice([1, 7, 30, 100, 1 << 20])
        want = reference.read(data, [0, 1], separator=separator)
        assert read_by_numpy(data, tmp_path / "a.csv", size, separator) == want


@pytest.mark.slow
@pytest.mark.property
@settings(max_examples=80)
@given(st.lists(st.text('",ab\r\0é😀', max_size=9), max_size=6), st.integers(1, 20))
def test_views_of_any_lines(tmp_path_factory: Any, texts: list[str], size: int) -> None:
    data = "\n".join(["x,g,h", *texts]).encode()
    path = tmp_path_factory.getbasetemp() / "any.csv"
    assert read_by_numpy(data, path, size) == reference.read(data, [0, 1])


@pytest.mark.parametrize("many", [5_000, pytest.param(50_000, marks=pytest.mark.long)])
def test_the_reference_is_what_python_s_csv_reader_does(many: int) -> None:
    """On lines without control characters, which that reader has a rule of its own for."""
    dice = random.Random(3)
    for _ in range(many):
        line = "".join(dice.choices('"",,ab 5\'', k=dice.randrange(1, 14)))
        assert next(csv.reader([line])) == reference.split(line)


def test_a_line_at_every_offset_of_a_block(tmp_path: Path) -> None:
    """Wherever a block ends in a line, the line is read the same."""
    data = b'x,g,h\r\n5,"a ""quoted"" field, with a separator",c\r\n\r\n"6",b\r7,\xc3\xa9\n'
    want = reference.read(data, [0, 1])
    assert sum(want.values()) == 2
    for size in range(1, len(data) + 2):
        assert read_by_numpy(data, tmp_path / "a.csv", size) == want


def test_a_stray_quote_slows_its_own_line_down_alone() -> None:
    """It does not cause other lines to be read one by one, whether they have quotes or not."""
    plain = [b'5,"a, b",c', b"6,a,b", b'"7","8",""']
    for stray in (b'5,"a', b'5,a"b', b'5,"a""b",c', b'"5" ,a,b'):
        block = b"\n".join([*plain, stray, *plain, stray, *plain, b""]) + bytes(blocks.PAD)
        slow = lines._Lines(block, b",", multiline=False).slow
        assert [i for i, one in enumerate(slow) if one] == [3, 7], stray


def test_lines_that_are_too_long_are_not_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (blocks, lines, reference):
        monkeypatch.setattr(module, "LONGEST", 100)
    for length in (99, 100, 101, 102, 150, 400):
        for end in (b"\n", b"\r\n"):
            data = end.join([b"x,g,h", b"5,a", b"6," + b"y" * (length - 2), b"7,b", b""])
            want = reference.read(data, [0, 1])
            assert sum(want.values()) == (3 if length <= 100 else 2)
            for size in (1, 7, 50, 99, 100, 101, 102, 103, 1000):
                assert read_by_numpy(data, tmp_path / "a.csv", size) == want, (length, size)


@pytest.mark.slow
@pytest.mark.property
@pytest.mark.parametrize("files", [60, pytest.param(600, marks=pytest.mark.long)])
def test_overfull_lines_are_not_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    """Lines on both sides of each limit, in blocks of every size around them."""
    for module in (blocks, lines, reference):
        monkeypatch.setattr(module, "LONGEST", 60)
        monkeypatch.setattr(module, "MOST", 20)
    dice = random.Random(3)
    for _ in range(files):
        made = [
            b"".join(
                dice.choices([b",", b'"', b"y"], k=dice.choice([3, 19, 20, 21, 22, 59, 60, 61]))
            )
            for _ in range(dice.randrange(1, 6))
        ]
        data = dice.choice([b"\n", b"\r\n"]).join([b"x,g,h", *made, b"7,b"])
        want = reference.read(data, [0, 1])
        for size in (1, 7, 19, 20, 21, 22, 23, 60, 61, 62, 1000):
            assert read_by_numpy(data, tmp_path / "a.csv", size) == want, (made, size)


# --- engines --------------------------------------------------------------------------------


@pytest.mark.slow
def test_lines_with_too_much_in_them(
    read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a line with as much as there may be; Spark takes seconds for each of a million."""
    path, most = tmp_path / "a.csv", blocks.MOST
    if read.engine == "spark":
        most = 1 << 14
        monkeypatch.setattr(spark_files, "MOST", most)
    full = [b"5,a" + b"," * (most - 1), b"5,a," + b'"' * (most - 2)]
    over = [b"5,a" + b"," * most, b"5,a," + b'"' * (most - 1), b'5,a,"' * most]
    path.write_bytes(b"\n".join([b"x,g", b"7,b", *full, b"7,b", *over, b"7,b", b""]))
    assert read(path) == {"b": (21, 3), "a": (10, 2)}


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize(
    "more", [[1, 1 << 20], pytest.param([1, 0x30000000], marks=pytest.mark.long)], ids=str
)
def test_lines_of_any_length(
    read: Any, tmp_path: Path, more: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the longest that is a record, and one past all memory that an engine is given.

    That a longer line never reaches Spark's memory is an option of its reader, see below. Spark
    takes seconds for each line of 64 MB, so its lines are shorter, unless the test is a long one.
    """
    longest = blocks.LONGEST
    if read.engine == "spark" and max(more) < longest:
        longest = 1 << 22
        monkeypatch.setattr(spark_files, "LONGEST", longest)
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b"x,g\n7,b\n5,a," + b"y" * (longest - 4) + b"\n7,b\n")
        for past in more:
            file.write(b"5,a,")
            for _ in range(-(-(longest - 4 + past) // (1 << 22))):
                file.write(b"y" * (1 << 22))
            file.write(b"\n7,b\n")
    assert read(path) == {"b": (7 * 4, 4), "a": (5, 1)}


def test_spark_cuts_longer_lines_off_as_it_reads(spark_session: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,g\n7,b\n")
    lines = spark_files._lines(spark_session.read, [f"file://{tmp_path}/a.csv"], ",")
    read = lines._jdf.queryExecution().analyzed().collectLeaves().apply(0).relation()
    option = "mapreduce.input.linerecordreader.line.maxlength"
    assert int(read.options().apply(option)) == blocks.LONGEST + 3


PROGRAM = """
import resource, sys
import hourglass as hg
limit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file in sys.argv[1:]:
    assert hg.mean(file, "x", bounds=(0, 9), epsilon=60, by="g", keys=["b"])["b"].count == 2
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - limit) >> 10)
"""


@pytest.mark.slow
@pytest.mark.attack
def test_a_line_takes_a_few_times_its_length_of_memory(tmp_path: Path) -> None:
    """Otherwise one very long record could crash a process on a small machine."""
    paths = []
    for i, what in enumerate([b",", b'"', b'","', b"y", b"[", b'{"x":']):
        json_like = what[0] in b"[{"
        path = tmp_path / (f"{i}.jsonl" if json_like else f"{i}.csv")
        row = b'{"x": 7, "g": "b"}' if json_like else b"7,b"
        line = what * (blocks.LONGEST // len(what))
        path.write_bytes(b"\n".join([b"" if json_like else b"x,g", row, line, row, b""]))
        paths.append(path)
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(told.stdout) < 1200


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz"])
def test_nasty_lines(read: Any, tmp_path: Path, ending: str) -> None:
    separator = "\t" if ending == ".tsv" else ","
    dice = random.Random(29)
    parts = [reference.nasty_file(dice, 3000, b"") for _ in range(2)]
    header = separator.join("xgh").encode()
    data = header + b"\n" + b"\n".join(parts)
    rows = reference.read(data, [0, 1], separator=separator, header=header)
    path = tmp_path / f"a{ending}"
    path.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    found = read(path)
    assert found == expected(rows)
    assert len(found) > 10
    missing = read(path, by=None, missing=9)
    assert missing[None][1] == sum(rows.values())  # every record counts, none of them twice


POISON = {
    "an unclosed quote": b'5,"note',
    "a quote in the middle": b"5,5'10\" tall",
    "a quoted line break": b'5,"two\nlines"',
    "10,000 quoted lines": b'5,"' + b"5,a\n" * 10_000 + b'"',
    "too few fields": b"5",
    "too many fields": b"5" + b",a" * 30_000,
    "no text": b"\xff\xfe\xff",
    "NUL bytes": b"\0" * 1000,
    "carriage returns": b"5,a\r5,a\r5,a",
    "a byte order mark": b"\xef\xbb\xbf5,a",
    "a long field": b"5," + b"y" * 3_000_000,
    "a long quoted field": b'5,"' + b'y""' * 1_000_000 + b'"',
    "many quotes": b'"' * 100_001,
    "a header": b"x,g",
    "separators alone": b"," * 5000,
    "an empty line": b"",
}


#: The lines before a poison, and after it.
AROUND = {
    "first": (0, 900),
    "middle": (450, 450),
    "last": (900, 0),
    "at the end of a block": (blocks.BLOCK // 4 - 2, 900),
}


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("place", AROUND)
def test_no_line_affects_another(read_by_us: Any, tmp_path: Path, place: str) -> None:
    """One poisoned line, or as many as it has line breaks: the others count as before."""
    poisons = POISON
    if read_by_us.engine != "duckdb":  # one by one on the first engine, elsewhere all at once
        poisons = {"all": b"\n7,b\n".join(POISON.values())}
    before, after = AROUND[place]
    for name, poison in poisons.items():
        path = tmp_path / "a.csv"
        rows = b"\n".join([b"x,g", *[b"7,b"] * before, poison, *[b"7,b"] * after, b""])
        path.write_bytes(rows)
        found = read_by_us(path)
        between = poison.count(b"\n7,b\n")
        total = before + after + between
        assert found.pop("b") == (7 * total, total), name
        own = sum(count for _, count in found.values())
        assert own <= poison.count(b"\n") + 1 - between, name


@pytest.mark.slow
@pytest.mark.attack
def test_no_line_affects_another_on_spark(spark_session: Any, tmp_path: Path) -> None:
    """At the start of a file, in the middle and at the end: Spark has no blocks of ours.

    The short ones give what the reference makes of them, which takes long for the long ones.
    """
    path, usual = tmp_path / "a.csv", b"\n".join([b"7,b"] * 450)
    for long_ones in (False, True):
        poisons = [poison for poison in POISON.values() if (len(poison) > 100) == long_ones]
        poison = b"\n7,b\n".join(poisons)
        data = b"\n".join([b"x,g", poison, usual, poison, usual, poison, b""])
        path.write_bytes(data)
        found = reader("spark")(path)
        if not long_ones:
            assert found == expected(reference.read(data, [0, 1], header=b"x,g"))
        many = 900 + 3 * (len(poisons) - 1)
        assert found.pop("b") == (7 * many, many)
        lines_of_theirs = 3 * (sum(poison.count(b"\n") for poison in poisons) + len(poisons))
        assert sum(count for _, count in found.values()) <= lines_of_theirs


@pytest.mark.slow
def test_a_record_just_after_the_block_of_a_parallel_reader(read: Any, tmp_path: Path) -> None:
    """DuckDB's own reader splits at 8,000,000 bytes, and read such a record as 10,000 rows."""
    path = tmp_path / "a.csv"
    row, record = b"7,b\n", b'5,"' + b"5,a;" * 10_000 + b'"\n'
    many = 20_000 if read.engine == "spark" else 2_000_000
    for shift in (0, 2, 5) if read.engine == "duckdb" else (2,):
        body = b"x,g\n" + row * many + b"," * shift + b"\n"
        path.write_bytes(body + record + row * 3)
        assert read(path, by=None) == {None: (7 * (many + 3) + 5, many + 4)}


def test_a_line_break_is_not_part_of_a_number(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    cells = ["5\r", "5\n", "5\u2028", "5\x85", "5\x0b", "\r5"]
    path.write_bytes("".join(["x,g\n7,b\n", *(f"{cell},{cell!a}\n" for cell in cells)]).encode())
    assert {key: pair for key, pair in read(path).items() if pair[1]} == {"b": (7, 1)}


def test_windows_line_ends(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfg,x\r\na,5\r\nb,6\r\n\r\nc,"7"\r\nd,8')
    assert read(path) == {"a": (5, 1), "b": (6, 1), "c": (7, 1), "d": (8, 1)}


@pytest.mark.parametrize("data", [b"x,g\n", b"x,g", b"x,g\r\n\r\n"])
def test_a_header_alone(read: Any, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    assert read(path) == {}
    assert read(path, by=None) == {None: (0, 0)}


# --- files that are declared as well formed ---------------------------------------------------


def rfc_4180(rows: list[list[str]], dice: random.Random) -> str:
    def quoted(text: str) -> str:
        needed = any(c in text for c in '",\r\n')
        return '"' + text.replace('"', '""') + '"' if needed or dice.random() < 0.3 else text

    return "".join(",".join(map(quoted, row)) + dice.choice(["\n", "\r\n"]) for row in rows)


@pytest.mark.slow
@pytest.mark.property
def test_quoted_line_breaks_in_well_formed_files(tmp_path: Path) -> None:
    dice = random.Random(5)
    path = tmp_path / "a.csv"
    for _ in range(120):
        rows = [
            [str(dice.randrange(10)), "".join(dice.choices("ab\",\n\r'", k=dice.randrange(1, 9)))]
            for _ in range(dice.randrange(1, 15))
        ]
        data = ("x,g\n" + rfc_4180(rows, dice)).encode()
        path.write_bytes(data)
        found: Counter[Fields] = Counter()
        for block in blocks.blocks(
            str(path), multiline=True, size=dice.choice([1, 9, 40, 1 << 20])
        ):
            views = lines.records(block, [0, 1], headers=frozenset([b"x,g"]), multiline=True)
            found.update(zip(texts(views, 0), texts(views, 1), strict=True))
        assert found == Counter((x, g) for x, g in rows)


@pytest.mark.slow
def test_multiline_is_a_declaration(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,g\n5,"two\n5,lines"\n7,b\n')
    asked: dict[str, Any] = {"bounds": (0, 9), "epsilon": 60}
    assert hg.mean(path, "x", **asked).count == 3
    assert hg.mean(hg.multiline(path), "x", **asked).count == 2
    assert hg.mean(hg.multiline(str(tmp_path / "*.csv")), "x", **asked).count == 2
    for data, count in ((path, 3), (hg.multiline(path), 2)):
        bounds = bounds_question(data, "x", epsilon=1)
        assert sum(bounds.source.run(bounds.sql, bounds.query).count) == count
    plain, declared = (
        mean_question(data, "x", **asked).text for data in (path, hg.multiline(path))
    )
    assert plain != declared  # another question, even under the same request key


@pytest.mark.slow
def test_multiline_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,g\n5,"two\n5,lines"\n7,b\n')
    ask = ["mean", path, "x", "--bounds", 0, 9, "--epsilon", 60, "--format", "json"]
    for more, count in (([], 3), (["--multiline"], 2)):
        assert json.loads(command(*ask, *more).out)["count"] == count
    told = command("bounds", path, "x", "--epsilon", 60, "--multiline")
    assert told.code == 0
    database = ["mean", "sqlite:///a.db", "x", "--table", "t", "--bounds", 0, 9, "--epsilon", 1]
    told = command(*database, "--multiline")
    assert told.code == 2
    assert "the source is a database" in told.err


def test_multiline_is_refused_where_it_is_not_kept(tmp_path: Path, spark_session: Any) -> None:
    (tmp_path / "a.csv").write_text('x,"g\nh"\n5,a\n')
    (tmp_path / "b.csv").write_text("x,g\n5,a\n")
    (tmp_path / "a.jsonl").write_text('{"x": 5}\n')
    asked: dict[str, Any] = {"column": "x", "bounds": (0, 9), "epsilon": 1}
    with pytest.raises(hg.OptionError, match="engine='spark' reads each line as a record"):
        hg.mean(hg.multiline(tmp_path / "b.csv"), engine="spark", **asked)
    with pytest.raises(hg.OptionError, match="is not CSV or TSV"):
        hg.mean(hg.multiline(tmp_path / "a.jsonl"), **asked)
    with pytest.raises(hg.DataError, match="line break inside quotes"):
        hg.mean(hg.multiline(tmp_path / "a.csv"), **asked)
    with pytest.raises(hg.OptionError, match="path="):
        hg.multiline(3)


def test_an_unclosed_quote_in_a_declared_file_ends_no_query(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,g\n5,a\n" + '6,"b\n' + "7,c\n" * 100)
    assert hg.mean(hg.multiline(path), "x", bounds=(0, 9), epsilon=60).count == 2


def test_letters_of_all_lengths(tmp_path: Path, read: Any) -> None:
    """Views hold up to 12 bytes themselves; every length from both sides of that."""
    path = tmp_path / "a.csv"
    words = [string.ascii_letters[:n] for n in range(1, 40)]
    path.write_text("x,g\n" + "".join(f"5,{w}\n" for w in words))
    assert read(path) == dict.fromkeys(words, (5, 1))


def test_an_overfull_line_takes_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that is one such line is not even split: its fields would take far more room."""

    def split(*_: object) -> None:
        raise AssertionError("the line was split")

    monkeypatch.setattr(lines, "MOST", 10)
    block = b"," * 11 + b"\n" + bytes(blocks.PAD)
    assert lines.records(block, [0, 2]).rows == 0
    monkeypatch.setattr(lines, "_Lines", split)
    found = lines.records(block, [0, 2])
    assert (found.rows, [len(column) for column in found.columns]) == (0, [0, 0])
    with pytest.raises(AssertionError, match="was split"):
        lines.records(b"," * 10 + b"\n" + bytes(blocks.PAD), [0, 2])
