"""The events against the real accountants of dp_accounting."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import hourglass as hg

accounting = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")

from dp_accounting import pld, rdp  # noqa: E402

from hourglass.contrib.dp_accounting import dp_event, privacy_loss, zcdp_event  # noqa: E402
from hourglass.ledger import Amount, optimal_epsilon  # noqa: E402

NANO = Fraction(1, 10**9)


def spent(event: Any, count: int, delta: float = 1e-9) -> float:
    accountant = pld.PLDAccountant(accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "3"])
def test_one_event_costs_epsilon(epsilon: str) -> None:
    assert spent(dp_event(epsilon), 1) == pytest.approx(float(epsilon), abs=2e-4)


@pytest.mark.parametrize(("epsilon", "count"), [("0.1", 100), ("0.5", 30)])
def test_many_events_cost_the_optimal_composition(epsilon: str, count: int) -> None:
    ours = optimal_epsilon([Amount(Fraction(epsilon))] * count, NANO)
    assert ours is not None
    assert spent(dp_event(epsilon), count) == pytest.approx(float(ours), rel=2e-3)


def test_the_event_is_the_loss_of_the_hourglass() -> None:
    """delta(e) of a pair of neighbours, summed over the lattice, is that of the event."""
    law = hg.Hourglass(1, 3)
    reach = range(-60, 61)
    for q in (0, 2, 3):
        for bound in (0.0, 0.5, 0.9):
            accountant = pld.PLDAccountant(accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
            accountant.compose(dp_event(1))
            found = sum(
                max(
                    0.0,
                    2.718281828459045 ** -law.level(x, k)
                    - 2.718281828459045 ** (bound - law.level(x - q, k - 1)),
                )
                for x in reach
                for k in range(-40, 41)
            ) * float(law.pmf(0, 0))
            assert found == pytest.approx(accountant.get_delta(bound), abs=2e-4)


def test_laplace_would_promise_too_much() -> None:
    assert spent(accounting.LaplaceDpEvent(1.0), 1, 0.2) < 0.9 * spent(dp_event(1), 1, 0.2)


def test_the_rdp_accountant_is_never_below() -> None:
    accountant = rdp.RdpAccountant()
    accountant.compose(zcdp_event("0.1"), 100)
    loose, tight = float(accountant.get_epsilon(1e-9)), spent(dp_event("0.1"), 100)
    assert tight < loose < 1.2 * tight


def test_a_release_and_its_groups() -> None:
    one = hg.mean([1.0, 2.0], bounds=(0.0, 3.0), epsilon="1/3")
    assert Fraction(dp_event(one).noise_parameter) >= Fraction(1, 3)
    assert dp_event(one) == dp_event(Fraction(1, 3))
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"x": [1.0] * 400, "g": ["a"] * 400})
    room: dict[str, Any] = {"bounds": (0.0, 3.0), "epsilon": 1, "by": "g"}
    public = hg.mean(table, "x", keys=["a", "b"], **room)
    assert dp_event(public).noise_parameter == 1.0
    secret = hg.mean(table, "x", delta=1e-6, **room)
    with pytest.raises(hg.OptionError, match="privacy_loss"):
        dp_event(secret)
    assert privacy_loss(secret).get_delta_for_epsilon(1.001) == pytest.approx(1e-6, rel=1e-3)


def test_a_public_size_has_no_event() -> None:
    swap = hg.mean([1.0, 2.0], bounds=(0.0, 3.0), epsilon=1, algorithm="swap")
    with pytest.raises(hg.OptionError, match="number of records"):
        dp_event(swap)
