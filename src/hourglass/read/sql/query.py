"""The query for totals: quantise, select what counts for each person, aggregate.

Written in DuckDB's dialect as flat common table expressions over a table named ``source``;
:mod:`.dialects` translates it for other engines. All values are exact integers from the first step
on, so every engine returns the same totals, bit for bit.

    asked       the rows that a filter keeps, and what expressions compute
    quantised   the keys, the person and the cell t of every row (the rule of hourglass.core.limits)
    complete    several columns: no cells in rows that lack one, if those could not be left out yet
    persons     each person once: the nearest cell to the mean of their cells
    ranked      or: the person's rows in order, and their groups in the order of a hash
    chosen      ... and those of them that count
    (last)      COUNT(t), and each sum that the statistic needs as 65536 * hi + lo, by group

The columns that filters and expressions read have names of their own, and each engine provides them
in a common form: numbers as doubles or 64-bit integers, text as valid UTF-8 of up to 4,096 bytes
that compares as bytes, dates as integers.

With several columns the cells are t1, t2, ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from ...core.keys import Places
from ...core.limits import Unit
from ...core.totals import Groups, Sum, Totals
from ..kernel import Chunk, total_of_array, total_of_chunks
from ..several import Target, totals_of_columns
from ..source import Field
from .cells import (
    Value,
    clamped_steps,
    halves,
    identifier,
    is_listed,
    key_column,
    scaled,
    with_steps,
)
from .expression.arithmetic import PAIR
from .expression.nodes import Node
from .expression.words import DUCKDB, Words
from .expression.writing import Writer
from .question import Change, Question
from .sides import person_side, side_count, side_of
from .steps import (
    ROW,
    are_listed,
    checked_names,
    complete_rows,
    complete_test,
    group_order,
    is_between,
    kept_rows,
    rounded_mean,
)

if TYPE_CHECKING:
    from ..column import Column


__all__ = [
    "MOST_LISTED", "Asked", "Input", "Query", "Question", "Value", "inputs_of", "is_ours",
    "value_alias",
]  # fmt: skip

#: The prefix of names that hourglass adds to a query.
_OURS: Final = "hourglass \N{SECTION SIGN}"


@dataclass(frozen=True)
class Input:
    """A column that an expression reads as ``name``, with its field and its alias."""

    name: str
    alias: str
    field: Field


@dataclass(frozen=True)
class Asked:
    """The filter of a question, and the columns that it and the expressions read."""

    where: Node | None = None
    inputs: tuple[Input, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.where is not None or self.inputs)

    @cached_property
    def _columns(self) -> dict[str, tuple[Field, str]]:
        return {each.name: (each.field, identifier(each.alias)) for each in self.inputs}

    def with_fields(self, changed: Change) -> Asked:
        """The same with other fields."""
        inputs = tuple(replace(each, field=changed(each.field)) for each in self.inputs)
        return replace(self, inputs=inputs)

    def step(
        self, kept: Iterable[Field], computed: Mapping[str, Node], words: Words
    ) -> tuple[str, str]:
        """The SELECT of this step: the columns to keep, and the computed ones by name."""
        writer = Writer(self._columns, words)
        columns = [identifier(field.name) for field in kept]
        columns += [f"{writer.write(node)} AS {identifier(n)}" for n, node in computed.items()]
        where = "" if self.where is None else f" WHERE {writer.condition(self.where)}"
        return "asked", f"SELECT {', '.join(columns) or '1 AS hourglass_row'} FROM source{where}"


def inputs_of(fields: Mapping[str, Field]) -> tuple[Input, ...]:
    """Columns by name, each under an alias."""
    places = enumerate(fields.items(), 1)
    return tuple(Input(name, f"{_OURS} input {place}", field) for place, (name, field) in places)


def is_ours(name: str) -> bool:
    """Whether a column's name could clash with the names that hourglass adds to a query."""
    return name.casefold().startswith(_OURS) or name.casefold() == PAIR


def value_alias(place: int) -> str:
    """The name of a computed column in the query."""
    return f"{_OURS} value {place + 1}"


#: On DuckDB, longer lists of public keys are not in the query; groups are chosen in its result.
MOST_LISTED: Final = 500


