"""Ask the library, with a progress bar where standard error is a terminal, and deliver the answer.

The answer is not lost if a file cannot be written.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import typer

from ..errors import HourglassError
from ..noise.bits import Bits
from .combined import Combined, check_groups
from .files import write_file
from .output import as_options, discard, encoded, origin_of, print_notes, say, statement_text, write
from .parts import Account, Charge, Figures, Place, Wanted, typed_names

__all__ = ["NOT_WRITTEN", "Delivery", "Tick", "answered", "answering", "progress"]

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


#: Printed if a column of text seems to have no numbers, by how it is parsed. Only the noisy answer
#: decides that.
_PLAIN: Final = {
    "integer": "The column is text. With --parse integer, a cell is a number only if it is a whole "
    "number written like 1234 or -6; others, such as 1234.5 or 1,234, are missing.",
    "real": "The column is text. A cell is a number only if it is written like 1234.5 or -6e7; "
    "others, such as 1,234 or 5 %, are missing. For the share of rows with one value, use "
    """--expression, as in "answer = 'yes'".""",
}
#: The same for a file of JSON lines.
_JSON_LINES: Final = (
    "In JSON lines, each line is one object, and a name that no line has is a column without "
    "values. Check how the column is spelled, and that the file is not one array or one object."
)
#: Printed if no group seems to have any record.
_NAMES: Final = (
    "No group seems to have any records. Names of groups are compared exactly, including upper and "
    "lower case."
)
#: The exit code if an answer could not be written as asked.
NOT_WRITTEN: Final = 5


def answered(
    call: Callable[..., Any],
    ask: dict[str, Any],
    place: Place,
    charge: Charge,
    wanted: Wanted,
    *,
    explain: bool,
    bits: Bits,
    figures: Figures,
    question: Callable[..., Any],
    population: bool = False,
) -> None:
    """Ask the question, and write the answer in every format that is wanted.

    ``figures`` of the groups are printed below the answer. ``question`` checks the same arguments
    as ``call`` without asking. ``population`` adds the population's mean to the records'.
    """
    ask = {"data": place.data, "engine": place.engine, **ask}
    charges = charge.account()
    place.start()
    if figures.pairs and ask["keys"] is not None:
        with typed_names(ask):
            public = question(**ask).keys
        option = "--keys" if isinstance(ask["keys"], list) else "--keys-from"
        check_groups(figures, public.keys, option)
    if explain:
        with typed_names(ask):
            print(call(**ask, explain=True))
        return
    with typed_names(ask), answering():
        found = call(**ask, budget=charges, request=charge.request, bits=bits)
    delivery = Delivery(found, charges)
    with delivery.part("output", wanted.output):
        origin = origin_of(place.source, place.table)
        shown = Combined(found, figures) if figures else found
        write(
            shown, wanted.form, wanted.output, wanted.confidence, wanted.fewest, origin, population
        )
    if wanted.plot:
        with delivery.part("plot", wanted.plot):
            found.plot(
                wanted.plot,
                confidence=0.95 if wanted.confidence is None else wanted.confidence,
                fewest=wanted.fewest,
                **({"population": True} if population else {}),
            )
    if wanted.statement:
        with delivery.part("statement", wanted.statement):
            text = statement_text(found.statement(budget=charges), wanted.statement)
            write_file(wanted.statement, encoded(text))
    if np.all(found.few()):
        if "column" in ask and (place.is_text or ask["parse"]):
            say(_PLAIN[ask["parse"] or "real"])
        elif "column" in ask and place.is_json:
            say(_JSON_LINES)
        if ask.get("keys") is not None:
            say(_NAMES)
    delivery.finish()


@contextmanager
def answering() -> Iterator[None]:
    """Show a clock while the data is read; if interrupted, say whether a charge was made."""
    try:
        with progress({}) as tick:
            tick("reading", 0)
            yield
    except KeyboardInterrupt as error:
        print_notes(error)
        raise


class Delivery:
    """Writes an answer in parts, and reports at the end what could not be written.

    A part that fails does not keep the others from being written. If the answer itself cannot be
    written, it is printed as JSON instead. After any failure, a message names the request key that
    returns the stored answer.
    """

    def __init__(self, answer: Any, account: Account | None) -> None:
        self._answer, self._account = answer, account
        self._streams = [sys.stdout, sys.stderr]
        self._failed = self._lost = False

    @contextmanager
    def part(self, option: str, path: Path | None) -> Iterator[None]:
        """Wraps the writing of what ``option`` asks for; without a path, to standard output."""
        try:
            yield
        except Exception as error:
            self._failed = True
            say(_told(error, f"--{option} {str(path)!r}" if path else "standard output"))
            if path is None:
                discard(self._streams.pop(0))
            # The reader of a pipe may close it early, as head does.
            self._lost |= option == "output" and not isinstance(error, BrokenPipeError)
        except BaseException:
            self._name_request()
            raise

    def finish(self) -> None:
        """Tell what was charged; if a part failed, exit with the code for that."""
        if not self._failed:
            if self._account is not None and (told := self._account.told()):
                say(told)
            return
        self._name_request()
        if self._lost:
            self._print()
        raise typer.Exit(NOT_WRITTEN)

    def _name_request(self) -> None:
        if self._account is not None and self._account.request is not None:
            key = shlex.quote(self._account.request)
            say(
                f"The charge stands. The same question with --request {key} returns the stored "
                "answer at no further charge."
            )
        else:
            say("No budget was charged: the answer is stored nowhere else.")

    def _print(self) -> None:
        text = json.dumps(self._answer.to_dict(), indent=2)
        say("The answer is printed as JSON instead.")
        for stream in self._streams:
            try:
                print(text, file=stream, flush=True)
                return
            except OSError:
                discard(stream)


def _told(error: Exception, where: str) -> str:
    """What failed. Of a foreign error only the type is shown: its message may quote data."""
    if isinstance(error, HourglassError):
        return as_options(str(error))
    known = isinstance(error, OSError) and error.errno
    reason = os.strerror(known) if known else type(error).__name__
    return f"{where} cannot be written: {reason}"
