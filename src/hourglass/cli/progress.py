"""The progress bar that all commands use, shown if standard error is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = ["Tick", "progress", "untold"]

#: Called with the name of a task and the number of steps done since the last call.
Tick = Callable[[str, int], None]


def untold(name: str, steps: int) -> None:
    """Show nothing."""


@contextmanager
def progress(totals: Mapping[str, int]) -> Iterator[Tick]:
    """Show a bar for each task that reports steps; without a known total, only the time.

    Nothing is written unless standard error is a terminal. The steps must not depend on the data:
    a task that reads data reports once, with no steps.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield untold
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}
        done: dict[str, int] = {}

        def tick(name: str, steps: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=totals.get(name), done="")
            done[name] = done.get(name, 0) + steps
            shown = f"{done[name]:,}" if done[name] else ""
            bars.update(tasks[name], advance=steps, done=shown)

        yield tick
