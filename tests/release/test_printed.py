"""What is printed for people: units, names, numbers, and figures that mean nothing."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from functools import partial
from html import escape
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.core.exact import decimal
from hourglass.core.limits import per_person
from hourglass.estimate.interval import Interval
from hourglass.release.outside import Side, _cell
from hourglass.release.rendering import bound, clamped, grouped, hidden, listed, named, paragraphs

DATA = pa.table({
    "g": ["a", "b"] * 500,
    "x": np.linspace(0.0, 100.0, 1000),
    "yes": [True, False, False, True, False] * 200,
    "city of birth": ["u", "v"] * 500,
})  # fmt: skip
BY: dict[str, Any] = {"by": "g", "keys": ["a", "b", "none"]}
SURE: dict[str, Any] = {"epsilon": 50}


@pytest.fixture(autouse=True)
def same_noise() -> None:
    """Each test draws the same noise, whatever other tests drew before it."""
    SURE["bits"] = hg.SeededBits(3)


def row(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{name} "))


# --- numbers and names -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (0, "0"),
        (-0.0, "0"),
        (100000.0, "100,000"),
        (-1e12, "-1,000,000,000,000"),
        (123456789, "123,456,789"),
        (6888.623433758429, "6,888.62"),
        (1234567.5, "1,234,568"),
        (2.5, "2.5"),
        (0.000123456789, "0.000123457"),
        (1e-7, "1e-7"),
        (1e300, "1e300"),
        (2**64, "1.84467e19"),
    ],
)
def test_bounds_are_printed_to_six_digits(end: float, told: str) -> None:
    assert bound(end) == told


def test_ranges_and_names() -> None:
    assert clamped((0, 100000.0)) == "[0, 100,000]"
    assert [named(n) for n in ("age", "größe", "Income, EUR", " a ", "a\nb", "0")] == [
        "age", "größe", "'Income, EUR'", "' a '", "'a\\nb'", "column 0",
    ]  # fmt: skip
    assert named("city = 'Rome'") == """\"city = 'Rome'\""""
    assert named("\"größe\" = 'M'") == "(\"größe\" = 'M')"
    assert [listed(list(names)) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
    told = f"{'x' * 70} [2,000, 7,000]."
    assert paragraphs([told]).splitlines() == ["x" * 70, "[2,000, 7,000]."]
    assert grouped(("g", "city of birth")) == " by g and 'city of birth'"
    assert grouped(()) == ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(repr(0.1 + 0.2)), "0.30000000000000004"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 10**6), "1e-6"),
    ],
)
def test_exact_numbers(value: Fraction, told: str) -> None:
    assert decimal(value) == told


def test_the_terms_of_an_answer() -> None:
    names = ["g", "Income, EUR", "yes", "city of birth"]
    found = hg.mean(
        DATA.rename_columns(names), "Income, EUR", bounds=(0, 100000.0), epsilon=0.1 + 0.2,
        by="g", delta="1e-6",
    )  # fmt: skip
    assert "Mean of 'Income, EUR', clamped to [0, 100,000]." in str(found)
    assert "epsilon 0.30000000000000004, delta 1e-6, one row" in str(found)
    assert escape("private mean of 'Income, EUR' by g") in found._repr_html_()
    arrays = hg.mean(np.zeros((9, 2)), bounds=(0, 1), epsilon=1)
    assert "Means of column 0 and column 1, clamped to [0, 1]." in str(arrays)
    count = hg.count(DATA, epsilon=1, by=["g", "city of birth"], delta="1e-6")
    assert escape("private number of rows by g and 'city of birth'") in count._repr_html_()
    assert str(hg.count(DATA, epsilon=1)).split()[0] == "estimate"


def test_a_person_in_several_groups_counts_once_in_each() -> None:
    told = hidden(str(per_person("id", groups=2)))
    assert told == (
        "one person (each id counts once per group, with the mean of their rows, in up to 2 groups)"
    )
    assert hidden(str(per_person("id")), averaged=False) == "one person (each id counts once)"


