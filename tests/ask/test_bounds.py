"""Questions for bounds: what is accepted, what is refused, what the answer says."""

from __future__ import annotations

import json
import pickle
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.search import bounds_question
from hourglass.ledger import create_budget
from hourglass.noise import SeededBits

VALUES = np.random.default_rng(5).exponential(10.0, 5_000)


def test_what_was_found_is_passed_on_as_bounds() -> None:
    found = hg.find_bounds(VALUES, epsilon="0.3", bits=SeededBits(1))
    assert found.epsilon == Fraction(3, 10)
    assert hg.Bounds.of(found) is found.bounds
    release = hg.mean(VALUES, bounds=found, epsilon="0.7", bits=SeededBits(2))
    assert release.bounds == found.bounds
    assert abs(release.mean - VALUES.mean()) < 2


def test_the_shares_that_are_expected_outside() -> None:
    """They follow from the target of the search, without reading the data, so they cost no
    epsilon."""
    found = hg.find_bounds(VALUES, epsilon="0.3", bits=SeededBits(1))
    below, above = found.target
    assert found.shares_outside(1000) == (below / 1000, above / 1000)
    assert found.shares_outside(1) == (1.0, 1.0)
    release = hg.mean(VALUES, bounds=found, epsilon=50)
    told = " ".join(str(release).split())
    assert f"leave about {below:,} records below and about {above:,} above" in told
    table = pd.DataFrame({"x": VALUES, "g": "a"})
    asked: dict[str, Any] = {"bounds": found.bounds, "epsilon": 50, "by": "g", "keys": ["a", "b"]}
    one = hg.mean(table, "x", **asked)["b"]  # the search saw the records of all groups
    assert f"about {below:,} records below" in " ".join(str(one).split())
    assert str(hg.Release.from_dict(release.to_dict())) == str(release)
    stated = hg.mean(VALUES, bounds=tuple(found.bounds), epsilon=50)
    assert "found privately" not in str(stated)
    edge = hg.find_bounds([1e300] * 99, epsilon=9, scale=[0, 1, 2], bits=SeededBits(1))
    assert edge.shares_outside(99)[1] != edge.shares_outside(99)[1]  # NaN
    told = " ".join(str(hg.mean([1e300] * 99, bounds=edge, epsilon=50)).split())
    assert "an unknown number above" in told
    with pytest.raises(hg.OptionError, match="records=0"):
        found.shares_outside(0)


def test_bounds_of_one_column_are_not_used_for_another(tmp_path: Path) -> None:
    table = pa.table({"a": VALUES, "b": 2 * VALUES, "k": VALUES > 9})
    found = hg.find_bounds(table, "a", epsilon="0.3", bits=SeededBits(1))
    assert hg.FoundBounds.from_dict(found.to_dict()) == found
    assert found.column == found.to_dict()["column"] == "a"
    told = r"^bounds: these were found for column 'a', not 'b'; search again, or give a pair$"
    budget = create_budget(str(tmp_path / "b.db"), "b", epsilon=9)
    for ask in (hg.mean, hg.sum):
        with pytest.raises(hg.BoundsError, match=told):
            ask(table, "b", bounds=found, epsilon=1, budget=budget)
    assert budget.balance().spent.epsilon == 0
    for columns in (["a", "b"], ["b", "a"]):
        with pytest.raises(hg.BoundsError, match="for column 'a', not 'b'; give each column"):
            hg.mean(table, columns, bounds=found, epsilon=1)
    with pytest.raises(hg.BoundsError, match="column 'b': bounds: these were found for column 'a'"):
        hg.mean(table, ["a", "b"], bounds={"a": found, "b": found}, epsilon=1)
    unnamed = hg.find_bounds(VALUES, epsilon="0.3")
    assert unnamed.column is None
    assert "column" not in unnamed.to_dict()
    with pytest.raises(hg.BoundsError, match="found for one column; give each"):
        hg.mean(table, ["a", "b"], bounds=unnamed, epsilon=1)
    for bounds, data, column in (
        (found, table, "a"),
        (found, table, ["a"]),
        (found, VALUES, None),
        (unnamed, table, "b"),
        ({"0": found, "1": unnamed}, [VALUES, VALUES], None),
    ):
        hg.mean(data, column, bounds=bounds, epsilon=1)


