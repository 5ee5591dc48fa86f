"""Tables and sentences for terminals and notebooks, and YAML."""

from __future__ import annotations

import json
import math
import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, zip_longest
from typing import Any, Final

from ..core.exact import short_exponent
from ..core.limits import Bounds, one_or_more
from ..errors import OptionError

__all__ = [
    "NONE_PUBLISHED", "NOT_PRIVATE", "WIDTH", "Range", "bound", "check_sampled", "clamped",
    "counted", "counts_persons", "decimals_for", "group_label", "grouped", "hidden",
    "html_paragraphs", "html_table", "in_several_groups", "is_sampled", "label", "limited",
    "listed", "marked", "named", "number", "paragraphs", "replaced", "rounded", "sentence_table",
    "text_table", "unbroken", "width_of", "wrapped", "yaml_text",
]  # fmt: skip

#: Notes are wrapped to lines of this many characters, and tables unless there is more room.
WIDTH: Final = 80
#: The least width of the first column of a table, even if the rest is wide.
NARROWEST: Final = 12
#: Words that YAML reads as booleans or null.
_RESERVED: Final = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
#: A number, and a cell of words. An infinite number is neither.
_DIGIT: Final = re.compile("[0-9]|^-?inf$")
_WORD: Final = re.compile(r"[^\W\d_]{2}")


#: What everything that is made from seeded bits says.
NOT_PRIVATE: Final = "NOT PRIVATE: the noise came from a seeded source of bits."
#: In place of a table or a chart of groups with secret names.
NONE_PUBLISHED: Final = "No group's noisy count reached the threshold."


def marked(private: bool) -> dict[str, bool]:
    """What is added to figures that stand apart from the answer that they come from."""
    return {} if private else {"private": False}


def decimals_for(error: float) -> int:
    """The number of decimals that shows two digits of the error."""
    if not error > 0 or not math.isfinite(error):
        return 2
    return min(15, max(0, 1 - math.floor(math.log10(error))))


def number(value: float, decimals: int) -> str:
    """A number with thousands separators, or with an exponent if it is very long."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return f"{value:.6g}"
    text = f"{value:,.{decimals}f}"
    return text[1:] if float(text.replace(",", "")) == 0 and text.startswith("-") else text


def bound(end: float) -> str:
    """A bound with thousands separators: a whole number in full, another to six digits."""
    size = abs(end)
    if end and not 1e-4 <= size < 1e15:
        return short_exponent(f"{end:.6g}")
    if end == int(end):
        return f"{int(end):,}"
    text = number(end, max(0, 5 - math.floor(math.log10(size))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def clamped(bounds: Iterable[float]) -> str:
    """A range that values are clamped to: "[0, 40]"."""
    return f"[{', '.join(map(bound, bounds))}]"


def named(column: str) -> str:
    """A column in a sentence: quoted unless it is a plain word; one of an array has a number."""
    if re.fullmatch("[0-9]+", column):
        return f"column {column}"
    if column.isidentifier():
        return column
    if "'" in column and '"' in column:  # an expression, with names and texts of its own
        return f"({label([column])})"
    mark = '"' if "'" in column else "'"
    return f"{mark}{label([column])}{mark}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def grouped(by: Sequence[str]) -> str:
    """The columns that an answer is grouped by, in a title: " by city and year"."""
    return f" by {listed([named(name) for name in by])}" if by else ""


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 group", "2,000 groups", "3 entries"."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"


def group_label(key: Iterable[Any]) -> str:
    """A group's key in a table or a chart, where an empty name and spaces at the ends are seen."""
    return label(map(_seen, key))


def _seen(part: Any) -> Any:
    if not isinstance(part, str) or part == part.strip():
        return "(empty)" if part == "" else part
    return f"'{part}'"


def label(key: Iterable[Any]) -> str:
    """A group's key on one line, without control characters."""
    text = ", ".join("(missing)" if part is None else str(part) for part in key)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def unbroken(note: str) -> str:
    """The note, with ranges such as [0, 40] that no line ends within."""
    return re.sub(r"(\[[^][ ]+,) (?=[^][ ]+\])", "\\1\N{NO-BREAK SPACE}", note)


