"""Totals, differences and ratios of groups: their figures, and the width and coverage of
intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import hourglass as hg
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.errors import OptionError
from hourglass.estimate import differences, pairs
from hourglass.estimate.differences import _fewest, _tails_at, difference
from hourglass.estimate.interval import _records
from hourglass.estimate.lines import COUNT, Tail, count_reach, reach_of, sums_reach, tail
from hourglass.estimate.population import Seen, noise_alone, sampled, shares
from hourglass.mechanisms.base import ALGORITHMS, make
from hourglass.release.combined import Total
from hourglass.release.compared import Difference, Ratio, _rounded
from tests.tools import at_least, long

MONTHS = list(range(1, 13))


def by_month(
    rows: int = 300, epsilon: Any = 1, bounds: Any = (-60.0, 60.0), **options: Any
) -> hg.Releases:
    rng = np.random.default_rng(3)
    month = np.repeat(MONTHS, rows)
    table = pd.DataFrame({"month": month, "delay": rng.normal(5, 20, len(month))})
    found = hg.mean(
        table, "delay", bounds=bounds, epsilon=epsilon, by="month", keys=MONTHS,
        bits=hg.SeededBits(6), **options,
    )  # fmt: skip
    assert isinstance(found, hg.Releases)
    return found


def half(found: hg.Interval) -> float:
    return (found.high - found.low) / 2


# --- figures ----------------------------------------------------------------------------------


def test_a_total_is_the_sum_of_the_noisy_totals() -> None:
    releases = by_month()
    total = releases.total()
    assert total.keys == tuple(MONTHS)
    assert total.count == pytest.approx(sum(releases.counts), abs=6)
    assert total.sum == pytest.approx(sum(releases.sums))
    assert total.mean == pytest.approx(
        -60 + 120 * sum(int(c) for c in releases.noisy_totals.cells)
        / sum(int(c) for c in releases.noisy_totals.weight)
    )  # fmt: skip
    some = releases.total([2, 5])
    assert some.sum == pytest.approx(releases[2].sum + releases[5].sum)
    one = releases.total([7])
    assert tuple(one.interval()) == tuple(releases[7].interval())
    assert one.interval().kind == "exact"
    assert one.interval(of="population") == releases[7].interval(of="population")


@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
@pytest.mark.parametrize("of", ["mean", "sum", "count"])
def test_a_total_is_far_narrower_than_the_groups_added_up(epsilon: str, of: str) -> None:
    releases = by_month(3000, epsilon)
    apart = sum(half(releases[key].interval(of=of)) for key in releases)
    if of == "mean":
        apart /= 12
    found = releases.total().interval(of=of)
    assert found.kind == "valid"
    assert half(found) < apart / 2
    assert half(found) > apart / 12 if of != "mean" else True


@pytest.mark.parametrize("keys", [[4], [4, 7], None])
def test_the_interval_of_a_total_sum_has_its_estimate_in_the_middle(keys: Any) -> None:
    """The noise is symmetric; caught: an end that is no further than the estimate."""
    total = by_month(epsilon="1/2").total(keys)
    low, high = total.interval(of="sum")
    assert (low + high) / 2 == pytest.approx(total.sum)
    assert high - total.sum > 120  # one record at the bounds
    low, high = total.interval(of="count")
    assert (low + high) / 2 == pytest.approx(total.count, abs=0.51)
    assert high - total.count >= 2


@pytest.mark.slow
def test_a_difference_and_a_ratio_are_of_the_means() -> None:
    releases = by_month(bounds=(0.0, 60.0))
    difference, ratio = releases.difference(3, 9), releases.ratio(3, 9)
    assert difference.difference == releases[3].mean - releases[9].mean
    assert ratio.ratio == releases[3].mean / releases[9].mean
    for pair in (difference, ratio):
        found = pair.interval()
        assert found.low <= pair.value <= found.high
        assert (found.kind, found.of) == ("valid", "mean")
        wider = pair.interval(of="population")
        assert (wider.kind, wider.of) == ("valid", "population")
        assert wider.low < found.low
        assert found.high < wider.high


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "epsilon", "most"), [(3000, "1", 1.08), (3000, "1/10", 1.2)])
def test_a_difference_is_about_as_narrow_as_independent_errors_allow(
    rows: int, epsilon: str, most: float
) -> None:
    """A product of the two intervals would be 1.41 times as wide as errors added in squares."""
    releases = by_month(rows, epsilon)
    both = [half(releases[key].interval()) for key in (1, 2)]
    found = half(releases.difference(1, 2).interval())
    assert 0.97 * math.hypot(*both) < found < most * math.hypot(*both)


@pytest.mark.parametrize(("epsilon", "of"), [("1", "mean"), ("1/10", "mean"), ("1", "population")])
def test_a_ratio_is_about_as_narrow_as_an_ellipse_allows(epsilon: str, of: str) -> None:
    """An ellipse that holds both errors is 1.25 times as wide as errors added in squares."""
    releases = by_month(3000, epsilon, bounds=(0.0, 60.0))
    both = [half(releases[key].interval(of=of)) / releases[key].mean for key in (1, 2)]
    ratio = releases.ratio(1, 2)
    found = half(ratio.interval(of=of)) / ratio.ratio
    assert math.hypot(*both) < found < 1.5 * math.hypot(*both)


def test_small_groups_have_wide_intervals() -> None:
    few = by_month(8, "1/2", bounds=(0.0, 60.0))
    difference = few.difference(1, 2).interval()
    assert (difference.low, difference.high) == (-60.0, 60.0) or half(difference) > 20
    ratio = few.ratio(1, 2).interval()
    assert ratio.low <= 0 or ratio.high > 3
    stored = few.ratio(1, 2).to_dict()
    json.dumps(stored, allow_nan=False)


@pytest.mark.slow
def test_a_ratio_to_what_may_be_zero_is_unbounded() -> None:
    releases = by_month(bounds=(-60.0, 60.0), epsilon="1/50")
    found = releases.ratio(1, 2)
    assert tuple(found.interval()) == (-math.inf, math.inf)
    assert found.to_dict()["interval"] == {
        "confidence": 0.95, "low": None, "high": None, "kind": "valid",
    }  # fmt: skip
    assert "inf" in found.text()


# --- what they hold ---------------------------------------------------------------------------

GRIDS = {"yes/no": Grid(Bounds(0, 1), 1, True), "real": Grid(Bounds(0.0, 1.0), 2**32)}


def noised(mechanism: Any, S: Any, n: Any, size: int, seed: int) -> list[NoisyTotals]:
    """Samples of noisy totals, S and n numbers or one for each."""
    G, parts = mechanism.grid.cells, mechanism.parts
    zero = mechanism.noise(Totals(0, 0), size=size, bits=hg.SeededBits(seed))
    S = [S] * size if np.isscalar(S) else list(S)
    pairs = zip(zero.cells.tolist(), zero.rest.tolist(), S, strict=True)
    return [
        NoisyTotals(cells + parts * int(s), rest + parts * (G * n - int(s)), G, parts)
        for cells, rest, s in pairs
    ]


def drawn(mechanism: Any, mean: float, n: int, size: int, seed: int) -> Any:
    """Totals of n yes/no draws, or of draws from two points around the mean, in cells."""
    rng, G = np.random.default_rng(seed), mechanism.grid.cells
    if G == 1:
        return rng.binomial(n, mean, size)
    spread = min(mean, 1 - mean)
    high = rng.binomial(n, 0.5, size)
    step = round(spread * G)
    return [n * round(mean * G) + (2 * int(h) - n) * step for h in high.tolist()]


def pair_of(kind: Any, mechanism: Any, first: NoisyTotals, second: NoisyTotals) -> Any:
    means = tuple(min(max(t.cells / max(t.weight, 1), 0.0), 1.0) for t in (first, second))
    return kind(("a", "b"), means, (first, second), mechanism)


def held(
    kind: Any, grid: str, epsilon: str, sizes: tuple[int, int], of: str, samples: int,
    narrower: float = 1.0, algorithm: str = "hourglass",
) -> Iterator[bool]:  # fmt: skip
    """Whether each of so many intervals holds the truth."""
    mechanism = make(algorithm, Fraction(epsilon), GRIDS[grid])
    G, means = mechanism.grid.cells, (0.3, 0.45)
    sums: list[Any] = []
    for seed, (mean, n) in enumerate(zip(means, sizes, strict=True)):
        fixed = round(mean * n) * G
        sums.append(drawn(mechanism, mean, n, samples, seed) if of == "population" else fixed)
    if of == "mean":
        means = tuple(s / G / n for s, n in zip(sums, sizes, strict=True))
    noisy = [noised(mechanism, s, n, samples, 7 + i) for i, (s, n) in enumerate(zip(sums, sizes, strict=True))]  # fmt: skip # noqa: E501
    true = means[0] - means[1] if kind is Difference else means[0] / means[1]
    for first, second in zip(*noisy, strict=True):
        low, high = pair_of(kind, mechanism, first, second).interval(0.8, of=of)
        middle = (low + high) / 2 if math.isfinite(high - low) else 0.0
        reach = (high - low) / 2 * narrower
        yield middle - reach - 1e-12 <= true <= middle + reach + 1e-12


def enough(samples: int) -> int:
    """At a coverage of 80 %, fewer have a probability of 2e-8: below 1e-6 in all tests together."""
    return int(stats.binom.ppf(2e-8, samples, 0.8))


def often(held: Iterator[bool], samples: int) -> bool:
    """Whether enough of so many intervals hold the truth; no more are made than decide it."""
    return at_least(enough(samples), held, samples)


CASES = [
    (Difference, ("yes/no", "1", (400, 150)), "mean"),
    (Ratio, ("real", "1", (40, 25)), "mean"),
    (Difference, ("real", "4", (60, 12)), "mean"),
    (Difference, ("yes/no", "1", (300, 300)), "population"),
    (Ratio, ("real", "2", (200, 60)), "population"),
    *long(
        (Ratio, ("yes/no", "1", (400, 150)), "mean"),
        (Difference, ("real", "1", (40, 25)), "mean"),
        (Ratio, ("real", "4", (60, 12)), "mean"),
        (Ratio, ("yes/no", "1", (300, 300)), "population"),
        (Difference, ("real", "2", (200, 60)), "population"),
    ),
]


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "case", "of"), CASES)
def test_coverage_of_pairs(kind: Any, case: Any, of: str) -> None:
    """Without the part for sampling, a population's interval would hold a fifth of them."""
    samples = 40 if of == "population" else 80
    grid, epsilon, sizes = case
    assert often(held(kind, grid, epsilon, sizes, of, samples), samples)


