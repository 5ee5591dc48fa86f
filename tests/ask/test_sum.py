"""``hg.sum``: the mean's noisy totals, presented as a sum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.sum import sum_question
from hourglass.estimate.point import sum_error
from hourglass.mechanisms.base import make
from tests.tools import command

TABLE = pd.DataFrame({
    "x": np.linspace(-20.0, 40.0, 600),
    "yes": np.arange(600) % 3 == 0,
    "g": ["a", "b"] * 300,
    "who": np.arange(600) // 4,
})  # fmt: skip
SURE: dict[str, Any] = {"bounds": (-10, 30), "epsilon": 60}
CLAMPED = TABLE["x"].clip(-10, 30)


def test_the_sum_of_clamped_values() -> None:
    found = hg.sum(TABLE, "x", **SURE)
    assert found.sum == pytest.approx(CLAMPED.sum(), abs=1e-3)
    assert found.interval() == found.interval(of="sum")
    assert CLAMPED.sum() in found.interval()
    assert found.mean in found.interval(of="mean")
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["sum", "mean", "count"]
    assert "Sum of x, clamped to [-10, 30]." in lines
    assert hg.sum([1.0, 2.0], bounds=(0, 4), epsilon=60).sum == pytest.approx(3, abs=1e-6)
    assert hg.sum(TABLE, "yes", bounds=(0, 1), epsilon=60).sum == 200


@pytest.mark.slow
def test_by_group_by_person_and_in_frames(tmp_path: Path) -> None:
    found = hg.sum(TABLE, "x", by="g", keys=["a", "b", "z"], **SURE)
    for key in "ab":
        assert found[key].sum == pytest.approx(CLAMPED[TABLE["g"] == key].sum(), abs=1e-3)
        assert found[key].asked == "sum"
    frame = found.to_pandas(0.95)
    assert list(frame) == [
        "g", "mean", "sum", "count", "sum_low", "sum_high", "expected_error", "few",
    ]  # fmt: skip
    assert frame["sum_low"].tolist() == [found[key].interval().low for key in found]
    assert str(found).splitlines()[0].split()[:2] == ["g", "sum"]
    assert found.total().sum == pytest.approx(CLAMPED.sum(), abs=1e-3)
    found.plot(tmp_path / "s.png")
    rows = hg.sum(TABLE, "x", **SURE | {"unit": hg.per_person("who", rows=1)})
    assert rows.count == 150
    secret = hg.sum(TABLE, "x", by="g", delta="1e-6", **SURE)
    assert list(secret) == ["a", "b"]


def test_many_groups_have_the_intervals_of_each() -> None:
    keys = list(range(10_001))
    table = pa.table({"k": keys, "x": np.ones(len(keys))})
    found = hg.sum(table, "x", by="k", keys=keys, bounds=(-1.5, 1e6), epsilon=1)
    columns = found.columns(0.9)
    for place in range(0, 10_001, 100):
        low, high = found[place].interval(0.9)
        assert columns["sum_low"][place] <= low
        assert columns["sum_high"][place] >= high
        assert columns["sum_high"][place] - columns["sum_low"][place] < 1.0001 * (high - low)


@pytest.mark.statistical
@pytest.mark.parametrize("bounds", [(0, 1), (-1, 1), (5, 6), (-3, -1)])
def test_the_expected_error_is_that_of_the_noise(bounds: tuple[int, int]) -> None:
    """By 20,000 draws: off by 6 % with a probability below 1e-9 (their kurtosis is below 6)."""
    found = hg.sum(np.zeros(0), bounds=bounds, epsilon=1)
    noisy = found._algorithm.noise(
        sum_question([], bounds=bounds, epsilon=1).read().only, size=20_000
    )
    lower, upper = bounds
    sums = (upper * noisy.cells.astype(float) + lower * noisy.rest.astype(float)) / found.grid
    assert np.sqrt(np.mean(sums**2)) == pytest.approx(found.expected_error, rel=0.06)
    assert found.expected_error == sum_error(
        make("hourglass", found.epsilon, found._algorithm.grid)
    )


@pytest.mark.parametrize("groups", [{}, {"by": "g", "keys": ["a", "b"]}])
def test_stored_answers_come_back(tmp_path: Path, groups: dict[str, Any]) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=5)
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "budget": budget, "request": "k"}
    one, two = (hg.sum(TABLE, "x", **ask, **groups) for _ in range(2))
    assert (two.asked, str(one)) == ("sum", str(two))
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert budget.balance().spent.epsilon == 1
    with pytest.raises(hg.BudgetError, match="another question"):
        hg.mean(TABLE, "x", **ask, **groups)


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("x", {"unit": hg.per_person("who")}, "add rows=, the most"),
        (["x", "who"], {}, "sum takes one column"),
        (None, {}, "name the column"),
        ("x", {"bounds": None}, "bounds are missing"),
    ],
)
def test_what_is_refused(column: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(hg.HourglassError, match=words):
        hg.sum(TABLE, column, **SURE | options)
    with pytest.raises(hg.DataError, match="one column"):
        hg.sum(np.zeros((3, 2)), **SURE)


def test_digits_of_a_sum_that_has_hardly_any_noise() -> None:
    """Without records, at an epsilon of 50, the sum is not printed with fifteen zeros."""
    text = str(hg.mean(TABLE, "x", bounds=(0.0, 1.0), epsilon=50, by="g", keys=["z"]))
    assert "0.0000 " in text
    assert "0.00000" not in text


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(TABLE), path)
    ask = ("--bounds", -10, 30, "--epsilon", 60)
    told = command("sum", path, "x", *ask, "--format", "json")
    assert json.loads(told.out)["sum"] == pytest.approx(CLAMPED.sum(), abs=1e-3)
    told = command("sum", path, "x", *ask, "--by", "g", "--keys", "a,b", "--format", "csv")
    assert told.out.splitlines()[0].startswith("g,mean,sum,count,sum_low")
    groups = ("--by", "g", "--keys", "a,b")
    whole = json.loads(command("sum", path, "x", *ask, *groups, "--total", "--format", "json").out)
    assert whole["total"]["sum"] == pytest.approx(CLAMPED.sum(), abs=1e-3)
    assert command("sum", path, "x", *ask, "--total").code == 2
    told = command("sum", path, "x", *ask, "--person", "who")
    assert (told.code, "add --rows, the most rows" in told.err) == (2, True)