def paragraphs(notes: Iterable[str]) -> str:
    """Notes as lines of at most 80 characters, wrapped between words, but not within a range."""
    whole = map(unbroken, notes)
    lines = (line for note in whole for line in wrapped(note, WIDTH, long_words=False))
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], names: int = 1, width: int = WIDTH
) -> str:
    """A table: names and words are left-aligned, numbers right-aligned.

    The first ``names`` columns are names, and those without any number are words. If a line would
    be longer than ``width``, the widest names are wrapped between words. Numbers are never wrapped.
    """
    one_or_more("width", width)
    widths = [max(width_of(row[i]) for row in [head, *rows]) for i in range(len(head))]
    over = sum(widths) + 2 * (len(widths) - 1) - width
    for place in sorted(range(names), key=widths.__getitem__, reverse=True):
        narrower = max(min(widths[place], NARROWEST), widths[place] - max(over, 0))
        over -= widths[place] - narrower
        widths[place] = narrower
    return _table(head, rows, widths, _sides(rows, names, len(head)))


def _sides(rows: Sequence[Sequence[str]], names: int, columns: int) -> list[str]:
    """How each column is aligned."""
    cells = list(zip(*rows, strict=True)) or [()] * columns
    words = [any(map(_WORD.match, each)) and not any(map(_DIGIT.search, each)) for each in cells]
    return ["left" if place < names or words[place] else "right" for place in range(columns)]


def wrapped(text: str, width: int, *, long_words: bool = True) -> list[str]:
    """The text in lines of at most ``width`` places; one empty line if there is nothing in it."""
    if width_of(text) <= width:
        return [text]
    if not text.isascii():  # textwrap counts characters, of which some take two places
        width = max(1, width * len(text) // width_of(text))
    found = textwrap.wrap(text, width, break_long_words=long_words, break_on_hyphens=False)
    return found or [""]  # nothing but spaces


def sentence_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """A table whose cells are sentences: all left-aligned, wrapped to lines of ``width``."""
    widths = [max(width_of(row[i]) for row in [head, *rows]) for i in range(len(head))]
    while sum(widths) + 2 * len(widths) - 2 > width and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return _table(head, rows, widths, ["left"] * len(head))


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], sides: Sequence[str]
) -> str:
    """The lines of a table."""
    top, *others = (_lines(row, widths, sides) for row in [head, *rows])
    return "\n".join([*top, "  ".join("─" * each for each in widths), *chain(*others)])


def _lines(row: Sequence[str], widths: Sequence[int], sides: Sequence[str]) -> list[str]:
    columns = [wrapped(text, each) for text, each in zip(row, widths, strict=True)]
    found = []
    for cells in zip_longest(*columns, fillvalue=""):
        spaces = [" " * (each - width_of(c)) for c, each in zip(cells, widths, strict=True)]
        placed = zip(cells, spaces, sides, strict=True)
        line = (cell + space if side == "left" else space + cell for cell, space, side in placed)
        found.append("  ".join(line).rstrip())
    return found


def width_of(text: str) -> int:
    """How many places a text takes in a terminal: an East Asian character two, an accent none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def html_paragraphs(sentences: Iterable[str]) -> str:
    """Sentences for a notebook, each in a paragraph of its own."""
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, names: int = 1
) -> str:
    """An HTML table, with every cell escaped; aligned as :func:`text_table`."""
    sides = _sides(rows, names, len(head))

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return (
        f'<table class="hourglass"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
    )


def yaml_text(value: Any, indent: int = 0) -> str:
    """YAML in block style, with scalars in JSON syntax, which every YAML parser accepts."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "\n".join(_entry(f"{pad}{_word(k)}:", v, indent) for k, v in value.items())
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "\n".join(f"{pad}- {yaml_text(item, indent + 1).lstrip()}" for item in value)
    if isinstance(value, float) and "." not in (text := repr(value)):
        return pad + text.replace("e", ".0e")  # YAML 1.1 reads 1e-07 as text
    return pad + _scalar(value)


