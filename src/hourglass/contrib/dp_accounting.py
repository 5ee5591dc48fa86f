"""The cost of a release as an event of Google's dp_accounting.

The privacy loss of the hourglass is exactly +epsilon or -epsilon, like that of randomised response,
which dominates every epsilon-DP mechanism. One event of dp_accounting has exactly this loss under
the add-remove relation: the discrete Laplace mechanism of sensitivity one, where a step changes |x|
by exactly one. Two others look suitable but are not: ``RandomizedResponseDpEvent`` is for the
replace relations, and ``LaplaceDpEvent`` has a loss that is often smaller than epsilon, so it would
understate the cost.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ..core.exact import exact_epsilon
from ..errors import OptionError
from ..release.release import Release, Releases

try:
    from dp_accounting import dp_event as events
    from dp_accounting.pld import common, privacy_loss_distribution
except ImportError as error:  # pragma: no cover - the message is the remedy
    raise ImportError(
        "hourglass.contrib.dp_accounting needs the package dp-accounting; "
        "install it with: pip install dp-accounting"
    ) from error

__all__ = ["dp_event", "privacy_loss", "zcdp_event"]


def dp_event(cost: Any) -> Any:
    """The DpEvent of a release, or of an epsilon, which is exact with the PLD accountant.

    It is ``DiscreteLaplaceDpEvent(epsilon, 1)``, with epsilon rounded up to a double. A release
    with secret keys has a delta, which no event can express; use :func:`privacy_loss`.
    """
    return events.DiscreteLaplaceDpEvent(_double_up(_pure(cost)), 1)


def zcdp_event(cost: Any) -> Any:
    """An upper bound for the RDP accountant, which does not support discrete Laplace.

    Every epsilon-DP mechanism is (epsilon^2 / 2)-zCDP (Bun and Steinke 2016, Proposition 1.4).
    """
    return events.ZCDpEvent(_double_up(_pure(cost) ** 2 / 2))


def privacy_loss(cost: Any, *, interval: float = 1e-4) -> Any:
    """The privacy loss distribution of a release, delta included, ready to ``compose``.

    ``interval`` is the step that dp_accounting rounds losses up to.
    """
    epsilon, delta = _price(cost)
    return privacy_loss_distribution.from_privacy_parameters(
        common.DifferentialPrivacyParameters(_double_up(epsilon), _double_up(delta)),
        value_discretization_interval=interval,
    )


def _price(cost: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(cost, Release | Releases):
        return exact_epsilon(cost), Fraction(0)
    if cost.adjacency != "add-remove":
        raise OptionError(
            f"a release with adjacency={cost.adjacency!r} does not protect the number of records; "
            "it has no event in the add-remove relation"
        )
    return cost.epsilon, cost.delta


def _pure(cost: Any) -> Fraction:
    epsilon, delta = _price(cost)
    if delta:
        raise OptionError(
            f"a release with delta={float(delta):g} has no DpEvent; "
            "compose its privacy_loss(release) instead"
        )
    return epsilon


def _double_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
