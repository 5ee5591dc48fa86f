"""Columns of text: read by a declared rule, the same for every file and every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Groups

GRID = Grid.choose(Bounds(0, 120))
#: Cells of the column, and the values that they mean.
CELLS: list[tuple[str, float | None]] = [
    ("1", 1.0),
    ("-0.0", 0.0),
    (" 7 ", 7.0),
    ("+3.5", 3.5),
    (".5", 0.5),
    ("5.", 5.0),
    ("1e2", 100.0),
    ("1E-3", 0.001),
    ("1e400", 120.0),
    ("-1e400", 0.0),
    ("1e-400", 0.0),
    ("inf", 120.0),
    ("-Infinity", 0.0),
    ("119.99999999999999", 119.99999999999999),
    ("0.1000000000000000055511151231257827", 0.1),
    ("18446744073709551616", 120.0),
    ("nan", None),
    ("NaN", None),
    ("abc", None),
    ("", None),
    ("1,5", None),
    ("1_000", None),
    ("0x10", None),
    ("1 2", None),
    ("1d", None),
    ("１２", None),
    ("true", None),
]
EXPECTED = (
    sum(GRID.cell(v) or 0 for _, v in CELLS if v is not None),
    sum(v is not None for _, v in CELLS),
)


def total(data: Any, column: str = "x", **more: Any) -> tuple[int, int]:
    found = mean_question(data, column, bounds=(0, 120), epsilon=1, **more).read()
    assert isinstance(found, Groups)
    totals = found.totals
    return int(totals.cells[0]), int(totals.count[0])


def write(path: Path, separator: str = ",") -> Path:
    quoted = "\n".join(f'"{text}"{separator}k' for text, _ in CELLS)
    path.write_text(f"x{separator}g\n{quoted}\n", encoding="utf-8")
    return path


def test_csv_and_tsv_and_json_lines(tmp_path: Path) -> None:
    import gzip
    import json

    assert total(write(tmp_path / "a.csv")) == EXPECTED
    assert total(write(tmp_path / "a.tsv", "\t")) == EXPECTED
    lines = "\n".join(json.dumps({"x": text, "g": "k"}) for text, _ in CELLS)
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    assert total(tmp_path / "a.jsonl") == EXPECTED
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    assert total(str(tmp_path / "b.csv.gz")) == EXPECTED


def test_spark_reads_text_by_the_same_rule(tmp_path: Path, spark_session: Any) -> None:
    assert total(write(tmp_path / "a.csv"), engine="spark") == EXPECTED
    assert total(write(tmp_path / "a.tsv", "\t"), engine="spark") == EXPECTED


def test_text_of_a_typed_table_is_read_only_if_declared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [text for text, _ in CELLS]}), tmp_path / "a.parquet")
    with pytest.raises(hg.DataError, match="parse='real'"):
        total(tmp_path / "a.parquet")
    assert total(tmp_path / "a.parquet", parse="real") == EXPECTED


def test_integers_declared_in_text(tmp_path: Path) -> None:
    cells = ["5", "-3", "+7", "3.7", "abc", "1e2", "99999999999999999999", "-99999999999999999999"]
    (tmp_path / "a.csv").write_text("x\n" + "\n".join(cells) + "\n")
    request = mean_question(tmp_path / "a.csv", "x", bounds=(0, 120), epsilon=1, parse="integer")
    assert request.mechanism.grid.own
    assert total(tmp_path / "a.csv", parse="integer") == (5 + 0 + 7 + 120 + 0, 5)


def test_rows_out_of_shape_are_rows_by_the_null_policy(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbfx,g\n1,a\n2\n3,b,c\n5\x006,e\n\xff\xfe,z\n7,f\n"
    (tmp_path / "a.csv").write_bytes(text)
    cells, count = total(tmp_path / "a.csv")
    assert count == 4
    assert cells == sum(GRID.cell(v) or 0 for v in (1, 2, 3, 7))


def test_the_last_row_does_not_change_the_plan(tmp_path: Path) -> None:
    """No type is read off the content."""
    texts = {}
    for poison in ("1", "abc", "1e400", "2020-01-01", "true", ""):
        path = tmp_path / "a.csv"
        path.write_text("x,g\n" + "1,2\n" * 3000 + f"{poison},{poison}\n")
        texts[poison] = hg.mean(
            path, "x", bounds=(0, 9), epsilon=1, by="g", keys=["2"], explain=True
        )
    assert len(set(texts.values())) == 1


def test_globs_and_arrow_files(tmp_path: Path) -> None:
    whole = pa.table({"x": pa.array([1.0, None, 200.0], pa.float64()), "h": pa.array([1, 2, 3])})
    pyarrow.feather.write_feather(whole, tmp_path / "a.arrow", compression="uncompressed")
    assert total(tmp_path / "a.arrow") == (GRID.cell(1.0) + GRID.cells, 2)  # type: ignore[operator]
    for part in "abc":
        pq.write_table(whole, tmp_path / f"{part}.parquet")
    one = total(tmp_path / "a.parquet")
    assert total(str(tmp_path / "*.parquet")) == (3 * one[0], 3 * one[1])
    assert total(str(tmp_path / "*.parquet"), engine="datafusion") == (3 * one[0], 3 * one[1])
    (tmp_path / "1.csv").write_text("x,g\n1,a\n")
    (tmp_path / "2.csv").write_text("g,x\na,1\n")
    with pytest.raises(hg.DataError, match="other columns"):
        total(str(tmp_path / "*.csv"))


NASTY_LINES = [
    "[1]",
    '[{"x":1}]',
    " [1]",
    '"s"',
    "null",
    "7",
    "{",
    "}",
    "",
    "[" * 900 + "]" * 900,
    '{"x":' * 200 + "1" + "}" * 200,
    '{"x":"' + "y" * (20 << 20) + '"}',
    "\x00",
]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("line", NASTY_LINES, ids=range(len(NASTY_LINES)))
def test_no_line_of_json_affects_another(line: str, place: str, tmp_path: Path) -> None:
    """Whatever one line contains, and wherever it is, the others count as before."""
    rows = ['{"x": 1, "g": "a"}'] * 200
    at = {"first": 0, "middle": 100, "last": 200}[place]
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([*rows[:at], line, *rows[at:]]) + "\n")
    found = mean_question(path, "x", bounds=(0.0, 2.0), epsilon=1, grid=2).read()
    assert isinstance(found, Groups)
    count, cells = int(found.totals.count[0]), int(found.totals.cells[0])
    assert 0 <= count - 200 <= 1
    assert 0 <= cells - 200 <= 2


def test_a_rule_for_text_is_refused_for_other_columns(engine_place: Any) -> None:
    """Caught: parse="integer" without effect on a column of doubles, whose grid stays real."""
    table = pa.table({"x": [1.0, 2.0], "n": [1, 2]})
    ask = engine_place(table) | {"epsilon": 1, "parse": "integer"}
    for column in ("x", "n"):
        told = f"parse='integer' applies to columns of text, but column '{column}' is of type "
        with pytest.raises(hg.OptionError, match=told):
            mean_question(column=column, bounds=(0, 9), **ask)
        with pytest.raises(hg.OptionError, match=told):
            bounds_question(column=column, **ask)
    with pytest.raises(hg.OptionError, match="column 'x' is of type"):
        mean_question(column=["x", "n"], bounds=(0, 9), **ask)


def test_a_rule_for_text_and_several_columns(tmp_path: Path) -> None:
    """One rule is for those that are text; a rule for one column must have an effect."""
    table = pa.table({"x": [1.0, 2.0], "t": ["1", "2"]})
    ask: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1}
    assert mean_question(table, ["x", "t"], parse="integer", **ask).mechanism.grids[1].own
    with pytest.raises(hg.OptionError, match="column 'x' is of type"):
        mean_question(table, ["x", "t"], parse={"x": "real", "t": "real"}, **ask)
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n")
    with pytest.raises(hg.OptionError, match="but not to an expression; leave it out"):
        mean_question(path, hg.expression("x + 1"), parse="integer", **ask)
