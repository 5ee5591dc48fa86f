"""What ``mean``, ``sum`` and ``count`` share: checks, asking the question, writing the answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..estimate.interval import check_confidence
from ..noise.bits import Bits
from .common import answering
from .delivery import Account, Delivery
from .output import FORMATS, check_targets, encoded, write, write_file

__all__ = ["Wanted", "answered", "keys_of"]


@dataclass(frozen=True)
class Wanted:
    """The formats and the files in which an answer is wanted."""

    format: str
    output: Path | None
    plot: Path | None
    statement: Path | None
    confidence: float | None
    fewest: int
    origin: Mapping[str, str]

    def check(self, by: Any, inputs: Iterable[Any]) -> None:
        """Raise an error, before anything is charged, if an answer could not be written this
        way."""
        if self.format not in FORMATS:
            raise OptionError(f"format={self.format!r} is not one of {', '.join(FORMATS)}")
        if self.format == "parquet" and self.output is None:
            raise OptionError("format='parquet' is binary; name a file with --output")
        names = by or ()
        if self.format == "parquet" and len({name.casefold() for name in names}) < len(names):
            raise OptionError(
                "format='parquet' needs column names that differ in more than case, and two of "
                "--by do not; choose csv or json"
            )
        if self.plot:
            from ..release.plot import check_picture

            check_picture(self.plot)
        targets = {"output": self.output, "plot": self.plot, "statement": self.statement}
        check_targets(targets, inputs)
        if self.confidence is not None:
            check_confidence(self.confidence)
        if self.fewest < 1:
            raise OptionError(f"fewest={self.fewest} is not a whole number of 1 or more")


def keys_of(keys: str | None, keys_from: Path | None) -> Any:
    """The public names of the groups: a list, or the file that has them."""
    if keys is not None and keys_from is not None:
        raise OptionError("give either --keys or --keys-from, not both")
    if keys is None:
        return keys_from
    if os.path.isfile(
        keys
    ):  # returns False, and raises nothing, if the text is too long for a file name
        raise OptionError(f"keys={keys!r} is a file; give it as --keys-from")
    names = [key.strip() for key in keys.split(",")]
    if "" in names:
        raise OptionError(
            f"keys={keys!r} contains an empty name; if that is intended, use --keys-from"
        )
    return names


def answered(
    call: Callable[..., Any],
    ask: dict[str, Any],
    wanted: Wanted,
    *,
    explain: bool,
    charges: Account | None,
    request: str | None,
    bits: Bits,
    shown: Callable[[Any], Any] = lambda found: found,
    title: str | None = None,
) -> None:
    """Ask the question, and write the answer in every format that is wanted.

    ``shown`` turns the answer into what is printed.
    """
    if explain:
        print(call(**ask, explain=True))
        return
    with answering():
        found = call(**ask, budget=charges, request=request, bits=bits)
    delivery = Delivery(found, charges)
    with delivery.part("output", wanted.output):
        write(
            shown(found), wanted.format, wanted.output, wanted.confidence, wanted.fewest,
            wanted.origin,
        )  # fmt: skip
    if wanted.plot:
        with delivery.part("plot", wanted.plot):
            found.plot(
                wanted.plot,
                confidence=0.95 if wanted.confidence is None else wanted.confidence,
                title=title,
                fewest=wanted.fewest,
            )
    if wanted.statement:
        with delivery.part("statement", wanted.statement):
            write_file(wanted.statement, encoded(found.statement(budget=charges).yaml))
    delivery.finish()
