"""Answers of several columns: printed, as frames, stored, stated, drawn."""

from __future__ import annotations

import json
import pickle
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg

DATA = pa.table({
    "a": np.linspace(0.0, 1.0, 600),
    "b": np.linspace(-60.0, 300.0, 600),
    "g": ["x", "y", "z"] * 200,
    "who": np.arange(600) % 90,
    "day": [date(2024, 1, 1), date(2024, 2, 29)] * 300,
})  # fmt: skip
BOUNDS = {"a": (0, 1), "b": (-60, 300)}
BY: list[dict[str, Any]] = [
    {},
    {"by": "g", "keys": ["x", "y", "none"]},
    {"by": ["g", "day"], "keys": [("x", date(2024, 1, 1)), ("y", date(2024, 2, 29))]},
    {"by": "g", "delta": "1e-6"},
    {"by": "g", "delta": "1e-6", "unit": hg.per_person("who", rows=2, groups=2), "epsilon": 9},
]


def asked(seed: int = 1, **options: Any) -> hg.Columns:
    given = {"bounds": BOUNDS, "epsilon": 1, "bits": hg.SeededBits(seed), **options}
    found = hg.mean(DATA, ["a", "b"], **given)
    assert isinstance(found, hg.Columns)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", BY)
def test_stored_answers_come_back_whole(options: dict[str, Any]) -> None:
    found = asked(**options)
    for written in (found.to_dict(), found.to_dict(0.9)):
        back = hg.Columns.from_dict(json.loads(json.dumps(written)))
        assert back == found
        assert back.to_dict() == found.to_dict()
        assert str(back) == str(found)
        assert back.statement() == found.statement()
        assert {n: list(map(str, c)) for n, c in back.columns(0.8).items()} == {
            n: list(map(str, c)) for n, c in found.columns(0.8).items()
        }
    assert asked(seed=2, **options) != found or not len(found)


def test_a_column_can_be_stored_by_itself() -> None:
    """It keeps the law of the box that its noise was drawn from."""
    column = asked()["b"]
    back = hg.Release.from_dict(json.loads(json.dumps(column.to_dict())))
    assert back == column
    assert back.interval(0.9) == column.interval(0.9)
    assert back.interval(0.9, simultaneous=True) == column.interval(0.9, simultaneous=True)
    alone = hg.mean(DATA, "b", bounds=(-60, 300), epsilon=1)
    assert back.expected_error > 1.2 * alone.expected_error


def test_the_table_has_a_line_for_each_column_and_one_for_the_count() -> None:
    text = asked().text()
    lines = text.splitlines()
    assert lines[0].split() == ["column", "mean", "95", "%", "from", "to", "sum"]
    assert [line.split()[0] for line in lines[2:5]] == ["a", "b", "count"]
    assert "Means of a clamped to [0, 1] and b clamped to [-60, 300]." in text.replace("\n", " ")
    same = hg.mean(DATA, ["a", "b"], bounds=(0, 1), epsilon=1).text()
    assert "Means of a and b, clamped to [0, 1]." in same


def test_by_group_a_name_is_printed_once() -> None:
    lines = asked(**BY[1]).text().splitlines()
    assert lines[0].split()[:2] == ["g", "column"]
    assert [line[:4].strip() for line in lines[2:8]] == ["x", "", "y", "", "none", ""]
    assert lines[6].endswith(" *")
    assert "* too few records" in lines
    assert all(len(line) <= 80 for line in lines)


def test_long_names_are_wrapped_and_numbers_are_not() -> None:
    names = {"a": "a rather long name of a column " * 3, "b": "b"}
    table = DATA.rename_columns([names.get(n, n) for n in DATA.column_names])
    found = hg.mean(
        table, list(names.values()), bounds=(0, 1), epsilon=1, by="g", keys=["x" * 90, "y"]
    )
    assert all(len(line) <= 80 for line in found.text().splitlines())


def test_many_groups_are_counted() -> None:
    found = hg.mean(
        DATA, ["a", "b"], bounds=(0, 1), epsilon=1, by="g", keys=[f"k{i}" for i in range(40)]
    )
    assert "... and 10 more groups" in found.text()


