"""What is kept for the next call never stands in for something that is written another way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.grid import Bounds
from hourglass.mechanisms.base import ALGORITHMS

FOUND = "found privately, for an epsilon of 1 charged apart"
#: Bounds that are equal, and must not be taken for each other.
EQUAL: list[Any] = [
    (0, 10),
    (0.0, 10.0),
    (-0.0, 10.0),
    (0, 10.0),
    Bounds(0, 10, origin=FOUND),
    Bounds(0.0, 10.0, origin=FOUND),
]


def caches() -> Iterator[_lru_cache_wrapper[Any]]:
    for name, module in list(sys.modules.items()):
        if name.startswith("hourglass"):
            found = vars(module).values()
            yield from (each for each in found if isinstance(each, _lru_cache_wrapper))


def told(bounds: Any, algorithm: str, values: Any) -> str:
    """All that an answer says of its bounds, in text, where 0, 0.0 and -0.0 differ."""
    options: dict[str, Any] = {"bounds": bounds, "epsilon": 1, "algorithm": algorithm}
    release = hg.mean(values, bits=hg.SeededBits(1), **options)
    question = mean_question(values, **options).text
    again = hg.Release.from_dict(release.to_dict(0.8)).to_dict(0.8)
    return repr((question, release, release.to_dict(0.8), again, str(release.statement())))


@pytest.mark.slow
@pytest.mark.parametrize("values", [np.arange(11.0), np.arange(11)], ids=["real", "integer"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_answer_does_not_depend_on_what_ran_before(algorithm: str, values: Any) -> None:
    assert sum(1 for _ in caches()) > 10
    alone = []
    for bounds in EQUAL:
        for cache in caches():
            cache.cache_clear()
        alone.append(told(bounds, algorithm, values))
    assert len(set(alone)) == len(EQUAL)
    for first, second in permutations(range(len(EQUAL)), 2):
        told(EQUAL[first], algorithm, values)
        assert told(EQUAL[second], algorithm, values) == alone[second]


def test_tables_are_still_kept() -> None:
    """The laws are tabulated once: the same bounds get the very mechanism of the last call."""
    first, second = (
        mean_question(np.zeros(3), bounds=(0.0, 1.0), epsilon=2).mechanism for _ in range(2)
    )
    assert first is second
