from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import hourglass as hg
from hourglass.estimate import accuracy
from hourglass.mechanisms.base import ALGORITHMS


@pytest.mark.parametrize("epsilon", ["0.05", "0.1"])
@pytest.mark.parametrize("mean", [0.0, 0.25, 0.5, 1.0])
def test_the_papers_leading_errors_for_small_epsilon(epsilon: str, mean: float) -> None:
    """w = 1, m = 1/2: transformed 1 + 4(mu-m)^2, shifted twice that, independent with max|x|."""
    e2 = float(Fraction(epsilon)) ** 2
    lean = (mean - 0.5) ** 2

    def normalised(algorithm: str) -> float:
        return accuracy.leading_error(epsilon, algorithm=algorithm, mean=mean) * e2

    assert normalised("laplace") == pytest.approx(1 + 4 * lean, rel=1e-6)
    assert normalised("shifted") == pytest.approx(2 + 8 * lean, rel=1e-3)
    assert normalised("independent") == pytest.approx(8 + 8 * mean**2, rel=1e-3)
    assert normalised("hourglass") == pytest.approx(1 + 4 * lean, rel=1e-3)
    assert normalised("swap") == pytest.approx(2, rel=1e-3)


def test_integer_data_does_better_than_the_bound_for_reals() -> None:
    for epsilon, share in (("4", 0.585), ("8", 0.199)):
        yes_no = accuracy.leading_error(epsilon, grid=1)
        assert yes_no / accuracy.sigma2(epsilon) == pytest.approx(share, abs=5e-4)


def test_hourglass_is_the_best_of_all_that_protect_the_size() -> None:
    for epsilon in ("0.1", "1", "4", "8"):
        errors = accuracy.compare(1000, (0, 1), epsilon)
        assert errors["hourglass"] == min(errors.values())
        assert list(errors.values()) == sorted(errors.values())


@pytest.mark.parametrize("mean", [None, 30.0])
@pytest.mark.parametrize("grid", [None, 7])
def test_the_comparison_has_the_error_of_each_algorithm(mean: Any, grid: Any) -> None:
    errors = accuracy.compare(1000, (10, 80), "1/2", mean=mean, grid=grid)
    assert set(errors) == set(ALGORITHMS)
    assert len(set(errors.values())) > len(errors) / 2
    for name, error in errors.items():
        alone = accuracy.expected_error(1000, (10, 80), "1/2", algorithm=name, mean=mean, grid=grid)
        assert error == alone


def test_expected_error_is_in_the_units_of_the_data() -> None:
    one = accuracy.expected_error(1000, (0, 1), 1)
    assert accuracy.expected_error(1000, (10, 130), 1) == pytest.approx(120 * one)
    assert accuracy.expected_error(2000, (0, 1), 1) == pytest.approx(one / 2)
    assert accuracy.expected_error(0, (0, 120), 1) == 120
    assert accuracy.expected_error(1, (0, 120), "0.001") == 120


def test_plan_finds_what_is_enough_and_no_more() -> None:
    plan = accuracy.plan((0, 120), 0.5, records=10_000)
    assert plan.error <= 0.5
    less = plan.epsilon - Fraction(1, 10_000)
    assert accuracy.expected_error(10_000, (0, 120), less) > 0.5
    back = accuracy.plan((0, 120), 0.5, epsilon=plan.epsilon)
    assert back.records <= 10_000
    assert accuracy.expected_error(back.records - 1, (0, 120), plan.epsilon) > 0.5


@pytest.mark.slow
@pytest.mark.enumeration
def test_the_least_epsilon_is_a_decimal_of_three_digits() -> None:
    """The next decimal below is not enough; caught: powers of another base, an end left out."""
    for text in ("1e-6", "1.001e-6", "9.99e-4", "0.0357", "99.9"):
        least = Fraction(text)
        found = accuracy._least_epsilon(lambda eps, least=least: eps >= least, 0.1, 10)
        assert found == Fraction(f"{float(found):.3g}")
        assert least <= found < least * Fraction(101, 100)
    with pytest.raises(hg.OptionError, match="cannot be reached"):
        accuracy._least_epsilon(lambda eps: eps > 100, 0.1, 10)


@pytest.mark.enumeration
@pytest.mark.parametrize("error", [0.01, 0.3, 5.0])
def test_the_least_number_of_records_to_three_digits(error: float) -> None:
    for needed in [*range(2, 40), 999, 1000, 1001, 12_345, 10**6, 10**9]:
        found = accuracy._least_records(lambda n, needed=needed: n >= needed, error, 1.0)
        assert needed <= found <= needed + needed // 999


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_plan_for_every_algorithm(algorithm: str) -> None:
    assert accuracy.plan((0, 1), 0.01, records=1000, algorithm=algorithm).error <= 0.01


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (0.5, {}),
        (0.5, {"records": 10, "epsilon": 1}),
        (-1, {"records": 10}),
        (200, {"records": 10}),
        (float("nan"), {"records": 10}),
        (0.5, {"records": 0}),
        (0.5, {"records": 1.5}),
        (1e-30, {"records": 1}),
    ],
)
def test_plans_that_make_no_sense(error: float, options: dict[str, Any]) -> None:
    with pytest.raises(hg.OptionError):
        accuracy.plan((0, 120), error, **options)


def test_a_mean_outside_the_bounds() -> None:
    with pytest.raises(hg.OptionError, match="outside the bounds"):
        accuracy.leading_error(1, mean=1.5)


@pytest.mark.parametrize(("epsilon", "factor"), [(0.1, 1.20), (1, 1.22), (2, 1.27), (4, 1.47)])
def test_errors_with_the_spread(epsilon: float, factor: float) -> None:
    """On the bound: at most 3 % above what the theory of the triangle says, in squared error."""
    alone = accuracy.leading_error(epsilon, mean=0.0)
    spread = accuracy.leading_error(epsilon, mean=0.0, spread=True)
    assert 1.0 < spread / alone < 1.03 * factor
    asked = hg.mean([0.3] * 500, bounds=(0, 1), epsilon=epsilon, spread=True)
    expected = accuracy.expected_error(asked.count, (0, 1), epsilon, mean=asked.mean, spread=True)
    assert asked.expected_error == pytest.approx(expected, rel=0.05)


def test_errors_with_a_look_outside() -> None:
    alone = accuracy.expected_error(1000, (0, 1), Fraction(9, 10))
    assert accuracy.expected_error(1000, (0, 1), 1, outside="1/10") == alone
    found = accuracy.plan((0, 1), 0.01, epsilon=1, outside="1/10", spread=True)
    assert found.records > accuracy.plan((0, 1), 0.01, epsilon=1, spread=True).records
    for wrong in (
        {"outside": 2}, {"spread": True, "columns": 2}, {"spread": True, "algorithm": "laplace"},
    ):  # fmt: skip
        with pytest.raises(hg.OptionError):
            accuracy.expected_error(10, (0, 1), 1, **wrong)
    with pytest.raises(hg.OptionError, match="leave out spread="):
        accuracy.plan((0, 1), 0.01, epsilon=1, spread=True, population=True)


def test_only_public_names_are_listed() -> None:
    assert dir(hg.accuracy) == sorted(accuracy.__all__)
    assert all(hasattr(hg.accuracy, name) for name in dir(hg.accuracy))