def test_bounds_of_several_columns_say_that_they_were_found() -> None:
    table = pa.table({"a": VALUES, "b": 2 * VALUES})
    found = {name: hg.find_bounds(table, name, epsilon=1) for name in ("a", "b")}
    told = " ".join(str(hg.mean(table, ["a", "b"], bounds=found, epsilon=50)).split())
    for name in ("a", "b"):
        assert f"{name}: The bounds were found privately, to leave about" in told
    keyed = table.append_column("g", [["u", "v"] * 2500])
    by: dict[str, Any] = {"epsilon": 1, "by": "g", "keys": ["u", "v"]}
    assert "b: The bounds were found privately." in str(
        hg.mean(keyed, ["a", "b"], bounds=found, **by)
    )
    assert (
        "The bounds were found privately."
        in str(hg.mean(keyed, "a", bounds=found["a"], **by)).splitlines()
    )


def test_the_shares_outside_are_unknown_for_other_rows() -> None:
    table = pa.table({"a": VALUES})
    some = hg.find_bounds(table, "a", epsilon=1, where="a > 5")
    for bounds, where, known in (
        (some, "a > 5", True),
        (some, "a>5", True),
        (some, None, False),
        (hg.find_bounds(table, "a", epsilon=1), "a > 5", False),
    ):
        release = hg.mean(table, "a", bounds=bounds, epsilon=50, where=where)
        told = " ".join(str(release).split())
        assert ("to leave about" in told) is known
        assert ("found privately; the number of values outside is unknown." in told) is not known
        assert str(hg.Release.from_dict(release.to_dict())) == str(release)


@pytest.mark.parametrize("values", [VALUES, -VALUES, VALUES - 10, np.arange(99), [1e300] * 99])
def test_stored_and_read_back_it_is_the_same(values: Any) -> None:
    found = hg.find_bounds(values, epsilon="0.3", bits=SeededBits(1))
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["epsilon"] == "3/10"
    again = hg.FoundBounds.from_dict(stored)
    assert again == found
    assert str(again) == str(found)
    assert again.to_dict() == stored
    assert type(again.upper) is type(found.upper)
    assert pickle.loads(pickle.dumps(found)) == found


def test_seeded_bits_are_declared_in_the_answer() -> None:
    assert hg.find_bounds(VALUES, epsilon=1).private
    seeded = hg.find_bounds(VALUES, epsilon=1, bits=SeededBits(1))
    assert not seeded.private
    assert "NOT PRIVATE" in str(seeded)
    assert seeded == hg.find_bounds(VALUES, epsilon=1, bits=SeededBits(1))


def test_integers_get_integer_bounds_and_their_own_grid() -> None:
    ages = np.random.default_rng(6).integers(0, 100, 5_000)
    found = hg.find_bounds(ages, epsilon=1, bits=SeededBits(1))
    assert found.bounds.whole
    assert hg.mean(ages, bounds=found, epsilon=1).grid == found.upper - found.lower


def test_a_user_defined_scale() -> None:
    found = hg.find_bounds(VALUES, epsilon=2, scale=range(0, 200, 10), bits=SeededBits(3))
    assert found.lower % 10 == 0
    assert 40 <= found.upper <= 120
    far = np.random.default_rng(7).normal(1000.0, 2.0, 5_000)
    found = hg.find_bounds(far, epsilon=2, scale=range(900, 1101, 2), bits=SeededBits(3))
    assert 980 <= found.lower < 1000 < found.upper <= 1020