def test_sums_of_whole_numbers_are_whole() -> None:
    alone = hg.mean(DATA, "yes", bounds=(0, 1), epsilon=1)
    assert re.fullmatch(r"sum +[0-9]+ +[0-9]+ +[0-9]+", row(str(alone), "sum"))
    groups = hg.mean(DATA, "yes", bounds=(0, 1), epsilon=1, by="g", keys=["a", "b"])
    assert "." not in row(str(groups), "a").split()[-2]
    assert "." not in row(str(groups.total()), "sum")


# --- shares in per cent ----------------------------------------------------------------------


def test_shares_are_in_per_cent_everywhere() -> None:
    found = hg.mean(DATA, "yes", bounds=(0, 1), by="g", keys=["a", "b"], **(SURE | {"epsilon": 5}))
    assert str(found).split()[1] == "share"
    assert re.match(r"share +(40|39)\.[0-9]+ % +", row(str(found.total()), "share"))
    assert row(str(found.difference("a", "b")), "share of a minus share of b").count(" pp") == 3
    assert "percentage points" in str(found.difference("a", "b"))
    assert "%" not in row(str(found.ratio("a", "b")), "share of a / share of b")
    as_sum = hg.sum(DATA, "yes", bounds=(0, 1), by="g", keys=["a", "b"], **SURE)
    assert str(as_sum).split()[5:7] == ["to", "share"]
    assert list(found.columns())[:2] == ["g", "mean"]
    both = hg.mean(DATA, ["yes", "x"], bounds={"yes": (0, 1), "x": (0, 100)}, **SURE)
    assert str(both).split()[1] == "mean"


# --- totals, differences and ratios ----------------------------------------------------------


def test_derived_figures_are_printed_like_answers() -> None:
    found = hg.mean(DATA, "x", bounds=(0, 100), by="g", keys=["a", "b"], **SURE)
    for each in (found.total(), found.difference("a", "b"), found.ratio("a", "b")):
        assert str(each) == each.text()
        assert "estimate" in str(each)
        html = each._repr_html_()
        assert html.startswith('<table class="hourglass">')
        assert "NOT PRIVATE" in html
        assert "NoisyTotals" not in repr(each) + str(each)
    assert re.fullmatch(
        r"Difference\(difference=[-0-9.]+, keys=\('a', 'b'\), private=False\)",
        repr(found.difference("a", "b")),
    )
    assert "they cover the noise, not sampling error." in " ".join(str(found.total()).split())


def test_figures_of_several_groups_say_which_have_too_few_records() -> None:
    """As their rows in the answer do. There was a dash in place of the figure, and no reason."""
    means = hg.mean(DATA, "x", bounds=(0, 100), **BY, **SURE)
    counts = hg.count(DATA, **BY, **SURE)
    for each, told in (
        (means.total(["none"]), "The total has too few records."),
        (means.difference("a", "none"), "none has too few records."),
        (means.difference("a", "none", of="sum"), "none has too few records."),
        (means.ratio("none", "b"), "none has too few records."),
        (counts.total(["none"]), "The total has too few records."),
        (counts.difference("a", "none"), "none has too few records."),
    ):
        assert told in each.text().splitlines()
        assert told in each._repr_html_()
        assert (each.few(), each.to_dict()["few"]) == (True, True)
    for each in (means.total(), means.difference("a", "b"), counts.difference("a", "b")):
        assert "too few" not in each.text() + each._repr_html_()
        assert not each.to_dict()["few"]
        assert each.few(5000)
        assert each.to_dict(fewest=5000)["few"]
    assert "a and b have too few records." in means.ratio("a", "b").text(fewest=501)
    assert "The total has too few records." in counts.total().text(fewest=1001)
    with pytest.raises(hg.OptionError, match="fewest=0 is not a whole number of 1 or more"):
        means.total().text(fewest=0)


