"""JSON lines: a line is at most one record on every engine, whatever it holds."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import hourglass as hg
from hourglass.ask.count import count_question
from hourglass.ask.question import mean_question

ROW = '{"x": 7, "g": "b"}'
#: Lines, and the record that each of them is: none, or (x, g). None where engines may differ.
LINES: list[tuple[str, tuple[int, str] | str | None]] = [
    ('{"x": 5, "g": "a"}', (5, "a")),
    (' {"g": "a", "x": 5} ', (5, "a")),
    ('\t{"g": "a", "x": 5}\t', (5, "a")),
    ('{"x": "5", "g": "a", "h": [1, {"x": 9}]}', (5, "a")),
    ('{"x": 5.0, "g": "\\u0061"}', (5, "a")),
    ('{"x": 5e0, "g": "a"}', (5, "a")),
    ('{"x": 5, "g": "a"}\r', (5, "a")),
    ('{"x": 1e400, "g": "a"}', (9, "a")),
    ('{"x": "inf", "g": "a"}', (9, "a")),
    ('{"x": 5, "g": "é😀\\ud83d\\ude00"}', (5, "é😀😀")),
    ('{"x": 5, "g": 17}', (5, "17")),
    ('{"x": 5, "g": true}', (5, "true")),
    ('[{"x": 5, "g": "a"}]', "none"),
    ("[" + ",".join(['{"x": 5, "g": "a"}'] * 1000) + "]", "none"),
    ('[[{"x": 5, "g": "a"}]]', "none"),
    ('"x"', "none"),
    ("5", "none"),
    ("null", "none"),
    ("{}", "none"),
    ('{"x": null, "g": "a"}', "none"),
    ('{"x": 5, "g": null}', "none"),
    ('{"x": [5], "g": "a"}', "none"),
    ('{"x": {"x": 5}, "g": "a"}', "none"),
    ('{"X": 5, "G": "a"}', "none"),
    ('{"x": 5, "g": "a"', "none"),
    ('{"x": 5, "g": "a', "none"),
    ("{", "none"),
    ("}", "none"),
    ("x", "none"),
    ("{'x': 5, 'g': 'a'}", "none"),
    ('{"x": 05, "g": "a"}', "none"),
    ('{"x": "5\\r", "g": "a"}', "none"),
    ('{"x": 5, "g": "a"} {"x": 5, "g": "a"}', None),
    ('{"x": 5, "g": "a"}{"x": 5, "g": "a"}', None),
    ('{"x": 5, "g": "a"}, {"x": 5, "g": "a"}', None),
    ('{"x": 5, "g": "a"}\r{"x": 5, "g": "a"}', None),
    ('{"x": 5, "x": 6, "g": "a", "g": "c"}', None),
    ('{"x": 5, "g": "a",}', None),
    ('{"x": 5, "g": "\\ud800"}', None),
    ('{"x": NaN, "g": "a"}', "none"),
    ("\0", "none"),
    ('\ufeff{"x": 5, "g": "a"}', None),
    ('{"x":' * 3000 + "1" + "}" * 3000, "none"),
    ("[" * 100_000, "none"),
    ('{"x": 5, "g": "a", "h": [' + ",".join("1" * (1 << 19)) + "]}", (5, "a")),
    ('{"x": 5, "g": "a", "h": [' + ",".join("1" * (1 << 20)) + "]}", "none"),
    ('{"x": 5, "g": "a", "h": "' + "[" * (1 << 20) + '"}', "none"),
    ('{"g": "' + "y" * (3 << 20) + '", "x": 5}', "none"),
    ('{"x": ' + "9" * 100_000 + ', "g": "a"}', None),
    ('{"x": 5, "g": "a", "h": "' + "y" * (21 << 20) + '"}', None),  # Java's parser takes 20 million
]


@pytest.fixture(params=["duckdb", "duckdb alone", "spark"])
def read(request: pytest.FixtureRequest) -> Any:
    if request.param == "spark":
        request.getfixturevalue("spark_session")
    if request.param == "duckdb alone":
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr("hourglass.read.engines.duckdb._arrow_is_here", lambda: False)

    def totals(path: Path) -> dict[Any, tuple[int, int]]:
        question = mean_question(
            path, "x", bounds=(0, 9), grid=9, epsilon=1, by="g", delta=1e-6,
            engine=request.param.removesuffix(" alone"),
        )  # fmt: skip
        found = question.read()
        pairs = zip(found.totals.cells.tolist(), found.count.tolist(), strict=True)
        keyed = zip((key for (key,) in found.keys), pairs, strict=True)
        return {key: pair for key, pair in keyed if pair[1]}

    totals.engine = request.param  # type: ignore[attr-defined]
    return totals


def check(line: str, record: Any, found: dict[Any, tuple[int, int]], rows: int) -> None:
    assert found.pop("b") == (7 * rows, rows), line[:60]
    if record == "none":
        assert found == {}, line[:60]
    elif record is not None:
        x, g = record
        assert found == {g: (x, 1)}, line[:60]
    else:
        assert sum(count for _, count in found.values()) <= 1, line[:60]


@pytest.mark.slow
@pytest.mark.attack
def test_every_line_is_at_most_one_record(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    if read.engine == "duckdb":
        for line, record in LINES:
            path.write_text("\n".join([ROW, ROW, line, ROW]))
            check(line, record, read(path), 3)
        return
    # Elsewhere all at once: first those that are certain, then the others with names of their own.
    certain = [(line, record) for line, record in LINES if record is not None]
    path.write_text("\n".join(f"{line}\n{ROW}" for line, _ in certain))
    expected = {"b": (7 * len(certain), len(certain))}
    for _, told in certain:
        if isinstance(told, tuple):
            cells, count = expected.get(told[1], (0, 0))
            expected[told[1]] = (cells + told[0], count + 1)
    assert read(path) == expected
    odd = [line for line, record in LINES if record is None]
    path.write_text("\n".join(f"{own_names(line, i)}\n{ROW}" for i, line in enumerate(odd)))
    found = read(path)
    assert found.pop("b") == (7 * len(odd), len(odd))
    counts = [sum(found.pop(f"{name}{i}", (0, 0))[1] for name in "ac") for i in range(len(odd))]
    assert max(counts) == 1
    assert sum(count for _, count in found.values()) <= 1  # of the one whose name is half a letter


def own_names(line: str, number: int) -> str:
    return line.replace('"a"', f'"a{number}"').replace('"c"', f'"c{number}"')


def test_invalid_bytes_and_compression(read: Any, tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"x": 5, "g": "a"}\r\n{"x": 5, "g": "\xff"}\n\n{"x": 6, "g": "c"}'
    for name, written in (("a.jsonl", data), ("a.ndjson.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(written)
        assert read(tmp_path / name) == {"a": (5, 1), "c": (6, 1)}


@pytest.mark.slow
@pytest.mark.property
def test_broken_lines(tmp_path: Path) -> None:
    """Any line cut, doubled or with a character changed leaves its neighbours alone."""
    dice = random.Random(11)
    path = tmp_path / "a.jsonl"
    for _ in range(20):
        lines = []
        for _ in range(50):
            line = json.dumps({"x": 5, "g": "a", "h": [1, "y", {"x": 1}]})
            at = dice.randrange(len(line))
            lines += [line[:at] + dice.choice(["", '"', "{", "}", "[", ",", "\\", line]), ROW]
        path.write_text("\n".join(lines))
        question = mean_question(
            path, "x", bounds=(0, 9), grid=9, epsilon=1, by="g", keys=["a", "b"]
        )
        found = question.read()
        counts = dict(zip(found.keys, found.count.tolist(), strict=True))
        assert counts["b",] == 50
        assert counts.get(("a",), 0) <= 50


@pytest.mark.slow
def test_names_of_members(read: Any, tmp_path: Path) -> None:
    names = ["a.b", "${x}", "it's", 'q"uote', "é😀", "sp ace", "`", "$", "[0]", "*", "c0", "line"]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({name: 5, "g": "a"}) + "\n" for name in names))
    engine = read.engine.removesuffix(" alone")
    if engine == "spark":  # where a question takes long: all at once, each on one line and no other
        ask: dict[str, Any] = {"bounds": (0, 9), "grid": 9, "missing": 0, "epsilon": 1}
        found = mean_question(path, names, engine=engine, **ask).read().only
        assert (found.sums, found.count) == ((5,) * len(names), len(names))
        return
    for name in names:
        question = mean_question(path, name, bounds=(0, 9), epsilon=1, engine=engine)
        assert question.read().count.tolist() == [1], name


#: Values that name groups, as they are written in JSON, and their names on every engine.
NAMED = {text: text for text in ("0", "7", "-7", str(2**53 + 1), str(2**64), "9" * 30)} | {
    "true": "true", '""': "", '"1.50"': "1.50", '"\\u00e9"': "é", '"a\\u0000"': "a\0", '"\\/"': "/"
}  # fmt: skip
#: Engines write other numbers in different ways.
FRACTIONS = [
    "-0", "0.10", "1e2", "1E+2", "1e16", "1e21", "1e-7", "0.00001", "12345678.9", "5e-324", "1e400"
]  # fmt: skip
SPECIAL = [
    "a.b", "a/b", "~", "~1", "/", "//", "it's", 'q"', "\\", "$.g", "[0]", "*", "#", "\t", "é?"
]  # fmt: skip


@pytest.mark.slow
def test_the_name_of_a_member_does_not_change_how_others_are_read(
    read: Any, tmp_path: Path
) -> None:
    """Members with special names are found, too, and do not change the spelling of a number."""
    path, engine = tmp_path / "a.jsonl", read.engine.removesuffix(" alone")
    values = [*NAMED, *FRACTIONS]

    def names(member: str) -> dict[str, str | None]:
        label = json.dumps(member)
        lines = (f'{{"g": {text}, {label}: "{i}"}}' for i, text in enumerate(values))
        path.write_text("\n".join(["[0, 1]", *lines]))
        asked: dict[str, Any] = {"epsilon": 1, "by": ["g", member], "delta": 1e-6}
        found = count_question(path, **asked, engine=engine).read()
        return {values[int(place)]: name for name, place in found.keys}

    plain = names("i")
    assert {text: plain[text] for text in NAMED} == NAMED
    special = SPECIAL if engine == "duckdb" else SPECIAL[:3]
    assert {member for member in special if names(member) != plain} == set()


def test_names_that_differ_in_case_alone_are_refused(read: Any, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(ROW)
    with pytest.raises(hg.DataError, match="differ in case alone"):
        hg.mean(
            tmp_path / "a.jsonl", "x", bounds=(0, 9), epsilon=1, by="X", keys=["a"],
            engine=read.engine.removesuffix(" alone"),
        )  # fmt: skip
