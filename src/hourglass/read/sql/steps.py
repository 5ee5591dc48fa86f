"""The steps of a query that choose rows: what counts for a person, what is complete or public."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from ...core.keys import KeyColumn
from ...core.totals import HALF
from ..source import Field
from .cells import (
    Value,
    as_double,
    as_integer,
    as_text,
    halves,
    identifier,
    is_listed,
    key_column,
    literal,
    whole,
)

__all__ = [
    "ROW", "are_listed", "checked_names", "complete_rows", "complete_test", "group_order",
    "hash_of", "is_between", "kept_rows", "plain_input", "rounded_mean",
]  # fmt: skip


#: The cell of a row if only rows are counted.
ROW: Final = "CAST(1 AS BIGINT)"

#: Public keys of several columns are listed in the query if there are at most this many, and if the
#: values of a column occur with at most MOST_COMBINED different sets of values of the next: some
#: engines limit the depth of an expression.
MOST_KEYS: Final = 10_000
MOST_COMBINED: Final = 100


#: A prime: products of two remainders fit into 64 bits.
PRIME: Final = 2**31 - 1
FACTOR: Final = 48271
TERM: Final = 1234567
#: Above the codes of all hexadecimal digits.
_BASE: Final = 103


# --- inputs of filters and expressions --------------------------------------------------------


def plain_input(field: Field) -> str:
    """The input of an expression from a column of numbers or booleans, in DuckDB's dialect."""
    if field.kind == "boolean":
        return identifier(field.name)
    whole = field.kind == "integer" and field.wide is None
    return as_integer(field) if whole else as_double(field)


# --- what counts --------------------------------------------------------------------------------


def kept_rows(
    rows: int,
    person: Field,
    cells: Sequence[str] = ("t",),
    keys: Sequence[str] = (),
    groups: int = 1,
    group_order: str = "",
) -> list[tuple[str, str]]:
    """The steps that keep up to ``rows`` rows of a person in each of up to ``groups`` groups.

    They read ``quantised``: person, keys and cells. Of a person's n rows in a group, in the order
    of their cells, k evenly spaced ones are kept: row r = 0, 1, ... if (s + r * k) % n < k. That
    holds for exactly min(k, n) rows. The start s is a hash of the person, so every row has the same
    chance. Groups are kept in the order of a hash: see :func:`group_order`.
    """
    t, present = ", ".join(cells), " AND ".join(f"{t} IS NOT NULL" for t in cells)
    listed, by_keys = "".join(f"{k}, " for k in keys), "".join(f", {k}" for k in keys)
    seed, start = _start(person)
    ordered = ", ".join(f"{t} ASC" for t in cells)  # a setting of DuckDB could say DESC
    own = f"PARTITION BY person{by_keys}"
    ranked = (
        f"SELECT {listed}{t}, {seed} AS s, ROW_NUMBER() OVER ({own} ORDER BY {ordered}) AS r, "
        f"COUNT(*) OVER ({own}) AS n"
    )
    test = f"({start} + (CAST(r AS BIGINT) - 1) * {whole(rows)}) % n < {rows}"
    if keys:
        ranked += f", DENSE_RANK() OVER ({group_order}) AS g"
        test += f" AND g <= {groups}"
    chosen = f"SELECT {listed}{t} FROM ranked WHERE {test}"
    return [("ranked", f"{ranked} FROM quantised WHERE {present}"), ("chosen", chosen)]


def _start(person: Field) -> tuple[str, str]:
    """What a person's start is computed from, and the start, an integer that is not negative.

    Whole numbers are permuted modulo a prime p: x -> (48271 x + 1234567)^5, where the power is what
    scatters ids at regular distances, such as 10, 20, 30; 5 has no common factor with p - 1. Of
    text, seven digits of MD5 are used; every engine knows the codes of characters, though not how
    to read hexadecimal numbers.
    """
    if person.kind == "integer":
        seed = f"(ABS(CAST(person % {PRIME} AS BIGINT)) * {FACTOR} + {TERM}) % {PRIME}"
        return seed, f"(s * s % {PRIME}) * (s * s % {PRIME}) % {PRIME} * s % {PRIME}"
    digits = whole(0)
    for i in range(1, 8):
        digits = f"({digits} * {_BASE} + ASCII(SUBSTR(s, {i}, 1)))"
    return hash_of(as_text("person")), f"{digits} % {PRIME}"


def is_between(field: Field, public: KeyColumn, nulls: bool) -> str:
    """A test for the range of public keys that are integers and not listed; empty for others.

    It is cut to what the column can hold, for the reason given in :func:`is_listed`.
    """
    if field.kind != "integer" or not public.whole:
        return ""
    column, values = key_column(field), public.values
    values = values if public.absent is None else values[~public.absent]
    low, high = max(field.reach[0], int(values.min())), min(field.reach[1], int(values.max()))
    test = f"{column} BETWEEN {literal(low, field.wide)} AND {literal(high, field.wide)}"
    test = test if low <= high else "FALSE"
    return f"({test} OR {column} IS NULL)" if nulls else test


