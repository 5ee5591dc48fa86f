"""Keys as columns, and where they stand among public ones: as tuples in a dictionary would."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hourglass.core.keys import (
    LONGEST,
    NAMELESS,
    KeyColumn,
    Keys,
    Places,
    is_column,
    key_column,
    key_value,
)
from hourglass.errors import OptionError

pytestmark = pytest.mark.property

NEAR, FAR = st.integers(-3, 6), st.sampled_from([-(2**63), -(2**40), -1, 0, 7, 2**40, 2**63 - 1])
KINDS: dict[str, Any] = {
    "near": NEAR,
    "far": FAR,
    "huge": st.sampled_from([-1, 0, 7, 2**63, 2**64 - 1, -(2**100), Decimal(7)]),
    "text": st.sampled_from(["", "a", "A", "\u00e9", "e\u0301", "\0", "10", "9"]),
    "boolean": st.booleans(),
    "date": st.dates(date(2020, 1, 1), date(2020, 1, 5)),
}
#: Whole numbers meet as 64-bit integers or as Python's.
WHOLE = ["near", "far", "huge"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, list[Any], list[Any]]:
    """Two lists of keys from the same columns, of the same kinds or of integers of two."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    found = []
    for _ in range(2):
        swapped = [draw(st.sampled_from(WHOLE)) if kind in WHOLE else kind for kind in kinds]
        parts = st.tuples(*(KINDS[kind] | st.none() for kind in swapped))
        found.append(draw(st.lists(parts, max_size=12)))
    return len(kinds), found[0], found[1]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tables())
def test_places_are_those_of_a_dictionary(case: tuple[int, list[Any], list[Any]]) -> None:
    columns, public, asked = case
    where: dict[Any, int] = {}
    for place, key in enumerate(public):
        where.setdefault(key, place)
    places = Places(Keys.of(public, columns))
    assert places.distinct.tolist() == sorted(where.values())
    found = places.find(Keys.of(asked, columns)).tolist()
    assert found == [where.get(key, -1) for key in asked]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tables())
def test_keys_are_tuples_of_plain_values_in_order(case: tuple[int, list[Any], list[Any]]) -> None:
    columns, rows, _ = case
    keys = Keys.of(rows, columns)
    assert keys == tuple(rows)
    assert tuple(rows) == keys
    assert [[type(part) for part in key] for key in keys] == [
        [type(part) for part in key] for key in rows
    ]
    assert [keys[i] for i in range(len(rows))] == rows
    assert keys[1:3] == tuple(rows[1:3])
    ordered = sorted(
        rows, key=lambda key: [(part is None, 0 if part is None else part) for part in key]
    )
    assert [rows[i] for i in keys.order()] == ordered


def test_order_has_missing_names_last_and_equal_names_as_they_stand() -> None:
    rows = [("b", 2), (None, 1), ("a", None), ("a", 3), ("b", -1), (None, None), ("a", 3)]
    assert Keys.of(rows, 2).order().tolist() == [3, 6, 2, 4, 0, 1, 5]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array([3, None, 5], pa.int32()), [3, None, 5]),
        (pa.array([3, 2**64 - 1], pa.uint64()), [3, 2**64 - 1]),
        (pa.array([255], pa.uint8()), [255]),
        (pa.array(["a", None, ""]), ["a", None, ""]),
        (pa.array(["a", None], pa.large_string()), ["a", None]),
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array([True, None]), [True, None]),
        (pa.array([date(2020, 1, 2), None]), [date(2020, 1, 2), None]),
        (pa.array([Decimal(5), None], pa.decimal128(38, 0)), [Decimal(5), None]),
        (pa.array([], pa.int64()), []),
    ],
)
def test_columns_of_arrow(column: Any, values: list[Any]) -> None:
    found = KeyColumn.of_arrow(pa.chunked_array([column])).tolist()
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize("kind", ["integer", "text", "boolean", "date"])
@pytest.mark.parametrize(
    "values",
    [
        range(5),
        range(10, 0, -3),
        range(2**63 - 1, 2**63 + 2),
        [3, 1, 2**63, -(2**63)],
        [3, None, float("nan")],
        np.array([3, 1], np.int16),
        np.array([2**64 - 1, 1], np.uint64),
        np.array([3.0, 1.0]),
        np.array(["a", "b"]),
        [np.int64(3), 4],
        [True, False],
        ["a", "b", ""],
        ["12", "-7"],
        ["a" * 2000, "é" * 2000],
        ["a" * 5000],
        ["\ud800"],
        [date(2020, 1, 1)],
        ["2020-01-01", None],
    ],
    ids=repr,
)
def test_all_at_once_is_one_by_one(kind: str, values: Any) -> None:
    """A column of public names is checked and converted as each of them by itself."""

    def attempt(work: Any) -> Any:
        try:
            return [(type(value), value) for value in work()]
        except Exception as error:
            return type(error), str(error)

    one = attempt(lambda: [key_value(v, kind, "g", i) for i, v in enumerate(values)])
    assert attempt(lambda: key_column(values, kind, "g").tolist()) == one


@pytest.mark.enumeration
@pytest.mark.parametrize("letter", ["a", "é", "€", "😀"])
def test_the_longest_name_is_measured_in_bytes(letter: str) -> None:
    """Also if all names are checked at once, and whatever its letters are."""
    whole = LONGEST // len(letter.encode())
    padded = letter * (whole - 1) + "a" * (LONGEST - (whole - 1) * len(letter.encode()))
    assert len(padded.encode()) == LONGEST
    assert key_column([padded, "b"], "text", "g").tolist() == [padded, "b"]
    for names in ([f"{padded}a"], [f"{padded}a", "b"], [letter * (whole + 1)]):
        with pytest.raises(OptionError, match="up to 4096 bytes") as told:
            key_column(names, "text", "g")
        assert letter * 5 not in str(told.value)


def test_a_group_that_is_not_there_is_no_other_group() -> None:
    keys = Keys([KeyColumn.of(["a", "b"])])
    assert [keys[i] for i in (0, 1, -1, -2)] == [("a",), ("b",), ("b",), ("a",)]
    for place in (2, 3, -3):
        with pytest.raises(IndexError, match="2 groups"):
            keys[place]


def test_a_moment_is_no_date() -> None:
    """It would be compared with dates, and equal none of them."""
    for moment in (datetime(2020, 1, 1), datetime(2020, 1, 1, 12)):
        with pytest.raises(OptionError, match="give dates such as"):
            key_value(moment, "date", "g")


def test_values_that_walk_along_an_array_are_a_column() -> None:
    array = np.arange(3)
    for values in (array, array.flat, pa.array(array), pa.chunked_array([array])):
        assert is_column(values)
    for values in ([1], (1,), range(3), {1: 2}, "abc", iter([1])):
        assert not is_column(values)


@pytest.mark.parametrize(("step", "direct"), [(1, True), (4, True), (5, False), (2**40, False)])
def test_a_table_is_not_much_longer_than_its_keys(step: int, direct: bool) -> None:
    """Keys that lie far apart are looked up without one: it would not fit into memory."""
    keys = Keys([KeyColumn.of([step * i for i in range(1000)])])
    places = Places(keys)
    assert places.direct == direct
    assert places.find(keys).tolist() == list(range(1000))


def test_one_group_without_a_name() -> None:
    assert len(NAMELESS) == 1
    assert list(NAMELESS) == [()]
    assert NAMELESS[0] == ()
