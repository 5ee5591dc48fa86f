"""Differences of sums, and what totals and comparisons tell about a wrong key or a wrong answer."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.errors import OptionError
from hourglass.mechanisms.base import ALGORITHMS, make
from hourglass.release.compared import Difference, SumDifference

VISITS = pd.DataFrame(
    {"g": ["good", "fair"] * 300, "x": [1.0, 3.0] * 300, "y": [2.0, 5.0] * 300}
)  # fmt: skip
ASK: dict[str, Any] = {"epsilon": 1, "by": "g", "keys": ["good", "fair"]}


def answers() -> dict[str, Any]:
    return {
        "mean": hg.mean(VISITS, "x", bounds=(0, 4), **ASK),
        "sum": hg.sum(VISITS, "x", bounds=(0, 4), **ASK),
        "columns": hg.mean(VISITS, ["x", "y"], bounds=(0, 9), **ASK),
        "count": hg.count(VISITS, **ASK),
    }


# --- differences of sums ----------------------------------------------------------------------


def test_sums_are_compared_as_sums() -> None:
    sums = answers()["sum"]
    found = sums.difference("fair", "good")
    assert isinstance(found, SumDifference)
    assert found.difference == found.value == pytest.approx(sums["fair"].sum - sums["good"].sum)
    assert found.interval().of == "sum"
    assert found.interval(0.9).kind == "valid"
    assert "sum of fair minus sum of good" in found.text()
    stored = json.loads(json.dumps(found.to_dict(0.9)))
    assert stored["difference"] == found.difference
    assert stored["interval"]["confidence"] == 0.9
    assert repr(found).startswith("SumDifference(difference=")
    with pytest.raises(OptionError, match="these records"):
        found.interval(of="population")


@pytest.mark.slow
def test_either_figure_of_either_answer_can_be_compared() -> None:
    means = answers()["mean"]
    assert isinstance(means.difference("fair", "good", of="sum"), SumDifference)
    assert not isinstance(means.difference("fair", "good"), SumDifference)
    sums = answers()["sum"].difference("fair", "good", of="mean")
    assert (type(sums).__name__, sums.interval().of) == ("Difference", "mean")
    with pytest.raises(OptionError, match="of='std' is not one of mean, sum"):
        means.difference("fair", "good", of="std")


def test_whole_sums_differ_by_a_whole_number() -> None:
    table = pd.DataFrame({"g": ["a", "b"] * 20, "x": [1, 3] * 20})
    sums = hg.sum(table, "x", bounds=(0, 4), epsilon=1, by="g", keys=["a", "b"])
    line = sums.difference("b", "a").text().splitlines()[2]
    assert "." not in line


def noisy_pairs(mechanism: Any, samples: int) -> list[tuple[NoisyTotals, NoisyTotals]]:
    """Two groups of 200 and 50 records, at a third of the range, with fresh noises."""
    G, parts = mechanism.grid.cells, mechanism.parts
    found = []
    for seed, n in enumerate((200, 50)):
        zero = mechanism.noise(Totals(0, 0), size=samples, bits=hg.SeededBits(seed))
        S = round(G * n / 3)
        found.append(
            [
                NoisyTotals(cells + parts * S, rest + parts * (G * n - S), G, parts)
                for cells, rest in zip(zero.cells.tolist(), zero.rest.tolist(), strict=True)
            ]
        )
    return list(zip(*found, strict=True))


def held(mechanism: Any, samples: int, narrower: float = 1.0) -> int:
    """In how many samples the interval of 80 % holds the true difference of the sums."""
    grid = mechanism.grid
    true = sum(
        sign * (grid.bounds.lower * n + grid.step * round(grid.cells * n / 3))
        for sign, n in ((1, 200), (-1, 50))
    )
    count = 0
    for pair in noisy_pairs(mechanism, samples):
        low, high = SumDifference(("a", "b"), (0.0, 0.0), pair, mechanism).interval(0.8)
        middle, reach = (low + high) / 2, (high - low) / 2 * narrower
        count += middle - reach <= true <= middle + reach
    return count


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-60.0, 300.0), (900.0, 1000.0)])
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if ALGORITHMS[name].by_group])
def test_coverage_of_a_difference_of_sums(algorithm: str, bounds: tuple[float, float]) -> None:
    """False alarms: 2e-8 each. Caught: the law of one noise instead of two."""
    samples = 400
    mechanism = make(algorithm, Fraction(1), Grid(Bounds(*bounds), 2**16))
    least = stats.binom.ppf(2e-8, samples, 0.8)
    assert held(mechanism, samples) >= least
    assert held(mechanism, samples, narrower=0.5) < least


def test_a_difference_of_sums_is_as_narrow_as_independent_errors_allow() -> None:
    """Caught: the intervals of both added up, which are 41 % wider."""
    sums = answers()["sum"]
    both = [np.diff(tuple(sums[key].interval())).item() for key in ("good", "fair")]
    found = np.diff(tuple(sums.difference("good", "fair").interval())).item()
    assert found <= 1.15 * float(np.hypot(*both))


# --- wrong keys, wrong answers ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mean", "sum", "count"])
def test_a_wrong_key_is_told_with_the_nearest(kind: str) -> None:
    answer = answers()[kind]
    asked: list[Callable[[], Any]] = [
        lambda: answer.total(["goood"]),
        lambda: answer.difference("goood", "fair"),
        lambda: answer.difference("fair", "goood"),
    ]
    for ask in asked:
        with pytest.raises(OptionError, match="'goood' is not a group of this answer; did you me"):
            ask()
    for keys in ("good", 3):
        with pytest.raises(OptionError, match=r"is not a list; .*total\(\[key\]\)"):
            answer.total(keys)
    with pytest.raises(OptionError, match="<list> is not a group of this answer"):
        answer.total([["good"]])


def test_one_group_of_two_columns_is_no_list_of_groups() -> None:
    table = VISITS.assign(h=1)
    answer = hg.count(table, epsilon=1, by=["g", "h"], keys=[("good", 1), ("fair", 1)])
    with pytest.raises(OptionError, match="keys=<tuple> is not a list"):
        answer.total(("good", 1))
    assert len(answer.total([("good", 1)]).keys) == 1


@pytest.mark.parametrize("name", ["total", "difference", "ratio"])
def test_an_answer_without_groups_says_what_has_them(name: str) -> None:
    found = answers()
    with pytest.raises(AttributeError, match=rf"several columns.*column\('x'\)\.{name}"):
        getattr(found["columns"], name)
    for one in (found["mean"]["good"], found["columns"]["good"], found["count"]["good"]):
        with pytest.raises(AttributeError, match=f"not by group and has no {name}"):
            getattr(one, name)
        assert not hasattr(one, "nonsense")
    with pytest.raises(AttributeError, match="counts have no ratio"):
        found["count"].ratio  # noqa: B018


@pytest.mark.parametrize("name", ["interval", "intervals"])
def test_an_answer_by_group_says_where_its_intervals_are(name: str) -> None:
    for kind in ("mean", "sum", "count"):
        with pytest.raises(AttributeError, match=r"use answer\[key\]\.interval\(confidence\)"):
            getattr(answers()[kind], name)


def test_answers_are_copied_and_pickled() -> None:
    for one in answers().values():
        assert str(copy.deepcopy(one)) == str(one)
        assert str(pickle.loads(pickle.dumps(one))) == str(one)


def test_a_group_is_named_once_however_its_key_is_written(tmp_path: Path) -> None:
    """In a text file 1 and "1" are the same group."""
    path = tmp_path / "some.csv"
    path.write_text("g,x\n" + "1,0.5\n2,0.25\n" * 50)
    found = hg.mean(path, "x", bounds=(0, 1), epsilon=1, by="g", keys=["1", "2"])
    assert found.total([1, "2"]).count == found.total(["1", 2]).count
    with pytest.raises(OptionError, match="named twice"):
        found.total([1, "1"])
    for compared in (found.difference, found.ratio):
        with pytest.raises(OptionError, match="the same group"):
            compared(1, "1")


def test_a_group_without_records_has_no_difference_to_print() -> None:
    """The mean of a negative number of records is no number, even if its interval is one-sided."""
    mechanism = make("hourglass", Fraction(1), Grid(Bounds(0, 1), 1, True))
    noisy = NoisyTotals(-5, 2, 1), NoisyTotals(50, 50, 1)
    for means, pair in (((1.0, 0.5), noisy), ((0.5, 1.0), noisy[::-1])):
        line = Difference(("a", "b"), means, pair, mechanism).text().splitlines()[2]
        assert line.split()[7] == "–"
