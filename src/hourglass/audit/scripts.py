"""The exact law of a sampler, by running it on every sequence ("script") of narrow words.

With words of one or two bits, branches that 64-bit words practically never reach are common, and
every script can be tried. The probability of each outcome is then known exactly, up to the mass of
the scripts that were too short to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.exact import Enclosure
from ..noise.bits import Bits, Words
from .finding import Finding

__all__ = ["ScriptEndedError", "ScriptedBits", "enumerate_draws", "sampler_finding"]

#: Every sampler is run on all scripts of so many words, of so many bits each.
_LONGEST, _WIDTH = 7, 2


class ScriptEndedError(Exception):
    """The sampler asked for more words than the script has."""


class ScriptedBits:
    """Returns the given words, one after the other, and raises an error when they run out."""

    private = False

    def __init__(self, script: list[int], width: int) -> None:
        self.width = width
        self._script, self._used = script, 0

    def words(self, size: int) -> Words:
        """The next ``size`` words of the script."""
        if self._used + size > len(self._script):
            raise ScriptEndedError
        self._used += size
        return np.array(self._script[self._used - size : self._used], dtype=np.uint64)


def enumerate_draws(
    draw: Callable[[Bits], Any], width: int, longest: int
) -> tuple[dict[Any, Fraction], Fraction]:
    """The mass of every outcome over all scripts of ``longest`` words, and the undecided."""
    decided: dict[Any, Fraction] = {}
    undecided = Fraction(0)
    stack: list[list[int]] = [[]]
    while stack:
        script = stack.pop()
        mass = Fraction(1, 1 << width * len(script))
        try:
            outcome = draw(ScriptedBits(script, width))
        except ScriptEndedError:
            if len(script) == longest:
                undecided += mass
            else:
                stack.extend([*script, word] for word in range(1 << width))
            continue
        decided[outcome] = decided.get(outcome, Fraction(0)) + mass
    return decided, undecided


def sampler_finding(
    subject: str,
    draw: Callable[[Bits], Any],
    pmf: Callable[[Any], Enclosure],
    support: Iterable[Any],
) -> Finding:
    """Whether the sampler can have this law, on every outcome seen and on all of ``support``."""
    decided, undecided = enumerate_draws(draw, _WIDTH, _LONGEST)
    wrong = [
        outcome
        for outcome in {*decided, *support}
        if decided.get(outcome, Fraction(0)) > pmf(outcome).high
        or decided.get(outcome, Fraction(0)) + undecided < pmf(outcome).low
    ]
    words = f"all scripts of {_LONGEST} words of {_WIDTH} bits, {float(undecided):.1e} undecided"
    if wrong:
        words += f"; {len(wrong)} outcomes have the wrong mass, such as {min(wrong)}"
    return Finding(
        "sampler",
        subject,
        not wrong,
        words,
        {"undecided": float(undecided), "outcomes": len(decided), "wrong": len(wrong)},
    )
