"""The privacy of the bounds by enumeration: every histogram, every neighbour, every answer.

Probabilities are enclosed to about 2^-64. The greatest ratio is e^epsilon itself, it is met,
and no enclosure can tell "equal" from "a hair above": a hair is 2^-48 here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations_with_replacement
from typing import Any

import pytest

from hourglass.core.exact import Enclosure, exp_minus
from hourglass.core.limits import Scale, counts_from_histogram
from hourglass.mechanisms import scan as private_bounds
from hourglass.mechanisms.scan import Scan, Search
from hourglass.noise import SeededBits
from hourglass.noise.ladder import LOG2_UP, Ladder

pytestmark = [
    pytest.mark.enumeration,
    pytest.mark.slow,
    pytest.mark.usefixtures("known_ladders"),
]

BITS = 80
Law = dict[Any, Enclosure]


HAIR = Fraction(1, 2**48)


@cache
def law_of(scan: Scan, counts: tuple[int, ...]) -> list[Enclosure]:
    """Of many counts it takes long, and several tests and cases need that of the same ones."""
    return scan.pmf(counts, BITS)


def at_most(more: Enclosure, less: Enclosure, epsilon: Fraction) -> bool:
    """Whether more <= e^epsilon less, to a hair."""
    return more.high * exp_minus(epsilon, BITS).high <= less.low * (1 + HAIR)


# --- one scan ---------------------------------------------------------------------------


def falling(length: int, most: int) -> Iterator[tuple[int, ...]]:
    yield from combinations_with_replacement(range(most, -1, -1), length)


def with_record(counts: tuple[int, ...], place: int) -> tuple[int, ...]:
    return tuple(count + (i < place) for i, count in enumerate(counts))


def violations(scan: Scan, claimed: Fraction, length: int, most: int) -> int:
    law = lru_cache(maxsize=None)(lambda counts: scan.pmf(counts, BITS))
    return sum(
        not (at_most(p, q, claimed) and at_most(q, p, claimed))
        for counts in falling(length, most)
        for place in range(1, length + 1)
        for p, q in zip(law(counts), law(with_record(counts, place)), strict=True)
    )


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(2)])
def test_a_scan_is_private_on_all_short_histograms(epsilon: Fraction) -> None:
    assert violations(Scan(epsilon), epsilon, length=4, most=4) == 0


def test_a_scan_is_private_along_plateaus_and_spends_all_it_charges() -> None:
    """Runs of equal counts are the worst case: there the loss is epsilon."""
    epsilon = Fraction(1)
    scan, worst = Scan(epsilon), Fraction(0)
    for level in range(4):
        counts = (*[level] * 40, 0, 0)
        p, q = law_of(scan, counts), law_of(scan, with_record(counts, 40))
        for one, other in zip(p, q, strict=True):
            assert at_most(one, other, epsilon)
            assert at_most(other, one, epsilon)
            worst = max(worst, other.low / one.high)
    assert worst * exp_minus(epsilon, BITS).high > 1 - HAIR


@dataclass(frozen=True)
class HalfNoise(Scan):
    """A mutant: the noise of twice the epsilon."""

    @property
    def threshold(self) -> Ladder:
        return Ladder(2 * private_bounds.THRESHOLD_PART * self.epsilon, 1, 1)

    @property
    def question(self) -> Ladder:
        return Ladder(2 * (1 - private_bounds.THRESHOLD_PART) * self.epsilon, 1, 1)


@dataclass(frozen=True)
class SureThreshold(Scan):
    """A mutant: all of epsilon on the questions, none on the threshold."""

    @property
    def threshold(self) -> Ladder:
        return Ladder(Fraction(1000), 1, 1)

    @property
    def question(self) -> Ladder:
        return Ladder(self.epsilon, 1, 1)


@pytest.mark.parametrize("mutant", [HalfNoise, SureThreshold])
def test_mutants_are_rejected(mutant: type[Scan]) -> None:
    assert violations(mutant(Fraction(1)), Fraction(1), length=4, most=3) > 0


def test_the_law_sums_to_one_and_falls_on_the_right_candidate() -> None:
    law = Scan(Fraction(10)).pmf((1000, 1000, 0, 0), BITS)
    total = sum(law, Enclosure.of(0))
    assert 1 in total
    assert total.high - total.low < Fraction(1, 2**70)
    assert law[2].low > Fraction(99, 100)


SOME_COUNTS = [(0,), (9, 0), (30, 12, 12, 5, 0), (7, 7, 7, 7), (40, 9, 1)]
SOME_EPSILONS = [Fraction(1, 4), Fraction(1), Fraction(4), Fraction(30)]


def in_fractions(scan: Scan, counts: Sequence[int], bits: int) -> list[Enclosure]:
    """The law from the same enclosures, with products that are not rounded at all."""
    last = int(bits * LOG2_UP / scan.threshold.rate) + 1
    law = [Enclosure.of(0)] * len(counts)
    for g in range(last):
        here = scan.threshold.pmf(g, bits)
        for i, count in enumerate(counts[:-1]):
            stop = scan.question.tail(count - scan.target + g, bits)
            law[i] = law[i] + here * stop
            here = here * (1 - stop)
        law[-1] = law[-1] + here
    beyond = Enclosure(Fraction(0), scan.threshold.tail(last, bits).high)
    return [part + beyond for part in law]


@pytest.mark.parametrize("epsilon", SOME_EPSILONS)
@pytest.mark.parametrize("bits", [8, 40])
def test_products_are_rounded_outward_and_hardly(epsilon: Fraction, bits: int) -> None:
    scan = Scan(epsilon)
    for counts in SOME_COUNTS:
        pairs = zip(scan.pmf(counts, bits), in_fractions(scan, counts, bits), strict=True)
        for rounded, exact in pairs:
            assert 0 <= exact.low - rounded.low < Fraction(1, 2 ** (bits + 48))
            assert 0 <= rounded.high - exact.high < Fraction(1, 2 ** (bits + 48))


@pytest.mark.parametrize("epsilon", SOME_EPSILONS)
def test_every_enclosure_holds_the_finer_ones(epsilon: Fraction) -> None:
    """Caught: the tail of the threshold left out."""
    scan = Scan(epsilon)
    for counts in SOME_COUNTS:
        fine = scan.pmf(counts, 200)
        assert all(part.high - part.low < Fraction(1, 2**180) for part in fine)
        for bits in (4, 8, 16, 40):
            for coarse, part in zip(scan.pmf(counts, bits), fine, strict=True):
                assert coarse.low <= part.low, (counts, bits)
                assert part.high <= coarse.high, (counts, bits)


# --- the whole: the code itself, run over every outcome of its scans ----------------------


def whole_law(
    scale: Scale,
    histogram: dict[int, int],
    epsilon: Fraction,
    pmf: Callable[[Scan, tuple[int, ...]], list[Enclosure]],
    monkeypatch: pytest.MonkeyPatch,
) -> Law:
    """P(bounds): ``Search.sample`` is run once for every combination of scan results."""
    counts = counts_from_histogram(scale, histogram)
    law: Law = {}
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        rest = list(script)
        weight = [Enclosure.of(1)]
        open_choice: list[int] = []

        def choose(
            self: Scan,
            asked: Sequence[int],
            bits: Any,
            rest: list[int] = rest,
            weight: list[Enclosure] = weight,
            open_choice: list[int] = open_choice,
        ) -> int:
            if not rest and not open_choice:
                open_choice.append(len(asked))
            choice = rest.pop(0) if rest else 0
            weight[0] = weight[0] * pmf(self, tuple(asked))[choice]
            return choice

        monkeypatch.setattr(Scan, "sample", choose)
        ends = Search(scale, epsilon).sample(counts, SeededBits(1))
        if open_choice:
            scripts.extend((*script, choice) for choice in range(open_choice[0]))
        else:
            key = (scale.candidates[ends.lower], scale.candidates[ends.upper])
            law[key] = law.get(key, Enclosure.of(0)) + weight[0]
    return law


def worst_pair(
    scale: Scale,
    records: int,
    epsilon: Fraction,
    claimed: Fraction,
    monkeypatch: pytest.MonkeyPatch,
) -> int:
    buckets = 2 * len(scale.candidates) + 1
    pmf = lru_cache(maxsize=None)(lambda scan, asked: scan.pmf(asked, BITS))

    @cache
    def law(members: tuple[int, ...]) -> Law:
        histogram = {bucket: members.count(bucket) for bucket in set(members)}
        return whole_law(scale, histogram, epsilon, pmf, monkeypatch)

    broken = 0
    for size in range(records):
        for members in combinations_with_replacement(range(buckets), size):
            for bucket in range(buckets):
                one, other = law(members), law(tuple(sorted((*members, bucket))))
                assert one.keys() == other.keys()
                for key in one:
                    within = at_most(one[key], other[key], claimed) and at_most(
                        other[key], one[key], claimed
                    )
                    broken += not within
    return broken


@pytest.mark.parametrize("candidates", [(-2, 0, 2), (-1, 0, 1, 2), (0, 1, 2, 3)])
def test_the_bounds_are_private_on_all_small_histograms(
    candidates: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    scale, epsilon = Scale(candidates), Fraction(3)
    assert worst_pair(scale, 3, epsilon, epsilon, monkeypatch) == 0


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("outcome", [0, 1, 2])
def test_the_scans_that_a_record_affects_cost_epsilon_together(
    share: Fraction, outcome: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One outward scan and the return scan; a few records do not reach the worst case of both.

    Caught: an outward scan, or the return scan, at the whole epsilon.
    """
    costs = []

    def stop(self: Scan, asked: Sequence[int], bits: Any) -> int:
        costs.append(self.epsilon)
        return min(outcome, len(asked) - 1) if len(costs) == 1 else 0

    monkeypatch.setattr(Scan, "sample", stop)
    scale, epsilon = Scale((-2, -1, 0, 1, 2)), Fraction(7, 5)
    Search(scale, epsilon, share).sample(counts_from_histogram(scale, {}), SeededBits(1))
    up, down, *back = costs
    assert len(back) == (outcome > 0)  # there is a way back if one end is further out
    assert up == down == (1 - share) * epsilon
    assert up + sum(back) == (epsilon if back else up)


