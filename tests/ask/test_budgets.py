"""A request key over every place a table can live in: the same question is the same question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from tests.read.places import Place


@pytest.mark.slow
def test_a_request_is_answered_once_wherever_the_table_lives(place: Place, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0] * 20, "g": ["a", "b", "b"] * 20})
    here, there = place(table), place(table)  # a stream can be read once
    budget = hg.create_budget(str(tmp_path / "budget.db"), "b", epsilon=1)

    def ask() -> Any:
        return hg.mean(
            **here, column="x", bounds=(0.0, 5.0), epsilon="0.5", by="g", keys=["a", "b"],
            budget=budget, request="march",
        )  # fmt: skip

    def bounds() -> Any:
        return hg.find_bounds(
            **there, column="x", epsilon="0.3", scale=(0, 1, 2.5, 10), budget=budget,
            request="bounds",
        )  # fmt: skip

    first, found = ask(), bounds()
    assert ask().to_dict() == first.to_dict()
    assert bounds() == found
    assert len(budget.history()) == 2
