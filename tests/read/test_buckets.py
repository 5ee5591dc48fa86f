"""The bucket of a number in SQL: the tree, the bisection of an array, and the thresholds."""

from __future__ import annotations

import math

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hourglass.core.limits import Scale
from hourglass.read.sql.buckets import Thresholds, halving, of_doubles, of_integers, tree
from hourglass.read.sql.cells import with_steps

EDGES = [-math.inf, -1.7976931348623157e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, math.inf]


@pytest.mark.slow
def test_the_bucket_is_the_number_of_thresholds_at_or_below() -> None:
    """All numbers of thresholds up to 40, and a number below, on and between each of them.

    Catches a step of the wrong size, an index outside the array (NULL) and < in place of <=.
    """
    connection = duckdb.connect()
    for size in range(41):
        thresholds = Thresholds(tuple(2 * i for i in range(size)), passed=3, type="BIGINT")
        numbers = list(range(-1, 2 * size + 1))
        asked = f"SELECT unnest({numbers}) AS x"
        expected = [3 + sum(t <= x for t in thresholds.values) for x in numbers]
        by_tree = connection.execute(f"SELECT {tree(thresholds)} FROM ({asked})").fetchall()
        assert [t for (t,) in by_tree] == expected
        steps = [("numbers", asked), *halving(thresholds, "numbers")]
        text = with_steps(steps, "SELECT t FROM bucketed").replace("ELEMENT_AT", "LIST_EXTRACT")
        assert [t for (t,) in connection.execute(text).fetchall()] == expected


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True),
    st.lists(st.floats(allow_nan=False)),
)
def test_thresholds_of_doubles_are_the_rule_of_the_scale(
    candidates: list[float], numbers: list[float]
) -> None:
    scale = Scale(tuple(sorted(candidates)))
    found = of_doubles(scale)
    around = [math.nextafter(c, end) for c in candidates for end in (-math.inf, c, math.inf)]
    for x in [*numbers, *around, *EDGES]:
        assert sum(t <= x for t in found.values) == scale.bucket(x)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.lists(st.one_of(st.integers(-(2**70), 2**70), st.floats(-1e20, 1e20)), min_size=2),
    st.sampled_from([(-(2**7), 2**7 - 1), (0, 255), (-(2**63), 2**63 - 1)]),
    st.data(),
)
def test_thresholds_of_integers_stay_within_the_type(
    candidates: list[int | float], reach: tuple[int, int], data: st.DataObject
) -> None:
    unique = sorted(set(candidates))
    if len(unique) < 2:
        return
    try:
        scale = Scale(tuple(unique))
    except ValueError:  # two candidates that are the same double
        return
    found = of_integers(scale, reach, None)
    assert all(reach[0] < t <= reach[1] for t in found.values)
    drawn = data.draw(st.lists(st.integers(*reach)))
    near = [t + d for t in found.values for d in (-1, 0, 1) if reach[0] <= t + d <= reach[1]]
    for x in [*drawn, *near, *reach]:
        assert found.passed + sum(t <= x for t in found.values) == scale.bucket(x)


@pytest.mark.parametrize(("reach", "bucket"), [((5, 9), "4"), ((-9, -1), "2"), ((11, 99), "6")])
def test_a_type_within_one_bucket_needs_no_comparison(reach: tuple[int, int], bucket: str) -> None:
    assert tree(of_integers(Scale((-10, 0, 10)), reach, None)) == bucket
