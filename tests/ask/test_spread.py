"""``hg.mean(..., spread=True)``: the standard deviation from the same epsilon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.totals import MOST_SQUARE
from hourglass.estimate import spread
from tests.read.places import Place
from tests.tools import as_likely_as, command, long

RNG = np.random.default_rng(19)
TABLE = pd.DataFrame({
    "x": RNG.beta(2, 8, 6000) * 100,
    "stars": RNG.integers(1, 6, 6000),
    "yes": RNG.random(6000) < 0.3,
    "g": RNG.choice(["a", "b"], 6000),
    "who": RNG.integers(0, 900, 6000),
})  # fmt: skip
SURE: dict[str, Any] = {"bounds": (0, 100), "epsilon": 60, "spread": True}
PENGUINS = Path(hg.__file__).parent / "data" / "penguins.csv"


def test_the_standard_deviation_of_the_records() -> None:
    found = hg.mean(TABLE, "x", **SURE)
    assert found.std == pytest.approx(TABLE["x"].std(ddof=0), rel=1e-3)
    assert found.variance == pytest.approx(found.std**2)
    assert found.mean == pytest.approx(TABLE["x"].mean(), rel=1e-3)
    assert found.count == 6000
    assert found.std in found.interval(of="std")
    low, high = found.interval(of="variance")
    assert (low**0.5, high**0.5) == pytest.approx(tuple(found.interval(of="std")))


@pytest.mark.parametrize("epsilon", [8, 20, 60])
def test_intervals_with_hardly_any_noise(epsilon: int) -> None:
    """They are next to a point, and still contain the truth."""
    found = hg.mean(TABLE, "x", bits=hg.SeededBits(1), **SURE | {"epsilon": epsilon})
    low, high = found.interval(0.999999, of="std")
    assert high - low < 0.2
    assert low <= TABLE["x"].std(ddof=0) <= high


def test_frames_have_the_interval_of_each_standard_deviation() -> None:
    """That of its group, whatever the other groups are; the points lie within."""
    asked: dict[str, Any] = SURE | {"epsilon": "1/2", "by": "g", "keys": ["a", "b", "none"]}
    found = hg.mean(TABLE, "x", bits=hg.SeededBits(3), **asked)
    assert not {"std_low", "std_high"} & found.columns().keys()
    frame = found.to_pandas(0.9)
    for key, std, low, high in zip(
        found, frame["std"], frame["std_low"], frame["std_high"], strict=True
    ):
        assert (low, high) == tuple(found[key].interval(0.9, of="std")), key
        assert low <= std <= high
    assert frame["std_low"][0] > 0
    assert frame["std_high"][1] < 50
    one = hg.mean(TABLE, "x", bits=hg.SeededBits(3), **SURE).columns(0.9)
    assert one["std_low"] < one["std"] < one["std_high"]
    assert {"std_low", "std_high"} <= found.to_dict(0.9)["groups"][0].keys()
    assert hg.Releases.from_dict(found.to_dict(0.9)).to_dict(0.9) == found.to_dict(0.9)


def test_the_ends_of_an_interval_are_where_it_crosses_its_quantile() -> None:
    """Of many answers at once, compared with a search; if nothing is kept, all variances are."""
    rng = np.random.default_rng(7)
    size = rng.integers(-20, 300, 400).astype(float)
    around = size * rng.random(400) * 0.25 + rng.normal(0, 4, 400)
    quantiles = np.abs(rng.normal(2, 1, (400, 17)))
    low, high = spread._kept(size, around, quantiles)
    places, tried = np.linspace(0, 0.25, 17), np.linspace(0, 0.25, 20_001)
    for i in range(400):
        left = np.abs(around[i] - tried * size[i]) <= np.interp(tried, places, quantiles[i])
        if left.any():
            ends = tried[left][[0, -1]]
            assert (low[i], high[i]) == pytest.approx(tuple(ends), abs=1.3e-5)
            assert low[i] <= ends[0] + 1e-15
            assert high[i] >= ends[1] - 1e-15
        else:
            assert high[i] - low[i] < 1.3e-5 or (low[i], high[i]) == (0.0, 0.25)
    assert spread._kept(np.ones(1), np.array([9.0]), np.ones((1, 17)))[1] == 0.25


@pytest.mark.parametrize("c", [0.0, 0.3, 0.5, 0.9971, 1.0])
def test_quantiles_between_the_means_are_close(c: float) -> None:
    law = mean_question(np.zeros(1), bounds=(0.0, 1.0), epsilon=1, spread=True).mechanism.law
    found = spread._quantiles(law, np.array([0.7, c]), 0.05)[1]
    exact = [spread._quantile(law, c, v, 0.05) for v in np.linspace(0, 0.25, 17).tolist()]
    assert found == pytest.approx(exact, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("column", "bounds"), [("stars", (1, 5)), ("yes", (0, 1))])
def test_whole_numbers_keep_their_own_grid(column: str, bounds: tuple[int, int]) -> None:
    found = hg.mean(TABLE, column, bounds=bounds, epsilon=60, spread=True)
    assert found.grid == bounds[1] - bounds[0]
    assert found.std == pytest.approx(TABLE[column].astype(float).std(ddof=0), rel=1e-2)


@pytest.mark.slow
def test_by_group_and_by_person() -> None:
    found = hg.mean(TABLE, "x", by="g", keys=["a", "b", "none"], **SURE)
    for key in "ab":
        wanted = TABLE.loc[TABLE["g"] == key, "x"].std(ddof=0)
        assert found[key].std == pytest.approx(wanted, rel=2e-3)
    assert found.stds.tolist() == [found[key].std for key in found]
    assert found.variances[0] == found["a"].variance
    errors = [found[key].expected_error for key in found]
    assert found.expected_errors.tolist() == pytest.approx(errors)
    frame = found.to_pandas()
    assert frame.columns.tolist() == [
        "g", "mean", "sum", "count", "std", "variance", "expected_error", "few",
    ]  # fmt: skip
    once = hg.mean(TABLE, "x", unit=hg.per_person("who"), **SURE)
    wanted = TABLE.groupby("who")["x"].mean().std(ddof=0)
    assert once.std == pytest.approx(wanted, rel=5e-3)
    rows = hg.mean(TABLE, "x", **SURE | {"unit": hg.per_person("who", rows=2), "epsilon": 100})
    assert rows.count == TABLE.groupby("who").size().clip(upper=2).sum()
    secret = hg.mean(TABLE, "x", by="g", delta="1e-6", **SURE)
    assert list(secret) == ["a", "b"]


def test_missing_values_are_dropped_or_filled() -> None:
    data = [0.0, 10.0, None, float("nan"), 10.0, 0.0]
    assert hg.mean(data, bounds=(0, 10), epsilon=60, spread=True).std == pytest.approx(5, abs=0.05)
    filled = hg.mean(data, bounds=(0, 10), epsilon=60, spread=True, missing=5)
    assert filled.count == 6
    assert filled.std == pytest.approx(np.std([0, 10, 5, 5, 10, 0]), abs=0.05)


@pytest.mark.slow
def test_the_same_sums_of_squares_on_every_engine(place: Place) -> None:
    """On the finest grid, where doubles could not add up the squares exactly."""
    values = [0.0, 1.0, 0.999999, 1e9, -1e9, None, float("nan"), 1 / 3, 0.7, 5e-324]
    names = ["a", "b"] * 5
    table = pa.table({"x": pa.array(values, pa.float64()), "g": names, "who": [1, 2, 3, 1, 5] * 2})
    ask: dict[str, Any] = {"bounds": (0.0, 1.0), "epsilon": 1, "spread": True}
    plain = [v for v in values if v is not None and v == v]
    grid = mean_question(np.array(plain), **ask).mechanism.grid
    cells = [grid.cell(v) for v in plain]
    assert grid.cells**2 == MOST_SQUARE
    placed = place(table)
    found = mean_question(placed["data"], "x", engine=placed.get("engine"), **ask).read().only
    assert (found.cells, found.count) == (sum(cells), len(cells))
    assert found.more == (sum(q * q for q in cells),)
    placed = place(table)
    unit = hg.per_person("who")
    once = mean_question(
        placed["data"], "x", engine=placed.get("engine"), unit=unit, **ask
    ).read().only  # fmt: skip
    wanted = mean_question(table, "x", unit=unit, **ask).read().only
    assert (once.cells, once.count, once.more) == (wanted.cells, wanted.count, wanted.more)


@pytest.mark.parametrize("size", [1, 100_000, 2_200_000])
def test_squares_of_long_columns_do_not_wrap(size: int) -> None:
    """At the upper bound, where each record adds 2^46, so that the sum exceeds 2^64."""
    for values in (np.ones(size), np.ones(size, dtype=np.float32)):
        found = mean_question(values, bounds=(0.0, 1.0), epsilon=1, spread=True).read().only
        assert found.more == (size * MOST_SQUARE,)
    whole = np.full(size, 2**23, dtype=np.int64)
    found = mean_question(whole, bounds=(0, 2**23), epsilon=1, spread=True).read().only
    assert found.more == (size * MOST_SQUARE,)


# --- what is stored, shown and refused ------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("groups", [{}, {"by": "g", "keys": ["a", "b"]}])
def test_stored_answers_come_back(tmp_path: Path, groups: dict[str, Any]) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=5)
    ask: dict[str, Any] = {
        "bounds": (0, 100), "epsilon": 1, "spread": True, "budget": budget, "request": "k",
    }  # fmt: skip
    one, two = (hg.mean(TABLE, "x", **ask, **groups) for _ in range(2))
    assert budget.balance().spent.epsilon == 1
    assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
    assert str(one) == str(two)
    with pytest.raises(hg.BudgetError, match="another question"):
        hg.mean(TABLE, "x", **ask | {"spread": False}, **groups)


@pytest.mark.slow
def test_tables_and_statements_mention_it() -> None:
    found = hg.mean(TABLE, "x", **SURE)
    assert "\nstd " in str(found)
    assert "triangle" in str(found.statement())
    assert set(found.to_dict()["intervals"]) == {"mean", "sum", "count", "std", "variance"}
    assert " std " in str(hg.mean(TABLE, "x", by="g", keys=["a"], **SURE))


@pytest.mark.slow
def test_no_values_have_a_larger_standard_deviation_than_half_the_range() -> None:
    """Also where rounding to a coarse grid is allowed for."""
    found = hg.mean([0.0, 100.0] * 500, bounds=(0.0, 100.0), grid=7, epsilon=1, spread=True)
    assert found.interval(of="std").high == 50.0
    assert found.interval(of="variance").high == 2500.0


def test_without_it_there_is_no_standard_deviation() -> None:
    found = hg.mean(TABLE, "x", bounds=(0, 100), epsilon=1)
    assert not hasattr(found, "std")
    with pytest.raises(AttributeError, match="ask with spread=True"):
        _ = found.variance
    with pytest.raises(hg.OptionError, match="need spread=True"):
        found.interval(of="std")
    assert "std" not in found.to_dict()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spread": "yes"}, "spread='yes'"),
        ({"spread": 1}, "spread=1"),
        ({"column": ["x", "stars"]}, "one column"),
        ({"algorithm": "laplace"}, "without spread"),
        ({"estimator": "jeffreys"}, "without spread"),
        ({"grid": 2**24}, "too fine"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    ask = {"column": "x", "bounds": (0, 100), "epsilon": 1, "spread": True, **options}
    with pytest.raises(hg.OptionError if "grid" not in options else hg.GridError) as caught:
        hg.mean(TABLE, **ask)
    assert words in str(caught.value)


def test_the_command_has_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    told = command("mean", path, "x", "--bounds", 0, 100, "--epsilon", 60, "--spread")
    assert told.code == 0, told.err
    assert "std" in told.out


# --- error and coverage ---------------------------------------------------------------------


def answers(values: Any, bounds: Any, epsilon: str, runs: int) -> list[hg.Release]:
    question = mean_question(values, bounds=bounds, epsilon=epsilon, spread=True)
    secret = question.read()
    return [
        question.answer(question.noise(secret, hg.SecureBits()), private=True) for _ in range(runs)
    ]


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "runs"),
    [(1, 40), (5000, 120), *long((0, 400), (5, 400), (50, 400))],
)
def test_intervals_hold_the_mean_and_the_count(n: int, runs: int) -> None:
    """Releases at 90 %: below nominal with p < 1e-6 fails; of 120 a 50 % interval is rejected."""
    mean = 0.3
    found = answers(np.full(n, mean), (0.0, 1.0), "1", runs)
    for of, truth in (("mean", mean), ("count", n), ("sum", n * mean)):
        held = (truth in release.interval(0.9, of=of) for release in found)
        assert as_likely_as(0.9, held, runs), of
    if n == 5000:
        narrow = (mean in release.interval(0.5) for release in found)
        assert not as_likely_as(0.9, narrow, runs)


@pytest.mark.parametrize("miss", [1e-9, 0.05, 0.1, 1 / 3, 0.5])
def test_quantiles_are_those_of_numpy(miss: float) -> None:
    law = mean_question(np.zeros(1), bounds=(0.0, 1.0), epsilon=1, spread=True).mechanism.law
    distances = np.abs(spread._sample(law) @ np.array([0.09 - 0.1, -0.21 - 0.1, 0.49 - 0.1]))
    found = spread._quantile(law, 0.3, 0.1, miss)
    assert found == pytest.approx(np.quantile(distances, 1 - miss), rel=1e-14)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("column", "bounds"),
    [
        ("bill_length_mm", (30, 60)),
        ("flipper_length_mm", (170, 235)),
        ("body_mass_g", (2500, 6500)),
    ],
)
@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "runs"), [("1", 40), ("4", 150), *long(("1", 400))])
def test_the_standard_deviation_of_real_columns(
    column: str, bounds: tuple[int, int], epsilon: str, runs: int
) -> None:
    """Its 90 % interval holds it in 90 % of the releases: fewer with p < 1e-6 fails.

    It is approximate, and allowed to be 2 % short.
    """
    values = pd.read_csv(PENGUINS)[column].dropna().to_numpy()
    truth = values.clip(*bounds).std()
    found = answers(values, bounds, epsilon, runs)
    assert as_likely_as(0.88, (truth in each.interval(0.9, of="std") for each in found), runs)
    if epsilon == "4":
        narrow = (truth in each.interval(0.5, of="std") for each in found)
        assert not as_likely_as(0.88, narrow, runs)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_error_of_the_mean_is_the_closed_form() -> None:
    """Within 6 standard errors; an error 30 % larger is rejected. False-alarm rate: 1e-8."""
    n, runs = 10_000, 4000
    found = np.array([r.mean for r in answers(np.full(n, 0.5), (0.0, 1.0), "1", runs)])
    squares = (n * (found - 0.5)) ** 2
    mechanism = mean_question(np.zeros(1), bounds=(0.0, 1.0), epsilon=1, spread=True).mechanism
    wanted = float(mechanism.law.mean_error[1])
    error = squares.std() / runs**0.5
    assert abs(squares.mean() - wanted) < 6 * error
    assert abs(squares.mean() - 1.3 * wanted) > 6 * error
