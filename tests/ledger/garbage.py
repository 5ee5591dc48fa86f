"""Calls of a PostgreSQL ledger's functions with arbitrary arguments, and what must never result."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import psycopg

from hourglass.errors import LedgerCorruptError
from hourglass.ledger import Sum
from hourglass.ledger.entries import Row, digest
from hourglass.ledger.replay import View

BUDGETS = (
    ["b", "b", "s", "r"] * 4
    + ["c"] * 3
    + ["", "B", "b ", "b\n", "none", "b'; DROP TABLE x; --", None]
)
REQUESTS = [f"k{n}" for n in range(20)] + [
    "", " k", "k ", "k\n", "k\tk", "\x1b[2J", "\x7f", "\x85", "x" * 200, "x" * 201, "é", "報告",
    "🌡" * 200, "🌡" * 201, '"', "\\", '","kind":"init', "charge-3", "\u202e", "k\\u0031", None,
]  # fmt: skip
QUESTIONS = [digest(str(n)) for n in range(3)] * 6 + [
    "", "0", "g" * 64, "0" * 63, "0" * 65, "A" * 64, "0" * 64 + "\n", '","by":"x', None,
]  # fmt: skip
DESCRIPTIONS = ["", "mean of age"] * 5 + [
    "x" * 201,
    "a\nb",
    " a",
    '","spent":{"epsilon":"0/1"',
    None,
]
EPSILONS = ["1/1000", "1/3000", "2/2000", "7/1000003", "1/900", "1/" + "9" * 60] * 5 + [
    "0/1", "-1/10", "1/-10", "1/0", "0/0", "0.1", "1e-3/1", "1", "", "/", "1/", "/2", "1/2/3",
    "01/10", "1/010", "１/10", " 1/10", "1/10 ", "1/10\n", "+1/10", "NaN/1", "Infinity/1",
    "1/Infinity", "1_0/100", "0x1/0x10", "9" * 60 + "/1", "1/" + "9" * 61, "1/10'", "5/1", None,
]  # fmt: skip
DELTAS = ["0/1"] * 20 + ["0/7", "1/1000000000", "3/1000000000"] * 3 + [
    "1/1", "2/1", "-1/2", "00/1", "0", "0/0", "", "1/10\n", "NaN/1", None,
]  # fmt: skip
ANSWERS = ['{"mean":1}'] * 6 + [
    "{}", '{"a":"\\u0000"}', '{"a":1,"a":2}', '{"a":' + "9" * 5000 + "}", '{"a":1e999}',
    '{"a":' * 3000 + "1" + "}" * 3000, "[]", "1", "null", "", "{", '{"a":NaN}', '{"a":1} x',
    "\ufeff{}", "{'a':1}", None,
]  # fmt: skip
CHARGES = [*range(1, 60), 0, -1, 2**62, 2**63 - 1, -(2**63), None]

#: Errors that garbage may raise: those of the functions, and wrong data or syntax.
EXPECTED = ("HG", "22", "54001")
#: The keys of an entry that the functions write, in their order.
KEYS = {
    "reserve": (
        "budget number previous kind at epsilon delta request question description spent by"
    ),
    "settle": "budget number previous kind at charge answer spent by",
}


def call(connection: Any, statement: str, arguments: tuple[Any, ...]) -> str:
    """The result of one call: "done", or the code of its error."""
    try:
        connection.execute(statement, arguments)
    except psycopg.Error as error:
        return error.sqlstate or type(error).__name__
    return "done"


def fuzz(urls: list[str], calls: int, seed: int, settings: tuple[str, ...] = ()) -> Counter[str]:
    """Call the functions as each of the roles in turn."""
    dice = random.Random(seed)
    outcomes: Counter[str] = Counter()
    connections = [psycopg.connect(url, autocommit=True) for url in urls]
    try:
        for connection in connections:
            for setting in settings:
                connection.execute(setting.encode())
        for _ in range(calls):
            connection = dice.choice(connections)
            kind = dice.choice(["reserve", "settle", "settle", "hold"])
            if kind == "reserve":
                pools: list[list[Any]] = [
                    BUDGETS, REQUESTS, QUESTIONS, DESCRIPTIONS, EPSILONS, DELTAS
                ]  # fmt: skip
                statement = "SELECT hourglass.reserve(%s, %s, %s, %s, %s, %s)"
            elif kind == "settle":
                pools = [BUDGETS, CHARGES, ANSWERS]
                statement = "SELECT hourglass.settle(%s, %s, %s)"
            else:
                pools, statement = [BUDGETS], "SELECT hourglass.hold(%s)"
            # One argument from anywhere and the others good, so that each check is decisive.
            odd = dice.randrange(len(pools))
            chosen = [
                dice.choice(pool) if place == odd else dice.choice(pool[: len(pool) // 2])
                for place, pool in enumerate(pools)
            ]
            if kind == "reserve" and odd != 1:
                chosen[1] = f"k{dice.getrandbits(40)}"
            outcomes[f"{kind} {call(connection, statement, tuple(chosen))}"] += 1
    finally:
        for connection in connections:
            connection.close()
    return outcomes


def violations(url: str, name: str) -> list[str]:
    """Impossible entries of a budget, and entries that not everyone could read."""
    with psycopg.connect(url, autocommit=True) as connection:
        stored = connection.execute(
            "SELECT number, body, hash, answer FROM hourglass.entries WHERE budget = %s "
            "ORDER BY number",
            (name,),
        ).fetchall()
    view = View(name)
    found: list[str] = []
    by: dict[int, str] = {}
    for number, body, hash_, answer in stored:
        try:
            view.apply(Row(number, body, hash_))
        except LedgerCorruptError as error:
            return [*found, str(error)]
        if number == 0:
            continue
        pairs = json.loads(body, object_pairs_hook=lambda pairs: pairs)
        fields = json.loads(body)
        expected = KEYS[fields["kind"]]
        if not isinstance(view.terms.rule, Sum):
            expected = expected.replace("spent", "used")
        if " ".join(key for key, _ in pairs) != expected:
            found.append(f"entry {number} has other fields than it should")
        if fields["kind"] == "reserve":
            by[number] = fields["by"]
            texts = [fields["request"], fields["description"]]
            if len(fields["question"]) != 64 or set(fields["question"]) - set("0123456789abcdef"):
                found.append(f"entry {number} has no hash of a question")
            if not fields["request"] or any(
                len(text) > 200 or text != text.strip(" ") or min(text, default="a") < " "
                for text in texts
            ):
                found.append(f"entry {number} has a text that is not plain")
        else:
            if fields["by"] != by[fields["charge"]]:
                found.append(f"entry {number} answers the charge of another role")
            if not answer.lstrip().startswith("{") or fields["answer"] != digest(answer):
                found.append(f"entry {number} has another answer than an object")
    return found
