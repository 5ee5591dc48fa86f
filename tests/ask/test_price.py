"""What is charged is what the noise spends: for every statistic, and every unit that it takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question

PRICE = Fraction(7, 5)
TABLE = pd.DataFrame({"id": [1, 2], "x": [0.5, 1.5], "y": [1, 2], "g": ["a", "b"]})
BY = {"by": "g", "keys": ["a", "b"]}
OF_MEANS: dict[str, dict[str, Any]] = {
    "mean": {"column": "x"},
    "spread": {"column": "x", "spread": True},
    "columns": {"column": ["x", "y"]},
    "outside": {"column": "x", "outside": "1/10"},
    "columns and outside": {"column": ["x", "y"], "outside": "1/4"},
    "staircase": {"column": "x", "algorithm": "staircase"},
}
#: Units, whether they need groups, and how many records of a unit there are at most.
UNITS: dict[str, tuple[Any, bool, int]] = {
    "row": (hg.per_row(), False, 1),
    "person": (hg.per_person("id"), False, 1),
    "rows": (hg.per_person("id", rows=3), False, 3),
    "groups": (hg.per_person("id", groups=4), True, 4),
    "rows in groups": (hg.per_person("id", rows=3, groups=4), True, 12),
}


def spent(question: Any) -> Fraction:
    """The epsilon that one record costs: of the noise on the totals, and of that outside."""
    outside = question.outside.epsilon if question.outside else 0
    return Fraction(question.mechanism.epsilon + outside)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("asked", OF_MEANS)
def test_means(asked: str, unit: str) -> None:
    whose, grouped, records = UNITS[unit]
    options = {"bounds": (0, 2), "epsilon": PRICE, "unit": whose} | (BY if grouped else {})
    question = mean_question(TABLE, **OF_MEANS[asked], **options)
    assert question.epsilon == PRICE == records * spent(question)


@pytest.mark.parametrize("unit", UNITS)
def test_counts(unit: str) -> None:
    whose, grouped, records = UNITS[unit]
    options: dict[str, Any] = BY if grouped else {}
    question = count_question(TABLE, epsilon=PRICE, unit=whose, **options)
    assert question.epsilon == PRICE == records * spent(question)


@pytest.mark.parametrize("unit", [name for name, (_, grouped, _) in UNITS.items() if not grouped])
def test_bounds(unit: str) -> None:
    """A search costs its epsilon: see tests/mechanisms/test_scan.py."""
    whose, _, records = UNITS[unit]
    question = bounds_question(TABLE, "x", epsilon=PRICE, unit=whose)
    assert question.epsilon == PRICE == records * question.search.epsilon
