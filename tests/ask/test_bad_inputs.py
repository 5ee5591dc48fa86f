"""Bad inputs, through Python and through the command: outcome, message, exit code.

E is a typed error before anything is charged or read (exit code 2), N a missing value, OK an
answer. Every case is asked with a budget, whose balance shows whether it was charged.
"""

from __future__ import annotations

import csv
import json
import math
import pickle
import sqlite3
import subprocess
import sys
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import date
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.cli.output import as_options
from hourglass.core.exact import exact_delta, exact_epsilon, exact_number
from hourglass.core.keys import key_value
from hourglass.core.limits import Bounds, Grid
from hourglass.ledger import Budget, create_budget
from hourglass.noise.bits import SECURE, SeededBits
from tests.tools import command

pytestmark = pytest.mark.attack

GOOD: dict[str, Any] = {"bounds": (0, 10), "epsilon": 1}


@pytest.fixture
def budget(tmp_path: Path) -> Budget:
    return create_budget(str(tmp_path / "b.db"), "b", epsilon=100)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("age,clinic\n1,north\n2,south\n7,north\n")
    return path


def ask(path: Path, *more: object, bits: Any = SECURE, **options: Any) -> Any:
    """``hourglass mean`` with valid options, except for those given."""
    given_ = {"bounds": (0, 10), "epsilon": 1, **options}
    words: list[object] = []
    for name, value in given_.items():
        if value is not None:
            words += [f"--{name}", *(value if isinstance(value, tuple) else [value])]
    ledger = path.parent / "b.db"
    account = ("--budget", "b", "--ledger", ledger) if ledger.exists() else ()
    return command("mean", path, *(more or ("age",)), *words, *account, bits=bits)


# --- epsilon, bounds, grid: E -------------------------------------------------------------

EPSILONS = [
    "0",
    "-1",
    "nan",
    "inf",
    "-inf",
    "abc",
    "",
    "1e-30",
    "1e9",
    "1/0",
    "0x1",
    "1e999999",
    "True",
]
BOUNDS = [("5", "5"), ("7", "3"), ("nan", "1"), ("0", "inf"), ("-inf", "0"), ("a", "b")]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon(epsilon: str, visits: Path, budget: Budget) -> None:
    with pytest.raises(hg.EpsilonError, match="epsilon="):
        hg.mean([1.0], bounds=(0, 1), epsilon=epsilon, budget=budget)
    told = ask(visits, epsilon=epsilon)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("hourglass: --epsilon ")
    assert budget.balance().spent.epsilon == 0


@pytest.mark.parametrize(
    "epsilon", [None, True, False, 1j, [1], math.nan, math.inf, Decimal("sNaN")]
)
def test_epsilon_of_other_types(epsilon: Any) -> None:
    with pytest.raises(hg.EpsilonError):
        hg.mean([1.0], bounds=(0, 1), epsilon=epsilon)


def test_a_tenth_is_a_tenth(visits: Path, budget: Budget) -> None:
    assert hg.mean([1.0], bounds=(0, 1), epsilon=0.1, budget=budget).epsilon == Fraction(1, 10)
    assert ask(visits, epsilon="0.1").code == 0
    assert budget.balance().spent.epsilon == Fraction(1, 5)


@pytest.mark.slow
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_bounds(bounds: tuple[str, str], visits: Path, budget: Budget) -> None:
    told = ask(visits, bounds=bounds)
    assert (told.code, told.out) == (2, "")
    assert "bound" in told.err
    ends = [float(end) if end not in "ab" else end for end in bounds]
    with pytest.raises(hg.BoundsError):
        hg.mean([1.0], bounds=ends, epsilon=1, budget=budget)
    assert budget.balance().spent.epsilon == 0


@pytest.mark.parametrize("bounds", [None, 5, "01", (1,), (0, 1, 2), (0, True), (0, None), (0, 1j)])
def test_bounds_of_other_shapes(bounds: Any) -> None:
    with pytest.raises(hg.BoundsError):
        hg.mean([1.0], bounds=bounds, epsilon=1)


def test_wide_bounds(visits: Path) -> None:
    assert -1.7e308 <= hg.mean([1.0], bounds=(-1.7e308, 1.7e308), epsilon=1).mean <= 1.7e308
    assert ask(visits, bounds=("-1.7e308", "1.7e308")).code == 0


