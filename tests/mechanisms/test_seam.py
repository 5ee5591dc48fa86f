"""A mechanism that is defined only in this file works everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest

import hourglass as hg
from hourglass.audit import exact_audit
from hourglass.audit.suite import audit_empirical, audit_exact
from hourglass.core.exact import DEFAULT_BITS, Enclosure, exp_minus
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import NoisyTotals, Totals
from hourglass.mechanisms import base
from hourglass.mechanisms.base import (
    ALGORITHMS,
    Moments,
    OnGrid,
    addable,
    draws,
    find,
    make,
    register,
)
from hourglass.mechanisms.lattice import Lattice, product_lattice, some_cells
from hourglass.mechanisms.tails import Line, ProductTails
from hourglass.noise import DiscreteLaplace
from hourglass.noise.bits import SECURE, Bits
from tests.tools import command


class UnevenMean(OnGrid):
    """Two thirds of epsilon on the sum, one third on the count."""

    name: ClassVar[str] = "uneven"
    words: ClassVar[str] = "discrete Laplace mechanism with an uneven split"
    secret_keys: ClassVar[bool] = True

    @cached_property
    def sum_law(self) -> DiscreteLaplace:
        return DiscreteLaplace(2 * self.epsilon / (3 * self.grid.cells))

    @cached_property
    def count_law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.epsilon / 3)

    def count_tail(self, k: int, *, bits: int = DEFAULT_BITS) -> Enclosure:
        if k < 1:
            return 1 - self.count_tail(1 - k, bits=bits)
        rate = self.count_law.rate
        return exp_minus(k * rate, bits) / (1 + exp_minus(rate, bits))

    def noise(self, totals: Totals, *, bits: Bits = SECURE, size: int | None = None) -> NoisyTotals:
        n, G = draws(totals, size), self.grid.cells
        drawn = self.sum_law.sample(n, bits=bits), self.count_law.sample(n, bits=bits)
        x, k = addable(drawn, totals, G)
        cells = totals.cells + x
        return NoisyTotals(cells, G * (totals.count + k) - cells, G)

    @cached_property
    def moments(self) -> Moments:
        x, k = self.sum_law.variance / self.unit, self.count_law.variance
        return Moments(x, k + x, -x)

    @cached_property
    def tails(self) -> UnevenTails:
        return UnevenTails(self)

    def lattice(self) -> Lattice:
        moves = [(q, 1) for q in some_cells(self.grid.cells)]
        return product_lattice(self.name, self.epsilon, self.sum_law, self.count_law, moves)


class UnevenTails:
    def __init__(self, mechanism: UnevenMean) -> None:
        self.G = mechanism.grid.cells
        self.product = ProductTails(mechanism.sum_law.rate, mechanism.count_law.rate)

    def miss(self, first: Line, second: Line, reach: float) -> float:
        pairs = [(float(p.sum / self.G), -float(p.count)) for p in (first, second)]
        return self.product.miss(pairs, reach)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(UnevenMean)
    yield
    del ALGORITHMS["uneven"]


VALUES = np.linspace(0.0, 10.0, 400)


def test_it_answers() -> None:
    bits = hg.SeededBits(1)
    found = hg.mean(VALUES, bounds=(0, 10), epsilon=50, algorithm="uneven", bits=bits)
    assert (found.algorithm, found.adjacency, found.count) == ("uneven", "add-remove", 400)
    assert found.mean == pytest.approx(5.0, abs=0.01)
    assert found.expected_error == pytest.approx(
        hg.accuracy.expected_error(400, (0, 10), 50, algorithm="uneven", mean=found.mean), rel=1e-6
    )
    for of, true in (("mean", 5.0), ("sum", 2000.0), ("count", 400)):
        assert true in found.interval(0.999, of=of)
        assert getattr(found, of) in found.interval(0.5, of=of)


def test_its_words_are_in_the_statement() -> None:
    found = hg.mean(VALUES, bounds=(0, 10), epsilon=1, algorithm="uneven")
    assert "The noise is the discrete Laplace mechanism with an uneven split." in str(
        found.statement()
    )


def test_it_is_stored_and_read_back() -> None:
    found = hg.mean(VALUES, bounds=(0, 10), epsilon=1, algorithm="uneven")
    again = hg.Release.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert again.to_dict() == found.to_dict()


def test_what_it_can_do_is_what_it_declares(tmp_path: Any) -> None:
    """By group, with secret names since it has a count's tail; no posterior, so no such mean."""
    path = tmp_path / "t.csv"
    path.write_text("g,x\n" + "".join(f"{'ab'[i % 2]},{i % 11}\n" for i in range(600)) + "c,1\n")
    options: dict[str, Any] = {"bounds": (0, 10), "epsilon": 90, "algorithm": "uneven"}
    found = hg.mean(path, "x", by="g", keys=["a", "b", "d"], **options)
    assert found.counts.tolist() == [300, 300, 0]
    secret = hg.mean(path, "x", by="g", delta=1e-6, **options)
    assert list(secret) == ["a", "b"]
    law = UnevenMean(Fraction(90), Grid.choose(Bounds(0, 10)))
    assert secret.threshold is not None
    assert float(law.count_tail(secret.threshold - 1)) <= 1e-6
    with pytest.raises(hg.OptionError, match="posterior"):
        hg.mean(VALUES, estimator="posterior", **options)
    with pytest.raises(hg.OptionError, match="or algorithm='uneven'"):
        hg.mean(path, "x", by="g", delta=1e-6, **(options | {"algorithm": "laplace"}))


