"""Whatever a Parquet file stores in a cell: it counts once or not at all, and nothing fails.

Each hard cell is in a group of its own, beside groups of plain cells. A column is refused whatever
its cells are, or every group with a plain cell is as it is without the hard ones, and the others
have one record at most. The same holds for both files together.
"""

from __future__ import annotations

import random
from collections import Counter
from glob import glob
from itertools import chain, product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.errors import DataError, OptionError
from tests.read.stored import DATE, TEXT, Stored, decimal, integer, timestamp, write

#: Of the plain cells, and of the hard ones.
KEYS = [*range(5), *range(100, 120)]
NUMBER, NAME = Stored("INT64"), Stored("BYTE_ARRAY", TEXT)
ENGINES = [
    "duckdb",
    pytest.param("datafusion", marks=pytest.mark.engine("datafusion")),
    pytest.param("spark", marks=pytest.mark.engine("spark")),
]
INT32 = [0, -1, 2**31 - 1, -(2**31), 128, -129, 256, 65536]
INT64 = [0, -1, 2**63 - 1, -(2**63), 2**31, 10**18, -(10**18)]
TIMES = [*INT64, -(2**63) + 1, 2**63 - 2, -62_135_596_800_000_001, 253_402_300_800_000_000]


def raw(length: int, *cells: int) -> list[bytes]:
    return [cell.to_bytes(length, "big", signed=True) for cell in cells]


def ends(length: int, precision: int) -> list[bytes]:
    most = 2 ** (8 * length - 1) - 1
    return raw(length, 0, most, -most - 1, min(10**precision, most), -min(10**precision, most))


def of_digits(precision: int, physical: str, length: int = 0) -> Stored:
    return Stored(physical, decimal(precision, 1), length, (precision, 1))


#: For each type as it is stored: plain cells, and cells that are hard to read.
NUMBERS: dict[str, tuple[Stored, list[Any], list[Any]]] = {
    f"{'' if signed else 'u'}int{bits}": (
        Stored("INT64" if bits == 64 else "INT32", integer(bits, signed=signed)),
        [1, 2, 3],
        INT64 if bits == 64 else INT32,
    )
    for bits, signed in product((8, 16, 32, 64), (True, False))
}
for precision in (2, 4, 9):
    NUMBERS[f"decimal{precision} int32"] = of_digits(precision, "INT32"), [1, 2, 3], INT32
for precision in (4, 9, 15, 18):
    NUMBERS[f"decimal{precision} int64"] = of_digits(precision, "INT64"), [1, 2, 3], INT64
for precision, length in (
    (4, 2), (4, 4), (9, 4), (9, 5), (9, 16), (18, 8), (18, 9), (18, 16), (19, 9), (30, 13),
    (38, 16), (20, 17), (38, 17), (38, 20), (38, 32),
):  # fmt: skip
    NUMBERS[f"decimal{precision} in {length}"] = (
        of_digits(precision, "FIXED_LEN_BYTE_ARRAY", length),
        raw(length, 1, 2, 3),
        ends(length, precision),
    )
for precision in (4, 18, 38):
    NUMBERS[f"decimal{precision} in any"] = (
        of_digits(precision, "BYTE_ARRAY"),
        raw(2, 1, 2, 3),
        [b"", b"\x01", b"\x7f" * 8, b"\x7f" * 16, b"\x7f" * 17, b"\0" * 40 + b"\1"],
    )
MOMENTS: dict[str, tuple[Stored, list[Any], list[Any]]] = {
    f"{unit}{' utc' if utc else ''}": (
        Stored("INT64", timestamp(unit, utc=utc)),
        [10**15, 2, 3],
        TIMES,
    )
    for unit, utc in product(("ms", "us", "ns"), (True, False))
}
MOMENTS["date"] = Stored("INT32", DATE), [1, 2, 3], [*INT32, -719_163, 2_932_897, 2**31 - 2]
MOMENTS["int96"] = (
    Stored("INT96"),
    [bytes(8) + (2_440_588).to_bytes(4, "little")] * 3,
    [bytes(12), b"\xff" * 12, b"\xff" * 7 + b"\x7f" + bytes(4), bytes(8) + b"\xff\xff\xff\x7f"],
)


#: What Spark reads: integers whose types it is told, other numbers, and decimals in more bytes
#: than they need, which DuckDB refuses. Those of a list are in one question.
OF_SPARK = [
    ["int8", "int16", "int32", "int64"],
    ["uint8", "uint16", "uint32", "uint64"],
    ["decimal2 int32", "decimal4 int32", "decimal9 int32", "decimal4 int64", "decimal9 int64"],
    ["decimal15 int64", "decimal18 int64", "decimal4 in 2", "decimal9 in 4", "decimal18 in 8"],
    ["decimal4 in 4", "decimal9 in 5", "decimal9 in 16", "decimal18 in 9", "decimal18 in 16"],
]  # fmt: skip
MOMENTS_OF_SPARK = ["us", "us utc", "date"]


