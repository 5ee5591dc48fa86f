"""The exact audit of several columns: every small box, and the mechanism on given grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Final

import numpy as np

from ..core.limits import Bounds, Grid
from ..mechanisms.base import make
from ..mechanisms.columns import box_lattice
from ..mechanisms.lattice import Lattice
from ..noise import HourglassBox
from .exact import exact_audit, table_of
from .finding import Finding, grid_text

__all__ = ["SMALL", "audit_boxes", "boxes_finding", "level_steps", "small_boxes", "steps_finding"]

#: By number of columns: the largest grid and the widest centre of the boxes that are enumerated.
SMALL: Final = {1: (4, 5), 2: (4, 5), 3: (2, 3)}


def audit_boxes(epsilon: Fraction, grids: Iterable[int]) -> Iterator[Finding]:
    """All small boxes, then two columns on each grid, with the laws that releases use.

    Also the laws in parts of a cell, if noise on whole numbers uses them.
    """
    for columns in SMALL:
        yield boxes_finding(epsilon, columns)
    for G in grids:
        real = make("hourglass", epsilon, (Grid(Bounds(-1.0, 3.0), G),) * 2, "columns")
        whole = make("hourglass", epsilon, (Grid(Bounds(0, G), G, own=True),) * 2, "columns")
        laws = {f"grid {grid_text(G)}": real}
        if whole.parts != real.parts:
            laws[f"whole numbers 0..{G} in {whole.parts[0]} parts"] = whole
        for where, mechanism in laws.items():
            found = exact_audit(mechanism)
            subject = f"hourglass of 2 columns, epsilon {epsilon}, {where}"
            yield replace(found, subject=subject)


def small_boxes(epsilon: Fraction, columns: int) -> Iterator[HourglassBox]:
    """Every small box with that many sides, up to the order of the sides."""
    largest, widest = SMALL[columns]
    sides = product(range(1, largest + 1), range(widest + 1))
    for chosen in combinations_with_replacement(sides, columns):
        grids, centres = zip(*chosen, strict=True)
        yield HourglassBox(epsilon, grids, centres)


def boxes_finding(epsilon: Fraction, columns: int) -> Finding:
    """Every record moves the level of every small box by exactly one."""
    largest, widest = SMALL[columns]
    laws = (
        (f"grids {law.grids}, centres {law.centres}", box_lattice(law))
        for law in small_boxes(epsilon, columns)
    )
    named = f"{columns} column{'s' if columns > 1 else ''}"
    subject = f"all boxes of {named} with grids to {largest} and centres to {widest}"
    return steps_finding(subject, epsilon, "boxes", laws)


def steps_finding(
    subject: str, epsilon: Fraction, kind: str, laws: Iterable[tuple[str, Lattice]]
) -> Finding:
    """Every record moves the level of each of these laws by exactly one."""
    number = ratios = 0
    wrong: list[str] = []
    for name, lattice in laws:
        steps, tried = level_steps(lattice)
        number, ratios = number + 1, ratios + tried
        if steps != {1}:
            wrong.append(f"{name}: steps of {sorted(steps)}")
    words = f"{number} {kind}, {ratios:,} ratios, every record moves the level by exactly one"
    if wrong:
        words = f"{len(wrong)} of {number} {kind}, such as {wrong[0]}"
    figures = {"epsilon": str(epsilon), kind: number, "ratios": ratios, "wrong": len(wrong)}
    return Finding("exact", subject, not wrong, words, figures)


def level_steps(lattice: Lattice) -> tuple[set[int], int]:
    """The least and the greatest change of the level by any move, and the number of ratios."""
    table = table_of(lattice)
    before = table.moved((0,) * len(lattice.window))
    steps: set[int] = set()
    for move in lattice.moves:
        size = np.abs(table.moved(move) - before)
        steps |= {int(size.min()), int(size.max())}
    (part,) = lattice.parts
    numerator = int(part.rate * table.unit)
    return {step // numerator for step in steps}, before.size * len(lattice.moves)