def test_figures_of_several_groups_say_what_values_were_clamped_to() -> None:
    """Without the answer they come from. They said "clamped to the bounds", without the bounds."""
    found = hg.mean(DATA, "x", bounds=(-60, 300), **BY, **SURE)
    derived = [found.total(), found.difference("a", "b"), found.ratio("a", "b")]
    for each in [*derived, found.difference("a", "b", of="sum"), found.total(["a"])]:
        told = "for these records, clamped to [-60, 300]; they cover the noise"
        assert told in " ".join(each.text().split())
        assert "[-60, 300]" in " ".join(each._repr_html_().split()).replace("\xa0", " ")
        assert each.to_dict()["bounds"] == [-60, 300]
    for one in derived:
        told = "Intervals of these records, clamped to [-60, 300], cover the noise only"
        assert told in " ".join(one.text(population=True).split())
    assert "bounds" not in hg.count(DATA, **BY, **SURE).total().to_dict()


# --- groups without records ------------------------------------------------------------------


def test_the_mean_of_no_records_is_not_printed() -> None:
    found = hg.mean(DATA, "x", bounds=(0, 100), **BY, **SURE)
    assert str(found).splitlines()[0].split()[-1] == "note"
    assert row(str(found), "none").split()[1] == "–"
    assert row(str(found), "a").split()[1] != "–"
    assert 0 <= found["none"].mean <= 100  # exports have it
    assert np.isfinite(found.columns()["mean"]).all()
    assert row(str(found["none"]), "mean").split()[1] == "–"
    assert row(str(hg.sum(DATA, "x", bounds=(0, 100), **BY, **SURE)), "none").split()[4] == "–"
    columns = hg.mean(DATA, ["x", "yes"], bounds={"x": (0, 100), "yes": (0, 1)}, **BY, **SURE)
    assert row(str(columns), "none").split()[2] == "–"
    assert row(str(columns["none"]), "x").split()[1] == "–"
    assert str(columns["none"]).splitlines()[0].endswith("note")
    assert str(hg.count(DATA, **BY, **SURE)).splitlines()[0].endswith("note")


def test_a_mean_that_may_be_anything_lies_between_the_bounds_as_given() -> None:
    """The decimals followed the noise of the count: "0 10" in one row, "0.0 10.0" in others."""
    terms: dict[str, Any] = {"by": "g", "keys": [f"none {i}" for i in range(30)], "epsilon": 1}
    for column, bounds, told in (("x", (0, 10), "0 10"), ("yes", (0, 1), "0 % 100 %")):
        text = str(hg.mean(DATA, column, bounds=bounds, bits=hg.SeededBits(5), **terms))
        ends = [re.sub(" +", " ", line) for line in text.splitlines() if " – " in line]
        assert len(ends) > 20
        assert sum(f" – {told} " in line for line in ends) > 20
        assert not any(".0" in line for line in ends)


def test_few_records_whose_mean_is_known_have_one() -> None:
    found = hg.mean(DATA, "x", bounds=(0, 100), **BY, **SURE)
    told = row(found.text(fewest=600), "a")
    assert told.endswith("too few records")
    assert told.split()[1] != "–"


def test_the_mean_of_a_total_that_may_be_anything_is_not_printed() -> None:
    """The noise of both bounds is larger than the range, but there are records."""
    terms: dict[str, Any] = BY | {"epsilon": "1/5000", "keys": ["a", "b"]}
    asked = (hg.mean(DATA, "x", bounds=(0, 100), bits=hg.SeededBits(i), **terms) for i in range(4))
    totals = [found.total() for found in asked]
    assert any(found.count for found in totals)
    for found in totals:
        assert tuple(found.interval()) == (0.0, 100.0)
        assert row(found.text(), "mean").split() == ["mean", "–", "0", "100"]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1/5000", "50"])
def test_a_group_that_tells_nothing_makes_a_comparison_unknown(epsilon: str) -> None:
    """Both the group with no records and the group whose mean may be anything, on either side."""
    for seed in range(2):
        bits, sure = hg.SeededBits(seed), epsilon == "50"
        found = hg.mean(DATA, "x", bounds=(0, 100), bits=bits, **(BY | {"epsilon": epsilon}))
        for a, b in permutations(BY["keys"], 2):
            for pair in (found.difference(a, b), found.ratio(a, b)):
                told = next(line for line in str(pair).splitlines() if line.startswith("mean of"))
                assert ("–" in told.split()) == (not sure or "none" in (a, b))


