"""What is not supported is refused before any charge, immediately, and with its position."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hourglass as hg
from hourglass.errors import HourglassError
from tests.tools import command

FRAME = pd.DataFrame(
    {
        "x": [1.0, 2.0],
        "n": [1, 2],
        "t": ["a", "b"],
        "flag": [True, False],
        "o": pd.to_timedelta([1, 2], "h"),
    }
)
FRAME["at"] = pd.to_datetime(["2024-02-29 13:00", "2024-03-01 00:00"])

#: Not in the grammar, wherever they stand.
GRAMMAR = [
    # other statements, and more than one
    "SELECT x", "x > (SELECT 1)", "x > (SELECT AVG(x) FROM t)", "x IN (SELECT x FROM t)",
    "EXISTS (SELECT 1)", "x > 1; DROP TABLE t", "x > 1;", "; x > 1", "x > ALL (1)",
    "x = ANY (1, 2)",
    "x > 1 UNION SELECT 1", "x > 1 ORDER BY x", "x > 1 LIMIT 1", "WITH a AS (SELECT 1) x > 1",
    "x > 1 GROUP BY t", "VALUES (1)", "DELETE FROM t", "TABLE t", "x > 1 FROM t",
    # functions that are not listed, aggregates, windows, chance and time
    "SUM(x) > 1", "COUNT(*) > 1", "AVG(x) < x", "MAX(x) = x", "COUNT(x) OVER () > 1",
    "ROW_NUMBER() OVER (ORDER BY x) < 5", "x > LAG(x) OVER (ORDER BY n)", "RANDOM() < 0.5",
    "random() > x", "RAND() < 1", "NOW() > at", "CURRENT_TIMESTAMP > at", "CURRENT_DATE = at",
    "UUID() = t", "UPPER(t) = 'A'", "SQRT(x) > 1", "POW(x, 2) > 1", "EXP(x) > 1", "LN(x) > 1",
    "ROUND(x) = 1", "SUBSTR(t, 1, 1) = 'a'", "TRIM(t) = 'a'", "CONCAT(t, t) = 'aa'", "MD5(t) = ''",
    "pg_sleep(10) IS NULL", "read_csv('/etc/passwd') IS NULL", "getenv('HOME') = ''", "x.y(1) > 1",
    "NULLIF(x, 0) > 1", "IF(x > 1, 1, 0) = 1", "load_extension('x') IS NULL",
    "EXTRACT(YEAR FROM at) = 1",
    "HOURGLASS_ADD(x, 1) > 1", "abs (x, 1) > 1", "ABS() > 1", "COALESCE(x) > 1", "LEAST(x) > 1",
    # casts, other operators and literals
    "CAST(x AS INTEGER) = 1", "TRY_CAST(t AS DOUBLE) = 1", "x::int = 1", "x % 2 = 0", "n // 2 = 1",
    "n & 1 = 1", "n | 1 = 1", "n ^ 2 = 1", "~n = 1", "n << 1 = 2", "t || 'a' = 'aa'", "x ** 2 > 1",
    "x == 1", "x <=> 1", "x !> 1", "+x > 1", "x := 1", "x IS TRUE", "x IS DISTINCT FROM 1",
    "t ILIKE 'A'", "t SIMILAR TO 'a'", "t ~ 'a'", "t REGEXP 'a'", "t GLOB 'a'", "t LIKE t",
    "t LIKE LOWER('A')", "t LIKE 'a' ESCAPE 'ab'", "t LIKE 'a!' ESCAPE '!'",
    "t LIKE 'a!b' ESCAPE '!'",
    "t LIKE '%a%b%'", "t COLLATE NOCASE = 'a'", "x = NULL", "NULL IS NULL", "x IN (NULL)",
    "x IN ()",
    "x IN (1, n)", "x IN (1 + 1)", "x BETWEEN 1", "x < n < 3", "x = 1 = TRUE",
    "CASE x WHEN 1 THEN 2 END",
    "CASE WHEN x > 1 THEN 1", "CASE END", "CASE ELSE 1 END", "DATE '2024-01-01' < at",
    "INTERVAL '1 day' IS NULL", "at + INTERVAL '1' DAY > at", "ARRAY[1] IS NULL", "x[1] = 1",
    "{x} > 1",
    "x > 0x1F", "x > 1_000", "x > 1e", "x > 1.2.3", "x > 5x", "x > 1e999", "n = 1e400", "x > ?",
    "x > $1", "x > :p", "x > @p", "x > {{p}}", "x > %s", "x > ${HOME}", "*", "t.* > 1", "a.b.c = 1",
    "main.x > 1", "x > 1 AS y", "DISTINCT x", "NOT", "AND x > 1", "x > 1 AND", "x >", "> 1",
    "()", "(",
    ")", "x > 1)", "((x > 1)", "", "   ", "\n",
    # comments, quotes, escapes, characters
    "x > 1 -- y", "x > 1 /* y */", "/* */ x > 1", "x > 1 # y", "x > 1 --", "x - -- \n 1 > 0",
    "t = 'a",
    "t = 'a''", "t = \"a", '"" = 1', "`x` > 1", "[x] > 1", "t = $$a$$", "t = $q$a$q$",
    "t = E'a'", "t = N'a'", "t = x'61'", "t = U&'a'", "t = b'1'", "t = ‘a’", "t = “a”",
    "t = 'a' 'b'",
    "t = '\ud800'", "t = 'a' OR \udfff > 1", '"x\udc80" > 1',
    "t = 'a\0b'", "x\0 > 1", "\0", "x\u00a0> 1", "x\u200b> 1", "x > 1\u2028", "\ufeffx > 1",
    "x > １",
    "x ＞ 1", "x ≥ 1", "x ≠ 1", "x > 1\x1a", "\\x > 1", "t = 'a' \\g", "😀 > 1",
    # too long, too deep, too many
    "(" * 10_000 + "x > 1" + ")" * 10_000, "(" * 31 + "x > 1" + ")" * 31, "NOT " * 40 + "x > 1",
    "-" * 3 + "x > 1", "- " * 40 + "x > 1", "x > 1" + " " * 10_000, "+".join(["x"] * 60) + " > 1",
    "CASE WHEN x > 1 THEN " * 40 + "1" + " END" * 40 + " > 1", " OR ".join(["x > 1"] * 700),
    "ABS(" * 31 + "x" + ")" * 31 + " > 1",
]  # fmt: skip
#: Of the grammar, but of types that do not fit the table's.
TYPES = [
    "t > 1", "x = 'a'", "n = 'a'", "t + 1 > 1", "-t > 1", "flag > 1", "flag + 1 > 1", "flag < TRUE",
    "x", "t", "at", "1", "'a'", "NOT x", "x AND flag", "flag OR 1", "ABS(t) > 1", "LENGTH(x) > 1",
    "LOWER(x) = 'a'", "x LIKE 'a'", "YEAR(x) = 1", "YEAR('2024-01-01') = 2024", "HOUR(t) = 1",
    "YEAR(COALESCE(at, at)) = 1", "at > 1", "at > 'x'", "at > '2024-13-01'", "at = '2024-02-30'",
    "at = '20240229'", "at > t", "COALESCE(at, at) > '2024-01-01'", "x IN (1, 'a')", "t IN (1)",
    "x BETWEEN 'a' AND 'b'", "flag IN (1)", "COALESCE(x, t) = 1", "CASE WHEN x THEN 1 END = 1",
    "CASE WHEN x > 1 THEN 1 ELSE 'a' END = 1", "CASE WHEN x > 1 THEN NULL END IS NULL", "o = 1",
    "zz > 1", "X > 1", '"x " > 1', "LEAST(t, 'a') = 'a'", "GREATEST(flag, TRUE)",
]  # fmt: skip


def fault(text: str, budget: Any) -> str | None:
    """What is wrong with how a text is refused; None where all is well."""
    start = time.perf_counter()
    try:
        hg.mean(FRAME, "x", where=text, bounds=(0, 1), epsilon=1, budget=budget)
    except HourglassError as error:
        took, said = time.perf_counter() - start, str(error)
        named = re.match(r"where(, character [1-9][0-9]*: | has \d+ characters)", said)
        fine = named and took < 1 and error.__context__ is None and error.exit_code == 2
        return None if fine else f"{took:.2f} s: {said}"
    return "it was answered"


@pytest.mark.slow
@pytest.mark.parametrize("texts", [GRAMMAR, TYPES], ids=["grammar", "types"])
def test_refused_before_any_charge(texts: list[str], tmp_path: Path) -> None:
    budget = hg.create_budget(str(tmp_path / "ledger.db"), "b", epsilon=1000)
    assert {text[:60]: wrong for text in texts if (wrong := fault(text, budget))} == {}
    assert budget.balance().spent.epsilon == 0


def test_there_are_more_than_a_hundred() -> None:
    assert len(set(GRAMMAR)) >= 100
    assert len(set(GRAMMAR)) == len(GRAMMAR)


@pytest.mark.parametrize("text", ["SUM(x)", "x +", "1 + 1", "t", "at", "zz", "x; y"])
def test_expressions_are_refused_alike(text: str) -> None:
    with pytest.raises(HourglassError, match=r"^expression[,:]"):
        hg.mean(FRAME, hg.expression(text), bounds=(0, 1), epsilon=1)


def test_places_are_those_of_what_is_wrong() -> None:
    for text, place in {
        "x > 1 AND SUM(n) > 1": 11,
        "x > 1 AND n = 'a'": 15,
        "x > 1 AND zz = 1": 11,
        "x > 1 AND (n > 1": 17,
        "t = 'a' AND `x` = 1": 13,
        "n IN (1, 2, 'a')": 13,
    }.items():
        with pytest.raises(HourglassError, match=f"^where, character {place}: "):
            hg.mean(FRAME, "x", where=text, bounds=(0, 1), epsilon=1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Order Date > 3", "ORDER is not supported; if it is part of a column's name, put"),
        ("end date > 3", "END is not expected here; if it is part of a column's name, put"),
        ("x > 1 AND AND", "AND is not expected here. The language has"),
        ("n in [1, 2]", r"lists are written in parentheses, as in x IN \(1, 2\)"),
    ],
)
def test_names_and_lists_that_are_written_as_elsewhere(text: str, told: str) -> None:
    with pytest.raises(HourglassError, match=told):
        hg.mean(FRAME, "x", where=text, bounds=(0, 1), epsilon=1)


FORMS = ["{} = {}", "{} >= {}", "{} IN ({})", "{0} BETWEEN {1} AND {1}", "{1} <> {0}"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("column", "wrong", "right", "told"),
    [("t", "12", "'12'", "in single quotes"), ("x", "'12'", "12", "without quotes")],
)
def test_a_constant_of_the_other_type(
    form: str, column: str, wrong: str, right: str, told: str
) -> None:
    """The message says how the constant is written, and so it is accepted."""
    ask: dict[str, Any] = {"bounds": (0, 1), "epsilon": 1, "explain": True}
    if form.startswith("{1}"):  # here it is the column that does not fit
        told = f"column '{column}' is"
    with pytest.raises(HourglassError, match=told):
        hg.mean(FRAME, "x", where=form.format(column, wrong), **ask)
    assert hg.mean(FRAME, "x", where=form.format(column, right), **ask)


CANARY = "canary-4711"


@pytest.mark.parametrize(
    "where",
    [
        pd.Series([CANARY]), FRAME.x > 1, np.array([CANARY]), [CANARY], {CANARY: 1}, (CANARY,),
        f"t = '{CANARY}", f"'{CANARY}'", f"t = '{CANARY}' x", f"t LIKE '{CANARY}%%%'",
        f"x = '{CANARY}'",
        f"at = '{CANARY}'", f"MD5('{CANARY}') = 1",
    ],
    ids=lambda where: repr(where)[:20].replace("\n", " "),
)  # fmt: skip
def test_no_message_repeats_a_value(where: Any) -> None:
    """A whole column or a cell that was given by mistake is not printed."""
    with pytest.raises(HourglassError) as raised:
        hg.mean(FRAME, "x", where=where, bounds=(0, 1), epsilon=1)
    assert CANARY not in str(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    "data",
    [[1.0, 2.0], np.ones(3), iter([1.0]), np.ones((3, 2))],
    ids=["list", "array", "iterator", "matrix"],
)
def test_columns_in_memory_have_no_names(data: Any) -> None:
    with pytest.raises(hg.RequestError, match=r"is not a table|only to tables|need a table"):
        hg.mean(data, where="x > 1", bounds=(0, 1), epsilon=1)
    with pytest.raises(hg.RequestError, match=r"is not a table|single column|need a table"):
        hg.mean(data, hg.expression('"0" > 1'), bounds=(0, 1), epsilon=1)


def test_a_condition_takes_bounds_of_0_and_1() -> None:
    with pytest.raises(hg.BoundsError, match=re.escape("('x > 1'); give bounds=(0, 1)")):
        hg.mean(FRAME, hg.expression("x>1"), bounds=(0, 2), epsilon=1)
    with pytest.raises(hg.BoundsError, match="needs no search"):
        hg.find_bounds(FRAME, hg.expression("x>1"), epsilon=1)


def test_the_command_refuses_with_exit_code_2(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"x,t\n1,{CANARY}\n")
    words = ["mean", str(file), "x", "--bounds", "0", "1", "--epsilon", "1"]
    for more in (
        ["--where", "SUM(x) > 1"],
        ["--expression", "x +"],
        ["--where", "t > 1 AND t = 'a'"],
    ):
        done = command(*words, *more)
        assert done.code == 2
        assert "character" in done.err
        assert CANARY not in done.out + done.err
    nothing = command("mean", file, "--bounds", 0, 1, "--epsilon", 1)
    assert nothing.code == 2
    assert "--expression" in nothing.err
