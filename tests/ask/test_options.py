"""Valid options, what messages show of invalid ones, and when two questions are equal."""

from __future__ import annotations

import inspect
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hourglass as hg
from hourglass.ask.keywords import CountKeywords, FindKeywords, MeanKeywords, SumKeywords
from hourglass.ask.options import check_algorithm
from hourglass.ask.question import mean_question
from hourglass.ask.search import bounds_question
from hourglass.mechanisms.base import ALGORITHMS
from tests import apart
from tests.tools import everything

pytestmark = pytest.mark.attack

CANARY = "canary-4711"
NUMBER = 47114711.25
TABLE = pa.table({"x": [1.0, 2.0], "g": ["a", "b"], "id": ["p", "q"]})
GOOD: dict[str, Any] = {"column": "x", "bounds": (0, 10), "epsilon": 1}


#: Every form in which a column of the data could be given by mistake.
FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "pandas": pd.Series,
    "pandas frame": lambda v: pd.DataFrame({"c": v}),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow table": lambda v: pa.table({"c": v}),
    "numpy": np.array,
    "list": list,
    "tuple": tuple,
    "set": frozenset,
    "dict": lambda v: dict.fromkeys(v, v),
    "iterator": iter,
    "index": pd.Index,
}
COLUMNS = [f"{form} of {kind}" for kind in ("text", "numbers") for form in FORMS]


def column(name: str, rows: int = 3) -> Any:
    """A column of the data in this form."""
    form, kind = name.split(" of ")
    text: list[Any] = [CANARY, "other-4711", "third"]
    numbers = [NUMBER, NUMBER - 4711, NUMBER + 1]
    return FORMS[form]((text if kind == "text" else numbers)[:rows])


OPTIONS = [
    "column", "bounds", "epsilon", "by", "keys", "delta", "unit", "algorithm", "estimator", "grid",
    "missing", "parse", "engine", "budget", "request",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("option", OPTIONS)
def test_a_column_as_an_option_is_not_shown(option: str) -> None:
    """Of anything but a plain scalar, messages show only the type, for every option.

    This holds for short columns too: a column of two rows is not a pair of bounds, and one of one
    row is not a number.
    """
    for kind, rows in itertools.product(COLUMNS, (1, 2, 3) if option == "bounds" else (1, 3)):
        given = column(kind, rows)
        ask: dict[str, Any] = {**GOOD, option: given}
        if option in ("keys", "delta"):
            ask["by"] = "g"
        if option == "by":
            ask["delta"] = "1e-6"
        names = ("list", "tuple", "set", "dict", "iterator")
        if option == "keys" and kind.endswith("text") and kind.startswith(names):
            assert list(hg.mean(TABLE, **ask)), kind  # keys= takes a list of names
            continue
        if option == "bounds" and rows == 2 and kind in ("list of numbers", "tuple of numbers"):
            given = ask["bounds"] = given[::-1]
            assert hg.mean(TABLE, **ask).bounds.upper == NUMBER, kind  # bounds= takes a pair
            continue
        _refused_without_showing_it(kind, hg.mean, TABLE, **ask)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["epsilon", "scale", "share", "unit", "parse", "engine"])
def test_a_column_as_an_option_of_bounds_is_not_shown(option: str) -> None:
    # Numbers in no increasing order: as a scale they would be taken as such.
    for kind, rows in itertools.product(COLUMNS, (1, 2, 3)):
        ask: dict[str, Any] = {"epsilon": 1, option: column(kind, rows)}
        _refused_without_showing_it(kind, hg.find_bounds, TABLE, "x", **ask)


def _refused_without_showing_it(
    kind: str, call: Callable[..., Any], *data: Any, **ask: Any
) -> None:
    """The error is dropped at once, and with it the question: the next one has its database."""
    try:
        call(*data, **ask)
    except hg.HourglassError as error:
        shown = everything(error)
    else:
        pytest.fail(f"{kind}: it was not refused")
    assert CANARY not in shown, kind
    assert "4711" not in shown, kind


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_as_a_unit_is_not_shown(kind: str) -> None:
    for make in (hg.per_person, lambda c: hg.per_person("id", rows=c)):
        with pytest.raises(hg.OptionError) as caught:
            make(column(kind))
        assert CANARY not in everything(caught.value)
        assert "4711" not in everything(caught.value)


def test_bounds_do_not_reveal_a_length() -> None:
    """The length of a column given as bounds would reveal the number of rows."""
    with pytest.raises(hg.BoundsError) as caught:
        hg.mean(TABLE, "x", bounds=[0.5] * 4711, epsilon=1)
    assert "4711" not in str(caught.value)


# --- keys that are public -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["pandas", "pandas frame", "polars", "arrow", "arrow table", "numpy", "index"]
)
def test_keys_from_a_column_are_refused_unless_declared(kind: str) -> None:
    given = column(f"{kind} of text")
    with pytest.raises(hg.OptionError, match=r"hg\.public"):
        hg.mean(TABLE, by="g", keys=given, **GOOD)
    if kind in ("pandas frame", "arrow table"):
        named = {"pandas frame": pd.DataFrame, "arrow table": pa.table}[kind]({"g": ["a", "z"]})
        assert list(hg.mean(TABLE, by="g", keys=hg.public(named), **GOOD)) == ["a", "z"]
    else:
        assert list(hg.mean(TABLE, by="g", keys=hg.public(given), **GOOD)) == [
            CANARY,
            "other-4711",
            "third",
        ]