def test_a_sum_of_yes_and_no_is_not_called_a_share() -> None:
    one, groups = (hg.sum(DATA, "yes", bounds=(0, 1), **by, **SURE) for by in ({}, BY))
    assert row(str(one), "sum").split()[1] == "400"
    assert row(str(one), "share").split()[1].startswith("40.0")
    assert str(groups).splitlines()[0].split()[:2] == ["g", "sum"]
    assert row(str(hg.count(DATA, **SURE)), "count").split()[1] == "1,000"


def test_few_is_whether_the_count_may_be_below_the_fewest() -> None:
    """At, below and above the lower end of the interval, of one answer and of groups."""
    for ask in (partial(hg.mean, DATA, "x", bounds=(0, 100)), partial(hg.count, DATA)):
        one: Any = ask(epsilon=1)
        groups: Any = ask(epsilon=1, by="g", keys=["a", "b"])
        of = {} if isinstance(one, hg.Count) else {"of": "count"}
        least = int(one.interval(0.95, **of).low)
        for fewest in range(least - 2, least + 3):
            assert bool(one.few(fewest)) == (least < fewest)
        lows = [int(groups[key].interval(0.95, **of).low) for key in groups]
        for fewest in range(min(lows) - 2, max(lows) + 3):
            assert groups.few(fewest).tolist() == [low < fewest for low in lows]


@pytest.mark.parametrize("fewest", [True, 0, -1, 1.5, "3", None])
def test_the_fewest_records_are_a_whole_number(fewest: Any) -> None:
    for answer in (hg.mean(DATA, "x", bounds=(0, 1), **SURE), hg.count(DATA, **SURE)):
        with pytest.raises(hg.OptionError, match="is not a whole number of 1 or more"):
            answer.few(fewest)


@pytest.mark.parametrize("confidence", ["0.95", None, 95, True])
def test_the_confidence_of_a_table_is_checked(confidence: Any) -> None:
    one = hg.mean(DATA, "x", bounds=(0, 1), **SURE)
    found = hg.find_bounds(DATA, "x", epsilon=1)
    for call in (one.text, partial(one.text, population=True), found.most_outside):
        with pytest.raises(hg.OptionError, match=r"give a number such as 0\.95"):
            call(confidence)


# --- values outside the bounds, by group -----------------------------------------------------


def test_shares_outside_are_intervals() -> None:
    found = hg.mean(DATA, "x", bounds=(0, 60), outside="1/5", **BY, **(SURE | {"epsilon": 2}))
    text = str(found)
    assert re.search(r"≤ [0-9.]+ % +[0-9.]+–[0-9.]+ %$", row(text, "a"))
    assert row(text, "none").split()[-2:] == ["–", "–"]
    cells = re.findall(r"[0-9.]+(?= %|–)", "".join(row(text, g)[-26:] for g in "ab"))
    assert len({len(cell.partition(".")[2]) for cell in cells}) == 1
    for group in "ab":
        low, high = map(float, re.findall(r"([0-9.]+)–([0-9.]+) %", row(text, group))[0])
        exact = found[group].outside.above.interval(of="share")
        assert low <= 100 * exact.low < 100 * exact.high <= high
    words = " ".join(text.split())
    assert "Values below make the clamped mean too high, values above make it too low." in words
    assert "90 % intervals of the share" in " ".join(found.text(0.9).split())
    assert len(max(text.splitlines(), key=len)) <= 80


@pytest.mark.enumeration
@pytest.mark.parametrize("places", [0, 1, 2])
def test_shares_are_rounded_outwards_by_less_than_a_step(places: int) -> None:
    step = 10.0**-places
    ends = [i / 1999 for i in range(0, 2000, 37)]
    for low, high in combinations([0.0, 0.07, 0.5, 1.0, *ends], 2):
        if low < high and (low, high) != (0.0, 1.0):
            told = [float(end) for end in re.findall("[0-9.]+", _cell(low, high, places))]
            below, above = told if len(told) == 2 else (0.0, *told)
            assert below <= 100 * low + 1e-9 < below + step + 2e-9
            assert above - step - 2e-9 < 100 * high - 1e-9 <= above


