"""Request keys with every kind of table: repeating a question returns its stored answer."""

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


@pytest.mark.parametrize("text", ["a" * 5_000, "a\nb", "\u200b", "\x1b[2J", "é " * 120, "'' "])
def test_any_filter_can_be_charged(text: str, tmp_path: Path) -> None:
    """A ledger describes a charge in a short printable text, however a filter is written."""
    budget = hg.create_budget(str(tmp_path / "budget.db"), "b", epsilon=3)
    table = pa.table({"x": [1.0], "t": ["a"]})
    ask: dict[str, Any] = {"epsilon": 1, "budget": budget}
    where: Any = f"t = '{text}'"
    hg.count(table, where=where, **ask)
    hg.mean(table, "x", where=where, bounds=(0, 1), **ask)
    hg.find_bounds(table, "x", where=where, **ask)
    told = [charge.description for charge in budget.history()]
    assert [line.split(" where t = ")[0] for line in told] == [
        "number of rows", "mean of x", "bounds of x",
    ]  # fmt: skip
    assert all(line.isprintable() and len(line) <= 200 for line in told)
