"""The laws against reference values computed elsewhere in 60-digit arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import hourglass as hg
from hourglass.estimate import accuracy
from hourglass.noise.hourglass import Staircase

pytestmark = pytest.mark.enumeration


def close(found: Any, reference: str, digits: int = 15, zero: float = 1e-40) -> bool:
    """Equal to so many significant digits; what the reference gives as 0 may be 1e-40."""
    value, wanted = Fraction(float(found)), Fraction(reference)
    return abs(value - wanted) <= abs(wanted) * Fraction(10) ** -digits + Fraction(zero)


def test_lattice_values(golden: dict[str, Any]) -> None:
    assert len(golden["lattice"]) == 35
    for row in golden["lattice"]:
        G = row["grid"]
        law = hg.Hourglass(row["epsilon"], G)
        assert law.centre == row["centre"], row
        var_x, var_k = law.variance
        assert close((2 * law.c + 1) / law.marginal_x.normaliser(), row["centre_mass"]), row
        assert close(var_x / G**2, row["var_x"]), row
        assert close(var_k, row["var_count"]), row
        assert close(law.covariance / G**2, row["cov"]), row


def test_leading_errors(golden: dict[str, Any]) -> None:
    for row in golden["lattice"]:
        for mean, name in ((0.0, "mse_0"), (0.25, "mse_quarter"), (0.5, "mse_half")):
            found = accuracy.leading_error(row["epsilon"], mean=mean, grid=row["grid"])
            assert close(found, row[name], digits=15), (row, name)


def test_continuous_values(golden: dict[str, Any]) -> None:
    for row in golden["continuous"]:
        assert close(accuracy.sigma2(row["epsilon"]), row["sigma2"], digits=15), row
        assert close(accuracy.gamma(row["epsilon"]), row["gamma"], digits=15), row


@pytest.mark.slow
def test_the_two_dimensional_staircase_on_a_fine_grid(golden: dict[str, Any]) -> None:
    """The lattice optimum tends to the continuous one; the references have 9 to 12 digits."""
    for row in golden["continuous"]:
        law = hg.Staircase2D(row["epsilon"], 2**32)
        gamma = Fraction(2 * law.c + 1, 2**33)
        assert close(gamma, row["staircase2d_gamma"], digits=7), row
        assert close(law.variance[0] / 2**64, row["staircase2d_variance"], digits=11), row


def test_joint_and_count_pmf(golden: dict[str, Any]) -> None:
    for block in golden["pmf"]:
        law = hg.Hourglass(block["epsilon"], block["grid"], block["centre"])
        for x, k, reference in block["pmf"]:
            assert close(law.pmf(x, k), reference), (x, k)
        for k, reference in block["count_pmf"]:
            assert close(law.count_pmf(k), reference), k


@pytest.mark.parametrize("delta", [Fraction(1, 10**6)])
def test_the_count_tail_gives_the_reference_thresholds(
    golden: dict[str, Any], delta: Fraction
) -> None:
    for row in golden["lattice"]:
        law = hg.Hourglass(row["epsilon"], row["grid"])
        t = row["key_threshold_delta_1e6"]
        assert law.count_tail(t - 1).high <= delta < law.count_tail(t - 2).low, row


def test_univariate_staircase_variance_is_sigma2_on_a_fine_grid(golden: dict[str, Any]) -> None:
    for row in golden["continuous"]:
        law = Staircase(row["epsilon"], 2**32)
        assert close(law.variance / 2**64, row["sigma2"], digits=15), row
