"""The one query: quantise, take each person's part, aggregate.

Written in DuckDB's dialect as flat common table expressions over a table named ``source``;
other engines get it through :mod:`.dialects`. Everything in it is an exact integer from the
first step on, so every engine returns the same totals, bit for bit.

    quantised   the keys, the person and the cell t of every row (the rule of hourglass.core.grid)
    persons     each person once: the nearest cell to the mean of their cells
    ranked      or: rows and groups of a person in the order of a hash of their own
    chosen      ... and the first of them
    (last)      COUNT(t), and each sum that the statistic asks for as 65536 * hi + lo, by group

On DuckDB 2t - G takes the place of t where only sums are made of it, see :func:`.cells.clamped`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...core.grid import Grid
from ...core.totals import CELLS, MOST, Groups, Sum
from ...core.unit import Unit
from ...errors import GridError
from ..kernel import total_of_array, total_of_chunks
from ..schema import Field
from .cells import (
    as_double,
    as_integer,
    as_text,
    cell,
    clamped,
    literal,
    scaled,
    widened,
)
from .steps import halves, hash_of, kept_rows, key_column, rounded_mean, with_steps

if TYPE_CHECKING:
    from ..column import Column

__all__ = ["Query", "Question"]


class Question(Protocol):
    """What an engine can be asked: by group a number of records n, and sums 65536 * hi + lo.

    The columns of the answer are the keys, n, and a pair hi, lo for each sum.
    """

    @property
    def value(self) -> Field:
        """The column of numbers."""

    @property
    def by(self) -> tuple[Field, ...]:
        """What the answer is grouped by."""

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in the answer."""

    @property
    def balance(self) -> int:
        """G where "huge" sums are of 2t - G for each record, else 0."""

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The sums in the answer."""

    def text(self, sums: str = "huge") -> str:
        """The question over a table named ``source``, in DuckDB's dialect."""

    def of_column(self, column: Column) -> Groups:
        """The same of a column in memory."""


