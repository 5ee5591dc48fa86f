"""Data of libraries that are too old is refused before the charge, with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pytest

import hourglass as hg
from hourglass.read.source import is_recent

ASK: dict[str, Any] = {"bounds": (0, 4), "epsilon": 60}


def refused(folder: Path, data: Any, *column: str) -> str:
    """The message, after which nothing is charged."""
    budget = hg.create_budget(str(folder / "ledger.db"), "b", epsilon=100)
    with pytest.raises(hg.DataError) as caught:
        hg.mean(data, *column, budget=budget, **ASK)
    assert budget.balance().charges == 0
    return str(caught.value)


@pytest.mark.parametrize(
    ("version", "recent"),
    [("20.0.0", True), ("20.1.dev3+g1", True), ("19.9.9", False), ("9.30", False), ("100", True)],
)
def test_versions_are_compared_as_numbers(version: str, recent: bool) -> None:
    library: Any = type("Library", (), {"__version__": version})
    assert is_recent(library, (20, 0)) == recent


def test_an_old_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0]})
    monkeypatch.setattr(pl, "__version__", "1.39.3")
    assert hg.mean(frame, "x", **ASK).count == 3
    told = refused(tmp_path, frame.lazy(), "x")
    assert "a lazy frame needs polars 1.40 or later, and 1.39.3 is" in told


@pytest.mark.parametrize("rows", [0, 200])
@pytest.mark.parametrize("kinds", [("string_view", "string"), ("string", "string_view")])
@pytest.mark.parametrize("given", ["dataset", "glob"])
def test_views_in_files(
    given: str, kinds: tuple[str, str], rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB crashes at those that an old PyArrow reads: they are refused, even without rows."""
    for i, (kind, size) in enumerate(zip(kinds, (2, rows), strict=True)):
        names = pa.array([f"a long name, number {j}" for j in range(size)])
        table = pa.table({"g": names.cast(getattr(pa, kind)()), "x": pa.nulls(size, pa.float64())})
        pyarrow.feather.write_feather(table, str(tmp_path / f"{i}.arrow"), "uncompressed")
    data: Any = str(tmp_path / "*.arrow")
    if given == "dataset":
        data = pyarrow.dataset.dataset([data.replace("*", str(i)) for i in (0, 1)], format="ipc")
    monkeypatch.setattr(pa, "__version__", "24.0.0")
    with pytest.raises(hg.DataError, match="column 'g' of type string_view needs pyarrow 25"):
        hg.count(data, by="g", delta=1e-6, epsilon=1)
    assert hg.count(data, epsilon=60).count == 2 + rows
    assert hg.mean(data, "x", **ASK).count == 0


def test_text_of_pandas_is_not_read_as_objects() -> None:
    """Before version 3, pandas stores it in an array that is one of objects to NumPy."""
    for storage in ("python", "pyarrow"):
        text = pd.Series(["1", "2"], dtype=pd.StringDtype(storage))
        with pytest.raises(hg.DataError, match="cannot be averaged"):
            hg.mean(text, **ASK)
