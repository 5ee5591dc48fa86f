"""The console script ``hourglass``: Ctrl-C ends it quietly also while the package is imported.

Importing takes about half a second, in which an interrupt would print a traceback. This module is
outside of the package, because a module inside is imported after the package itself.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["main"]

#: The exit code after Ctrl-C, by the convention of shells.
_INTERRUPTED = 130


def main() -> None:
    """Import the command and run it; see :func:`hourglass.cli.main`."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:  # not if the signal is ignored, as in the background of a shell
        signal.signal(signal.SIGINT, _leave)
    from hourglass.cli import main as run

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(number: int, frame: FrameType | None) -> None:
    """Nothing has been read, charged or printed yet; an exception could be caught by an import."""
    os._exit(_INTERRUPTED)
