"""Random tables and random questions, with every option that may meet another; and a reference.

A column may be averaged, name groups, identify persons and be filtered by, all at once, and its
name is easily misread. The reference is plain Python: one row at a time, by the documented rules.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

import hourglass as hg
from hourglass.core.limits import Bounds, Grid, Unit
from hourglass.read.sql.expression.parsing import parsed
from tests.read.corpus import MINUS_NAN, start_of
from tests.read.expressions import judged

Key = tuple[Any, ...]
#: The sums that a question needs, and the count.
Totals = tuple[tuple[int, ...], int]

NAMES = [
    "x", "y", "t", "t1", "person", "k1", "n", "hi1", "source", "asked", "select", 'a"b', "a'b",
    "a.b", "😀", "é", "e\u0301", "a\tb", "a\\b", "${x}", "%s", "?", "$1", "--", "NULL", "0", "p|q",
    "x as real", "x as a number", "a" * 60,
]  # fmt: skip
TEXTS = [
    "", "a", "A", "a ", "á", "a\u0301", "b", "a|b", "|", "?", "'", "\\", "${x}", "😀", "x" * 4096,
    "x" * 4097, "1", "01", "NULL", "true",
]  # fmt: skip
NUMERALS = [
    "1", "01", "1.0", " 7 ", "+3", "-2.5", "1e2", "1e400", "-inf", "nan", "0x1", "", "abc", ".5",
    "5.", "9007199254740993", "9" * 30, "0" * 5000 + "5", "1\n", "٣",
]  # fmt: skip
CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "double": (
        pa.float64(),
        [math.nan, MINUS_NAN, math.inf, -math.inf, -0.0, 5e-324, -1e308, 0.5, 1.5, 2.5, 7.0, 100.0],
    ),
    "float": (pa.float32(), [math.nan, math.inf, 2.0**-149, 0.5, 7.0, -1.25]),
    "small": (pa.int8(), [-128, 127, 0, 1, 7]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 0, 1, 7, -7]),
    "boolean": (pa.bool_(), [True, False]),
    "text": (pa.string(), TEXTS),
    "numeral": (pa.string(), NUMERALS),
    "date": (pa.date32(), [date.min, date(1969, 12, 31), date(2024, 2, 29), date.max]),
    "decimal": (pa.decimal128(18, 4), [*map(Decimal, ["0", "0.5", "-7.0001", "99999999999999"])]),
}
#: The kinds of columns that SQLite has, too.
COMMON = ["double", "float", "small", "long", "boolean", "text", "numeral"]
BOUNDS: list[tuple[Any, Any]] = [
    (0, 120), (-5, 5), (0, 1), (0.0, 1.0), (-1.5, 2.25), (2**53 - 5, 2**53 + 5), (0, 2**32),
    (-1.7e308, 1.7e308),
]  # fmt: skip


@dataclass
class Asked:
    """A column that is averaged: as a column of the table, or as an expression."""

    name: str
    kind: str
    bounds: Bounds
    missing: Any = "drop"
    expression: bool = False

    @property
    def given(self) -> Any:
        return hg.expression(self.name) if self.expression else self.name

    @property
    def parse(self) -> str | None:
        return {"numeral": "real", "whole numeral": "integer"}.get(self.kind)

    def number(self, row: dict[str, Any]) -> Any:
        """The value in a row; None if it is missing."""
        value = judged(parsed(self.name, "expression"), row) if self.expression else row[self.name]
        if isinstance(value, str):
            return _numeral(value, self.kind == "whole numeral")
        return None if isinstance(value, float) and math.isnan(value) else value


@dataclass
class Case:
    """A table, and a question about it."""

    kinds: dict[str, str]
    rows: list[dict[str, Any]]
    values: list[Asked] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    keys: list[Key] | None = None
    unit: Unit = hg.per_row()  # noqa: RUF009
    where: str | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        arrays = {
            name: pa.array([row[name] for row in self.rows], CELLS[kind][0])
            for name, kind in self.kinds.items()
        }
        return pa.table(arrays)

    @property
    def options(self) -> dict[str, Any]:
        """The options of a question for a mean, or for a count if no column is averaged."""
        found: dict[str, Any] = {"epsilon": 1, "where": self.where, "unit": self.unit} | self.more
        if self.by:
            found |= {"by": self.by, "delta": 1e-6} if self.keys is None else {"by": self.by}
        if self.keys is not None:
            found["keys"] = [key[0] for key in self.keys] if len(self.by) == 1 else self.keys
        if not self.values:
            return found
        found["bounds"] = {value.name: value.bounds for value in self.values}
        found["missing"] = {value.name: value.missing for value in self.values}
        found["parse"] = {value.name: value.parse for value in self.values if value.parse}
        if self.more.get("spread"):
            one = self.values[0]
            found |= {"bounds": one.bounds, "missing": one.missing, "parse": one.parse}
        columns = [value.given for value in self.values]
        return found | {"column": columns[0] if self.more.get("spread") else columns}

    # --- the reference ------------------------------------------------------------------------

    def expected(self) -> dict[Key, Totals]:
        """The totals of each group that has a record."""
        records = [record for row in self.rows if (record := self._record(row)) is not None]
        found: dict[Key, Totals] = {}
        for key, cells, sides in self._kept(records):
            added = [*cells] if self.values else []
            added += [cells[0] ** 2] if self.more.get("spread") else []
            added += [int(side == end) for side in sides for end in (-1, 1)]
            sums, count = found.get(key, ((0,) * len(added), 0))
            found[key] = tuple(map(sum, zip(sums, added, strict=True))), count + 1
        return found

    def grid(self, value: Asked) -> Grid:
        averaged = self.unit.person is not None and self.unit.rows is None
        whole = value.kind in ("small", "long", "boolean", "whole numeral") and not averaged
        finest = 2**23 if self.more.get("spread") else 2**32
        return Grid.choose(value.bounds, integers=whole, finest=finest)

    def _record(
        self, row: dict[str, Any]
    ) -> tuple[Any, Key, tuple[int, ...], tuple[int, ...]] | None:
        if self.where is not None and judged(parsed(self.where, "where"), row) is not True:
            return None
        key = tuple(_name(row[name]) for name in self.by)
        person = _name(row[self.unit.person]) if self.unit.person else None
        unnamed = None in key if self.keys is None else key not in self.keys
        if unnamed or (self.unit.person and person is None):
            return None
        cells: list[Any] = []
        sides: list[int] = []
        for value in self.values:
            number, grid = value.number(row), self.grid(value)
            cell = None if number is None else grid.cell(number if grid.own else _double(number))
            fill = None if value.missing == "drop" else grid.cell(value.missing)
            cells.append(fill if cell is None else cell)
            sides.append(0 if number is None else _side(number, grid))
        if None in cells:
            return None
        outside = tuple(sides) if self.more.get("outside") else ()
        return person, key, tuple(cells) or (1,), outside

    def _kept(self, records: list[Any]) -> list[tuple[Key, tuple[int, ...], tuple[int, ...]]]:
        if self.unit.person is None:
            return [record[1:] for record in records]
        people: dict[Any, dict[Key, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for person, key, cells, sides in records:
            people[person][key].append((cells, sides))
        kept = []
        for person, groups in people.items():
            order = sorted(groups, key=lambda key: _order(person, key))
            for key in order[: self.unit.groups]:
                kept += [(key, *record) for record in self._of_person(person, groups[key])]
        return kept

    def _of_person(self, person: Any, rows: list[Any]) -> list[Any]:
        n, limit, start = len(rows), self.unit.rows, start_of(person)
        if limit is None:
            cells, sides = (list(zip(*part, strict=True)) for part in zip(*rows, strict=True))
            means = (math.floor(Fraction(sum(each), n) + Fraction(1, 2)) for each in cells)
            return [(tuple(means), tuple(_sign(sum(each)) for each in sides))]
        placed = enumerate(sorted(rows, key=lambda row: (*row[0], *row[1])))
        return [row for r, row in placed if (start + r * limit) % n < limit]


def _numeral(text: str, whole: bool) -> int | float | None:
    """The number in a text, by the rule of ``parse``."""
    digits = r" *[+-]?[0-9]+ *" if whole else r" *[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)? *"
    if re.fullmatch(digits, text, re.ASCII):
        return int(text.strip().lstrip("+0") or "0") if whole else float(text)
    infinite = not whole and re.fullmatch(" *[+-]?inf(inity)? *", text, re.ASCII | re.IGNORECASE)
    return float(text) if infinite else None


def _name(value: Any) -> Any:
    return None if isinstance(value, str) and len(value.encode()) > 4096 else value


def _double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _side(number: Any, grid: Grid) -> int:
    low, high = (grid.bounds.lower, grid.bounds.upper) if grid.own else (grid.lower, grid.upper)
    number = number if grid.own else _double(number)
    return -1 if number < low else int(number > high)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _order(person: Any, key: Key) -> Any:
    """The order in which a person's groups are kept: by a hash, then by the names, NULL last."""
    texts = ["" if k is None else str(int(k)) if isinstance(k, bool) else str(k) for k in key]
    joined = "|".join(["hourglass", str(person), *texts])
    ties = [(k is None, "" if k is None else k) for k in key]
    return hashlib.md5(joined.encode()).hexdigest(), ties


