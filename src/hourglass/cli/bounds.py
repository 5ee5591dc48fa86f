"""``hourglass bounds``: find bounds privately for a column whose range is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

import hourglass

from ..errors import OptionError
from ..mechanisms.scan import RETURN_PART
from ..noise.bits import SECURE
from . import options
from .command import spread_out
from .delivery import Delivery, answering
from .files import write_file
from .output import check_targets, encoded, format_of
from .parts import Charge, Persons, Place, column_of, number_of

__all__ = ["bounds"]

_FORMATS: Final = ("table", "json")


@spread_out
def bounds(
    context: typer.Context,
    place: Place,
    epsilon: Annotated[
        str,
        typer.Option(
            help="The privacy parameter of the search, spent in addition to that of the mean.",
            show_default=False,
        ),
    ],
    charge: Charge,
    column: Annotated[
        str | None, typer.Argument(help="The column to find bounds for.", show_default=False)
    ] = None,
    expression: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Instead of a column: a value computed from each row, such as "
            '"arr_delay - dep_delay".',
        ),
    ] = None,
    where: options.Where = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Public candidates in increasing order."),
    ] = None,
    scale_from: Annotated[
        Path | None, typer.Option(help="Public candidates from a file, one number per line.")
    ] = None,
    share: Annotated[
        str, typer.Option(help="The share of epsilon reserved for the end nearer to zero.")
    ] = str(RETURN_PART),
    person: options.Person = None,
    rows: options.Rows = None,
    parse: options.Parse = None,
    explain: options.Explain = False,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{' or '.join(_FORMATS)}; by default taken from the extension of --output, "
            "else a table.",
        ),
    ] = None,
    output: options.Output = None,
) -> None:
    """Find bounds privately for a column whose range is unknown.

    Bounds known from the domain cost nothing and are better. Pass the result to hourglass mean, as
    --bounds, or as --bounds-from with the file that --format json wrote. The two epsilons add up.
    """
    check_targets({"output": output}, [place.source, scale_from, charge.place])
    form = format_of(format_, output, _FORMATS)
    asked, _ = column_of(column, expression)
    charges = charge.account()
    place.start()
    ask: dict[str, Any] = {
        "data": place.data,
        "column": asked,
        "epsilon": epsilon,
        "where": where,
        "scale": _scale(scale, scale_from),
        "share": share,
        "unit": Persons(person, rows).unit,
        "parse": parse,
        "engine": place.engine,
    }
    if explain:
        print(hourglass.find_bounds(**ask, explain=True))
        return
    with answering():
        found = hourglass.find_bounds(
            **ask, budget=charges, request=charge.request, bits=context.obj or SECURE
        )
    delivery = Delivery(found, charges)
    with delivery.part("output", output):
        text = str(found) if form == "table" else json.dumps(found.to_dict(), indent=2)
        if output is None:
            print(text, flush=True)
        else:
            write_file(output, encoded(f"{text}\n"))
    delivery.finish()


def _candidate(path: Path, place: int, text: str) -> int | float:
    """A number of a file; the file may be data by mistake, so its text is not shown."""
    try:
        return number_of("--scale-from", text)
    except OptionError:
        raise OptionError(
            f"--scale-from {str(path)!r}: word {place} is not a number; give a file of public "
            "numbers, one per line"
        ) from None


def _scale(scale: str | None, scale_from: Path | None) -> Any:
    if scale is not None and scale_from is not None:
        raise OptionError("give either --scale or --scale-from, not both")
    if scale is not None:
        return [number_of("--scale", part.strip()) for part in scale.split(",")]
    if scale_from is None:
        return None
    try:
        words = scale_from.read_text(encoding="utf-8").split()
    except (OSError, ValueError) as error:
        reason = type(error).__name__
    else:
        return [_candidate(scale_from, place, text) for place, text in enumerate(words, 1)]
    raise OptionError(
        f"--scale-from {str(scale_from)!r} cannot be read ({reason}); name a file of numbers"
    )