@pytest.mark.parametrize("sign", [1, -1])
def test_each_end_is_told_with_the_scan_that_found_it(sign: int) -> None:
    """The end nearer to zero with the one that returned, which has a fifth of epsilon."""
    values = sign * np.linspace(20.0, 30.0, 5000)
    found = hg.find_bounds(values, epsilon=1, scale=range(-60, 91), bits=hg.SeededBits(1))
    near, far = (found.lower, found.upper)[::sign]
    assert (19 <= sign * near <= 21, 29 <= sign * far <= 31) == (True, True)
    outward = {"epsilon": "4/5", "questions": 91 if sign > 0 else 61}
    back = {"epsilon": "1/5", "questions": abs(far)}  # from the end that was found to the pivot
    assert found.to_dict()["scans"] == [back, outward][::sign]
    assert found.target == (10, 3)[::sign]


def test_the_end_of_the_scale_is_reported() -> None:
    found = hg.find_bounds(VALUES + 1e3, epsilon=2, scale=[0, 1, 10], bits=SeededBits(3))
    assert found.edges == (False, True)
    assert "10 is the end of the scale" in str(found)


def test_the_text_states_price_and_bias() -> None:
    text = str(hg.find_bounds(VALUES, epsilon="0.3", bits=SeededBits(1)))
    first, *rest = " ".join(text.split()).partition(" The search aimed to leave about ")
    assert re.fullmatch(r"Bounds [0-9.,]+ to [0-9.,]+, found at a cost of epsilon 0\.3\.", first)
    assert "lie outside, with 95 % confidence. They are clamped, which pulls the mean" in rest[1]
    named = hg.find_bounds(pa.table({"a b": VALUES}), "a b", epsilon=1)
    assert str(named).startswith("Bounds of 'a b': ")


@pytest.mark.parametrize("nothing", [[], [None, float("nan")], np.zeros(10)])
def test_hardly_any_records(nothing: Any) -> None:
    found = hg.find_bounds(nothing, epsilon=1, bits=SeededBits(1))
    assert found.lower <= 0 <= found.upper
    assert "Both bounds are next to zero" in str(found)


def test_a_person_in_several_groups_is_refused() -> None:
    table = pa.table({"u": [1, 2], "x": [0.5, 2.0]})
    with pytest.raises(hg.OptionError, match="groups=2 does not apply to bounds"):
        hg.find_bounds(table, "x", epsilon=1, unit=hg.per_person("u", groups=2))


@pytest.mark.parametrize("lower", [-1e3, -1e-15, -5e-16, 0.0])
@pytest.mark.parametrize("upper", [1e-300, 5e-16, 1e-15, 2.0])
def test_one_bound_next_to_zero_is_nothing_special(lower: float, upper: float) -> None:
    stored = hg.find_bounds(VALUES, epsilon=1).to_dict() | {"bounds": [lower, upper]}
    told = "Both bounds are next to zero" in str(hg.FoundBounds.from_dict(stored))
    assert told == (lower > -1e-15 and upper < 1e-15)


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"epsilon": None}, hg.EpsilonError, "epsilon"),
        ({"epsilon": 0}, hg.EpsilonError, "epsilon"),
        ({"epsilon": True}, hg.EpsilonError, "epsilon"),
        ({"share": 0}, hg.OptionError, "share"),
        ({"share": 1}, hg.OptionError, "share"),
        ({"share": "most"}, hg.OptionError, "share"),
        ({"scale": [1]}, hg.BoundsError, "scale"),
        ({"scale": []}, hg.BoundsError, "scale"),
        ({"scale": [1, 1]}, hg.BoundsError, "scale"),
        ({"scale": [2, 1]}, hg.BoundsError, "scale"),
        ({"scale": [0, float("inf")]}, hg.BoundsError, "scale"),
        ({"scale": [0, None]}, hg.BoundsError, "scale"),
        ({"scale": "0,1"}, hg.BoundsError, "scale"),
        ({"scale": 7}, hg.BoundsError, "scale"),
        ({"values": [True, False]}, None, ""),
        ({"values": np.array([True])}, hg.BoundsError, "booleans"),
        ({"values": np.zeros((2, 2))}, hg.DataError, "one column at a time"),
        ({"values": "text"}, hg.DataError, "table"),
        ({"unit": hg.per_person("u")}, hg.OptionError, "unit= applies only to tables"),
        ({"parse": "real"}, hg.OptionError, "parse= applies only to tables"),
        ({"engine": "duckdb"}, hg.OptionError, "engine= applies only to tables"),
    ],
)
def test_bad_requests(change: dict[str, Any], error: Any, word: str) -> None:
    asked: dict[str, Any] = {"values": VALUES, "epsilon": 1, **change}
    if error is None:
        hg.find_bounds(asked.pop("values"), **asked)
        return
    with pytest.raises(error, match=word):
        hg.find_bounds(asked.pop("values"), **asked)


