"""Answers that leave at fixed instants: the step that touches secrets ends on a beat.

Python's own integers take a little longer to make where they are large, and so the step from kept
totals to noisy ones takes a few microseconds more or less with the data. A paced question waits,
after that step, for the end of a slot whose length depends on public numbers alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from ..noise.bits import Bits

__all__ = ["Paced"]

#: The length of a slot in seconds, and what each group adds: many times what the step takes.
SLOT: Final = 0.005
A_GROUP: Final = 20e-6
#: The last seconds of a slot, many times as long as a process takes to wake up.
AWAKE: Final = 0.0005


class Paced:
    """A question, the same in all but when its noisy totals are there."""

    def __init__(self, question: Any, groups: int, slot: float = SLOT) -> None:
        """Around a question for so many groups."""
        self._question = question
        self._slot = slot + A_GROUP * groups
        self.epsilon: Fraction = question.epsilon
        self.delta: Fraction = question.delta
        self.sql: str | None = question.sql
        self.text: str = question.text
        self.subject: str = question.subject

    def read(self) -> float:
        """Note when the slot begins; the totals are taken up within it."""
        return time.monotonic()

    def noise(self, secret: float, bits: Bits) -> Any:
        """Take up the totals, add the noise, and wait for the end of the slot."""
        noisy = self._question.noise(self._question.read(), bits)
        passed = time.monotonic() - secret
        end = secret + self._slot * (passed // self._slot + 1)
        while (rest := end - time.monotonic()) > 0:
            # How late a sleeper wakes depends on how long it slept: the last part is waited awake.
            if rest > AWAKE:
                time.sleep(rest - AWAKE)
        return noisy

    def rehearse(self) -> None:
        """Try the law on no data."""
        self._question.rehearse()

    def answer(self, noisy: Any, *, private: bool) -> Any:
        """Estimate the answer from the noisy totals alone."""
        return self._question.answer(noisy, private=private)

    def restore(self, stored: Mapping[str, Any]) -> Any:
        """The answer that was stored."""
        return self._question.restore(stored)