@dataclass(frozen=True)
class Query:
    """A question to an engine: public through and through.

    ``allowed`` holds, for each column of ``by``, the values of the public keys (None where
    there are too many to list, or the keys are secret); ``nulls`` whether NULL is among them.
    """

    value: Field
    grid: Grid
    missing: int | None = None
    by: tuple[Field, ...] = ()
    allowed: tuple[tuple[Any, ...] | None, ...] = ()
    nulls: tuple[bool, ...] = ()
    unit: Unit = Unit()  # noqa: RUF009
    person: Field | None = None
    sums: tuple[Sum, ...] = CELLS

    def __post_init__(self) -> None:
        power = max(each.power for each in self.sums)
        if self.grid.cells**power > MOST:
            raise GridError(
                f"grid={self.grid.cells} is too fine for a sum of cells to the power of {power}; "
                f"give at most {int(MOST ** (1 / power))}"
            )

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""
        wanted = [self.value, *self.by] + ([self.person] if self.person else [])
        return list({field.name: field for field in reversed(wanted)}.values())[::-1]

    @property
    def number(self) -> str | None:
        """The value of a row as a number, if the total of these over all rows is all that is asked.

        A double or an integer of up to 64 bits, NULL where it is missing: what the kernel adds up.
        """
        if self.by or self.person:
            return None
        if not self.grid.own:
            return as_double(self.value)
        lower, upper = self.grid.bounds
        value = widened(self.value, int(lower), int(upper))
        return None if value.wide else as_integer(value)

    @property
    def keys(self) -> list[str]:
        """The names of the key columns inside the query."""
        return [f"k{i}" for i in range(1, len(self.by) + 1)]

    @property
    def balance(self) -> int:
        """G where "huge" sums are of 2t - G for each record, else 0: a person's mean is of t."""
        plain = self.sums == CELLS and not self.grid.own and not self.person
        return self.grid.cells if plain else 0

    def text(self, sums: str = "huge") -> str:
        """The query; ``sums`` is what SUM of 64-bit integers is on the engine.

        "huge" if a 128-bit integer (DuckDB), "numeric" if a number of any length
        (PostgreSQL), else "halves": it could overflow, and high and low halves are summed.
        """
        steps = [*self._quantised(sums), *self._person_steps(sums)]
        return with_steps(steps, self._aggregate(steps[-1][0], sums))

    def of_column(self, column: Column) -> Groups:
        """The totals of a column in memory, by the kernel."""
        if column.array is not None:
            totals = total_of_array(column.array, self.grid, self.missing, sums=self.sums)
        else:
            totals = total_of_chunks(column.each_chunk(), self.grid, self.missing, self.sums)
        return Groups.of_total(totals)

    # --- quantise ---------------------------------------------------------------------------

    def _quantised(self, sums: str) -> list[tuple[str, str]]:
        columns = [
            f"{key_column(field)} AS {name}" for field, name in zip(self.by, self.keys, strict=True)
        ]
        if self.person:
            columns.append(f"{key_column(self.person)} AS person")
        where = self._where()
        source = f"FROM source{f' WHERE {where}' if where else ''}"
        if sums == "huge" and not self.grid.own:
            first = ", ".join([*columns, f"{scaled(self.value, self.grid)} AS y"])
            inner = [*self.keys, *(["person"] if self.person else [])]
            cells = ", ".join([*inner, f"{self._clamped()} AS t"])
            return [
                ("scaled", f"SELECT {first} {source}"),
                ("quantised", f"SELECT {cells} FROM scaled"),
            ]
        columns.append(f"{_or(cell(self.value, self.grid), self.missing)} AS t")
        return [("quantised", f"SELECT {', '.join(columns)} {source}")]

    def _clamped(self) -> str:
        """The cell t of y; or 2t - G, see ``balance``."""
        missing = self.missing
        if self.balance and missing is not None:
            missing = 2 * missing - self.balance
        return _or(clamped(self.grid, balanced=bool(self.balance)), missing)

    def _where(self) -> str:
        tests = []
        for i, field in enumerate(self.by):
            column, nulls = key_column(field), bool(self.nulls and self.nulls[i])
            allowed = self.allowed[i] if self.allowed else None
            if allowed is None:
                if self.person and not nulls:  # rows alone: dropped by group, see below
                    tests.append(f"{column} IS NOT NULL")
                continue
            listed = ", ".join(literal(value) for value in allowed if value is not None)
            test = f"{column} IN ({listed})" if listed else "FALSE"
            if nulls:
                test = f"({test} OR {column} IS NULL)" if listed else f"{column} IS NULL"
            tests.append(test)
        if self.person:
            tests.append(f"{key_column(self.person)} IS NOT NULL")
        return " AND ".join(tests)

    # --- a person's part --------------------------------------------------------------------

    def _person_steps(self, sums: str) -> list[tuple[str, str]]:
        if self.person is None:
            return []
        keys = "".join(f"{key}, " for key in self.keys)
        by_keys = "".join(f", {key}" for key in self.keys)
        if self.unit.rows is None:
            mean = rounded_mean(sums)
            persons = (
                f"SELECT person, {keys}{mean} AS t FROM quantised "
                f"WHERE t IS NOT NULL GROUP BY person{by_keys}"
            )
            if sums == "huge":
                persons += self._with_names()
            if not self.by:
                return [("persons", persons)]
            ranked = (
                f"SELECT {keys}t, ROW_NUMBER() OVER "
                f"(PARTITION BY person ORDER BY {self._group_hash()}{by_keys}) AS g FROM persons"
            )
            chosen = f"SELECT {keys}t FROM ranked WHERE g <= {self.unit.groups}"
            return [("persons", persons), ("ranked", ranked), ("chosen", chosen)]
        hashed = self._group_hash() if self.by else ""
        return kept_rows(self.unit.rows, self.keys, self.unit.groups, hashed)

    def _with_names(self) -> str:
        """On DuckDB a person's names are checked once a group, and not in every row."""
        fields = {"person": self.person, **dict(zip(self.keys, self.by, strict=True))}
        texts = (name for name, field in fields.items() if field and field.kind == "text")
        tests = [f"({name} IS NULL OR TRY(DECODE(ENCODE({name}))) IS NOT NULL)" for name in texts]
        return f" HAVING {' AND '.join(tests)}" if tests else ""

    def _group_hash(self) -> str:
        parts = []
        for field, key in zip(self.by, self.keys, strict=True):
            if field.kind == "boolean":
                parts.append(f"CASE WHEN {key} THEN '1' WHEN NOT {key} THEN '0' ELSE '' END")
            else:
                parts.append(f"COALESCE({as_text(key)}, '')")
        return hash_of(as_text("person"), *parts)

    # --- aggregate --------------------------------------------------------------------------

    def _aggregate(self, table: str, sums: str) -> str:
        keys = "".join(f"{key}, " for key in self.keys)
        columns = ""
        for i, each in enumerate(self.sums, 1):
            hi, lo = halves(" * ".join(["t"] * each.power), sums)
            columns += f", CAST({hi} AS BIGINT) AS hi{i}, CAST({lo} AS BIGINT) AS lo{i}"
        select = f"SELECT {keys}COUNT(t) AS n{columns} FROM {table}"
        return select + (f" GROUP BY {', '.join(self.keys)}{self._having()}" if self.by else "")

    def _having(self) -> str:
        """Without a name there is no group, unless NULL is declared as one."""
        if self.person:
            return ""
        unnamed = [
            f"{key} IS NOT NULL"
            for i, key in enumerate(self.keys)
            if not (self.nulls and self.nulls[i]) and not (self.allowed and self.allowed[i])
        ]
        return f" HAVING {' AND '.join(unnamed)}" if unnamed else ""


def _or(cell: str, missing: int | None) -> str:
    return cell if missing is None else f"COALESCE({cell}, {missing})"
