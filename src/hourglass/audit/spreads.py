"""The audit of a mean with its spread: exact, empirical, grey box, and mutants."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Final

import numpy as np

from ..ask.run import mean
from ..core.limits import Bounds, Grid
from ..core.totals import Totals
from ..mechanisms.base import make
from ..mechanisms.lattice import Point
from ..mechanisms.spread import FINEST, HourglassSpread, triangle_lattice
from ..noise import HourglassTriangle
from ..noise.bits import SECURE, Bits
from ..release.release import Release
from .bench import Bench, Mutant
from .boxes import level_steps
from .empirical import ALPHA, Array, LowerBound, Progress, Sampler, empirical_finding, lower_bound
from .exact import exact_audit, exact_finding
from .finding import Finding, grid_text
from .greybox import Path, greybox_finding, neighbours
from .paths import present

__all__ = [
    "audit_spreads", "empirical_spread", "greybox_spread", "spread_mutants", "triangles_finding",
]  # fmt: skip

#: All triangles up to this size, and with centres up to this one, are enumerated.
SMALL: Final = (6, 4)
REAL_SPREAD: Final = "none: the real one, with spread"


def audit_spreads(epsilon: Fraction, grids: Iterable[int]) -> Iterator[Finding]:
    """All small triangles, then the mechanism on each grid, or the finest that it has."""
    yield triangles_finding(epsilon)
    for G in sorted({min(G, FINEST) for G in grids}):
        found = exact_audit(_mechanism(epsilon, G))
        subject = f"hourglass with spread, epsilon {epsilon}, grid {grid_text(G)}"
        yield Finding(found.check, subject, found.holds, found.detail, found.figures)


def triangles_finding(epsilon: Fraction) -> Finding:
    """Every triple of whole numbers that adds up to W moves the level by exactly one."""
    triangles = ratios = 0
    wrong: list[str] = []
    for whole, centre in product(range(1, SMALL[0] + 1), range(SMALL[1] + 1)):
        law = HourglassTriangle(epsilon, whole, centre)
        steps, tried = level_steps(triangle_lattice(law))
        triangles, ratios = triangles + 1, ratios + tried
        if steps != {1}:
            wrong.append(f"W {whole}, centre {centre}: steps of {sorted(steps)}")
    words = f"{triangles} triangles, {ratios:,} ratios, every record moves the level by exactly one"
    if wrong:
        words = f"{len(wrong)} of {triangles} triangles, such as {wrong[0]}"
    return Finding(
        "exact",
        f"all triangles to W = {SMALL[0]} and centres to {SMALL[1]}",
        not wrong,
        words,
        {"epsilon": str(epsilon), "triangles": triangles, "ratios": ratios, "wrong": len(wrong)},
    )


def _mechanism(epsilon: Fraction, grid: int) -> HourglassSpread:
    made: HourglassSpread = make("hourglass", epsilon, Grid(Bounds(0.0, 1.0), grid), "spread")
    return made


def sampler_of_spread(mechanism: HourglassSpread) -> Sampler:
    """Many releases at once of totals (S, N, squares)."""

    def sampler(data: Any, size: int) -> list[Array]:
        cells, count, squares = data
        noisy = mechanism.noise(Totals(cells, count, (squares,)), bits=SECURE, size=size)
        return [noisy.cells, noisy.weight, noisy.squares]

    return sampler


def empirical_spread(
    epsilon: Fraction, *, samples: int, alpha: float = ALPHA, progress: Progress | None = None
) -> Iterator[tuple[Finding, LowerBound]]:
    """The lower bound on epsilon for a record in the middle, added to no records."""
    mechanism = _mechanism(epsilon, 2)
    bound = lower_bound(
        sampler_of_spread(mechanism),
        (0, 0, 0),
        (1, 1, 1),
        samples=max(1000, samples // 2),
        alpha=alpha,
        progress=progress,
        threads=min(4, os.cpu_count() or 1),
    )
    subject = f"hourglass with spread, epsilon {epsilon}, grid 2"
    yield empirical_finding(subject, epsilon, bound, pairs="a record in the middle"), bound


def greybox_spread(epsilon: Fraction, bounds: tuple[float, float] = (0.0, 10.0)) -> Finding:
    """The public call: a neighbour's row changes the sums and the squares by those of one cell."""

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        array = np.array(values, dtype=np.float64)
        return mean(array, bounds=bounds, epsilon=epsilon, spread=True, bits=bits).to_dict()

    path = Path("NumPy array (hourglass with spread)", run, counted=present)
    return greybox_finding(path, list(neighbours(*bounds)))


# --- known mistakes -------------------------------------------------------------------------


def spread_mutants(bench: Bench) -> list[Mutant]:
    """The unmodified mechanism, then mistakes in what a record adds."""
    mechanism = _mechanism(bench.epsilon, 2)
    fold, law = mechanism.fold, mechanism.law

    def walked(name: str, totals: Any) -> Finding:
        def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
            cells = [round(min(max(v, 0.0), 1.0) * 2) for v in values if v == v]
            noisy = mechanism.noise(totals(cells), bits=bits)
            return Release.of(mechanism, noisy, estimator="projected", private=False).to_dict()

        return greybox_finding(Path(name, run), list(neighbours(0.0, 1.0)))

    def trial(name: str, totals: Any, *moves: tuple[int, int, int]) -> Mutant:
        """``moves`` are what a wrong record adds to (S, N, squares), in cells."""
        steps: list[Point] = [_triple(*move, fold) for move in moves]
        pairs = [((0, 0, 0), move) for move in moves]
        return Mutant(
            name,
            (
                lambda: exact_finding(triangle_lattice(law, steps)),
                bench.sampled(name, sampler_of_spread(mechanism), *pairs),
                lambda: walked(name, totals),
            ),
        )

    def totals(cells: Sequence[int]) -> Totals:
        return Totals(sum(cells), len(cells), (sum(q * q for q in cells),))

    def uncounted(cells: Sequence[int]) -> Totals:
        right = totals(cells)
        return Totals(right.cells, sum(q < 2 for q in cells), right.more)

    def past_the_end(cells: Sequence[int]) -> Totals:
        return totals([3 if q == 2 else q for q in cells])

    def cubed(cells: Sequence[int]) -> Totals:
        return Totals(sum(cells), len(cells), (sum(q**3 for q in cells),))

    return [
        trial(REAL_SPREAD, totals, (0, 1, 0), (1, 1, 1), (2, 1, 4)),
        trial("in the squares, not in the count", uncounted, (2, 0, 4)),
        trial("past the end, with spread", past_the_end, (3, 1, 9)),
        trial("the cube for the square", cubed, (2, 1, 8)),
    ]


def _triple(cells: int, count: int, squares: int, fold: int) -> Point:
    """What the three totals move by, on a grid of two cells."""
    return (
        fold * (4 * count - 4 * cells + squares),
        fold * 2 * (2 * cells - squares),
        fold * squares,
    )