def test_a_by_column_keeps_its_name() -> None:
    table = DATA.rename_columns(["a", "b", "column", "who", "mean"])
    found = hg.mean(table, ["a", "b"], bounds=(0, 1), epsilon=1, by="column", keys=["x"])
    assert list(found.columns())[:3] == ["column", "private_column", "mean"]
    assert hg.Columns.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize("options", BY[:2])
def test_frames_of_every_library_agree(options: dict[str, Any]) -> None:
    found = asked(**options)
    pandas, polars, arrow = found.to_pandas(), found.to_polars(), found.to_arrow()
    assert pandas["mean"].tolist() == polars["mean"].to_list() == arrow["mean"].to_pylist()
    assert pandas.columns.tolist() == polars.columns == arrow.column_names


def test_the_statement_names_all_columns() -> None:
    statement = asked(**BY[1]).statement(name="flights")
    words = str(statement)
    assert "The means and sums of 2 columns (a, b) were released together" in words
    assert "clamped to [0, 1] (a), [-60, 300] (b)" in words
    assert "hourglass mechanism of a box" in words
    assert "[0, 1] (a), [-60, 300] (b)" in statement.yaml
    alike = hg.mean(DATA, ["a", "b"], bounds=(0, 1), epsilon=1).statement()
    assert "Values were clamped to [0, 1];" in str(alike)


def test_bounds_of_different_origins_are_distinguished() -> None:
    found = hg.find_bounds(DATA, "b", epsilon=5)
    words = str(hg.mean(DATA, ["a", "b"], bounds={"a": (0, 1), "b": found}, epsilon=1).statement())
    assert "The bounds were stated as public knowledge (a), found privately" in words


@pytest.mark.slow
@pytest.mark.parametrize("options", BY[:2])
def test_a_panel_for_each_column(tmp_path: Path, options: dict[str, Any]) -> None:
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        asked(**options).plot(tmp_path / "p.svg")
    text = (tmp_path / "p.svg").read_text()
    assert ">a<" in text
    assert ">b<" in text


def test_notebooks_get_a_table() -> None:
    html = asked(**BY[1])._repr_html_()
    assert html.count("<tr>") == 7
    assert "private means of a and b by g" in html


def test_what_it_is_in_a_line() -> None:
    assert repr(asked()) == "Columns(a, b, epsilon=Fraction(1, 1), private=False)"


def test_a_key_that_is_not_there_and_a_figure_of_one_answer() -> None:
    table = pa.table({"x": [1.0, 2.0], "income": [1.0, 2.0], "g": [2021, 2022]})
    ask: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1}
    columns = hg.mean(table, ["x", "income"], **ask)
    with pytest.raises(KeyError, match=r"'incom' is not a column .* did you mean 'income'"):
        columns["incom"]
    with pytest.raises(AttributeError, match=r"several columns .* answer\['x'\]\.mean"):
        columns.mean  # noqa: B018
    for groups in (
        hg.mean(table, "x", by="g", keys=[2021, 2022], **ask),
        hg.count(table, by="g", keys=[2021, 2022], epsilon=1),
    ):
        with pytest.raises(KeyError, match=r"'2022' is not a group .* did you mean 2022, of type"):
            groups["2022"]
        with pytest.raises(KeyError, match=r"'x' is not a group .* it has 2021, 2022"):
            groups["x"]
        assert groups.get("2022") is None
    means = hg.mean(table, "x", by="g", keys=[2021], **ask)
    with pytest.raises(AttributeError, match=r"by group .* answer\.means for all"):
        means.mean  # noqa: B018
    with pytest.raises(AttributeError, match="spread=True"):
        means.variances  # noqa: B018
    assert pickle.loads(pickle.dumps(means)).means.tolist() == means.means.tolist()


def test_columns_by_group_hold_jointly() -> None:
    found = asked(by="g", keys=["x", "y", "none"])
    columns = found.columns(0.9, simultaneous=True)
    joint = [one for key in found for one in found[key].intervals(0.9, simultaneous=True).values()]
    assert columns["mean_low"].tolist() == [one.low for one in joint]
    assert columns["mean_high"].tolist() == [one.high for one in joint]
    assert (columns["mean_low"][:4] < found.columns(0.9)["mean_low"][:4]).all()
