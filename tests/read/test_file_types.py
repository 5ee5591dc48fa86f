"""Files that declare different types for a column: a common type, or a refusal."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.read.types import Kind, common

#: Types, and values at both of their ends.
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "int8": (pa.int8(), [-128, 127, None]),
    "int32": (pa.int32(), [-(2**31), 2**31 - 1]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 2**53 + 1]),
    "uint8": (pa.uint8(), [0, 255]),
    "uint32": (pa.uint32(), [0, 2**32 - 1]),
    "uint64": (pa.uint64(), [0, 2**64 - 1]),
    "float": (pa.float32(), [-1.5, 3e38, None]),
    "double": (pa.float64(), [1e300, 0.1, float("nan")]),
    "decimal": (pa.decimal128(9, 3), [Decimal("-999999.999"), Decimal("5.125")]),
    "wide decimal": (pa.decimal128(38, 20), [Decimal("1e17"), Decimal("7.00000000000000000001")]),
    "text": (pa.string(), ["5", "abc"]),
    "boolean": (pa.bool_(), [True, False]),
}
WHOLE = ["int8", "int32", "int64", "uint8", "uint32", "uint64"]
SMALL = ["int8", "int32", "uint8", "uint32"]


def agree(one: str, two: str, engine: str) -> bool:
    """Whether there is a type that holds both; to Spark an unsigned integer is a long one."""
    pair = {"int64" if kind == "uint32" and engine == "spark" else kind for kind in (one, two)}
    if len(pair) == 1 or pair <= {*WHOLE}:
        return True
    if pair <= {"float", "double", *SMALL}:
        return bool(pair & {"float", "double"}) or pair <= set(SMALL)
    # Decimals are not converted; one may hold all integers of a type.
    fits = [{"wide decimal", kind} for kind in SMALL]
    return pair in [*fits, {"decimal", "int8"}, {"decimal", "uint8"}]


@pytest.fixture(params=["duckdb", "duckdb alone", "arrow", "datafusion", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    if request.param == "duckdb alone":
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)
    return str(request.param)


def write(folder: Path, engine: str, *tables: pa.Table) -> dict[str, Any]:
    folder.mkdir()
    for i, table in enumerate(tables):
        if engine == "arrow":
            pyarrow.feather.write_feather(table, folder / f"{i}.arrow", compression="uncompressed")
        else:
            pq.write_table(table, folder / f"{i}.parquet")
    ending, name = (
        ("arrow", "duckdb") if engine == "arrow" else ("parquet", engine.split(maxsplit=1)[0])
    )
    return {"data": str(folder / f"*.{ending}"), "engine": name}


def columns(kind: str, *, swapped: bool) -> pa.Table:
    dtype, values = TYPES[kind]
    table = pa.table(
        {"x": pa.array(values, dtype), "g": ["a"] * len(values), kind: [1] * len(values)}
    )
    return table.select([kind, "g", "x"]) if swapped else table


def total(placed: dict[str, Any], **more: Any) -> tuple[int, int]:
    asked = {"bounds": (-100.0, 100.0), "epsilon": 1, "grid": 1000, **more}
    found = mean_question(column="x", **placed, **asked).read()
    return int(found.totals.cells[0]), int(found.count[0])


@pytest.mark.slow
def test_every_pair_of_types(tmp_path: Path, engine: str) -> None:
    """The totals of both files are those of each; or it is refused, and both are named."""
    alone = {}
    types = [kind for kind in TYPES if (kind, engine) != ("wide decimal", "spark")]
    for kind in types:
        placed = write(tmp_path / kind, engine, columns(kind, swapped=False))
        if kind not in ("text", "boolean"):  # on Spark, where a query takes long, by DuckDB
            alone[kind] = total(placed | {"engine": "duckdb"} if engine == "spark" else placed)
    pairs = list(product(types, repeat=2))
    if engine != "duckdb":  # each type beside one of each family, on Spark in one order
        kept = {"int32", "double", "decimal"}
        pairs = [pair for pair in pairs if set(pair) & kept]
    if engine == "spark":
        pairs = [(one, two) for one, two in pairs if one < two]
    for one, two in pairs:
        tables = columns(one, swapped=False), columns(two, swapped=True)
        placed = write(tmp_path / f"{one} {two}", engine, *tables)
        if not agree(one, two, engine):
            with pytest.raises(
                hg.DataError, match=r"column 'x' is of type .*0\..* and of type .*1\."
            ):
                total(placed)
        elif one in alone:
            (a, n), (b, m) = alone[one], alone[two]
            assert total(placed) == (a + b, n + m), (one, two)


def test_pairs_of_integers_have_the_same_grid_everywhere(tmp_path: Path, engine: str) -> None:
    """Their own, unless 64 bits do not hold both: then that of reals."""
    for one, two in combinations(WHOLE, 2):
        tables = columns(one, swapped=False), columns(two, swapped=False)
        placed = write(tmp_path / f"{one} {two}", engine, *tables)
        question = mean_question(column="x", **placed, bounds=(0, 10), epsilon=1)
        together = "uint64" in (one, two) and not all(kind.startswith("u") for kind in (one, two))
        assert question.mechanism.grid.own is not together, (one, two)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["parquet", "feather"])
def test_every_pair_of_types_in_a_dataset(tmp_path: Path, format: str) -> None:
    """A user's dataset has the first file's types: it is refused or correct, and never fails."""
    engine = "arrow" if format == "feather" else "duckdb"
    answered = 0
    for one, two in product(TYPES, repeat=2):
        if "text" in (one, two) and one != two:
            continue  # no cast leads from one to the other
        tables = columns(one, swapped=False), columns(two, swapped=False)
        folder = tmp_path / f"{one} {two}"
        write(folder, engine, *tables)
        files = sorted(map(str, folder.iterdir()))
        own = pyarrow.dataset.dataset(files, format=format)
        for data in (own, pyarrow.dataset.dataset([own])):
            try:
                asked: dict[str, Any] = {"bounds": (0, 1), "grid": 1, "epsilon": 1}
                if one in (*WHOLE, "text", "boolean"):
                    mean_question(data, one, **asked, by="x", delta=1e-6).read()
                found = mean_question(data, "x", **asked).read()
            except hg.DataError:
                continue
            answered += 1
            parts = [t.column("x").to_pylist() for t in tables]
            held = [v for part in parts for v in part if v is not None and v == v]
            assert found.count.tolist() == [len(held)]
    assert answered >= 2 * len(TYPES)


#: How Arrow may encode a column, by what it holds; indices of 8 bits have room for 128 values.
SMALL_INDEX, INDEX = pa.int8(), pa.int32()
ENCODED: dict[str, list[pa.DataType]] = {
    "text": [
        pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(SMALL_INDEX, pa.string()),
        pa.dictionary(INDEX, pa.large_string()), pa.dictionary(INDEX, pa.string_view()),
    ],
    "integer": [pa.int64(), pa.int32(), pa.dictionary(SMALL_INDEX, pa.int64()), pa.null()],
}  # fmt: skip


def encoded(kind: pa.DataType, size: int, first: int) -> pa.Array:
    """That many values, or one that is repeated if the type has no room for more."""
    if kind == pa.null():
        return pa.nulls(size)
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    whole = pa.types.is_integer(inner)
    different = range(first, first + size) if kind == inner else [first] * size
    values = pa.array([v if whole else str(v) for v in different], inner)
    if kind == inner:
        return values
    return pa.DictionaryArray.from_arrays(pa.array([0] * size, kind.index_type), values[: size + 1])


@pytest.mark.slow
@pytest.mark.parametrize("family", ENCODED)
@pytest.mark.parametrize("files", ["arrow", "arrow dataset", "duckdb", "dataset", "datafusion"])
def test_every_pair_of_encodings(tmp_path: Path, family: str, files: str) -> None:
    """Whether a file has rows never decides whether there is an answer, and no column is read that
    is not asked for."""
    engine = "arrow" if "arrow" in files else files.replace("dataset", "duckdb")
    for i, (one, two) in enumerate(product(ENCODED[family], repeat=2)):
        told = []
        for size in (0, 200):
            tables = [
                pa.table({"g": encoded(kind, rows, first), "x": [1.0] * rows})
                for kind, rows, first in ((one, 100, 0), (two, size, 100))
            ]
            try:
                placed = write(tmp_path / f"{i} {size}", engine, *tables)
            except pa.ArrowNotImplementedError:
                continue  # Parquet files hold no such column
            if "dataset" in files:
                paths = sorted(map(str, (tmp_path / f"{i} {size}").iterdir()))
                format = "feather" if engine == "arrow" else "parquet"
                placed = {"data": pyarrow.dataset.dataset(paths, format=format)}
            try:
                question = count_question(**placed, epsilon=1, by="g", delta=1e-6)
            except hg.DataError:
                told.append("refused")
                if size:  # what is answered can be read
                    assert count_question(**placed, epsilon=1).read().only.count == 100 + size
                continue
            named = sum(len(table) - table["g"].null_count for table in tables)
            assert question.read().count.sum() == named, (one, two)
            told.append("answered")
        assert len(set(told)) <= 1, (one, two)


def test_a_dataset_of_text_is_refused(tmp_path: Path) -> None:
    """PyArrow infers the types of text from the first cells, and fails at a cell that does not
    fit."""
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 9)
    (tmp_path / "a.json").write_text('{"x": 1}\n' * 9)
    for format in ("csv", "json"):
        data = pyarrow.dataset.dataset(str(tmp_path / f"a.{format}"), format=format)
        for given in (data, pyarrow.dataset.dataset([data])):
            with pytest.raises(hg.DataError, match="give the path"):
                hg.mean(given, "x", bounds=(0, 1), epsilon=1)


@pytest.mark.slow
@pytest.mark.parametrize("value", [4, 2**40, -1])
def test_a_value_that_the_first_file_could_not_hold(
    tmp_path: Path, engine: str, value: int
) -> None:
    """The content of the second file does not decide whether there is an answer."""
    for first in (pa.int32(), pa.uint8(), pa.int64()):
        narrow = pa.table({"x": pa.array([1], first)})
        wide = pa.table({"x": pa.array([value], pa.int64())})
        placed = write(tmp_path / f"{first}", engine, narrow, wide)
        bounds = (-(2**20), 2**20)
        own = {"bounds": bounds, "grid": None}
        clamped = min(max(value, bounds[0]), bounds[1])
        assert total(placed, **own) == (1 + clamped - 2 * bounds[0], 2)


def test_keys_of_several_types(tmp_path: Path, engine: str) -> None:
    narrow = pa.table({"x": [1.0] * 3, "g": pa.array([1, 2, 2], pa.int8())})
    wide = pa.table({"g": pa.array([2, 2**40, None], pa.int64()), "x": [1.0] * 3})
    placed = write(tmp_path / "g", engine, narrow, wide)
    question = mean_question(
        column="x", **placed, bounds=(0, 1), epsilon=1, by="g", delta=1e-6, grid=1
    )
    found = question.read()
    counts = dict(zip(found.keys, found.count.tolist(), strict=True))
    assert {k: n for k, n in counts.items() if k != (None,)} == {(1,): 1, (2,): 3, (2**40,): 1}


def test_a_column_that_one_file_lacks(tmp_path: Path, engine: str) -> None:
    full, less = pa.table({"x": [1.0], "g": ["a"]}), pa.table({"x": [1.0]})
    placed = write(tmp_path / "g", engine, full, less, full)
    assert total(placed)[1] == 3
    with pytest.raises(hg.DataError, match=r"'g' is in .*0\..*, but not in .*1\."):
        total(placed, by="g", delta=1e-6)
    with pytest.raises(hg.DataError, match="no such column"):
        total(placed, by="h", delta=1e-6)


def test_other_columns_may_differ(tmp_path: Path, engine: str) -> None:
    one = pa.table({"a": [1], "x": [1.0], "b": ["t"], "c": [[1]]})
    two = pa.table({"x": [2.0], "b": [1.5], "d": [True]})
    assert total(write(tmp_path / "g", engine, one, two))[1] == 2


def test_a_file_that_is_not_whole(tmp_path: Path, engine: str) -> None:
    table = pa.table({"x": [1.0]})
    placed = write(tmp_path / "g", engine, table, table)
    last = max((tmp_path / "g").iterdir())
    last.write_bytes(last.read_bytes()[:-30])
    with pytest.raises(hg.DataError, match="whole"):
        total(placed)


@pytest.mark.enumeration
def test_a_common_type_holds_the_ends_of_both() -> None:
    """Over every pair of kinds: what the wider one holds, by its own definition."""
    whole = [
        Kind("integer", f"i{b}", -(2 ** (b - 1)), 2 ** (b - 1) - 1) for b in (8, 16, 32, 64, 128)
    ]
    whole += [Kind("integer", f"u{b}", 0, 2**b - 1) for b in (8, 16, 32, 64, 128)]
    reals = [Kind("real", f"f{b}", bits=b) for b in (16, 32, 64)]
    decimals = [
        Kind("decimal", "d", precision=p, scale=s) for p in (1, 9, 18, 38) for s in (0, p // 2, p)
    ]
    for one, two in product([*whole, *reals, *decimals], repeat=2):
        found = common(one, two)
        for part in (one, two):
            if found is not None:
                assert _holds(found, part), (one, two, found)
        assert (found is None) == (common(two, one) is None)


def _holds(wide: Kind, part: Kind) -> bool:
    if part.family == "integer":
        ends = (part.low, part.high)
        if wide.family == "integer":
            return wide.low <= part.low and part.high <= wide.high
        if wide.family == "real":
            return all(int(float(e + d)) == e + d for e in ends for d in (0, 1, -1) if e)
        return all(abs(e) < 10 ** (wide.precision - wide.scale) for e in ends)
    if part.family == "real":
        return wide.family == "real" and wide.bits >= part.bits
    return (
        wide.family == "decimal"
        and wide.precision <= 38
        and wide.scale >= part.scale
        and wide.precision - wide.scale >= part.precision - part.scale
    )


@pytest.mark.skipif(not hasattr(pa, "json_"), reason="PyArrow 19 has the first type for JSON")
def test_text_that_is_declared_as_json(tmp_path: Path) -> None:
    """DuckDB's Parquet reader fails at a cell that is not JSON, so it is refused before the
    charge."""
    cells = pa.array(['{"a": 1}', "not JSON", None])
    table = pa.table({"x": [1.0] * 3, "g": pa.ExtensionArray.from_storage(pa.json_(), cells)})
    placed = write(tmp_path / "g", "duckdb", table, table)
    one = {"data": str(tmp_path / "g" / "0.parquet"), "engine": "duckdb"}
    keys = ["not JSON", '{"a": 1}', None]
    asked: dict[str, Any] = {"column": "x", "bounds": (0, 1), "epsilon": 60, "by": "g"}
    for given in (placed, one):
        assert total(given)[1] in (3, 6)
        with pytest.raises(hg.DataError, match="of type JSON"):
            hg.mean(**given, **asked, keys=keys)
        with pytest.raises(hg.DataError, match="of type JSON"):
            hg.mean(**given, column="g", bounds=(0, 1), epsilon=1, parse="real")
    with pytest.raises(hg.DataError, match="of type JSON"):
        hg.mean(table, **asked, keys=keys)
    with pytest.raises(hg.OptionError, match="left to DuckDB, which cannot read this type"):
        hg.mean(one["data"], engine="datafusion", **asked, keys=keys)
