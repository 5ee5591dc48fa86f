"""``where`` is applied before everything else, on tables of every kind."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.ask.sum import sum_question
from tests.read import corpus
from tests.read.corpus import texts

Found = dict[Any, tuple[tuple[int, ...], int]]
DICE = random.Random(3)
PEOPLE: list[dict[str, Any]] = [
    {
        "x": DICE.choice([None, 1.5, 20.0, 99.0, -3.0, 1e300]),
        "n": DICE.choice([None, 1, 2, 3, 4]),
        "g": DICE.choice([None, "a", "b", "é"]),
        "p": DICE.choice([None, "ann", "bob", "eve", "joe"]),
    }
    for _ in range(150)
]
KINDS = {"x": pa.float64(), "n": pa.int64(), "g": pa.string(), "p": pa.string()}
TABLE = pa.table({c: pa.array([row[c] for row in PEOPLE], kind) for c, kind in KINDS.items()})
WHERE = "n * 2 > 3 AND (g <> 'b' OR x > 10)"
KEPT = [
    row
    for row in PEOPLE
    if row["n"] is not None
    and row["n"] > 1.5
    and ((row["g"] is not None and row["g"] != "b") or (row["x"] is not None and row["x"] > 10))
]


def totals(placed: dict[str, Any], column: Any = "x", **ask: Any) -> Found:
    question = mean_question(**placed, column=column, bounds=(0, 100), epsilon=1, **ask)
    found = question.read()
    sums = zip(*found.totals.sums, strict=True)
    keys = found.keys if ask.get("by") else [()]
    count = [int(c) for c in found.totals.count]
    return {
        key[0] if key else None: (tuple(map(int, part)), records)
        for key, part, records in zip(keys, sums, count, strict=True)
        if records
    }


def test_the_filter_is_not_idle() -> None:
    assert 20 < len(KEPT) < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [
        {},
        {"missing": 7.0},
        {"spread": True},
        {"by": "g", "delta": 1e-6},
        {"by": "g", "keys": ["a", "b", "zz"]},
        {"unit": hg.per_person("p")},
        {"unit": hg.per_person("p", rows=2)},
        {"unit": hg.per_person("p", rows=1, groups=2), "by": "g", "delta": 1e-6},
        {"column": ["x", "n"]},
        {"column": ["x", hg.expression("n / 3")], "unit": hg.per_person("p")},
    ],
    ids=str,
)
def test_it_comes_before_everything_else(engine_place: Any, ask: dict[str, Any]) -> None:
    """A filtered table gives what a table of the rows that pass gives, in memory."""
    kept = pa.table({c: pa.array([row[c] for row in KEPT], kind) for c, kind in KINDS.items()})
    found = totals(engine_place(TABLE), where=WHERE, **ask)
    assert found == totals({"data": kept}, **ask)
    assert found != totals({"data": TABLE}, **ask)


@pytest.mark.slow
def test_counts_and_sums(engine_place: Any) -> None:
    kept = pa.table({c: pa.array([row[c] for row in KEPT], kind) for c, kind in KINDS.items()})
    asked: list[dict[str, Any]] = [{}, {"unit": hg.per_person("p")}, {"by": "g", "delta": 1e-6}]
    for ask in asked:
        one = count_question(**engine_place(TABLE), epsilon=1, where=WHERE, **ask).read()
        two = count_question(kept, epsilon=1, **ask).read()
        keys = [each.keys if ask.get("by") else [()] for each in (one, two)]
        counts = [dict(zip(keys[i], each.count, strict=True)) for i, each in enumerate((one, two))]
        assert counts[0] == counts[1]
    whole: dict[str, Any] = {"column": hg.expression("x / n"), "bounds": (0, 9), "epsilon": 1}
    found = sum_question(**engine_place(TABLE), where=WHERE, **whole).read().only
    alone = sum_question(kept, **whole).read().only
    assert (found.cells, found.count) == (alone.cells, alone.count)


@pytest.mark.slow
def test_bounds_are_found_among_the_rows_that_pass(engine_place: Any) -> None:
    kept = pa.table({c: pa.array([row[c] for row in KEPT], kind) for c, kind in KINDS.items()})
    for unit in (hg.per_row(), hg.per_person("p")):
        ask: dict[str, Any] = {"epsilon": 1, "scale": [-10, 0, 1, 2, 5, 30, 100], "unit": unit}
        for column in ("x", hg.expression("x / n")):
            found = bounds_question(**engine_place(TABLE), column=column, where=WHERE, **ask)
            alone = bounds_question(kept, column=column, **ask)
            assert found.read() == alone.read()


# --- files and frames -----------------------------------------------------------------------------


def as_file(name: str, folder: Path) -> dict[str, Any]:
    file = folder / f"t.{name.rsplit(maxsplit=1)[-1]}"
    cells = [["" if row[c] is None else str(row[c]) for c in KINDS] for row in PEOPLE]
    if file.suffix in (".csv", ".tsv"):
        separator = "\t" if file.suffix == ".tsv" else ","
        file.write_text("\n".join(separator.join(line) for line in [list(KINDS), *cells]))
    elif file.suffix == ".jsonl":
        file.write_text("\n".join(map(json.dumps, PEOPLE)))
    elif file.suffix == ".parquet":
        pq.write_table(TABLE, file)
    else:
        pyarrow.feather.write_feather(TABLE, file)
    return {"data": file} | ({"engine": "spark"} if "spark" in name else {})


FILES = ["csv", "tsv", "jsonl", "parquet", "arrow", "spark csv", "spark jsonl", "spark parquet"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """In a text file a column takes the type of what it is compared with."""
    if "spark" in name:
        request.getfixturevalue("spark_session")
    placed = as_file(name, tmp_path)
    expected = {"data": TABLE}
    assert totals(placed, where=WHERE) == totals(expected, where=WHERE)
    ask: dict[str, Any] = {"by": "g", "keys": ["a", "é"], "where": "p LIKE '%n%' OR n IS NULL"}
    column = hg.expression("CASE WHEN g = 'a' THEN x ELSE n END")
    assert totals(placed, column, **ask) == totals(expected, column, **ask)


def test_a_column_of_a_text_file_has_one_type(tmp_path: Path) -> None:
    placed = as_file("csv", tmp_path)
    for where, place in (("n > 1 AND n = 'a'", 15), ("n < p", 1), ("n", 1), ("n = p AND g = p", 1)):
        with pytest.raises(hg.OptionError, match=f"^where, character {place}: "):
            totals(placed, where=where)
    # The averaged column is a number, a column is settled by another use, IS NULL takes any.
    assert totals(placed, where="x > n") == totals({"data": TABLE}, where="x > n")
    assert totals(placed, where="g > p AND p <> ''") == totals(
        {"data": TABLE}, where="g > p AND p <> ''"
    )
    assert totals(placed, where="p IS NULL") == totals({"data": TABLE}, where="p IS NULL")
    assert totals(placed, hg.expression("n")) == totals({"data": TABLE}, hg.expression("n"))


def test_what_is_no_number_in_a_text_file_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,n\n1,1\n2,NA\n3,1e400\n4,nan\n5, 7 \n6,0x1\n7,\n8,-inf\n")
    assert totals({"data": file}, where="n > 0") == totals(
        {"data": file}, where="n IN (1, 7) OR n > 8"
    )
    question = mean_question(
        data=file, column="x", bounds=(0, 9), epsilon=1, where="n IS NULL OR n < 0"
    )
    assert question.read().only.count == 0 + 5  # NA, nan, 0x1, nothing, and minus infinity


@pytest.mark.parametrize("name", ["pandas", "polars", "polars lazy", "arrow stream", "relation"])
def test_frames(name: str) -> None:
    from tests.read import places

    place = places.frame(name)
    column = hg.expression("COALESCE(x, n) * LENGTH(g)")
    assert totals(place(TABLE), column, where=WHERE) == totals({"data": TABLE}, column, where=WHERE)


#: Numbers that are outside the years 1 to 9999 in one unit or another.
ENDS = [0, 2**63 - 1, -(2**63) + 1, 10**18, -(10**18), 253402300799, 1709212345, -62135596800]
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@pytest.mark.slow
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
@pytest.mark.parametrize("unit", UNITS)
def test_times_that_are_too_large_end_no_query(unit: str, zone: str | None, tmp_path: Path) -> None:
    """DuckDB fails as it converts some of them: those types are refused before any charge."""
    import polars

    times = pa.array(ENDS, pa.int64()).view(pa.timestamp(unit, zone))
    made = pa.table({"x": [1.0] * len(ENDS), "d": times})
    kinds: list[dict[str, Any]] = [{"data": made}]
    if unit != "s":  # Parquet has no seconds, and Polars makes milliseconds of them
        file = tmp_path / "t.parquet"
        pq.write_table(made, file)
        kinds += [{"data": file}, {"data": file, "engine": "datafusion"}]
        kinds += [{"data": polars.from_arrow(made)}]
    scale, ends = UNITS[unit], 2**63 - 1
    first, last = -62135596800 * scale, 253402300800 * scale
    expected = sum(first <= time < last and abs(time) < ends for time in ENDS)
    ask: dict[str, Any] = {"column": "x", "bounds": (0, 1), "epsilon": 1}
    counts, refusals = [], []
    for placed in kinds:
        try:
            question = mean_question(**placed, **ask, where="YEAR(d) >= 1 AND HOUR(d) < 24")
        except hg.OptionError as error:
            refusals.append(str(error))
        else:
            counts.append(question.read().only.count)
    assert set(counts) <= {expected}
    assert all("is of type" in said for said in refusals)
    assert counts or zone


# --- texts ----------------------------------------------------------------------------------------

CELLS = [cell for cell in corpus.BYTES if cell is None or b"\0" not in cell]
ASKED = ["t = 'alice'", "t LIKE '%?%'", "t IS NULL", "LENGTH(t) > 3", "t >= 'ä'", "t <> ''"]


def names_that(where: str) -> int:
    from hourglass.read.sql.expression.parsing import parsed
    from tests.read.expressions import judged

    tree = parsed(where, "where")
    return sum(judged(tree, {"t": corpus.name_of(cell)}) is True for cell in CELLS)


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_text_that_is_not_utf8_is_missing(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1.0] * len(CELLS), "t": texts(CELLS)}), file)
    for where in ASKED:
        placed = {"data": file, "engine": engine}
        assert [count for _, count in totals(placed, where=where).values()] == [names_that(where)]


@pytest.mark.slow
def test_text_compares_as_bytes_whatever_the_collation(tmp_path: Path) -> None:
    names = ["a", "A", "á", "b", "B ", "é", "Z", "", "😀", "\uffff"]
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'nocase.noaccent'")
    connection.execute("CREATE TABLE t (x DOUBLE, t VARCHAR COLLATE NOCASE)")
    connection.executemany("INSERT INTO t VALUES (1, ?)", [[name] for name in names])
    made: list[dict[str, Any]] = [{"data": connection.table("t")}]
    for encoding in ("UTF-8", "UTF-16le"):
        path = tmp_path / f"{encoding}.db"
        base = sqlite3.connect(path)
        base.execute(f"PRAGMA encoding = '{encoding}'")
        base.execute("CREATE TABLE t (x REAL, t TEXT COLLATE NOCASE)")
        base.executemany("INSERT INTO t VALUES (1, ?)", [(name,) for name in names])
        base.commit()
        base.close()
        made.append({"data": hg.sql(f"sqlite:///{path}", "t")})
    asked = {
        "t = 'a'": 1, "t < 'a'": 4, "t > 'Z'": 6, "t IN ('A', 'É')": 1, "t LIKE 'A%'": 1,
        "t BETWEEN 'a' AND 'b'": 2, "t > '\uffff'": 1, "LOWER(t) = 'a'": 2,
    }  # fmt: skip
    for placed in made:
        for where, count in asked.items():
            assert [c for _, c in totals(placed, where=where).values()] == [count], where


# --- the question's own text ----------------------------------------------------------------------


def test_spellings_of_one_question_are_one(tmp_path: Path) -> None:
    ask: dict[str, Any] = {"data": TABLE, "bounds": (0, 1), "epsilon": 1}
    one, two, other = (
        mean_question(column=hg.expression(e), where=w, **ask).text
        for e, w in [
            ("x > 1", "n = 1 AND g = 'a'"),
            ("(x)>1", "(n=1)\n  and ((g) = 'a')"),
            ("x > 1", "n = 1 AND g = 'A'"),
        ]
    )
    assert one == two != other
    assert json.loads(one)["where"] == "n = 1 AND g = 'a'"
    assert json.loads(one)["column"] == {"expression": "x > 1"}
    plain = json.loads(mean_question(column="x", **ask).text)
    assert "where" not in plain
    assert plain["column"] == "x"
    bounds = json.loads(bounds_question(TABLE, "x", epsilon=1).text)
    assert "where" not in bounds
    assert bounds["column"] == "x"


def test_the_same_request_returns_the_stored_answer(tmp_path: Path) -> None:
    budget = hg.create_budget(str(tmp_path / "ledger.db"), "b", epsilon=10)
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "budget": budget, "request": "r"}
    first = hg.mean(TABLE, hg.expression("x>1"), where="n=1", **ask)
    again = hg.mean(TABLE, hg.expression("x > 1"), where="n = 1", **ask)
    assert first == again
    assert again.where == "n = 1"
    assert budget.balance().spent.epsilon == 1
    with pytest.raises(hg.BudgetError, match="another question"):
        hg.mean(TABLE, hg.expression("x > 1"), where="n = 2", **ask)


@pytest.mark.slow
def test_what_is_printed_names_the_filter() -> None:
    by: dict[str, Any] = {"by": "g", "keys": ["a"], "bounds": (0, 1), "epsilon": 1}
    found = hg.mean(TABLE, hg.expression("x>1"), where="n=1 and p<>'ann'", **by)
    assert "Rows where n = 1 AND p <> 'ann'." in str(found)
    assert found["a"].where == "n = 1 AND p <> 'ann'"
    assert "share" in str(found["a"])
    assert "Only rows where n = 1 AND p <> 'ann' were counted" in found.statement().words
    assert "rows kept where n = 1" in found.statement().yaml
    assert type(found).from_dict(found.to_dict()).where == found.where
    several = hg.mean(TABLE, ["x", "n"], where="n = 1", bounds=(0, 1), epsilon=1)
    assert "Rows where n = 1." in str(several)
    rows = hg.count(TABLE, where="n = 1", epsilon=1)
    assert "Rows where n = 1." in str(rows)
    assert hg.Count.from_dict(rows.to_dict()).where == "n = 1"
    assert "where" not in hg.count(TABLE, epsilon=1).to_dict()
    assert "rows kept where n = 1" in rows.statement().yaml
    with pytest.raises(hg.OptionError, match="needs a table"):
        hg.count([1, 2], where="n = 1", epsilon=1)
    bounds = hg.find_bounds(TABLE, "x", where="n = 1", epsilon=1)
    assert "Rows where n = 1." in str(bounds)
    assert hg.FoundBounds.from_dict(bounds.to_dict()) == bounds
    plain = hg.mean(TABLE, "x", bounds=(0, 1), epsilon=1)
    assert "where" not in plain.to_dict()


@pytest.mark.parametrize("name", ["hourglass § input 1", "Hourglass § value 1", "hourglass_PAIR"])
def test_reserved_names_are_not_columns(name: str) -> None:
    odd = TABLE.append_column(name, pa.array([1.0] * len(PEOPLE)))
    with pytest.raises(hg.DataError, match="rename"):
        totals({"data": odd}, name, where="n + 1 = 2")
    assert totals({"data": odd}, where="n + 1 = 2") == totals({"data": TABLE}, where="n = 1")
    assert totals({"data": odd}, name)


#: Of lambdas, subqueries and columns in the queries that we write.
OURS = ["p", "a", "b", "source", "asked", "x", "t", "person", "k1"]


@pytest.mark.slow
def test_any_other_name_is_a_column(engine_place: Any) -> None:
    """Lambdas and subqueries of ours have names, too: all of them are columns here."""
    columns: dict[str, Any] = {}
    for name in OURS:
        columns |= {name: TABLE["x"], f"{name}2": TABLE["n"], f"{name}3": TABLE["p"]}
    asked = [hg.expression(f"{name} * 2 / ({name}2 - 1)") for name in OURS]
    where = " AND ".join(f"FLOOR({name} + 1) > 2" for name in OURS)
    plain = hg.expression("x * 2 / (n - 1)")
    again = totals({"data": TABLE}, plain, where="FLOOR(x + 1) > 2", unit=hg.per_person("p"))
    ((total,), count) = again[None]
    ask: dict[str, Any] = {"where": where, "unit": hg.per_person("person3")}
    found = totals(engine_place(pa.table(columns)), asked, **ask)
    assert found == {None: ((total,) * len(OURS), count)}


@pytest.mark.engine("datafusion")
def test_nanoseconds_are_rounded_down_to_microseconds(tmp_path: Path) -> None:
    """The same on every engine that has them, up to the ends of the range."""
    ends = [-(2**63), -(2**63) + 1, -(2**63) + 2, 2**63 - 1, 2**63 - 2, 2**63 - 3]
    ends += [-(2**63 // 1000) * 1000 + d for d in (-1, 0, 1)]
    raw = [*range(-2002, 2003, 77), 10**18 + 999, -(10**18) - 1, *ends]
    table = pa.table({"t": pa.array([*raw, None], pa.int64()).view(pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "t.parquet")
    good = [n // 1000 for n in raw if -(2**63 // 1000) * 1000 <= n <= 2**63 - 2]
    tests = {
        "t IS NULL": len(raw) + 1 - len(good),
        "t >= '1970-01-01'": sum(n >= 0 for n in good),
        "t < '1970-01-01 00:00:00.000001'": sum(n < 1 for n in good),
        "t = '1969-12-31 23:59:59.999999'": good.count(-1),
        "t > '2262-04-11 23:47:16.854774'": sum(n > 9223372036854774 for n in good),
    }
    path = tmp_path / "t.parquet"
    places = [(path, "duckdb"), (path, "datafusion"), (table, None), (table.to_pandas(), None)]
    for data, engine in places:
        for where, wanted in tests.items():
            assert hg.count(data, where=where, epsilon=60, engine=engine).count == wanted, where


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("p = Rome", "where, character 5: there is no column 'Rome'; the columns are "),
        ('p = "Rome"', "; text is written in single quotes: 'Rome'"),
        ("income = 1 OR p = Rome", "character 19: there is no column 'Rome'; the columns are "),
        ("incom = 1", "no column 'incom'; did you mean 'income'? Text is written in single quotes"),
        ("p == 'Rome'", "where, character 3: write a single = for equality"),
        ("n % 2 = 0", "where, character 3: the character '%' is not supported"),
        ("income > 1 && income < 2", "where, character 12: write AND in place of &"),
        ("income > 1 | income < 2", "where, character 12: write OR in place of |"),
        ("!(income > 1)", "where, character 1: write NOT in place of !"),
        ("old = 1", "the same type; if x is true or false, write x or NOT x"),
        ("1 = old", "the same type; if x is true or false, write x or NOT x"),
    ],
)
def test_a_mistake_in_a_filter_and_its_remedy(where: str, told: str) -> None:
    table = TABLE.append_column("income", TABLE["x"])
    table = table.append_column("old", pc.is_null(TABLE["x"]))
    with pytest.raises(hg.OptionError, match=re.escape(told)):
        hg.count(table, where=where, epsilon=1)


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_a_date_that_is_none(kind: Any) -> None:
    table = pa.table({"d": pa.array([None], kind)})
    with pytest.raises(hg.OptionError, match=r"this is not a date; .* such as '2024-02-29'"):
        hg.count(table, where="d >= '2021-13-01'", epsilon=1)
    assert hg.count(table, where="d >= '2021-12-01'", epsilon=1)