@pytest.mark.statistical
@pytest.mark.slow
def test_a_difference_half_as_wide_fails_the_coverage_test() -> None:
    assert not often(held(Difference, "yes/no", "1", (400, 150), "mean", 200, narrower=0.4), 200)


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("kind", [Difference, Ratio])
@pytest.mark.parametrize("of", ["mean", "population"])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
@pytest.mark.parametrize("sizes", [(20, 20), (200, 60), (10_000, 2000)])
def test_coverage_of_pairs_in_all(
    kind: Any, grid: str, epsilon: str, sizes: tuple[int, int], of: str
) -> None:
    found = sum(held(kind, grid, epsilon, sizes, of, 1000)) / 1000
    print(f"{kind.__name__} {grid} {epsilon} {sizes} {of}: {found:.3f}")
    assert found >= 0.8 - 4 * math.sqrt(0.8 * 0.2 / 1000)


def totals_held(
    grid: str, epsilon: str, groups: int, n: int, of: str, samples: int, algorithm: str
) -> Iterator[bool]:
    """Whether each of so many intervals of a total holds the truth."""
    mechanism = make(algorithm, Fraction(epsilon), GRIDS[grid])
    G = mechanism.grid.cells
    sampling = of == "population"
    S: Any = (
        drawn(mechanism, 0.3, n * groups, samples, 5) if sampling else round(0.3 * n * groups) * G
    )
    noisy = noised(mechanism, 0, 0, samples * groups, 11)
    S = [S] * samples if np.isscalar(S) else list(S)
    truth = {"mean": S[0] / G / (n * groups), "sum": S[0] / G, "count": n * groups}
    for i in range(samples):
        some = noisy[i * groups : (i + 1) * groups]
        parts = mechanism.parts
        whole = NoisyTotals(
            sum(t.cells for t in some) + parts * int(S[i]),
            sum(t.rest for t in some) + parts * (G * n * groups - int(S[i])),
            G,
            parts,
        )
        low, high = Total(tuple(range(groups)), whole, mechanism).interval(0.8, of=of)
        yield low - 1e-9 <= (0.3 if sampling else truth[of]) <= high + 1e-9


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("of", ["mean", "sum", "count", "population"])
@pytest.mark.parametrize(("grid", "epsilon", "groups", "n"), [
    ("yes/no", "1", 12, 50), ("real", "1/4", 3, 200), ("real", "4", 40, 10),
])  # fmt: skip
def test_coverage_of_totals(of: str, grid: str, epsilon: str, groups: int, n: int) -> None:
    """And not far more than promised, where no bound on sampling is in it."""
    samples = 100 if of == "population" else 400
    held = totals_held(grid, epsilon, groups, n, of, samples, "hourglass")
    if of in ("mean", "sum") and epsilon != "4":
        found = sum(held) / samples
        assert enough(samples) / samples <= found <= 0.8 + 0.04 + 5.5 * math.sqrt(0.8 * 0.2 / 400)
    else:
        assert often(held, samples)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if ALGORITHMS[name].by_group])
