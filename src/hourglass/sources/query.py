"""The one query: quantise, take each person's part, aggregate.

Written in DuckDB's dialect as flat common table expressions over a table named ``source``;
other engines get it through :mod:`.dialects`. Everything in it is an exact integer from the
first step on, so every engine returns the same totals, bit for bit.

    quantised   the keys, the person and the cell t of every row (the rule of hourglass.grid)
    persons     each person once: the nearest cell to the mean of their cells
    ranked      or: rows and groups of a person in the order of a hash of their own
    chosen      ... and the first of them
    (last)      COUNT(t), and SUM(t) as 65536 * hi + lo, by group
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..grid import Grid
from ..units import Unit
from .schema import Field

__all__ = ["HALF", "Query", "identifier", "literal"]

#: Sums are carried as HALF * hi + lo: neither half can pass 2^63 below 1e14 rows.
HALF: Final = 65536

#: What counts as a number in a column of text: a decimal, or an infinity.
_REAL: Final = "^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
_INFINITY: Final = "^ *[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])? *$"
_INTEGER: Final = "^ *[+-]?[0-9]+ *$"


def identifier(name: str) -> str:
    """A name in double quotes: any text is a name, and never anything else."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A public value as SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"CAST('{value}' AS BIGINT)" if abs(value) < 2**63 else f"CAST('{value}' AS HUGEINT)"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"CAST('{value.isoformat()}' AS DATE)"


def double(value: float) -> str:
    """A double, exactly: text that every engine reads back to the same bits."""
    return f"CAST('{value!r}' AS DOUBLE)" if value != float("inf") else _INF


_INF: Final = "CAST('Infinity' AS DOUBLE)"


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

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""
        wanted = [self.value, *self.by] + ([self.person] if self.person else [])
        return list({field.name: field for field in reversed(wanted)}.values())[::-1]

    @property
    def keys(self) -> list[str]:
        """The names of the key columns inside the query."""
        return [f"k{i}" for i in range(1, len(self.by) + 1)]

    def text(self, *, wide_sum: bool = True) -> str:
        """The query; ``wide_sum`` where the engine's SUM of 64-bit integers cannot overflow."""
        steps = [("quantised", self._quantised()), *self._person_steps(wide_sum)]
        clauses = ",\n".join(f"{name} AS (\n  {body}\n)" for name, body in steps)
        return f"WITH {clauses}\n{self._aggregate(steps[-1][0], wide_sum)}"

    # --- quantise ---------------------------------------------------------------------------

    def _quantised(self) -> str:
        columns = [
            f"{_key(field)} AS {name}" for field, name in zip(self.by, self.keys, strict=True)
        ]
        if self.person:
            columns.append(f"{_key(self.person)} AS person")
        cell = _cell(self.value, self.grid)
        if self.missing is not None:
            cell = f"COALESCE({cell}, {self.missing})"
        columns.append(f"{cell} AS t")
        where = self._where()
        return f"SELECT {', '.join(columns)} FROM source" + (f" WHERE {where}" if where else "")

    def _where(self) -> str:
        tests = []
        for i, field in enumerate(self.by):
            column, nulls = _key(field), bool(self.nulls and self.nulls[i])
            allowed = self.allowed[i] if self.allowed else None
            if allowed is None:
                tests += [] if nulls else [f"{column} IS NOT NULL"]
                continue
            listed = ", ".join(literal(value) for value in allowed if value is not None)
            test = f"{column} IN ({listed})" if listed else ""
            if nulls:
                test = f"({test} OR {column} IS NULL)" if test else f"{column} IS NULL"
            tests.append(test)
        if self.person:
            tests.append(f"{_key(self.person)} IS NOT NULL")
        return " AND ".join(tests)

    # --- a person's part --------------------------------------------------------------------

    def _person_steps(self, wide_sum: bool) -> list[tuple[str, str]]:
        if self.person is None:
            return []
        keys = "".join(f"{key}, " for key in self.keys)
        by_keys = "".join(f", {key}" for key in self.keys)
        if self.unit.rows is None:
            mean = _rounded_mean(wide_sum)
            persons = (
                f"SELECT person, {keys}{mean} AS t FROM quantised "
                f"WHERE t IS NOT NULL GROUP BY person{by_keys}"
            )
            if not self.by:
                return [("persons", persons)]
            ranked = (
                f"SELECT {keys}t, ROW_NUMBER() OVER "
                f"(PARTITION BY person ORDER BY {self._group_hash()}{by_keys}) AS g FROM persons"
            )
            chosen = f"SELECT {keys}t FROM ranked WHERE g <= {self.unit.groups}"
            return [("persons", persons), ("ranked", ranked), ("chosen", chosen)]
        # Rows of a person that fall in one cell are alike: their copies are numbered.
        numbered = (
            f"SELECT person, {keys}t, ROW_NUMBER() OVER "
            f"(PARTITION BY person{by_keys}, t ORDER BY t) AS copy "
            "FROM quantised WHERE t IS NOT NULL"
        )
        row_hash = _hash(_text("person"), _text("t"), _text("copy"))
        ranked = (
            f"SELECT {keys}t, ROW_NUMBER() OVER "
            f"(PARTITION BY person{by_keys} ORDER BY {row_hash}, t, copy) AS r"
        )
        test = f"r <= {self.unit.rows}"
        if self.by:
            ranked += (
                f", DENSE_RANK() OVER (PARTITION BY person "
                f"ORDER BY {self._group_hash()}{by_keys}) AS g"
            )
            test += f" AND g <= {self.unit.groups}"
        chosen = f"SELECT {keys}t FROM ranked WHERE {test}"
        return [("numbered", numbered), ("ranked", f"{ranked} FROM numbered"), ("chosen", chosen)]

    def _group_hash(self) -> str:
        parts = []
        for field, key in zip(self.by, self.keys, strict=True):
            if field.kind == "boolean":
                parts.append(f"CASE WHEN {key} THEN '1' WHEN NOT {key} THEN '0' ELSE '' END")
            else:
                parts.append(f"COALESCE({_text(key)}, '')")
        return _hash(_text("person"), *parts)

    # --- aggregate --------------------------------------------------------------------------

    def _aggregate(self, table: str, wide_sum: bool) -> str:
        keys = "".join(f"{key}, " for key in self.keys)
        if wide_sum:
            hi = f"CAST(SUM(t) // {HALF} AS BIGINT)"
            lo = f"CAST(SUM(t) % {HALF} AS BIGINT)"
        else:
            hi, lo = f"SUM(t // {HALF})", f"SUM(t % {HALF})"
        select = f"SELECT {keys}COUNT(t) AS n, {hi} AS hi, {lo} AS lo FROM {table}"
        return select + (f" GROUP BY {', '.join(self.keys)}" if self.by else "")


