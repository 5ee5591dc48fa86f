"""Statements of the paper that no other test checks, by enumeration (docs/paper-map.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hourglass.core.exact import Enclosure, exp_minus
from hourglass.estimate.accuracy import gamma, sigma2
from hourglass.noise import Hourglass, Staircase, Staircase2D
from hourglass.noise.hourglass import stair

pytestmark = pytest.mark.enumeration

LATTICES = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 2), (5, 1)]


def total(values: list[Enclosure]) -> Enclosure:
    found = Enclosure.of(0)
    for value in values:
        found = found + value
    return found


@pytest.mark.parametrize(("G", "c"), LATTICES)
def test_the_density_has_the_levels_of_the_paper(G: int, c: int) -> None:
    """Equation 7: level k on A_k, and 2i + k on B_k(i), in x / G >= 0 with gamma G = c + 1/2."""
    law, half = Hourglass(Fraction(1), G, c), Fraction(2 * c + 1, 2)
    for x, k in product(range(4 * G + 1), range(-5, 6)):
        if x < k * G + half:
            assert k >= 0
            assert law.level(x, k) == k
        else:
            i = math.floor((x - half) / G) - k + 1
            assert law.level(x, k) == 2 * i + k
        assert law.level(-x, -k) == law.level(x, k)


@pytest.mark.slow
@pytest.mark.parametrize(("G", "c"), LATTICES)
def test_both_marginals_are_the_univariate_staircase(G: int, c: int) -> None:
    """Lemma 3, of X and of GK - X: they have one law, which is that of Definition 2."""
    law, one = Hourglass(Fraction(3), G, c), Staircase(Fraction(3), G, c)
    for y in range(-c - 2 * G, c + 2 * G + 1):
        rest = total([law.pmf(G * k - y, k) for k in range(-40, 41)])
        cells = total([law.pmf(y, k) for k in range(-40, 41)])
        for found in (rest, cells):
            assert float(found) == pytest.approx(float(one.pmf(y)), rel=1e-14)
    steps = one.pmf(c) / one.pmf(c + 1), one.pmf(c + 1) / one.pmf(c + 1 + G)
    assert all(1 in step * exp_minus(Fraction(3)) for step in steps)


@pytest.mark.parametrize(("G", "c"), LATTICES)
def test_given_x_the_count_is_geometric_around_the_stair(G: int, c: int) -> None:
    """Lemma 4; its y_0(x) + x is the stair of x."""
    law, epsilon = Hourglass(Fraction(1), G, c), Fraction(1)
    b = exp_minus(epsilon)
    share = Fraction(2 * c + 1, 2 * G)
    for x in range(-3 * G, 3 * G + 1):
        place = math.floor(abs(x) / Fraction(G) + 1 - share) * (1 if x >= 0 else -1)
        assert place == stair(x, G, c)
        for k in range(-4, 5):
            given = law.pmf(x, k) / law.marginal_x.pmf(x)
            wanted = (1 - b) / (1 + b) * exp_minus(epsilon * abs(k - place))
            assert float(given) == pytest.approx(float(wanted), rel=1e-15)


def test_the_least_error_at_small_and_large_epsilon() -> None:
    """Equations 2 and 3: 2/eps^2; then 2^(-2/3) e^(-2 eps/3). Lemma 7: e^(-eps/2), times 1/3."""
    assert sigma2("0.001") * 1e-6 == pytest.approx(2, rel=1e-6)
    for epsilon in (20, 40):
        assert sigma2(epsilon) * math.exp(2 * epsilon / 3) == pytest.approx(2 ** (-2 / 3), rel=0.01)
    orders = [
        float(Staircase2D(epsilon, 2**32).variance[0]) / 2**64 * math.exp(epsilon / 2)
        for epsilon in (24, 28, 32)
    ]
    assert max(orders) / min(orders) < 1.01
    assert orders[-1] == pytest.approx(1 / 3, rel=0.01)
    # The univariate staircase's exponent is rejected.
    assert sigma2(32) * math.exp(16) < 0.1 * orders[-1]


def moment(epsilon: float, m: int) -> float:
    """E |x|^m of Definition 2 at the optimal gamma, from its density."""
    b, g = math.exp(-epsilon), gamma(epsilon)
    height = (1 - b) / (2 * (g + b * (1 - g)))

    def stretch(low: float, high: float) -> float:
        return (high ** (m + 1) - low ** (m + 1)) / (m + 1)

    terms = range(int(60 / epsilon) + 2)
    steps = (b**k * (stretch(k, k + g) + b * stretch(k + g, k + 1)) for k in terms)
    return 2 * height * math.fsum(steps)


def test_higher_moments_are_of_the_order_of_the_second() -> None:
    """Lemma 8 with powers of 1 - e^-eps; with powers of eps, as printed, it fails for large eps."""
    epsilons = (0.1, 0.5, 1, 2, 4, 8, 16, 32)
    for epsilon in epsilons:
        assert moment(epsilon, 0) == pytest.approx(1, rel=1e-9)
        assert moment(epsilon, 2) == pytest.approx(sigma2(epsilon), rel=1e-9)
    fourth = {e: moment(e, 4) / moment(e, 2) for e in epsilons}
    assert max(r * (1 - math.exp(-e)) ** 2 for e, r in fourth.items()) < 13
    as_printed = [fourth[e] * e**2 for e in (8, 16, 32)]
    assert as_printed[2] > 3 * as_printed[1] > 9 * as_printed[0]


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(4), Fraction(20)])
def test_large_noise_is_rare(epsilon: Fraction) -> None:
    """Lemma 9: P(x <= -n) <= e^(-n eps/2) for n of 10 records and more; in fact e^(-(n-1) eps)."""
    G = 8
    for c in (0, 3, 7):
        stairs = Staircase(epsilon, G, c).stairs
        for n in (10, 11, 40):
            # x <= -nG lies on stair n or further out, on one of two sides.
            assert float(stairs.tail(n, bits=2048)) / 2 <= math.exp(-(n - 1) * epsilon)
            assert (n - 1) >= n / 2


def test_the_technical_bound_holds() -> None:
    """Lemma 1 with a = s_1, b = n, M = 1 under hourglass noise, summed over the whole law."""
    G = 2
    law = Hourglass(Fraction(1), G)
    points = [(x / G, k) for x in range(-20 * G, 20 * G + 1) for k in range(-20, 21)]
    za, zb = np.array(points).T
    b_level = [law.level(round(x * G), k) for x, k in points]
    p = np.exp(-np.array(b_level, dtype=float))
    p /= p.sum()
    for n, share in product((1, 3, 10, 30), (0.0, 0.5, 1.0)):
        a = share * n
        defined = n + zb != 0
        ratio = np.divide(a + za, n + zb, out=np.zeros_like(za), where=defined)
        error = (p * (np.clip(ratio, 0, 1) - share) ** 2)[defined].sum()
        squares = (p * (za / n - a * zb / n**2) ** 2).sum()
        rest = (p * (abs(2 * zb**2 / n**2) + abs(2 * za * zb / n**2)) ** 2).sum()
        far = p[zb < -n / 2].sum()
        assert error <= squares + rest + 2 * math.sqrt(squares * rest) + 4 * far
        # The leading term is what remains for many records, where nothing is clipped.
        if (n, share) == (30, 0.5):
            assert error == pytest.approx(squares, rel=0.05)
