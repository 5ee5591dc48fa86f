"""``hg.count``: rows and persons, counted exactly on every engine, with discrete Laplace noise."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.audit.exact import exact_audit, exact_finding
from hourglass.mechanisms.count import LaplaceCount, reach_of
from hourglass.mechanisms.threshold import threshold
from tests.read.places import Place
from tests.tools import command

TABLE = pa.table({
    "x": pa.array([1.0, None, float("nan"), 1e308, -5.0, 0.0, None, 2.0], pa.float64()),
    "g": pa.array(["a", "b", "a", None, "a", "b", "c", "b"], pa.string()),
    "who": pa.array([1, 1, 1, 2, 2, None, 3, 3], pa.int64()),
})  # fmt: skip
FRAME = TABLE.to_pandas()


def counted(data: Any, **options: Any) -> Any:
    """The exact counts; by group, those of the keys a, b, z and NULL."""
    question = count_question(data, epsilon=1, **options)
    found = question.read()
    return found.only.count if question.keys is None else question.keys.padded(found).count.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 8),
        ({"unit": hg.per_person("who")}, 3),
        ({"unit": hg.per_person("who", rows=2)}, 6),
        ({"by": "g", "keys": ["a", "b", "z", None]}, [3, 3, 0, 1]),
        ({"by": "g", "keys": ["a", "b"], "unit": hg.per_person("who", groups=2)}, [2, 2]),
        ({"by": "g", "keys": ["a", "b"], "unit": hg.per_person("who", rows=1, groups=2)}, [2, 2]),
        ({"by": ["g", "who"], "keys": [("a", 1), ("c", 3), ("b", None)]}, [2, 1, 1]),
    ],
    ids=str,
)
def test_the_same_counts_in_every_place(place: Place, options: dict[str, Any], wanted: Any) -> None:
    """Every row counts, whatever its cells contain; rows without a person are not counted as
    persons."""
    placed = place(TABLE)
    assert counted(placed["data"], engine=placed.get("engine"), **options) == wanted


@pytest.mark.slow
def test_a_person_counts_in_as_many_groups_as_the_unit_allows(place: Place) -> None:
    placed = place(TABLE)
    unit = hg.per_person("who")
    found = counted(placed["data"], engine=placed.get("engine"), unit=unit, by="g", keys=["a", "b"])
    assert sum(found) in (2, 3)  # two persons have rows in both; the third one is in b
    assert found == counted(TABLE, unit=unit, by="g", keys=["a", "b"])


def test_a_line_of_a_text_file_is_a_row(tmp_path: Path) -> None:
    """By the rule for text files, empty lines and repeated headers are not records."""
    text = b'x,g\n1,a\n\n,\n"1\n2,b,extra\nx,g\n\xff\n3'
    (tmp_path / "t.csv").write_bytes(text)
    assert counted(tmp_path / "t.csv") == 5
    assert counted(tmp_path / "t.csv", by="g", keys=["a", "b", "z"]) == [1, 1, 0]
    (tmp_path / "t.jsonl").write_text('{"g": "a"}\n\n[1]\nbroken\n{"g": "b", "x": 1}\n')
    assert counted(tmp_path / "t.jsonl") == 4
    assert counted(tmp_path / "t.jsonl", by="g", keys=["a", "b"]) == [1, 1]


def test_files_that_differ_in_what_is_not_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": ["a", None, "c"], "z": [1, 2, 3]}), tmp_path / "2.parquet")
    assert counted(tmp_path / "*.parquet") == 5


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ([1, None, "x", object()], 4),
        (iter("abc"), 3),
        ((i for i in range(5)), 5),
        (np.array(["a", "b"]), 2),
        (np.zeros((7, 2)), 7),
        ([np.zeros(3), np.ones(3)], 2),
        (pd.Series([None, 1.0]), 2),
        (pa.chunked_array([[1, None], [3]]), 3),
        (FRAME, 8),
        (FRAME.iloc[:0], 0),
    ],
    ids=lambda data: type(data).__name__,
)
def test_rows_in_memory(data: Any, rows: int) -> None:
    assert counted(data) == rows


# --- the law --------------------------------------------------------------------------------


@pytest.mark.enumeration
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 2)])
def test_a_record_moves_the_level_by_one(epsilon: Fraction) -> None:
    mechanism = LaplaceCount(epsilon)
    assert exact_audit(mechanism).holds
    assert not exact_finding(mechanism.lattice(), claimed=epsilon * Fraction(999, 1000)).holds


@pytest.mark.enumeration
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_intervals_are_as_narrow_as_the_law_allows(epsilon: Fraction, confidence: float) -> None:
    """The noise stays within the reach with the given confidence, but not within one less."""
    law = LaplaceCount(epsilon).law
    found = hg.Count(
        noisy_totals=hg.count([], epsilon=1).noisy_totals, epsilon=epsilon, delta=Fraction(0),
        unit="row", private=False, _algorithm=LaplaceCount(epsilon),
    )  # fmt: skip
    reach = reach_of(epsilon, 1 - Fraction(str(confidence)))
    noisy = found.noisy_totals.counts
    assert tuple(found.interval(confidence)) == (max(0, noisy - reach), max(0, noisy + reach))
    inside = [float(law.pmf(k)) for k in range(-reach, reach + 1)]
    assert sum(inside) >= confidence - 1e-12
    assert reach == 0 or sum(inside[1:-1]) < confidence


@pytest.mark.enumeration
def test_a_group_of_one_person_shows_with_probability_delta() -> None:
    for epsilon, delta in ((Fraction(1), Fraction(1, 10**6)), (Fraction(1, 4), Fraction(1, 500))):
        law = LaplaceCount(epsilon)
        t = threshold(law, delta, 2, 3)
        tail = [1 - sum(float(law.law.pmf(k)) for k in range(-400, e - 2)) for e in (t, t - 1)]
        assert tail[0] <= float(delta / 3) + 1e-12 < tail[1] + 1e-12
        assert float(law.count_tail(t - 2)) == pytest.approx(tail[0], abs=1e-12)
    assert float(law.count_tail(-3)) == pytest.approx(1 - float(law.count_tail(4)))


# --- answers --------------------------------------------------------------------------------


def test_secret_names_show_above_the_threshold() -> None:
    table = pd.DataFrame({"g": ["many"] * 500 + ["one"] + [None] * 400})
    found = hg.count(table, by="g", delta="1e-9", epsilon=1)
    assert list(found) == ["many"]
    assert found.threshold == threshold(LaplaceCount(Fraction(1)), Fraction(1, 10**9))
    assert abs(found["many"].count - 500) < 60  # P(|noise| >= this) < 1e-25


@pytest.mark.slow
def test_an_answer_in_every_form(tmp_path: Path) -> None:
    found = hg.count(TABLE, by="g", keys=["a", "b", "z"], epsilon=60, unit=hg.per_person("who"))
    assert "persons" in str(found).splitlines()[0]
    assert "Number of persons, each in one of their groups." in str(found)
    assert "each who counts once, in one group) added or removed" in str(found)
    assert found.counts.tolist() == [found[key].count for key in found]
    assert found["z"].interval() == hg.Interval(0, 0, 0.95, "count")
    frame = found.to_pandas(0.9)
    assert list(frame) == ["g", "count", "count_low", "count_high", "expected_error", "few"]
    assert frame["few"].tolist() == [low < 1 for low in frame["count_low"]]
    assert hg.Counts.from_dict(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()
    one = hg.count(FRAME, epsilon=60)
    assert hg.Count.from_dict(one.to_dict()) == one
    assert (one.count, one.private, repr(one)[:14]) == (8, True, "Count(count=8,")
    assert "discrete Laplace mechanism on the number of records" in str(one.statement())
    assert "clamped" not in str(found.statement()) + one.statement().yaml
    with pytest.raises(hg.OptionError, match=r"hg\.Counts\.from_dict"):
        hg.Count.from_dict(found.to_dict())
    for answer in (one, found):
        answer.plot(tmp_path / "c.png")
        assert (tmp_path / "c.png").stat().st_size > 5000


@pytest.mark.parametrize("groups", [{}, {"by": "g", "keys": ["a", "b"]}])
def test_stored_answers_come_back(tmp_path: Path, groups: dict[str, Any]) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=5)
    ask: dict[str, Any] = {"epsilon": 1, "budget": budget, "request": "k", **groups}
    one, two = (hg.count(TABLE, **ask) for _ in range(2))
    assert one.to_dict() == two.to_dict()
    assert budget.balance().spent.epsilon == 1
    with pytest.raises(hg.BudgetError, match="another question"):
        hg.mean(TABLE, "x", bounds=(0, 1), **ask)
    with pytest.raises(hg.BudgetError, match="another question"):
        hg.count(TABLE, **ask | {"unit": hg.per_person("who")})


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (FRAME, {}, "epsilon is missing"),
        (FRAME, {"epsilon": 1, "by": "h"}, "either keys= .* or delta="),
        (FRAME, {"epsilon": 1, "by": "h", "keys": ["a"]}, "no such column"),
        (FRAME, {"epsilon": 1, "keys": ["a"]}, "need groups"),
        ([1], {"epsilon": 1, "unit": hg.per_person("who")}, "list is not a table"),
        ([1], {"epsilon": 1, "by": "g", "keys": ["a"]}, "list is not a table"),
        ("nothing.parquet", {"epsilon": 1}, "no such file"),
        (b"rows", {"epsilon": 1}, "has no rows"),
        (7, {"epsilon": 1}, "has no rows"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_refused_costs_nothing(
    tmp_path: Path, data: Any, options: dict[str, Any], words: str
) -> None:
    budget = hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=5)
    with pytest.raises(hg.HourglassError, match=words):
        hg.count(data, budget=budget, **options)
    assert budget.balance().spent.epsilon == 0


def test_an_iterator_that_fails_reveals_nothing_about_its_rows() -> None:
    def rows() -> Any:
        yield 1
        raise ValueError("canary-7351842")

    with pytest.raises(hg.SourceError, match="cannot be counted") as caught:
        hg.count(rows(), epsilon=1)
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_the_command(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    told = command("count", path, "--epsilon", 60, "--by", "g", "--keys", "a,b,z", "--fewest", 3)
    assert told.code == 0, told.err
    marks = [line.split()[1:] for line in told.out.splitlines()[2:5]]
    few = ["too", "few", "records"]
    assert marks == [["3", "3", "3"], ["3", "3", "3"], ["0", "0", "0", *few]]
    told = command("count", path, "--epsilon", 60, "--person", "who", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(told.out))
    assert (row["count"], row["count_low"]) == ("3", "3")
    claim, picture = tmp_path / "c.yaml", tmp_path / "c.svg"
    asked = ("--format", "json", "--statement", claim, "--plot", picture, "--fewest", 9)
    told = command("count", path, "--epsilon", 60, *asked)
    assert json.loads(told.out)["few"] is True
    assert "Number of" not in claim.read_text()
    assert "number of records" in claim.read_text()
    assert picture.exists()
    assert "COUNT(t)" in command("count", path, "--epsilon", 1, "--explain").out
    assert command("count", path).code == 2


def test_each_element_of_a_list_is_a_row() -> None:
    """Whatever it is: the type of one element does not decide how the others are counted."""
    arrays: list[Any] = [np.zeros(100)] * 5
    for rows in (arrays, arrays[:1], [*arrays, None], [*arrays, np.zeros(99)], [*arrays, "x"]):
        assert counted(rows) == len(rows)
        assert counted(tuple(rows)) == len(rows)
    assert counted(np.zeros((7, 3))) == 7


def test_its_interval_says_its_kind_in_json() -> None:
    """As those of means do."""
    found = hg.count([1, 2, 3], epsilon=20)
    low, high = found.interval(0.9)
    kept = {"confidence": 0.9, "low": low, "high": high, "kind": "exact"}
    assert found.to_dict(0.9)["intervals"] == {"count": kept}
    assert hg.Count.from_dict(found.to_dict()) == found
