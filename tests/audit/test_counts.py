"""The audit of counts and of values outside the bounds catches mistakes in them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hourglass.audit.bench import NO_MUTANT, Bench
from hourglass.audit.counts import audit_counts, count_mutants, greybox_counts

MUTANTS = {m.name: m for m in count_mutants(Bench(Fraction(1), samples=60_000))}


@pytest.mark.enumeration
def test_the_laws() -> None:
    findings = list(audit_counts(Fraction(1, 2)))
    assert [(finding.holds, finding.figures["loss"]) for finding in findings] == [(True, "1/2")] * 3


@pytest.mark.long  # ``hourglass audit all`` runs it in test_cli.py
def test_the_public_calls_pass(tmp_path: Path) -> None:
    """A poisoned row changes the count by one and at most one of the two sides, and nothing
    else."""
    findings = list(greybox_counts(Fraction(1), tmp_path))
    assert [finding.detail for finding in findings if not finding.holds] == []
    assert len(findings) == 5


@pytest.mark.parametrize("name", list(MUTANTS))
def test_mutants_are_caught_by_each_check_that_applies(name: str) -> None:
    for check in MUTANTS[name].checks:
        finding = check()
        assert finding.holds is name.startswith(NO_MUTANT), finding
