"""A question in order: all that can be wrong with it is found before a row is looked at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..core.grid import Bounds, Grid
from ..core.numbers import MIN_EPSILON, exact_delta, exact_epsilon
from ..core.totals import Groups, Totals
from ..core.unit import Unit, as_unit
from ..errors import BoundsError, DataError, EpsilonError, OptionError
from ..estimate.point import check_estimator
from ..mechanisms.base import Algorithm, make
from ..mechanisms.threshold import threshold
from ..read.column import column as memory_column
from ..read.engines.base import value_field
from ..read.keys import PublicKeys, public_keys
from ..read.open import is_table, open_table, place_of
from ..read.sql.query import Query

__all__ = ["Request", "checked"]


@dataclass(frozen=True)
class Request:
    """A question in order: everything is checked, nothing has been looked at.

    ``epsilon`` and ``delta`` are its price; ``read`` looks at the data. ``question`` is all
    that was asked, as text that is equal for equal questions; ``subject`` says it in public.
    """

    mechanism: Algorithm
    estimator: str
    epsilon: Fraction
    delta: Fraction
    unit: Unit
    read: Callable[[], Totals | Groups] = field(repr=False)
    sql: str | None = field(default=None, repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    question: str = field(default="", repr=False)
    subject: str = ""


def checked(
    data: Any,
    column: str | None,
    *,
    bounds: Any,
    epsilon: Any,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    algorithm: str = "hourglass",
    estimator: str = "projected",
    grid: int | None = None,
    missing: Any = "drop",
    parse: str | None = None,
    engine: str | None = None,
) -> Request:
    """The request that the arguments of ``mean`` make, or an error that says why not."""
    charge, range_, whose = exact_epsilon(epsilon), Bounds.of(bounds), as_unit(unit)
    check_estimator(estimator, algorithm)
    names = _by(by)
    exact = _check_keys(names, keys, delta, algorithm)
    share = _share(charge, whose, names, algorithm)
    if parse not in (None, "real", "integer"):
        raise OptionError(f"parse={parse!r} is not one of real, integer")
    if column is None:
        _only_a_column(data, names, whose, parse, engine)
        source = memory_column(data)
        mechanism = make(algorithm, share, source.grid(range_, grid))
        cell = _missing_cell(missing, mechanism.grid)
        return Request(
            mechanism, estimator, charge, Fraction(0), whose,
            read=lambda: source.totals(mechanism.grid, cell),
            question=_question(mechanism, estimator, charge, exact, whose, missing=str(missing)),
            subject="mean of a column in memory",
        )  # fmt: skip

    wanted = tuple(dict.fromkeys([column, *names, *([whose.person] if whose.person else [])]))
    opened = open_table(data, wanted, engine)
    schema = opened.schema()
    value = value_field(opened, schema, column, parse)
    groups = tuple(schema.key(name) for name in names)
    person = schema.person(whose.person) if whose.person else None
    averaged = person is not None and whose.rows is None
    mechanism = make(algorithm, share, value.grid(range_, grid, averaged=averaged))
    public = public_keys(keys, groups) if keys is not None else None
    query = Query(
        value, mechanism.grid, _missing_cell(missing, mechanism.grid), groups,
        allowed=public.allowed() if public else (),
        nulls=public.nulls() if public else (),
        unit=whose, person=person,
    )  # fmt: skip
    sql = opened.sql(query, range_)
    listed = [[str(part) for part in key] for key in public.keys] if public else None
    return Request(
        mechanism, estimator, charge, exact, whose, lambda: opened.run(sql, query), sql, names,
        public, _threshold(mechanism, exact, whose) if exact else None,
        # The SQL is not part of it: an engine may make up a name for a frame's view.
        question=_question(
            mechanism, estimator, charge, exact, whose, missing=str(missing), parse=parse,
            data=place_of(data), column=column, by=names, keys=listed,
        ),
        subject=f"mean of {column}" + (f" by {', '.join(names)}" if names else ""),
    )  # fmt: skip


def _question(
    mechanism: Algorithm,
    estimator: str,
    epsilon: Fraction,
    delta: Fraction,
    unit: Unit,
    **more: Any,
) -> str:
    """Everything that makes a question this one, in one canonical text."""
    grid = mechanism.grid
    facts = {
        "algorithm": mechanism.name,
        "bounds": [repr(end) for end in grid.bounds],
        "delta": str(delta),
        "epsilon": str(epsilon),
        "estimator": estimator,
        "grid": [grid.cells, grid.own],
        "unit": str(unit),
    }
    return json.dumps(facts | more, sort_keys=True)


# --- checks ---------------------------------------------------------------------------------


def _by(by: Any) -> tuple[str, ...]:
    if by is None:
        return ()
    names = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    if not names or len(set(names)) < len(names) or any(type(n) is not str for n in names):
        raise OptionError(f"by={by!r}: name one or more columns, each once")
    return names


def _check_keys(names: tuple[str, ...], keys: Any, delta: Any, algorithm: str) -> Fraction:
    """Delta, exactly; 0 where the keys are public or there are none."""
    exact = Fraction(0) if delta is None else exact_delta(delta)
    if not names:
        if keys is not None or delta is not None:
            raise OptionError("keys and delta are about groups; name the column with by=")
        return exact
    if algorithm == "swap":
        raise OptionError("algorithm='swap' takes the number of records as public: not by group")
    if (keys is None) == (delta is None):
        raise OptionError(
            "by= takes one of keys= (the public names of the groups: each is answered) and delta= "
            "(secret names: a group is answered if its noisy count is large enough)"
        )
    if exact and algorithm != "hourglass":
        raise OptionError(f"delta= is offered with algorithm='hourglass', not {algorithm!r}")
    return exact


def _share(charge: Fraction, unit: Unit, names: tuple[str, ...], algorithm: str) -> Fraction:
    """The epsilon that the noise is drawn at: a part of what is charged."""
    if unit.groups > 1 and not names:
        raise OptionError(f"unit: groups={unit.groups} is about groups; name the column with by=")
    if algorithm == "swap" and unit.records > 1:
        raise OptionError("algorithm='swap' takes persons once; leave out rows= of the unit")
    share = charge / unit.shares
    if share < MIN_EPSILON:
        raise EpsilonError(
            f"epsilon={charge} over {unit.shares} records of a person is below {MIN_EPSILON} for "
            "each; lower rows= or groups= of the unit"
        )
    return share


def _threshold(mechanism: Algorithm, delta: Fraction, unit: Unit) -> int:
    return threshold(mechanism.law, delta, unit.records, unit.groups)  # type: ignore[attr-defined]


def _only_a_column(
    data: Any, names: tuple[str, ...], unit: Unit, parse: str | None, engine: str | None
) -> None:
    if is_table(data):
        raise DataError("data is a table; name the column to average, as in mean(data, 'age', ...)")
    given = {"by": names, "unit": unit.person, "parse": parse, "engine": engine}
    for name, value in given.items():
        if value:
            raise OptionError(f"{name}= is about tables; data is a column of numbers")


def _missing_cell(missing: Any, grid: Grid) -> int | None:
    """The cell that a missing value counts as; None where it is left out."""
    if isinstance(missing, str) and missing == "drop":
        return None
    lower, upper = grid.bounds
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise OptionError(f'missing={missing!r} is neither "drop" nor a number')
    if not lower <= missing <= upper:
        raise BoundsError(f"missing={missing!r} is outside the bounds ({lower}, {upper})")
    if grid.own and missing != int(missing):
        raise OptionError(f"missing={missing!r} is no whole number; the column holds integers")
    return grid.cell(missing)
