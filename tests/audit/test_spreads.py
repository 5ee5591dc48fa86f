"""The audit of a mean with its spread: the unmodified library passes, and mistakes are caught."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hourglass.audit.bench import Bench
from hourglass.audit.spreads import (
    REAL_SPREAD,
    audit_spreads,
    empirical_spread,
    greybox_spread,
    spread_mutants,
)

MUTANTS = {m.name: m for m in spread_mutants(Bench(Fraction(1), samples=60_000))}


@pytest.mark.slow
@pytest.mark.enumeration
def test_every_small_triangle_and_the_grids() -> None:
    findings = list(audit_spreads(Fraction(1, 2), [2, 2**32]))
    assert [finding.holds for finding in findings] == [True] * 3
    assert findings[0].figures["triangles"] == 30


@pytest.mark.statistical
def test_the_sampled_audit_passes() -> None:
    """False alarms: 1e-6."""
    ((finding, bound),) = empirical_spread(Fraction(1), samples=100_000)
    assert finding.holds
    assert 0.5 < bound.epsilon <= 1.0


@pytest.mark.long  # ``hourglass audit all`` runs it in test_cli.py
def test_the_public_call_passes() -> None:
    assert greybox_spread(Fraction(1)).holds


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MUTANTS))
def test_mutants_are_caught_by_each_check_that_applies(name: str) -> None:
    for check in MUTANTS[name].checks:
        finding = check()
        assert finding.holds is (name == REAL_SPREAD), finding
