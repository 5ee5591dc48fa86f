"""The grey-box audit on every engine and through the command: one row changes one entry."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path as Folder
from typing import Any

import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.search import BoundsQuestion, bounds_question
from hourglass.audit import Path, RecordingBits, greybox_finding, neighbours
from hourglass.audit.column_paths import NAMES, complete, row_neighbours
from hourglass.audit.greybox import compare
from hourglass.audit.lines import FIELDS, MEMBERS, csv_of, json_of, lines_finding
from hourglass.audit.paths import arrow_table
from hourglass.audit.searches import (
    CANDIDATES,
    KEYS,
    TOUCHED,
    bounds_finding,
    group_pairs,
)
from hourglass.core.limits import Scale, counts_from_histogram
from hourglass.mechanisms.scan import Search
from hourglass.read.database import SqlSource
from hourglass.release.found import FoundBounds
from hourglass.release.release import Releases
from tests.conftest import engines_of
from tests.read import places
from tests.tools import command

pytestmark = pytest.mark.slow

BOUNDS = (0.0, 10.0)
PAIRS = list(neighbours(*BOUNDS))
#: At and beyond the bounds, infinite and missing, added to many rows, where queries are expensive.
FEW = [pair for pair in PAIRS if pair[0].startswith("many")]
#: A value beyond the bounds and one that is missing, where others are asked about at once.
ONE_BY_ONE = [FEW[-3], FEW[-1]]
#: An unclosed quote, carriage returns; an array, half an object. On Spark, where a question takes
#: long, the others share files with many lines (tests/read/test_lines.py, test_json_lines.py).
SOME_FIELDS = (FIELDS[0], [b'5,"a', b"5,a\r5,a\r5,a"])
SOME_MEMBERS = (MEMBERS[0], [b"[" + b",".join([b'{"x": 5}'] * 1000) + b"]", b'{"x": 5'])
ENGINES = ["duckdb", "sqlite", "datafusion", "postgres", "spark"]


@pytest.fixture(scope="module", params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A real table on each engine."""
    folder = tmp_path_factory.mktemp("tables")
    if request.param == "postgres":
        return places.postgres(request.getfixturevalue("postgres_url"))
    if request.param == "spark":
        return places.spark_rows(request.getfixturevalue("spark_session"), folder)
    if request.param == "sqlite":
        return places.sqlite(folder)
    return places.parquet(folder, request.param)


