"""The samplers at full width against their laws: chi-square at 1e6 (1e7 with ``-m long``).

False-alarm rate of each check: 1e-6 (ALPHA). Each check also rejects a law that is slightly
wrong, at the same sample size, so that a pass means something. The generators are the real
one: a failure is one in a million, or a defect.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import hourglass as hg
from hourglass.noise import hourglass
from hourglass.noise.ladder import Ladder

pytestmark = pytest.mark.statistical

ALPHA = 1e-6
SIZES = [10**6, pytest.param(10**7, marks=pytest.mark.long)]


def p_value(keys: Any, pmf: Callable[[Any], float], support: list[Any], index: Any) -> float:
    """Chi-square of samples against a pmf; cells with less than 10 expected are put together."""
    size = len(keys)
    expected = np.array([pmf(point) for point in support]) * size
    observed = np.bincount(index, minlength=len(support))[: len(support)].astype(float)
    large = expected >= 10
    seen, wanted = observed[large], expected[large]
    seen[-1] += size - seen.sum()
    wanted[-1] += size - wanted.sum()
    return float(stats.chisquare(seen, wanted, sum_check=False).pvalue)


def compressed(values: Any, reach: int) -> tuple[list[int], Any]:
    """Support -reach..reach and the place of each value in it (others past the end)."""
    support = list(range(-reach, reach + 1))
    place = np.where(np.abs(values) <= reach, values + reach, len(support))
    return support, place.astype(np.int64)


def one_dimension(values: Any, pmf: Callable[[int], Any], reach: int) -> float:
    support, index = compressed(values, reach)
    return p_value(values, lambda x: float(pmf(x)), support, index)


def joint_law(x: Any, k: Any, G: int, width: int) -> Callable[[hg.Hourglass], float]:
    """Chi-square of pairs against the joint law of an hourglass."""
    xs, x_place = compressed(x, width * G)
    ks, k_place = compressed(k, width)
    inside = (x_place < len(xs)) & (k_place < len(ks))
    index = np.where(inside, x_place * len(ks) + k_place, len(xs) * len(ks))
    points = [(a, b) for a in xs for b in ks]
    return lambda law: p_value(x, lambda at: float(law.pmf(*at, bits=64)), points, index)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("epsilon", "G"), [("0.1", 4), ("1", 4), ("1", 1), ("4", 7)])
def test_x_k_and_the_joint_law(epsilon: str, G: int, size: int) -> None:
    law = hg.Hourglass(epsilon, G)
    x, k = law.sample(size)
    reach = int(30 / float(Fraction(epsilon))) + 2
    assert one_dimension(x, law.marginal_x.pmf, reach * G) > ALPHA
    assert one_dimension(k, law.count_pmf, reach) > ALPHA

    joint = joint_law(x, k, G, min(reach, 25))
    assert joint(law) > ALPHA
    # One stair off: the wrong centre, or on a grid of one cell an epsilon 2 % off.
    wrong = (
        hg.Hourglass(epsilon, G, (law.c + 1) % G)
        if G > 1
        else hg.Hourglass(Fraction(epsilon) * Fraction(51, 50), G)
    )
    assert joint(wrong) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_joint_law_by_parts(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a tiny epsilon, without a table of levels.

    Caught: the sign of X and that of T from the same digit, which both have the right law.
    """
    monkeypatch.setattr(hourglass, "TABLE_LIMIT", 0)
    law = hg.Hourglass("0.875", 3)  # which no other test has a table of
    assert not law._levels.is_short(64)
    x, k = law.sample(size)
    joint = joint_law(x, k, 3, 25)
    assert joint(law) > ALPHA
    assert joint(hg.Hourglass("0.875", 3, (law.c + 1) % 3)) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_a_ratio_three_parts_in_a_thousand_off_is_seen(size: int) -> None:
    """At epsilon 0.1 a ratio b * 1.003 is an epsilon lower by 0.003."""
    law = hg.Hourglass("0.1", 3)
    x, k = law.sample(size)
    wrong = hg.Hourglass("0.097", 3, law.c)
    assert one_dimension(x, law.marginal_x.pmf, 900) > ALPHA
    assert one_dimension(x, wrong.marginal_x.pmf, 900) < ALPHA
    assert one_dimension(k, law.count_pmf, 300) > ALPHA
    assert one_dimension(k, wrong.count_pmf, 300) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rate", ["1/100", "2/3"])
