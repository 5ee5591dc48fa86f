"""Answers that leave at fixed instants: the step that touches secrets ends on a beat.

Python's own integers take a little longer to make where they are large, and so the step from kept
totals to noisy ones takes a few microseconds more or less with the data. A paced question waits,
after that step, for the end of a slot whose length depends on public numbers alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ..noise.bits import Bits

__all__ = ["Paced", "Written"]

#: The length of a slot in seconds, and what each group adds: many times what the step takes.
SLOT: Final = 0.005
A_GROUP: Final = 20e-6
#: The last seconds of a slot, many times as long as a process takes to wake up.
AWAKE: Final = 0.0005
#: Who is later than so many seconds waits for the next slot.
LATE: Final = 20e-6


@dataclass(frozen=True)
class Written:
    """An answer as it is stored and handed out; its figures are computed once."""

    values: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The values themselves."""
        return self.values


class Paced:
    """A question, the same in all but when its noisy totals are there; asked any number of times.

    It is rehearsed once: a rehearsal touches no data, so that each would come out the same.
    """

    def __init__(self, question: Any, groups: int, slot: float = SLOT) -> None:
        """Around a question for so many groups."""
        self.question = question
        self._slot = slot + A_GROUP * groups
        self._rehearsed = False
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
        noisy = self.question.noise(self.question.read(), bits)
        while self._late(secret) > LATE:
            pass
        return noisy

    def _late(self, began: float) -> float:
        """Wait for the next end of a slot; how many seconds after it this thread was there.

        On a busy machine a thread may be stopped at any moment. Where it was stopped at the end
        of a slot, it waits for the next one: when it is stopped may depend on what it did before.
        """
        passed = time.monotonic() - began
        end = began + self._slot * (passed // self._slot + 1)
        while (rest := end - time.monotonic()) > 0:
            # How late a sleeper wakes depends on how long it slept: the last part is waited awake.
            if rest > AWAKE:
                time.sleep(rest - AWAKE)
        return -rest

    def rehearse(self) -> None:
        """Try the law on no data, the first time."""
        if not self._rehearsed:
            self.question.rehearse()
            self._rehearsed = True

    def answer(self, noisy: Any, *, private: bool) -> Written:
        """Estimate the answer from the noisy totals alone, and write it down."""
        return Written(self.question.answer(noisy, private=private).to_dict())

    def restore(self, stored: Mapping[str, Any]) -> Written:
        """The answer that was stored."""
        return Written(dict(stored))