@pytest.fixture
def session(request: pytest.FixtureRequest, engine: str) -> None:
    if engine == "spark":
        request.getfixturevalue("spark_session")


def groups(question: Any) -> dict[Any, tuple[int, int]]:
    found = question.read()
    pairs = zip(found.totals.count, found.totals.cells, strict=True)
    return {key: (int(n), int(c)) for (key,), (n, c) in zip(found.keys, pairs, strict=True) if n}


def check(
    kind: Stored, plain: list[Any], hard: list[Any], path: Path, engine: str, *asked: Any
) -> list[dict[Any, tuple[int, int]]]:
    """``asked`` are functions that make a question about a path; those refused are not asked."""
    write(path, {"c": (kind, plain), "k": (NUMBER, range(len(plain)))})
    expected = []
    for ask in asked:
        try:
            question = ask(path, engine)
        except (DataError, OptionError):
            continue
        expected.append((ask, groups(question)))
    more = path.with_stem("more")
    where = range(100, 100 + len(hard))
    cells = [*plain[:1], *hard, *plain[1:]]
    write(more, {"c": (kind, cells), "k": (NUMBER, [0, *where, *range(1, len(plain))])})
    found = []
    for ask, before in expected:
        _compare(groups(ask(more, engine)), before, where)
        try:
            question = ask(str(path.with_stem("*")), engine)
        except (DataError, OptionError):
            continue
        twice = {key: (2 * count, 2 * cells) for key, (count, cells) in before.items()}
        found.append(groups(question))
        _compare(found[-1], twice, where)
    return found


def check_at_once(
    stored: list[tuple[Stored, list[Any], list[Any]]], path: Path, ask: Any
) -> dict[Any, tuple[int, ...]]:
    """The same on Spark, where a query takes long: many columns of as many plain cells, none of
    which is refused, in one question. Each hard cell is beside plain cells of the other columns.

    The plain cells are asked about on DuckDB, and the hard ones in both files together, which have
    the same types: they are read as one.
    """
    columns = {f"c{place}": each for place, each in enumerate(stored)}
    alone = [(name, cell) for name, (_, _, hard) in columns.items() for cell in hard]
    where = range(100, 100 + len(alone))
    first, *others = range(len(stored[0][1]))
    of_plain = {name: (kind, plain) for name, (kind, plain, _) in columns.items()}
    write(path, {**of_plain, "k": (NUMBER, [first, *others])})
    of_hard = {
        name: (kind, [plain[0], *(c if of == name else plain[0] for of, c in alone), *plain[1:]])
        for name, (kind, plain, _) in columns.items()
    }
    write(path.with_stem("more"), {**of_hard, "k": (NUMBER, [first, *where, *others])})
    asked: dict[str, Any] = {"by": "k", "keys": [*KEYS[:5], *where], "epsilon": 1}

    def found(path: Path, engine: str) -> dict[Any, tuple[int, ...]]:
        totals = (read := ask(str(path), [*columns], engine=engine, **asked).read()).totals
        rows = zip(totals.count.tolist(), *(each.tolist() for each in totals.sums), strict=True)
        return {key: row for (key,), row in zip(read.keys, rows, strict=True) if row[0]}

    try:
        before = found(path, "duckdb")
    except (DataError, OptionError):  # it refuses some of the types
        before = found(path, "spark")
    after = found(path.with_stem("*"), "spark")
    _compare(after, {key: tuple(2 * n for n in row) for key, row in before.items()}, where)
    return after


def _compare(after: dict[Any, Any], before: dict[Any, Any], hard: range) -> None:
    assert {key: total for key, total in after.items() if key not in hard} == before
    assert all(after[key][0] == 1 for key in hard if key in after)


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("name", list(NUMBERS))
def test_a_number(name: str, engine: str, tmp_path: Path) -> None:
    """Caught: decimals of more than 16 bytes."""
    kind, plain, hard = NUMBERS[name]
    ask: dict[str, Any] = {"by": "k", "keys": KEYS, "epsilon": 1}

    def averaged(path: Path | str, on: str, **more: Any) -> Any:
        return mean_question(path, "c", bounds=(0, 9), engine=on, **more, **ask)

    def compared(path: Path | str, on: str) -> Any:
        return count_question(path, where="c < 5 OR c IS NULL", engine=on, **ask)

    check(kind, plain, hard, tmp_path / "t.parquet", engine, averaged, compared)


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.engine("spark")
@pytest.mark.parametrize("names", OF_SPARK)
def test_numbers_on_spark(names: list[str], spark_session: Any, tmp_path: Path) -> None:
    """Caught: decimals of any number of bytes."""

    def both(path: str, columns: list[str], **ask: Any) -> Any:
        where = " AND ".join(f"({c} < 5 OR {c} IS NULL OR {c} >= 5)" for c in columns)
        return mean_question(path, columns, bounds=(0, 9), where=where, **ask)

    assert check_at_once([NUMBERS[name] for name in names], tmp_path / "t.parquet", both)


