"""How text files are read, in plain Python, byte by byte: the reference for every engine."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable

LONGEST, MOST = 1 << 26, 1 << 20
Fields = tuple[str | None, ...]

#: What lines are made of, so that every state of the rule meets every kind of character.
PIECES = [
    b'"', b'"', b'""', b",", b",", b"\t", b"5", b"7", b"-1.5", b"a", b"note", b" ", b"\r", b"\\",
    b"'", b"\x00", b"\xff", b"\xe2\x82", b"\xef\xbb\xbf", b"NULL", b"#", "é".encode(),
    "😀".encode(), "\u2028".encode(), "\x85".encode(), b"\x0b", b"\x1a", b"0123456789abcdef",
    b"${x}", b'5,"', b'",5',
]  # fmt: skip
ENDS = [b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r\r\n"]


def nasty_line(dice: random.Random, longest: int = 12) -> bytes:
    """A line without its end, made of pieces that are easily misread."""
    return b"".join(dice.choices(PIECES, k=dice.randrange(longest)))


def nasty_file(dice: random.Random, lines: int, header: bytes = b"x,g,h") -> bytes:
    """A file with difficult lines between well-formed ones."""
    parts = [header, b"\n"]
    for _ in range(lines):
        parts.append(dice.choice([nasty_line(dice), nasty_line(dice), b"5,a,b", b'"6","b",c']))
        parts.append(dice.choice(ENDS))
    return b"".join(parts if dice.random() < 0.5 else parts[:-1])


def lines_of(data: bytes, header: bytes | None) -> Iterable[str]:
    """The lines that are records."""
    for raw in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = raw.removesuffix(b"\r")
        if not line or line == header or len(line) > LONGEST:
            continue
        try:
            yield line.decode()
        except UnicodeDecodeError:
            continue


def split(line: str, separator: str = ",") -> list[str]:
    """The fields of a line: a machine of four states."""
    fields, field, state = [], "", "start"
    for character in line:
        if state == "start" and character == '"':
            state = "quoted"
        elif state == "quoted":
            if character == '"':
                state = "quote seen"
            else:
                field += character
        elif state == "quote seen" and character == '"':
            field, state = field + '"', "quoted"
        elif character == separator:
            fields.append(field)
            field, state = "", "start"
        else:
            field, state = field + character, "plain"
    return [*fields, field]


def read(
    data: bytes, wanted: list[int], *, separator: str = ",", header: bytes = b"x,g,h"
) -> Counter[Fields]:
    """How often each combination of wanted fields occurs; None is a missing one."""
    found: Counter[Fields] = Counter()
    for line in lines_of(data, header):
        if line.count(separator) + line.count('"') > MOST:
            continue
        fields = split(line, separator)
        found[tuple((fields[k] if k < len(fields) else "") or None for k in wanted)] += 1
    return found


_NUMBER = re.compile(r" *[+-]?(\d+[.]?\d*|[.]\d+)([eE][+-]?\d+)? *", re.ASCII)


def number(text: str | None) -> float | None:
    """The number in a field, by the rule of ``parse="real"``."""
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None