def test_the_data_itself_is_not_a_list_of_public_keys(tmp_path: Path) -> None:
    """By any name: the path, a link, a glob. Caught: a glob of keys that is not expanded."""
    import pyarrow.parquet as pq

    path, link = tmp_path / "t.parquet", tmp_path / "link.parquet"
    pq.write_table(TABLE, path)
    link.symlink_to(path)
    names = (path, str(path), tmp_path / "t*.parquet", link, tmp_path / "[a-m]ink.parquet")
    for data, keys in itertools.product(names, names):
        with pytest.raises(hg.OptionError, match="is the data itself"):
            hg.mean(data, by="g", keys=keys, **GOOD)
    assert list(hg.mean(path, by="g", keys=hg.public(path), **GOOD)) == ["a", "b"]


# --- the same question ----------------------------------------------------------------------


def texts(*asks: dict[str, Any]) -> list[str]:
    return [mean_question(TABLE, **{**GOOD, **ask}).text for ask in asks]


ASKED_IN_TURN = """
import sys, json, pyarrow as pa, hourglass as hg
from hourglass.ask.question import mean_question
from hourglass.noise.bits import SeededBits

kinds = {
    "int": (0, 10), "float": (0.0, 10.0), "below": (-0.0, 10), "mixed": (0, 10.0),
    "found": hg.Bounds(0, 10, origin="found privately"),
}
shapes = {
    "mean": ("x", {}), "columns": (["x", "y"], {}), "spread": ("x", {"spread": True}),
    "groups": ("x", {"by": "g", "delta": "0.01"}),
}
table = pa.table({"x": [0, 1, 9], "y": [0.0, 3.0, 10.0], "g": ["a", "a", "b"]})
told = {}
for kind in sys.argv[1:]:
    for shape, (column, more) in shapes.items():
        asked = {"bounds": kinds[kind], "epsilon": 1, **more}
        answer = hg.mean(table, column, bits=SeededBits(7), **asked)
        stated = str(answer.statement().yaml)
        told[f"{kind} {shape}"] = [
            mean_question(table, column, **asked).text, stated, str(answer),
            json.dumps(answer.to_dict(0.95)),
        ]
    scale = [type(kinds["int"][0])(0), *(kinds[kind] if kind != "found" else (0, 10))[1:], 20]
    found = hg.find_bounds(table, "y", epsilon=50, scale=scale, bits=SeededBits(7))
    told[f"{kind} bounds"] = [str(found), json.dumps(found.to_dict())]
print(json.dumps(told))
"""


