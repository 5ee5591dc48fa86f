"""Answers at fixed instants: the step that uses secrets ends at the end of a time slot.

Python's arithmetic takes slightly longer for large integers, so the time of the step from totals to
noisy totals depends on the data by a few microseconds. After that step, a paced question waits for
the end of a slot whose length depends only on public numbers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ..noise.bits import Bits

__all__ = ["Paced", "Written"]

#: The length of a slot in seconds, and the addition per group: many times the time of the step.
SLOT: Final = 0.005
A_GROUP: Final = 20e-6
#: The last part of a slot in seconds, many times as long as a thread takes to wake up.
AWAKE: Final = 0.0005
#: The first part of a slot, within which the step ends. The thread stays awake until its end: on a
#: busy machine a thread that sleeps sooner is interrupted less often.
EARLY: Final = 0.1
#: If a thread is later than this many seconds, it waits for the next slot.
LATE: Final = 20e-6


@dataclass(frozen=True)
class Written:
    """An answer as it is stored and returned; its figures are computed once."""

    values: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The values themselves."""
        return self.values


class Paced:
    """A question that can be asked repeatedly, with noisy totals only at fixed instants.

    It is rehearsed once, since a rehearsal reads no data and every one would be the same.
    """

    def __init__(self, question: Any, groups: int, slot: float = SLOT) -> None:
        """Wrap a question for this many groups."""
        self.question = question
        self._slot = slot + A_GROUP * groups
        self._rehearsed = False
        self.epsilon: Fraction = question.epsilon
        self.delta: Fraction = question.delta
        self.sql: str | None = question.sql
        self.text: str = question.text
        self.subject: str = question.subject

    def read(self) -> float:
        """Record when the slot begins; the totals are read within it."""
        return time.monotonic()

    def noise(self, secret: float, bits: Bits) -> Any:
        """Read the totals, add the noise, and wait for the end of the slot."""
        noisy = self.question.noise(self.question.read(), bits)
        while time.monotonic() < secret + EARLY * self._slot:
            pass  # awake for as long as a longer step would take
        while self._late(secret) > LATE:
            pass
        return noisy

    def _late(self, began: float) -> float:
        """Wait for the next end of a slot; return how many seconds late this thread was.

        On a busy machine a thread may be preempted at any moment. If that happens at the end of a
        slot, it waits for the next one, since the moment of preemption may depend on its work.
        """
        passed = time.monotonic() - began
        end = began + self._slot * (passed // self._slot + 1)
        while (rest := end - time.monotonic()) > 0:
            # How late a thread wakes up depends on how long it slept, so the last part is a busy
            # wait.
            if rest > AWAKE:
                time.sleep(rest - AWAKE)
        return -rest

    def rehearse(self) -> None:
        """Try the law on no data, the first time."""
        if not self._rehearsed:
            self.question.rehearse()
            self._rehearsed = True

    def answer(self, noisy: Any, *, private: bool) -> Written:
        """Compute the answer from the noisy totals, and serialise it."""
        return Written(self.question.answer(noisy, private=private).to_dict())

    def restore(self, stored: Mapping[str, Any]) -> Written:
        """The answer that was stored."""
        return Written(dict(stored))