@pytest.mark.parametrize("grid", [0, -1, 2**70])
def test_grid(grid: int, visits: Path, budget: Budget) -> None:
    with pytest.raises(hg.GridError, match="grid="):
        hg.mean([1.0], grid=grid, budget=budget, **GOOD)
    told = ask(visits, grid=grid)
    assert told.code == 2
    assert "grid" in told.err
    assert budget.balance().spent.epsilon == 0


def test_more_than_remains(tmp_path: Path, visits: Path) -> None:
    small = create_budget(str(tmp_path / "b.db"), "b", epsilon="0.5")
    with pytest.raises(hg.BudgetError, match=r"requested 1.*remaining"):
        hg.mean([1.0], budget=small, **GOOD)
    told = ask(visits)
    assert (told.code, told.out) == (3, "")
    assert "requested 1" in told.err
    assert "remaining" in told.err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"algorithm": "gauss"}, "algorithm"),
        ({"estimator": "median"}, "estimator"),
        ({"delta": "0"}, "delta"),
        ({"by": "clinic"}, "--keys"),
        ({"by": "clinic", "keys": "north", "delta": "1e-6"}, "--keys"),
        ({"keys": "north"}, "--by"),
        ({"engine": "oracle"}, "engine"),
        ({"format": "pdf"}, "format"),
        ({"missing": "x"}, "missing"),
        ({"missing": "99"}, "missing"),
        ({"parse": "roman"}, "parse"),
        ({"rows": "2"}, "--rows"),
        ({"person": "nobody"}, "nobody"),
        ({"by": "klinic", "keys": "a"}, "did you mean 'clinic'"),
        ({"output": "/no/such/folder/x.json"}, "output"),
    ],
    ids=str,
)
def test_options(options: dict[str, str], word: str, visits: Path, budget: Budget) -> None:
    told = ask(visits, **options)
    assert told.code == 2, told.err
    assert told.out == ""
    assert word in told.err
    assert budget.balance().spent.epsilon == 0


# --- cells: N and OK ----------------------------------------------------------------------

CELLS: list[tuple[Any, tuple[int, int]]] = [
    (math.nan, (0, 0)),
    (None, (0, 0)),
    (math.inf, (8, 1)),
    (-math.inf, (0, 1)),
    (-0.0, (0, 1)),
    (5e-324, (0, 1)),
    (2**53 + 1, (8, 1)),
    (2**70, (8, 1)),
    (-(2**70), (0, 1)),
    (Decimal("5"), (4, 1)),
    (Decimal("NaN"), (0, 0)),
    (np.float16(5), (4, 1)),
    (np.uint64(2**64 - 1), (8, 1)),
    (True, (1, 1)),
    (Fraction(5), (4, 1)),
    (pd.NA, (0, 0)),
]