# --- the generator --------------------------------------------------------------------------------


def case(seed: int, kinds: list[str], *, parses: bool) -> Case:
    """A random case with columns of these kinds; only some engines parse text."""
    dice = random.Random(seed)
    names = dice.sample(NAMES, dice.randint(3, 6))
    chosen = {name: dice.choice(kinds) for name in names}
    chosen[names[0]] = dice.choice(["double", "long", "boolean"])
    chosen[names[1]] = dice.choice(["text", "long", "boolean"])
    size = dice.choice([0, 1, 5, 20, 40])
    columns = {name: _column(dice, kind, size) for name, kind in chosen.items()}
    found = Case(chosen, [{n: cells[i] for n, cells in columns.items()} for i in range(size)])
    if dice.random() < 0.5:
        found.where = _condition(dice, chosen, dice.randrange(3))
    keyed = [name for name in names if chosen[name] not in ("double", "float", "decimal")]
    persons = [name for name in keyed if chosen[name] not in ("boolean", "date")]
    if dice.random() < 0.7:
        found.by = dice.sample(keyed, min(len(keyed), dice.choice([1, 1, 2])))
        if dice.random() < 0.6:
            of_rows = {tuple(_name(row[n]) for n in found.by) for row in found.rows}
            some = dice.sample(sorted(of_rows, key=repr), dice.randint(0, len(of_rows)))
            found.keys = list(dict.fromkeys([*some, (None,) * len(found.by)]))
    if persons and dice.random() < 0.5:
        groups = dice.choice([1, 2]) if found.by else 1
        rows = dice.choice([None, 1, 2])
        found.unit = hg.per_person(dice.choice(persons), rows=rows, groups=groups)
    _ask(dice, found, parses)
    return found