def _scalar(value: Any) -> str:
    """A scalar in JSON syntax; what YAML treats as a line break, or forbids, is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    escapes = (f"\\u{ord(c):04x}" if c <= "\uffff" else f"\\U{ord(c):08x}" for c in text)
    return "".join(c if c.isprintable() else e for c, e in zip(text, escapes, strict=True))


def _entry(head: str, value: Any, indent: int) -> str:
    inner = value[0] if isinstance(value, list) and value else value
    nested = isinstance(inner, dict) and bool(inner)
    return f"{head}\n{yaml_text(value, indent + 1)}" if nested else f"{head} {yaml_text(value)}"


def _word(key: str) -> str:
    """A key, quoted if a parser could read it as anything but that text."""
    plain = re.fullmatch("[A-Za-z][A-Za-z_]*", key) and key.lower() not in _RESERVED
    return key if plain else _scalar(key)


# --- how the values of the columns were read ------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """What the values of a column were clamped to, and how finely they were rounded."""

    column: str | None
    bounds: Bounds
    cells: int
    missing: int | float | None = None
    as_real: bool = False


def replaced(ranges: Sequence[Range]) -> list[str]:
    """Sentences on the values that replaced missing ones."""
    given = [each for each in ranges if each.missing is not None]
    alone = len(ranges) == 1
    return [
        f"Missing values{'' if alone else f' of {named(str(each.column))}'} count as "
        f"{bound(each.missing)}."
        for each in given
        if each.missing is not None
    ]


def rounded(ranges: Sequence[Range]) -> list[str]:
    """A sentence on whole numbers that were treated as real ones, and how to avoid that."""
    found = [each for each in ranges if each.as_real]
    if not found:
        return []
    names = "" if len(ranges) == 1 else f" of {listed([named(str(each.column)) for each in found])}"
    ends = clamped(found[0].bounds)[1:-1].replace(", ", " and ")
    share = "a share in per cent and " if found[0].bounds.lower == 0 else ""
    return [
        f"The values{names} are whole numbers, but were treated as real ones, because the bounds "
        f"were given with decimal points. Bounds of {ends} would give {share}a narrower interval "
        "for the population."
    ]


# --- whose presence is hidden, from the text of a unit as answers store it ------------------------

_PERSON: Final = re.compile(
    r"person \((?P<column>.*): (?:counted once|up to (?P<rows>[0-9]+) rows)"
    r"(?: in (?:(?P<one>one group)|up to (?P<groups>[0-9]+) groups))?\)",
    re.DOTALL,
)


def counts_persons(unit: str) -> bool:
    """Whether records are persons, from the text of a unit."""
    found = _PERSON.fullmatch(unit)
    return found is not None and found["rows"] is None


def in_several_groups(unit: str) -> bool:
    """Whether a person may count in several groups, from the text of a unit."""
    found = _PERSON.fullmatch(unit)
    return found is not None and found["groups"] is not None


def is_sampled(unit: str) -> bool:
    """Whether the records of a group can be independent draws: no person has several of them."""
    found = _PERSON.fullmatch(unit)
    return found is None or found["rows"] in (None, "1")


def check_sampled(unit: str, *, groups: int = 1) -> None:
    """Raise an error if one person can have several of the records of one or more groups.

    A random sample of a population consists of independent draws.
    """
    found = _PERSON.fullmatch(unit)
    if found is None:
        return
    draws = 'of="population" needs records that are independent draws, but '
    if not is_sampled(unit):
        raise OptionError(
            f"{draws}up to {found['rows']} rows of one person count; ask with "
            f"hg.per_person({found['column']!r}), so that each person counts once, with the mean "
            "of their rows"
        )
    if groups > 1 and found["groups"]:
        raise OptionError(
            f"{draws}one person counts in up to {found['groups']} groups; ask without groups=, so "
            "that each person counts in one group"
        )


def limited(unit: str, *, by_group: bool) -> str:
    """The text of a unit; if a person counts in one group only, it says so."""
    found = _PERSON.fullmatch(unit)
    if found is None or found["one"] or found["groups"] or not by_group:
        return unit
    return f"{unit[:-1]} in one group)"


def hidden(unit: str, *, averaged: bool = True, by_group: bool = False) -> str:
    """Whose presence is hidden, in words, from the text of a unit as stored in answers.

    ``averaged`` means that a person who counts once does so with the mean of their rows.
    """
    found = _PERSON.fullmatch(unit)
    if found is None:
        return f"one {unit}"
    column, rows = found["column"], found["rows"]
    alone = ", in one group" if found["one"] or (by_group and not found["groups"]) else ""
    if rows is None:
        once = "once per group" if found["groups"] else "once"
        words = f"each {column} counts {once}"
        words += alone + (", with the mean of their rows" if averaged else "")
    else:
        words = f"up to {rows} {'row' if rows == '1' else 'rows'} of each {column} count{alone}"
    if found["groups"]:
        words += f", in up to {found['groups']} groups"
    return f"one person ({words})"
