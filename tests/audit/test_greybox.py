"""Recorded noise on neighbouring data: what may differ, and what is caught if it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.audit import (
    Path,
    RecordingBits,
    ReplayError,
    audit_greybox,
    greybox_finding,
    neighbours,
)
from hourglass.audit.around import keys_finding
from hourglass.audit.conditions import audit_conditions
from hourglass.audit.greybox import compare
from hourglass.audit.paths import memory_paths, table_paths
from hourglass.audit.suite import audit_around, audit_keys
from hourglass.mechanisms.threshold import threshold

PATHS = memory_paths(Fraction(1), (0.0, 10.0), None)
PAIRS = list(neighbours(0.0, 10.0))


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_columns_in_memory(path: Path) -> None:
    found = greybox_finding(path, PAIRS)
    assert found.holds, found.detail


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["laplace", "staircase", "shifted", "independent"])
@pytest.mark.parametrize("grid", [1, 5, None])
def test_every_algorithm(algorithm: str, grid: int | None) -> None:
    paths = [memory_paths(Fraction(1), (-2.0, 10.0), grid, algorithm)[2]]
    assert all(found.holds for found in audit_greybox(paths, (-2.0, 10.0)))


def test_bits_repeat_and_nothing_else_does() -> None:
    recorded = RecordingBits()
    law = hg.Hourglass("1/10", 2**32)
    first = law.sample(100, bits=recorded)
    again = law.sample(100, bits=recorded.replayed())
    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    assert recorded.replayed().words(100).tolist() == recorded.portions[0].tolist()
    with pytest.raises(ReplayError):
        law.sample(99, bits=recorded.replayed())
    assert not recorded.replayed().finished


def real(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    return PATHS[2].run(values, bits)


def words_by_data(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    bits.words(1 + len(values))
    return real(values, bits)


def fewer_words(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    found = real(values, bits)
    if len(values) % 2 == 0:
        bits.words(1)
    return found


def other_grid(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    return {**real(values, bits), "grid": 2**32 if len(values) < 2 else 2**31}


def row_count(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    return {**real(values, bits), "rows": len(values)}


def noise_from_elsewhere(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    real(values, bits)
    return real(values, hg.SecureBits())


def half_a_cell(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
    found = dict(real(values, bits))
    totals = found["noisy_totals"]
    return found | {"noisy_totals": totals | {"cells": totals["cells"] + len(values)}}


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (words_by_data, "number of random words"),
        (fewer_words, "random words"),
        (other_grid, "grid differs"),
        (row_count, "rows differs"),
        (noise_from_elsewhere, "noise from elsewhere"),
        (half_a_cell, "moved by a part of a cell"),
    ],
)
def test_what_is_caught(run: Any, problem: str) -> None:
    found = greybox_finding(Path("wrong", run, rebuild=lambda _: {}), PAIRS)
    assert not found.holds
    assert problem in found.detail


def test_a_value_that_does_not_follow_is_caught() -> None:
    answer = real([1.0], hg.SeededBits(1))
    changed = {**answer, "mean": answer["mean"] + 1e-9}
    assert compare(PATHS[2], answer, answer) == []
    assert compare(PATHS[2], answer, changed) == ["mean does not follow from the noisy totals"]


def test_two_records_are_too_many() -> None:
    found = greybox_finding(PATHS[2], [("two more", [1.0], [1.0, 2.0, 3.0])])
    assert "the count moved by 2" in found.detail
    assert found.figures["pair"] == "two more"


@pytest.mark.long  # ``hourglass audit all`` runs it on a coarse grid, in test_cli.py
@pytest.mark.parametrize("number", range(8))
def test_tables(number: int, tmp_path: Any) -> None:
    """Files, frames, a relation and a database: the same pairs, the same verdict."""
    paths = table_paths(Fraction(1), (0.0, 10.0), None, tmp_path)
    assert len(paths) == 8
    found = greybox_finding(paths[number], PAIRS)
    assert found.holds, found.detail


@pytest.mark.long  # ``hourglass audit all`` runs it in test_cli.py
def test_filters_and_expressions(tmp_path: Any) -> None:
    """A row that divides by zero or overflows in the filter or the value reveals nothing."""
    found = list(audit_conditions(Fraction(1), tmp_path))
    assert len(found) == 16
    assert [each.detail for each in found if not each.holds] == []


def test_nan_among_numbers_in_parquet(tmp_path: Any) -> None:
    """The minimum and maximum in a file's statistics ignore NaN; DuckDB uses them even to fold
    ISNAN."""
    import duckdb
    import pyarrow
    import pyarrow.parquet

    file = str(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"x": [0.0, 5.0, math.nan]}), file)
    for data in (file, duckdb.connect().read_parquet(file)):
        request = mean_question(data, "x", bounds=(0.0, 10.0), epsilon=1)
        found: Any = request.read()
        assert found.totals.cells.tolist() == [2**31]
        assert found.totals.count.tolist() == [2]


@pytest.mark.long  # ``hourglass audit all`` runs it in test_cli.py
def test_what_stands_around() -> None:
    assert all(found.holds for found in audit_around(Fraction(1)))


def test_thresholds_of_secret_keys() -> None:
    assert all(found.holds for found in audit_keys(Fraction(1)))
    law, delta = hg.Hourglass(1, 8), Fraction(1, 10**6)
    least = threshold(law, delta)
    assert keys_finding(law, delta, least).holds
    assert not keys_finding(law, delta, least - 1).holds