def _column(dice: random.Random, kind: str, size: int) -> list[Any]:
    pool = CELLS[kind][1]
    some = dice.sample(pool, min(len(pool), dice.choice([2, 4, 99])))
    return [None if dice.random() < 0.15 else dice.choice(some) for _ in range(size)]


def _ask(dice: random.Random, found: Case, parses: bool) -> None:
    """Choose what is averaged, and how."""
    numbers = [n for n, k in found.kinds.items() if k not in ("text", "date")]
    numbers = [n for n in numbers if parses or found.kinds[n] != "numeral"]
    size = dice.choice([0, 1, 1, 2, 3])
    for name in dice.sample(numbers, min(size, len(numbers))):
        kind = found.kinds[name]
        kind = dice.choice(["numeral", "whole numeral"]) if kind == "numeral" else kind
        found.values.append(Asked(name, kind, _bounds(dice, kind)))
    if dice.random() < 0.3:
        text = str(hg.expression(_condition(dice, found.kinds, 1)))
        found.values.append(Asked(text, "boolean", Bounds(0, 1), expression=True))
    for value in found.values:
        if dice.random() < 0.3:
            value.missing = value.bounds.lower
    if len(found.values) == 1 and found.values[0].bounds.width < 2**500 and dice.random() < 0.3:
        found.more["spread"] = True
    elif found.values and dice.random() < 0.3:
        found.more["outside"] = "1/10"


def _bounds(dice: random.Random, kind: str) -> Bounds:
    return Bounds(0, 1) if kind == "boolean" else Bounds(*dice.choice(BOUNDS))


def _condition(dice: random.Random, kinds: dict[str, str], depth: int) -> str:
    """The text of a filter."""
    if depth:
        one, two = (_condition(dice, kinds, depth - 1) for _ in range(2))
        shape = dice.choice(["({} AND {})", "({} OR {})", "(NOT {})", "(({}) IS NULL)"])
        return shape.format(one, two)
    name, kind = dice.choice(sorted(kinds.items()))
    column, sign = '"' + name.replace('"', '""') + '"', dice.choice(["=", "<>", "<", ">="])
    if dice.random() < 0.2:
        return f"{column} IS NOT NULL"
    if kind == "boolean":
        return column
    if kind == "date":
        return f"{column} {sign} '2024-02-29'"
    if kind in ("text", "numeral"):
        text = f"{column} {sign} 'a'", f"{column} IN ('', '1', '{{x}}')", f"LENGTH({column}) > 1"
        return dice.choice([*text, f"{column} LIKE 'a%'"])
    tests = f"{column} {sign} 9007199254740993", f"{column} IN (7, 0.5, 9007199254740993)"
    return dice.choice([*tests, f"1 / {column} > 0.1", f"{column} BETWEEN -0.5 AND 7"])