def test_coverage_of_every_mechanism(algorithm: str) -> None:
    assert often(totals_held("real", "1", 5, 100, "mean", 100, algorithm), 100)
    sizes = (300, 200)
    assert often(held(Difference, "real", "1", sizes, "mean", 40, algorithm=algorithm), 40)


@pytest.mark.parametrize("flip", [False, True])
def test_the_tail_at_a_place_does_not_depend_on_the_places_beside_it(flip: bool) -> None:
    """Places that share a table are asked together: none is put with those of the next."""
    mechanism = make("hourglass", Fraction(1), GRIDS["real"])
    (noisy,) = noised(mechanism, 90 * 2**32, 300, 1, 4)
    seen = Seen(mechanism, *_records(noisy), 0.9)
    places = np.linspace(-0.4, 0.4, 161)
    together = _tails_at(seen, 0.28, 0.3, flip, places, None)
    for i in range(len(places) - 1):
        alone = _tails_at(seen, 0.28, 0.3, flip, places[[i, -1]], None)
        assert alone.tolist() == together[[i, -1]].tolist()
    assert len({*together}) > 20


# --- for people and programs ------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("mean", [0.3, 0.8])
def test_the_tail_of_an_error_covers_every_number_of_records(mean: float) -> None:
    """The fewest and the most records that a small group can have: 200,000 draws of each, within
    6 standard errors (false alarms: 1e-8 each). The other number of the two would fail."""
    mechanism, runs = make("hourglass", Fraction(1), GRIDS["real"]), 200_000
    noise = mechanism.noise(Totals(0, 0), size=runs, bits=hg.SeededBits(8))
    x, y = (np.asarray(part, dtype=np.float64) / 2**32 for part in (noise.cells, noise.weight))
    seen = Seen(mechanism, 40 * mean, 40.0, 0.9)
    deviation = 1.4 / seen.size
    places = deviation * np.linspace(-3, 3, 61)
    bound = _tails_at(seen, mean, mean, False, np.append(places, 20 * deviation), None)[:-1]
    for n in (max(seen.least, _fewest(seen)), seen.most):
        error = np.clip((mean * n + x) / (n + y), 0.0, 1.0) - mean
        shares = (((np.abs(y) < seen.reach) & (error >= places[:, None])).mean(axis=1)).tolist()
        for share, found in zip(shares, bound.tolist(), strict=True):
            assert found >= share - 6 * math.sqrt(max(share, 1e-4) / runs)


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize("population", [False, True])
def test_what_is_spent_on_a_pair_adds_up(
    population: bool, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interval for each of the two means, and the test of both: at most 1 - confidence."""
    mechanism, given = make("hourglass", Fraction(1), GRIDS["real"]), dict[str, set[float]]()

    def noted(module: Any, name: str) -> None:
        own = getattr(module, name)

        def wrapped(*options: Any) -> Any:
            given.setdefault(name, set()).add(options[-1])
            return own(*options)

        monkeypatch.setattr(module, name, wrapped)

    noted(differences, "_too_far")
    noted(pairs, "_quantile")
    seen = Seen(mechanism, 150.0, 400.0, confidence)
    differences._by_errors(seen, seen, population)
    pairs.difference(seen, seen, population)
    means = 2 * (1.0 - pairs.cut(seen, population)[0].confidence)
    sides, both = *given["_too_far"], *given["_quantile"]
    assert 2 * sides + means == pytest.approx(1.0 - confidence, rel=1e-9)
    assert both + means == pytest.approx(1.0 - confidence, rel=1e-9)
    assert 2 * seen.miss + seen._spent == pytest.approx(1.0 - confidence, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("ends", [(0.2, 0.6), (0.5, 0.9)])
def test_the_tail_of_a_pivot_covers_every_mean_of_its_cell(ends: tuple[float, float]) -> None:
    """200,000 draws, within 6 standard errors (false alarms: 1e-8 each). That of the middle of
    the cell alone would fail."""
    mechanism, runs = make("hourglass", Fraction(1), GRIDS["real"]), 200_000
    noise = mechanism.noise(Totals(0, 0), size=runs, bits=hg.SeededBits(9))
    x, y = (np.asarray(part, dtype=np.float64) / 2**32 for part in (noise.cells, noise.weight))
    seen, places = Seen(mechanism, 20.0, 40.0, 0.9), np.linspace(0.0, 8.0, 33)
    bound = pairs._sides(seen, *ends, places, False).tolist()
    for mean in ends:
        far = (np.abs(y) < seen.reach) & (np.abs(x - mean * y) >= places[:, None])
        for share, found in zip(far.mean(axis=1).tolist(), bound, strict=True):
            assert found >= share - 6 * math.sqrt(max(share, 1e-4) / runs)


@pytest.mark.parametrize("size", [4.0, 30.0, 130.0])
def test_an_ellipse_has_the_scale_of_every_number_of_records(size: float) -> None:
    """Which of them it is depends on the true number, which is secret."""
    mechanism = make("hourglass", Fraction(1, 4), GRIDS["real"])
    seen = Seen(mechanism, size / 2, size, 0.9)
    found = pairs._scales(seen, True)
    sampling = [4 * (c**2 - float(mechanism.moments.cells)) for c in found]
    for n in range(seen.least, seen.most + 1):
        assert any(0.499 * n <= v <= 2.001 * max(n, 1) for v in sampling)  # a power of four


@pytest.mark.parametrize("population", [False, True])
def test_a_difference_of_distances_from_the_upper_bound_has_the_other_sign(
    population: bool,
) -> None:
    """Caught: the cells of a mean in the wrong order for one of the two tails."""
    mechanism = make("hourglass", Fraction(1), GRIDS["real"])
    first, second = Seen(mechanism, 12.0, 80.0, 0.9), Seen(mechanism, 45.0, 90.0, 0.9)
    low, high = differences._by_errors(first, second, population)
    found = differences._by_errors(first.mirrored, second.mirrored, population)
    assert found == pytest.approx((-high, -low), rel=0.004)


@pytest.mark.parametrize(("q", "wanted"), [(0.5, 1.0), (1.5, 0.7), (2.4, 0.285), (9.0, 0.145)])
def test_outside_an_ellipse_each_error_is_at_the_end_of_its_step(q: float, wanted: float) -> None:
    """|z_1| just below 1 and below 2 with masses of 0.5 and 0.4, beyond the table with 0.1."""
    places = np.array([0.0, 1.0, 2.0])
    one, two = Tail(places, np.array([1.0, 0.5, 0.1])), Tail(places, np.array([1.0, 0.4, 0.05]))
    assert pairs._outside(one, two, 1.0, 1.0, q) == pytest.approx(wanted)
    assert pairs._outside(one, Tail(3 * places, two.values), 1.0, 3.0, q) == pytest.approx(wanted)


@pytest.mark.parametrize(("top", "bottom"), [(1.0, 4.0), (-3.0, 2.0), (0.0, 1e200)])
def test_tangents_touch_the_ellipse(top: float, bottom: float) -> None:
    """Against the slopes of points all around; none where the ellipse reaches the vertical axis."""
    angles = np.linspace(0.0, 2 * math.pi, 100_001)
    a, b = 0.5 * bottom, 0.3 * bottom
    slopes = (top + a * np.cos(angles)) / (bottom + b * np.sin(angles))
    found = pairs._tangents(top, bottom, a, b)
    assert found == pytest.approx((slopes.min(), slopes.max()), rel=1e-6)
    for reaching in (bottom, 1.5 * bottom):
        assert pairs._tangents(top, bottom, a, reaching) == (-math.inf, math.inf)
    for axes in ((a, b), (0.0, 0.0), (math.inf, b), (a, math.inf), (math.inf, math.inf)):
        assert pairs._tangents(0.0, 0.0, *axes) == (-math.inf, math.inf)


@pytest.mark.parametrize("of_population", [False, True])
@pytest.mark.parametrize("width", [1e-200, 1.0, 1e200, 1.5e308])
def test_a_ratio_of_two_means_of_zero(width: float, of_population: bool) -> None:
    """Both estimates are 0, which is far below the half-axes of the ellipse: no overflow."""
    mechanism = make("hourglass", Fraction(1), Grid(Bounds(-width / 2, width / 2), 2))
    seen = Seen(mechanism, 20.0, 40.0, 0.95)
    assert len(pairs.cells(seen, of_population)) > 1  # the first of them is without a mean of 0
    found = pairs.ratio(seen, seen, of_population, -width / 2, width)
    assert found == (-math.inf, math.inf)


@pytest.mark.parametrize("population", [False, True])
def test_a_difference_by_the_ellipse_is_around_the_estimate(population: bool) -> None:
    """Small groups are compared by it; caught: another middle, or the intervals of both alone."""
    mechanism = make("hourglass", Fraction(1), GRIDS["real"])
    first, second = Seen(mechanism, 150.0, 500.0, 0.9), Seen(mechanism, 200.0, 400.0, 0.9)
    low, high = pairs.difference(first, second, population)
    assert (low + high) / 2 == pytest.approx(-0.2, abs=0.002)
    assert pairs.difference(second, first, population) == pytest.approx((-high, -low), abs=0.002)
    ends = (shares(one, sampled if population else noise_alone) for one in (first, second))
    apart = [(above - below) / 2 for below, above in ends]
    assert math.hypot(*apart) < (high - low) / 2 < 1.6 * math.hypot(*apart)


@pytest.mark.parametrize("of", ["mean", "population"])
def test_a_difference_allows_for_rounding_of_both_means(of: str) -> None:
    mechanism = make("hourglass", Fraction(1), Grid(Bounds(-10.0, 30.0), 20))
    parts, slack = mechanism.parts, float(mechanism.grid.slack)
    noisy = [
        NoisyTotals(20 * parts * a, 20 * parts * b, 20, parts) for a, b in ((90, 110), (70, 30))
    ]
    found = Difference(("a", "b"), (8.0, 18.0), (noisy[0], noisy[1]), mechanism).interval(of=of)
    first, second = (Seen(mechanism, *_records(one), 0.95) for one in noisy)
    low, high = difference(first, second, of == "population")
    assert tuple(found) == pytest.approx((40 * low - 2 * slack, 40 * high + 2 * slack))


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("lower", [0, -7])
def test_a_sum_allows_for_rounding_of_the_most_records(lower: int, copies: int) -> None:
    """The reach on a grid that moves values is larger by the slack of every possible record."""
    moved, own = (make("hourglass", Fraction(1), Grid(Bounds(lower, lower + 20), 20, own=own))
                  for own in (False, True))  # fmt: skip
    noisy = [NoisyTotals(30 * 20 * moved.parts, 10 * 20 * moved.parts, 20, moved.parts)] * copies
    found = sums_reach(moved, noisy, 0.05, copies) - sums_reach(own, noisy, 0.05, copies)
    most = 40 * copies + count_reach(moved, 0.05 / 50, copies)
    assert moved.grid.slack * Fraction(most) <= found <= moved.grid.slack * Fraction(most + 1)
    assert most > 40 * copies + count_reach(moved, 0.05, copies)


@pytest.mark.parametrize("least", [0.0, 0.05, 0.1])
def test_a_ratio_is_unbounded_if_rounding_may_hide_a_zero(least: float) -> None:
    assert _rounded(1.0, 2.0, least, 0.1) == (-math.inf, math.inf)
    assert _rounded(1.0, 2.0, 0.4, 0.1) == pytest.approx((0.0, 3.0), abs=1e-5)


@pytest.mark.parametrize("size", [6, 7, 12, 100])
@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-3.0, -1.0)])
def test_a_ratio_allows_for_rounding_of_every_record(lower: float, upper: float, size: int) -> None:
    """Every pair of means that rounds to one in the set has its ratio in the interval, also where
    the second mean is far nearer to zero than its estimate."""
    width, cells = upper - lower, 50
    mechanism = make("hourglass", Fraction(2), Grid(Bounds(lower, upper), cells))
    slack, each = float(mechanism.grid.slack), mechanism.parts * cells * size // 4
    noisy = NoisyTotals(2 * each, 2 * each, cells, mechanism.parts)
    means = (lower + upper) / 2, (lower + upper) / 2
    found = Ratio(("a", "b"), means, (noisy, noisy), mechanism).interval()
    seen = Seen(mechanism, *_records(noisy), 0.95)
    low, high = pairs.ratio(seen, seen, False, lower, width)
    edges = pairs.cut(seen, False)[1]
    bottom = min((lower + width * edge for edge in (edges[0], edges[-1])), key=abs)
    assert (math.isfinite(low), found.low < low) == (abs(bottom) > 0, math.isfinite(low))
    for ratio, one, two in product((low, high), (slack, -slack), (slack, -slack)):
        if math.isfinite(found.low):
            assert (ratio * bottom + one) / (bottom + two) in found
    if size == 100:  # and hardly more
        assert half(found) < (high - low) / 2 + 2 * slack * (1 + high) / abs(bottom)


# --- at any confidence --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("of", ["mean", "sum", "count", "population"])
def test_a_total_of_many_groups_at_any_confidence(of: str) -> None:
    """Tables of many noises do not tell small probabilities from zero. It was an OverflowError."""
    rng, groups = np.random.default_rng(3), 1000
    table = pd.DataFrame({"key": np.repeat(range(groups), 5), "x": rng.random(5 * groups)})
    found = hg.mean(
        table, "x", bounds=(0.0, 1.0), epsilon=1, by="key", keys=list(range(groups)),
        bits=hg.SeededBits(6),
    ).total()  # fmt: skip
    before = found.interval(0.95, of=of)
    for confidence in (0.9999, 0.999999):
        wider = found.interval(confidence, of=of)
        assert wider.low <= before.low < before.high <= wider.high < math.inf
        before = wider


@pytest.mark.slow
@pytest.mark.parametrize("of", ["mean", "population"])
@pytest.mark.parametrize("kind", ["difference", "ratio"])
def test_pairs_at_any_confidence(kind: str, of: str) -> None:
    """Each step towards certainty widens the interval, by about as much as for normal errors."""
    pair = getattr(by_month(1000, bounds=(20.0, 60.0)), kind)(1, 2)
    before = half(pair.interval(0.999, of=of))
    for confidence in (0.9999, 0.99999, 0.999999):
        wider = half(pair.interval(confidence, of=of))
        assert before < wider < 1.4 * before
        before = wider


@pytest.mark.parametrize("copies", [1, 50])
def test_a_reach_beyond_its_table_is_valid(copies: int) -> None:
    """Where the table ends, Cantelli's inequality continues: never below what the table shows."""
    law = make("hourglass", Fraction(1), Grid(Bounds(0, 1), 1, True))
    table = tail(law, COUNT, copies)
    last = float(table.values[-1])
    assert reach_of(law, COUNT, 2 * last, copies) == table.reach(2 * last)
    deviation = math.sqrt(copies * float(law.law.variance[1]))  # type: ignore[attr-defined]
    for miss in (last / 2, 1e-12):
        found = reach_of(law, COUNT, miss, copies)
        assert table.places[-1] < found < math.inf
        assert 1 / (1 + (found / deviation) ** 2) <= miss
        assert count_reach(law, 2 * miss, copies) == found


def test_text_and_dict() -> None:
    releases = by_month()
    total, difference = releases.total(), releases.difference(1, 2)
    text = total.text()
    assert "total of 12 groups" in text
    assert [line.split()[0] for line in text.splitlines()[2:5]] == ["mean", "sum", "count"]
    assert "for these records" in text
    assert "mean of 1 minus mean of 2" in difference.text()
    assert "90 %" in difference.text(0.9)
    assert "mean of 1 / mean of 2" in releases.ratio(1, 2).text()
    stored = total.to_dict()
    assert stored["groups"] == MONTHS
    assert stored["intervals"]["mean"]["kind"] == "valid"
    found = difference.to_dict(0.9)
    assert found["difference"] == difference.difference
    assert found["interval"]["confidence"] == 0.9
    json.dumps([stored, found])


def test_keys_that_are_dates_and_pairs() -> None:
    days = [date(2024, 1, day) for day in (1, 2)]
    table = pa.table({"day": days * 200, "g": ["a", "a", "b", "b"] * 100, "x": [0.5] * 400})
    keys = pa.table({"day": [*days, *days], "g": ["a", "a", "b", "b"]})
    releases = hg.mean(
        table, "x", bounds=(0.0, 1.0), epsilon=1, by=["day", "g"], keys=hg.public(keys)
    )
    first, last = (days[0], "a"), (days[1], "b")
    found = releases.difference(first, last)
    json.dumps(found.to_dict())
    assert "2024-01-01, a" in found.text()
    assert len(releases.total().keys) == 4


def test_a_tuple_is_a_list_of_groups_unless_it_is_a_group() -> None:
    """Caught: a pair that names one group is taken for two, and two names for one group."""
    table = pd.DataFrame({"a": [1, 1, 2], "b": [2, 1, 2], "x": [0.1, 0.5, 0.9]})
    asked: list[Any] = [partial(hg.mean, table, "x", bounds=(0, 1)), partial(hg.count, table)]
    for ask in asked:
        several = ask(epsilon=1, by=["a", "b"], keys=[(1, 1), (1, 2), (2, 2)])
        with pytest.raises(OptionError, match=r"not a list.*total\(\[key\]\)"):
            several.total((1, 2))
        assert several.total([(1, 2)]).keys == ((1, 2),)
        assert several.total(((1, 2), (2, 2))).keys == ((1, 2), (2, 2))
        assert ask(epsilon=1, by="a", keys=[1, 2]).total((1, 2)).keys == (1, 2)


def test_of_a_column_of_several() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": ["a", "b"] * 500, "x": rng.random(1000), "y": rng.random(1000)})
    release = hg.mean(table, ["x", "y"], bounds=(0, 1), epsilon=1, by="g", keys=["a", "b"])
    for name in ("x", "y"):
        total = release.column(name).total()
        assert total.interval().low <= total.mean <= total.interval().high
        assert half(total.interval()) < 0.01
        assert half(release.column(name).difference("a", "b").interval()) < 0.03


@pytest.mark.slow
def test_of_answers_with_their_spread() -> None:
    releases = by_month(spread=True)
    assert half(releases.total().interval()) < 1
    assert half(releases.difference(1, 2).interval()) < 5


def test_it_survives_being_stored() -> None:
    releases = by_month()
    again = hg.Releases.from_dict(json.loads(json.dumps(releases.to_dict(0.95))))
    assert again.total().interval() == releases.total().interval()
    assert again.difference(1, 2).interval() == releases.difference(1, 2).interval()


def test_what_is_refused() -> None:
    releases = by_month()
    for keys, told in (
        ([], "at least one"),
        ([1, 1], "twice"),
        ([1, 99], "99 is not a group of this answer"),
    ):
        with pytest.raises(OptionError, match=told):
            releases.total(keys)
    with pytest.raises(OptionError, match="same group"):
        releases.difference(1, 1)
    with pytest.raises(OptionError, match="'x' is not a group of this answer"):
        releases.ratio("x", 1)
    with pytest.raises(OptionError, match="mean, population"):
        releases.difference(1, 2).interval(of="sum")
    with pytest.raises(OptionError, match="mean, sum, count, population"):
        releases.total().interval(of="median")
    with pytest.raises(OptionError, match="confidence"):
        releases.total().interval(1.0)


def test_the_total_of_sums_is_that_of_a_sum() -> None:
    table = pd.DataFrame({"g": ["a", "b"], "x": [1.0, 2.0]})
    ask: dict[str, Any] = {"bounds": (0, 4), "epsilon": 1, "by": "g", "keys": ["a", "b"]}
    assert hg.sum(table, "x", **ask).total().interval().of == "sum"
    assert hg.mean(table, "x", **ask).total().interval().of == "mean"


def test_a_ratio_to_nothing_is_no_number_in_json() -> None:
    """NaN is not JSON. Without records the mean is the middle of the bounds, which is zero here."""
    table = pd.DataFrame({"g": ["a"] * 50, "x": [1.0] * 50})
    ask: dict[str, Any] = {"bounds": (-4, 4), "epsilon": 1, "by": "g", "keys": ["a", "b"]}
    for seed in range(20):
        ratio = hg.mean(table, "x", bits=hg.SeededBits(seed), **ask).ratio("a", "b")
        json.dumps(ratio.to_dict(), allow_nan=False)
        if math.isnan(ratio.ratio):
            assert ratio.to_dict()["ratio"] is None
            return
    pytest.fail("no group without records had a mean of zero")


@pytest.mark.parametrize("groups", [1, 2])
def test_a_total_says_that_persons_may_count_several_times(groups: int) -> None:
    table = pa.table({"id": [1, 1, 2], "g": ["a", "b", "b"], "x": [1.0, 2.0, 3.0]})
    more: dict[str, Any] = {"by": "g", "keys": ["a", "b"], "epsilon": 1}
    more["unit"] = hg.per_person("id", groups=groups)
    for answer in (hg.mean(table, "x", bounds=(0, 5), **more), hg.count(table, **more)):
        told = "A person may count in several of these groups."
        assert (told in str(answer.total())) == (groups > 1)
        assert told not in str(answer.total(["a"]))


def test_a_day_by_any_of_its_types() -> None:
    """Caught: a message that denies a group and lists it."""
    day, other = date(2024, 1, 1), date(2024, 1, 2)
    table = pa.table({"d": [day, other] * 10, "x": [1.0] * 20})
    found = hg.mean(table, "x", bounds=(0, 1), epsilon=1, by="d", keys=[day, other])
    days = (np.datetime64("2024-01-01"), np.datetime64("2024-01-01", "ns"))
    for key in (day, datetime(2024, 1, 1), *days):
        assert found[key] == found[day]
        assert key in found
    assert found.difference(pd.Timestamp("2024-01-02"), day).keys[1] == day
    for wrong in (datetime(2024, 1, 1, 12), np.datetime64("2024-01-01T01:00")):
        with pytest.raises(KeyError):
            found[wrong]


def test_the_total_of_no_published_group() -> None:
    table = pa.table({"g": ["a"], "x": [1.0]})
    found = hg.mean(table, "x", bounds=(0, 1), epsilon=1, by="g", delta="1e-300")
    with pytest.raises(OptionError, match="no group of this answer was published"):
        found.total()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ["projected", "ratio", "jeffreys", "posterior"])
def test_the_total_of_one_group_is_that_group(estimator: str) -> None:
    """Caught: the projected mean, whatever the estimator of the answer."""
    table = pa.table({"g": ["a", "b"] * 4, "x": [0, 1] * 4})
    for seed in range(20):
        found = hg.mean(
            table, "x", bounds=(0, 1), epsilon=1, by="g", keys=["a", "b"], estimator=estimator,
            bits=hg.SeededBits(seed),
        )  # fmt: skip
        for key in ("a", "b"):
            one = found.total([key])
            assert (one.mean, one.sum, one.count) == (
                found[key].mean,
                found[key].sum,
                found[key].count,
            )
            assert one.interval(of="mean") == found[key].interval(of="mean")
