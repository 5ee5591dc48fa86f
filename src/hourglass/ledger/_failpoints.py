"""The steps at which a crash test stops a process.

``hook`` is None unless a test has put a callable here by hand; nothing reads it from the
environment, the command line or an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

__all__ = ["STEPS", "reach"]

#: Every step, in the order in which one charge passes them.
STEPS: Final = (
    "reserve:locked",
    "reserve:written",
    "reserve:committed",
    "settle:locked",
    "settle:written",
    "settle:committed",
)

hook: Callable[[str], None] | None = None


def reach(step: str) -> None:
    """Tell the hook, if there is one, that the step is reached."""
    if hook is not None:
        hook(step)
