"""The exact audit passes for every law, and fails for each wrong one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

import hourglass as hg
from hourglass.audit.exact import enumerate_losses, exact_audit, exact_finding
from hourglass.audit.suite import audit_exact
from hourglass.core.exact import Enclosure
from hourglass.core.limits import DEFAULT_GRID, Bounds, Grid
from hourglass.mechanisms.base import ALGORITHMS, hourglass_lattice, make
from hourglass.mechanisms.lattice import Lattice, Part, some_cells
from tests.tools import long

EPSILONS = ["1/100", "1/2", "1", "4"]
BOUNDS = Bounds(-1.0, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    "grids", [[*range(1, 17), 31, 32, 33, 64], pytest.param(range(1, 65), marks=pytest.mark.long)]
)
def test_every_ratio_on_grids_1_to_64(epsilon: str, grids: Sequence[int]) -> None:
    for G in grids:
        found = exact_audit(make("hourglass", Fraction(epsilon), Grid(BOUNDS, G)))
        assert found.holds, (G, found.detail)
        assert found.figures["loss"] == str(Fraction(epsilon)), G


def test_noise_in_parts_of_a_cell_is_audited_too() -> None:
    """Those of the given grids on which whole numbers get finer noise, and no others."""
    found = list(audit_exact(Fraction(4), [1, 4, DEFAULT_GRID], ["hourglass", "laplace"]))
    assert all(finding.holds for finding in found)
    assert [f.subject for f in found if "parts" in f.subject] == [
        "hourglass, epsilon 4, whole numbers 0..4 in 2 parts"
    ]
    assert len(found) == 7


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize(
    ("epsilon", "G"),
    [
        *product(EPSILONS, [1, 2, 5, 12]),
        *[("1/100", 1000), ("1", 1000), ("1/2", DEFAULT_GRID), ("4", DEFAULT_GRID)],
        *long(("1/2", 1000), ("4", 1000), ("1/100", DEFAULT_GRID), ("1", DEFAULT_GRID)),
    ],
)
def test_every_algorithm(epsilon: str, name: str, G: int) -> None:
    found = exact_audit(make(name, Fraction(epsilon), Grid(BOUNDS, G)))
    assert found.holds, found.detail
    assert found.figures["loss"] == str(Fraction(epsilon))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (5.0, 6.0), (-3.0, -2.0)])
def test_independent_laplace_wherever_the_bounds_lie(bounds: tuple[float, float]) -> None:
    """Its sensitivity is that of a sum counted from zero, so it depends on the bounds."""
    assert exact_audit(make("independent", Fraction(1), Grid(Bounds(*bounds), 8))).holds


@pytest.mark.slow
def test_the_tail_is_stated_and_small() -> None:
    found = exact_audit(make("hourglass", Fraction(4), Grid(BOUNDS, 8)))
    assert 0 < found.figures["tail"] < 1e-8
    fine = exact_audit(make("hourglass", Fraction(4), Grid(BOUNDS, DEFAULT_GRID)))
    assert fine.figures["tail"] is None
    assert "both sides of every edge" in fine.detail


@pytest.mark.parametrize("c", range(6))
def test_the_edges_of_a_fine_grid_show_what_all_points_show(c: int) -> None:
    """The structured subset finds the same extremes as the enumeration of everything."""
    law = hg.Hourglass(1, 6, c)
    whole = hourglass_lattice(law, moves=[(q, 1) for q in range(8)])
    edges = tuple(s * (c + i * 6) for i in range(4) for s in (1, -1))
    some = enumerate_losses(replace(whole, window=((), whole.window[1]), edges=(edges, ())))
    everything = enumerate_losses(whole)
    assert (some.least, some.greatest) == (everything.least, everything.greatest)
    assert some.worst > 1


WRONG_MOVES: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "q = G+1": lambda G: [(G + 1, 1)],
    "summed, not counted": lambda G: [(q, 0) for q in some_cells(G)],
    "counted twice": lambda G: [(q, 2) for q in some_cells(G)],
    "a negative cell": lambda G: [(-1, 1)],
}


@pytest.mark.slow
@pytest.mark.parametrize("G", [2, 7, 64, DEFAULT_GRID])
@pytest.mark.parametrize("name", WRONG_MOVES)
def test_wrong_moves_are_caught_on_every_grid(name: str, G: int) -> None:
    law = hg.Hourglass(1, G)
    found = exact_finding(hourglass_lattice(law, moves=WRONG_MOVES[name](G)))
    assert not found.holds
    assert Fraction(found.figures["loss"]) >= 2


def test_a_smaller_claim_is_broken_by_the_right_law() -> None:
    lattice = hourglass_lattice(hg.Hourglass(1, 5))
    assert exact_finding(lattice).holds
    assert not exact_finding(lattice, claimed=Fraction(999, 1000)).holds


def pmf_of(lattice: Lattice, x: int, k: int) -> Enclosure:
    assert lattice.pmf is not None
    return lattice.pmf(x, k)


def test_a_pmf_that_leaves_the_levels_is_caught() -> None:
    lattice = hourglass_lattice(hg.Hourglass(1, 5))

    def bent(x: int, k: int) -> Enclosure:
        return pmf_of(lattice, x, k) * (1 if x < 3 else 1 + Fraction(1, 10**9))

    found = exact_finding(replace(lattice, pmf=bent))
    assert not found.holds
    assert "does not follow" in found.detail


def test_masses_above_one_are_caught() -> None:
    lattice = hourglass_lattice(hg.Hourglass(1, 5))

    def heavy(x: int, k: int) -> Enclosure:
        return pmf_of(lattice, x, k) * Fraction(101, 100)

    assert not exact_finding(replace(lattice, pmf=heavy)).holds


def test_product_laws_add_their_losses() -> None:
    """Half of epsilon on the sum and half on the count; with all of it on each, the loss
    doubles."""
    right = make("shifted", Fraction(1), Grid(BOUNDS, 4)).lattice()
    wrong = tuple(Part(part.level, 2 * part.rate) for part in right.parts)
    losses = enumerate_losses(replace(right, parts=wrong))
    assert losses.worst == 2
