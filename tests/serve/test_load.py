"""Many at once, the lean form of benchmarks/serve.py: each answer charged once, and no error."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hourglass.ledger import Budget

from .support import Place, asking, serving

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_everybody_is_answered_and_charged_once(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Ten analysts, twelve requests each, a third of them repeats."""
    ledger = str(tmp_path / "budget.db")
    if kind == "postgres":
        ledger = request.getfixturevalue("postgres").location
    people = {f"p{i}": ["analyst"] for i in range(10)} | {"olga": ["owner"]}
    place = Place(
        tmp_path,
        ledger,
        epsilon=100,
        allowance=100,
        people=people | {"zoe": ["reader"]},
        plain=True,
    )
    place.path.write_text(place.text().replace('people = ["ben"]', "people = []"))

    def analyst(number: int) -> list[Any]:
        with place.client(f"p{number}") as client:
            replies = []
            for step in range(12):
                columns = [["minutes"], ["cost"], ["minutes", "cost"], ["minutes"]][step // 3]
                body = asking(f"k{min(step, 7)}", epsilon="1/100")
                body["columns"] = columns if step < 8 else ["minutes", "cost"]
                replies.append(client.post("/releases", json=body))
            return replies

    with serving(place), ThreadPoolExecutor(10) as pool:
        found = list(pool.map(analyst, range(10)))
    assert {reply.status_code for replies in found for reply in replies} == {200}
    budget = Budget(place.ledger, "main")
    assert budget.balance().spent.epsilon == Fraction(80, 100)
    assert budget.balance().open == 0
    assert budget.verify().sound
    for replies in found:
        assert len({reply.text for reply in replies[7:]}) == 1
    answers = {json.dumps(reply.json()["answer"]) for replies in found for reply in replies}
    assert len(answers) == 80  # no noise was used twice
