"""A lower confidence bound on the epsilon of anything that releases numbers.

Run the release many times on D and on its neighbour D'. From the first half of the runs, learn an
event that is likely on D and unlikely on D', and one for the other direction. On the second half,
count how often they happen: k of n on one side, k' of n' on the other. With Clopper-Pearson limits,
log(lower(k, n) / upper(k', n')) bounds epsilon from below, and is wrong with a probability of at
most alpha, over both events and all pairs tried (Bonferroni). An epsilon-DP release shows a bound
above epsilon with at most that probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import OptionError
from .binomial import lower_limit, upper_limit
from .events import Binning, Event, learn_binning, learn_event
from .finding import Finding

__all__ = ["ALPHA", "LowerBound", "empirical_finding", "lower_bound", "one_by_one"]

Array = npt.NDArray[Any]
#: ``sampler(data, size)``: ``size`` releases of ``data``, one array for each number of them.
Sampler = Callable[[Any, int], Sequence[Array]]
Progress = Callable[[int], None]

#: The probability that an audit raises a false alarm.
ALPHA: Final = 1e-6
#: The number of rows that are drawn and counted at a time.
PORTION: Final = 1 << 18


@dataclass(frozen=True)
class LowerBound:
    """Epsilon is at least this, except with probability alpha.

    The event happened ``hits`` times in ``runs`` on the side on which it is likely, and
    ``other_hits`` times in as many on the other. ``first`` tells which side that was.
    """

    epsilon: float
    alpha: float
    delta: float
    runs: int
    hits: int
    other_hits: int
    first: bool
    event: Event
    binning: Binning = field(repr=False)
    counts: tuple[Array, Array] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "lower_bound": self.epsilon,
            "confidence": 1 - self.alpha,
            "delta": self.delta,
            "runs_tested": self.runs,
            "hits": self.hits,
            "other_hits": self.other_hits,
            "event": self.event.words,
        }


def lower_bound(
    sampler: Sampler,
    data: Any,
    neighbour: Any,
    *,
    samples: int = 1_000_000,
    alpha: float = ALPHA,
    delta: float = 0.0,
    progress: Progress | None = None,
    threads: int = 1,
) -> LowerBound:
    """The bound from ``samples`` releases of each of two neighbouring datasets."""
    if samples < 100:
        raise OptionError(f"samples={samples} is too few to learn from; give 100 or more")
    half = samples // 2
    sides = (data, neighbour)
    first = [list(sampler(side, min(half, PORTION))) for side in sides]
    binning = learn_binning(*first)

    def count(size: int) -> tuple[Array, Array]:
        found = _counted(sampler, sides, size, binning, threads, progress)
        return found[0], found[1]

    learned, chosen = count(half - half // 2), count(half // 2)
    each = alpha / 4  # two events, two limits each
    deviations = -NormalDist().inv_cdf(each)
    events = (
        learn_event(binning, learned, chosen, deviations),
        learn_event(binning, learned[::-1], chosen[::-1], deviations),
    )
    tested = count(samples - half)
    runs = samples - half
    bounds = []
    for i, event in enumerate(events):
        hits, other = event.hits(tested[i]), event.hits(tested[1 - i])
        low, high = lower_limit(hits, runs, each), upper_limit(other, runs, each)
        found = math.log((low - delta) / high) if low > delta else -math.inf
        bounds.append((found, i == 0, hits, other, event))
    found, is_first, hits, other, event = max(bounds, key=lambda bound: bound[0])
    return LowerBound(
        found, alpha, delta, runs, hits, other, is_first, event, binning, (tested[0], tested[1])
    )


def one_by_one(release: Callable[[Any], Any]) -> Sampler:
    """A sampler from any callable ``release(data) -> a number or a tuple of numbers``."""

    def sampler(data: Any, size: int) -> list[Array]:
        rows = [release(data) for _ in range(size)]
        if not isinstance(rows[0], tuple | list):
            rows = [(row,) for row in rows]
        return [_column([row[i] for row in rows]) for i in range(len(rows[0]))]

    return sampler


def _column(values: list[Any]) -> Array:
    if all(isinstance(value, int | np.integer) for value in values):
        return np.array([int(value) for value in values], dtype=object)
    return np.array([float(value) for value in values])


def empirical_finding(
    subject: str, epsilon: Fraction, bound: LowerBound, *, pairs: str = ""
) -> Finding:
    """The finding for a bound: broken if it is above the claimed epsilon.

    ``pairs`` says how the two datasets differ; it is part of the subject.
    """
    holds = bound.epsilon <= epsilon
    subject = f"{subject}, {pairs}" if pairs else subject
    words = (
        f"epsilon is at least {max(0.0, bound.epsilon):.4f}: an event that happened in "
        f"{bound.hits:,} of {bound.runs:,} runs on one dataset, in {bound.other_hits:,} on its "
        "neighbour"
    )
    if not holds:
        words += f"; event: {bound.event.words}"
    return Finding("empirical", subject, holds, words, {"epsilon": str(epsilon), **bound.to_dict()})


def _counted(
    sampler: Sampler,
    sides: tuple[Any, Any],
    size: int,
    binning: Binning,
    threads: int,
    progress: Progress | None,
) -> list[Array]:
    """Fresh releases of both sides, counted by cell, in portions."""

    def portion(job: tuple[int, int]) -> tuple[int, Array]:
        side, rows = job
        counts = binning.count(sampler(sides[side], rows))
        if progress:
            progress(rows)
        return side, counts

    totals = [np.zeros(math.prod(binning.shape), dtype=np.int64) for _ in sides]
    for side, counts in _mapped(portion, _portions(size), threads):
        totals[side] += counts
    return totals


def _portions(size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, size, PORTION):
        for side in (0, 1):
            yield side, min(PORTION, size - start)


def _mapped(
    portion: Callable[[tuple[int, int]], tuple[int, Array]],
    jobs: Iterator[tuple[int, int]],
    threads: int,
) -> Iterator[tuple[int, Array]]:
    if threads == 1:
        yield from map(portion, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(portion, jobs)
