"""A cached mechanism is never used for bounds that are written differently."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds
from hourglass.mechanisms.base import ALGORITHMS

FOUND = "found privately, for an epsilon of 1 charged separately"
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


def each_after_each(size: int) -> list[int]:
    """Places in an order in which each of them comes just after each other one."""
    found = []
    for first in range(size):
        found += [first, *(place for second in range(first + 1, size) for place in (second, first))]
    return found


def test_every_pair_follows_one_another() -> None:
    order = each_after_each(len(EQUAL))
    assert set(pairwise(order)) >= set(permutations(range(len(EQUAL)), 2))


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
    for place in each_after_each(len(EQUAL)):
        assert told(EQUAL[place], algorithm, values) == alone[place]


def test_tables_are_still_kept() -> None:
    """The laws are tabulated once: the same bounds get the very mechanism of the last call."""
    first, second = (
        mean_question(np.zeros(3), bounds=(0.0, 1.0), epsilon=2).mechanism for _ in range(2)
    )
    assert first is second


def test_a_kept_question_is_asked_of_columns_of_its_own_kind() -> None:
    """The question with these options is kept once for each kind: integers have their own grid."""
    columns = {"integer": np.arange(4), "boolean": np.arange(4) > 2, "real": [0, 1, 2, 3]}
    for _ in range(2):
        found = {kind: mean_question(c, bounds=(0, 1), epsilon=1) for kind, c in columns.items()}
        assert [each.mechanism.grid.own for each in found.values()] == [True, True, False]
        kinds = [each.source.schema().field("", "column").kind for each in found.values()]
        assert kinds == list(columns)
        assert [each.read().only.count for each in found.values()] == [4, 4, 4]


@pytest.mark.slow
def test_a_kept_question_holds_no_data() -> None:
    values = np.arange(5.0)
    hg.mean(values, bounds=(0.0, 3.25), epsilon=1)
    gone = weakref.ref(values)
    del values
    gc.collect()
    assert gone() is None


def test_numbers_that_print_alike_are_not_taken_for_each_other() -> None:
    class Sly(float):
        def __repr__(self) -> str:
            return "1.0"

    for upper in (1.0, Sly(5.0), 1.0):
        asked = mean_question([0.5], bounds=(0.0, upper), epsilon=1)
        assert asked.mechanism.grid.bounds.upper == float(upper)
