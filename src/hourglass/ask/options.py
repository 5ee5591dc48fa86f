"""Checks of options that several questions share, all made before a row is read.

Filters and expressions are checked against the schema here, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from ..core.exact import MIN_EPSILON, exact_delta, exact_share
from ..core.limits import Bounds, Grid, Unit
from ..core.totals import Sum
from ..errors import BoundsError, DataError, EpsilonError, OptionError, one_of, shown
from ..mechanisms.base import ALGORITHMS, find, names_with
from ..mechanisms.threshold import threshold
from ..noise.box import MOST_COLUMNS
from ..read.open import PublicKeys, columns_in_memory, is_lone_column, is_table, place_of
from ..read.source import COMPUTED, Field, Schema, Source, value_field
from ..read.sql.expression.checking import OPEN, kind_of, settled, type_of
from ..read.sql.expression.given import Expression
from ..read.sql.expression.lexing import refused
from ..read.sql.expression.nodes import Node, columns_of, text_of
from ..read.sql.expression.parsing import parsed
from ..read.sql.query import Asked, Query, Value, inputs_of, is_ours, value_alias
from ..release.found import FoundBounds

__all__ = [
    "Conditions", "Rows", "asked_columns", "asked_statistic", "bounds_of_each", "by_name",
    "check_algorithm", "check_parse", "check_parsed", "check_tables", "check_width",
    "epsilon_per_record", "exact_delta_of", "names_of", "of_each", "outside_share",
    "parse_of_each",
]  # fmt: skip


def names_of(by: Any) -> tuple[str, ...]:
    """The columns to group by; empty if ``by`` is None."""
    if by is None:
        return ()
    names = tuple(by) if isinstance(by, list | tuple) else (by,)
    if not names or any(type(name) is not str for name in names):
        remedy = "give one name, or a list of names, each once"
        if any(isinstance(name, Expression) for name in names):
            remedy = (
                "groups are those of columns; add the expression to the table as a column, in a "
                "frame, a view or the SELECT of hg.sql"
            )
        raise OptionError(f"by={shown(by)} does not name columns; {remedy}")
    if again := repeated(names):
        raise OptionError(f"by: {again}")
    return names


def repeated(names: Sequence[Any]) -> str:
    """What is wrong with a list that names a column twice; empty if it names each once.

    A list given by mistake may contain cells of the data, so its entries are not shown.
    """
    texts = [str(name) for name in names]
    for place, text in enumerate(texts, 1):
        if (first := texts.index(text) + 1) < place:
            return f"name {place} of the list repeats name {first}; name each column once"
    return ""


def exact_delta_of(names: tuple[str, ...], keys: Any, delta: Any) -> Fraction:
    """The exact delta; 0 if the names of the groups are public or there are no groups."""
    exact = Fraction(0) if delta is None else exact_delta(delta)
    if not names:
        if keys is not None or delta is not None:
            raise OptionError("keys= and delta= need groups; name the column with by=")
        return exact
    if keys is not None and delta is not None:
        raise OptionError(
            "keys= and delta= exclude each other; leave out delta= if the names of the groups are "
            "public, keys= if they are secret"
        )
    if keys is None and delta is None:
        raise OptionError(
            "by= needs either keys= (the public names of the groups, each of which gets an answer) "
            "or delta= (secret names: a group is published if its noisy count is large enough)"
        )
    return exact


def epsilon_per_record(
    epsilon: Fraction, unit: Unit, grouped: bool, outside: Fraction | None = None, columns: int = 1
) -> Fraction:
    """The epsilon per record: what is charged, divided by the most records of a unit.

    With ``outside``, that share of it goes to the counts of values outside the bounds of the
    ``columns`` columns.
    """
    if unit.groups > 1 and not grouped:
        raise OptionError(f"unit: groups={unit.groups} needs groups; name the column with by=")
    each = epsilon / unit.shares
    if each < MIN_EPSILON:
        raise EpsilonError(
            f"epsilon={epsilon} divided by the {unit.shares} records of a person is below "
            f"{MIN_EPSILON}; lower rows= or groups= of the unit"
        )
    if outside is not None and min(each * (1 - outside), each * outside / columns) < MIN_EPSILON:
        raise EpsilonError(
            f"outside={outside} of epsilon={epsilon} leaves less than {MIN_EPSILON} for a count; "
            "give a share nearer to 1/2, or a larger epsilon"
        )
    return each


def asked_columns(data: Any, column: Any, **of_tables: Any) -> tuple[tuple[Any, ...], bool]:
    """The columns asked for, and whether they are several to be answered together.

    The column is None if the data itself is a column. ``of_tables`` are the options that apply only
    to tables.
    """
    if column is not None and is_lone_column(data):
        raise DataError(
            f"column={shown(column)}: data is a single column, which has no name; leave out column="
        )
    if isinstance(column, list | tuple):
        _check_names(column)
        _check_number(len(column))
        return tuple(column), True
    if column is not None:
        if not isinstance(column, str | Expression):
            raise DataError(
                f"column={shown(column)} is not the name of a column; give a name, as in "
                "mean(data, 'age', ...), or a list of names for several columns. To average a "
                "column object, pass it as data: mean(table['age'], bounds=...)"
            )
        return (column,), False
    if is_table(data):
        raise DataError("data is a table; name the column, as in mean(data, 'age', ...)")
    for option, value in of_tables.items():
        if value:
            raise OptionError(
                f"{option}= applies only to tables, but data is a column of numbers; leave it out"
            )
    several = columns_in_memory(data)
    if several is None:
        return (None,), False
    _check_number(len(several))
    return several, True


def asked_statistic(several: bool, spread: Any) -> str:
    """The statistic asked for, by the name that its mechanisms are registered under."""
    if not isinstance(spread, bool):
        raise OptionError(f"spread={shown(spread)} is neither True nor False")
    if several and spread:
        raise OptionError(
            "spread=True works only with one column; ask for the spread of each column separately"
        )
    return "spread" if spread else "columns" if several else "mean"


def outside_share(outside: Any, algorithm: str) -> Fraction | None:
    """The share of epsilon to spend on counts of values outside the bounds, or None."""
    if outside is None:
        return None
    exact = exact_share(outside)
    if ALGORITHMS[algorithm].adjacency != "add-remove":
        raise OptionError(
            f"outside= protects records that are added or removed, but algorithm={algorithm!r} "
            "only records that are replaced; leave out one of the two"
        )
    return exact


def _check_names(names: Any) -> None:
    if not names or any(type(name) not in (str, Expression) for name in names):
        raise DataError(
            f"column={shown(names)} does not name columns; give one name, or a list of names as "
            'text, each once (the columns of an array are named "0", "1", ...)'
        )
    if again := repeated(names):
        raise DataError(f"column: {again}")


def _check_number(columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise DataError(
            f"{columns} columns are asked for at once, and one question takes at most "
            f"{MOST_COLUMNS}; name fewer, and ask for the others in a separate question"
        )


def bounds_of_each(
    value: Any, columns: tuple[Any, ...], several: bool, *, where: str | None, named: bool
) -> list[Bounds]:
    """The bounds of each column; an error about one pair in a dict names its column.

    Found bounds are those of one column. ``where`` is the filter on the rows, and ``named`` is
    False if the columns are arrays, which have no names of their own.
    """
    if isinstance(value, FoundBounds) and len(columns) > 1:
        other = next(name for name in columns if name != value.column)
        known = f"column {value.column!r}, not {other!r}" if value.column else "one column"
        raise BoundsError(
            f"bounds: these were found for {known}; give each column bounds of its own"
        )
    if several and isinstance(value, list | tuple):
        nested = any(isinstance(end, list | tuple) for end in value)
        if len(value) != 2 or nested:
            raise BoundsError(
                f"bounds={shown(value)} is not a pair; give one pair for all columns, or a dict "
                'with a pair for each, as in bounds={"age": (0, 120), "height": (0, 250)}'
            )
    found = []
    for name, pair in zip(columns, of_each("bounds", value, columns), strict=True):
        try:
            if isinstance(pair, FoundBounds):
                found.append(pair.of_column(name if named else None, where))
            else:
                found.append(Bounds.of(pair))
        except BoundsError as error:
            if isinstance(value, Mapping):
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


def of_each(option: str, value: Any, columns: tuple[Any, ...], absent: Any = None) -> list[Any]:
    """The value of an option for each column: the same for all, or from a dict by name."""
    if not isinstance(value, Mapping) or columns == (None,):
        return [value] * len(columns)
    for place, name in enumerate(value, 1):
        if name not in columns:
            # The key may be a cell of the data, so only the nearest column is shown.
            near = difflib.get_close_matches(name, columns, n=1) if isinstance(name, str) else []
            hint = f"; did you mean {near[0]!r}?" if near else f": {', '.join(map(repr, columns))}"
            raise OptionError(
                f"{option}: key {place} of the dict is not one of the columns asked for{hint}"
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


def parse_of_each(parse: Any, columns: tuple[Any, ...]) -> list[Any]:
    """How each column is read if it is text."""
    rules = of_each("parse", by_name(parse), columns)
    for rule in rules:
        check_parse(rule)
    return rules


def check_parsed(parse: Any, rules: Sequence[Any], fields: Sequence[Field]) -> None:
    """Refuse ``parse`` where it has no effect: where none of the columns is text.

    ``fields`` are the columns with their text read by the ``rules``.
    """
    read = [field.kind.startswith("text as ") for field in fields]
    if any(read) and not isinstance(parse, Mapping):
        return  # one rule for all columns, those of text
    for rule, field, is_text in zip(rules, fields, read, strict=True):
        if rule is None or is_text:
            continue
        if field.computed:
            raise OptionError(
                f"parse={rule!r} applies to columns of text, but not to an expression; leave it out"
            )
        raise OptionError(
            f"parse={rule!r} applies to columns of text, but column {field.name!r} is of type "
            f"{field.declared or field.kind}; leave it out"
        )


def missing_cell(missing: Any, grid: Grid) -> int | None:
    """The cell that replaces a missing value; None if missing values are left out."""
    if isinstance(missing, str) and missing == "drop":
        return None
    lower, upper = grid.bounds
    if isinstance(missing, bool) or not isinstance(missing, int | float):
        raise OptionError(f'missing={shown(missing)} is neither "drop" nor a number')
    if not lower <= missing <= upper:
        raise BoundsError(
            f"missing={shown(missing)} is outside the bounds ({lower}, {upper}); give a value "
            "between them"
        )
    if grid.own and missing != int(missing):
        raise OptionError(
            f"missing={shown(missing)} is not a whole number; the column holds integers"
        )
    return grid.cell(missing)


def check_algorithm(
    algorithm: str, by: tuple[str, ...], delta: Fraction, unit: Unit, statistic: str = "mean"
) -> None:
    """The capabilities of the mechanism of that name; refuse what it cannot do."""
    if statistic != "mean" and algorithm in ALGORITHMS and algorithm != "hourglass":
        raise OptionError(
            f"algorithm={algorithm!r} works only for the mean of one column without spread; "
            "leave it out"
        )
    mechanism = find(algorithm, statistic)
    if by and not mechanism.by_group:
        raise OptionError(
            f"algorithm={algorithm!r} publishes the number of records and cannot be used with by=; "
            "choose another algorithm"
        )
    if unit.records > 1 and not mechanism.several_records:
        raise OptionError(
            f"algorithm={algorithm!r} counts each person once; leave out rows= of the unit"
        )
    if delta and not mechanism.secret_keys:
        raise OptionError(
            f"delta= works with {names_with('secret_keys')}, not with algorithm={algorithm!r}"
        )


# --- filters and expressions ----------------------------------------------------------------------

_TAKEN: Final = "where= and expressions take numbers, text, booleans, dates and timestamps"


@dataclass(frozen=True)
class Conditions:
    """The filter of a question, and an expression or None for each of its columns."""

    where: Node | None
    trees: tuple[Node | None, ...]

    @classmethod
    def of(cls, where: Any, columns: Sequence[Any]) -> Conditions:
        """Parse the options; names are not looked up yet."""
        if isinstance(where, Expression):
            where = where.text
        tree = None if where is None else parsed(where, "where")
        return cls(tree, tuple(c.tree if isinstance(c, Expression) else None for c in columns))

    @property
    def text(self) -> str | None:
        """The filter in its canonical spelling."""
        return None if self.where is None else text_of(self.where)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that the filter and the expressions use, each once."""
        found = (columns_of(tree) for tree in (self.where, *self.trees) if tree is not None)
        return tuple(dict.fromkeys(name for names in found for name in names))

    def read(self, plain: Iterable[Any], by: Sequence[str], unit: Unit) -> tuple[str, ...]:
        """The names of all columns that a question reads; ``plain`` are those of its values."""
        names = (*plain, *by, unit.person, *self.columns)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def _labelled(self) -> dict[str, tuple[Node, str | None]]:
        """Each tree with its name in messages and the type that it must have."""
        found: dict[str, tuple[Node, str | None]] = {}
        if self.where is not None:
            found["where"] = self.where, "boolean"
        trees = [tree for tree in self.trees if tree is not None]
        for place, tree in enumerate(trees, 1):
            found["expression" if len(trees) == 1 else f"expression {place}"] = tree, None
        return found

    def fields(self, source: Source, schema: Schema, numbers: Iterable[Any]) -> dict[str, Field]:
        """The columns used here, by name, each with a type that fits everywhere it is used.

        ``numbers`` are the columns of a text file that the question averages.
        """
        labelled = self._labelled()
        if not labelled:
            return {}
        found = {}
        for option, (tree, _) in labelled.items():
            for name, column in columns_of(tree).items():
                if not schema.open and all(field.name != name for field in schema.fields):
                    raise refused(option, column.place, _no_column(name, schema))
                field = schema.field(name, f"{option}, character {column.place}: column")
                if kind_of(field) is None:
                    raise refused(
                        option,
                        column.place,
                        f"column {name!r} is of type {field.declared or field.kind}; "
                        f"{field.why or _TAKEN}",
                    )
                found[name] = field
        types = {
            name: OPEN if source.parse and field.kind == "text" else kind_of(field) or ""
            for name, field in found.items()
        }
        for name in numbers:
            if types.get(name) == OPEN:
                types[name] = "number"
        kinds = settled(labelled, types)
        return {
            name: replace(field, kind=f"text as {source.parse}")
            if field.kind == "text" and kinds[name] == "number"
            else field
            for name, field in found.items()
        }

    def asked(self, fields: Mapping[str, Field], read: Iterable[str]) -> Asked:
        """The step of the query that filters and computes; ``read`` are all columns read."""
        if self._labelled() and any(map(is_ours, read)):
            raise DataError(
                "a column has a name that hourglass uses in queries with where= or expressions; "
                "rename the one that starts with 'hourglass'"
            )
        return Asked(self.where, inputs_of(fields))

    def named(self, place: int, field: Field) -> Field:
        """A column under its name in the query; a computed column gets a name of our own."""
        computed = self.trees[place] is not None
        return replace(field, name=value_alias(place)) if computed else field

    def written(self, place: int, name: Any) -> Any:
        """A column as it appears in the stored question."""
        return name if self.trees[place] is None else {"expression": name}

    def value(self, place: int, fields: Mapping[str, Field], name: str) -> Field | None:
        """The column that an expression computes; None for a column of the table."""
        tree = self.trees[place]
        if tree is None:
            return None
        kinds = {each: kind_of(field) or "" for each, field in fields.items()}
        boolean = type_of(tree, kinds) == "boolean"
        return Field(name, "boolean" if boolean else "real", COMPUTED)


