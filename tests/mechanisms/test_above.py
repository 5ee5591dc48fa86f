"""One-sided tails of every mechanism's noise: never below the law, and hardly above it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.mechanisms import base, body_tails, tails
from hourglass.mechanisms.base import ALGORITHMS, make
from hourglass.mechanisms.tails import Line, above, merged

from ..estimate.test_interval import errors_of

LINES = (Line(1.0, 0.0), Line(1.0, 0.1), Line(1.0, 0.5), Line(1.0, 1.0), Line(0.0, 1.0),
         Line(Fraction(1, 3), Fraction(-2, 3)), Line(Fraction(1, 5), 1))  # fmt: skip


@pytest.mark.enumeration
@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_sided_tails_are_sums_of_the_pmf(name: str) -> None:
    """On both sides of zero, on the steps of the law and between them. A strict inequality for
    the other one, or a sign of the count's coefficient, would show."""
    G = 2
    algorithm = make(name, Fraction(3), Grid(Bounds(0, G), G, True))
    x, y, mass = errors_of(algorithm)
    reaches = np.array([-3.0, -1.0, -0.7, -1e-9, 0.0, 1e-9, 0.3, 0.5, 1.0, 1.5, 2.0, 2.25, 4.0])
    for line in LINES:
        value = np.longdouble(float(line.sum)) * x - np.longdouble(float(line.count)) * y
        found = above(algorithm.tails, line, reaches)
        for reach, tail in zip(reaches.tolist(), found.tolist(), strict=True):
            true = float(mass[value >= reach - 1e-15].sum())
            loose = float(mass[value >= reach - 1e-8].sum())
            assert true - 1e-9 <= tail <= loose + 1e-8, (line, reach)


@pytest.mark.parametrize("name", ["hourglass", "shifted", "box", "spread"])
@pytest.mark.parametrize("unit", [1 / 49, 0.003, 1e-9])
def test_a_count_on_the_boundary_counts_in_any_unit(name: str, unit: float) -> None:
    """In doubles k units may be more than k times the unit; P(K >= k) is meant all the same."""
    grid = Grid(Bounds(0, 2), 2, True)
    statistic = {"box": "columns", "spread": "spread"}.get(name, "mean")
    algorithm = "shifted" if name == "shifted" else "hourglass"
    of: Any = make(algorithm, Fraction(1), (grid, grid) if name == "box" else grid, statistic)
    law = (of.column(0) if name == "box" else of).tails
    counts = np.arange(1.0, 60.0)
    assert np.any(counts * unit / unit > counts)
    found, wanted = (above(law, Line(0.0, u), counts * u) for u in (unit, 1.0))
    assert found.tolist() == wanted.tolist()


def drawn(mechanism: Any, samples: int) -> tuple[Any, Any]:
    if hasattr(mechanism, "column"):  # of a box: its second column
        x, k = mechanism.law.sample(samples, bits=hg.SeededBits(5))
        return x[:, 1] / float(mechanism.law.grids[1]), k.astype(np.float64)
    totals = Totals(0, 0, (0,)) if mechanism.statistic == "spread" else Totals(0, 0)
    zero = mechanism.noise(totals, size=samples, bits=hg.SeededBits(5))
    unit = float(zero.parts * zero.grid)
    return (np.asarray(part, dtype=np.float64) / unit for part in (zero.cells, zero.weight))  # type: ignore[return-value]


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("name", [*ALGORITHMS, "box", "spread"])
@pytest.mark.parametrize("epsilon", ["1/40", "1", "5"])
def test_one_sided_tails_hold_on_the_finest_grid(name: str, epsilon: str) -> None:
    """Against 100,000 draws: no tail is below the share seen by more than 6 standard errors
    (false alarms: below 1e-8 a tail, a few hundred tails), and none is above it by more than 3 %
    of a probability, which is what merging neighbours costs at the smallest epsilon."""
    grid = Grid(Bounds(0.0, 1.0), 2**32 if name != "spread" else 2**16)
    of: Any = make(
        "hourglass" if name in ("box", "spread") else name,
        Fraction(epsilon),
        (grid, grid) if name == "box" else grid,
        {"box": "columns", "spread": "spread"}.get(name, "mean"),
    )
    x, y = drawn(of, 100_000)
    law = (of.column(1) if name == "box" else of).tails
    for line in (Line(1.0, 0.1), Line(1.0, 0.7), Line(0.0, 1.0)):
        value = float(line.sum) * x - float(line.count) * y
        scale = max(float(value.std()), 1e-3)
        reaches = scale * np.linspace(-4, 5, 40) + 1e-7
        for reach, tail in zip(reaches.tolist(), above(law, line, reaches).tolist(), strict=True):
            seen = float((value >= reach).mean())
            error = 6 * np.sqrt(max(seen * (1 - seen), 1e-5) / len(value))
            assert tail >= seen - error, (line, reach)
            assert tail <= seen + error + 0.03, (line, reach)


