"""Answers on the page: tables, charts, CSV, and the Python code for the same answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from ..ledger import Amount
from ..ledger.entries import shown_number
from ..release.columns import Columns
from ..release.presented import UNKNOWN
from ..release.release import Release
from ..release.rendering import counts_persons, group_label, is_sampled
from .charts import Mark, Whiskers
from .service import Found
from .titles import Titles

__all__ = [
    "Table", "as_csv", "chance_words", "delta_words", "picture", "price_words", "python_of",
    "table_of",
]  # fmt: skip

#: The most rows of a table that has the population's intervals, which are slow.
_MOST_WIDE: Final = 60
#: The most groups that are drawn, and the most rows of a table.
_MOST_DRAWN: Final = 40
_MOST_SHOWN: Final = 200
_NO_TITLES: Final = Titles()


@dataclass(frozen=True)
class Table:
    """A table of texts; the first ``names`` columns are names, the others numbers.

    ``left_out`` is the number of rows that are not shown, ``few`` whether rows are marked because
    they may have too few records.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    left_out: int = 0
    population: bool = True
    few: bool = False


def table_of(answer: Any, titles: Titles = _NO_TITLES) -> Table:
    """The answer as a table, with both intervals of each mean."""
    whole = len(answer.groups) * (len(answer.names) if isinstance(answer, Columns) else 1)
    rows = list(islice(_rows(answer), _MOST_SHOWN))
    wide = whole <= _MOST_WIDE and is_sampled(answer.unit)
    several = isinstance(answer, Columns)
    groups = titles.heads(answer.by)
    head = (*groups, *(("column",) if several else ()), _mean_word(rows), "95 % for these records")
    head += ("95 % for the population",) if wide else ()
    head += ("standard deviation",) if rows and rows[0][2]._spread else ()
    few = [bool(one.few()) for _, _, one in rows]
    lines = tuple(
        (*key, *((titles.column(name),) if several else ()), *_figures(one, wide, mark))
        for (key, name, one), mark in zip(rows, few, strict=True)
    )
    head = (*head, "sum", "persons" if counts_persons(answer.unit) else "records")
    return Table(head, lines, len(groups) + several, whole - len(rows), wide, any(few))


def price_words(price: Amount) -> str:
    """A price as text: its epsilon, and its delta if it has one."""
    words = f"epsilon {shown_number(price.epsilon)}"
    return f"{words} and delta {delta_words(price.delta)}" if price.delta else words


def delta_words(delta: Fraction) -> str:
    """A delta as text, such as 1e-6."""
    exact = shown_number(delta)
    return f"{Decimal(exact):e}" if delta and exact.startswith("0.000") else exact


def chance_words(chance: float) -> str:
    """A probability as text."""
    if chance > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if chance < 0.001 else f"{100 * chance:.1f} %"


def _mean_word(rows: list[Any]) -> str:
    return "share" if rows and all(one._yes_or_no for _, _, one in rows) else "mean"


def _rows(answer: Any) -> Iterator[tuple[tuple[str, ...], str | None, Release]]:
    """Every release in an answer, with its group and its column."""
    columns = answer.names if isinstance(answer, Columns) else (answer.column,)
    for group in answer.groups:
        for name in columns:
            part = answer.column(name) if isinstance(answer, Columns) else answer
            one = part[group if len(group) > 1 else group[0]] if answer.by else part
            yield tuple(group_label([value]) for value in group), name, one


def _figures(one: Release, wide: bool, few: bool) -> list[str]:
    def ends(of: str) -> str:
        figure = "std" if of == "std" else "mean"
        low, high = (one._number(end, figure) for end in one.interval(0.95, of=of))
        return f"{low} to {high}"

    spread = [one._figure(0.95, "std", few)] if one._spread else []
    if spread and spread != [UNKNOWN]:  # which noise can make zero, though the values differ
        spread = [f"{spread[0]} ({ends('std')})"]
    return [
        one._figure(0.95, "mean", few),
        ends("mean"),
        *([ends("population")] if wide else []),
        *spread,
        one._number(one.sum, "sum"),
        one._number(one.count, "count") + (" *" if few else ""),
    ]


def picture(answer: Any, titles: Titles = _NO_TITLES) -> list[Whiskers]:
    """A chart for each column; none if there are too many groups."""
    found: dict[str | None, list[Mark]] = {}
    shares: dict[str | None, bool] = {}
    if len(answer.groups) > _MOST_DRAWN:
        return []
    for key, name, one in _rows(answer):
        mean = one.interval(0.95)
        wide = one.interval(0.95, of="population") if is_sampled(answer.unit) else mean
        known = one._figure(0.95, "mean", bool(one.few())) != UNKNOWN
        ends = (mean.low, mean.high, wide.low, wide.high)
        mark = Mark(", ".join(key), one.mean if known else None, *ends)
        found.setdefault(name, []).append(mark)
        shares[name] = one._yes_or_no
    return [
        Whiskers(titles.column(name), tuple(marks), shares[name]) for name, marks in found.items()
    ]


def as_csv(answer: Any) -> str:
    """The answer as comma-separated values: figures, intervals and the terms of the release."""
    wide = is_sampled(answer.unit) and len(answer.groups) <= _MOST_WIDE
    columns = answer.columns(0.95, population=wide)
    columns |= answer.terms(columns, 0.95)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = [list(c.tolist() if hasattr(c, "tolist") else c) for c in columns.values()]
    writer.writerows(zip(*lists, strict=True))
    return text.getvalue()


def python_of(found: Found, url: str, filter_: str = "") -> str:
    """Python code that returns the same answer at no charge."""
    answer = found.answer
    columns = list(answer.names) if isinstance(answer, Columns) else answer.column
    by = f", by={list(answer.by) if len(answer.by) > 1 else answer.by[0]!r}" if answer.by else ""
    first = answer.column(answer.names[0]) if isinstance(answer, Columns) else answer
    spread = ", spread=True" if first._spread else ""
    only = f", filter={filter_!r}" if filter_ else ""
    return (
        "import hourglass as hg\n\n"
        f"gateway = hg.connect(\n    {url!r}, token\n)\n"
        "answer = gateway.mean(\n"
        f"    {found.dataset!r}, {columns!r}{by}{only}{spread},\n"
        f"    epsilon={shown_number(answer.epsilon)!r},\n"
        f"    request={found.key!r},\n"
        ")\n"
    )