@pytest.fixture(scope="module", params=ENGINES)
def words(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same for the command: how a table is named there."""
    folder = tmp_path_factory.mktemp("tables")
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    if request.param == "spark":
        request.getfixturevalue("spark_session")  # the command finds it

    def place(table: pa.Table) -> dict[str, Any]:
        if request.param in ("sqlite", "postgres"):
            put = places.postgres(url) if url else places.sqlite(folder)
            source: SqlSource = put(table)["data"]
            return {"source": source.url, "table": source.relation.strip('"')}
        placed = places.parquet(folder, request.param)(table)
        return {"source": str(placed["data"]), "engine": placed["engine"]}

    return place


def column(values: Sequence[Any]) -> pa.Table:
    return pa.table({"x": pa.array(values, pa.float64())})


def rows(found: Sequence[Any]) -> pa.Table:
    groups = pa.array([row[0] for row in found], pa.string())
    return pa.table({"g": groups, "x": pa.array([row[1] for row in found], pa.float64())})


def asked_with(
    command_name: str, bits: Any, source: str, *, also: Sequence[str] = (), **options: Any
) -> Any:
    """What a command prints about x and ``also``, as JSON, with the noise of these bits."""
    words: list[Any] = [command_name, source, "x", *also, "--epsilon", 1, "--format", "json"]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name}", *(value if isinstance(value, tuple) else (value,))]
    told = command(*words, bits=bits)
    assert told.code == 0, told.err
    answer = json.loads(told.out)
    answer.pop("origin", None)  # the name of the file, which is another one each time
    return answer


# --- odd lines ------------------------------------------------------------------------------


def test_odd_lines_on_spark(spark_session: Any, tmp_path: Folder) -> None:
    """One unusual line in the middle; ``hourglass audit`` runs all of them on DuckDB."""
    made = [
        lines_finding(
            "CSV on Spark", lambda rows: csv_of(rows, tmp_path), Fraction(1), lines=SOME_FIELDS,
            engine="spark", places=(25,),
        ),
        lines_finding(
            "JSON on Spark", lambda rows: json_of(rows, tmp_path), Fraction(1), lines=SOME_MEMBERS,
            engine="spark", places=(25,),
        ),
    ]  # fmt: skip
    assert [found.detail for found in made if not found.holds] == []


# --- a mean ---------------------------------------------------------------------------------


def test_a_mean_on_every_engine(place: places.Place, request: pytest.FixtureRequest) -> None:
    def run(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        placed = place(column(values))
        return hg.mean(column="x", bounds=BOUNDS, epsilon=1, bits=bits, **placed).to_dict()

    pairs = ONE_BY_ONE if on_spark(request) else PAIRS
    found = greybox_finding(Path("engine", run), pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


def test_a_mean_through_the_command(words: Any, request: pytest.FixtureRequest) -> None:
    def run(values: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        return dict(asked_with("mean", bits, bounds=BOUNDS, **words(column(values))))

    pairs = ONE_BY_ONE if on_spark(request) else FEW
    found = greybox_finding(Path("command", run), pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


def on_spark(request: pytest.FixtureRequest) -> bool:
    """Where a question takes long. That the noise comes from the bits alone, which is no matter of
    engines, is left to the others; and what can be asked at once is."""
    return "spark" in engines_of(request.node)


@pytest.mark.engine("spark")
def test_every_pair_in_a_group_of_its_own_on_spark(spark_session: Any, tmp_path: Folder) -> None:
    """Each group has another base or another row added: it alone tells whether that one counts."""
    names = [pair for pair, _, _ in PAIRS]
    place = places.spark_rows(spark_session, tmp_path)

    def run(which: int, bits: Any) -> Mapping[str, Mapping[str, Any]]:
        placed = place(rows([(pair[0], value) for pair in PAIRS for value in pair[which]]))
        ask: dict[str, Any] = {"bounds": BOUNDS, "epsilon": 1, "by": "g", "keys": names}
        answer = hg.mean(column="x", bits=bits, **ask, **placed)
        return {name: release.to_dict() for name, release in answer.items()}

    recorded = RecordingBits()
    before, after = run(1, recorded), run(2, recorded.replayed())
    path = Path("a group", lambda values, bits: {})
    assert list(before) == list(after) == names
    for name, _, (*_, value) in PAIRS:
        assert compare(path, before[name], after[name]) == [], name
        moved = after[name]["noisy_totals"] != before[name]["noisy_totals"]
        assert moved == (value == value), name


# --- several columns ------------------------------------------------------------------------

ROW_PAIRS = [pair for pair in row_neighbours(*BOUNDS) if pair[0].startswith("many")]


def test_two_columns_on_every_engine(place: places.Place, request: pytest.FixtureRequest) -> None:
    """A poisoned value in one of two columns: all columns and the count change, or nothing does."""

    def run(found: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        placed = place(arrow_table(NAMES, found))
        return dict(
            hg.mean(column=list(NAMES), bounds=BOUNDS, epsilon=1, bits=bits, **placed).to_dict()
        )

    path = Path("engine", run, counted=complete)
    pairs = ROW_PAIRS[::2] if on_spark(request) else ROW_PAIRS  # test_columns.py has the others
    found = greybox_finding(path, pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


def test_two_columns_through_the_command(words: Any, request: pytest.FixtureRequest) -> None:
    def run(found: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        asked = words(arrow_table(NAMES, found))
        return dict(asked_with("mean", bits, bounds=BOUNDS, also=("y",), **asked))

    path, few = Path("command", run, counted=complete), ROW_PAIRS[-5:]
    pairs = few[::2] if on_spark(request) else few
    found = greybox_finding(path, pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


# --- groups ---------------------------------------------------------------------------------


def few_pairs(touched: str, stop: int, request: pytest.FixtureRequest) -> list[Any]:
    """Some of the pairs, the last ones: those added to many rows."""
    return group_pairs(BOUNDS, touched)[-2 if on_spark(request) else -stop :]


@pytest.mark.parametrize("touched", TOUCHED)
def test_groups_on_every_engine(
    place: places.Place, touched: str, request: pytest.FixtureRequest
) -> None:
    def run(found: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        placed = place(rows(found))
        answer = hg.mean(
            column="x", bounds=BOUNDS, epsilon=1, by="g", keys=KEYS, bits=bits, **placed
        )
        return {"groups": {key: release.to_dict() for key, release in answer.items()}}

    path, pairs = Path("groups", run, touched=touched), few_pairs(touched, 4, request)
    found = greybox_finding(path, pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


@pytest.mark.parametrize("touched", TOUCHED[1:])
def test_groups_through_the_command(
    words: Any, touched: str, request: pytest.FixtureRequest
) -> None:
    def run(found: Sequence[Any], bits: Any) -> Mapping[str, Any]:
        answer = asked_with(
            "mean", bits, bounds=BOUNDS, by="g", keys=",".join(KEYS), **words(rows(found))
        )
        releases = Releases.from_dict(answer)
        return {"groups": {key: release.to_dict() for key, release in releases.items()}}

    path, pairs = Path("groups", run, touched=touched), few_pairs(touched, 3, request)
    found = greybox_finding(path, pairs, thorough=not on_spark(request))
    assert found.holds, found.detail


def test_what_is_caught_among_groups() -> None:
    """A row that moves another group, or shows one, or moves its own by two records."""

    def answers(**values: list[float]) -> dict[str, Any]:
        found = {}
        for name, own in values.items():
            release = hg.mean(own, bounds=BOUNDS, epsilon=1, bits=hg.SeededBits(1))
            found[name] = release.to_dict()
        return {"groups": found}

    path = Path("groups", lambda rows, bits: {}, touched="a")
    before = answers(a=[1.0], b=[2.0])
    assert compare(path, before, answers(a=[1.0, 9.0], b=[2.0])) == []
    (problem,) = compare(path, before, answers(a=[1.0], b=[2.0, 9.0]))
    assert problem == "group b differs, and the row is not of it"
    assert compare(path, before, answers(a=[1.0, 9.0], b=[2.0], c=[])) == ["other groups are shown"]
    (problem,) = compare(path, before, answers(a=[1.0, 9.0, 9.0], b=[2.0]))
    assert "the count moved by 2" in problem


# --- bounds ---------------------------------------------------------------------------------


SCALE = CANDIDATES[1:4]  # three candidates and what lies around them: seven buckets


def test_bounds_on_every_engine(place: places.Place, request: pytest.FixtureRequest) -> None:
    def ask(values: Sequence[float]) -> BoundsQuestion:
        return bounds_question(column="x", epsilon=1, scale=SCALE, **place(column(values)))

    if on_spark(request):
        check_bounds_at_once(ask)
        return
    found = bounds_finding("bounds", ask)
    assert found.holds, found.detail


def check_bounds_at_once(ask: Callable[[Sequence[float]], BoundsQuestion]) -> None:
    """One record, two of the next value, four of the one after it: the counts tell of each value
    which buckets it is in."""
    scale = Scale(SCALE)
    around = [math.nextafter(end, side) for end in SCALE for side in (-math.inf, math.inf)]
    added = [math.nan, math.inf, -math.inf, 1e300, *SCALE, *around]
    many = [value for i, value in enumerate(added) for _ in range(2**i)]
    found = (scale.bucket(value) for value in many)
    buckets = Counter(bucket for bucket in found if bucket is not None)
    for base in ([], [3.0], [float(i % 61 - 10) for i in range(200)]):
        before = ask(base).read()
        assert ask([*base, *many]).read() == before + counts_from_histogram(scale, buckets)


def test_bounds_through_the_command(words: Any) -> None:
    """What is printed follows from the counts, and one record moves one bucket."""
    scale = ",".join(map(str, SCALE))
    counts = []
    for values in ([1.0] * 9, [*[1.0] * 9, 9.0]):
        recorded = RecordingBits()
        printed = asked_with("bounds", recorded, scale=scale, **words(column(values)))
        seen = bounds_question(values, epsilon=1, scale=SCALE).read()
        counts.append(seen)
        ends = Search(Scale(SCALE), Fraction(1)).sample(seen, recorded.replayed())
        again = FoundBounds.of(ends, Scale(SCALE), Fraction(1), private=False, column="x")
        assert printed == json.loads(json.dumps(again.to_dict()))
    above = [after - before for before, after in zip(counts[0].above, counts[1].above, strict=True)]
    below = [after - before for before, after in zip(counts[0].below, counts[1].below, strict=True)]
    assert (below, above) == ([0, 0, 0], [1, 1, 0])  # 9.0 is above 0 and 2.5, and equal to 9


@pytest.mark.parametrize("copies", [0, 2])
def test_a_record_counted_not_once_is_caught(copies: int) -> None:
    def ask(values: Sequence[float]) -> BoundsQuestion:
        return bounds_question([*values[:-1], *list(values[-1:]) * copies], epsilon=1, scale=SCALE)

    assert not bounds_finding("wrong", ask).holds


def test_a_missing_value_that_counts_is_caught() -> None:
    def ask(values: Sequence[float]) -> BoundsQuestion:
        return bounds_question([0.0 if v != v else v for v in values], epsilon=1, scale=SCALE)

    found = bounds_finding("wrong", ask)
    assert not found.holds
    assert found.figures["value"] == "nan"
