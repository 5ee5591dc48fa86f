"""Checks of the options that more than one question has, all made before a row is read."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..core.grid import Bounds, Grid
from ..core.numbers import MIN_EPSILON, exact_delta, exact_number
from ..core.unit import Unit
from ..errors import BoundsError, DataError, EpsilonError, OptionError, one_of, shown
from ..mechanisms.base import ALGORITHMS, find, names_with
from ..noise.box import MOST_COLUMNS
from ..read.open import columns_in_memory, is_table
from ..read.sql.expression.given import Expression

__all__ = [
    "asked_columns", "asked_statistic", "bounds_of_each", "check_algorithm", "check_parse",
    "check_width", "epsilon_per_record",
    "exact_delta_of", "missing_cell", "names_of", "of_each", "outside_share",
]  # fmt: skip


def names_of(by: Any) -> tuple[str, ...]:
    """The columns to group by; none where ``by`` is None."""
    if by is None:
        return ()
    names = tuple(by) if isinstance(by, list | tuple) else (by,)
    if not names or any(type(name) is not str for name in names) or len(set(names)) < len(names):
        raise OptionError(
            f"by={shown(by)} does not name columns; give one name, or a list of names, each once"
        )
    return names


def exact_delta_of(names: tuple[str, ...], keys: Any, delta: Any) -> Fraction:
    """Delta, exactly; 0 where the names of the groups are public or there are no groups."""
    exact = Fraction(0) if delta is None else exact_delta(delta)
    if not names:
        if keys is not None or delta is not None:
            raise OptionError("keys and delta are about groups; name the column with by=")
        return exact
    if (keys is None) == (delta is None):
        raise OptionError(
            "by= takes one of keys= (the public names of the groups: each is answered) and delta= "
            "(secret names: a group is answered if its noisy count is large enough)"
        )
    return exact


def epsilon_per_record(
    epsilon: Fraction, unit: Unit, grouped: bool, outside: Fraction | None = None, columns: int = 1
) -> Fraction:
    """The epsilon that a record has: what is charged over the records of a unit.

    With ``outside``, that share of it is what the counts of values outside ``columns`` columns get.
    """
    if unit.groups > 1 and not grouped:
        raise OptionError(f"unit: groups={unit.groups} is about groups; name the column with by=")
    each = epsilon / unit.shares
    if each < MIN_EPSILON:
        raise EpsilonError(
            f"epsilon={epsilon} over {unit.shares} records of a person is below {MIN_EPSILON} for "
            "each; lower rows= or groups= of the unit"
        )
    if outside is not None and min(each * (1 - outside), each * outside / columns) < MIN_EPSILON:
        raise EpsilonError(
            f"outside={outside} of epsilon={epsilon} leaves a count less than {MIN_EPSILON}; give "
            "a share nearer to 1/2, or a larger epsilon"
        )
    return each


def asked_columns(data: Any, column: Any, **of_tables: Any) -> tuple[tuple[Any, ...], bool]:
    """The columns that are asked for, and whether they are several that are answered together.

    The one column is None where the data is a column itself. ``of_tables`` are the options that
    make sense for a table alone.
    """
    if isinstance(column, list | tuple):
        _check_names(column)
        _check_number(len(column))
        return tuple(column), True
    if column is not None:
        if not isinstance(column, str | Expression):
            raise DataError(
                f"column={shown(column)} is not the name of a column; give it as text, as in "
                "mean(data, 'age', ...), or a list of names for several columns. A column by "
                "itself is data: mean(table['age'], bounds=...)"
            )
        return (column,), False
    if is_table(data):
        raise DataError("data is a table; name the column, as in mean(data, 'age', ...)")
    for option, value in of_tables.items():
        if value:
            raise OptionError(f"{option}= is about tables; data is a column of numbers")
    several = columns_in_memory(data)
    if several is None:
        return (None,), False
    _check_number(len(several))
    return several, True


def asked_statistic(several: bool, spread: Any) -> str:
    """What is asked of the columns, by the name that its mechanisms are registered under."""
    if not isinstance(spread, bool):
        raise OptionError(f"spread={shown(spread)} is neither True nor False")
    if several and spread:
        raise OptionError(
            "spread=True is about one column; ask for the spread of each column by itself"
        )
    return "spread" if spread else "columns" if several else "mean"


def outside_share(outside: Any, algorithm: str) -> Fraction | None:
    """The share of epsilon that counts values outside the bounds; None where none is asked."""
    if outside is None:
        return None
    exact = exact_number(outside)
    if exact is None or not 0 < exact < 1:
        raise OptionError(
            f"outside={shown(outside)} is not a share of epsilon between 0 and 1; give one such "
            'as "1/10"'
        )
    if ALGORITHMS[algorithm].adjacency != "add-remove":
        raise OptionError(
            f"outside= hides records that are added or removed, and algorithm={algorithm!r} only "
            "records that are replaced; leave one of the two out"
        )
    return exact


def _check_names(names: Any) -> None:
    if (
        not names
        or any(type(name) not in (str, Expression) for name in names)
        or len(set(map(str, names))) < len(names)
    ):
        raise DataError(
            f"column={shown(names)} does not name columns; give one name, or a list of names as "
            'text, each once (the columns of an array are named "0", "1", ...)'
        )


def _check_number(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise DataError(
            f"{columns} columns are asked for at once, and one question takes at most "
            f"{MOST_COLUMNS}; name fewer, and ask for the others by a question of their own"
        )


def bounds_of_each(value: Any, columns: tuple[Any, ...], several: bool) -> list[Bounds]:
    """The bounds of each column; an error about a pair in a dict names its column."""
    if several and isinstance(value, list | tuple) and len(value) != 2:
        raise BoundsError(
            f"bounds={shown(value)} is not a pair; give one pair for all columns, or a dict with a "
            'pair for each, as in bounds={"age": (0, 120), "height": (0, 250)}'
        )
    found = []
    for name, pair in zip(columns, of_each("bounds", value, columns, several), strict=True):
        try:
            found.append(Bounds.of(pair))
        except BoundsError as error:
            if several and isinstance(value, Mapping):
                raise BoundsError(f"column {name!r}: {error}") from None
            raise
    return found


def check_width(bounds: Bounds) -> None:
    """Refuse bounds so far apart that a variance could be larger than any double."""
    if bounds.width > 2**511:
        raise BoundsError(
            f"bounds=({bounds.lower}, {bounds.upper}) are more than 6e153 apart: with spread=True "
            "the square of the width must be a double; give narrower bounds"
        )


def of_each(
    option: str, value: Any, columns: tuple[Any, ...], several: bool, absent: Any = None
) -> list[Any]:
    """What an option says for each column: the same for all, or by name in a dict."""
    if not (several and isinstance(value, Mapping)):
        return [value] * len(columns)
    for place, name in enumerate(value, 1):
        if name not in columns:
            names = ", ".join(map(repr, columns))
            raise OptionError(
                f"{option}: key {place} of the dict is not one of the columns asked for: {names}"
            )
    missing = [name for name in columns if name not in value]
    if missing and option == "bounds":
        raise BoundsError(
            f"bounds: column {missing[0]!r} has no bounds; give a pair for each column"
        )
    return [value.get(name, absent) for name in columns]


def check_parse(parse: Any) -> None:
    """How a column of text is read."""
    if parse is not None:
        one_of("parse", parse, ("real", "integer"))


def missing_cell(missing: Any, grid: Grid) -> int | None:
    """The cell that a missing value counts as; None where it is left out."""
    if isinstance(missing, str) and missing == "drop":
        return None
    lower, upper = grid.bounds
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise OptionError(f'missing={shown(missing)} is neither "drop" nor a number')
    if not lower <= missing <= upper:
        raise BoundsError(f"missing={missing!r} is outside the bounds ({lower}, {upper})")
    if grid.own and missing != int(missing):
        raise OptionError(f"missing={missing!r} is not a whole number; the column holds integers")
    return grid.cell(missing)


def check_algorithm(
    algorithm: str, by: tuple[str, ...], delta: Fraction, unit: Unit, statistic: str = "mean"
) -> None:
    """What the mechanism of that name can do."""
    if statistic != "mean" and algorithm in ALGORITHMS and algorithm != "hourglass":
        raise OptionError(
            f"algorithm={algorithm!r} is offered for the mean of one column by itself, without "
            "spread; leave it out"
        )
    mechanism = find(algorithm, statistic)
    if by and not mechanism.by_group:
        raise OptionError(
            f"algorithm={algorithm!r} takes the number of records as public: not by group"
        )
    if unit.records > 1 and not mechanism.several_records:
        raise OptionError(
            f"algorithm={algorithm!r} takes persons once; leave out rows= of the unit"
        )
    if delta and not mechanism.secret_keys:
        raise OptionError(f"delta= is offered with {names_with('secret_keys')}, not {algorithm!r}")