def test_discrete_laplace(rate: str, size: int) -> None:
    law, wrong = hg.DiscreteLaplace(rate), hg.DiscreteLaplace(Fraction(rate) * Fraction(103, 100))
    values = law.sample(size)
    reach = int(30 / float(Fraction(rate)))
    assert one_dimension(values, law.pmf, reach) > ALPHA
    assert one_dimension(values, wrong.pmf, reach) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("epsilon", ["0.2", "2"])
def test_two_dimensional_staircase(epsilon: str, size: int) -> None:
    law = hg.Staircase2D(epsilon, 3)
    x, y = law.sample(size)
    reach = int(30 / float(Fraction(epsilon))) * 3
    radius = np.abs(x) + np.abs(y)
    support = list(range(reach + 1))
    index = np.minimum(radius, reach + 1)

    def rings(other: hg.Staircase2D) -> float:
        return p_value(
            radius, lambda r: (4 * r or 1) * float(other.pmf(r, 0, bits=64)), support, index
        )

    assert rings(law) > ALPHA
    assert rings(hg.Staircase2D(epsilon, 3, (law.c + 1) % 3)) < ALPHA
    # Along a ring every point is as likely: x given |x| + |y| = 4.
    ring = radius == 4
    spots = list(range(-4, 5))
    weights = [1 if abs(a) == 4 else 2 for a in spots]
    place = (x[ring] + 4).astype(np.int64)
    assert p_value(place, lambda a: weights[a + 4] / 16, spots, place) > ALPHA
    assert p_value(place, lambda a: 1 / 9, spots, place) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_table_and_digits_at_full_width(size: int) -> None:
    """The same rungs by either sampler: a two-sample chi-square."""
    law = Ladder(Fraction(1, 5), 7, 8)

    def counts(rungs: Any) -> Any:
        return np.bincount(np.minimum(rungs, 60), minlength=61)

    table = counts(law.sample_by_table(size, hg.SecureBits()))
    digits = counts(law.sample_by_digits(size, hg.SecureBits()))
    keep = table + digits >= 20
    assert stats.chi2_contingency([table[keep], digits[keep]]).pvalue > ALPHA
    wrong = counts(Ladder(Fraction(1, 5), 7, 9).sample_by_digits(size, hg.SecureBits()))
    assert stats.chi2_contingency([table[keep], wrong[keep]]).pvalue < ALPHA


@pytest.mark.parametrize("size", SIZES)
def test_low_bits_of_the_fine_grid(size: int) -> None:
    """On the default grid the low byte of X and of S + X is uniform: no holes, no parity."""
    x, _ = hg.Hourglass(1, 2**32).sample(size)
    for S in (0, 1):
        low = np.bincount((S + x) & 255, minlength=256)
        assert stats.chisquare(low).pvalue > ALPHA
    spoiled = np.bincount((x & ~np.int64(1)) & 255, minlength=256)
    assert stats.chisquare(spoiled).pvalue < ALPHA


@pytest.mark.slow
def test_the_same_support_whatever_the_data() -> None:
    """Coarse grid, 1e6 draws for S = 0 and S = 1: the same values are seen near the middle."""
    law = hg.Hourglass(1, 4)
    seen = [set((S + law.sample(10**6)[0]).tolist()) for S in (0, 1)]
    assert seen[0] & set(range(-20, 21)) == seen[1] & set(range(-20, 21)) == set(range(-20, 21))