@pytest.mark.parametrize(("cell", "moved"), CELLS, ids=lambda x: repr(x)[:24])
def test_cells(cell: Any, moved: tuple[int, int]) -> None:
    """What one cell adds to the noisy totals, with the noise held fixed."""
    noisy = [
        hg.mean(rows, bounds=(0.0, 10.0), epsilon=1, grid=8, bits=SeededBits(1)).noisy_totals
        for rows in ([3.0], [3.0, cell])
    ]
    cells = noisy[1].cells - noisy[0].cells
    assert (cells, (noisy[1].weight - noisy[0].weight) // 8) == moved


class Tensor:
    """An array of another library, whose elements are arrays as well."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return map(Tensor, self.values)


DATES = pd.Series([date(2026, 1, 1)])
WRONG: list[Any] = [
    "text",
    b"bytes",
    {"a": 1},
    5,
    None,
    np.array(["1", "2"]),
    np.array([1j]),
    np.ones((2, 2, 2)),
    np.array(["2026-01-01"], dtype="datetime64[D]"),
    pd.to_datetime(DATES),
    pd.Series(["a"], dtype="category"),
    pa.array([[1.0]]),
    pa.array(["1"]),
    pd.DataFrame({"a": [1.0]}),
    pd.DataFrame({"a": [1.0], "g": [1]}).groupby("g"),
    pd.DataFrame({"a": [1.0], "g": [1]}).groupby("g")["a"],
    pd.Series([1.0]).rolling(2),
    pl.DataFrame({"a": [1.0]}).group_by("a"),
    UserDict({1.0: 2.0}),
    StringIO("1\n"),
    csv.reader(["1"]),
    sqlite3.connect(":memory:").execute("SELECT 1.0"),
    Tensor([1.0]),
]


@pytest.mark.parametrize("values", WRONG, ids=lambda x: type(x).__name__)
def test_what_is_no_column(values: Any, budget: Budget) -> None:
    with pytest.raises(hg.DataError):
        hg.mean(values, budget=budget, **GOOD)
    grouped = type(values).__module__.startswith(("pandas.core.groupby", "pandas.api", "polars"))
    if grouped or isinstance(values, Mapping):
        with pytest.raises(hg.DataError, match="has no rows"):
            hg.count(values, budget=budget, epsilon=1)
    assert budget.balance().spent.epsilon == 0


@pytest.mark.parametrize("values", [[], [math.nan] * 3, [1.0], iter([1.0, 2.0])])
def test_little_data_is_answered(values: Any) -> None:
    assert 0 <= hg.mean(values, **GOOD).mean <= 10


# --- typed columns in files, both ways ---------------------------------------------------

TYPED: list[tuple[pa.Array, tuple[Any, Any], str | None]] = [
    (pa.array([True, False, None]), (0, 1), None),
    (pa.array([True, False]), (0, 10), "do not fit a column of booleans"),
    (pa.array(["1", "2"]), (0, 10), "parse='real'"),
    (pa.array(["a", "b"]).dictionary_encode(), (0, 10), "is not numeric"),
    (pa.array([date(2026, 1, 1)]), (0, 10), "is not numeric"),
    (pa.array([[1.0]]), (0, 10), "is not numeric"),
    (pa.array([{"a": 1.0}]), (0, 10), "is not numeric"),
    (pa.array([b"1"]), (0, 10), "is not numeric"),
    (pa.array([1.0, 2.0]).dictionary_encode(), (0, 10), None),
    (pa.array(np.array([1.0], dtype=np.float16)), (0, 10), None),
    (pa.array([Decimal("1.5"), None], pa.decimal128(38, 10)), (0, 10), None),
    (pa.array([2**64 - 1], pa.uint64()), (0, 2**64 - 1), None),
    (pa.array([2**53 + 1]), (0, 2**53 + 1), None),
    (pa.array([1.0, math.nan, math.inf, -math.inf, -0.0, 5e-324]), (0, 10), None),
    (pa.array([], pa.float64()), (0, 10), None),
    (pa.array([None, None], pa.float64()), (0, 10), None),
    (pa.array([1.0]), (0, 10), None),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "bounds", "told"), TYPED, ids=lambda x: str(getattr(x, "type", x))[:30]
)
def test_typed_columns(
    cells: pa.Array, bounds: tuple[Any, Any], told: str | None, tmp_path: Path, budget: Budget
) -> None:
    """OK: answered within the bounds. E: the same message both ways, and nothing charged."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": cells}), path)
    shown = ask(path, bounds=bounds)
    if told is None:
        assert shown.code == 0
        assert shown.err.startswith("hourglass: charged epsilon 1 to 'b' as 'charge-1'; ")
        assert shown.err.count("\n") == 1
        found = hg.mean(path, "age", bounds=bounds, epsilon=1, budget=budget)
        assert float(bounds[0]) <= found.mean <= float(bounds[1])
        assert budget.balance().spent.epsilon == 2
        return
    with pytest.raises(hg.RequestError, match=told) as caught:
        hg.mean(path, "age", bounds=bounds, epsilon=1, budget=budget)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == f"hourglass: {as_options(str(caught.value))}\n"
    assert budget.balance().spent.epsilon == 0


def test_integers_past_2_to_the_53_are_exact(tmp_path: Path) -> None:
    """One step apart, where doubles can no longer distinguish them, with the noise held fixed."""
    path = tmp_path / "t.parquet"
    bounds = (2**63, 2**63 + 8)
    cells = []
    for value in (2**63 + 1, 2**63 + 2):
        pq.write_table(pa.table({"age": pa.array([value], pa.uint64())}), path)
        told = ask(path, bounds=bounds, grid=8, format="json", bits=SeededBits(1))
        assert told.code == 0, told.err
        cells.append(json.loads(told.out)["noisy_totals"]["cells"])
        found = hg.mean(path, "age", bounds=bounds, epsilon=1, grid=8, bits=SeededBits(1))
        assert found.noisy_totals.cells == cells[-1]
    assert cells[1] - cells[0] == json.loads(told.out)["noisy_totals"]["parts"]


