"""The line numbers of values in a TOML file, which the standard parser does not report."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["line_of", "lines_of"]

_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_NAME: Final = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER: Final = re.compile(rf"\s*\[\[?\s*({_NAME})\s*\]\]?")
_KEY: Final = re.compile(rf"\s*({_NAME})\s*=\s*(.*)", re.DOTALL)

Path = tuple[str, ...]


def lines_of(text: str) -> dict[Path, int]:
    """The line of every table and key, counted from 1; of text that the parser accepts."""
    found: dict[Path, int] = {}
    table: Path = ()
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        if header := _HEADER.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            name = table + _parts(key[1])
            for end in range(len(table) + 1, len(name) + 1):
                found.setdefault(name[:end], number)
            _skip(key[2], lines)
    return found


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """The line of a value, or of the innermost table around it that has one."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def _parts(name: str) -> Path:
    parsed: Any = tomllib.loads(f"{name} = 1")
    parts: list[str] = []
    while isinstance(parsed, dict):
        (part, parsed), *_ = parsed.items()
        parts.append(part)
    return tuple(parts)


def _skip(value: str, lines: Iterator[tuple[int, str]]) -> None:
    """Skip the further lines of a multi-line value, which contain no keys."""
    while not _whole(value):
        following = next(lines, None)
        if following is None:
            return
        value += "\n" + following[1]


def _whole(value: str) -> bool:
    try:
        tomllib.loads(f"x = {value}")
    except tomllib.TOMLDecodeError:
        return False
    return True