@pytest.mark.slow
@pytest.mark.engine("spark")
def test_what_spark_may_fail_at_is_refused(spark_session: Any, tmp_path: Path) -> None:
    for name, (kind, plain, _) in (NUMBERS | MOMENTS).items():
        if name in chain(MOMENTS_OF_SPARK, *OF_SPARK):
            continue
        path = tmp_path / f"{name}.parquet"
        write(path, {"c": (kind, plain), "k": (NUMBER, range(len(plain)))})
        test = "c < 5 OR c IS NULL" if name in NUMBERS else "c > '1969-01-01' OR c IS NULL"
        with pytest.raises(DataError, match=r"on Spark a large value|cannot read the files"):
            mean_question(path, "c", bounds=(0, 9), epsilon=1, engine="spark")
        with pytest.raises((DataError, OptionError), match=r"column 'c'|cannot read the files"):
            count_question(path, where=test, epsilon=1, engine="spark")


@pytest.mark.attack
@pytest.mark.parametrize("name", list(NUMBERS | MOMENTS))
def test_a_dataset(name: str, tmp_path: Path) -> None:
    """Caught: decimals of more than 16 bytes, at which PyArrow fails."""
    kind, plain, hard = (NUMBERS | MOMENTS)[name]
    ask: dict[str, Any] = {"by": "k", "keys": KEYS, "epsilon": 1}
    test = "c < 5 OR c IS NULL" if name in NUMBERS else "c > '1969-01-01' OR c IS NULL"

    def counted(path: Any, engine: str) -> Any:
        parts = [ds.dataset(file) for file in glob(str(path))]
        return count_question(ds.dataset(parts), where=test, **ask)

    check(kind, plain, hard, tmp_path / "t.parquet", "duckdb", counted)


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("name", list(MOMENTS))
def test_a_moment(name: str, engine: str, tmp_path: Path) -> None:
    kind, plain, hard = MOMENTS[name]
    ask: dict[str, Any] = {"by": "k", "keys": KEYS, "epsilon": 1}
    later, year = "c > '1969-01-01' OR c IS NULL", hg.expression("YEAR(c)")
    check(
        kind,
        plain,
        hard,
        tmp_path / "t.parquet",
        engine,
        lambda path, on: count_question(path, where=later, engine=on, **ask),
        lambda path, on: mean_question(path, year, bounds=(1900, 2100), engine=on, **ask),
    )


@pytest.mark.slow
@pytest.mark.attack
@pytest.mark.engine("spark")
def test_moments_on_spark(spark_session: Any, tmp_path: Path) -> None:
    """Caught: days times microseconds, before it is known that they do not overflow."""

    def later(path: str, columns: list[str], **ask: Any) -> Any:
        where = " AND ".join(f"({c} > '1969-01-01' OR {c} IS NULL)" for c in columns)
        return count_question(path, where=where, **ask)

    def year(path: str, columns: list[str], **ask: Any) -> Any:
        years = [hg.expression(f"YEAR({c})") for c in columns]
        return mean_question(path, years, bounds=(1900, 2100), **ask)

    moments = [MOMENTS[name] for name in MOMENTS_OF_SPARK]
    assert check_at_once(moments, tmp_path / "t.parquet", later)
    assert check_at_once(moments, tmp_path / "t.parquet", year)


@pytest.mark.engine("spark")
def test_decimals_that_spark_reads_one_by_one_are_refused(
    spark_session: Any, tmp_path: Path
) -> None:
    """Without vectors it fails at a cell of too many digits, of any decimal."""
    path, setting = tmp_path / "t.parquet", "spark.sql.parquet.enableVectorizedReader"
    write(path, {"c": (of_digits(4, "INT32"), [1, 2]), "k": (NUMBER, [0, 1])})
    ask: dict[str, Any] = {"bounds": (0, 9), "epsilon": 1, "engine": "spark"}
    hg.mean(path, "c", **ask)
    spark_session.conf.set(setting, "false")
    try:
        with pytest.raises(DataError, match="store doubles"):
            hg.mean(path, "c", **ask)
        hg.mean(path, "k", **ask)
    finally:
        spark_session.conf.unset(setting)


