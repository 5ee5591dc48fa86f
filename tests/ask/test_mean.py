"""Invalid questions about arrays: a typed error, before any value is read."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hourglass as hg


class Untouchable:
    """A column that fails the test if it is read."""

    def __iter__(self) -> Any:
        raise AssertionError("the data was looked at before the request was checked")


def ask(**changes: Any) -> hg.Release:
    settings: dict[str, Any] = {"data": Untouchable(), "bounds": (0, 1), "epsilon": 1}
    release: hg.Release = hg.mean(**(settings | changes))
    return release


@pytest.mark.parametrize(
    "epsilon",
    [0, -1, float("nan"), float("inf"), "abc", True, 1e-30, 1e9, None, [1], "1e999999999", b"1"],
)
def test_epsilon(epsilon: Any) -> None:
    with pytest.raises(hg.EpsilonError, match="epsilon="):
        ask(epsilon=epsilon)


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 10), Fraction(1, 10)),
        ("1/10", Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int8(3), Fraction(3)),
        (1, Fraction(1)),
        (1e-6, Fraction(1, 10**6)),
    ],
)
def test_epsilon_is_exact(epsilon: Any, exact: Fraction) -> None:
    assert hg.mean([0.5], bounds=(0, 1), epsilon=epsilon).epsilon == exact


@pytest.mark.parametrize(
    "bounds",
    [
        None,
        (1, 1),
        (2, 1),
        (float("nan"), 1),
        (0, float("inf")),
        (0, 1, 2),
        (0,),
        "01",
        5,
        ("0", "1"),
        (True, False),
        (0, 10**400),
        (Decimal("NaN"), 1),
        (0, 1j),
        (2**60, 2**60 + 1),
    ],
)
def test_bounds(bounds: Any) -> None:
    with pytest.raises(hg.BoundsError, match=r"bound"):
        ask(bounds=bounds)


@pytest.mark.parametrize("grid", [0, -1, 2**70, 2**32 + 1, 1.5, "8", True])
def test_grid(grid: Any) -> None:
    with pytest.raises(hg.GridError, match="grid="):
        ask(grid=grid)


def test_a_grid_too_fine_for_the_doubles() -> None:
    with pytest.raises(hg.GridError, match="too fine"):
        ask(bounds=(0.0, 5e-324))
    with pytest.raises(hg.GridError, match="too fine"):
        ask(bounds=(0.0, 1e-300))
    assert hg.mean([0.0], bounds=(0.0, 1e-300), grid=1024, epsilon=1).grid == 1024


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": "gaussian"},
        {"estimator": "median"},
        {"estimator": "posterior", "algorithm": "laplace"},
        {"estimator": "jeffreys", "algorithm": "swap"},
        {"missing": "keep"},
        {"missing": None},
        {"missing": True},
        {"by": 5},
        {"by": ["g", 5]},
        {"budget": "ledger.db"},
    ],
)
def test_options(changes: dict[str, Any]) -> None:
    with pytest.raises(hg.OptionError, match=f"{next(iter(changes))}="):
        ask(**changes)


def test_missing_value_out_of_bounds() -> None:
    with pytest.raises(hg.BoundsError, match="missing=2"):
        ask(missing=2)


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        b"abc",
        5,
        {"a": 1},
        np.float64(3),
        np.array(3.0),
        np.zeros((2, 2, 2)),
        np.array(["1", "2"]),
        np.array([1 + 1j]),
        np.array(["2020-01-01"], dtype="M8[D]"),
        np.zeros(2, dtype=[("a", "i4")]),
        np.ma.masked_array(np.zeros((2, 2, 2))),
        pd.Series(["a", "b"], dtype="string"),
        pd.Series(["a", "b"], dtype="category"),
        pd.Series(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")),
        pd.DataFrame({"a": [1]}),
        pl.Series(["a"]),
        pl.Series([[1, 2]]),
        pl.DataFrame({"a": [1]}),
        pl.LazyFrame({"a": [1]}),
        pa.array(["a"]),
        pa.array([[1]]),
        pa.array([1], type=pa.date32()),
        pa.table({"a": [1]}),
        None,
        object(),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_kinds_without_a_mean(values: Any) -> None:
    with pytest.raises(hg.DataError):
        ask(data=values)


@pytest.mark.parametrize("bounds", [(0, 2), (-1, 1), (1, 2)])
def test_booleans_want_the_bounds_zero_and_one(bounds: Any) -> None:
    with pytest.raises(hg.BoundsError, match="booleans"):
        ask(data=np.array([True]), bounds=bounds)


def test_the_error_tree() -> None:
    for error in (hg.EpsilonError, hg.BoundsError, hg.GridError, hg.DataError, hg.OptionError):
        assert issubclass(error, hg.RequestError)
        assert issubclass(error, ValueError)
        assert error.exit_code == 2
    assert hg.BudgetError.exit_code == 3
    assert hg.SourceError.exit_code == 4
    assert issubclass(hg.RequestError, hg.HourglassError)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, "0.9", True, float("nan")])
def test_confidence(confidence: Any) -> None:
    release = hg.mean([0.5], bounds=(0, 1), epsilon=1)
    with pytest.raises(hg.OptionError, match="confidence="):
        release.interval(confidence)


def test_interval_of_nothing_known() -> None:
    with pytest.raises(hg.OptionError, match="of='median'"):
        hg.mean([0.5], bounds=(0, 1), epsilon=1).interval(of="median")