TABLE = pa.table({"x": [1.0], "b": [True], "t": ["a"], "u": ["p"]})


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"column": "y"}, hg.DataError, "no such column"),
        ({"column": None}, hg.DataError, "name the column"),
        ({"column": "b"}, hg.BoundsError, "booleans"),
        ({"column": "t"}, hg.DataError, "parse='real'"),
        ({"parse": "roman"}, hg.OptionError, "parse='roman'"),
        ({"engine": "abacus"}, hg.OptionError, "engine='abacus'"),
        ({"engine": "spark"}, hg.OptionError, "cannot read this table; use duckdb"),
        ({"unit": "u"}, hg.OptionError, "not a unit"),
        ({"unit": hg.per_person("nobody")}, hg.DataError, "nobody"),
        ({"unit": hg.per_person("x")}, hg.DataError, "persons are identified"),
        ({"unit": hg.per_person("u", groups=2)}, hg.OptionError, "groups=2"),
        ({"unit": hg.per_person("u", rows=10**5), "epsilon": "0.01"}, hg.EpsilonError, "rows="),
        ({"scale": range(2001)}, hg.BoundsError, "at most 2000"),
    ],
)
def test_bad_requests_of_tables(change: dict[str, Any], error: Any, word: str) -> None:
    asked: dict[str, Any] = {"column": "x", "epsilon": 1, **change}
    with pytest.raises(error, match=word):
        bounds_question(TABLE, **asked)


def test_nothing_is_read_before_it_is_asked_for() -> None:
    """A stream can be read only once: the check leaves it untouched, and the answer consumes it."""
    stream = TABLE.to_reader()
    request = bounds_question(stream, "x", epsilon=1)
    assert stream.read_next_batch().num_rows == 1
    assert request.epsilon == 1
    assert "canary" not in repr(request)


def test_explain_shows_the_sql_and_runs_nothing() -> None:
    text = hg.find_bounds(TABLE, "x", epsilon=1, explain=True)
    assert text.startswith("-- the column is read, and NumPy aggregates it")
    text = hg.find_bounds(TABLE, "x", epsilon=1, unit=hg.per_person("u"), explain=True)
    assert text.startswith("-- the rows that count are read, and NumPy aggregates them")
    assert text.endswith("SELECT x FROM chosen")
    assert hg.find_bounds([1.0], epsilon=1, explain=True).startswith("--")


def test_alike_questions_have_one_text() -> None:
    ask: dict[str, Any] = {"epsilon": 1, "scale": [0, 0.5, 2**64]}
    text = bounds_question(TABLE, "x", **ask).text
    assert text == bounds_question(TABLE, "x", **ask).text
    other = [
        bounds_question(TABLE, "x", **{**ask, **change}).text
        for change in (
            {"epsilon": 2},
            {"scale": [0, 1, 2**64]},
            {"share": "0.3"},
            {"unit": hg.per_person("u")},
            {"unit": hg.per_person("u", rows=2)},
            {"where": "x > 1"},
            {"where": "x > 2"},
        )
    ]
    assert len({text, *other}) == 8
    written = pa.table({"x": ["1", "2"]})
    rules = [bounds_question(written, "x", parse=rule, **ask).text for rule in ("real", "integer")]
    assert rules[0] != rules[1]


def test_confidence_is_checked() -> None:
    found = hg.find_bounds(VALUES, epsilon=1)
    assert found.most_outside(0.5) < found.most_outside(0.99)
    with pytest.raises(hg.OptionError, match="confidence"):
        found.most_outside(1)
