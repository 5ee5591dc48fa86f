"""Every mutant is caught, the unmodified library is not, and the table names the check."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import hourglass as hg
from hourglass.audit.bench import NO_MUTANT, REAL, Bench, MutantRow
from hourglass.audit.column_mutants import REAL_COLUMNS
from hourglass.audit.scripts import enumerate_draws, sampler_finding
from hourglass.audit.suite import audit_samplers
from hourglass.noise.ladder import Ladder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("audit all")]

#: Mutants that at least double the loss, and can be sampled.
DOUBLING = {
    "unsigned stair in the count",
    "count noise without the stair",
    "noise at twice epsilon",
    "q = G+1: not clamped",
    "clamped, then rounded past G",
    "summed but not counted",
    "counted twice",
    "noise in floating point",
    "the same seed for every release",
    "no noise where there are no records",
    "in the columns, not in the count",
    "past the upper end of one column",
    "below the lower end of that column",
    "the sign of one column flipped",
    "each column by itself at all of epsilon",
}


@pytest.fixture(scope="module")
def rows(audited: dict[str, Any]) -> dict[str, Any]:
    """The findings about each mutant, by the name of the check."""
    return {
        row["mutant"]: {finding["check"]: finding for finding in row["findings"]}
        for row in audited["mutants"]
    }


def caught(findings: dict[str, Any]) -> list[str]:
    return [name for name, finding in findings.items() if not finding["holds"]]


def test_the_real_one_passes_every_check(rows: dict[str, Any]) -> None:
    assert {"exact", "sampler", "empirical", "grey box", "ledger"} <= set(rows[REAL])
    assert caught(rows[REAL]) == []


def test_two_columns_pass_every_check(rows: dict[str, Any]) -> None:
    assert set(rows[REAL_COLUMNS]) == {"exact", "sampler", "empirical", "grey box"}
    assert caught(rows[REAL_COLUMNS]) == []


def test_every_mutant_is_caught(rows: dict[str, Any], audited: dict[str, Any]) -> None:
    assert len(rows) >= 30
    wrong = {name: found for name, found in rows.items() if not name.startswith(NO_MUTANT)}
    assert [name for name, found in wrong.items() if not caught(found)] == []
    assert all(row["as_it_should_be"] for row in audited["mutants"])


@pytest.mark.parametrize("name", sorted(DOUBLING))
def test_twice_the_loss_is_bounded_above_one_and_a_half(name: str, rows: dict[str, Any]) -> None:
    assert rows[name]["empirical"]["lower_bound"] > 1.5


def test_a_hole_would_show() -> None:
    """A mutant that passes every check, and an unmodified library that fails one, are both
    wrong."""
    assert not MutantRow("unseen", {}).right
    law = Ladder(Fraction(1), 1, 2)
    finding = sampler_finding("cut", lambda bits: 0, law.pmf, range(3))
    assert not MutantRow(REAL, {"sampler": finding}).right
    assert not MutantRow(REAL_COLUMNS, {"sampler": finding}).right


@pytest.mark.long  # ``hourglass audit all`` runs it in test_cli.py
def test_the_samplers() -> None:
    found = list(audit_samplers())
    assert len(found) == 4
    assert all(finding.holds for finding in found)


def test_a_sampler_that_never_reaches_an_outcome_is_caught() -> None:
    law = Ladder(Fraction(1), 1, 2)

    def skips(bits: object) -> int:
        rung = int(law.sample(1, bits)[0])  # type: ignore[arg-type]
        return rung if rung != 5 else 6

    found = sampler_finding("skips", skips, law.pmf, range(12))
    assert not found.holds
    decided, undecided = enumerate_draws(lambda bits: int(bits.words(1)[0]), 2, 1)
    assert decided == dict.fromkeys(range(4), Fraction(1, 4))
    assert undecided == 0


def test_the_bench_follows_epsilon() -> None:
    assert Bench(Fraction(2)).law == hg.Hourglass(2, 4)