@pytest.mark.parametrize("lower", [-1, 30])
@pytest.mark.parametrize("upper", [60, 1000])
def test_what_weighs_more_is_unknown_only_if_values_lie_on_both_sides(
    lower: int, upper: int
) -> None:
    found = hg.mean(DATA, "x", bounds=(lower, upper), outside="1/2", **(SURE | {"epsilon": 100}))
    told = "Which of the two weighs more is not known." in " ".join(str(found).split())
    assert told == (lower == 30 and upper == 60)


@pytest.mark.enumeration
def test_the_shares_below_a_table_are_rounded_outwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of 0.1249 % is not at most 0.12 %, and an interval that ends at zero says 0 %."""
    found = hg.mean(DATA, "x", bounds=(0, 60), outside="1/2", **(SURE | {"epsilon": 100}))
    for low, high, told in [
        (0, 0, "At most 0 % of the values lie below 0,"),
        (0, 0.001241, "At most 0.125 % of the values"),
        (0, 0.0452, "At most 4.6 % of the values"),
        (0.1249, 0.1671, "(95 % interval 12.4 to 16.8 %)"),
    ]:
        ends = Interval(low, high, 0.95, "share", "valid")
        monkeypatch.setattr(Side, "interval", lambda *args, ends=ends, **of: ends)
        assert told in " ".join(str(found).split())


def test_a_table_of_spreads_says_where_their_intervals_are() -> None:
    """It has no room for them, and noise can make a spread zero."""
    found = hg.mean(DATA, "x", bounds=(0, 60), spread=True, **BY, **SURE)
    told = "std, and can make it zero; its intervals are in columns(0.95) and CSV files."
    assert told in " ".join(str(found).split())
    assert told in " ".join(found.text(population=True).split())
    assert told not in " ".join(str(found["a"]).split())


def test_shares_outside_without_any_width() -> None:
    """With almost no noise and no value outside, every interval is from 0 to 0."""
    terms: dict[str, Any] = BY | SURE | {"epsilon": 100, "keys": ["a", "b"]}
    found = hg.mean(DATA, "x", bounds=(-1, 1000), outside="1/2", **terms)
    for side in (found["a"].outside.below, found["a"].outside.above):
        assert tuple(side.interval(of="share")) == (0.0, 0.0)
    assert row(str(found), "a").split()[-6:] == ["≤", "0", "%"] * 2


# --- statements ------------------------------------------------------------------------------


def test_the_statement_says_what_is_public_and_what_is_not_covered() -> None:
    words = hg.mean(DATA, "x", bounds=(0, 100000.0), epsilon=1, by="g", keys=["a"]).statement()
    for said in (
        "Values were clamped to [0, 100,000];",
        "Not protected: the bounds, the grid, the request and the names of the groups (g), all of "
        "which are public. Nothing else is released unprotected.",
        "how long the database takes",
        "and other releases on the same data.",
    ):
        assert said in str(words)
    assert "privacy unit: row" in words.yaml
    told = hg.mean(DATA, "x", bounds=(0, 9), epsilon=1, outside="1/10").statement().yaml
    assert "exactly 1; 0.1 of it is spent on counting the values outside the bounds" in told
    assert "drawn at" not in told
    whose = hg.per_person("g", rows=4)
    told = hg.mean(DATA, "x", bounds=(0, 9), epsilon=1, outside="1/10", unit=whose).statement().yaml
    assert "exactly 1; 0.025 per record is spent on counting the values outside the bounds" in told
    assert "the other noise is drawn at epsilon 0.225 per record, since one unit may" in told
    count = str(hg.count(DATA, epsilon=1).statement())
    assert "Not protected: the request, which is public." in count


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_installed_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = hg.mean([1.0], bounds=(0, 2), epsilon=1)
    method = f"to_{name.removeprefix('py')}"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(hg.OptionError, match=f"{method} needs the package {name}; install it"):
        getattr(answer, method)()
