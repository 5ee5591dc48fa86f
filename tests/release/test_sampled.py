"""The mean of the population beside that of these records: printed, in columns, drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.errors import OptionError
from hourglass.release.plot import MOST, Panel

DATA = pa.table({
    "g": ["a", "b"] * 500,
    "id": np.arange(1000),
    "x": np.linspace(0.0, 9.0, 1000),
    "y": [1, 0, 0, 1, 0] * 200,
})  # fmt: skip
BOUNDS: dict[str, Any] = {"bounds": {"x": (0, 9), "y": (0, 1)}}
BY: dict[str, Any] = {"by": "g", "keys": ["a", "b", "none"]}


def asked(column: Any = "x", **options: Any) -> Any:
    given = {"bounds": (0, 9), "epsilon": 20, "bits": hg.SeededBits(3), **options}
    return hg.mean(DATA, column, **given)


def cells(text: str, start: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.strip().startswith(start))
    return line.removeprefix(start).split()


def below(text: str, start: str) -> list[str]:
    """The cells of the line below the one that starts so."""
    lines = [line.strip() for line in text.splitlines()]
    (place,) = (i for i, line in enumerate(lines) if line.startswith(start))
    assert lines[place + 1].startswith("population ")
    return lines[place + 1].removeprefix("population").replace("%", "").split()


def ends(found: Any, confidence: float = 0.95) -> tuple[float, float]:
    low, high = found.interval(confidence, of="population")
    return low, high


def near(texts: list[str], values: tuple[float, ...], step: float = 0.005) -> bool:
    return [float(t) for t in texts] == pytest.approx(list(values), abs=step)


def test_one_answer_names_both_means() -> None:
    found = asked()
    text = found.text(0.9, population=True)
    assert near(cells(text, "mean of the population"), (found.mean, *ends(found, 0.9)))
    assert near(cells(text, "mean of these records"), (found.mean, *found.interval(0.9)))
    assert "of the population" not in found.text(0.9)
    assert str(found) == found.text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "wider than necessary"),
        ({"column": "y", "bounds": (0, 1)}, "it is exact."),
        ({"spread": True}, "it is approximate: correct for many records, not proven for few."),
        ({"column": ["x", "y"], **BOUNDS}, "exact for yes/no columns with few enough"),
    ],
)
def test_the_note_tells_the_kind(options: dict[str, Any], words: str) -> None:
    text = " ".join(asked(**options).text(population=True).split())
    assert words in text
    assert "All other intervals are for these records and cover only the noise." in text


def test_the_note_does_not_call_large_groups_exact() -> None:
    """Caught: one word for all groups, where that of the large one is a proven inequality."""
    table = pa.table({"g": ["a"] * 100 + ["b"] * 50_000, "y": [0, 1] * 25_050})
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "by": "g", "bits": hg.SeededBits(3)}
    both = hg.mean(table, "y", keys=["a", "b"], **ask)
    kinds = both.columns(0.95, population=True)["population_kind"]
    assert list(kinds) == ["exact", "valid"]
    assert "exact for yes/no columns with few" in " ".join(both.text(population=True).split())
    large = hg.mean(table, "y", keys=["b"], **ask).text(population=True)
    assert "exact" not in large
    assert "it holds for every population" in " ".join(large.split())


def test_persons_are_the_sample() -> None:
    text = asked(unit=hg.per_person("id")).text(population=True)
    assert "The persons are assumed to be a random sample" in text


def test_below_each_group() -> None:
    found = asked(**BY)
    text = found.text(population=True)
    for group in ("a", "b"):
        assert near(below(text, f"{group} "), (found[group].mean, *ends(found[group])))
    assert below(text, "none ") == ["–", *below(text, "none ")[1:]]
    assert all(len(line) <= 80 for line in text.splitlines())


def test_below_each_of_several_columns() -> None:
    found = asked(["x", "y"], **BOUNDS)
    text = found.text(population=True)
    assert near(below(text, "x "), (found["x"].mean, *ends(found["x"])))
    low, high = ends(found["y"])
    assert near(below(text, "y "), (100 * found["y"].mean, 100 * low, 100 * high), 0.05)
    assert text.splitlines()[6].startswith("count (shared)")


def test_below_each_column_of_each_group() -> None:
    found = asked(["x", "y"], **BOUNDS, **BY)
    lines = found.text(population=True).splitlines()[2:14]
    names = ["a", "", "", "", "b", "", "", "", "none", "", "", ""]
    assert [line[:5].strip() for line in lines] == names
    assert [("  population " in line) for line in lines] == [False, True] * 6
    mean, *interval = lines[5].replace("population", "").split()
    assert near([mean, *interval], (found["b"]["x"].mean, *ends(found["b"]["x"])))


@pytest.mark.parametrize("options", [{}, BY, {"spread": True, **BY}])
def test_columns_have_its_ends_and_kind(options: dict[str, Any]) -> None:
    found = asked(**options)
    columns = found.columns(0.9, population=True)
    ones = list(found.values()) if options else [found]
    intervals = [one.interval(0.9, of="population") for one in ones]
    assert columns["population_low"].tolist() == [one.low for one in intervals]
    assert columns["population_high"].tolist() == [one.high for one in intervals]
    assert columns["population_kind"].tolist() == [one.kind for one in intervals]
    plain = found.columns(0.9)
    assert [*plain] == [name for name in columns if not name.startswith("population")]
    assert found.to_pandas(0.9, population=True)["population_low"].tolist() == [
        one.low for one in intervals
    ]


def test_columns_of_several_hold_jointly() -> None:
    found = asked(["x", "y"], **BOUNDS)
    joint = found.columns(0.9, simultaneous=True, population=True)["population_low"]
    intervals = found.intervals(0.9, of="population", simultaneous=True)
    assert joint.tolist() == [one.low for one in intervals.values()]
    assert joint[0] < found.columns(0.9, population=True)["population_low"][0]


def test_a_group_column_of_the_same_name_keeps_it() -> None:
    table = DATA.append_column("population_low", DATA["g"])
    found = hg.mean(table, "x", bounds=(0, 9), epsilon=1, by="population_low", keys=["a", "b"])
    columns = found.columns(0.9, population=True)
    assert columns["population_low"] == ["a", "b"]
    assert columns["private_population_low"][0] == ends(found["a"], 0.9)[0]


def test_stored_with_the_other_intervals() -> None:
    found = asked()
    stored = found.to_dict(0.9, population=True)
    low, high = ends(found, 0.9)
    assert stored["intervals"]["population"] == {
        "confidence": 0.9, "low": low, "high": high, "kind": "valid",
    }  # fmt: skip
    assert hg.Release.from_dict(stored) == found
    assert "population" not in found.to_dict(0.9)["intervals"]
    rows = asked(**BY).to_dict(0.9, population=True)
    assert len(json.loads(json.dumps(rows))["groups"]) == 3
    assert {"population_low", "population_high", "population_kind"} <= set(rows["groups"][0])
    several = asked(["x", "y"], **BOUNDS).to_dict(0.9, population=True)["columns"]
    assert several["y"]["intervals"]["population"]["kind"] == "exact"


def test_no_group_was_published() -> None:
    found = asked(by="g", delta="1e-9", where="x > 100")
    text = found.text(population=True)
    assert text.startswith("No group's noisy count reached the threshold.")
    assert "sample" not in text  # there is no interval to speak of
    assert len(found.columns(0.9, population=True)["population_low"]) == 0


@pytest.mark.slow
def test_derived_figures_have_both() -> None:
    found = asked(**BY)
    total = found.total(["a", "b"])
    text = total.text(population=True)
    assert near(cells(text, "mean of the population"), (total.mean, *ends(total)))
    assert cells(text, "mean of these records")
    low, high = ends(total)
    stored = total.to_dict(population=True)["intervals"]["population"]
    assert (stored["low"], stored["high"]) == (low, high)
    assert "population" not in total.to_dict()["intervals"]
    assert "all these groups together are one random sample" in " ".join(text.split())
    for figure in (found.difference("b", "a"), found.ratio("b", "a")):
        lower, upper = ends(figure)
        assert near(below(figure.text(population=True), "mean of b"), (figure.value, lower, upper))
        stored = figure.to_dict(population=True)["population"]
        assert (stored["low"], stored["high"]) == (lower, upper)
        assert "population" not in figure.to_dict()
        words = " ".join(figure.text(population=True).split())
        assert "each group are a random sample from that group's population." in words
        assert "hold for every population within the bounds" in words


def test_the_total_of_yes_no_groups_is_valid_and_that_of_one_is_exact() -> None:
    table = pa.table({"g": ["a", "b"] * 50, "yes": [True, False, False, False] * 25})
    found = hg.mean(table, "yes", bounds=(0, 1), epsilon=1, by="g", keys=["a", "b"])
    assert found.total().interval(of="population").kind == "valid"
    assert found.total(["a"]).interval(of="population").kind == "exact"
    assert found["a"].interval(of="population").kind == "exact"


@pytest.mark.slow
def test_derived_figures_are_valid_also_with_the_spread() -> None:
    """As their notes say: those of the groups use the variance, these do not."""
    found = asked(**BY, spread=True)
    assert found["a"].interval(of="population").kind == "approximate"
    for figure in (found.total(), found.difference("b", "a"), found.ratio("b", "a")):
        assert figure.interval(of="population").kind == "valid"


def test_sums_have_no_population() -> None:
    sums = hg.sum(DATA, "x", bounds=(0, 9), epsilon=1, **BY)
    ways: list[Callable[[], Any]] = [
        partial(sums.text, population=True),
        partial(sums.columns, 0.9, population=True),
        partial(sums.plot, "chart.png", population=True),
    ]
    for way in ways:
        with pytest.raises(OptionError, match=r"population=True is for means, and .* of a sum"):
            way()
    with pytest.raises(OptionError, match="population=True is for means"):
        sums.difference("a", "b").text(population=True)
    with pytest.raises(OptionError, match="needs a confidence"):
        asked().columns(population=True)


def test_the_panel_has_room_for_the_wide_intervals() -> None:
    found = asked(**BY)
    panel = Panel.of(found, 0.95, population=True)
    assert panel.wide_lows.tolist() == [ends(one)[0] for one in found.values()]
    assert panel.axis[0] < min(panel.wide_lows[:2])
    assert panel.axis[1] > max(panel.wide_highs[:2])
    assert len(panel.first(2).wide_highs) == 2
    assert Panel.of(found, 0.95).wide_lows is None


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, BY, {"column": ["x", "y"], **BOUNDS}])
def test_the_chart_has_both(options: dict[str, Any], tmp_path: Path) -> None:
    import matplotlib

    texts = []
    for population in (False, True):
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            asked(**options).plot(tmp_path / "chart.svg", population=population)
        texts.append((tmp_path / "chart.svg").read_text())
    assert "95 % intervals" not in texts[0]
    assert "Thick bar" not in texts[0]
    assert "95 % intervals" in texts[1]
    assert "Thick bar: for these records. Thin line: for the population." in texts[1]
    assert texts[1].count("LineCollection") == 2 * texts[0].count("LineCollection") > 0


@pytest.mark.slow
def test_a_chart_computes_the_intervals_that_it_draws() -> None:
    keys = list(range(MOST + 50))
    found = asked(by="id", keys=keys, epsilon=1)
    panel = Panel.of(found, 0.95, population=True)
    assert (len(panel.means), len(panel.wide_lows)) == (len(keys), MOST)
    drawn = panel.first(MOST)
    assert np.all(drawn.wide_lows <= drawn.means)
    assert np.all(drawn.means <= drawn.wide_highs)


@pytest.mark.slow
def test_several_rows_of_a_person_are_no_independent_draws() -> None:
    """Caught: the check left out of one of the figures, or one record of a person refused."""
    remedy = r"up to 2 rows of one person count; ask with hg\.per_person\('id'\)"
    found = asked(**BY, unit=hg.per_person("id", rows=2))
    figures = [found["a"], found.total(), found.difference("a", "b"), found.ratio("a", "b")]
    for figure in figures:
        with pytest.raises(hg.OptionError, match=remedy):
            figure.interval(of="population")
    with pytest.raises(hg.OptionError, match=remedy):
        found.text(population=True)
    for unit in (hg.per_person("id", rows=1), hg.per_person("id"), hg.per_row()):
        one = asked(**BY, unit=unit)
        for figure in (one["a"], one.total(), one.difference("a", "b")):
            assert figure.interval(of="population").of == "population"


def test_a_person_in_several_groups_is_no_independent_draw_of_both() -> None:
    found = asked(**BY, unit=hg.per_person("id", groups=2))
    for figure in (found.total(), found.difference("a", "b"), found.ratio("a", "b")):
        with pytest.raises(hg.OptionError, match=r"counts in up to 2 groups; ask without groups="):
            figure.interval(of="population")
    for one in (found["a"], found.total(["a"])):
        assert one.interval(of="population").of == "population"
