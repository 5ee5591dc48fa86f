"""Printed answers."""

from __future__ import annotations

import re
from fractions import Fraction
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import hourglass as hg
from hourglass.release.rendering import (
    counted,
    decimals_for,
    html_table,
    label,
    number,
    paragraphs,
    text_table,
    yaml_text,
)

from .test_stored import TEXT, answers

WORDS = st.lists(st.text("abc-é", min_size=1, max_size=12), min_size=1, max_size=15).map(" ".join)
NUMBERS = st.lists(st.floats(-1e9, 1e9).map(lambda x: number(x, 2)), min_size=3, max_size=3)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(WORDS, st.lists(st.tuples(WORDS, NUMBERS), max_size=5))
def test_a_table_reads_back(head: str, rows: list[tuple[str, list[str]]]) -> None:
    """At most 80 columns, wrapped only between words, every number right-aligned."""
    cells = [(head, ["mean", "95 % from", "to"]), *rows]
    first, *others = ([name, *rest] for name, rest in cells)
    lines = text_table(first, others).splitlines()
    assert max(map(len, lines)) <= 80
    rule = next(line for line in lines if line.startswith("─"))
    (_, wide), *spans = (found.span() for found in re.finditer("─+", rule))
    lines.remove(rule)
    read: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if len(line) > wide:
            read.append(([], [line[start:end] for start, end in spans]))
        read[-1][0].extend(line[:wide].split())
    expected = [
        (name.split(), [c.rjust(end - start) for c, (start, end) in zip(rest, spans, strict=True)])
        for name, rest in cells
    ]
    assert read == expected


def test_a_word_that_is_too_long_is_cut_and_no_number_is() -> None:
    text = text_table(["g", "mean", "to"], [["x" * 200, "1" * 40, "2" * 40]])
    lines = text.splitlines()
    assert "".join(line.split()[0] for line in lines[2:]) == "x" * 200
    assert "1" * 40 in text
    assert "2" * 40 in text
    assert len(text_table([" " * 90, "n"], []).splitlines()) == 2


def test_one_and_many_are_printed_with_the_same_digits() -> None:
    """In each table a group's mean has the digits of that group's release."""
    found = answers(("g",), (("a",), (None,)))
    assert "(missing)" in str(found)
    row = next(line for line in str(found).splitlines() if line.startswith("a "))
    alone = next(line for line in str(found["a"]).splitlines() if line.startswith("mean "))
    assert alone.split()[1:4] == row.split()[1:4]
    assert str(found).splitlines()[-2:] == str(found["a"]).splitlines()[-2:]
    assert all(len(line) <= 80 for line in str(found).splitlines())


def test_what_is_counted_agrees_with_its_noun() -> None:
    assert [counted(n, "group") for n in (0, 1, 2, 1000)] == [
        "0 groups", "1 group", "2 groups", "1,000 groups",
    ]  # fmt: skip
    for groups, told in ((60, ""), (61, "... and 1 more group: "), (62, "... and 2 more groups: ")):
        text = str(answers(("i",), tuple((i,) for i in range(groups))))
        assert ("more group" in text) == bool(told)
        assert told in text
    found = hg.find_bounds([1.0] * 50, epsilon=9, scale=[-2, 0, 2], bits=hg.SeededBits(1))
    assert found.target[0] == 1
    assert "about 1 record below" in str(found)
    assert all(len(line) <= 80 for line in str(found).splitlines())


def test_no_groups_say_why() -> None:
    found = answers(("g",), (), threshold=20)
    assert str(found).startswith("No group's noisy count reached the threshold.\n")
    assert "noisy count is 20 or more" in str(found)


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT)
def test_html_escapes_names(name: str, key: str) -> None:
    tags = set()

    class Seen(HTMLParser):
        text = ""

        def handle_starttag(self, tag: str, attributes: object) -> None:
            tags.add(tag)

        def handle_data(self, data: str) -> None:
            self.text += data

    seen = Seen()
    seen.feed(answers((f"<b>{name}</script>",), ((f"<i onload='{key}",),))._repr_html_())
    assert tags == {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert label([f"<i onload='{key}"]) in seen.text


@given(TEXT)
def test_a_label_is_one_line_that_a_terminal_shows(key: str) -> None:
    assert label([key, None]).isprintable()
    assert label([key]) == key or not key.isprintable()


@pytest.mark.slow
@given(st.dictionaries(TEXT, TEXT | st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_yaml_reads_back(value: dict[str, object]) -> None:
    assert yaml.safe_load(yaml_text({"a": value, "b": [value, value]})) == {
        "a": value, "b": [value, value],
    }  # fmt: skip


def test_notes_wrap_between_words_and_leave_long_ones_whole() -> None:
    url = "https://example.org/" + "a" * 90
    assert paragraphs([f"see {url} there", "two"]).splitlines() == ["see", url, "there", "two"]


@pytest.mark.parametrize(
    ("value", "places", "told"),
    [(-0.0001, 2, "0.00"), (1234.5, 1, "1,234.5"), (-1e15, 2, "-1e+15"), (float("inf"), 2, "inf")],
)
def test_numbers(value: float, places: int, told: str) -> None:
    assert number(value, places) == told


def test_two_digits_of_the_error_show() -> None:
    assert [decimals_for(e) for e in (123.0, 1.0, 0.034, 1e-30, 0.0, float("inf"))] == [
        0, 1, 3, 15, 2, 2,
    ]  # fmt: skip
    release = hg.mean([1.0] * 9, bounds=(0, 3), epsilon=Fraction(1, 3), bits=hg.SeededBits(2))
    assert "epsilon 1/3" in str(release)


def test_statements_and_bounds_in_a_notebook() -> None:
    """What print shows, as paragraphs."""
    released = hg.mean([1.0] * 50, bounds=(0, 1), epsilon=1)
    statement: Any = released.statement(name="<b>")
    bounds: Any = hg.find_bounds([1.0] * 50, epsilon=1)
    for shown in (statement, bounds):
        html = shown._repr_html_()
        assert html.startswith("<p>")
        words = " ".join(re.sub("<[^>]*>", " ", html).split())
        assert words == escape(" ".join(str(shown).split()))


def test_words_are_aligned_left_and_numbers_right() -> None:
    """The column of notes was aligned like numbers."""
    head = ["group", "mean", "none", "note"]
    rows = [["a", "1.5", "–", ""], ["b", "12", "–", "too few records"], ["c", "inf", "–", "few"]]
    assert text_table(head, rows).splitlines() == [
        "group  mean  none  note",
        "─────  ────  ────  ───────────────",
        "a       1.5     –",
        "b        12     –  too few records",
        "c       inf     –  few",
    ]
    assert text_table(["", "figure"], [["a", "inf"]]).splitlines()[-1] == "a     inf"
    assert text_table(["check", "verdict"], [["x", "holds"]]).splitlines()[-1] == "x      holds"
    html = html_table(head, rows, "")
    sides = re.findall("text-align:(left|right)", html)[:4]
    assert sides == ["left", "right", "right", "left"]
