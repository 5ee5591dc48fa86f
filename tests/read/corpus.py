"""The conformance corpus: difficult values, and the totals that they must give.

The reference is plain Python: the rule of hourglass.core.limits one value at a time, integers and
Fractions for the rest. An engine that does not agree with it, bit for bit, is not offered.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from hourglass.ask.question import mean_question
from hourglass.core.limits import Bounds, Grid, Unit
from hourglass.core.totals import Groups

Row = tuple[Any, Any, Any]  # (value, group, person)
Totals = dict[Any, tuple[int, int]]
Cells = tuple[int, ...]  # of a row, one of each column

#: A column name that is easily misread.
VALUE = 'a"g😀e; DROP TABLE t; --'
GROUP = "gr`oup '1'"
PERSON = "Person id"

#: NaN with its sign bit set, which some engines sort below all numbers.
MINUS_NAN = math.copysign(math.nan, -1.0)

#: Bounds and grids of real columns; None is the default grid.
REAL = [
    (Bounds(0, 120), None),
    (Bounds(0.0, 1.0), None),
    (Bounds(-1.5, 2.25), 7),
    (Bounds(-1e-3, 1e9), 1000),
    (Bounds(1e15, 1e15 + 64), 16),
    (Bounds(-1.7e308, 1.7e308), None),
    (Bounds(-1e-300, 1e-300), 10),
    (Bounds(0.1, 0.7), 1),
    (Bounds(-100, 100), 200),
]
#: Bounds of integer columns, most of them on their own grid.
WHOLE = [
    (Bounds(0, 120), None),
    (Bounds(-5, 5), None),
    (Bounds(-(2**63), -(2**63) + 2**20), None),
    (Bounds(2**63 - 1 - 2**20, 2**63 - 1), None),
    (Bounds(2**70, 2**70 + 2**30), None),
    (Bounds(-(2**70) - 2**30, -(2**70)), None),
    (Bounds(2**63 - 2**20, 2**63 + 2**20), None),
    (Bounds(0, 2**40), None),
    (Bounds(0, 120), 7),
    (Bounds(-(2**60), 2**60), 1000),
]

IDS = [None, "ann", "bob", "-7", "9223372036854775807", "Ünï😀", "o'neill", "a|b", "x" * 200]
NUMBERED = [None, 0, -7, 2**63 - 1, -(2**63), 42, 43, 44, 45]
GROUPS = [None, "north", "sou'th", "😀", "a|b", ""]


def reals(grid: Grid, seed: int = 0) -> list[float | None]:
    """NULL, NaN of both signs, infinities, subnormals, ends and half-way points, ± one ulp."""
    dice = random.Random(seed)
    lower, upper = grid.lower, grid.upper
    points = [lower, upper, grid.first_above, grid.last_below, 0.0, 1.0, 0.5]
    for _ in range(40):
        cell = dice.randrange(grid.cells)
        half = Fraction(grid.bounds.lower) + grid.step * (cell + Fraction(1, 2))
        points.append(float(half))
    points += [dice.uniform(lower / 2, upper / 2) + dice.choice([0, lower / 2]) for _ in range(40)]
    near = [math.nextafter(p, end) for p in points for end in (-math.inf, math.inf)]
    odd = [
        None,
        math.nan,
        MINUS_NAN,
        math.inf,
        -math.inf,
        -0.0,
        5e-324,
        -5e-324,
        2.2e-308,
        -2.2e-308,
    ]
    odd += [1.7976931348623157e308, -1.7976931348623157e308, 1e300, -1e300, 0.1, 2**53 + 2.0]
    return [*odd, *points, *near, *points[:5]]


def wholes(bounds: Bounds, seed: int = 0) -> list[int | None]:
    """NULL, both ends of 64 bits, the bounds ± 1, zeros, and numbers past 2^53."""
    dice = random.Random(seed)
    lower, upper = int(bounds.lower), int(bounds.upper)
    points = [0, 1, -1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62]
    points += [end + d for end in (lower, upper) for d in (-1, 0, 1)]
    points += [dice.randint(lower, upper) for _ in range(60)]
    return [None, *(p for p in points if -(2**63) <= p < 2**63), *points[:3]]


def rows(values: list[Any], *, numbered: bool = False, seed: int = 0) -> list[Row]:
    """Values with groups and persons, some of them twice over."""
    dice = random.Random(seed)
    ids: list[Any] = NUMBERED if numbered else IDS
    found = [(value, dice.choice(GROUPS), dice.choice(ids)) for value in values]
    return found + [(v, dice.choice(GROUPS), dice.choice(ids)) for v in values] + found[:20]


def cell_of(value: Any, grid: Grid) -> int | None:
    """The cell of a value, None where it is missing."""
    if value is None:
        return None
    return grid.cell(value if grid.own else float(value))


def reference(
    table: list[Row], grid: Grid, unit: Unit | None = None, *, missing: int | None = None
) -> Totals:
    """The totals of every group but NULL."""
    rows = [((value,), group, person) for value, group, person in table]
    found = reference_of_columns(rows, [grid], unit, missing=[missing])
    return {group: (cells, count) for group, ((cells,), count) in found.items()}


def reference_of_columns(
    table: Sequence[tuple[Sequence[Any], Any, Any]],
    grids: Sequence[Grid],
    unit: Unit | None = None,
    *,
    missing: Sequence[int | None] = (),
    powers: Sequence[tuple[int, int]] = (),
) -> dict[Any, tuple[tuple[int, ...], int]]:
    """The sums and the count of every group but NULL.

    A row counts in all columns or in none. ``powers`` are pairs of column and power to be summed.
    """
    fills = missing or [None] * len(grids)
    rows = []
    for values, group, person in table:
        cells = tuple(
            fill if (cell := cell_of(value, grid)) is None else cell
            for value, grid, fill in zip(values, grids, fills, strict=True)
        )
        if group is not None and None not in cells:
            rows.append((cells, group, person))
    asked = powers or [(column, 1) for column in range(len(grids))]
    found: dict[Any, tuple[tuple[int, ...], int]] = {}
    for record, group in _kept(rows, unit):
        sums, count = found.get(group, ((0,) * len(asked), 0))
        added = (record[column] ** power for column, power in asked)
        found[group] = tuple(map(sum, zip(sums, added, strict=True))), count + 1
    return found


def _kept(rows: list[Any], unit: Unit | None) -> list[tuple[Cells, Any]]:
    if unit is None or unit.person is None:
        return [(cells, group) for cells, group, _ in rows]
    people: dict[Any, dict[Any, list[Cells]]] = defaultdict(lambda: defaultdict(list))
    for cells, group, person in rows:
        if person is not None:
            people[person][group].append(cells)
    kept = []
    for person, groups in people.items():
        order = sorted(groups, key=lambda group: _hash(person, group))
        for group in order[: unit.groups]:
            kept += [(cells, group) for cells in _of_person(person, groups[group], unit.rows)]
    return kept


def _of_person(person: Any, rows: list[Cells], limit: int | None) -> list[Cells]:
    if limit is None:
        means = (Fraction(sum(cells), len(cells)) for cells in zip(*rows, strict=True))
        return [tuple(math.floor(mean + Fraction(1, 2)) for mean in means)]
    n, start = len(rows), start_of(person)
    places = range(n)
    kept = [
        cells
        for cells, r in zip(sorted(rows), places, strict=True)
        if (start + r * limit) % n < limit
    ]
    assert len(kept) == min(n, limit)
    return kept


def start_of(person: Any) -> int:
    """The same for every row of a person: an integer from the number or the text."""
    prime = 2**31 - 1
    if isinstance(person, int):
        return pow(abs(person) % prime * 48271 + 1234567, 5, prime)
    start = 0
    for digit in _hash(person)[:7]:
        start = start * 103 + ord(digit)
    return start % prime


def _hash(*parts: Any) -> str:
    return hashlib.md5("|".join(["hourglass", *map(str, parts)]).encode()).hexdigest()


# --- text that is hard to compare, and text that is none ------------------------------------------

#: Names that a collation may consider equal: by case, accents, blanks, or normalisation.
ALIKE = [
    "alice", "ALICE", "Alice", "alice ", "alice  ", "álice", "alice\t", "straße", "STRASSE",
    "strasse", "fi", "ﬁ", "Å", "A\u030a", "i", "I", "ı", "İ", "", " ",
]  # fmt: skip

#: Cells of a column of text, as bytes. Some are not UTF-8: stray bytes, truncated characters, a
#: lone surrogate, a code point beyond the last, an overlong encoding.
BYTES: list[bytes | None] = [
    None, b"", b"alice", b"a\x00b", b"?", b"a?", b"alice?", "ü😀".encode(), b"x" * 4096,
    b"\xff", b"a\xff", b"alice\xff", b"\xc3", b"\xa4", "ä".encode(), b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x82", b"x" * 4097, "ü".encode() * 2049,
]  # fmt: skip


def name_of(cell: bytes | None) -> str | None:
    """The name that bytes encode: UTF-8 of up to 4,096 bytes, or None."""
    try:
        return cell.decode() if cell is not None and len(cell) <= 4096 else None
    except UnicodeDecodeError:
        return None


def texts(cells: list[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """A column of text from these bytes, valid or not."""
    if kind is not None and pa.types.is_dictionary(kind):
        values: list[bytes | None] = list(dict.fromkeys(cell for cell in cells if cell is not None))
        places = pa.array([None if c is None else values.index(c) for c in cells], kind.index_type)
        return pa.DictionaryArray.from_arrays(places, texts(values, kind.value_type), safe=False)
    if kind == pa.string_view():
        return pa.array(cells, pa.binary_view()).view(kind)
    raw = pa.array(cells, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind or pa.string(), len(raw), raw.buffers(), raw.null_count)


# --- the totals of an engine ----------------------------------------------------------------------


def table(rows: list[Row], value: pa.DataType, person: pa.DataType) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)]
    kinds = [value, pa.string(), person]
    arrays = [pa.array(c, kind) for c, kind in zip(columns, kinds, strict=True)]
    return pa.table(dict(zip([VALUE, GROUP, PERSON], arrays, strict=True)))


def totals(
    placed: dict[str, Any],
    bounds: Bounds,
    cells: int | None,
    *,
    unit: Unit | None = None,
    missing: Any = "drop",
    by: Any = GROUP,
) -> Any:
    request = mean_question(
        **placed,
        column=VALUE,
        bounds=bounds,
        epsilon=1,
        by=by,
        delta=1e-6 if by else None,
        grid=cells,
        unit=unit,
        missing=missing,
    )
    found = request.read()
    assert isinstance(found, Groups)
    pairs = zip(found.totals.cells, found.totals.count, strict=True)
    if not by:
        return next(pairs)
    return {
        key[0] if len(key) == 1 else key: pair
        for key, pair in zip(found.keys, pairs, strict=True)
        if pair[1]
    }
