"""``hourglass plan``: the expected error of an answer, before any data is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from ..core.exact import exact_epsilon
from ..core.limits import Bounds
from ..errors import OptionError
from ..estimate.accuracy import Plan, compare, expected_error
from ..estimate.accuracy import plan as planned
from ..mechanisms.base import ALGORITHMS
from ..release.rendering import decimals_for, number, paragraphs, text_table
from . import options
from .parts import number_of

__all__ = ["plan"]


def plan(
    bounds: Annotated[
        tuple[str, str],
        typer.Option(
            metavar="LOWER UPPER", help="The public range of the values.", show_default=False
        ),
    ],
    records: Annotated[
        int | None, typer.Option(help="About how many records (or persons) there are.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="The privacy parameter: smaller is more private.")
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="The error wanted (root mean squared), in the units of the data; finds the "
            "epsilon or the number of records."
        ),
    ] = None,
    at_mean: Annotated[
        float | None,
        typer.Option(help="The value expected for the mean; by default the worst case."),
    ] = None,
    columns: Annotated[
        int, typer.Option(help="The number of columns asked for together, from one epsilon.")
    ] = 1,
    spread: Annotated[
        bool, typer.Option("--spread", help="The standard deviation is asked for too.")
    ] = False,
    outside: options.OutsideShare = None,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="The error is the half-width of the interval for the population's mean, which "
            "covers noise and sampling error.",
        ),
    ] = False,
    confidence: Annotated[
        float | None,
        typer.Option(help="With --population: the confidence of the interval; 0.95 by default."),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="The column holds whole numbers, which have their own grid."),
    ] = False,
) -> None:
    """The expected error of each algorithm, or the epsilon or records that an error needs.

    The expected error is the root mean squared error that the noise causes, for the mean that is
    hardest to estimate unless --at-mean says where the mean is expected.

    Give --records and --epsilon to see the errors; give --error and one of the two to find
    the other. With --population, the error is the half-width of the interval for the mean of the
    population that the records are a random sample of.
    """
    range_ = Bounds(*(number_of("--bounds", end) for end in bounds))
    if whole and not range_.whole:
        raise OptionError(
            "--whole needs bounds without decimal points, such as --bounds 0 40; leave out "
            "--whole for values that need not be whole numbers"
        )
    grid = int(range_.width) if whole else None
    if confidence is not None and not population:
        raise OptionError(
            "--confidence applies only with --population; add --population, or leave it out"
        )
    sure = 0.95 if confidence is None else confidence
    if error is not None:
        if (epsilon is None) == (records is None):
            raise OptionError(
                "give --error with either --epsilon or --records; plan finds the other"
            )
        found = planned(
            range_, error, epsilon=epsilon, records=records, mean=at_mean, grid=grid,
            columns=columns, spread=spread, outside=outside, population=population,
            confidence=sure,
        )  # fmt: skip
        if population:
            _print_population(found, sure, yes_or_no=grid == 1)
            return
        of_each = f" of each of {columns} columns" if columns > 1 else ""
        print(
            f"epsilon {float(found.epsilon):g} with {found.records:,} records: expected error"
            f"{of_each} {number(found.error, decimals_for(found.error))} ({found.algorithm})"
        )
        _print_meaning(at_mean)
        return
    if population:
        raise OptionError("--population needs --error and one of --records and --epsilon")
    if records is None or epsilon is None:
        raise OptionError("plan needs --records and --epsilon, or --error and one of the two")
    if records < 1:
        raise OptionError(f"records={records} is not a whole number of 1 or more")
    if columns != 1:
        if spread:
            raise OptionError("--spread works only with one column; leave out --columns")
        _print_columns(records, range_, exact_epsilon(epsilon), at_mean, grid, columns, outside)
    elif spread or outside:
        _print_more(records, range_, exact_epsilon(epsilon), at_mean, grid, spread, outside)
    else:
        _print_algorithms(records, range_, exact_epsilon(epsilon), at_mean, grid)
    print()
    _print_meaning(at_mean)


def _print_meaning(mean: float | None) -> None:
    """What an expected error is: see :mod:`..estimate.accuracy`."""
    where = f"a mean of {mean:g}" if mean is not None else "the mean that is hardest to estimate"
    print(
        paragraphs(
            [
                f"Expected error: the root mean squared error that the noise causes, for {where}, "
                "in the units of the data; clamping and sampling error are not part of it."
            ]
        )
    )


def _print_algorithms(
    records: int, bounds: Bounds, epsilon: Fraction, mean: float | None, grid: int | None
) -> None:
    errors = compare(records, bounds, epsilon, mean=mean, grid=grid)
    best = errors["hourglass"]
    rows = [
        [
            name + (" (n public)" if ALGORITHMS[name].adjacency == "swap" else ""),
            _digits(e),
            f"{e / best:.2f}",
        ]
        for name, e in errors.items()
    ]
    print(text_table(["algorithm", "expected error", "relative error"], rows))
    told = (
        "independent and shifted spend half of epsilon on the sum and half on the count; laplace "
        "and staircase spend all of it on both together, as hourglass does, with other noise."
    )
    print("\n" + paragraphs([told]))


def _print_population(found: Plan, confidence: float, *, yes_or_no: bool) -> None:
    reach = number(found.error, decimals_for(found.error))
    rests = "for yes/no values" if yes_or_no else "from the bounds alone"
    told = (
        f"epsilon {float(found.epsilon):g} with {found.records:,} records: the "
        f"{100 * confidence:g} % interval of the population's mean reaches {reach} to either side "
        f"({found.algorithm}; {rests})"
    )
    print(paragraphs([told]))


def _print_more(
    records: int,
    bounds: Bounds,
    epsilon: Fraction,
    mean: float | None,
    grid: int | None,
    spread: bool,
    outside: str | None,
) -> None:
    """What ``--spread`` and ``--outside`` add to the error of the mean."""
    alone = expected_error(records, bounds, epsilon, mean=mean, grid=grid)
    asked = expected_error(
        records, bounds, epsilon, mean=mean, grid=grid, spread=spread, outside=outside
    )
    words = [*(["spread"] if spread else []), *([f"outside {outside}"] if outside else [])]
    rows = [
        [name, _digits(e), f"{e / alone:.2f}"]
        for name, e in (("mean alone", alone), (f"with {' and '.join(words)}", asked))
    ]
    print(text_table(["asked for", "expected error", "relative error"], rows))


def _print_columns(
    records: int,
    bounds: Bounds,
    epsilon: Fraction,
    mean: float | None,
    grid: int | None,
    count: int,
    outside: str | None,
) -> None:
    """Print the errors of columns asked together, and of each by itself at epsilon / columns."""
    together = expected_error(
        records, bounds, epsilon, mean=mean, grid=grid, columns=count, outside=outside
    )
    apart = expected_error(records, bounds, epsilon / count, mean=mean, grid=grid, outside=outside)
    rows = [
        [name, _digits(e), f"{e / together:.2f}"]
        for name, e in (("together", together), (f"each at epsilon/{count}", apart))
    ]
    print(text_table([f"{count} columns", "expected error", "relative error"], rows))


def _digits(error: float) -> str:
    """An error with three digits, which distinguish algorithms that are nearly as good."""
    return number(error, decimals_for(error) + 1)