def test_text_that_is_declared(tmp_path: Path, budget: Budget) -> None:
    """Unparsable text is missing: the totals are those of the rows that can be read."""
    path = tmp_path / "t.parquet"
    answers = set()
    for cells in (["1", "2"], ["1", "abc", "2", "", None]):
        pq.write_table(pa.table({"age": cells}), path)
        found = hg.mean(path, "age", parse="real", bits=SeededBits(1), **GOOD)
        told = ask(path, parse="real", format="csv", bits=SeededBits(1))
        assert (told.code, told.err.count("\n")) == (0, 2)  # a hint, and what was charged
        assert told.err.startswith("hourglass: The column is text.")
        assert "\nhourglass: charged epsilon 1 to 'b'" in told.err
        answers.add((found.mean, found.sum, told.out))
    assert len(answers) == 1


def test_no_bounds_and_no_epsilon(visits: Path, budget: Budget) -> None:
    for name in ("bounds", "epsilon"):
        told = ask(visits, **{name: None})
        assert (told.code, told.out) == (2, "")
        assert f"--{name}" in told.err
        with pytest.raises(hg.RequestError, match=name):
            hg.mean(visits, "age", budget=budget, **(GOOD | {name: None}))
    assert budget.balance().spent.epsilon == 0


def test_bounds_of_dates_for_numbers(visits: Path, budget: Budget) -> None:
    told = ask(visits, bounds=("2026-01-01", "2026-02-01"))
    assert (told.code, told.out) == (2, "")
    assert "is not a number" in told.err
    with pytest.raises(hg.BoundsError, match="is not a number"):
        hg.mean(visits, "age", bounds=(date(2026, 1, 1), date(2026, 2, 1)), epsilon=1)
    assert budget.balance().spent.epsilon == 0


def test_a_generator_is_consumed_once() -> None:
    taken = []

    def numbers() -> Iterator[float]:
        for i in range(200_000):
            taken.append(i)
            yield 5.0

    found = hg.mean(numbers(), **GOOD)
    assert taken == list(range(200_000))
    assert abs(found.count - 200_000) < 200


def test_a_library_that_is_not_installed(
    tmp_path: Path, budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the extra to install."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": [1.0]}), path)
    monkeypatch.setitem(sys.modules, "datafusion", None)
    with pytest.raises(hg.DataError, match=r"hourglass-dp\[datafusion\]"):
        hg.mean(path, "age", engine="datafusion", budget=budget, **GOOD)
    told = ask(path, engine="datafusion")
    assert (told.code, told.out) == (2, "")
    assert "hourglass-dp[datafusion]" in told.err
    assert budget.balance().spent.epsilon == 0