def test_the_enumeration_notices_a_charge_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = Scale((0, 1, 2, 3, 4))
    assert worst_pair(scale, 2, Fraction(3), Fraction(3, 2), monkeypatch) > 0


# --- what is told of the ends ---------------------------------------------------------------


@pytest.mark.parametrize("candidates", [(0, 1, 2, 3), (-3, -2, -1, 0), (-1, 0, 1), (5, 6), (-6, 5)])
def test_the_ends_are_two_candidates_of_the_scale(candidates: tuple[int, ...]) -> None:
    """Wherever the pivot is, and however few the records are: no index is past the scale."""
    scale = Scale(candidates)
    last = len(candidates) - 1
    for place in range(2 * len(candidates) + 1):
        for records in (0, 1, 40):
            counts = counts_from_histogram(scale, {place: records})
            for seed in range(20):
                search = Search(scale, Fraction(1, 2))
                ends = search.sample(counts, SeededBits(1000 * place + seed))
                assert 0 <= ends.lower < ends.upper <= last
                for scan, questions in (ends.lower_scan, ends.upper_scan):
                    shares = (search.share, 1 - search.share)
                    assert scan.epsilon in [share * search.epsilon for share in shares]
                    assert 1 <= questions <= last + 1


@pytest.mark.parametrize("questions", [1, 3, 30])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_few_records_lie_beyond_an_end_with_the_stated_confidence(
    questions: int, confidence: float
) -> None:
    """Plateaus just above the bound are the worst case; the exact law of the scan decides."""
    scan = Scan(Fraction(1))
    most = scan.most_beyond(questions, confidence)
    for level in range(most + 1, most + 3):
        law = law_of(scan, (*[level] * questions, 0))
        assert sum(part.high for part in law[:-1]) <= 1 - Fraction(str(confidence))
    alone = scan.most_beyond(1, confidence)
    many = law_of(scan, (*[alone + 1] * 30, 0))
    assert sum(part.low for part in many[:-1]) > 1 - Fraction(str(confidence))
