"""DuckDB's results as totals: rows that are handed over, or groups without PyArrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial, reduce
from typing import Any, Final

import numpy as np

from ...core.keys import NAMELESS, KeyColumn, Keys, numbers_of
from ...core.totals import Groups, Halves
from ..by_group import groups_of_blocks
from ..column import Column, chunk_of_arrow
from ..kernel import Part
from ..parquet import stored_numbers
from ..several import totals_of_blocks
from ..source import Field
from ..sql.histogram import Histogram
from ..sql.query import Query, Question

__all__ = ["added_up", "added_up_by_threads", "of_arrays"]

#: Rows per batch of one column, and half as many of several: so few that a batch is still in the
#: cache when the kernel gets it, and so many that its calls take little of the time. With a fourth
#: of them, one column takes a sixth longer. Rows with persons are not halved: the more of them are
#: in a batch, the fewer pieces are put together afterwards.
_BATCH: Final = 1 << 17


def added_up(relation: Any, query: Question) -> Groups | None:
    """The totals of the rows of a relation, read in batches and added up by the kernel.

    None if there are too many rows to be sorted by person here.
    """
    _keep_memory()
    of_persons = isinstance(query, Histogram) and query.of_integers
    rows = _BATCH if len(relation.columns) == 1 or of_persons else _BATCH // 2
    with relation.to_arrow_reader(rows) as reader:  # closed whatever happens
        return _added(reader, query)


def added_up_by_threads(paths: Sequence[str], query: Question) -> Groups | None:
    """The same of plain numbers in Parquet files, without DuckDB; None if it has to read them."""
    fields = query.plain_fields
    stored = stored_numbers(paths, fields) if fields else None
    if stored is None:
        return None
    _keep_memory()
    try:
        return _together([found for found in stored.each(partial(_added, query=query)) if found])
    except Exception:
        return None  # DuckDB may be able to read the files, or says what is wrong with them


def _together(parts: Sequence[Groups]) -> Groups:
    """The totals of all rows; the parts have the same keys in the same order."""
    keys = parts[0].keys
    if keys is NAMELESS:
        first, *others = (part.only for part in parts)
        return Groups.of_total(sum(others, first))
    count = reduce(np.add, (part.count for part in parts))
    halves = tuple(
        Halves(reduce(np.add, (h.hi for h in each)), reduce(np.add, (h.lo for h in each)))
        for each in zip(*(part.halves for part in parts), strict=True)
    )
    return Groups(keys, count, halves)


def _added(batches: Iterable[Any], query: Question) -> Groups | None:
    if isinstance(query, Query) and query.by:
        assert query.places is not None
        return groups_of_blocks(map(_named_rows, batches), query.places, query.targets)
    if isinstance(query, Query) and len(query.values) > 1:
        blocks = ([numbers_of(column) for column in batch.columns] for batch in batches)
        return query.of_sums(*totals_of_blocks(blocks, query.targets))
    if isinstance(query, Histogram) and query.of_integers:
        return query.of_persons(map(_of_persons, batches))
    chunks = (chunk_of_arrow(batch.column(0)) for batch in batches)
    (name,) = query.number_names
    return query.of_columns({name: Column("", chunks=chunks.__iter__)})


@cache
def _keep_memory() -> None:
    """Let the C library keep the memory of a batch for the next ones, once per process.

    glibc returns freed blocks to the system if they are larger than any that was freed before, up
    to 32 MB. Every batch would then be written to new pages, which takes a fifth of the processor
    time of a scan. Freeing this block, no page of which is touched, raises the limit.
    """
    np.empty(31 << 17)


def _of_persons(batch: Any) -> tuple[Any, Any]:
    """The persons and the numbers of the rows in a batch that have a number."""
    (persons, _), (numbers, absent) = map(numbers_of, batch.columns)
    with np.errstate(all="ignore"):  # a warning about a signalling NaN would reveal it
        there = numbers == numbers
    if absent is not None:
        there &= ~absent
    return (persons, numbers) if there.all() else (persons[there], numbers[there])


def _named_rows(batch: Any) -> tuple[Keys, list[Part]]:
    """The keys of the rows, which are integers, and their columns."""
    (names, absent), *columns = map(numbers_of, batch.columns)
    return Keys([KeyColumn(names.astype(np.int64, copy=False), absent)]), columns


def of_arrays(columns: dict[str, Any], query: Question) -> Groups:
    """Totals from NumPy arrays: the keys, the count, the halves of the sums."""
    keys = [_values(columns[name], field) for name, field in zip(query.keys, query.by, strict=True)]
    numbers = list(columns.values())[len(keys) :]
    return Groups.of(Keys(keys), *numbers, balance=query.balance)


def _values(column: Any, field: Field) -> KeyColumn:
    """The values of a key column; NULL is masked in the result."""
    if field.kind == "date":
        column = column.astype("datetime64[D]")
    absent = np.ma.getmaskarray(column)
    found = KeyColumn.of(np.ma.getdata(column))
    if found.whole:
        return KeyColumn(np.where(absent, 0, found.values), absent)
    found.values[absent] = None
    return found