def _key(field: Field) -> str:
    column = identifier(field.name)
    return column if field.exact else f"CAST({column} AS VARCHAR)"


def _text(name: str) -> str:
    return f"CAST({name} AS VARCHAR)"


def _hash(*parts: str) -> str:
    """The same hexadecimal digits on every engine, of text that is the same on every engine."""
    joined = " || '|' || ".join(parts)
    return f"MD5('hourglass|' || {joined})"


def _rounded_mean(wide_sum: bool) -> str:
    """floor(SUM(t) / n + 1/2), in integers."""
    if wide_sum:
        return "CAST((2 * SUM(t) + COUNT(t)) // (2 * COUNT(t)) AS BIGINT)"
    # With SUM(t) = HALF * h + l: divide h first, then what is left with l.
    h, low, n = f"SUM(t // {HALF})", f"SUM(t % {HALF})", "COUNT(t)"
    rest = f"(2 * {HALF} * ({h} % {n}) + 2 * {low} + {n}) // (2 * {n})"
    return f"{HALF} * ({h} // {n}) + {rest}"


def _cell(field: Field, grid: Grid) -> str:
    """The cell of a value as a 64-bit integer, NULL where it is missing."""
    column = identifier(field.name)
    if field.kind == "text as integer":
        # An integer past 64 bits is as good as the last one of its sign.
        last = f"CASE WHEN {column} LIKE '%-%' THEN {_whole(-(2**63))} ELSE {_whole(2**63 - 1)} END"
        parsed = (
            f"CASE WHEN REGEXP_MATCHES({column}, '{_INTEGER}') "
            f"THEN COALESCE(TRY_CAST({column} AS BIGINT), {last}) END"
        )
        return _integer_cell(parsed, field, grid) if grid.own else _real_cell(_cast(parsed), grid)
    if field.kind == "text as real":
        parsed = (
            f"CASE WHEN REGEXP_MATCHES({column}, '{_REAL}') THEN TRY_CAST({column} AS DOUBLE) "
            f"WHEN REGEXP_MATCHES({column}, '{_INFINITY}') THEN "
            f"CASE WHEN {column} LIKE '%-%' THEN {double(float('-inf'))} ELSE {_INF} END END"
        )
        return _real_cell(parsed, grid)
    if field.kind == "boolean":
        column = f"CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0 END"
    elif field.kind == "integer" and not field.wide:
        column = f"CAST({column} AS BIGINT)"
    if grid.own:
        return _integer_cell(column, field, grid)
    if field.kind == "decimal" and field.digits > 15 or field.wide:
        column = _text(column)  # a decimal's text is rounded to a double once, everywhere
    return _real_cell(column if field.kind == "real" and field.exact else _cast(column), grid)


def _cast(column: str) -> str:
    return f"CAST({column} AS DOUBLE)"


def _real_cell(x: str, grid: Grid) -> str:
    lower, shrunk, small = grid.lower, x, ""
    if grid.shrink != 1.0:
        lower, shrunk = lower * grid.shrink, f"{x} * {double(grid.shrink)}"
        # Between -1 and 1 the value vanishes beside such bounds; halved, it could underflow,
        # which is an error on PostgreSQL.
        assert grid.cell(-1.0) == grid.cell(1.0)
        small = (
            f"WHEN {x} >= {double(-1.0)} AND {x} <= {double(1.0)} THEN {grid.cell(0.0)} "
        )
    inner = f"({shrunk} - {double(lower)}) * {double(grid.scale)} + {double(0.5)}"
    return (
        f"CASE WHEN {x} <= {double(grid.first_above)} THEN 0 {small}"
        f"WHEN {x} <= {double(grid.last_below)} THEN CAST(FLOOR({inner}) AS BIGINT) "
        f"WHEN {x} <= {_INF} THEN {grid.cells} END"
    )


def _integer_cell(x: str, field: Field, grid: Grid) -> str:
    """clamp(x) - lower, with the bounds cut to what the type reaches."""
    lower, upper = int(grid.bounds.lower), int(grid.bounds.upper)
    least, most = field.reach
    low, high = (min(max(end, least), most) for end in (lower, upper))
    offset = min(max(low, lower), upper) - lower
    first, last = _whole(low, field.wide), _whole(high, field.wide)
    difference = f"CAST({x} - {first} AS BIGINT)" if field.wide else f"{x} - {first}"
    if offset:
        difference = f"{difference} + {offset}"
    return (
        f"CASE WHEN {x} <= {first} THEN {offset} WHEN {x} < {last} THEN {difference} "
        f"WHEN {x} >= {last} THEN {offset + high - low} END"
    )


def _whole(value: int, wide: str | None = None) -> str:
    return f"CAST('{value}' AS {wide or 'BIGINT'})"
