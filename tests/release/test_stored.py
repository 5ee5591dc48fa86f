"""Answers stored and restored: those of this version, and those of version 0.1.0."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.cli.output import rendered
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate import point
from hourglass.estimate.point import BAYESIAN
from hourglass.mechanisms.base import ALGORITHMS, make
from hourglass.release.answer import figure_names
from hourglass.release.rendering import limited

OLD = Path(__file__).parent / "old"
FIGURES = ("mean", "sum", "count", "mean_low", "mean_high", "expected_error", "few")


def old(name: str) -> list[Any]:
    cases = json.loads((OLD / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(case, id=title) for title, case in cases.items()]


# --- answers of version 0.1.0 ---------------------------------------------------------------


def check_said(release: hg.Release, said: dict[str, Any]) -> None:
    """Every figure to the last digit; a posterior, which is a sum of doubles, to the 12th."""
    near = 1e-12 if release.estimator in BAYESIAN else 0.0
    assert release.mean == pytest.approx(said["mean"], rel=near, abs=0.0)
    assert release.expected_error == pytest.approx(said["expected_error"], rel=1e-12)
    assert (release.sum, release.count) == (said["sum"], said["count"])
    for of, ends in said["intervals"].items():
        for sure, *end in ends:
            low, high = release.interval(sure, of=of)
            if of == "sum":  # found to nine digits, and in that version a little too wide
                if release.bounds.lower >= 0:  # and beyond what values can add up to
                    end[0] = max(end[0], min(release.sum, 0.0))
                width = end[1] - end[0]
                assert end[0] - 1e-8 * width <= low <= high <= end[1] + 1e-8 * width
                ends_are_whole = float(low).is_integer() and float(high).is_integer()
                assert high - low >= 0.99 * width - 2 * ends_are_whole
            else:
                assert [low, high] == pytest.approx(end, rel=near, abs=0.0)
    assert release.bounds.origin == said["origin"]
    for name in ("epsilon", "delta", "bounds", "grid", "algorithm", "estimator", "adjacency",
                 "unit", "private"):  # fmt: skip
        value = getattr(release, name)
        plain = str(value) if isinstance(value, Fraction) else value
        assert (list(plain) if name == "bounds" else plain) == said[name]


@pytest.mark.parametrize("case", old("one"))
def test_a_release_of_the_first_version(case: dict[str, Any]) -> None:
    release = hg.Release.from_dict(case["stored"])
    check_said(release, case["said"])
    assert hg.Release.from_dict(release.to_dict()) == release
    assert release.to_dict().keys() - {"column", "few"} == case["stored"].keys()
    assert release.to_dict()["noisy_totals"] == case["stored"]["noisy_totals"]


@pytest.mark.slow
@pytest.mark.parametrize("case", old("many"))
def test_releases_of_the_first_version(case: dict[str, Any]) -> None:
    releases = hg.Releases.from_dict(case["stored"])
    assert releases.by == tuple(case["by"])
    assert releases.threshold == case["threshold"]
    assert [list(group) for group in releases.groups] == case["groups"]
    for release, said in zip(releases.values(), case["said"], strict=True):
        check_said(release, said | {"unit": limited(said["unit"], by_group=True)})
    again = releases.to_dict(case["stored"]["confidence"])
    assert again.keys() - case["stored"].keys() == {"by_kinds", "column"}
    assert again["noisy_totals"] == case["stored"]["noisy_totals"]
    assert [row.keys() for row in again["groups"]] >= [
        row.keys() for row in case["stored"]["groups"]
    ]


@pytest.mark.parametrize("case", old("overwritten"))
def test_names_that_the_first_version_overwrote_are_not_made_up(case: dict[str, Any]) -> None:
    with pytest.raises(hg.OptionError, match="the names are lost"):
        hg.Releases.from_dict(case["stored"])


@pytest.mark.parametrize("case", old("bounds"))
def test_found_bounds_of_the_first_version(case: dict[str, Any]) -> None:
    found = hg.FoundBounds.from_dict(case["stored"])
    figures = r"[0-9]+(?:\.[0-9]+)?"  # the words have changed since
    assert re.findall(figures, str(found)) == re.findall(figures, case["said"])
    assert found.to_dict() == case["stored"]


def test_an_answer_of_the_other_shape_is_refused() -> None:
    one = hg.mean([1.0], bounds=(0, 2), epsilon=1)
    with pytest.raises(hg.OptionError, match=r"hg\.Release\.from_dict"):
        hg.Releases.from_dict(one.to_dict())
    with pytest.raises(hg.OptionError, match=r"hg\.Releases\.from_dict"):
        hg.Release.from_dict(answers(("g",), (("a",),)).to_dict())


# --- today's --------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=()), max_size=12)  # surrogates and controls too
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "integer": st.integers(-(2**70), 2**70),
    "boolean": st.booleans(),
    "date": st.dates(),
}
#: Names that are taken by figures, or look as if; and any other text.
NAMES = st.one_of(
    st.sampled_from([*FIGURES, *(name.upper() for name in FIGURES), "private_mean", "Private_MEAN",
                     "private_private_mean", "by", "groups", "no", "1e3", "null", "g", "G"]),
    TEXT,
)  # fmt: skip
TOTALS = st.integers(-(2**80), 2**80)


@st.composite
def noisy_answers(draw: st.DrawFn) -> hg.Releases:
    by = tuple(draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))
    kinds = [draw(st.sampled_from(sorted(KINDS))) for _ in by]
    keys = st.tuples(*(st.none() | KINDS[kind] for kind in kinds))
    groups = draw(st.lists(keys, max_size=4, unique=True))
    return answers(
        by,
        tuple(groups),
        totals=[(draw(TOTALS), draw(TOTALS)) for _ in groups],
        algorithm=draw(st.sampled_from([name for name in ALGORITHMS if name != "swap"])),
        estimator=draw(st.sampled_from(["projected", "ratio"])),
        epsilon=draw(st.sampled_from([Fraction(1, 3), Fraction(2)])),
        private=draw(st.booleans()),
        threshold=draw(st.none() | st.integers(1, 99)),
    )


def answers(
    by: tuple[str, ...],
    groups: tuple[tuple[Any, ...], ...],
    *,
    totals: list[tuple[int, int]] | None = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    epsilon: Fraction = Fraction(1),
    private: bool = True,
    threshold: int | None = None,
) -> hg.Releases:
    made = make(algorithm, epsilon / 2, Grid.choose(Bounds(-3, 7.5)))
    parts = getattr(made, "parts", 1)
    pairs = totals if totals is not None else [(5 * made.grid.cells, 7)] * len(groups)
    cells, rest = (np.array([pair[i] for pair in pairs], dtype=object) for i in range(2))
    return hg.Releases(
        by=by, groups=groups, noisy_totals=NoisyTotals(cells, rest, made.grid.cells, parts),
        epsilon=epsilon, delta=Fraction(1, 7), threshold=threshold, estimator=estimator,
        unit="person (u: up to 2 rows)", private=private, _algorithm=made,
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(noisy_answers())
def test_read_back_it_is_the_same_in_every_respect(found: hg.Releases) -> None:
    written = json.dumps(found.to_dict())
    again = hg.Releases.from_dict(json.loads(written))
    assert again == found
    assert list(again) == list(found)
    for name in ("by", "groups", "threshold", "epsilon", "delta", "estimator", "unit", "private",
                 "bounds", "grid", "algorithm", "adjacency"):  # fmt: skip
        assert getattr(again, name) == getattr(found, name)
    kinds = [[type(part) for part in group] for group in found.groups]
    assert [[type(part) for part in group] for group in again.groups] == kinds  # True is not 1
    assert json.dumps(again.to_dict()) == written
    assert (str(again), repr(again), again.statement()) == (
        str(found),
        repr(found),
        found.statement(),
    )
    assert again._repr_html_() == found._repr_html_()
    for key, release in found.items():
        alone = hg.Release.from_dict(json.loads(json.dumps(release.to_dict())))
        assert alone == release == again[key]
        assert hash(alone) == hash(release)
        assert repr(alone) == repr(release)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(noisy_answers(), st.sampled_from([None, 0.9]))
def test_no_column_takes_the_name_of_another(found: hg.Releases, confidence: float | None) -> None:
    """With any names, in columns, frames, JSON and YAML: each key and each figure is present."""
    columns = found.columns(confidence)
    shown = [name for name in FIGURES if confidence or not name.startswith("mean_")]
    assert list(columns)[: len(found.by)] == list(found.by)
    assert len(columns) == len(found.by) + len(shown)
    names = figure_names(found.by, shown)
    taken = {name.casefold() for name in found.by}
    assert not taken & {name.casefold() for name in names.values()}
    assert all(names[name] == name for name in shown if name not in taken)
    assert columns[names["mean"]].tolist() == [release.mean for release in found.values()]
    assert columns[names["count"]].tolist() == [release.count for release in found.values()]
    assert tuple(zip(*(columns[name] for name in found.by), strict=True)) == found.groups
    stored = found.to_dict(confidence)
    for row, group in zip(stored["groups"], found.groups, strict=True):
        assert [row[name] for name in found.by] == [plain(part) for part in group]
    assert yaml.safe_load(rendered(found, "yaml", confidence)) == json.loads(
        rendered(found, "json", confidence)
    )


def plain(part: Any) -> Any:
    return part.isoformat() if isinstance(part, date) else part


@pytest.mark.slow
@pytest.mark.parametrize("by", [(name,) for name in FIGURES] + [FIGURES, ("MEAN", "Count"), ("g",)])
def test_files_and_frames_keep_every_column(by: tuple[str, ...], tmp_path: Path) -> None:
    groups = tuple((f"k{i}",) * len(by) for i in range(3))
    found = answers(by, groups)
    expected = list(found.columns(0.95))
    assert len({name.casefold() for name in expected}) == len(by) + len(FIGURES)
    kept = expected + list(found.terms(found.columns(0.95), 0.95))
    assert len({name.casefold() for name in kept}) == len(kept)
    rows = list(csv.reader(io.StringIO(rendered(found, "csv", 0.95).decode())))
    assert rows[0] == kept
    assert [row[: len(by)] for row in rows[1:]] == [list(group) for group in groups]
    file = tmp_path / "answer.parquet"
    file.write_bytes(rendered(found, "parquet", 0.95))
    table = pq.read_table(file)
    assert table.column_names == kept
    described = duckdb.execute(f"DESCRIBE FROM '{file}'").fetchall()
    assert [name for name, *_ in described] == kept
    for frame in (found.to_pandas(0.95), found.to_polars(0.95)):
        assert list(frame.columns) == expected
        assert list(frame[by[0]]) == [group[0] for group in groups]
    assert found.to_arrow(0.95).column_names == expected
    assert table.column(by[0]).to_pylist() == [group[0] for group in groups]


@pytest.mark.parametrize(
    "keys",
    [[2**63, 2**64 - 1], [-1, 2**63], [-(2**63), 2**63 - 1], [10**39, None], [True, None],
     [date(2024, 2, 29), None], ["a\ud800\n", None]],
)  # fmt: skip
def test_every_key_in_every_format(keys: list[Any], tmp_path: Path) -> None:
    found = answers(("g",), tuple((key,) for key in keys))
    file = tmp_path / "answer.parquet"
    file.write_bytes(rendered(found, "parquet", None))
    (read,) = pq.read_table(file, columns=["g"]).columns
    shown = [str(key) if key == 10**39 else key for key in keys]
    shown = [key.replace("\ud800", "\\ud800") if isinstance(key, str) else key for key in shown]
    assert read.to_pylist() == shown
    groups = json.loads(rendered(found, "json", None))["groups"]
    assert [row["g"] for row in groups] == [plain(key) for key in keys]
    assert rendered(found, "csv", None).decode().startswith("g,mean,sum")
    assert len(rendered(found, "table", None).decode().splitlines()) in (8, 9)


def test_equal_answers_have_equal_noise() -> None:
    """Equal totals with noise for one record of a person or for two are different answers."""
    noisy = NoisyTotals(50, 70, 10)
    grid = Grid.choose(Bounds(0, 10), integers=True)
    once, half = (
        hg.Release.of(make("laplace", each, grid), noisy, estimator="ratio", private=True,
                      epsilon=Fraction(1))
        for each in (Fraction(1), Fraction(1, 2))
    )  # fmt: skip
    assert once == hg.Release.from_dict(once.to_dict()) != half


@pytest.mark.parametrize("groups", [{}, {"by": "g", "keys": ["a", "b"]}])
def test_what_replaced_missing_values_is_told_when_read_back(groups: dict[str, Any]) -> None:
    table = pa.table({"g": ["a", "b"] * 20, "x": [0.5, None] * 20})
    found = hg.mean(table, "x", bounds=(0, 1), epsilon=1, missing=0.25, **groups)
    again = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.missing == 0.25
    assert str(again) == str(found)
    assert again.statement() == found.statement()


def test_a_release_is_a_table_of_one_row() -> None:
    release = hg.mean([1.0, 2.0], bounds=(0, 2), epsilon=1)
    for frame in (
        release.to_pandas(0.9),
        release.to_polars(0.9),
        release.to_arrow(0.9).to_pandas(),
    ):
        assert list(frame.columns) == ["mean", "sum", "count", "mean_low", "mean_high",
                                       "expected_error", "few"]  # fmt: skip
        assert len(frame) == 1
        assert frame["mean"][0] == release.mean
        assert (frame["mean_low"][0], frame["mean_high"][0]) == tuple(release.interval(0.9))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["projected", "ratio", "posterior", "jeffreys"])
def test_rows_past_those_that_are_computed_exactly(
    estimator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In doubles: the same figures to twelve digits, and intervals that are no narrower."""
    G = Grid.choose(Bounds(-3, 7.5)).cells
    totals = [(37 * i % 90 * G, 41 * i % 70 * G) for i in range(100)]
    keys = tuple((i,) for i in range(100))
    exact = answers(("i",), keys, totals=totals, estimator=estimator)
    assert exact.sums.tolist() == [release.sum for release in exact.values()]
    columns = exact.columns(0.9)
    narrow = exact.columns(1e-6)
    assert (narrow["mean_low"] <= exact.means).all()  # an interval holds its mean, however narrow
    assert (narrow["mean_high"] >= exact.means).all()
    monkeypatch.setattr(point, "EXACT", 99)
    doubles = answers(("i",), keys, totals=totals, estimator=estimator).columns(0.9)
    for name in ("mean", "sum", "count", "expected_error"):
        assert doubles[name] == pytest.approx(columns[name], rel=1e-12, abs=1e-12)
    assert (doubles["mean_low"] <= columns["mean_low"]).all()
    assert (doubles["mean_high"] >= columns["mean_high"]).all()
    assert (doubles["mean_low"] >= columns["mean_low"] - 1e-6).all()