def are_listed(by: Sequence[Field], keys: Collection[tuple[Any, ...]]) -> list[str]:
    """Tests for public keys of several columns; none if they are too many or too irregular to list.

    Values of the first column that occur with the same values of the others share a test, so all
    combinations of some values make one test for each column.
    """
    if len(keys) > MOST_KEYS:
        return []
    first, *rest = by
    if not rest:
        values = [value for (value,) in keys]
        return [is_listed(first, values, None in values)]
    others: dict[Any, list[tuple[Any, ...]]] = {}
    for value, *more in keys:
        others.setdefault(value, []).append(tuple(more))
    alike: dict[frozenset[Any], list[Any]] = {}
    for value, found in others.items():
        alike.setdefault(frozenset(found), []).append(value)
    if len(alike) > MOST_COMBINED:
        return []
    terms = []
    for values in alike.values():
        if not (tests := are_listed(rest, others[values[0]])):
            return []
        terms.append([is_listed(first, values, None in values), *tests])
    joined = (f"({' AND '.join(tests)})" for tests in terms)
    return terms[0] if len(terms) == 1 else [f"({' OR '.join(joined)})"]


def complete_rows(
    cells: Sequence[str],
    needed: Sequence[str],
    keys: Sequence[str],
    sides: Sequence[str],
    sums: str,
) -> list[tuple[str, str]]:
    """A row that lacks a needed cell gets none at all: NULL propagates through arithmetic.

    A test for NULL would work as well, but engines move it to where the cells are computed, and
    compute them twice; except PostgreSQL, where the step before is not merged with this one.
    """
    found, where = [f"{t} | ({' & '.join([*needed, '0'])}) AS {t}" for t in cells], ""
    if sums == "numeric":
        found, where = [*cells], f" WHERE {' AND '.join(f'{t} IS NOT NULL' for t in needed)}"
    return [("complete", f"SELECT {', '.join([*keys, *found, *sides])} FROM quantised{where}")]


def complete_test(needed: Mapping[str, Value]) -> str:
    """One test of all values of a row; empty if it would be slower than testing the cells."""
    tests = [value.there for value in needed.values()]
    return " AND ".join(test for test in tests if test) if all(tests) else ""


def checked_names(fields: Mapping[str, Field | None]) -> list[str]:
    """Tests of names on DuckDB: once per group of a person instead of in every row."""
    texts = (name for name, field in fields.items() if field and field.kind == "text")
    return [f"({name} IS NULL OR TRY(DECODE(ENCODE({name}))) IS NOT NULL)" for name in texts]


def hash_of(*parts: str) -> str:
    """A hash, equal on every engine, of text that is equal on every engine."""
    joined = " || '|' || ".join(parts)
    return f"MD5('hourglass|' || {joined})"


def group_order(by: Sequence[Field], keys: Sequence[str]) -> str:
    """The order of a person's groups: by a hash of the person and the group.

    Groups such as NULL and the empty text have the same hash. Settings of a connection could change
    their order, so it is written out.
    """
    parts = []
    for field, key in zip(by, keys, strict=True):
        if field.kind == "boolean":
            parts.append(f"CASE WHEN {key} THEN '1' WHEN NOT {key} THEN '0' ELSE '' END")
        else:
            parts.append(f"COALESCE({as_text(key)}, '')")
    ordered = "".join(f", {key} ASC NULLS LAST" for key in keys)
    return f"PARTITION BY person ORDER BY {hash_of(as_text('person'), *parts)} ASC{ordered}"


def rounded_mean(t: str, sums: str) -> str:
    """floor(SUM(t) / n + 1/2), in integers."""
    whole = f"(2 * SUM({t}) + COUNT({t})) // (2 * COUNT({t}))"
    if sums == "numeric":
        return f"CAST({whole} AS BIGINT)"
    if sums == "huge":  # 64 bits suffice except for very many rows, and are faster
        return (
            f"CASE WHEN COUNT({t}) < {2**29} "
            f"THEN (2 * CAST(SUM({t}) AS BIGINT) + COUNT({t})) // (2 * COUNT({t})) "
            f"ELSE CAST({whole} AS BIGINT) END"
        )
    # With SUM(t) = HALF * h + l: divide h first, then the remainder together with l.
    (h, low), n = halves(t, "halves"), f"COUNT({t})"
    rest = f"(2 * {HALF} * ({h} % {n}) + 2 * {low} + {n}) // (2 * {n})"
    return f"{HALF} * ({h} // {n}) + {rest}"
