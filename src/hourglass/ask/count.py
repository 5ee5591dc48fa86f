"""``hg.count``: a differentially private number of rows or persons, optionally by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..core.exact import exact_epsilon
from ..core.limits import Bounds, Unit, as_unit
from ..errors import DataError, OptionError
from ..mechanisms.base import make
from ..mechanisms.count import LaplaceCount
from ..read.open import is_table, public_keys
from ..read.rows import open_rows
from ..release.counts import Count, Counts
from .keywords import CountKeywords, MeanKeywords
from .options import Conditions, Rows, epsilon_per_record, exact_delta_of, names_of
from .question import TotalsQuestion

__all__ = ["CountQuestion", "check_rows_only", "count_question"]

#: No value is read, so nothing is clamped.
_NO_BOUNDS: Final = Bounds(0, 1)


@dataclass(frozen=True, kw_only=True)
class CountQuestion(TotalsQuestion):
    """A checked question for a count. A record adds one to the count of its group."""

    @property
    def subject(self) -> str:
        """A short public description of the question."""
        what = "persons" if self.unit.person and self.unit.rows is None else "rows"
        return f"number of {what}{self._of_which}"

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Count | Counts:
        """The count, computed from the noisy total."""
        keys, totals = noisy
        return (Counts if self.by else Count)(**self._terms(keys, totals, self.mechanism, private))

    def restore(self, stored: Mapping[str, Any]) -> Count | Counts:
        """Rebuild a stored answer."""
        return (Counts if "by" in stored else Count).from_dict(stored)


def count_question(
    data: Any,
    *,
    epsilon: Any = None,
    where: Any = None,
    by: Any = None,
    keys: Any = None,
    delta: Any = None,
    unit: Unit | None = None,
    engine: str | None = None,
) -> CountQuestion:
    """Check the options of :func:`hourglass.count` and turn them into a question."""
    price, whose, names = exact_epsilon(epsilon), as_unit(unit), names_of(by)
    exact = exact_delta_of(names, keys, delta)
    each = epsilon_per_record(price, whose, bool(names))
    conditions = Conditions.of(where, ())
    if conditions.where is not None and not is_table(data):
        raise OptionError("where= needs a table, but data is rows in memory; give a frame instead")
    source = open_rows(data, conditions.read((), names, whose), engine)
    rows = Rows.of(source, whose, conditions, by=by)
    public = public_keys(keys, rows.groups, data) if keys is not None else None
    mechanism = make(LaplaceCount.name, each, None, LaplaceCount.statistic)
    place = {"statistic": LaplaceCount.statistic}
    return CountQuestion(
        **rows.terms(rows.query(public), _NO_BOUNDS, mechanism, public, exact),
        epsilon=price,
        place=place | rows.place(data, public) if is_table(data) else place,
    )


count_question.__qualname__ = "count"  # the name in errors about keyword arguments


def check_rows_only(columns: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Refuse a column, and options for the values of one: a count is of rows."""
    if columns:
        name = columns[0] if type(columns[0]) is str and columns[0].isidentifier() else "age"
        raise DataError(
            f'count takes no column; to count the rows that have a value, use where="{name} IS NOT '
            'NULL"'
        )
    for name in options:
        if name in MeanKeywords.__annotations__ and name not in CountKeywords.__annotations__:
            raise DataError(f"count takes no {name}=: it counts rows, whatever values they hold")