def test_an_interrupt_after_the_charge(visits: Path, budget: Budget, monkeypatch: Any) -> None:
    """The charge stands, and the request's key is in a note (the command: tests/ledger)."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hourglass.read.engines.duckdb.DuckDB.run", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        hg.mean(visits, "age", budget=budget, **GOOD)
    (charge,) = budget.history()
    assert any(charge.request in note for note in caught.value.__notes__)
    assert budget.balance().spent.epsilon == 1


# --- columns and files --------------------------------------------------------------------


def test_a_column_that_is_not_there(visits: Path, budget: Budget) -> None:
    with pytest.raises(hg.DataError, match="did you mean 'age'"):
        hg.mean(visits, "aeg", budget=budget, **GOOD)
    told = ask(visits, "aeg")
    assert told.code == 2
    assert "did you mean 'age'" in told.err
    assert budget.balance().spent.epsilon == 0


def test_two_columns_of_one_name(tmp_path: Path, budget: Budget) -> None:
    nested = pa.array([{"x": [1.0]}])  # the names inside a nested column do not matter
    table = pa.Table.from_arrays(
        [nested, pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["s", "x", "x", "y"]
    )
    pq.write_table(table, tmp_path / "twice.parquet")
    (tmp_path / "twice.csv").write_text("s,x,x,y\n0,1,2,3\n")
    with pytest.raises(hg.DataError, match="2 columns"):
        hg.mean(table, "x", budget=budget, **GOOD)
    for path in (tmp_path / "twice.parquet", tmp_path / "twice.csv"):
        with pytest.raises(hg.DataError, match="2 columns"):
            hg.mean(path, "x", budget=budget, **GOOD)
        told = ask(path, "x")
        assert (told.code, told.out) == (2, "")
        assert "2 columns of that name" in told.err
        assert budget.balance().spent.epsilon == 0
    assert ask(tmp_path / "twice.parquet", "y").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ['"; DROP TABLE t; --', "🙂", "a b", "x'y", "select"])
def test_odd_names_are_quoted(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({name: [1.0, 2.0]}), path)
    assert 0 <= hg.mean(path, name, **GOOD).mean <= 10
    assert ask(path, name).code == 0


def test_files_that_are_none(tmp_path: Path) -> None:
    truncated = tmp_path / "cut.parquet"
    pq.write_table(pa.table({"age": [1.0] * 1000}), truncated)
    truncated.write_bytes(truncated.read_bytes()[:200])
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "a.xyz").write_text("age\n1\n")
    for path in (truncated, tmp_path / "folder.csv", tmp_path / "a.xyz", tmp_path / "none.csv"):
        with pytest.raises(hg.HourglassError):
            hg.mean(path, "age", **GOOD)
        told = ask(path)
        assert told.code in (2, 4), (path, told)
        assert told.out == ""
        assert told.err.startswith("hourglass: ")
        assert len(told.err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["age\n1\n2,3,4\n5\n", "\ufeffage\n1\n2\n", "age\n1\nbad\x00row\n2\n", "age\n", "age\n\n\n"],
    ids=["ragged", "BOM", "NUL", "header alone", "empty lines"],
)
def test_odd_csv(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    assert ask(path).code == 0
    assert 0 <= hg.mean(path, "age", **GOOD).mean <= 10


def test_keys(visits: Path) -> None:
    """Groups that are not listed are dropped; listed groups without rows get noise."""
    found = hg.mean(visits, "age", by="clinic", keys=["north", "west"], **GOOD)
    assert list(found) == ["north", "west"]
    told = ask(visits, by="clinic", keys="north,west", format="csv")
    assert [line.split(",")[0] for line in told.out.splitlines()] == ["clinic", "north", "west"]


@pytest.mark.slow
def test_a_missing_key_only_if_declared(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": [1.0, 2.0], "clinic": ["north", None]}), path)
    keys = tmp_path / "keys.parquet"
    for names in (["north"], ["north", None]):
        assert list(hg.mean(path, "age", by="clinic", keys=names, **GOOD)) == names
        pq.write_table(pa.table({"clinic": pa.array(names, pa.string())}), keys)
        told = ask(path, "age", by="clinic", **{"keys-from": keys, "format": "csv"})
        assert told.code == 0, told.err
        assert len(told.out.splitlines()) == 1 + len(names)


def test_a_column_of_persons_that_is_not_there(visits: Path, budget: Budget) -> None:
    with pytest.raises(hg.DataError, match="nobody"):
        hg.mean(visits, "age", unit=hg.per_person("nobody"), budget=budget, **GOOD)
    told = ask(visits, person="nobody")
    assert (told.code, told.out) == (2, "")
    assert "nobody" in told.err
    assert budget.balance().spent.epsilon == 0


# --- the parsers, by Hypothesis -----------------------------------------------------------

TEXT = st.one_of(
    st.text(max_size=30),
    st.from_regex(r"[-+ ]?\d{0,4}[./]?\d{0,4}([eE][-+]?\d{0,7})?", fullmatch=True),
)
ANYTHING = st.one_of(
    TEXT, st.floats(), st.integers(), st.booleans(), st.none(), st.decimals(), st.fractions(),
    st.complex_numbers(), st.binary(max_size=9), st.lists(st.integers(), max_size=3),
)  # fmt: skip


@pytest.mark.slow
@given(ANYTHING)
def test_any_epsilon_is_exact_or_a_typed_error(value: Any) -> None:
    for parse, low, high in ((exact_epsilon, Fraction(1, 10**6), 100), (exact_delta, 0, 1)):
        try:
            found = parse(value)
        except hg.EpsilonError:
            continue
        assert isinstance(found, Fraction)
        assert low <= found <= high
        assert found == exact_number(value)
        if isinstance(value, float):
            assert found == Fraction(Decimal(repr(value)))


@pytest.mark.slow
@given(ANYTHING, ANYTHING, st.one_of(st.none(), st.integers(-5, 2**40)))
def test_any_bounds_are_bounds_or_a_typed_error(lower: Any, upper: Any, cells: int | None) -> None:
    try:
        bounds = Bounds.of((lower, upper))
        grid = Grid.choose(bounds, cells)
    except (hg.BoundsError, hg.GridError):
        return
    assert bounds.lower < bounds.upper
    assert grid.cell(bounds.lower) == 0
    assert grid.cell(bounds.upper) == grid.cells
    for value in (math.inf, -math.inf, 0.0, float(bounds.lower), float(bounds.upper), 1e300):
        cell = grid.cell(value) if math.isfinite(value) or not grid.own else 0
        assert cell is not None
        assert 0 <= cell <= grid.cells


def of_persons(**options: int) -> Any:
    return hg.mean(FEW, "x", bounds=(0, 1), epsilon=1, unit=hg.per_person("k", **options))


FEW = pa.table({"x": [0.5], "k": [1]})
HUGE = 10**5000
NUMBERS: dict[str, Callable[[int], Any]] = {
    "epsilon": lambda n: hg.mean(FEW, "x", bounds=(0, 1), epsilon=n),
    "bound": lambda n: hg.mean(FEW, "x", bounds=sorted((0, n)), epsilon=1),
    "grid": lambda n: hg.mean(FEW, "x", bounds=(0, 1), epsilon=1, grid=n),
    "missing": lambda n: hg.mean(FEW, "x", bounds=(0, 1), epsilon=1, missing=n),
    "outside": lambda n: hg.mean(FEW, "x", bounds=(0, 1), epsilon=1, outside=n),
    "keys": lambda n: hg.count(FEW, by="k", keys=[1, n], epsilon=1),
    "delta": lambda n: hg.count(FEW, by="k", delta=n, epsilon=1),
    "rows": lambda n: of_persons(rows=n),
    "groups": lambda n: of_persons(groups=n),
}


@pytest.mark.parametrize("option", NUMBERS)
@pytest.mark.parametrize("number", [HUGE, -HUGE], ids=["positive", "negative"])
def test_numbers_of_thousands_of_digits(option: str, number: int) -> None:
    """Python refuses to print them; the error is ours all the same, and names the option."""
    with pytest.raises(hg.HourglassError, match=option):
        NUMBERS[option](number)


@given(ANYTHING, st.sampled_from(["text", "integer", "boolean", "date"]))
def test_any_key_is_a_value_or_a_typed_error(value: Any, kind: str) -> None:
    try:
        found = key_value(value, kind, "g")
    except hg.OptionError:
        return
    expected = {"text": str, "integer": int, "boolean": bool, "date": date}[kind]
    assert found is None or isinstance(found, expected)


@pytest.mark.parametrize("absent", [None, math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_missing_keys(absent: Any) -> None:
    assert key_value(absent, "text", "g") is None


FUZZ = """
import sys, atheris
with atheris.instrument_imports(include=["hourglass"]):
    import hourglass as hg
    from hourglass.core.limits import Bounds, Grid
    from hourglass.core.keys import key_value
    from hourglass.core.exact import exact_delta, exact_epsilon
    from hourglass.core.limits import Scale
