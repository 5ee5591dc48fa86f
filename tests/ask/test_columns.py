"""``hg.mean`` of several columns: one epsilon, one count, a release for each column."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.ask.run import run
from tests.tools import as_likely_as, command, long

RNG = np.random.default_rng(20)
ROWS = 4000
TABLE = pd.DataFrame({
    "delay": RNG.normal(10.0, 30.0, ROWS),
    "late": RNG.random(ROWS) < 0.2,
    "distance": RNG.integers(80, 5000, ROWS),
    "carrier": RNG.choice(["UA", "AA", "B6"], ROWS),
    "plane": RNG.integers(0, 300, ROWS),
})  # fmt: skip
BOUNDS = {"delay": (-60, 300), "late": (0, 1), "distance": (0, 5000)}
COLUMNS = list(BOUNDS)
SURE: dict[str, Any] = {"bounds": BOUNDS, "epsilon": 60}  # hardly any noise


def clamped(frame: pd.DataFrame = TABLE) -> dict[str, float]:
    return {name: float(frame[name].astype(float).clip(*BOUNDS[name]).mean()) for name in BOUNDS}


# --- what comes back ------------------------------------------------------------------------


def test_each_column_has_a_release_and_all_share_the_count() -> None:
    found = hg.mean(TABLE, COLUMNS, **SURE)
    assert isinstance(found, hg.Columns)
    assert list(found) == list(found.names) == COLUMNS
    assert len(found) == 3
    assert "delay" in found
    for name, mean in clamped().items():
        assert found[name].mean == pytest.approx(mean, rel=1e-3, abs=1e-3)
        assert found[name].count == found.count == ROWS
        assert found[name].column == name
    assert found.epsilon == 60
    assert tuple(found.bounds["late"]) == (0, 1)


def test_one_pair_of_bounds_does_for_all_columns() -> None:
    found = hg.mean(TABLE, ["delay", "distance"], bounds=(0, 100), epsilon=60)
    assert found["distance"].mean == pytest.approx(TABLE["distance"].clip(0, 100).mean(), rel=1e-3)
    assert tuple(found["delay"].bounds) == (0, 100)


def test_an_expression_finds_its_column() -> None:
    """As it does in ``bounds=``, however it was spelled."""
    share = hg.expression("delay>15")
    asked: dict[str, Any] = {"bounds": {"distance": (0, 5000), share: (0, 1)}, "epsilon": 60}
    found = hg.mean(TABLE, ["distance", share], **asked)
    assert share in found
    assert found[share].mean == found["delay > 15"].mean == found.column(share).mean
    assert found[share].mean == pytest.approx((TABLE["delay"] > 15).mean(), abs=1e-3)
    groups = hg.mean(TABLE, ["distance", share], by="carrier", keys=["UA"], **asked)
    assert groups["UA"][share].column == "delay > 15"
    with pytest.raises(KeyError, match="did you mean 'delay > 15'"):
        found["delay > 16"]
    assert share == hg.expression("(delay > 15)") != hg.expression("delay > 16")
    assert share != 15


def test_by_group_the_groups_come_first() -> None:
    found = hg.mean(TABLE, COLUMNS, by="carrier", keys=["UA", "AA", "ZZ"], **SURE)
    assert list(found) == ["UA", "AA", "ZZ"]
    for carrier in ("UA", "AA"):
        rows = TABLE[TABLE["carrier"] == carrier]
        for name, mean in clamped(rows).items():
            assert found[carrier][name].mean == pytest.approx(mean, rel=1e-3, abs=1e-3)
        assert found[carrier].count == len(rows)
    assert found["ZZ"].count == 0
    assert found.count.tolist() == [found[key].count for key in found]
    assert found.column("late")["UA"].mean == found["UA"]["late"].mean
    frame = found.to_pandas(0.9)
    assert len(frame) == 9
    assert frame.columns.tolist() == [
        "carrier", "column", "mean", "sum", "count", "mean_low", "mean_high", "expected_error",
        "few",
    ]  # fmt: skip
    assert frame["carrier"].tolist()[:4] == ["UA", "UA", "UA", "AA"]
    assert frame["column"].tolist()[:4] == [*COLUMNS, "delay"]
    row = frame[(frame["carrier"] == "AA") & (frame["column"] == "distance")].iloc[0]
    assert row["mean"] == found["AA"]["distance"].mean
    assert (row["mean_low"], row["mean_high"]) == tuple(found["AA"]["distance"].interval(0.9))


def test_secret_names_are_published_by_the_shared_count() -> None:
    found = hg.mean(TABLE, COLUMNS, bounds=BOUNDS, epsilon=2, by="carrier", delta="1e-9")
    alone = hg.mean(TABLE, "delay", bounds=(-60, 300), epsilon=2, by="carrier", delta="1e-9")
    assert list(found) == ["AA", "B6", "UA"]
    assert found.threshold is not None and alone.threshold is not None  # noqa: PT018
    assert found.threshold > alone.threshold
    few = pd.concat([TABLE, TABLE.head(1).assign(carrier="rare")])
    assert "rare" not in hg.mean(few, COLUMNS, bounds=BOUNDS, epsilon=2, by="carrier", delta="1e-9")


def test_persons_count_once() -> None:
    found = hg.mean(TABLE, COLUMNS, unit=hg.per_person("plane"), **SURE)
    assert found.count == TABLE["plane"].nunique()
    clipped = TABLE.assign(**{n: TABLE[n].astype(float).clip(*BOUNDS[n]) for n in BOUNDS})
    means = clipped.groupby("plane")[COLUMNS].mean().mean()
    for name in COLUMNS:
        assert found[name].mean == pytest.approx(means[name], rel=1e-2, abs=5e-3)
    rows = hg.mean(TABLE, COLUMNS, bounds=BOUNDS, epsilon=90, unit=hg.per_person("plane", rows=3))
    assert rows.count == TABLE.groupby("plane").size().clip(upper=3).sum()


def test_a_row_is_in_all_columns_or_in_none() -> None:
    data = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": [10.0, 20.0, np.nan, 40.0]})
    whole = hg.mean(data, ["a", "b"], bounds={"a": (0, 10), "b": (0, 100)}, epsilon=60)
    assert whole.count == 2
    assert whole["a"].mean == pytest.approx(2.5, abs=0.01)
    assert whole["b"].mean == pytest.approx(25, abs=0.1)
    filled = hg.mean(
        data, ["a", "b"], bounds={"a": (0, 10), "b": (0, 100)}, missing={"a": 5}, epsilon=60
    )
    assert filled.count == 3
    assert filled["a"].mean == pytest.approx(10 / 3, abs=0.01)
    both = hg.mean(data, ["a", "b"], bounds=(0, 100), missing=0, epsilon=60)
    assert both.count == 4


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, np.ma.masked_invalid])
def test_arrays_of_two_dimensions(kind: Any) -> None:
    data = np.array([[0.0, 5.0], [1.0, 7.0], [0.5, np.nan]])
    found: Any = hg.mean(kind(data), bounds={"0": (0, 1), "1": (0, 10)}, epsilon=60)
    assert list(found) == ["0", "1"]
    assert found.count == 2
    assert found["1"].mean == pytest.approx(6, abs=0.01)
    only = hg.mean(kind(data), ["1"], bounds=(0, 10), epsilon=60)
    assert list(only) == ["1"]
    one = hg.mean(kind(data), "1", bounds=(0, 10), epsilon=60)
    assert isinstance(one, hg.Release)
    assert one.mean == pytest.approx(6, abs=0.01)
    assert only.count == 2


def test_lists_of_columns() -> None:
    a, b = [0.0, 1.0, 1.0], [3, 4, 8]
    for kind in (np.array, pd.Series, pa.array):
        found: Any = hg.mean([kind(a), kind(b)], bounds=(0, 10), epsilon=60)
        assert list(found) == ["0", "1"]
        assert found["1"].mean == pytest.approx(5, abs=0.01)
    with pytest.raises(hg.DataError, match="length"):
        hg.mean([np.array(a), np.array([1.0])], bounds=(0, 10), epsilon=60)
    # A list of numbers that also contains something else is still one column.
    assert hg.mean([0.5, np.array([1.0, 2.0])], bounds=(0, 1), epsilon=60).count == 1


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"column": []}, "column=<list> does not name columns"),
        ({"column": [str(i) for i in range(65)]}, "65 columns are asked for at once"),
        ({"column": ["delay", "delay"]}, "name 2 of the list repeats name 1"),
        ({"bounds": [(0, 9), (0, 9)]}, "a dict with a pair for each"),
        ({"bounds": {"delay": (0, 9), "distanc": (0, 9)}}, "did you mean 'distance'?"),
        ({"column": ["delay", 3]}, "does not name columns"),
        (
            {"column": ["delay", "dealy"]},
            "name 2 of the list is not a column of the table; did you mean",
        ),
        ({"bounds": {"delay": (0, 1), "late": (0, 1)}}, "column 'distance' has no bounds"),
        ({"bounds": {**BOUNDS, "x": (0, 1)}}, "key 4 of the dict is not one of the columns asked"),
        ({"bounds": {**BOUNDS, "late": (5, 5)}}, "column 'late': bounds=(5, 5)"),
        ({"bounds": [(0, 1), (0, 1), (0, 1)]}, "a dict with a pair for each"),
        ({"missing": {"delay": 999}}, "outside the bounds"),
        ({"missing": {"z": 0}}, "missing: key 1 of the dict"),
        ({"grid": {"delay": 0}}, "grid=0"),
        ({"parse": {"delay": "maybe"}}, "parse="),
        ({"algorithm": "laplace"}, "one column without spread"),
        ({"algorithm": "laplacian"}, "not one of hourglass"),
        ({"estimator": "jeffreys"}, "one column without spread"),
    ],
)
def test_bad_options_are_refused_before_the_charge(
    tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    ask = {"column": COLUMNS, "bounds": BOUNDS, "epsilon": 1, **options}
    with pytest.raises(hg.HourglassError) as caught:
        hg.mean(TABLE, budget=budget, **ask)
    assert words in str(caught.value)
    assert budget.balance().spent.epsilon == 0


@pytest.mark.slow
def test_as_many_columns_as_one_question_takes() -> None:
    """Intermediate numbers exceed the range of doubles, but none of them reaches the answer.

    Noise of level 1 moves a mean by up to 0.015 and has a probability of a hundredth; that of
    level 2 is below 1e-11.
    """
    columns = np.ones((100, 64)) * np.linspace(0, 1, 64)
    answer = hg.mean(columns, [str(i) for i in range(64)], bounds=(0, 1), epsilon=50)
    for i in range(64):
        assert answer[str(i)].mean == pytest.approx(i / 63, abs=0.02)
        assert i / 63 in answer[str(i)].interval(0.999999, simultaneous=True)


def test_bounds_are_found_for_one_column_at_a_time() -> None:
    with pytest.raises(hg.DataError, match="one column at a time"):
        hg.find_bounds(TABLE, ["delay", "distance"], epsilon=1)  # type: ignore[call-overload]


# --- budgets --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("groups", [{}, {"by": "carrier", "keys": ["UA", "AA"]}])
def test_a_request_is_charged_once_and_answered_the_same(tmp_path: Path, groups: Any) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=10)
    ask = {"bounds": BOUNDS, "epsilon": 1, "budget": budget, "request": "monday", **groups}
    first = hg.mean(TABLE, COLUMNS, **ask)
    again = hg.mean(TABLE, COLUMNS, **ask)
    assert budget.balance().spent.epsilon == 1
    assert first == again
    assert json.dumps(first.to_dict()) == json.dumps(again.to_dict())
    for changed in (["delay", "distance", "late"], ["delay", "late"], "delay"):
        bounds = BOUNDS if isinstance(changed, list) else (-60, 300)
        if changed == ["delay", "late"]:
            bounds = {name: BOUNDS[name] for name in changed}
        with pytest.raises(hg.BudgetError, match="another question"):
            hg.mean(TABLE, changed, **{**ask, "bounds": bounds})


def test_the_text_of_the_question_distinguishes_columns() -> None:
    def text(**options: Any) -> str:
        return mean_question(
            TABLE, **{"column": COLUMNS, "bounds": BOUNDS, "epsilon": 1, **options}
        ).text

    texts = [
        text(),
        text(column=COLUMNS[::-1]),
        text(bounds={**BOUNDS, "delay": (-60, 301)}),
        text(missing={"late": 0}),
        text(missing={"delay": 0}),
        text(missing=0),
        text(grid={"delay": 100}),
        text(by="carrier", keys=["UA"]),
        text(epsilon=2),
    ]
    assert len(set(texts)) == len(texts)
    assert text() == text(bounds=dict(reversed(BOUNDS.items())))


# --- error and coverage ---------------------------------------------------------------------


def answers(d: int, epsilon: str, n: int, mean: float, draws: int) -> list[hg.Columns]:
    """Many answers of d columns: the data is read once, and noise is added as in releases."""
    data = np.full((n, d), mean)
    question = mean_question(data, bounds=(0.0, 1.0), epsilon=epsilon)
    secret = question.read()
    return [
        question.answer(question.noise(secret, hg.SecureBits()), private=True) for _ in range(draws)
    ]


def measured(d: int, epsilon: str, draws: int) -> tuple[float, float, float]:
    """n^2 MSE of releases at n = 10,000, its standard error, and the closed form."""
    n, mean = 10_000, 0.5
    found = np.array([[r[name].mean for name in r] for r in answers(d, epsilon, n, mean, draws)])
    squares = (n * (found - mean)) ** 2
    each = squares.mean(axis=1)
    wanted = hg.accuracy.leading_error(epsilon, mean=mean, columns=d)
    return each.mean(), each.std() / draws**0.5, wanted


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("d", "epsilon", "draws"), [(2, "1", 3000), (3, "4", 3000), (10, "0.1", 1000)]
)
def test_the_error_is_the_closed_form(d: int, epsilon: str, draws: int) -> None:
    """Within 6 standard errors, which are below 3 %; an error 40 % larger is rejected.

    False-alarm rate: 1e-8. The columns of one answer have noise of their own: of ten, fewer
    answers suffice.
    """
    found, error, wanted = measured(d, epsilon, draws)
    assert abs(found - wanted) < 6 * error
    assert abs(found - 1.4 * wanted) > 6 * error


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("d", [2, 3, 5, 10])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_error_is_within_two_per_cent(d: int, epsilon: str) -> None:
    """40,000 answers each; false alarms below 1e-6, where the standard error is 0.4 %."""
    found, error, wanted = measured(d, epsilon, 40_000)
    assert abs(found / wanted - 1) < max(0.02, 5 * error / wanted)


@pytest.mark.parametrize(("d", "gain"), [(2, 2.4), (3, 3.7), (5, 6.0), (10, 9.5)])
def test_the_gain_over_separate_questions(d: int, gain: float) -> None:
    """Of the squared error, at a mean on the bound and epsilon 1."""
    together = hg.accuracy.leading_error(1, columns=d)
    apart = hg.accuracy.leading_error(Fraction(1, d))
    assert apart / together > gain


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "n", "runs"),
    [
        (2, 0, 60),
        (2, 5, 60),
        (5, 1, 30),
        (2, 5000, 200),
        (5, 5000, 200),
        *long(*product([2, 5], [0, 1, 5, 50], [400])),
    ],
)
def test_coverage_is_at_least_nominal(d: int, n: int, runs: int) -> None:
    """Releases at 90 %: below nominal with p < 1e-6 fails; of 200 a 60 % interval is rejected.

    Of the simultaneous intervals all have to hold at once.
    """
    mean = 0.3
    found = answers(d, "1", n, mean, runs)
    for of, truth in (("mean", mean), ("sum", n * mean), ("count", n)):
        held = (truth in r["1"].interval(0.9, of=of) for r in found)
        assert as_likely_as(0.9, held, runs), of
        everyone = (
            all(truth in each for each in r.intervals(0.9, of=of, simultaneous=True).values())
            for r in found
        )
        assert as_likely_as(0.9, everyone, runs), of
    if n == 5000:
        narrow = (mean in r["1"].interval(0.6) for r in found)
        assert not as_likely_as(0.9, narrow, runs)
        apart = (all(mean in each for each in r.intervals(0.9).values()) for r in found)
        if d == 5:
            assert not as_likely_as(0.9, apart, runs, alarm=1e-3)


def test_simultaneous_intervals_are_wider_and_say_their_confidence() -> None:
    found = hg.mean(TABLE, COLUMNS, bounds=BOUNDS, epsilon=1)
    for name in COLUMNS:
        alone, all_of = found[name].interval(0.95), found.intervals(simultaneous=True)[name]
        assert all_of.low < alone.low < alone.high < all_of.high
        assert all_of.confidence == 0.95
        third = found[name].interval(1 - 0.05 / 3)
        assert all_of.low == pytest.approx(third.low)
    wide = found.columns(0.95, simultaneous=True)
    assert wide["mean_low"][0] == found.intervals(simultaneous=True)["delay"].low
    lone = hg.mean(TABLE, "delay", bounds=(-60, 300), epsilon=1)
    assert lone.interval(simultaneous=True) == lone.interval()


def test_the_spine_answers_it() -> None:
    """The same question through ``run`` with seeded bits: the answer says that it is not
    private."""
    questions = [mean_question(TABLE, COLUMNS, bounds=BOUNDS, epsilon=1) for _ in range(2)]
    one, other = (run(question, bits=hg.SeededBits(3)) for question in questions)
    question = questions[0]
    assert one == other
    assert not one.private
    assert "NOT PRIVATE" in str(one)
    assert question.subject == "mean of delay, late, distance"


# --- the command ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_takes_several_columns(tmp_path: Path) -> None:
    path, picture = tmp_path / "t.parquet", tmp_path / "p.svg"
    TABLE.to_parquet(path)
    ask = ["mean", path, "delay", "distance", "--epsilon", 60, "--bounds-of", "delay", -60, 300]
    ask += ["--bounds-of", "distance", 0, 5000]
    told = command(*ask, "--by", "carrier", "--keys", "UA,AA", "--plot", picture)
    assert told.code == 0, told.err
    assert "delay" in told.out
    assert picture.stat().st_size > 1000
    told = command(*ask, "--format", "json", "--missing-of", "delay", 0)
    found = hg.Columns.from_dict(json.loads(told.out))
    assert found["distance"].mean == pytest.approx(clamped()["distance"], rel=1e-3)
    assert tuple(found["delay"].bounds) == (-60, 300)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["delay", "distance", "--bounds-of", "delay", "0"], "--bounds-of takes 3 values"),
        (["delay", "distance", "--bounds-of", "delay", "0", "9"], "'distance' has no bounds"),
        (["delay", "--bounds-of", "delay", "0", "9"], "needs several columns"),
        (["delay", "late", "--bounds", "0", "9", "--missing-of", "x", "1"], "--missing-of x is"),
        (["delay", "late", "--bounds-of", "dely", "0", "9"], "did you mean 'delay'?"),
        (["delay", "late", "--bounds-of", "late", "0", "1"], "add --bounds-of delay LOWER UPPER"),
        (
            ["delay", "late", *(["--bounds-of", "late", "0", "1"] * 2)],
            "--bounds-of late is given twice",
        ),
        (
            ["delay", "late", "--bounds", "0", "9", *(["--missing-of", "late", "1"] * 2)],
            "--missing-of late is given twice",
        ),
        (["delay", "--bounds", "0", "9", "--missing-of", "delay", "1"], "--missing"),
    ],
)
def test_the_command_says_what_is_wrong(tmp_path: Path, words: list[str], told: str) -> None:
    path = tmp_path / "t.parquet"
    TABLE.head(5).to_parquet(path)
    result = command("mean", path, *words, "--epsilon", 1)
    assert result.code == 2
    assert told in result.err


def test_plan_takes_the_number_of_columns() -> None:
    told = command("plan", "--bounds", 0, 1, "--records", 1000, "--epsilon", 1, "--columns", 10)
    assert told.code == 0, told.err
    assert "together" in told.out
    assert f"{(199.9 / 20.397) ** 0.5:.2f}" in told.out
    plan = hg.accuracy.plan((0, 1), 0.01, epsilon=1, columns=10)
    assert plan.records == pytest.approx(20.397**0.5 / 0.01, abs=1)
    with pytest.raises(hg.OptionError, match="columns=0"):
        hg.accuracy.expected_error(10, (0, 1), 1, columns=0)
