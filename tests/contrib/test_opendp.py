"""The mechanism as a measurement of the real OpenDP."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hourglass as hg

dp = pytest.importorskip(
    "opendp.prelude", reason="opendp is not installed; `pip install opendp` runs these tests"
)

from hourglass.contrib.opendp import make_hourglass_mean, then_hourglass_mean  # noqa: E402

ROOM: dict[str, Any] = {"bounds": (0.0, 10.0), "epsilon": "0.1"}


@pytest.fixture(autouse=True)
def _features() -> None:
    dp.enable_features("contrib", "honest-but-curious")


def space(T: Any = float) -> tuple[Any, Any]:
    return dp.vector_domain(dp.atom_domain(T=T)), dp.symmetric_distance()


def test_a_release_comes_out() -> None:
    found = make_hourglass_mean(*space(), **ROOM)([1.0, 2.0, 30.0, float("nan")])
    assert isinstance(found, hg.Release)
    assert found.private
    assert found.epsilon == Fraction(1, 10)
    assert 0.0 <= found.mean <= 10.0


def test_the_map_is_linear_and_never_below() -> None:
    measurement = make_hourglass_mean(*space(), **ROOM)
    for d_in in (1, 2, 3, 7, 10):
        cost = measurement.map(d_in)
        assert Fraction(cost) >= Fraction(d_in, 10)
        assert cost == pytest.approx(d_in / 10, rel=1e-15)
    assert measurement.check(1, 0.1)
    assert not measurement.check(2, 0.1)


def test_the_noise_is_the_hourglass() -> None:
    """MSE of 4,000 releases within 12 % of theory: five standard errors; half of it is refused."""
    measurement = space() >> then_hourglass_mean(bounds=(0.0, 1.0), epsilon=1)
    values = [0.0, 1.0] * 200
    errors = np.array([measurement(values).mean - 0.5 for _ in range(4000)])
    expected = hg.accuracy.leading_error(1, mean=0.5) / 400**2
    assert 0.85 < (errors**2).mean() / expected < 1.15
    assert not 0.85 < (errors**2).mean() / (expected / 2) < 1.15


@pytest.mark.parametrize(("T", "grid"), [(float, 2**32), (int, 10), ("i64", 10)])
def test_integers_keep_their_own_grid(T: Any, grid: int) -> None:
    found = make_hourglass_mean(*space(T), bounds=(0, 10), epsilon=1)
    assert found([T(3)] if callable(T) else [3]).grid == grid


def test_booleans() -> None:
    found = make_hourglass_mean(*space(bool), bounds=(0, 1), epsilon=20)
    assert found([True, False] * 50).mean == pytest.approx(0.5, abs=0.05)


def test_behind_a_transformation() -> None:
    chain = (
        (dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance())
        >> dp.t.then_clamp((2.0, 4.0))
        >> then_hourglass_mean(bounds=(0.0, 10.0), epsilon=20)
    )
    assert chain([0.0, 100.0] * 100).mean == pytest.approx(3.0, abs=0.2)
    assert chain.map(1) == 20


def test_in_a_composition() -> None:
    half = make_hourglass_mean(*space(), bounds=(0.0, 1.0), epsilon="0.5")
    other = space() >> dp.t.then_count() >> dp.m.then_laplace(scale=2.0)
    both = dp.c.make_composition([half, other])
    first, second = both([0.5] * 100)
    assert isinstance(first, hg.Release)
    assert isinstance(second, int)
    assert both.map(1) == pytest.approx(1.0)


def test_in_a_queryable_that_refuses_to_overspend() -> None:
    domain, metric = space()
    queryable = dp.c.make_adaptive_composition(
        domain, metric, dp.max_divergence(), d_in=1, d_mids=[1.0]
    )([0.5] * 10)
    dear = make_hourglass_mean(domain, metric, bounds=(0.0, 1.0), epsilon="1.001")
    with pytest.raises(dp.OpenDPException):
        queryable(dear)
    assert isinstance(
        queryable(make_hourglass_mean(domain, metric, bounds=(0.0, 1.0), epsilon=1)), hg.Release
    )


def test_what_does_not_fit_is_refused() -> None:
    domain, metric = space()
    with pytest.raises(hg.OptionError, match="records added or removed"):
        make_hourglass_mean(domain, dp.change_one_distance(), **ROOM)
    with pytest.raises(hg.OptionError, match="vector of numbers"):
        make_hourglass_mean(dp.vector_domain(dp.atom_domain(T=str)), metric, **ROOM)
    with pytest.raises(hg.BoundsError):
        make_hourglass_mean(domain, metric, bounds=(1.0, 0.0), epsilon=1)
    with pytest.raises(hg.EpsilonError):
        make_hourglass_mean(domain, metric, bounds=(0.0, 1.0), epsilon=0)
