"""Request keys with every kind of table: repeating a question returns its stored answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import MeanQuestion
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


def test_any_filter_can_be_charged(tmp_path: Path) -> None:
    """A ledger describes a charge in a short printable text, however a filter is written."""
    budget = hg.create_budget(str(tmp_path / "budget.db"), "b", epsilon=8)
    table = pa.table({"x": [1.0], "t": ["a"]})
    ask: dict[str, Any] = {"epsilon": 1, "budget": budget}
    texts = ["a" * 5_000, "a\nb", "\u200b", "\x1b[2J", "é " * 120, "'' "]
    for text in texts:
        hg.count(table, where=f"t = '{text}'", **ask)
    hg.mean(table, "x", where=f"t = '{texts[0]}'", bounds=(0, 1), **ask)
    hg.find_bounds(table, "x", where=f"t = '{texts[0]}'", **ask)
    told = [charge.description for charge in budget.history()]
    asked = ["number of rows"] * len(texts) + ["mean of x", "bounds of x"]
    assert [line.split(" where t = ")[0] for line in told] == asked
    assert all(line.isprintable() and len(line) <= 200 for line in told)


class Unwritten:
    """An answer that cannot be written down, as if that depended on its noise."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def to_dict(self) -> dict[str, Any]:
        if isinstance(self.what, Exception):
            raise self.what
        return {"mean": self.what}


@pytest.mark.parametrize("what", [float("nan"), float("inf"), {1, 2}, ValueError("no")], ids=str)
def test_no_failure_brings_new_noise(
    what: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often a question failed after its noise was drawn would tell of the data."""
    budget = hg.create_budget(str(tmp_path / "budget.db"), "b", epsilon=3)
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "budget": budget, "request": "r"}
    drawn = []

    def answer(self: Any, noisy: Any, *, private: bool) -> Any:
        drawn.append(noisy)
        return Unwritten(what)

    with monkeypatch.context() as patch:
        patch.setattr(MeanQuestion, "rehearse", lambda self: None)
        patch.setattr(MeanQuestion, "answer", answer)
        with pytest.raises(ValueError, match=r"not JSON|no"):
            hg.mean([0.5], **ask)
        with pytest.raises(hg.SourceError, match="after its noise was drawn"):
            hg.mean([0.5], **ask)
    with pytest.raises(hg.SourceError, match="ask again under another key"):
        hg.mean([0.5], **ask)
    assert len(drawn) == 1
    assert budget.balance().spent.epsilon == 1
    assert hg.mean([0.5], **(ask | {"request": "s"})).private


FAR: list[Any] = [(-1.7e308, 1.7e308), (0, 1.7e308), (-1.7e308, -1.6e308), (0, 1e300), (0, 1e153)]


@pytest.mark.parametrize("bounds", FAR, ids=str)
@pytest.mark.parametrize("by", [{}, {"by": "g", "keys": ["a", "b"]}], ids=["one", "groups"])
def test_answers_can_be_stored_however_far_the_bounds(
    bounds: Any, by: dict[str, Any], tmp_path: Path
) -> None:
    budget = hg.create_budget(str(tmp_path / "budget.db"), "b", epsilon=3)
    table = pa.table({"x": [0.0, 1e307], "g": ["a", "b"]})
    ask: dict[str, Any] = {"bounds": bounds, "epsilon": 1, "budget": budget, **by}
    hg.mean(table, "x", outside="1/10", **ask)
    hg.sum(table, "x", **ask)
    if bounds == (0, 1e153):
        hg.mean(table, "x", spread=True, **ask)
        return
    with pytest.raises(hg.BoundsError, match="spread=True"):
        hg.mean(table, "x", spread=True, **ask)
    assert budget.balance().spent.epsilon == 2
