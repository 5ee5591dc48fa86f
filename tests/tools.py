"""What an attacker sees: the command, the answer, every message."""

from __future__ import annotations

import io
import traceback
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from hourglass.cli import main
from hourglass.core.limits import Bounds, Grid
from hourglass.core.totals import Totals
from hourglass.noise.bits import SECURE, Bits
from hourglass.read.column import Column
from hourglass.read.source import Field
from hourglass.read.sql.query import Query, Value


def long(*cases: Any) -> list[Any]:
    """Cases of a parametrised test that ``make test-long`` runs and ``make test`` does not."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)
        for case in cases
    ]


def known_types(**made: tuple[Any, ...]) -> list[Any]:
    """Arrow types, by the names of the functions that make them; an old PyArrow lacks some."""
    return [getattr(pa, name)(*given) for name, given in made.items() if hasattr(pa, name)]


def at_least(wanted: int, held: Iterator[bool], samples: int) -> bool:
    """Whether so many of the samples hold. The rest are not made once that is decided, either way:
    the verdict is that of all of them."""
    for number, each in enumerate(held, 1):
        wanted -= each
        if wanted <= 0 or wanted > samples - number:
            return wanted <= 0
    raise AssertionError("there are fewer samples than said")


def as_likely_as(chance: float, held: Iterable[bool], samples: int, alarm: float = 1e-6) -> bool:
    """Whether so many of the samples hold as do, if each holds with that chance, in all but an
    ``alarm`` of cases. The rest are not made once that is decided, either way."""
    from scipy import stats

    return at_least(int(stats.binom.ppf(alarm, samples, chance)), iter(held), samples)


@dataclass(frozen=True)
class Told:
    """Everything that the command printed."""

    code: int
    out: str
    err: str


def command(*arguments: object, bits: Bits = SECURE) -> Told:
    """``hourglass`` with these arguments, in this process; ``bits`` fixes its noise."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main([*map(str, arguments)], bits=bits)
    except SystemExit as ended:
        code = ended.code or 0
    return Told(int(code), out.getvalue(), err.getvalue())


def everything(error: BaseException) -> str:
    """Everything that an error could show, including its causes and contexts."""
    shown = "".join(traceback.format_exception(error))
    seen: BaseException | None = error
    while seen is not None:
        shown += repr(seen) + str(seen)
        seen = seen.__cause__ or seen.__context__
    return shown


# --- what a column in memory adds up to -----------------------------------------------------


def grid_of(column: Column, bounds: Bounds, cells: Any = None) -> Grid:
    """The grid that a question would choose for the column."""
    return Field("", column.kind).grid(bounds, cells)


def totals_of(column: Column, grid: Grid, missing: int | None = None) -> Totals:
    """The secret totals of a column in memory."""
    return column.run(None, Query((Value(Field("", column.kind), grid, missing),))).only
