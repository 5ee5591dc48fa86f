"""What an answer says about how its figures were made: in print, statement, CSV and JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hourglass as hg
from hourglass.cli.output import rendered
from hourglass.release.rendering import group_label, hidden, limited

TABLE = pd.DataFrame(
    {
        "g": ["a", "b", "c"] * 100,
        "who": [f"p{i // 6}" for i in range(300)],
        "x": [np.nan if i % 5 == 0 else float(i % 40) for i in range(300)],
        "y": [0.5] * 300,
    }
)
KEYS: dict[str, Any] = {"by": "g", "keys": ["a", "b", "c", "nobody"]}


def told(answer: Any) -> str:
    return " ".join(str(answer).split())


def rows_of(answer: Any, confidence: float | None = None) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rendered(answer, "csv", confidence).decode())))


@pytest.mark.parametrize("unit", [hg.per_person("who"), hg.per_person("who", rows=2)])
def test_a_person_who_counts_in_one_group_is_said_to(unit: Any) -> None:
    mean = hg.mean(TABLE, "x", bounds=(0, 40), epsilon=1, unit=unit, **KEYS)
    count = hg.count(TABLE, epsilon=1, unit=unit, **KEYS)
    for answer in (mean, count, mean["a"], count["a"]):
        assert ", in one group" in told(answer)
        assert "in one group)" in str(answer.statement())
    for one in (mean["a"], count["a"]):
        assert type(one).from_dict(one.to_dict()) == one
    alone = hg.mean(TABLE, "x", bounds=(0, 40), epsilon=1, unit=unit)
    assert "in one group" not in told(alone) + str(alone.statement())


def test_persons_in_several_groups() -> None:
    unit = hg.per_person("who", groups=3)
    found = hg.count(TABLE, epsilon=1, unit=unit, **KEYS)
    assert "in one group" not in told(found)
    assert "in up to 3 groups" in told(found["a"])
    assert limited(str(unit), by_group=True) == str(unit)
    assert hidden("row", by_group=True) == "one row"


def test_what_replaced_missing_values_is_said() -> None:
    found = hg.mean(TABLE, "x", bounds=(0, 40), epsilon=1, missing=0, where="y < 1")
    assert "Missing values count as 0." in told(found)
    assert "Missing values count as 0." in str(found.statement())
    assert "missing values count as 0; " in found.statement().yaml
    assert found.to_dict()["missing"] == 0
    assert hg.Release.from_dict(found.to_dict()) == found
    (row,) = rows_of(found, 0.5)
    assert (row["missing"], row["where"], row["confidence"]) == ("0", "y < 1", "0.5")
    plain = hg.mean(TABLE, "x", bounds=(0, 40), epsilon=1)
    assert "issing" not in told(plain) + str(plain.statement())
    assert not {"missing", "where"} & rows_of(plain)[0].keys()


def test_of_several_columns_each_that_was_filled_is_named() -> None:
    ask: dict[str, Any] = {"bounds": {"x": (0, 40), "y": (0, 1)}, "epsilon": 1, **KEYS}
    found = hg.mean(TABLE, ["x", "y"], missing={"x": 2.5, "y": "drop"}, **ask)
    assert "Missing values of x count as 2.5." in told(found)
    assert "of y count" not in told(found)
    assert hg.Columns.from_dict(found.to_dict()) == found
    assert [row["missing"] for row in rows_of(found)] == ["2.5", ""] * 4


@pytest.mark.slow
def test_a_group_without_records_has_no_spread_and_no_shares() -> None:
    ask: dict[str, Any] = {"bounds": (0, 30), "epsilon": 60, "spread": True, "outside": "1/10"}
    found = hg.mean(TABLE, "x", **ask, **KEYS)
    row = next(line for line in str(found).splitlines() if line.startswith("nobody"))
    assert row.split() == ["nobody", "–", "0", "30", "–", "0", "*", "–", "–"]
    assert "cannot be estimated: there are too few records" in told(found["nobody"])


def test_the_total_and_the_difference_of_empty_groups_are_not_printed() -> None:
    keys: dict[str, Any] = {"by": "g", "keys": ["a", "nobody", "none"]}
    found = hg.mean(TABLE, "x", bounds=(0, 40), epsilon=60, **keys)
    assert str(found.total(["nobody", "none"])).splitlines()[2].split()[1] == "–"
    assert str(found.total(["a", "none"])).splitlines()[2].split()[1] != "–"
    assert "– " in str(found.difference("a", "nobody")).splitlines()[2]
    assert found.difference("a", "nobody").to_dict()["difference"] is not None


@pytest.mark.slow
def test_the_population_is_never_known_better_than_the_records() -> None:
    dice = np.random.default_rng(3)
    for n, epsilon in ((20, 0.3), (300, 0.1), (1500, 0.1)):
        values = dice.gamma(1.0, 3.0, n)
        found = hg.mean(values, bounds=(0, 40), epsilon=epsilon, spread=True)
        for confidence in (0.5, 0.95):
            records = found.interval(confidence)
            population = found.interval(confidence, of="population")
            assert population.low <= records.low
            assert records.high <= population.high
            assert population.kind == "approximate"


def test_the_axis_of_sums_has_room_for_groups_of_few_records() -> None:
    from hourglass.release.plot import Panel

    ask: dict[str, Any] = {"bounds": (0, 40), "epsilon": 1}
    assert Panel.of(hg.sum(TABLE, "x", **ask, **KEYS), 0.95).every
    assert not Panel.of(hg.mean(TABLE, "x", **ask, **KEYS), 0.95).every


def test_tables_align_in_a_terminal_whatever_the_names() -> None:
    """Catches widths in characters: an East Asian character takes two places, an accent none."""
    import unicodedata

    names = ["東京都千代田区", "Oslo", "e\u0301te\u0301", "", "東京 " * 30]
    table = pd.DataFrame({"g": names, "x": [1.0] * 5})
    found = hg.mean(table, "x", bounds=(0, 2), epsilon=60, by="g", keys=names)
    head, rule, *rows = str(found).split("\n\n")[0].splitlines()
    wide = {
        len(row)
        + sum(unicodedata.east_asian_width(c) in "WF" for c in row)
        - sum(unicodedata.combining(c) > 0 for c in row)
        for row in rows
        if row[-1].isdigit()
    }
    assert len(wide) == 1
    assert wide == {len(head)} == {len(rule)}
    assert len(rule) <= 80
    assert any(row.startswith("(empty) ") for row in rows)
    names = [group_label([name]) for name in ("a", " a", "a ", "", " ", "a b")]
    assert names == ["a", "' a'", "'a '", "(empty)", "' '", "a b"]


@pytest.mark.parametrize(("epsilon", "n"), [(100, 10), (20, 10**6), (100, 4)])
def test_a_total_with_hardly_any_noise_is_printed(epsilon: int, n: int) -> None:
    """Its interval is narrower than doubles can resolve; the search for it must end."""
    table = pd.DataFrame({"x": np.full(n, 0.3), "g": np.where(np.arange(n) % 2, "a", "b")})
    found = hg.mean(table, "x", bounds=(0, 1), epsilon=epsilon, by="g", keys=["a", "b"])
    assert "total of 2 groups" in str(found.total())
    assert "minus" in str(found.difference("a", "b"))
    low, high = found.total().interval(of="population")
    assert low <= found.total().mean <= high


def test_a_ratio_of_means_near_the_largest_double() -> None:
    table = pd.DataFrame({"x": [1.6e308] * 50 + [0.8e308] * 50, "g": ["a"] * 50 + ["b"] * 50})
    ask: dict[str, Any] = {"bounds": (0.0, 1.7e308), "epsilon": 50}
    found = hg.mean(table, "x", by="g", keys=["a", "b"], **ask).ratio("a", "b")
    low, high = found.interval()
    assert low <= 2.0 <= high
    assert high - low < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, KEYS])
def test_answers_are_pickled(more: dict[str, Any]) -> None:
    import copy
    import pickle

    ask: dict[str, Any] = {"epsilon": 1, **more}
    for found in (
        hg.mean(TABLE, ["x", "y"], bounds=(0, 40), **ask),
        hg.mean(TABLE, "x", bounds=(0, 40), **ask),
        hg.mean(TABLE, "x", bounds=(0, 40), spread=True, outside="1/10", **ask),
        hg.count(TABLE, **ask),
    ):
        str(found)  # what is computed on the way is not in the way
        assert str(pickle.loads(pickle.dumps(found))) == str(found)
        assert str(copy.deepcopy(found)) == str(found)


WHOLE = pd.DataFrame({"n": [0, 1] * 50, "b": [True, False] * 50, "x": [0.0, 1.0] * 50})
AS_REAL = "whole numbers, but were treated as real ones, because the bounds were given with"


@pytest.mark.parametrize(
    ("column", "options", "named"),
    [
        ("n", {}, "The values are"),
        ("b", {}, "The values are"),
        (["n", "x", "b"], {}, "The values of n and b are"),
        ("n", {"bounds": (0, 1.0)}, "The values are"),
        ("n", {"bounds": (3.0, 4.0)}, "The values are"),
        ("n", {"by": "n", "keys": [0, 1]}, "The values are"),
        ("n", {"spread": True}, "The values are"),
        ("x", {}, None),
        ("n", {"bounds": (0, 1)}, None),
        ("n", {"bounds": (0.5, 1.5)}, None),
        ("n", {"bounds": (0.0, 40.0)}, None),
        ("n", {"grid": 7}, None),
        ("n", {"unit": hg.per_person("b"), "column": "n"}, None),
    ],
)
def test_whole_numbers_between_bounds_with_decimal_points(
    column: Any, options: dict[str, Any], named: str | None
) -> None:
    """Caught: zeros and ones treated as real numbers without a word, because of (0.0, 1.0)."""
    table = WHOLE.astype({"b": str}) if "unit" in options else WHOLE
    ask = {"column": column, "bounds": (0.0, 1.0), "epsilon": 1, **options}
    answer = hg.mean(table, **ask)
    again = type(answer).from_dict(answer.to_dict())
    for each in (answer, again, answer[1] if "by" in options else answer):
        assert (AS_REAL in told(each)) is (named is not None)
        assert named is None or f"{named} {AS_REAL}" in told(each)
    assert ("share in per cent" in told(answer)) is (named is not None and ask["bounds"][0] == 0)
