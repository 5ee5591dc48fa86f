"""A column of the data in place of a name or a choice: refused, unquoted, and at no charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hourglass as hg

CANARY = "Zanzibar-4711"
TABLE = pd.DataFrame({"town": [CANARY, "Rome"] * 5, "x": range(10)})
COLUMNS = [
    TABLE["town"],
    TABLE["town"][:1],
    TABLE["town"].to_numpy(dtype=object)[:1],
    np.array(CANARY),
    pl.Series([CANARY]),
    pa.array([CANARY]),
]
BY: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1, "by": "town"}
kinds = pytest.mark.parametrize("column", COLUMNS, ids=lambda each: type(each).__name__)


@kinds
def test_a_list_of_keys_holds_names(column: Any) -> None:
    """Caught: the only cell of a column taken for a name, and an error of pandas for the others."""
    for keys in ([column], ["Rome", column], hg.public([column])):
        with pytest.raises(hg.OptionError, match="is a value of type") as caught:
            hg.mean(TABLE, "x", keys=keys, **BY)
        assert CANARY not in str(caught.value)
    found = hg.mean(TABLE, "x", keys=[np.str_("Rome")], **BY)  # a scalar is a name
    assert list(found) == ["Rome"]


@kinds
def test_a_total_takes_a_list_of_groups(column: Any) -> None:
    """Caught: its message quoted the first cell of the column."""
    for found in (
        hg.mean(TABLE, "x", keys=["Rome"], **BY),
        hg.count(TABLE, by="town", keys=["Rome"], epsilon=1),
    ):
        for keys in (column, [column]):
            with pytest.raises(hg.OptionError, match="is not a") as caught:
                found.total(keys)
            assert CANARY not in str(caught.value)


@pytest.mark.parametrize("option", ["bits", "explain"])
@pytest.mark.parametrize("given", [TABLE["town"], 7, "yes", None])
def test_options_that_are_no_such_thing_cost_nothing(
    tmp_path: Path, option: str, given: Any
) -> None:
    """Caught: the charge was made, and the answer lost for ever."""
    budget = hg.create_budget(tmp_path / "budget.db", "b", epsilon=1)
    terms: dict[str, Any] = {"epsilon": "1/2", "budget": budget, "request": "r", option: given}
    asked = {"bounds": (0, 9)} | terms
    for call in (
        lambda: hg.mean(TABLE, "x", **asked),
        lambda: hg.sum(TABLE, "x", **asked),
        lambda: hg.count(TABLE, **terms),
        lambda: hg.find_bounds(TABLE, "x", **terms),
    ):
        with pytest.raises(hg.OptionError, match=f"^{option}="):
            call()
    assert budget.history() == []


def test_a_confidence_that_is_a_column() -> None:
    """Caught: an error of Python that it cannot be hashed."""
    found = hg.mean(TABLE, "x", bounds=(0, 9), epsilon=1)
    with pytest.raises(hg.OptionError, match=r"^confidence=<Series> is not a number"):
        found.interval(TABLE["x"])  # type: ignore[arg-type]
