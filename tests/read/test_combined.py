"""Random questions with many options at once: every engine gives the totals of the reference."""

from __future__ import annotations

from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from tests.read import places
from tests.read.combined import CELLS, COMMON, Case, Key, Totals, case
from tests.tools import long

pytestmark = [pytest.mark.property, pytest.mark.slow]

#: Cases of each engine; on Spark a query takes a third of a second. A long run has ten times as
#: many. Where DuckDB answers the queries of a file, in frames and without PyArrow, they are others.
CASES = {"spark": 6, "duckdb": 60, "datafusion": 50, "sqlite": 50, "postgres": 40}
ALONE, FRAMES = range(2000, 2020), ["pandas", "polars lazy", "arrow stream", "relation"]


def totals(placed: dict[str, Any], asked: Case) -> dict[Key, Totals]:
    """The totals of each group that has a record."""
    make: Any = mean_question if asked.values else count_question
    question = make(**placed, **asked.options)
    found = question.read()
    if not asked.by:
        sums = found.only.sums if asked.values else ()
        return {(): (tuple(sums), found.only.count)} if found.only.count else {}
    found = found if question.keys is None else question.keys.padded(found)
    each = zip(*found.totals.sums, strict=True) if asked.values else [()] * len(found.count)
    rows = zip(found.keys, each, found.count.tolist(), strict=True)
    return {key: (tuple(map(int, sums)), count) for key, sums, count in rows if count}


def check(place: Any, seeds: range, kinds: list[str], *, parses: bool) -> None:
    wrong = {}
    for seed in seeds:
        asked = case(seed, kinds, parses=parses)
        try:
            found, expected = totals(place(asked.table), asked), asked.expected()
        except hg.BoundsError as error:
            if "up to which SQLite reads integers in text" not in str(error):
                raise
            continue
        if found != expected:
            wrong[seed] = found, expected, asked.kinds, asked.options
    assert wrong == {}


def more(seeds: range, times: int) -> range:
    return range(seeds.start, seeds.start + len(seeds) * times)


@pytest.mark.parametrize("times", [1, *long(10)])
def test_engines(engine_place: Any, times: int, request: pytest.FixtureRequest) -> None:
    engine = request.node.callspec.params["engine_place"]
    kinds = COMMON if engine == "sqlite" else list(CELLS)
    parses = engine not in ("postgres", "datafusion")
    seeds = ALONE if engine == "duckdb alone" else range(CASES[engine])
    check(engine_place, more(seeds, times), kinds, parses=parses)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("times", [1, *long(10)])
def test_frames(kind: str, times: int) -> None:
    # In pandas, dates and decimals are objects, and whole numbers with gaps may be floats.
    kinds = [k for k in COMMON if k != "small"] if kind == "pandas" else list(CELLS)
    first = 1000 + 200 * FRAMES.index(kind)
    check(places.frame(kind), more(range(first, first + 20), times), kinds, parses=True)


def test_the_cases_are_varied() -> None:
    """Every option occurs, and the questions have answers: most have a group with records."""
    cases = [case(seed, list(CELLS), parses=True) for seed in range(100)]
    assert sum(bool(one.expected()) for one in cases) > 50
    for share in (
        [one.where is not None for one in cases],
        [one.keys is not None for one in cases],
        [one.unit.person is not None for one in cases],
        [one.unit.person in one.by for one in cases],
        [any(value.name in one.by for value in one.values) for one in cases],
        [len(one.values) > 1 for one in cases],
        [not one.values for one in cases],
    ):
        assert sum(share) >= 5
