"""The three audits of hourglass itself, each with many findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from ..ask.run import run
from ..core.limits import DEFAULT_GRID, Bounds, Grid, per_person
from ..mechanisms.base import make
from ..mechanisms.threshold import threshold
from ..noise import Hourglass
from ..noise.bits import Bits
from ..noise.ladder import Ladder
from .around import keys_finding, ledger_finding, persons_finding
from .column_mutants import box_sampler
from .empirical import ALPHA, LowerBound, Progress, empirical_finding, lower_bound
from .exact import exact_audit
from .files import audit_files
from .finding import Finding, grid_text
from .greybox import Path, greybox_finding, neighbours
from .lines import audit_lines
from .names import audit_names
from .paths import sampler_of
from .scripts import sampler_finding

__all__ = [
    "audit_around",
    "audit_empirical",
    "audit_exact",
    "audit_greybox",
    "audit_keys",
    "audit_samplers",
]


def audit_exact(
    epsilon: Fraction, grids: Iterable[int], algorithms: Iterable[str]
) -> Iterator[Finding]:
    """Every law on every grid: all of its ratios, or on a fine grid all that can differ.

    Also the laws in parts of a cell, if noise on whole numbers uses them.
    """
    for G, name in product(grids, algorithms):
        real = make(name, epsilon, Grid(Bounds(-1.0, 3.0), G))
        whole = make(name, epsilon, Grid(Bounds(0, G), G, own=True))
        laws = {f"grid {grid_text(G)}": real}
        if whole.parts != real.parts:
            laws[f"whole numbers 0..{G} in {whole.parts} parts"] = whole
        for where, algorithm in laws.items():
            found = exact_audit(algorithm)
            subject = f"{name}, epsilon {epsilon}, {where}"
            yield replace(found, subject=subject)


def audit_samplers() -> Iterator[Finding]:
    """The samplers' own laws, by enumeration over all scripts of narrow words."""
    ladder = Ladder(Fraction(1), 1, 2)

    def by_table(bits: Bits) -> int:
        return int(ladder.sample_by_table(1, bits)[0])

    def by_digits(bits: Bits) -> int:
        return int(ladder.sample_by_digits(1, bits)[0])

    yield sampler_finding("geometric, by table", by_table, ladder.pmf, range(12))
    yield sampler_finding("geometric, by digits", by_digits, ladder.pmf, range(12))
    law = Hourglass(1, 1)
    yield sampler_finding(
        "hourglass, grid 1",
        lambda bits: law.sample(bits=bits),
        lambda point: law.pmf(*point),
        product(range(-2, 3), repeat=2),
    )
    yield box_sampler(lambda box, bits: box.sample(bits=bits))


def audit_empirical(
    epsilon: Fraction,
    grid: int,
    *,
    samples: int,
    algorithm: str = "hourglass",
    alpha: float = ALPHA,
    progress: Progress | None = None,
) -> Iterator[tuple[Finding, LowerBound]]:
    """The lower bound on epsilon for a record at either bound, added to no records."""
    mechanism = make(algorithm, epsilon, Grid(Bounds(0.0, 1.0), grid))
    pairs = (("a record at the lower bound", 0), ("a record at the upper bound", grid))
    threads = min(4, os.cpu_count() or 1)
    for name, q in pairs:
        bound = lower_bound(
            sampler_of(mechanism),
            (0, 0),
            (q, 1),
            samples=samples,
            alpha=alpha / len(pairs),
            progress=progress,
            threads=threads,
        )
        subject = f"{algorithm}, epsilon {epsilon}, grid {grid_text(grid)}"
        yield empirical_finding(subject, epsilon, bound, pairs=name), bound


def audit_greybox(
    paths: Iterable[Path], bounds: tuple[float, float] = (0.0, 10.0)
) -> Iterator[Finding]:
    """Every path over every pair of neighbours."""
    pairs = list(neighbours(*bounds))
    for path in paths:
        yield greybox_finding(path, pairs)


def audit_keys(epsilon: Fraction) -> Iterator[Finding]:
    """The threshold of secret keys for some deltas: the probability is low enough, exactly."""
    for delta in (Fraction(1, 1000), Fraction(1, 10**6), Fraction(1, 10**12)):
        for G in (1, 100, DEFAULT_GRID):
            law = Hourglass(epsilon, G)
            yield keys_finding(law, delta, threshold(law, delta))


def audit_around(epsilon: Fraction) -> Iterator[Finding]:
    """Persons with many rows, unusual names, lines and files, and the charging of a budget."""
    yield persons_finding(epsilon, per_person("id"))
    yield persons_finding(epsilon, per_person("id", rows=2))
    yield from audit_names(epsilon)
    yield from audit_lines(epsilon)
    yield from audit_files(epsilon)
    yield ledger_finding("charge, look, store, hand out", run)