ONE = pa.table({"x": [1.0], "g": ["a"]})
FORMS: dict[str, Any] = {
    "Release": lambda: hg.mean([1.0], bounds=(0, 9), epsilon=1),
    "Releases": lambda: hg.mean(ONE, "x", bounds=(0, 9), epsilon=1, by="g", keys=["a"]),
    "Columns": lambda: hg.mean(ONE, ["x"], bounds=(0, 9), epsilon=1),
    "Count": lambda: hg.count(ONE, epsilon=1),
    "Counts": lambda: hg.count(ONE, epsilon=1, by="g", keys=["a"]),
    "FoundBounds": lambda: hg.find_bounds(ONE, "x", epsilon=1),
}


@pytest.mark.parametrize("name", FORMS)
def test_what_is_no_stored_answer_is_refused_in_words(name: str) -> None:
    """Caught: KeyError('bounds') for a dict of something else, or for another kind of answer."""
    for wrong in ({}, {"mean": 1}, "{}", None, [1]):
        with pytest.raises(hg.OptionError, match="is not a stored answer; give the dict that"):
            getattr(hg, name).from_dict(wrong)
    stored = FORMS[name]().to_dict()
    for other in FORMS:
        if other == name:
            assert type(getattr(hg, other).from_dict(stored)).__name__ == name
        else:
            with pytest.raises(hg.OptionError, match=rf"read this one with hg\.{name}\.from_dict"):
                getattr(hg, other).from_dict(stored)
