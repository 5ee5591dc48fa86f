"""``outside=``: how many values lie below and above the bounds, from a share of epsilon."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.audit.exact import exact_audit, exact_finding
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals
from hourglass.estimate.outside import share_of, side_interval
from hourglass.mechanisms.base import make
from hourglass.mechanisms.count import LaplaceCount
from hourglass.mechanisms.outside import OutsideCounts
from hourglass.read.sides import sides_of
from tests.read.places import Place
from tests.tools import command

INF, NAN = float("inf"), float("nan")
#: The bounds, the doubles next to them, and missing values.
REALS = [
    0.0, -0.0, -5e-324, np.nextafter(0.0, -1), 1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 0),
    INF, -INF, NAN, None, 0.5, -3.0, 7.0, 1e308, -1e308,
]  # fmt: skip
TABLE = pa.table({
    "x": pa.array(REALS, pa.float64()),
    "n": pa.array([0, -1, 1, 2, None, 10, 11, 2**62, -(2**62), 5, 0, 10, -7, 11, 3, None]),
    "g": ["a", "b"] * 8,
    "who": [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6],
})  # fmt: skip
ASK: dict[str, Any] = {"bounds": (0.0, 1.0), "epsilon": 1, "outside": "1/10"}


def sides(data: Any, column: Any, **options: Any) -> Any:
    """The exact numbers of values below and above; lists for several groups or columns."""
    question = mean_question(data, column, **ASK | options)
    found = question.read()
    totals = found.only if question.keys is None else question.keys.padded(found).totals
    assert question.outside is not None
    parts = totals.more[-len(question.outside.sums) :]
    return [part.tolist() if hasattr(part, "tolist") else part for part in parts]


def wanted(rows: list[Any], lower: Any, upper: Any) -> list[int]:
    there = [row for row in rows if row is not None and row == row]
    return [sum(row < lower for row in there), sum(row > upper for row in there)]


def person_sides(column: str, lower: Any, upper: Any) -> list[int]:
    found: dict[Any, int] = {}
    for who, x in zip(TABLE["who"].to_pylist(), TABLE[column].to_pylist(), strict=True):
        if x is not None and x == x:
            found[who] = found.get(who, 0) + (x > upper) - (x < lower)
    return [sum(side < 0 for side in found.values()), sum(side > 0 for side in found.values())]


def asked(place: Place) -> Callable[..., Any]:
    def of(column: Any, **options: Any) -> Any:
        placed = place(TABLE)  # a stream is read once
        return sides(placed["data"], column, engine=placed.get("engine"), **options)

    return of


@pytest.mark.slow
def test_the_same_numbers_in_every_place(place: Place) -> None:
    of = asked(place)
    rows, whole = TABLE["x"].to_pylist(), TABLE["n"].to_pylist()
    assert of("x") == wanted(rows, 0, 1)
    assert of("x", missing=0.5) == wanted(rows, 0, 1)
    assert of("n", bounds=(0, 10)) == wanted(whole, 0, 10)
    assert of("n", bounds=(0.5, 10.5)) == wanted(whole, 0.5, 10.5)
    assert of("n", bounds=(0, 10), missing=3) == wanted(whole, 0, 10)
    both = [(x, n) for x, n in zip(rows, whole, strict=True) if None not in (x, n) and x == x]
    xs, ns = [x for x, _ in both], [n for _, n in both]
    ranges = {"x": (0.0, 1.0), "n": (0, 10)}
    assert of(["x", "n"], bounds=ranges) == wanted(xs, 0, 1) + wanted(ns, 0, 10)
    a, b = wanted(rows[::2], 0, 1), wanted(rows[1::2], 0, 1)
    by_group = of("x", by="g", keys=["a", "z", "b"])
    assert by_group == [[a[0], 0, b[0]], [a[1], 0, b[1]]]


@pytest.mark.slow
def test_the_same_persons_in_every_place(place: Place) -> None:
    """A person who counts once is on one side: the one where more of their rows lie."""
    of, once = asked(place), hg.per_person("who")
    assert of("x", unit=once) == person_sides("x", 0, 1)
    assert of("n", unit=once, bounds=(0, 10)) == person_sides("n", 0, 10)
    two = hg.per_person("who", rows=2, groups=2)
    options: dict[str, Any] = {"unit": two, "by": "g", "keys": ["a", "b"], "spread": True}
    assert of("x", **options) == sides(TABLE, "x", **options)
    assert of("x", unit=hg.per_person("who", rows=9)) == wanted(TABLE["x"].to_pylist(), 0, 1)


@pytest.mark.engine("postgres")
def test_decimals_of_a_server_are_not_clamped_away(postgres_url: str) -> None:
    from tests.read.places import postgres

    rows = [Decimal("0.5"), Decimal("1.0000000001"), Decimal("-0.1"), Decimal(1), None]
    table = pa.table({"x": pa.array(rows, pa.decimal128(20, 10))})
    assert sides(postgres(postgres_url)(table)["data"], "x") == [1, 1]
    assert sides(table, "x") == [1, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float32, bool])
def test_arrays_of_every_type(dtype: Any) -> None:
    values = np.array([0, 1, 2, 100, 127], dtype=dtype)
    for bounds in ((1, 100), (-5, 3), (1, 2**31), (-(2**31), 2), (500, 600), (-9, -3), (1, 2)):
        if dtype is not bool:
            assert sides(values, None, bounds=bounds) == wanted(values.tolist(), *bounds)
    if dtype is bool:
        assert sides(values, None, bounds=(0, 1)) == [0, 0]
    masked = np.ma.masked_array(values, mask=[True, False, False, False, True])
    assert sides(masked, None, bounds=(0, 1)) == wanted(values[1:4].tolist(), 0, 1)


@pytest.mark.parametrize("text", ["9223372036854775808", "9223372036854775807", "-1", "9" * 30])
def test_integers_in_text_beyond_64_bits(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"x\n{text}\n")
    top = 2**63 - 1
    found = sides(tmp_path / "t.csv", "x", bounds=(top - 9, top), parse="integer")
    assert found == wanted([int(text)], top - 9, top)


# --- the law --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.enumeration
@pytest.mark.parametrize("columns", [1, 2])
def test_a_record_moves_the_counts_of_a_column_by_one_in_all(columns: int) -> None:
    law = OutsideCounts(Fraction(1, 10), columns)
    found = exact_audit(law)  # type: ignore[arg-type]
    assert found.holds
    assert found.figures["loss"] == "1/10"
    # The whole share on each column would be rejected, and so would a record on both sides.
    assert not exact_finding(law.lattice(), claimed=law.epsilon * Fraction(99, 100)).holds


def test_the_price_is_divided_exactly() -> None:
    question = mean_question(TABLE, "x", **ASK | {"epsilon": 3, "outside": "1/7"})
    assert question.epsilon == 3
    assert question.outside is not None
    assert (question.outside.rate, question.mechanism.epsilon) == (Fraction(3, 7), Fraction(18, 7))
    unit = hg.per_person("who", rows=2)
    question = mean_question(TABLE, ["x", "n"], **ASK | {"epsilon": 3, "unit": unit})
    assert question.outside is not None
    assert (question.outside.epsilon, question.outside.rate) == (Fraction(3, 20), Fraction(3, 40))
    assert question.mechanism.epsilon == Fraction(27, 20)


@pytest.mark.slow
@pytest.mark.statistical
def test_intervals_have_their_nominal_coverage() -> None:
    """4,000 answers: below 0.95 less four standard errors with a probability below 1e-4 each if
    they held at just that rate; they hold more often, counts being whole."""
    data = np.repeat([-1.0, 0.5, 2.0], [0, 180, 20])
    missed = [0, 0, 0]
    for _ in range(1000):
        outside = hg.mean(data, bounds=(0, 1), epsilon=1, outside="1/2").outside
        missed[0] += 0 not in outside.below.interval()
        missed[1] += 20 not in outside.above.interval()
        missed[2] += 0.1 not in outside.above.interval(of="share")
    assert max(missed) < 0.05 * 1000 + 6 * np.sqrt(1000 * 0.05 * 0.95)


# --- answers --------------------------------------------------------------------------------

RNG = np.random.default_rng(7)
DELAYS = pd.DataFrame({"x": RNG.gamma(0.6, 40, 20_000) - 20, "g": RNG.choice(["a", "b"], 20_000)})
SURE: dict[str, Any] = {"bounds": (-60, 60), "epsilon": 60, "outside": "1/2"}


@pytest.mark.slow
def test_the_answer_says_how_clamping_biases_it() -> None:
    found = hg.mean(DELAYS, "x", **SURE)
    above = int((DELAYS["x"] > 60).sum())
    assert (found.outside.below, found.outside.above) == (0, above)
    assert found.outside.above.share == pytest.approx(above / 20_000)
    assert found.outside.above.count == above
    told = " ".join(str(found).split())
    assert "lie above 60 (95 % interval" in told
    assert "which makes the clamped mean too low." in told
    assert "of the values lie below -60, with 95 % confidence." in told
    assert "too high" not in told
    both = " ".join(str(hg.sum(DELAYS, "x", **SURE | {"bounds": (-10, 60)})).split())
    assert "which makes the clamped sum too high." in both
    assert "Which of the two weighs more is not known." in both
    assert "A share of 0.5 of epsilon" in str(found.statement())
    once = hg.mean(DELAYS.assign(who=np.arange(20_000)), "x", unit=hg.per_person("who"), **SURE)
    assert "of the persons have more values above 60 than below -60" in " ".join(str(once).split())
    several = hg.mean(DELAYS.assign(y=1.0), ["x", "y"], by="g", keys=["a", "b"], **SURE)
    assert several.columns()["above"].sum() == above
    assert "below and above the bounds are in columns() and" in " ".join(str(several).split())
    several = hg.mean(DELAYS.assign(y=1.0), ["x", "y"], **SURE)
    assert several["x"].outside.above == above
    assert "x: About" in str(several)
    assert several.to_dict()["columns"]["y"]["outside"]["above"]["count"] == 0


@pytest.mark.slow
def test_groups_frames_and_stored_answers(tmp_path: Path) -> None:
    found = hg.mean(DELAYS, "x", by="g", keys=["a", "b", "none"], **SURE)
    true = [int(((DELAYS["x"] > 60) & (DELAYS["g"] == key)).sum()) for key in ["a", "b", "none"]]
    assert [found[key].outside.above for key in found] == true
    frame = found.to_pandas(0.95)
    assert frame["above"].tolist() == frame["above_low"].tolist() == true
    assert "above 60" in str(found).splitlines()[0]
    assert max(map(len, str(found).splitlines())) <= 80
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=500, delta="1e-5")
    for groups in ({}, {"by": "g", "keys": ["a", "b"]}, {"by": "g", "delta": "1e-6"}):
        ask: dict[str, Any] = {**SURE, **groups, "budget": budget, "request": str(groups)}
        one, two = (hg.mean(DELAYS, "x", **ask) for _ in range(2))
        assert json.dumps(one.to_dict()) == json.dumps(two.to_dict())
        assert str(one) == str(two)
        with pytest.raises(hg.BudgetError, match="another question"):
            hg.mean(DELAYS, "x", **ask | {"outside": None})
    side = hg.mean(DELAYS, "x", **SURE).outside.above
    assert pickle.loads(pickle.dumps(side)).interval() == side.interval()


def test_a_question_without_it_is_the_question_of_earlier_versions() -> None:
    plain = mean_question(TABLE, "x", bounds=(0, 1), epsilon=1)
    assert "outside" not in plain.text + json.dumps(
        hg.mean([1.0], bounds=(0, 1), epsilon=1).to_dict()
    )
    assert json.loads(mean_question(TABLE, "x", **ASK).text)["outside"] == "1/10"
    with pytest.raises(AttributeError, match='outside="1/10"'):
        _ = hg.mean([1.0], bounds=(0, 1), epsilon=1).outside


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_of_a_share_spends_no_more_than_it_may(confidence: float) -> None:
    """The reach of the count and that of the number of records, read off the two ends, are missed
    with a probability of at most 1 - confidence together, and of hardly less."""
    mechanism = make("hourglass", Fraction(1), Grid(Bounds(0, 1), 1, True))
    parts, records, noisy = mechanism.parts, 10**6, 5000
    totals = NoisyTotals(0, parts * records, 1, parts)
    rate = Fraction(1, 100)
    low, high = side_interval(noisy, rate, totals, mechanism, confidence, "share")
    off = next(n for n in range(1, 1000) if (low * (records + n)).is_integer())
    reach = noisy - round(low * (records + off))
    assert high == (noisy + reach) / (records - off)
    count = 2 * float(LaplaceCount(rate).count_tail(reach + 1))
    both = count + 2 * float(mechanism.law.count_tail(off))  # type: ignore[attr-defined]
    assert 0.9 * (1 - confidence) < both <= (1 - confidence) * (1 + 1e-9)


@pytest.mark.enumeration
@pytest.mark.parametrize("kind", [*"bBhHiIlL", "?"])
def test_integers_are_compared_as_integers(kind: str) -> None:
    """Next to bounds that no double holds, and to bounds beyond the type; caught: as doubles."""
    dtype = np.dtype(kind)
    limits = (0, 1) if kind == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for low in (-(2**63), -129, -1, 0, 1, 127, 255, 2**31, 2**53, 2**53 + 1, 2**63 - 2, 2**64 - 2):
        near = {low + by for by in (-2, -1, 0, 1, 2, 3)} | {*limits}
        values = [n for n in sorted(near) if limits[0] <= n <= limits[1]]
        grid = Grid(Bounds(low, low + 1), 1, own=True)
        numbers = np.array(values, dtype=dtype)
        wanted = [sum(n < low for n in values), sum(n > low + 1 for n in values)]
        assert sides_of(numbers, grid, [-1, 1]) == wanted
        assert sides_of(numbers, grid, [1]) == wanted[1:]
        assert sides_of(numbers, grid, []) == []
        out = np.arange(len(values)) == 0
        wanted = [sum(n < low for n in values[1:]), sum(n > low + 1 for n in values[1:])]
        assert sides_of(numbers, grid, [-1, 1], out) == wanted


@pytest.mark.enumeration
def test_a_share_and_its_interval_lie_between_0_and_1() -> None:
    """Whatever the noise is: more values outside than records, fewer than none, no records."""
    mechanism = make("hourglass", Fraction(1, 2), Grid(Bounds(0, 1), 1, True))
    parts = mechanism.parts
    for noisy, records in product((-50, -1, 0, 1, 5, 40, 10**6), (-30, -1, 0, 1, 7, 19, 23, 1000)):
        totals = NoisyTotals(0, parts * records, 1, parts)
        low, high = side_interval(noisy, Fraction(1, 4), totals, mechanism, 0.95, "share")
        assert 0.0 <= low <= high <= 1.0
        share = share_of(noisy, totals)
        assert low <= share <= high if records > 0 else math.isnan(share)
        if records <= 0:
            assert high == 1.0


@pytest.mark.parametrize("share", [0, 1, -1, 2, "x", True, NAN, [1], "1/0"])
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(hg.OptionError, match="share of epsilon between 0 and 1"):
        hg.mean([1.0], **ASK | {"outside": share})


def test_where_it_is_not_offered() -> None:
    with pytest.raises(hg.OptionError, match="algorithm='swap'"):
        hg.mean([1.0], algorithm="swap", **ASK)
    with pytest.raises(hg.EpsilonError, match="nearer to 1/2"):
        hg.mean([1.0], **ASK | {"outside": "1/100000000"})
    small: dict[str, Any] = {"bounds": (0, 1), "epsilon": "1e-5", "outside": "1/8"}
    assert hg.mean(np.zeros((4, 1)), **small).outside_epsilon == Fraction("1.25e-6")
    with pytest.raises(hg.EpsilonError, match="nearer to 1/2"):  # each column gets a part of it
        hg.mean(np.zeros((4, 2)), **small)
    for algorithm in ("laplace", "staircase", "independent", "shifted"):
        assert hg.mean([5.0], algorithm=algorithm, **SURE).outside.above == 0


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(DELAYS), path)
    ask = ("mean", path, "x", "--bounds", -60, 60, "--epsilon", 60, "--outside", "1/2")
    assert "which makes the clamped mean too low" in " ".join(command(*ask).out.split())
    answer = json.loads(command(*ask, "--format", "json").out)
    assert answer["outside"]["above"]["count"] == int((DELAYS["x"] > 60).sum())
    told = command(*ask, "--by", "g", "--keys", "a", "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(told))
    assert row["above"] == row["above_low"]
    file = tmp_path / "a.parquet"
    command(*ask, "--format", "parquet", "--output", file)
    assert pq.read_table(file).column("above").to_pylist() == [int((DELAYS["x"] > 60).sum())]
    assert "clamped sum too low" in " ".join(command("sum", *ask[1:]).out.split())
    refused = command(*ask[:-1], "2")
    assert (refused.code, "--outside '2'" in refused.err) == (2, True)


# --- the flights ----------------------------------------------------------------------------


def departures() -> pd.DataFrame:
    """Delays distributed like a year of departures: most early, a few very late.

    Deterministic: quantiles of a mixture of three parts, distributed over the months.
    """
    early, late, very = ((np.arange(size) + 0.5) / size for size in (12_000, 6000, 3000))
    early, late, very = 13 * np.sqrt(early) - 15, 60 * late, 60 - 85 * np.log(1 - very)
    minutes = np.round(np.concatenate([early, late, very]))
    return pd.DataFrame({"dep_delay": minutes, "month": np.arange(21_000) % 12 + 1})


@pytest.mark.slow
def test_the_story_of_the_flights(tmp_path: Path) -> None:
    """If the interval is right for the clamped mean but far from the true mean, the answer says
    so."""
    flights = departures()
    true, clamped = flights["dep_delay"].mean(), flights["dep_delay"].clip(-60, 60).mean()
    assert true - clamped > 10
    # No value lies below, and in 1 of 40 answers the noise makes it look as if some did.
    found = hg.mean(
        flights, "dep_delay", bounds=(-60, 60), epsilon=1, outside="1/10", bits=hg.SeededBits(1)
    )
    low, high = found.interval(0.999999)
    assert low <= clamped <= high < true - 10  # misses with a probability below 1e-6
    told = " ".join(str(found).split())
    assert "Mean of dep_delay, clamped to [-60, 60]." in told
    assert "lie above 60 (95 % interval" in told
    assert "which makes the clamped mean too low." in told
    assert "too high" not in told
    share = (flights["dep_delay"] > 60).mean()
    assert share in found.outside.above.interval(0.999999, of="share")
    assert "Values were clamped to [-60, 60]" in str(found.statement())
    months = hg.mean(
        flights, "dep_delay", bounds=(-60, 60), epsilon=1, by="month", keys=list(range(1, 13)),
        outside="1/10",
    )  # fmt: skip
    head, *_ = str(months).splitlines()
    assert head.split()[-2:] == ["above", "60"]
    assert "clamped to [-60, 60]." in str(months)
    assert all(one.interval(0.999999).high < true for one in months.values())
    assert all(one.outside.above.interval(0.999999).low > 0 for one in months.values())
    path = tmp_path / "flights.parquet"
    pq.write_table(pa.Table.from_pandas(flights), path)
    ask = ("--bounds", -60, 60, "--epsilon", 1, "--outside", "1/10")
    told = " ".join(command("mean", path, "dep_delay", *ask).out.split())
    assert "clamped mean too low" in told
    plain = command("mean", path, "dep_delay", *ask[:-2]).out
    assert "Mean of dep_delay, clamped to [-60, 60]." in plain
