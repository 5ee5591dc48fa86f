"""Columns of Python objects: every cell is a text or missing."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.question import mean_question


class Mute:
    """An object that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("a canary of 4c1f")


class Half(str):
    """A text that is not a plain ``str``."""


class Odd:
    def __str__(self) -> str:
        return "odd"


#: Cells, and the names that they are.
CELLS: list[tuple[Any, str | None]] = [
    ("a", "a"), ("ü", "ü"), ("a\0b", "a\0b"), ("x" * 4096, "x" * 4096), ("x" * 4097, None),
    ("\ud800", None), ("a\udfff", None), (None, None), (float("nan"), None),
    (np.float32("nan"), None), (pd.NA, None), (pd.NaT, None), (np.ma.masked, None),
    (Mute(), None), (Odd(), "odd"), (Half("half"), "half"), (Half("\ud800"), None),
    (5, "5"), (2**70, str(2**70)), (True, "True"), (1.5, "1.5"), (b"\xff", "b'\\xff'"),
    (Decimal("sNaN"), "sNaN"), (1j, "1j"), (datetime.date(2026, 3, 1), "2026-03-01"),
    (datetime.timedelta(1), "1 day, 0:00:00"), ((1, 2), "(1, 2)"), ([1], "[1]"),
    ({"k": 1}, "{'k': 1}"), (uuid.UUID(int=1), str(uuid.UUID(int=1))),
]  # fmt: skip
PLAIN = ["a"] * 3 + ["b"] * 2


def series(*cells: Any) -> Any:
    values = np.empty(len(PLAIN) + len(cells), dtype=object)
    values[: len(PLAIN)] = PLAIN
    for i, cell in enumerate(cells):
        values[len(PLAIN) + i] = cell
    return pd.Series(values, dtype=object)


def categories(*cells: Any) -> Any:
    """The same as categories, which pandas requires to be hashable and distinct."""
    found = pd.Index(series(*cells).drop_duplicates(), dtype=object)
    codes = [*(found.get_loc(name) for name in PLAIN), *range(len(found) - len(cells), len(found))]
    return pd.Series(pd.Categorical.from_codes(codes, found))


def counts(column: Any, **more: Any) -> Any:
    frame = pd.DataFrame({"x": 1.0, "k": column})
    return hg.mean(frame, "x", bounds=(0, 1), epsilon=60, **more)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "name"), CELLS, ids=range(len(CELLS)))
def test_a_cell(cell: Any, name: str | None) -> None:
    keys = ["a", "b", name] if name not in ("a", None) else ["a", "b"]
    expected = [*PLAIN, *([name] if name is not None else [])]
    found = counts(series(cell), by="k", keys=keys)
    assert [found[key].count for key in keys] == [expected.count(key) for key in keys]
    assert counts(series(cell), by="k", keys=["a", None])[None].count == int(name is None)
    assert counts(series(cell), unit=hg.per_person("k")).count == len(set(expected))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "texts"),
    [
        (["\ud800"], []),
        ([5], ["5"]),
        (["5", 5], ["5", "5"]),
        ([Mute()], []),
        ([b"\xff"], ["b'\\xff'"]),
        (["a\0b"], ["a\0b"]),
    ],
    ids=range(6),
)
def test_categories(cells: list[Any], texts: list[str]) -> None:
    """Categories come from the data, so none may make the question fail, before the charge or
    after."""
    column = categories(*cells)
    names = [*PLAIN, *texts]
    found = counts(column, by="k", keys=[*dict.fromkeys(names)])
    assert {key: found[key].count for key in found} == {n: names.count(n) for n in names}
    assert counts(column, unit=hg.per_person("k")).count == len(set(names))