def test_a_mechanism_without_a_table_gives_half_of_its_two_sided_tails() -> None:
    class Bare:
        def miss(self, first: Line, second: Line, reach: float) -> float:
            return min(1.0, float(2 * np.exp(-reach)))

    found = above(Bare(), Line(1.0, 0.5), np.array([-1.0, 0.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([1.0, 1.0, np.exp(-1), np.exp(-2)])


@pytest.mark.parametrize("lower", [5, -40])
def test_merging_neighbours_only_widens_one_sided_tails(
    lower: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hourglass, with every value of the count and with blocks of them, also for lines whose
    blocks would be too coarse: half of both tails and 1 up to zero stand in for those."""
    grid = Grid(Bounds(lower, lower + 6), 6, True)
    largest = max(abs(lower), abs(lower + 6))
    lines = [Line(1.0, 0.25), Line(Fraction(6, largest), Fraction(-lower, largest))]
    reaches = np.array([-90.0, -5.0, 0.0, 5.0, 60.0, 150.0])

    def table(nodes: int) -> Any:
        monkeypatch.setattr(tails, "TABLE_NODES", nodes)
        law: Any = ALGORITHMS["hourglass"](Fraction(1, 60), grid).tails
        return [above(law, line, reaches) for line in lines]

    for exact, bound in zip(table(30_000), table(64), strict=True):
        assert np.all(exact <= bound * (1 + 1e-9) + 2e-9)  # each has the slack of its own sums
    pivot, _ = (np.max(b - a) for a, b in zip(table(30_000), table(64), strict=True))
    assert pivot < 0.25


# --- merging neighbours: real tails are so smooth that smaller factors would pass as well -------


@pytest.mark.parametrize("block", [1, 3, 5, 101])
@pytest.mark.parametrize("loss", [1e-6, 0.01, 0.3, 2.0])
def test_the_middle_of_a_block_stands_for_all_of_it(block: int, loss: float) -> None:
    """Whatever lies i places away is at most exp(i * loss) times as likely."""
    offsets = np.arange(block) - block // 2
    assert merged(block, loss) >= float(np.exp(np.abs(offsets) * loss).sum()) * (1 - 1e-12)


@pytest.mark.enumeration
@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0, -0.5, -1.0, 1.5, 2.5, -1.5, -2.5])
@pytest.mark.parametrize("name", ["hourglass", "box", "spread"])
def test_a_block_allows_for_all_that_moving_the_count_costs(
    name: str, slope: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss that a block is merged with, against the law: where the count moves by one, and
    the sum with it along the line, no probability rises by more, and some by hardly less."""
    grid = Grid(Bounds(0, 6), 6, True)
    statistic = {"hourglass": "mean", "box": "columns", "spread": "spread"}[name]
    of: Any = make("hourglass", Fraction(1, 2), (grid, grid) if name == "box" else grid, statistic)
    law = (of.column(1) if name == "box" else of).tails
    record = law.grid if name == "hourglass" else law.record
    losses = []

    def seen_merging(block: int, loss: float) -> float:
        losses.append(loss)
        return merged(block, loss)

    for module in (base, body_tails):
        monkeypatch.setattr(module, "merged", seen_merging)
    law.miss(Line(1.0, slope), Line(1.0, slope), 3.0)
    if name == "hourglass" and abs(slope) > 1:  # without blocks here, and by stairs with them
        return
    k, seen = np.arange(-12.0, 13.0), 0.0
    for x in np.round(np.linspace(-4, 4, 25) * record):
        before = law.upper(k, np.full(len(k), x))
        for step in (1.0, -1.0):
            moved = np.ceil(x + slope * record * step)
            after = law.upper(k + step, np.full(len(k), moved))
            known = (before > 1e-12) & (after > 1e-12)
            seen = max(seen, float(np.log(after[known] / before[known]).max()))
    assert seen <= losses[0] + 1e-6
    assert seen > losses[0] - 2 * law.epsilon
