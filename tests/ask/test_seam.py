"""A statistic is one file: a sum of squares, defined here, works on every engine and in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.run import explained, run
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Groups, Sum, Totals
from hourglass.noise import DiscreteLaplace
from hourglass.noise.bits import Bits
from hourglass.read.open import PublicKeys, open_source, public_keys
from hourglass.read.source import Source
from hourglass.read.sql.query import Query, Value
from tests.read.places import Place

GRID = Grid(Bounds(0.0, 8.0), 8)
VALUES = [0.0, 1.2, 7.9, 100.0, -3.0, float("nan"), None, 4.0, 4.4]
CELLS = [0, 1, 8, 8, 0, 4, 4]  # of the values that are present
NAMES = ["a", "b", "a", "b", "a", "a", "b", "b", None]


@dataclass(frozen=True)
class Squares:
    """The answer: a noisy sum of squares of cells for each group."""

    sums: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"sums": list(self.sums)}


@dataclass(frozen=True)
class SquaresQuestion:
    """The statistic: which sums it needs for each group, and how they become an answer."""

    epsilon: Fraction
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    sql: str | None = field(repr=False)
    keys: PublicKeys | None = None
    delta: Fraction = Fraction(0)
    text: str = "a sum of squares"
    subject: str = "squares"

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon / GRID.cells**2)

    def read(self) -> Groups:
        return self.source.run(self.sql, self.query)

    def secret(self, found: Groups) -> Totals:
        return found.only if self.keys is None else self.keys.padded(found).totals

    def noise(self, secret: Groups, bits: Bits) -> Any:
        squares = np.atleast_1d(np.array(self.secret(secret).more[0], dtype=object))
        return squares + self.law.sample(len(squares), bits=bits).astype(object)

    def answer(self, noisy: Any, *, private: bool) -> Squares:
        return Squares(tuple(int(part) for part in noisy))

    def rehearse(self) -> None:
        self.law.sample(1, bits=hg.SeededBits(0))

    def restore(self, stored: Mapping[str, Any]) -> Squares:
        return Squares(tuple(stored["sums"]))


def squares(data: Any, column: str | None, *, by: str | None = None, **more: Any) -> Any:
    source = open_source(data, tuple(n for n in (column, by) if n), more.get("engine"))
    schema = source.schema()
    groups = (schema.key(by),) if by else ()
    keys = public_keys(["a", "b", "z"], groups) if by else None
    query = Query(
        (Value(schema.field(column or "", "column"), GRID, more.get("missing")),),
        by=groups,
        allowed=keys.allowed() if keys else (),
        nulls=keys.nulls() if keys else (),
        sums=(Sum(), Sum(power=2)),
    )
    return SquaresQuestion(Fraction(1), source, query, source.sql(query, GRID.bounds), keys)


@pytest.mark.slow
def test_the_same_squares_on_every_engine(place: Place) -> None:
    table = pa.table({"x": pa.array(VALUES, pa.float64()), "g": pa.array(NAMES, pa.string())})
    placed = place(table)
    question = squares(placed["data"], "x", engine=placed.get("engine"))
    found = question.secret(question.read())
    assert (found.cells, found.count) == (sum(CELLS), len(CELLS))
    assert found.more == (sum(q * q for q in CELLS),)
    placed = place(table)
    question = squares(placed["data"], "x", by="g", engine=placed.get("engine"))
    by_group = question.secret(question.read())
    assert by_group.count.tolist() == [3, 3, 0]
    assert by_group.more[0].tolist() == [0 + 64 + 0, 1 + 64 + 16, 0]


@pytest.mark.parametrize("missing", [None, 3])
def test_the_same_squares_in_memory(missing: int | None) -> None:
    absent = 0 if missing is None else 2
    squared = sum(q * q for q in CELLS) + 9 * absent
    masked = np.ma.masked_invalid([v if v is not None else np.nan for v in VALUES])
    for data in (VALUES, iter(VALUES), masked, pa.array(VALUES, pa.float64())):
        question = squares(data, None, missing=missing)
        assert explained(question).startswith("-- numbers in memory")
        assert question.secret(question.read()).more == (squared,)


def test_integers_on_their_own_grid() -> None:
    grid = Grid(Bounds(-4, 4), 8, True)
    for dtype in (np.int8, np.int64):
        source = open_source(np.array([-9, -4, 0, 3, 9], dtype=dtype), (), None)
        query = Query((Value(source.schema().field("", "column"), grid),), sums=(Sum(2), Sum(1)))
        found = source.run(None, query).only
        assert (found.cells, found.more) == (0 + 0 + 16 + 49 + 64, (0 + 0 + 4 + 7 + 8,))


def test_a_charge_a_stored_answer_and_noise(tmp_path: Path) -> None:
    """``run`` handles it: charged, read, noise added, stored, and returned again for free."""
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=2)
    first = run(squares(VALUES, None), budget, "once")
    assert run(squares(VALUES, None), budget, "once") == first
    assert budget.balance().spent.epsilon == 1
    assert {run(squares(VALUES, None)).sums for _ in range(8)} != {first.sums}
    exact = sum(q * q for q in CELLS)
    assert abs(first.sums[0] - exact) < 40 * GRID.cells**2  # P(|noise| >= this) < 1e-17


def test_squares_need_a_grid_that_holds_them() -> None:
    source, grid = open_source(VALUES, (), None), Grid(Bounds(0.0, 1.0), 2**24)
    with pytest.raises(hg.GridError, match="at most 8388608"):
        Query((Value(source.schema().field("", "column"), grid),), sums=(Sum(2),))