#: Categories of every type, and the names that they are as keys.
TYPED: list[tuple[Any, list[Any]]] = [
    (pd.Index([3, 1, 2], dtype="int64"), [3, 1, 2]),
    (pd.Index([3, 1, 2], dtype="uint8"), [3, 1, 2]),
    (pd.Index([3, 1, 2], dtype="Int32"), [3, 1, 2]),
    (pd.Index([3, 1, 2], dtype=pd.ArrowDtype(pa.int16())), [3, 1, 2]),
    (pd.Index([True, False]), [True, False]),
    (pd.Index([True, False], dtype="boolean"), [True, False]),
    (pd.Index(["b", "a"], dtype="str"), ["b", "a"]),
    (pd.Index(["b", "a"], dtype="string[pyarrow]"), ["b", "a"]),
    (pd.Index(["b", "a"], dtype=pd.ArrowDtype(pa.string())), ["b", "a"]),
    (pd.interval_range(0, 3), ["(0, 1]", "(1, 2]", "(2, 3]"]),
    (pd.period_range("2024-01", periods=2, freq="M"), ["2024-01", "2024-02"]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("index", "keys"), TYPED, ids=range(len(TYPED)))
def test_a_missing_category_changes_no_type(index: Any, keys: list[Any]) -> None:
    """pandas makes floats or objects of such a column if one cell is missing."""
    plans = set()
    for codes in ([0, 1, 1], [0, 1, -1, 1], [-1], []):
        column = pd.Series(pd.Categorical.from_codes(codes, index))
        found = counts(column, by="k", keys=keys)
        assert [found[key].count for key in keys] == [codes.count(i) for i in range(len(keys))]
        plans.add(counts(column, by="k", delta=1e-6, explain=True))
        assert counts(column, by="k", delta=0.5).by == ("k",)
    assert len(plans) == 1


def test_numbers_among_categories_are_averaged_as_such() -> None:
    for dtype, own in (("int64", True), ("Int8", True), ("float64", False), ("bool", True)):
        bounds = (0, 1) if dtype == "bool" else (0, 9)
        for codes in ([0, 1, 1], [0, 1, -1, 1]):
            column = pd.Categorical.from_codes(codes, pd.Index([0, 1], dtype=dtype))
            frame = pd.DataFrame({"x": column})
            question = mean_question(frame, "x", bounds=bounds, epsilon=1)
            assert question.mechanism.grid.own == own
            assert question.read().count.tolist() == [3]


@pytest.mark.slow
def test_no_categories_at_all() -> None:
    """As after the removal of the only row with a name."""
    for cells in ([None], [None, None], []):
        for dtype in (object, "str"):
            column = pd.Series(cells, dtype=pd.CategoricalDtype(pd.Index([], dtype=dtype)))
            assert counts(column, by="k", keys=["a"])["a"].count == 0
            assert counts(column, by="k", delta=1e-6).groups == ()


def test_text_that_python_keeps() -> None:
    for dtype in ("string[python]", object):
        column = pd.Series([*PLAIN, "\ud800", None], dtype=dtype)
        assert counts(column, by="k", keys=["a"])["a"].count == 3
        assert counts(column, unit=hg.per_person("k")).count == 2


def test_numbers_among_objects() -> None:
    column = series("7", 1, 2.5, "\ud800", Mute(), None, " 3 ", b"4")
    found = hg.mean(
        pd.DataFrame({"x": column}), "x", bounds=(0, 8), epsilon=60, parse="real", grid=16
    )
    assert found.count == 4
    assert found.sum == pytest.approx(7 + 1 + 2.5 + 3)


def test_the_plan_does_not_depend_on_the_objects() -> None:
    """The types are known before a cell is looked at."""
    for made in (series, categories):
        plans = {
            hg.mean(
                pd.DataFrame({"x": 1.0, "k": made(cell)}),
                "x",
                bounds=(0, 1),
                epsilon=1,
                by="k",
                delta=1e-6,
                explain=True,
            )
            for cell in ("c", 5, "\ud800", b"\xff")
        }
        assert len(plans) == 1


def test_nothing_is_changed_in_the_frame() -> None:
    frame = pd.DataFrame({"x": 1.0, "k": series("\ud800", 5)})
    before = list(frame["k"])
    hg.mean(frame, "x", bounds=(0, 1), epsilon=1, by="k", keys=["a"])
    assert list(frame["k"]) == before


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b", "ü"]), pl.String], ids=str)
def test_polars(dtype: Any) -> None:
    frame = pl.DataFrame({"x": [1.0] * 5, "k": pl.Series(["a", "b", None, "ü", "a"], dtype=dtype)})
    found = hg.mean(frame, "x", bounds=(0, 1), epsilon=60, by="k", keys=["a", "b", "ü", None])
    assert [release.count for release in found.values()] == [2, 1, 1, 1]
    once = hg.mean(frame, "x", bounds=(0, 1), epsilon=60, unit=hg.per_person("k"))
    assert once.count == 3


# --- beside Arrow data, and under any index ------------------------------------------------------

#: Columns that make DuckDB convert the whole frame by PyArrow, and one that does not.
BESIDE: dict[str, Any] = {
    "arrow text": lambda n: pd.Series(["a"] * n, dtype=pd.ArrowDtype(pa.string())).array,
    "arrow numbers": lambda n: pd.Series([1] * n, dtype=pd.ArrowDtype(pa.int64())).array,
    "categories of arrow numbers": lambda n: pd.Categorical.from_codes(
        [0] * n, categories=pd.Index([1], dtype=pd.ArrowDtype(pa.int64()))
    ),
    "plain": lambda n: np.ones(n),
}
#: A cell that is read as a number, and the number.
ODD: list[tuple[Any, int]] = [
    (52, 1), ("41", 1), ("unknown", 0), (None, 0), (b"x", 0), (2**70, 1), (Mute(), 0), ("", 0),
    (True, 0), ("\ud800", 0), (float("nan"), 0), ([1], 0),
]  # fmt: skip


@pytest.mark.attack
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(("cell", "counts"), ODD, ids=range(len(ODD)))
def test_a_cell_beside_arrow_data(beside: str, cell: Any, counts: int) -> None:
    """Objects are text, whatever they are: one of them decides nothing about the others."""
    cells = np.empty(3, dtype=object)
    cells[:] = [30, "41", cell]
    frame = pd.DataFrame({"age": pd.Series(cells, dtype=object), "k": BESIDE[beside](3)})
    ask: dict[str, Any] = {"bounds": (0, 100), "epsilon": 60, "where": "k IS NOT NULL"}
    assert hg.mean(frame, "age", parse="real", **ask).count == 2 + counts
    with pytest.raises(hg.DataError, match=r"of type object, .*; if its objects are numbers"):
        hg.mean(frame, "age", **ask)
    only = frame[2:]
    assert hg.mean(only, "age", parse="real", **ask).count == counts


@pytest.mark.attack
@pytest.mark.parametrize("beside", BESIDE)
def test_the_index_is_not_read(beside: str) -> None:
    cells = ["r", 3, 2.5, b"r", 2**70, "\ud800", None, pd.Timestamp("2026-01-01"), Mute()]
    for last in cells:
        index = pd.Index(["r", "s", last], dtype=object, name="x")
        frame = pd.DataFrame({"x": 1.0, "k": BESIDE[beside](3)}, index=index)
        found = hg.mean(frame, "x", bounds=(0, 1), epsilon=60, where="k IS NOT NULL")
        assert found.count == 3
        assert frame.index is index


def test_booleans_of_any_byte() -> None:
    """NumPy takes any byte for a boolean; all but zero are true, in one group."""
    frame = pd.DataFrame({"b": np.frombuffer(bytes([0, 1, 2, 255, 0]), np.bool_), "x": 1.0})
    found = hg.count(frame, by="b", keys=[True, False], epsilon=60)
    assert (found[True].count, found[False].count) == (3, 2)
    assert hg.count(frame, where="NOT b", epsilon=60).count == 2
    secret = mean_question(frame, "x", bounds=(0, 1), epsilon=1, by="b", delta=1e-6).read()
    assert len(secret.keys) == 2


class _Unhashable(type):
    def __hash__(cls) -> int:
        raise TypeError("a secret")


class _NoHash(metaclass=_Unhashable):
    pass


class _NoClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("a secret")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


@pytest.mark.parametrize("kind", ["hash", "class"])
def test_an_object_that_fails_whatever_is_asked_of_it_is_missing(kind: str) -> None:
    poison: Any = _NoHash() if kind == "hash" else _NoClass()
    cells = np.array([1.0, None, 3.0], dtype=object)
    cells[1] = poison
    masked = np.ma.array(cells, mask=[False, True, False])
    ask: dict[str, Any] = {"bounds": (0, 4), "epsilon": 100}
    for data in (list(cells), cells, masked, pd.Series(cells), iter(cells)):
        assert hg.mean(data, **ask).mean == pytest.approx(2.0, abs=1e-3)
    texts = np.array(["1", None, "3"], dtype=object)
    texts[1] = poison
    table = pd.DataFrame({"x": texts, "y": [1.0, 1.0, 1.0]})
    assert hg.mean(table, "x", parse="real", **ask).mean == pytest.approx(2.0, abs=1e-3)
    assert hg.mean(table, "y", by="x", keys=["1", "3"], **ask).counts.tolist() == [1, 1]
