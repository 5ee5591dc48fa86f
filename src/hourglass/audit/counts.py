"""The audit of counts and of numbers outside the bounds: exact, grey box, and mutants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any, Final

import numpy as np

from ..ask.run import count
from ..core.limits import Bounds, Grid
from ..core.totals import NoisyTotals, Totals
from ..mechanisms.base import HourglassMean, make
from ..mechanisms.count import LaplaceCount
from ..mechanisms.outside import OutsideCounts
from ..noise.bits import SECURE, Bits
from ..release.counts import Count
from ..release.release import Release
from .bench import Bench, Mutant
from .empirical import Array, Sampler
from .exact import exact_finding
from .finding import Finding
from .greybox import Path, greybox_finding, neighbours
from .paths import Convert, mean_path, present, tables

__all__ = ["audit_counts", "count_mutants", "greybox_counts"]

REAL_COUNT: Final = "none: the real count"
REAL_OUTSIDE: Final = "none: the real one, with outside"
_SHARE: Final = Fraction(1, 4)


def audit_counts(epsilon: Fraction) -> Iterator[Finding]:
    """The law of a count, and that of the numbers outside the bounds of one column and of two."""
    laws = {
        "count": LaplaceCount(epsilon).lattice(),
        "outside the bounds": OutsideCounts(epsilon).lattice(),
        "outside the bounds of two columns": OutsideCounts(epsilon, 2).lattice(),
    }
    for subject, lattice in laws.items():
        found = exact_finding(lattice)
        yield replace(found, subject=f"{subject}, epsilon {epsilon}")


def greybox_counts(epsilon: Fraction, folder: Folder) -> Iterator[Finding]:
    """The public calls: a row moves the count by one, and at most one of the two sides by one."""
    bounds = (0.0, 10.0)
    pairs = list(neighbours(*bounds))
    csv_file = tables(folder)["CSV file"]

    def counted(data: Convert) -> Any:
        def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
            return count(data(values), epsilon=epsilon, bits=bits).to_dict()

        return run

    def beyond(value: float) -> tuple[int, int]:
        return int(value < bounds[0]), int(value > bounds[1])

    def array(values: Sequence[Any]) -> Any:
        return np.array(values, dtype=np.float64)

    for name, run in (("list", counted(list)), ("CSV file", counted(csv_file))):
        path = Path(f"count of a {name}", run, rebuild=_recounted, counted=lambda _: 1)
        yield greybox_finding(path, pairs)
    ask: dict[str, Any] = {"bounds": bounds, "epsilon": epsilon, "outside": _SHARE}
    for name, convert, column, more in (
        ("NumPy array", array, None, {}),
        ("NumPy array with spread", array, None, {"spread": True}),
        ("CSV file", csv_file, "x", {}),
    ):
        path = mean_path(
            f"{name} (outside the bounds)", convert, column, ask | more, present, beyond
        )
        yield greybox_finding(path, pairs)


def _recounted(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    return Count.from_dict(answer).to_dict()


# --- known mistakes -------------------------------------------------------------------------


def count_mutants(bench: Bench) -> list[Mutant]:
    """The real ones, then counts and sides that a record moves by too much."""
    return [
        _counted(bench, REAL_COUNT, 1),
        _counted(bench, "a record counted twice", 2),
        _outside(bench, REAL_OUTSIDE, lambda v: (v < 0, v > 1), (1, 0), (0, 1)),
        _outside(bench, "on both sides", lambda v: (not 0 <= v <= 1,) * 2, (1, 1)),
        _outside(bench, "far away counts twice", lambda v: (2 * (v < 0), 2 * (v > 1)), (0, 2)),
        _outside(bench, "the whole share on each of two columns", None, (1, 0, 1, 0)),
    ]


def _counted(bench: Bench, name: str, times: int) -> Mutant:
    mechanism: LaplaceCount = make("laplace", bench.epsilon, None, "count")

    def sampler(data: Any, size: int) -> list[Array]:
        return [mechanism.noise(Totals(0, data), bits=SECURE, size=size).counts]

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        noisy = mechanism.noise(Totals(0, times * len(values)), bits=bits)
        return Count(
            noisy_totals=noisy, epsilon=bench.epsilon, delta=Fraction(0), unit="row",
            private=False, _algorithm=mechanism,
        ).to_dict()  # fmt: skip

    path = Path(name, run, rebuild=_recounted)
    lattice = replace(mechanism.lattice(), moves=((times,),))
    return Mutant(
        name,
        (
            lambda: exact_finding(lattice),
            bench.sampled(name, sampler, (0, times)),
            lambda: greybox_finding(path, list(neighbours(0.0, 1.0))),
        ),
    )


def _outside(
    bench: Bench, name: str, sides: Callable[[float], Any] | None, *moves: tuple[int, ...]
) -> Mutant:
    """``sides`` are what a value adds to the two counts, ``moves`` what a wrong record does."""
    columns = len(moves[0]) // 2
    # That of one column: for two columns its rate is too large by a factor of two.
    right = OutsideCounts(bench.epsilon)
    lattice = replace(
        OutsideCounts(bench.epsilon * columns, columns).lattice(),
        epsilon=bench.epsilon, moves=moves,
    )  # fmt: skip
    checks = [
        lambda: exact_finding(lattice),
        bench.sampled(
            name, _sides_sampler(right, 2 * columns), *(((0,) * len(m), m) for m in moves)
        ),
    ]
    if sides is not None:
        path = Path(name, _walk(right, sides))
        checks.append(lambda: greybox_finding(path, list(neighbours(0.0, 1.0))))
    return Mutant(name, tuple(checks))


def _sides_sampler(law: OutsideCounts, counts: int) -> Sampler:
    def sampler(data: Any, size: int) -> list[Array]:
        return [data[i] + law.law.sample(size, bits=SECURE) for i in range(counts)]

    return sampler


def _walk(law: OutsideCounts, sides: Callable[[float], Any]) -> Any:
    mechanism = HourglassMean(Fraction(1), Grid(Bounds(0.0, 1.0), 4))

    def run(values: Sequence[Any], bits: Bits) -> Mapping[str, Any]:
        there = [v for v in values if v == v]
        cells = [round(min(max(v, 0.0), 1.0) * 4) for v in there]
        counts = [sum(int(sides(v)[side]) for v in there) for side in (0, 1)]
        plain = mechanism.noise(Totals(sum(cells), len(cells)), bits=bits)
        noisy: NoisyTotals = law.noise(plain, counts, bits=bits)
        return Release.of(
            mechanism, noisy, estimator="projected", private=False, outside_epsilon=law.rate
        ).to_dict()

    return run
