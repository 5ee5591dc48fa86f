"""Files that another process changes between the charge and the reading."""

from __future__ import annotations

import gzip
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.errors import SourceError
from hourglass.ledger import Budget

CANARY = "CANARY51a7"
ROWS = 500


def write(path: Path, name: str = "x") -> None:
    """A table with a column of this name."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: [1.0] * ROWS, "g": [CANARY] * ROWS}), path)
        return
    text = f"{name},g\n" + f"1,{CANARY}\n" * ROWS
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


CHANGES: dict[str, Callable[[Path], object]] = {
    "removed": os.unlink,
    "emptied": lambda path: os.truncate(path, 0),
    "replaced": lambda path: write(path, CANARY),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param("t.csv", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.csv.gz", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "duckdb", marks=pytest.mark.engine("duckdb")),
        pytest.param("t.parquet", "datafusion", marks=pytest.mark.engine("datafusion")),
    ],
)
def test_a_file_that_changes_after_the_charge(
    name: str, engine: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no answer about no rows, or about another column, and no further charge."""
    path = tmp_path / name
    write(path)
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=1)
    reserve = Budget.reserve

    def changing(self: Budget, *arguments: Any, **options: Any) -> Any:
        found = reserve(self, *arguments, **options)
        CHANGES[change](path)
        return found

    def ask() -> Any:
        return hg.mean(
            path, "x", bounds=(0, 2), epsilon=1, engine=engine, budget=budget, request="k"
        )

    monkeypatch.setattr(Budget, "reserve", changing)
    with pytest.raises(SourceError) as caught:
        ask()
    assert "request='k'" in caught.value.__notes__[0]
    assert CANARY not in "".join(traceback.format_exception(caught.value))
    monkeypatch.undo()
    write(path)
    assert ask().count > 0
    assert budget.balance().charges == 1