from pathlib import Path

FILE = Path(sys.argv.pop(1))
PARSERS = [
    exact_epsilon,
    exact_delta,
    lambda text: Grid.choose(Bounds.of(text.split(","))),
    lambda text: Grid.choose(Bounds.of([float(part) for part in text.split(",")])),
    lambda text: Scale.of([float(part) for part in text.split(",")]),
    *(lambda text, kind=kind: key_value(text, kind, "g")
      for kind in ("text", "integer", "boolean", "date")),
]

def one(data):
    given = atheris.FuzzedDataProvider(data)
    which = given.ConsumeIntInRange(0, 255)
    if which == 255:  # parsers are fast, a file is not
        FILE.write_bytes(b"x\\n1\\n" + given.ConsumeBytes(200))
        hg.mean(FILE, "x", bounds=(0, 1), epsilon=1)  # rows by the null policy: no error at all
        return
    which %= len(PARSERS)
    text = given.ConsumeUnicode(40)
    try:
        PARSERS[which](text)
    except hg.RequestError:
        pass
    except ValueError:  # float() of what is no number; ours are all RequestErrors
        if which not in (3, 4):
            raise

atheris.Setup(sys.argv, one)
atheris.Fuzz()
"""


@pytest.mark.long
def test_fuzz(tmp_path: Path) -> None:
    """Coverage-guided (hourglass-dp[fuzz]): a value or one of our errors, and every file is
    read."""
    pytest.importorskip("atheris", reason="atheris is not installed: hourglass-dp[fuzz]")
    words = [sys.executable, "-c", FUZZ, str(tmp_path / "t.csv"), "-max_total_time=60"]
    told = subprocess.run(words, capture_output=True, check=False, text=True, cwd=tmp_path)
    assert told.returncode == 0, told.stderr[-2000:]
    assert "Done" in told.stderr


# --- messages: the argument, the rule, the remedy ---------------------------------------------

FRAME = pd.DataFrame({"age": [1.0, 2.0], "txt": ["1", "2"], "city": ["a", "b"], "year": [1, 2]})


@pytest.mark.parametrize(
    ("data", "options", "told"),
    [
        (FRAME, {"epsilon": None}, "epsilon is missing; give the privacy parameter"),
        (FRAME, {"bounds": ("0", "100")}, "bounds: the lower bound is not a number but text"),
        (FRAME, {"missing": 400}, "is outside the bounds (0, 10); give a value between"),
        (FRAME, {"bounds": (0, math.inf)}, "bounds: the upper bound inf is not finite"),
        (
            FRAME,
            {"column": "age > 40"},
            "For a computed column, give hg.expression('age",
        ),
        (FRAME, {"by": "city", "keys": ["a"], "delta": 1e-6}, "keys= and delta= exclude each"),
        (FRAME, {"by": "city", "keys": [1, 2]}, "keys[0] is a value of type int, but column"),
        (FRAME, {"by": "year", "keys": ["a"]}, "keys[0] is text, but column 'year' holds whole"),
        (FRAME, {"by": ["city", "year"], "keys": ["a"]}, "as in keys=[('a', 1)]"),
        (FRAME, {"by": ["city", "city"], "delta": 1e-6}, "by: name 2 of the list repeats name 1"),
        (FRAME.groupby("city")["age"], {"column": None}, "give the frame itself, with by="),
        (Tensor([1.0]), {"column": None}, "type Tensor are not a column; give numpy.asarray"),
        (np.float64(1), {"column": None}, "type float64 are not a column; give numbers: a list"),
        (FRAME["age"], {}, "data is a single column, which has no name; leave out column="),
        (np.zeros(2, [("age", "i8")]), {}, "type ndarray is not a table; make it a frame"),
        (["a.csv", "b.csv"], {}, "not a table; for several files, give one glob, such as 'visits-"),
        (
            np.zeros(2, [("age", "i8")]),
            {"column": None},
            "give one of its fields, as in data['age']",
        ),
        (pd.DataFrame(), {}, "the table has no columns"),
        (FRAME["txt"].astype("string"), {"column": None}, "hg.mean(series.to_frame(), 'name', pa"),
        (
            FRAME,
            {"unit": "city"},
            "is not a unit; give hg.per_row() or hg.per_person('city')",
        ),
        (
            FRAME,
            {"by": hg.expression("year + 1"), "keys": [1]},
            "add the expression to the table as a column",
        ),
        ("sqlite:///d.sqlite", {}, "is the URL of a database; give hg.sql(url, table)"),
    ],
)
def test_what_is_wrong_and_the_remedy(data: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(hg.RequestError) as caught:
        hg.mean(data, **{"column": "age", **GOOD, **options})
    assert told in str(caught.value)


def test_a_clause_about_text_is_for_text() -> None:
    with pytest.raises(hg.OptionError) as caught:
        hg.count(FRAME, by=["city", "year"], keys=[(2022, "Rome")], epsilon=1)
    assert "UTF-8" not in str(caught.value)
    with pytest.raises(hg.OptionError, match="bytes of UTF-8"):
        hg.count(FRAME, by="city", keys=["a" * 5000], epsilon=1)


def test_whole_numbers_are_looked_up_in_the_text_of_a_file(tmp_path: Path) -> None:
    """A CSV file declares no types, so there they are not a mistake."""
    (tmp_path / "t.csv").write_text("g\n1\n2\n")
    assert list(hg.count(tmp_path / "t.csv", by="g", keys=[1, 2], epsilon=1)) == ["1", "2"]


def test_a_database_given_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "d.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x REAL)")
    with pytest.raises(hg.DataError, match=r"is a database; give hg\.sql\('sqlite:///"):
        hg.mean(path, "x", **GOOD)
    with pytest.raises(hg.OptionError, match=r"sqlite:///file\.db or duckdb:///"):
        hg.sql(str(path), "t")


def test_a_header_that_is_read_otherwise(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age;city\n1;a\n")
    with pytest.raises(hg.DataError, match=r"names 1 column; fields are .* must be rewritten"):
        hg.mean(tmp_path / "t.csv", "income", **GOOD)
    (tmp_path / "t.csv").write_text(" Age (years) ,b\n1,2\n")
    with pytest.raises(hg.DataError, match="must match exactly, spaces included"):
        hg.mean(tmp_path / "t.csv", "Age", **GOOD)
    with pytest.raises(hg.DataError, match=r"did you mean ' Age \(years\) '"):
        hg.mean(tmp_path / "t.csv", "age_(years)", **GOOD)


def test_bounds_of_one_column_by_name() -> None:
    assert hg.mean(FRAME, "age", bounds={"age": (0, 9)}, epsilon=1).bounds == Bounds(0, 9)
    one, two = (
        mean_question(FRAME, "age", epsilon=1, bounds=bounds, missing=missing).text
        for bounds, missing in (((0, 9), 3), ({"age": (0, 9)}, {"age": 3}))
    )
    assert one == two
    with pytest.raises(hg.OptionError, match="did you mean 'age'"):
        hg.mean(FRAME, "age", bounds={"agee": (0, 9)}, epsilon=1)


def test_a_count_is_of_rows() -> None:
    count: Any = hg.count
    with pytest.raises(hg.DataError, match="count takes no bounds="):
        count(FRAME, epsilon=1, bounds=(0, 1))
    with pytest.raises(hg.DataError, match="count takes no column"):
        count(FRAME, "age", epsilon=1)
    calls: dict[str, Any] = {
        "mean": hg.mean, "sum": hg.sum, "count": hg.count, "find_bounds": hg.find_bounds
    }  # fmt: skip
    for name, call in calls.items():
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected"):
            call(FRAME, epsilon=1, nonsense=1)


@pytest.mark.parametrize(
    ("call", "values", "options", "told"),
    [
        (hg.mean, ["age", (0, 9), 1], {}, "mean(data, 'age', bounds=(0, 120), epsilon=1)"),
        (hg.sum, ["age", (0, 9), 1], {}, "sum() takes only data and column without a name; name"),
        (hg.find_bounds, ["age", 1], {}, "as in find_bounds(data, 'age', epsilon=1)"),
        (hg.mean, ["age"], {"eps": 1}, "mean() got an unexpected keyword argument 'eps'; did you "),
        (hg.mean, ["age"], {"eps": 1}, "did you mean 'epsilon'?"),
        (hg.mean, ["age"], {"lower": 1, "epsilon": 1}, "did you mean 'bounds'?"),
        (hg.mean, ["age"], {"groupby": "city"}, "did you mean 'by'?"),
        (hg.sum, ["age"], {"spread": True}, "'spread'; its options are bounds, epsilon, where,"),
        (hg.find_bounds, ["age"], {"lower": 1}, "'lower'; its options are epsilon, where, scale"),
        (hg.count, [], {"confidence": 0.9}, "'confidence'; its options are epsilon, where, by, k"),
        (hg.count, ["city"], {}, 'use where="city IS NOT NULL"'),
        (hg.count, [FRAME["city"]], {}, 'use where="age IS NOT NULL"'),
        (hg.count, [], {"spread": True}, "count takes no spread="),
    ],
)
def test_a_call_that_does_not_fit(call: Any, values: list[Any], options: Any, told: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(FRAME, *values, **options)
    assert told in str(caught.value)


def test_public_calls_can_be_pickled() -> None:
    for call in (hg.mean, hg.sum, hg.count, hg.find_bounds):
        assert pickle.loads(pickle.dumps(call)) is call


def test_a_scale_that_does_not_increase() -> None:
    with pytest.raises(hg.BoundsError, match=r"sort the candidates, each once, as in scale="):
        hg.find_bounds(FRAME, "age", epsilon=1, scale=[3, 2, 1])


def test_what_replaces_a_missing_integer_is_an_integer() -> None:
    """Caught: a value that is rounded to a cell without a word."""
    data = pa.table({"n": pa.array([1, None, 3]), "x": [0.5, None, 1.0]})
    with pytest.raises(hg.OptionError, match=r"missing=2\.5 is not a whole number"):
        hg.mean(data, "n", bounds=(0, 9), epsilon=1, missing=2.5)
    assert hg.mean(data, "n", bounds=(0, 9), epsilon=1, missing=2.0).missing == 2
    assert hg.mean(data, "x", bounds=(0, 9), epsilon=1, missing=2.5).missing == 2.5
