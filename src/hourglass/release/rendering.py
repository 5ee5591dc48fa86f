"""Answers as people read them: a table on a terminal, a table in a notebook."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from html import escape
from itertools import chain, zip_longest
from textwrap import wrap
from typing import Any, Final

__all__ = ["decimal", "decimals_for", "html_table", "number", "text_table", "yaml_text"]

#: No column of sentences is made narrower.
_LEAST_WIDTH: Final = 12


def decimal(value: Fraction) -> str:
    """The decimal if it is short, else the ratio."""
    text = f"{float(value):.12g}"
    return text if Fraction(text) == value else str(value)


def decimals_for(error: float) -> int:
    """So many decimals that two digits of the error show."""
    if not error > 0 or not math.isfinite(error):
        return 2
    return min(15, max(0, 1 - math.floor(math.log10(error))))


def number(value: float, decimals: int) -> str:
    """A number with thousands set apart, or in powers of ten where it is too long to read."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return f"{value:.6g}"
    text = f"{value:,.{decimals}f}"
    return text[1:] if float(text.replace(",", "")) == 0 and text.startswith("-") else text


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 0) -> str:
    """Columns lined up: the first to the left, the others, which are numbers, to the right.

    With a ``width`` the cells are sentences: all to the left, wrapped to lines of that width.
    """
    cells = [head, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    while width and sum(widths) + 2 * len(widths) - 2 > width and max(widths) > _LEAST_WIDTH:
        widths[widths.index(max(widths))] -= 1
    top, *others = (_wrapped(row, widths) if width else [_aligned(row, widths)] for row in cells)
    return "\n".join([*top, "  ".join("─" * each for each in widths), *chain(*others)])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    pairs = enumerate(zip(row, widths, strict=True))
    texts = (text.rjust(each) if i else text.ljust(each) for i, (text, each) in pairs)
    return "  ".join(texts).rstrip()


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [wrap(text, each) or [""] for text, each in zip(row, widths, strict=True)]
    return [
        "  ".join(text.ljust(each) for text, each in zip(line, widths, strict=True)).rstrip()
        for line in zip_longest(*columns, fillvalue="")
    ]


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """The same as a table of HTML, every cell escaped."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return (
        f'<table class="hourglass"><caption>{escape(caption)}</caption>'
        f"<thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"
    )


def yaml_text(value: Any, indent: int = 0) -> str:
    """Block style, scalars as JSON writes them: every YAML reader takes them."""
    pad = "  " * indent
    if isinstance(value, dict) and value:
        return "\n".join(_entry(f"{pad}{_word(k)}:", v, indent) for k, v in value.items())
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "\n".join(f"{pad}- {yaml_text(item, indent + 1).lstrip()}" for item in value)
    if isinstance(value, float) and "." not in (text := repr(value)):
        return pad + text.replace("e", ".0e")  # 1e-07 is a text to older readers
    return pad + json.dumps(value, ensure_ascii=False)


def _entry(head: str, value: Any, indent: int) -> str:
    inner = value[0] if isinstance(value, list) and value else value
    nested = isinstance(inner, dict) and bool(inner)
    return f"{head}\n{yaml_text(value, indent + 1)}" if nested else f"{head} {yaml_text(value)}"


def _word(key: str) -> str:
    return key if key.replace("_", "a").isalnum() and key.isascii() else json.dumps(key)