@dataclass(frozen=True)
class Query:
    """A query for an engine, made of public values only.

    ``values`` are the columns that are added up. They share the count, so a row counts only if
    each of them has a value or a cell for missing values. ``allowed`` holds, for each column of
    ``by``, the values of the public keys (None if there are too many to list, or the keys are
    secret), and ``nulls`` whether NULL is among them; ``places`` has the positions of the public
    keys. By default ``sums`` has one sum per column. Without ``values`` every row counts.
    """

    values: tuple[Value, ...]
    by: tuple[Field, ...] = ()
    allowed: tuple[tuple[Any, ...] | None, ...] = ()
    nulls: tuple[bool, ...] = ()
    unit: Unit = Unit()  # noqa: RUF009
    person: Field | None = None
    sums: tuple[Sum, ...] = ()
    asked: Asked = Asked()
    places: Places | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.sums:
            columns = range(len(self.values))
            object.__setattr__(self, "sums", tuple(Sum(column=column) for column in columns))
        for each in self.sums:
            if not each.side:
                self.values[each.column].check_power(each.power)

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""
        wanted = [v.field for v in self.values if v.expression is None] + [*self.by]
        wanted += [self.person] if self.person else []
        return list({field.name: field for field in reversed(wanted)}.values())[::-1]

    @property
    def names(self) -> set[str]:
        """The columns of text that name groups or persons."""
        found = (*self.by, self.person) if self.person else self.by
        return {field.name for field in found if field.kind == "text"}

    @property
    def has_null_key(self) -> bool:
        """Whether NULL is among the public keys."""
        return any(self.nulls)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the filter and the expressions, under names of their own."""
        return self.asked.inputs

    @property
    def number_fields(self) -> dict[str, Field]:
        """The columns of numbers that are read, by their names."""
        return {v.field.name: v.field for v in self.values if v.expression is None}

    @property
    def plain_fields(self) -> tuple[Field, ...] | None:
        """The key, if any, and the columns of numbers; None if rows are chosen or computed, too."""
        numbers = self.number_fields
        if self.asked or self.person or len(numbers) != len(self.values):
            return None
        return (*self.by, *numbers.values())

    def with_fields(self, changed: Change, of_numbers: Change | None = None) -> Query:
        """The same query with other fields: renamed, or of another kind."""
        numbers = of_numbers or changed
        values = tuple(
            value if value.expression is not None else replace(value, field=numbers(value.field))
            for value in self.values
        )
        return replace(
            self,
            values=values,
            by=tuple(map(changed, self.by)),
            person=changed(self.person) if self.person else None,
            asked=self.asked.with_fields(changed),
        )

    def first_steps(self, words: Words) -> list[tuple[str, str]]:
        """The step that filters and computes, if there is one."""
        computed = {v.field.name: v.expression for v in self.values if v.expression is not None}
        return [self.asked.step(self.fields, computed, words)] if self.asked else []

    def _from(self, sums: str) -> str:
        where = self._where(sums)
        return f"FROM {'asked' if self.asked else 'source'}{f' WHERE {where}' if where else ''}"

    def handed_over(self) -> str | None:
        """A DuckDB query that returns the key, if any, and the values of each row as numbers.

        The kernel adds them up. None if that is not possible or would be slower.
        """
        if self.numbers is None:
            return None
        columns = ", ".join([*map(key_column, self.by), *self.numbers])
        return with_steps(self.first_steps(DUCKDB), f"SELECT {columns} {self._from('huge')}")

    @property
    def numbers(self) -> tuple[str, ...] | None:
        """The values of a row as numbers, for the kernel to add up.

        None if that takes more than a table of public keys, or a value is not a plain number.
        """
        if self.person or not (self.in_table if self.by else self.values):
            return None
        found = tuple(number for value in self.values if (number := value.number) is not None)
        return found if len(found) == len(self.values) else None

    @property
    def in_table(self) -> bool:
        """Whether the kernel can look up each row's group in a table.

        That is faster than GROUP BY for more keys than a query lists. It takes one key, an integer,
        and one sum of cells per column.
        """
        if self.places is None or not self.places.direct or self.listed(0, "huge") is not None:
            return False
        (key,) = self.by
        plain = self.sums == tuple(Sum(column=column) for column in range(len(self.values)))
        return plain and key.kind == "integer" and not key.wide

    @property
    def keys(self) -> list[str]:
        """The names of the key columns inside the query."""
        return [f"k{i}" for i in range(1, len(self.by) + 1)]

    @property
    def outside(self) -> tuple[int, ...]:
        """The columns whose values outside the bounds are counted."""
        return tuple(dict.fromkeys(each.column for each in self.sums if each.side))

    @property
    def _sides(self) -> list[str]:
        """The names of their sides inside the query."""
        return [self._cells[column].replace("t", "o") for column in self.outside]

    @property
    def _cells(self) -> list[str]:
        """The names of the cells inside the query."""
        return ["t"] if len(self.values) < 2 else [f"t{i + 1}" for i in range(len(self.values))]

    def text(self, sums: str = "huge", words: Words = DUCKDB) -> str:
        """The query; ``sums`` is the type of SUM of 64-bit integers on the engine.

        "huge" for a 128-bit integer (DuckDB), "numeric" for a number of any length (PostgreSQL),
        otherwise "halves": SUM could overflow, so high and low halves are summed separately;
        "doubles" (Spark) does so in doubles where it can: see :func:`.cells.halves`.
        """
        return with_steps(*self.steps(sums, words))

    def steps(self, sums: str = "huge", words: Words = DUCKDB) -> tuple[list[tuple[str, str]], str]:
        """The common table expressions of the query, and its final SELECT."""
        rest = self._person_steps(sums) if self.person else self._complete_steps(sums)
        steps = [*self.first_steps(words), *self._quantised(sums), *rest]
        return steps, self._aggregate(steps[-1][0], sums)

    def of_columns(self, columns: Mapping[str, Column]) -> Groups:
        """The totals of columns in memory, by the kernel."""
        if len(self.values) > 1:
            each = [columns[value.field.name] for value in self.values]
            return self.of_sums(*totals_of_columns(each, self.targets))
        (value,) = self.values
        column, grid, missing = columns[value.field.name], value.grid, value.missing
        if column.array is not None:
            return Groups.of_total(total_of_array(column.array, grid, missing, sums=self.sums))
        return self.of_chunks(column.each_chunk())

    def of_chunks(self, chunks: Iterable[Chunk]) -> Groups:
        """The totals of a single column, in chunks of at most CHUNK rows."""
        (value,) = self.values
        return Groups.of_total(total_of_chunks(chunks, value.grid, value.missing, self.sums))

    @property
    def targets(self) -> list[Target]:
        """How the kernel adds up each column."""
        asked = [[each for each in self.sums if each.column == i] for i in range(len(self.values))]
        return [
            Target(value.grid, value.missing, tuple(sums))
            for value, sums in zip(self.values, asked, strict=True)
        ]

    def of_sums(self, sums: list[list[int]], count: int) -> Groups:
        """The totals of one group, from the kernel's sums for the targets."""
        found = [iter(of_column) for of_column in sums]
        cells, *more = (next(found[each.column]) for each in self.sums)
        return Groups.of_total(Totals(cells, count, tuple(more)))

    # --- quantise ---------------------------------------------------------------------------

    def _quantised(self, sums: str) -> list[tuple[str, str]]:
        pairs = zip(self.by, self.keys, strict=True)
        columns = [f"{key_column(field)} AS {name}" for field, name in pairs]
        if self.person:
            columns.append(f"{key_column(self.person)} AS person")
        columns += [
            f"{side_of(self.values[i].field, self.values[i].grid, sums)} AS {o}"
            for i, o in zip(self.outside, self._sides, strict=True)
        ]
        source = self._from(sums)
        if sums != "huge" or all(value.grid.own for value in self.values):
            complete = bool(self._complete(sums))
            cells = [
                value.in_doubles(complete=complete) if self._doubles(i, sums) else value.cell
                for i, value in enumerate(self.values)
            ] or [ROW]
            columns += [f"{cell} AS {t}" for cell, t in zip(cells, self._cells, strict=True)]
            fence = " OFFSET 0" if sums == "numeric" and len(cells) > 1 and not complete else ""
            return [("quantised", f"SELECT {', '.join(columns)} {source}{fence}")]
        carried = [*self.keys, *(["person"] if self.person else []), *self._sides]
        values = dict(zip(self._cells, self.values, strict=True))
        for t, v in values.items():
            y = "" if v.grid.own else f"{scaled(v.field, v.grid)} AS {t.replace('t', 'y')}"
            columns.append(y or f"{v.cell} AS {t}")
        first = ("scaled", f"SELECT {', '.join(columns)} {source}")
        return [first, *clamped_steps(values, carried, whole=self._packed(sums))]

    def _packed(self, sums: str) -> bool:
        """Whether rows that lack a value are left out as DuckDB computes the cells."""
        reals = not any(value.grid.own for value in self._needed.values())
        return sums == "huge" and bool(self._needed) and reals and not self.person

    def _doubles(self, column: int, sums: str) -> bool:
        """Whether the cells of a column stay doubles: only their sum is needed."""
        value, whole = self.values[column], self.person or self._complete_steps(sums)
        if sums != "doubles" or whole or value.grid.own or value.there is None:
            return False
        return all(each.power == 1 for each in self.sums if each.column == column)

    def _complete_steps(self, sums: str) -> list[tuple[str, str]]:
        if not self._needed or self._complete(sums) or self._packed(sums):
            return []
        return complete_rows(self._cells, list(self._needed), self.keys, self._sides, sums)

    @property
    def _needed(self) -> dict[str, Value]:
        """The cells without which a row does not count; one column needs no test."""
        pairs = zip(self._cells, self.values, strict=False)  # a count has a cell and no value
        return {t: v for t, v in pairs if v.missing is None} if len(self.values) > 1 else {}

    def _complete(self, sums: str) -> str:
        """The test for complete rows, if it is made before the cells."""
        if self.person or not self._needed or sums == "huge":
            return ""
        return complete_test(self._needed)

    def listed(self, i: int, sums: str) -> tuple[Any, ...] | None:
        """The public values of a key, if the query lists them: DuckDB is slow to read many."""
        found = self.allowed[i] if self.allowed else None
        long = found is not None and len(found) > MOST_LISTED
        return None if long and sums == "huge" and not self.person else found

    def _where(self, sums: str) -> str:
        """Only rows that can count; without persons, NULL keys are dropped by group, see below."""
        tests = []
        for i, key in enumerate(self.by):
            nulls = self.nulls[i] if self.nulls else False
            if (listed := self.listed(i, sums)) is not None:
                tests.append(is_listed(key, listed, nulls))
            elif self.person and not nulls:
                tests.append(f"{key_column(key)} IS NOT NULL")
            elif self.places and not self.person:
                tests.append(is_between(key, self.places.keys.columns[i], nulls))
        if self.person and len(self.by) > 1 and self.places and None not in self.allowed:
            tests = are_listed(self.by, self.places.keys) or tests
        if self.person:
            tests.append(f"{key_column(self.person)} IS NOT NULL")
        tests.append(self._complete(sums))
        return " AND ".join(filter(None, tests))

    # --- what counts for a person -------------------------------------------------------------

    def _person_steps(self, sums: str) -> list[tuple[str, str]]:
        keys = "".join(f"{key}, " for key in self.keys)
        by_keys = "".join(f", {key}" for key in self.keys)
        if self.unit.rows is None:
            means = ", ".join(f"{rounded_mean(t, sums)} AS {t}" for t in self._cells)
            means = means if self.values else f"{ROW} AS t"
            means += "".join(f", {person_side(o)} AS {o}" for o in self._sides)
            tests, having = [f"{t} IS NOT NULL" for t in self._cells], []
            if sums == "huge":
                names = zip(["person", *self.keys], [self.person, *self.by], strict=True)
                having = checked_names(dict(names))
                if len(self.values) == 1 and not self._sides:  # a test of rows takes DuckDB longer
                    tests, having = [], ["COUNT(t) > 0", *having]
            where = f" WHERE {' AND '.join(tests)}" if tests else ""
            persons = f"SELECT person, {keys}{means} FROM quantised{where} GROUP BY person{by_keys}"
            persons += f" HAVING {' AND '.join(having)}" if having else ""
            if not self.by:
                return [("persons", persons)]
            cells = ", ".join([*self._cells, *self._sides])
            order = group_order(self.by, self.keys)
            ranked = f"SELECT {keys}{cells}, ROW_NUMBER() OVER ({order}) AS g FROM persons"
            chosen = f"SELECT {keys}{cells} FROM ranked WHERE g <= {self.unit.groups}"
            return [("persons", persons), ("ranked", ranked), ("chosen", chosen)]
        order = group_order(self.by, self.keys) if self.by else ""
        carried = [*self._cells, *self._sides]
        assert self.person is not None
        return kept_rows(self.unit.rows, self.person, carried, self.keys, self.unit.groups, order)

    # --- aggregate --------------------------------------------------------------------------

    def _aggregate(self, table: str, sums: str) -> str:
        keys = "".join(f"{key}, " for key in self.keys)
        columns = ""
        for i, each in enumerate(self.sums, 1):
            t = self._cells[each.column]
            term = " * ".join([t] * each.power)
            if each.side:
                term = side_count(t, t.replace("t", "o"), each.side)
            doubles = not each.side and self._doubles(each.column, sums)
            hi, lo = halves(term, "halves" if sums == "doubles" and not doubles else sums)
            columns += f", CAST({hi} AS BIGINT) AS hi{i}, CAST({lo} AS BIGINT) AS lo{i}"
        counted = "*" if self._complete(sums) else self._cells[0]
        select = f"SELECT {keys}COUNT({counted}) AS n{columns} FROM {table}"
        return select + (f" GROUP BY {', '.join(self.keys)}{self._having(sums)}" if self.by else "")

    def _having(self, sums: str) -> str:
        """Leave out the group NULL, unless it is among the public keys."""
        unnamed = [
            f"{key} IS NOT NULL"
            for i, key in enumerate(self.keys)
            if not (self.nulls and self.nulls[i]) and not self.listed(i, sums)
        ]
        return f" HAVING {' AND '.join(unnamed)}" if unnamed and not self.person else ""
