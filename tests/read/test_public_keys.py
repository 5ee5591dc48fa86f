"""Public keys of any value: whether a question is answered never depends on the rows."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import date
from itertools import combinations, product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.read.source import Field
from hourglass.read.sql.steps import MOST_COMBINED, MOST_KEYS, are_listed
from tests.read.corpus import PERSON

ENDS = [sign * (2**bits + by) for bits in (7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 200)
        for by in (-1, 0, 1) for sign in (1, -1)]  # fmt: skip
#: For each type of a column: a value that it has, and public keys at the ends of all types.
KINDS: dict[str, tuple[pa.DataType, Any, list[Any]]] = {
    "int8": (pa.int8(), 5, ENDS),
    "int64": (pa.int64(), 5, ENDS),
    "uint64": (pa.uint64(), 2**64 - 1, ENDS),
    "date": (pa.date32(), date(2026, 2, 28), [date.min, date.max, date(1969, 12, 31)]),
    "text": (pa.string(), "a", ["", "'", '"', "\\", "%", "A", "a ", "ä", "😀" * 1024, "-- a"]),
    "boolean": (pa.bool_(), True, [False]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", [None, hg.per_person(PERSON, rows=1, groups=2)], ids=str)
def test_the_rows_do_not_decide_whether_a_question_is_answered(
    engine_place: Any, kind: str, unit: Any, request: pytest.FixtureRequest
) -> None:
    """A constant that an engine cannot express could fail only if there is a row to compare it
    with: then the error would tell with certainty whether someone is in the data."""
    dtype, value, others = KINDS[kind]
    engine = request.node.callspec.params["engine_place"]
    if kind == "uint64" and engine in ("sqlite", "postgres", "spark"):
        pytest.skip("the engine has no such type")
    if engine == "sqlite" and kind in ("date", "boolean"):
        pytest.skip("SQLite has no such type")
    absent = [key for key in others if key != value]
    table = pa.table(
        {
            "k": pa.array([value, None, value], dtype),
            "x": [1.0, 1.0, 3.0],
            PERSON: ["ann", "bob", "bob"],
        }
    )
    placed = engine_place(table)
    every = [*absent, value]
    asked = [("x < 5", every, 2), ("x < 2", absent, 0), ("x > 5", every, 0)]
    if engine == "spark":  # where a question takes long, and where the first one compares all keys
        asked = asked[:1] if unit else asked[:2]
    for where, keys, count in asked:
        found = mean_question(
            **placed, column="x", bounds=(0, 4), epsilon=1, by="k", keys=keys, where=where,
            unit=unit,
        ).read()  # fmt: skip
        counts = dict(zip((key for (key,) in found.keys), found.totals.count, strict=True))
        assert {key: n for key, n in counts.items() if n} == ({value: count} if count else {})


#: Public keys of two columns: all combinations of some values, or only some, with and without NULL.
COMBINED: dict[str, list[tuple[Any, ...]]] = {
    "all": [(a, b) for a in ("x", "y") for b in (1, 2, 3)],
    "some": [("x", 1), ("x", 2), ("y", 2), ("z", 3), ("z", 1)],
    "null": [("x", None), (None, 1), (None, None), ("y", 2)],
    "many": [("x", 1), *((f"v{i}", i) for i in range(5, 4 + MOST_COMBINED))],
    "one": [("x", 1)],
}


@pytest.mark.parametrize("keys", COMBINED)
@pytest.mark.parametrize("rows", [None, 1])
def test_groups_that_are_not_public_take_no_place(
    engine_place: Any, keys: str, rows: int | None, request: pytest.FixtureRequest
) -> None:
    """Everyone is in one public group, and in every group of these values that is not public."""
    if "spark" in request.node.callspec.params.values() and rows and keys not in ("some", "null"):
        pytest.skip("on Spark two kinds of keys with both units, the others with one")
    public = COMBINED[keys]
    values = [(a, b) for a in ("x", "y", "z", "w", None) for b in (1, 2, 3, 4, None)]
    others = [pair for pair in values if pair not in public]
    found = [
        (*pair, 1.0, f"p{i}") for i in range(36) for pair in [public[i % len(public)], *others]
    ]
    a, b, x, persons = map(list, zip(*found, strict=True))
    table = pa.table({"a": a, "b": pa.array(b, pa.int64()), "x": x, PERSON: persons})
    unit = hg.per_person(PERSON, rows=rows)
    asked: dict[str, Any] = {"bounds": (0, 4), "epsilon": 1, "by": ["a", "b"], "keys": public}
    totals = mean_question(**engine_place(table), column="x", unit=unit, **asked).read()
    counts = dict(zip(totals.keys, totals.totals.count, strict=True))
    assert {key: n for key, n in counts.items() if n} == Counter(
        public[i % len(public)] for i in range(36)
    )


#: Two of these make up a key. Many keys have the same hash: NULL and the empty text differ in no
#: character, and neither do ("a|", "a") and ("a", "|a").
PARTS = [None, "", "|", "a", "a|", "|a"]


def check_the_order_of_groups(place: Any, rows: int | None) -> None:
    """For any two groups there is a person who has both and counts in one of them."""
    keys = list(product(PARTS, PARTS))
    persons = {f"p{i}": pair for i, pair in enumerate(combinations(keys, 2))}
    found = [(*key, 1.0, person) for person, pair in persons.items() for key in pair]
    names = ("a", "b", "x", PERSON)
    table = pa.table(dict(zip(names, map(list, zip(*found, strict=True)), strict=True)))

    def order(person: str, key: tuple[str | None, ...]) -> Any:
        text = "|".join(["hourglass", person, *(part or "" for part in key)])
        ties = [(part is None, part or "") for part in key]
        return hashlib.md5(text.encode()).hexdigest(), ties

    expected = Counter(
        min(pair, key=lambda key: order(person, key)) for person, pair in persons.items()
    )
    unit = hg.per_person(PERSON, rows=rows)
    asked: dict[str, Any] = {"bounds": (0, 4), "epsilon": 1, "by": ["a", "b"], "keys": keys}
    totals = mean_question(**place(table), column="x", unit=unit, **asked).read()
    counts = dict(zip(totals.keys, totals.totals.count, strict=True))
    assert {key: n for key, n in counts.items() if n} == expected


@pytest.mark.parametrize("rows", [None, 1])
def test_groups_of_the_same_hash_have_one_order(engine_place: Any, rows: int | None) -> None:
    check_the_order_of_groups(engine_place, rows)


@pytest.mark.parametrize("rows", [None, 1])
@pytest.mark.parametrize("order", ["ASC", "DESC"])
@pytest.mark.parametrize("nulls", ["NULLS FIRST", "NULLS LAST"])
def test_settings_do_not_change_the_order_of_groups(
    order: str, nulls: str, rows: int | None
) -> None:
    connection = duckdb.connect()
    connection.execute(f"SET default_order = '{order}'; SET default_null_order = '{nulls}'")
    check_the_order_of_groups(lambda table: {"data": connection.from_arrow(table)}, rows)


@pytest.mark.parametrize("keys", ["ab", "b", ""])
def test_a_string_is_not_taken_for_a_list_of_letters(keys: str) -> None:
    table = pa.table({"g": ["a", "b"], "x": [0.0, 1.0]})
    for ask in (hg.mean, hg.sum):
        with pytest.raises(hg.OptionError, match=f"keys='{keys}' is a string; give a list"):
            ask(table, "x", bounds=(0, 1), epsilon=1, by="g", keys=keys)
    with pytest.raises(hg.OptionError, match=f"keys='{keys}' is a string; give a list"):
        hg.count(table, epsilon=1, by="g", keys=keys)


def test_too_many_combinations_are_tested_by_column() -> None:
    by = (Field("a", "integer"), Field("b", "integer"))
    diagonal = [(i, i) for i in range(MOST_COMBINED + 1)]
    assert are_listed(by, diagonal) == []
    assert are_listed(by, [(i, 0) for i in range(MOST_KEYS + 1)]) == []
    (test,) = are_listed(by, diagonal[1:])
    assert test.count(" OR ") == MOST_COMBINED - 1
    assert are_listed(by, [(i, j) for i in range(500) for j in range(3)]) == [
        f'"a" IN ({", ".join(map(str, range(500)))})',
        '"b" IN (0, 1, 2)',
    ]
