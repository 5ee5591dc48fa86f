"""Totals kept in memory equal those of the engine, only for the questions that were read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hourglass.ask.question import MeanQuestion, mean_question
from hourglass.core.totals import Groups
from hourglass.errors import OptionError
from hourglass.read.kept import Kept

VISITS = Path(__file__).parents[2] / "examples" / "visits.parquet"
KEYS = ["poor", "nobody", "excellent"]


def kept(question: MeanQuestion) -> Kept:
    found = Kept(question.source, "place")
    found.keep(question.query, question.read(), question.keys)
    return found


@pytest.mark.parametrize(
    ("column", "options"),
    [
        ("visits", {"bounds": (0, 40)}),
        ("visits", {"bounds": (0, 40), "by": "health", "keys": KEYS}),
        ("visits", {"bounds": (0, 40), "spread": True}),
        (["visits", "coinsurance"], {"bounds": (0, 100), "by": "health", "keys": KEYS}),
    ],
)
def test_kept_totals_are_those_of_the_engine(column: Any, options: dict[str, Any]) -> None:
    direct = mean_question(VISITS, column, epsilon=1, **options)
    asked = mean_question(kept(direct), column, epsilon="1/7", **options)
    direct = mean_question(VISITS, column, epsilon=1, **options)  # a source is read once
    one, other = asked.read(), direct.read()
    if direct.keys is not None:
        assert asked.keys is not None
        assert list(one.keys) == list(direct.keys.keys)
        one_totals, other_totals = asked.keys.padded(one).totals, direct.keys.padded(other).totals
        assert other_totals.count[1] == 0  # nobody
    else:
        one_totals, other_totals = one.totals, other.totals
    assert one_totals.count.tolist() == other_totals.count.tolist()
    for a, b in zip(one_totals.sums, other_totals.sums, strict=True):
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize(
    "changed",
    [
        {"bounds": (0, 41)},
        {"by": "health", "keys": ["poor"]},
        {"spread": True},
        {"missing": 3},
        {"grid": 20},
    ],
)
def test_another_question_is_refused_when_it_is_made(changed: dict[str, Any]) -> None:
    source = kept(mean_question(VISITS, "visits", bounds=(0, 40), epsilon=1))
    options: dict[str, Any] = {"bounds": (0, 40), "epsilon": 1} | changed
    with pytest.raises(OptionError, match="not one of those whose totals were read"):
        mean_question(source, "visits", **options)


def test_groups_with_secret_names_are_filled_up_to_a_public_number() -> None:
    """How many there are would show in the time that an answer takes."""
    options: dict[str, Any] = {"bounds": (0, 40), "by": "health", "delta": 1e-9}
    direct = mean_question(VISITS, "visits", epsilon=1, **options)
    found = Kept(direct.source, "place")
    groups = direct.read()
    with pytest.raises(OptionError, match="most is missing"):
        found.keep(direct.query, groups)
    with pytest.raises(OptionError, match="most=3: the data has more groups than that"):
        found.keep(direct.query, groups, most=3)
    found.keep(direct.query, groups, most=9)
    filled = mean_question(found, "visits", epsilon="1/7", **options).read()
    assert list(filled.keys) == [*groups.keys] + [(None,)] * 5
    assert filled.count.tolist() == groups.count.tolist() + [0] * 5
    assert filled.totals.cells.tolist() == groups.totals.cells.tolist() + [0] * 5


def test_groups_without_records_do_not_count_towards_the_public_number() -> None:
    """An engine may return them or not; whether they are refused must not depend on that."""
    options: dict[str, Any] = {"bounds": (0, 40), "by": "health", "delta": 1e-9}
    question = mean_question(VISITS, "visits", epsilon=1, **options)
    found = Kept(question.source, "place")
    groups = question.read()
    empty = Groups(groups.keys, groups.count * np.array([0, 1, 1, 1]), groups.halves)
    found.keep(question.query, empty, most=3)
    kept = found.run(None, question.query)
    assert list(kept.keys) == list(groups.keys)[1:]
    assert kept.count.tolist() == groups.count.tolist()[1:]


def test_kept_totals_stay_where_they_are() -> None:
    source = kept(mean_question(VISITS, "visits", bounds=(0, 40), epsilon=1))
    assert repr(source) == "Kept(secret)"
    with pytest.raises(TypeError, match="secret"):
        pickle.dumps(source)