@pytest.mark.slow
def test_a_question_does_not_depend_on_what_was_asked_before() -> None:
    """Equal bounds with different types, signs or origins, in either order, each in a fresh
    process."""
    kinds = ["int", "float", "below", "mixed", "found"]
    first, second = (
        json.loads(
            apart.run(
                [sys.executable, "-c", ASKED_IN_TURN, *order],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for order in (kinds, kinds[::-1])
    )
    for name, told in first.items():
        assert told == second[name], name
    for shape in ("mean", "columns", "spread", "groups"):
        assert len({first[f"{kind} {shape}"][0] for kind in kinds}) == 4, shape
        origins = [("found privately" in first[f"{kind} {shape}"][1]) for kind in kinds]
        assert origins == [False, False, False, False, True], shape


def test_none_and_the_text_none_are_two_keys() -> None:
    null, text = texts({"by": "g", "keys": [None]}, {"by": "g", "keys": ["None"]})
    assert null != text


@pytest.mark.slow
def test_a_set_of_keys_is_one_question_in_every_process() -> None:
    """Two processes order a set of 26 texts in the same way with a probability of 1e-26."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    program = (
        "import pyarrow as pa; from hourglass.ask.question import mean_question\n"
        "t, keys = pa.table({'x': [1.0], 'g': ['a']}), set('" + letters + "')\n"
        "print(mean_question(t, 'x', bounds=(0, 10), epsilon=1, by='g', keys=keys).text)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "random", "PYTHONPATH": ":".join(sys.path)},
    ).stdout  # fmt: skip
    (here,) = texts({"by": "g", "keys": set(letters)})
    assert told == f"{here}\n"


def test_an_old_text_stays_the_same() -> None:
    """Questions in existing ledgers: with a changed text, a stored answer would not be found."""
    (told,) = texts({"by": "g", "keys": ["a", "b"]})
    assert json.loads(told) == {
        "algorithm": "hourglass",
        "bounds": ["0", "10"],
        "by": ["g"],
        "column": "x",
        "data": "Table",
        "delta": "0",
        "epsilon": "1",
        "estimator": "projected",
        "grid": [2**32, False],
        "keys": [["a"], ["b"]],
        "missing": "drop",
        "parse": None,
        "unit": "row",
    }
    bounds = bounds_question(TABLE, "x", epsilon=1, scale=[0, 1])
    assert bounds.text == (
        '{"column":"x","data":"Table","epsilon":"1","kind":"bounds","parse":null,'
        '"scale":["0","1"],"share":"1/5","unit":[null,null]}'
    )


# --- nothing fails after the charge ------------------------------------------------------------


@pytest.fixture
def budget(tmp_path: Path) -> hg.Budget:
    return hg.create_budget(str(tmp_path / "b.db"), "b", epsilon=10_000)


def hard_questions() -> list[dict[str, Any]]:
    bounds: list[tuple[int | float, int | float]] = [
        (1_700_000_000, 1_700_003_600),
        (2**62, 2**62 + 1),
        (-(2**900), 2**900),
        (1e300, 1.0000001e300),
        (-1.7e308, 1.7e308),
        (0.0, 5e-324 * 2**40),
        (0, 1),
    ]
    epsilons: list[Any] = [Fraction(1, 10**6), "0.001", 1, 100]
    algorithms = ["hourglass", "staircase", "laplace", "shifted", "independent", "swap"]
    return [
        {"bounds": b, "epsilon": e, "algorithm": a}
        for b, e, a in itertools.product(bounds, epsilons, algorithms)
        if a == "hourglass" or (b in bounds[:5:2] and e in epsilons[::3])  # the extremes
    ]


@pytest.mark.slow
def test_a_question_fails_before_the_charge_or_not_at_all(budget: hg.Budget) -> None:
    """Unusual bounds and epsilons, every algorithm: refused with nothing spent, or answered.

    No rows, one or many: one test, since the laws take longer to compute than to draw from.
    """
    spent = Fraction(0)
    kinds: list[list[float]] = [[], [0.0], [1e308] * 50]
    answered = [0] * len(kinds)
    for ask, (kind, rows) in itertools.product(hard_questions(), enumerate(kinds)):
        try:
            found = hg.mean(rows, budget=budget, **ask)
        except hg.HourglassError:
            pass
        else:
            spent += Fraction(ask["epsilon"])
            answered[kind] += 1
            json.dumps(found.to_dict(), allow_nan=False)
            str(found)
        assert budget.balance().spent.epsilon == spent, ask
    assert len(set(answered)) == 1  # whatever the rows
    assert answered[0] > 40


ASKS: dict[str, Any] = {
    "mean": lambda budget: hg.mean(TABLE, **GOOD, budget=budget),
    "groups": lambda budget: hg.mean(TABLE, **GOOD, by="g", keys=["a"], budget=budget),
    "bounds": lambda budget: hg.find_bounds(TABLE, "x", epsilon=1, budget=budget),
}


@pytest.mark.parametrize(
    ("ask", "broken"),
    [
        ("mean", "mechanisms.base.HourglassMean.noise"),
        ("mean", "estimate.point.sum_"),
        ("mean", "release.release.Release.to_dict"),
        ("groups", "mechanisms.base.HourglassMean.noise"),
        ("groups", "release.release.Releases.to_dict"),
        ("bounds", "mechanisms.scan.Search.sample"),
    ],
)
def test_what_fails_without_data_fails_before_the_charge(
    budget: hg.Budget, monkeypatch: pytest.MonkeyPatch, ask: str, broken: str
) -> None:
    """Each step after reading is tried beforehand, so that one that cannot work costs nothing."""

    def fails(*_: Any, **__: Any) -> Any:
        raise OverflowError("too large")

    monkeypatch.setattr(f"hourglass.{broken}", fails)
    with pytest.raises(OverflowError):
        ASKS[ask](budget)
    assert budget.history() == []


@pytest.mark.parametrize(
    ("call", "keywords"),
    [
        (hg.mean, MeanKeywords),
        (hg.sum, SumKeywords),
        (hg.count, CountKeywords),
        (hg.find_bounds, FindKeywords),
    ],
)
def test_a_signature_shows_every_option(call: Any, keywords: Any) -> None:
    """As notebooks show it; bounds and epsilon have no default."""
    shown = inspect.signature(call).parameters
    assert set(keywords.__annotations__) <= set(shown)
    required = [name for name, each in shown.items() if each.default is each.empty]
    bounds = [] if call in (hg.count, hg.find_bounds) else ["bounds"]
    assert required == ["data", *bounds, "epsilon"]
    assert all(each.kind is not each.VAR_KEYWORD for each in shown.values())


@pytest.mark.enumeration
@pytest.mark.parametrize("rows", [1, 2, 3, 64])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_which_algorithms_take_several_records_of_a_person(algorithm: str, rows: int) -> None:
    """Caught: two records of a person where the law of the noise hides a change of one."""
    unit, mechanism = hg.per_person("u", rows=rows), ALGORITHMS[algorithm]
    assert mechanism.several_records == (mechanism.adjacency == "add-remove")
    if rows > 1 and algorithm == "swap":
        with pytest.raises(hg.OptionError, match="counts each person once"):
            check_algorithm(algorithm, (), Fraction(0), unit)
    else:
        check_algorithm(algorithm, (), Fraction(0), unit)