@pytest.mark.parametrize("G", [1, 3, 12, 2**32])
def test_it_is_audited_exactly(G: int) -> None:
    found = list(audit_exact(Fraction(3, 2), [G], ["uneven"]))
    assert [finding.holds for finding in found] == [True]
    assert found[0].figures["loss"] == "3/2"


def test_the_audit_detects_a_split_that_spends_too_much() -> None:
    class Overspent(UnevenMean):
        @cached_property
        def count_law(self) -> DiscreteLaplace:
            return DiscreteLaplace(self.epsilon / 2)

    finding = exact_audit(Overspent(Fraction(1), Grid(Bounds(0.0, 1.0), 4)))
    assert not finding.holds
    assert finding.figures["loss"] == "7/6"


def test_it_is_audited_by_sampling_and_compared() -> None:
    """False alarms of the sampled audit: 1e-6."""
    findings = [f for f, _ in audit_empirical(Fraction(1), 4, samples=50_000, algorithm="uneven")]
    assert len(findings) == 2
    assert all(finding.holds for finding in findings)
    assert "uneven" in hg.accuracy.compare(100, (0, 1), 1)


def test_the_command_takes_it(tmp_path: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x\n1\n2\n3\n")
    told = command("mean", path, "x", "--bounds", 0, 10, "--epsilon", 1, "--algorithm", "uneven")
    assert told.code == 0, told.err
    assert "uneven" in told.out


def test_a_name_is_taken_once_and_statistics_have_names_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    with pytest.raises(ValueError, match="uneven"):
        register(UnevenMean)

    class Other(UnevenMean):
        statistic: ClassVar[str] = "toy"

    register(Other)
    assert find("uneven", "toy") is Other
    assert find("uneven") is UnevenMean
    made = make("uneven", Fraction(1), Grid(Bounds(0.0, 1.0), 4), "toy")
    assert type(made) is Other
    with pytest.raises(hg.OptionError, match="is not one of uneven"):
        find("hourglass", "toy")


def test_without_its_file_it_is_unknown() -> None:
    """Questions that were asked before are cached, so this one has an epsilon of its own."""
    del ALGORITHMS["uneven"]
    try:
        with pytest.raises(hg.OptionError, match="algorithm='uneven' is not one of hourglass"):
            hg.mean(VALUES, bounds=(0, 10), epsilon="17/10", algorithm="uneven")
        with pytest.raises(hg.OptionError, match="uneven"):
            hg.accuracy.expected_error(10, (0, 1), 1, algorithm="uneven")
    finally:
        register(UnevenMean)