def _no_column(name: str, schema: Schema) -> str:
    """What is wrong with a name that no column has: it may be text without its quotes."""
    hint = schema.hint(name)
    joined = f"{hint} Text" if hint.endswith("?") else f"{hint}; text"
    quoted = "'" + name.replace("'", "''") + "'"
    return f"there is no column {shown(name)}; {joined} is written in single quotes: {quoted}"


def by_name(option: Any) -> Any:
    """A dict of options by column, with expressions replaced by their texts."""
    if not isinstance(option, Mapping):
        return option
    return {str(key) if isinstance(key, Expression) else key: v for key, v in option.items()}


def check_tables(conditions: Conditions, memory: bool) -> None:
    """Refuse filters and expressions for columns in memory, which have no names."""
    if memory and conditions.columns:
        raise OptionError(
            "where= and hg.expression need a table, but data is columns in memory without names; "
            "give a frame instead"
        )


# --- rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """The rows that a question is about: where they are, which count, their groups and persons.

    ``inputs`` are the columns that the filter and the expressions use.
    """

    source: Source
    schema: Schema
    unit: Unit
    by: tuple[str, ...]
    groups: tuple[Field, ...]
    person: Field | None
    conditions: Conditions
    inputs: Mapping[str, Field]
    asked: Asked

    @classmethod
    def of(
        cls,
        source: Source,
        unit: Unit,
        conditions: Conditions,
        plain: Sequence[Any] = (),
        by: Any = None,
    ) -> Rows:
        """Look up all names but those of the ``plain`` columns of values."""
        schema, names = source.schema(), names_of(by)
        if not isinstance(by, str):
            schema.check_listed(names, "by")
        groups = tuple(schema.key(name) for name in names)
        person = schema.person(unit.person) if unit.person else None
        inputs = conditions.fields(source, schema, plain)
        asked = conditions.asked(inputs, conditions.read(plain, names, unit))
        return cls(source, schema, unit, names, groups, person, conditions, inputs, asked)

    def field(self, place: int, name: str | None, parse: Any) -> Field:
        """A column of values: of the table, or computed."""
        computed = self.conditions.value(place, self.inputs, name or "")
        return computed or value_field(self.source, self.schema, name or "", parse)

    def value(
        self, place: int, field: Field, bounds: Bounds, cells: Any, missing: Any, *, finest: int
    ) -> Value:
        """A column of values with its grid."""
        averaged = self.person is not None and self.unit.rows is None
        grid = field.grid(bounds, cells, averaged=averaged, finest=finest)
        named, tree = self.conditions.named(place, field), self.conditions.trees[place]
        return Value(named, grid, missing_cell(missing, grid), tree)

    def query(
        self, public: PublicKeys | None, values: Sequence[Value] = (), sums: Sequence[Sum] = ()
    ) -> Query:
        """The query for the totals of these rows."""
        return Query(
            tuple(values),
            by=self.groups,
            allowed=public.allowed() if public else (),
            nulls=public.nulls() if public else (),
            places=public.places if public else None,
            unit=self.unit,
            person=self.person,
            sums=tuple(sums),
            asked=self.asked,
        )

    def terms(
        self,
        query: Query,
        bounds: Bounds,
        mechanism: Any,
        public: PublicKeys | None,
        delta: Fraction,
    ) -> dict[str, Any]:
        """The fields of a question about these rows."""
        unit = self.unit
        return {
            "source": self.source,
            "query": query,
            "sql": self.source.sql(query, bounds),
            "unit": unit,
            "by": self.by,
            "keys": public,
            "delta": delta,
            "mechanism": mechanism,
            "threshold": threshold(mechanism, delta, unit.records, unit.groups) if delta else None,
            "where": self.conditions.text,
        }

    def place(self, data: Any, public: PublicKeys | None) -> dict[str, Any]:
        """What distinguishes a question about these rows of a table from others."""
        found = {"data": place_of(data), "by": self.by, "keys": public}
        return found if self.conditions.text is None else found | {"where": self.conditions.text}
