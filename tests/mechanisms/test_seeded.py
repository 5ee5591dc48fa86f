"""The same bits give the same noisy totals as when ``seeded.json`` was written.

That was version 0.1.0, but for the hourglass at epsilon 1 and more, which took more words then.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.mechanisms.base import ALGORITHMS, make

CASES = json.loads((Path(__file__).parent / "seeded.json").read_text(encoding="utf-8"))


def test_every_mechanism_is_there() -> None:
    assert {case["algorithm"] for case in CASES} == set(ALGORITHMS)


@pytest.mark.parametrize("seed", range(len(CASES)))
def test_noisy_totals_are_those_of_before(seed: int) -> None:
    case: dict[str, Any] = CASES[seed]
    lower, upper, cells, own = case["grid"]
    grid = Grid(Bounds(lower, upper), cells, own)
    mechanism = make(case["algorithm"], Fraction(case["epsilon"]), grid)
    one = mechanism.noise(Totals(5 * cells // 2, 9), bits=hg.SeededBits(seed))
    assert ([one.cells, one.rest], one.parts) == (case["one"], case["parts"])
    sums = np.array([0, cells, 3 * 10**20], dtype=object)
    counts = np.array([0, 2, 10**20], dtype=object)
    many = mechanism.noise(Totals(sums, counts), bits=hg.SeededBits(seed))
    assert [many.cells.tolist(), many.rest.tolist()] == case["many"]
