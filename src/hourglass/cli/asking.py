"""How ``mean``, ``sum`` and ``count`` ask the library and write the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..noise.bits import Bits
from .delivery import Delivery
from .output import encoded, origin_of, print_notes, write, write_file
from .parts import Charge, Place, Wanted
from .progress import progress

__all__ = ["answered", "answering"]


def answered(
    call: Callable[..., Any],
    ask: dict[str, Any],
    place: Place,
    charge: Charge,
    wanted: Wanted,
    *,
    explain: bool,
    bits: Bits,
    shown: Callable[[Any], Any] = lambda found: found,
) -> None:
    """Ask the question, and write the answer in every format that is wanted.

    ``shown`` turns the answer into what is printed.
    """
    ask = {"data": place.data, "engine": place.engine, **ask}
    charges = charge.account()
    place.start()
    if explain:
        print(call(**ask, explain=True))
        return
    with answering():
        found = call(**ask, budget=charges, request=charge.request, bits=bits)
    delivery = Delivery(found, charges)
    with delivery.part("output", wanted.output):
        origin = origin_of(place.source, place.table)
        write(shown(found), wanted.format_, wanted.output, wanted.confidence, wanted.fewest, origin)
    if wanted.plot:
        with delivery.part("plot", wanted.plot):
            found.plot(
                wanted.plot,
                confidence=0.95 if wanted.confidence is None else wanted.confidence,
                fewest=wanted.fewest,
            )
    if wanted.statement:
        with delivery.part("statement", wanted.statement):
            write_file(wanted.statement, encoded(found.statement(budget=charges).yaml))
    delivery.finish()


@contextmanager
def answering() -> Iterator[None]:
    """Show a clock while the data is read; if interrupted, tell whether a charge was made."""
    try:
        with progress({}) as tick:
            tick("reading", 0)
            yield
    except KeyboardInterrupt as error:
        print_notes(error)
        raise