@pytest.mark.slow
@pytest.mark.engine("spark")
def test_old_dates_whatever_the_calendar_of_the_session(spark_session: Any, tmp_path: Path) -> None:
    """Caught: Spark fails at a date that could be of the Julian calendar, if it is told to."""
    old = []
    for name in MOMENTS_OF_SPARK:
        kind, plain, hard = MOMENTS[name]
        day = 1 if name == "date" else 86_400_000_000
        days = (-141_427, -141_428, -141_438, -719_162, -25_568)
        old.append((kind, plain, [*hard, *(each * day for each in days)]))

    def early(path: str, columns: list[str], **ask: Any) -> Any:
        where = " OR ".join(f"{c} < '1500-03-01'" for c in columns)  # no plain cell is
        return count_question(path, where=where, **ask)

    found, setting = [], "spark.sql.parquet.datetimeRebaseModeInRead"
    for mode in ("EXCEPTION", "LEGACY", "CORRECTED"):
        folder = tmp_path / mode
        folder.mkdir()
        spark_session.conf.set(setting, mode)
        try:
            found.append(check_at_once(old, folder / "t.parquet", early))
        finally:
            spark_session.conf.unset(setting)
    assert found[0] == found[1] == found[2] != {}


# --- statistics -----------------------------------------------------------------------------------


def signed(cell: bytes) -> list[int]:
    return [(byte + 128) % 256 - 128 for byte in cell]


def as_signed(bits: int) -> Any:
    return lambda cell: (cell + 2 ** (bits - 1)) % 2**bits


NAMES = ["a", "b", "k", "z", "é", "ü", "z\u00e9", "\U0001f600"]
OLD: dict[str, tuple[Stored, list[Any]]] = {
    "text": (Stored("BYTE_ARRAY", TEXT, order=signed, old=True), NAMES),
    "uint32": (
        Stored("INT32", integer(32, signed=False), order=as_signed(32), old=True),
        [1, 2, 3, 2**31, 2**32 - 1],
    ),
    "uint64": (
        Stored("INT64", integer(64, signed=False), order=as_signed(64), old=True),
        [1, 2, 3, 2**63, 2**64 - 1],
    ),
}


@pytest.mark.attack
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", list(OLD))
@pytest.mark.usefixtures("session")
def test_old_statistics_exclude_no_row(name: str, engine: str, tmp_path: Path) -> None:
    """Old writers ordered text and unsigned numbers by signed bytes.

    Caught: row groups that DuckDB and DataFusion skip because one of their names is not ASCII.
    """
    kind, pool = OLD[name]
    dice = random.Random(name)
    for case in range(2 if engine == "spark" else 12):
        keys = dice.choices(pool, k=dice.randint(1, 12))
        cells = [key.encode() if isinstance(key, str) else key for key in keys]
        columns: dict[str, Any] = {"g": (kind, cells), "x": (NUMBER, [1] * len(keys))}
        paths = [tmp_path / f"{case}-{part}.parquet" for part in range(dice.randint(1, 2))]
        for path in paths:
            write(path, columns, rows=dice.choice([2, 5, 12]))
        asked = dice.sample(pool, dice.randint(1, len(pool)))
        data = str(tmp_path / f"{case}-*.parquet")
        question = mean_question(
            data, "x", bounds=(0, 1), epsilon=1, by="g", keys=asked, engine=engine
        )
        found = {key: count for key, (count, _) in groups(question).items()}
        assert found == {k: n * len(paths) for k, n in Counter(keys).items() if k in asked}


WHOLE = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()
]  # fmt: skip


@pytest.mark.attack
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("kind", WHOLE, ids=str)
def test_keys_of_several_files(kind: pa.DataType, engine: str, tmp_path: Path) -> None:
    """Caught: PyArrow compares keys with the statistics of a file, and fails beyond 2^63."""
    bits = kind.bit_width
    low = -(2 ** (bits - 1)) if pa.types.is_signed_integer(kind) else 0
    values = [0, 1, 2, 3, 100, low, low + 2**bits - 1]
    for part in (values[:3], values):
        table = pa.table({"g": pa.array(part, kind), "x": [1.0] * len(part)})
        pq.write_table(table, tmp_path / f"{len(part)}.pq")
    for keys in ([1], [1, 2, 3], [0, 1, 2, 3, 4, 5, 6], range(600) if bits > 8 else range(100)):
        question = mean_question(
            str(tmp_path / "*.pq"), "x", bounds=(0, 1), epsilon=1, by="g", keys=keys, engine=engine
        )
        found = {key: count for key, (count, _) in groups(question).items()}
        expected = Counter([*values[:3], *values])
        assert found == {key: expected[key] for key in keys if expected[key]}
