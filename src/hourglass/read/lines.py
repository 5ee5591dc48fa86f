"""Text files as records and fields: the rule by which CSV, TSV and JSON lines are read.

Each line is a record, and a quoted field ends with its line: whatever a line contains, it does not
change how any other line is read. In detail:

- A line ends at a line feed; one carriage return before it is not part of the line.
- Lines that are empty, that repeat the header, that are not UTF-8, that are longer than ``LONGEST``
  bytes, or that contain more than ``MOST`` separators and quotes (in JSON: commas and opening
  brackets and braces) are not records.
- A field that starts with a quote runs to the next single quote, two quotes in a row standing for
  one; text between the closing quote and the separator is appended unchanged. Without a closing
  quote it runs to the end of the line. A quote anywhere else is an ordinary character.
- An empty field is missing, and so is a field that the line is too short to have.

In a file that its owner declares well formed (``hourglass.multiline``) a line feed inside quotes
is part of the field, and a record may span lines.

Blocks of a megabyte are split in NumPy, and their fields are passed on as Arrow string views
without copying. Lines with escaped or stray quotes are split one by one, which is slower.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .blocks import LONGEST, MOST, PAD
from .source import Field, Schema

__all__ = [
    "CHANGED",
    "JSON_MARKS",
    "Views",
    "check_case",
    "is_text",
    "records",
    "split_line",
    "text_schema",
]

Array = npt.NDArray[Any]

#: The structural characters of JSON.
JSON_MARKS: Final = b",[{"
_LF, _CR, _QUOTE = 10, 13, 34
#: For a text of 0 to 12 bytes, which bytes of a view's three words hold it.
_INLINE: Final = np.array(
    [
        [(1 << 8 * min(max(length - 4 * word, 0), 4)) - 1 for word in range(3)]
        for length in range(PAD + 1)
    ],
    dtype=np.uint32,
)


@dataclass(frozen=True)
class Views:
    """Columns of text as Arrow string views into ``buffers``; an empty text is missing."""

    rows: int
    columns: tuple[Array, ...]
    buffers: tuple[bytes, ...]

    def present(self, column: int) -> Array:
        """Arrow's validity bits of a column."""
        return np.packbits(self.columns[column][:, 0] > 0, bitorder="little")


def split_line(line: bytes, separator: bytes) -> list[bytes]:
    """The fields of one line, by the rule above."""
    fields: list[bytes] = _pattern(separator).findall(separator + line)
    return [_unquoted(field) if field.startswith(b'"') else field for field in fields]


@cache
def _pattern(separator: bytes) -> re.Pattern[bytes]:
    until = b"[^" + re.escape(separator) + b"]*"
    # Neither alternative can backtrack, so the time is linear in the length of the line.
    quoted = b'"[^"]*(?:""[^"]*)*(?:"' + until + b")?"
    return re.compile(re.escape(separator) + b"(" + quoted + b"|" + until + b")")


_INSIDE: Final = re.compile(b'"([^"]*(?:""[^"]*)*)')


def _unquoted(field: bytes) -> bytes:
    found = _INSIDE.match(field)
    assert found is not None
    return found[1].replace(b'""', b'"') + field[found.end() + 1 :]


# --- from a block to columns ----------------------------------------------------------------


def records(
    block: bytes,
    picks: Sequence[int] | None,
    *,
    separator: bytes = b",",
    headers: frozenset[bytes] = frozenset(),
    multiline: bool = False,
) -> Views:
    """The records of a block, with the fields whose numbers, from 0, are in ``picks``.

    With ``picks=None`` there is one column, the whole line.
    """
    counted = JSON_MARKS if picks is None else b"" if multiline else separator + b'"'
    if _is_overfull(block, counted):
        return Views(0, (np.empty((0, 4), np.uint32),) * len(picks or [0]), (block,))
    lines = _Lines(block, separator if picks is not None else b"", multiline)
    kept = lines.kept(headers, counted)
    if picks is None:
        spans = [(lines.starts, lines.ends - lines.starts)]
    else:
        spans = [lines.field(pick) for pick in picks]
    if not kept.all():
        spans = [(starts[kept], lengths[kept]) for starts, lengths in spans]
    columns = [_views(block, starts, lengths) for starts, lengths in spans]
    buffers = [block]
    if picks is not None and lines.slow.any():
        rows = np.flatnonzero(lines.slow & kept)
        extra = [split_line(lines.line(i), separator) for i in rows.tolist()]
        places = np.cumsum(kept)[rows] - 1  # the positions of these lines among the kept ones
        for pick, column in zip(picks, columns, strict=True):
            texts = [fields[pick] if pick < len(fields) else b"" for fields in extra]
            column[places], data = _views_of(texts, len(buffers))
            buffers.append(data)
    return Views(len(columns[0]), tuple(columns), tuple(buffers))


class _Lines:
    """The positions of the lines of a block and of their fields.

    ``starts`` and ``ends`` are those of each line; ``slow`` marks lines with quotes that do not
    just enclose a field.
    """

    def __init__(self, block: bytes, separator: bytes, multiline: bool) -> None:
        self.block, self.marks = block, np.frombuffer(block, np.uint8)[:-PAD]
        self.slow = np.zeros(0, dtype=bool)
        wanted = self.marks == _LF
        if separator:
            wanted |= self.marks == separator[0]
        self._quoted = bool(separator) and b'"' in block
        if self._quoted and (multiline or not self._begins_simply(separator)):
            self._split_by_quotes(wanted, multiline)
            return
        self._set(np.flatnonzero(wanted))
        if self._quoted and not self._all_around_fields():
            self._split_by_quotes(wanted, multiline)

    def _begins_simply(self, separator: bytes) -> bool:
        """Whether quotes in the first lines enclose whole fields only: a guess about the rest."""
        fields = (f for line in self.block[:4096].split(b"\n")[:-1] for f in line.split(separator))
        counts = (
            (f.count(b'"'), f.startswith(b'"'), f.rstrip(b"\r").endswith(b'"')) for f in fields
        )
        return all(not quotes or (quotes == 2 and a and b) for quotes, a, b in counts)

    def _set(self, stops: Array) -> None:
        """Set the ends of fields: separators, and the line feeds that end records."""
        self._last = np.flatnonzero(self.marks[stops] == _LF)  # the last field of each line
        feeds = stops[self._last]
        self._before = np.empty_like(stops)  # the end of the field before each
        self._before[0], self._before[1:] = -1, stops[:-1]
        self.starts = self._before[np.append(0, self._last[:-1] + 1)] + 1
        self.ends = feeds
        if b"\r" in self.block:
            self.ends = feeds - ((self.marks[feeds - 1] == _CR) & (feeds > self.starts))
            stops[self._last] = self.ends
        self._stops = stops
        self.slow = np.zeros(len(feeds), dtype=bool)

    def _around(self) -> Array:
        """Which fields start and end with a quote."""
        marks, before, stops = self.marks, self._before, self._stops
        around: Array = (marks[before + 1] == _QUOTE) & (marks[stops - 1] == _QUOTE)
        return around & (stops - before > 2)

    def _all_around_fields(self) -> bool:
        """Whether every quote is the first or last character of a field without separators."""
        quotes = np.count_nonzero(self.marks == _QUOTE)
        return bool(quotes == 2 * np.count_nonzero(self._around()))

    def _split_by_quotes(self, wanted: Array, multiline: bool) -> None:
        """Ignore separators inside quotes, and find the lines with any other quotes."""
        places = np.flatnonzero(wanted | (self.marks == _QUOTE))
        kinds = self.marks[places]
        quotes, feeds = kinds == _QUOTE, kinds == _LF
        inside: Array = np.logical_xor.accumulate(quotes)
        unclosed = bool(inside[-1])
        odd: Array | None = None  # which lines end inside quotes
        if multiline:
            inside[-1] = False
        elif (inside & feeds).any():
            # Quotes end with their line, so subtract those open before it.
            inside ^= np.append(False, inside[feeds])[np.cumsum(feeds) - feeds]
            odd = inside[feeds]
            inside[feeds] = False
        self._set(np.compress(~(quotes | inside), places))
        if odd is None:
            odd = np.zeros(len(self.starts), dtype=bool)
            odd[-1] = multiline and unclosed
        self._find_slow(odd)

    def _find_slow(self, odd: Array) -> None:
        """Lines with a quote that is not the first or the last character of a whole field."""
        if odd.any() or not self._all_around_fields():
            around = np.diff(np.cumsum(self._around())[self._last], prepend=0)
            places = np.flatnonzero(self.marks == _QUOTE)
            quotes = np.diff(np.searchsorted(places, np.append(self.starts, len(self.marks))))
            self.slow = odd | (quotes != 2 * around)

    def kept(self, headers: frozenset[bytes], counted: bytes) -> Array:
        """Which lines are records."""
        lengths = self.ends - self.starts
        kept: Array = (lengths > 0) & (lengths <= LONGEST)
        for i in np.flatnonzero(lengths > MOST).tolist():
            kept[i] &= _marks(self.line(i), counted) <= MOST
        for header in headers:
            alike = (lengths == len(header)) & (self.marks[self.starts] == header[0])
            for i in np.flatnonzero(alike).tolist():
                kept[i] &= self.line(i) != header
        if not self.block.isascii() and not is_text(self.block):
            for i in range(len(kept)):
                kept[i] &= is_text(self.line(i))
        return kept

    def line(self, i: int) -> bytes:
        """A line without its end."""
        return self.block[self.starts[i] : self.ends[i]]

    def field(self, pick: int) -> tuple[Array, Array]:
        """Start and length of a field of each line, without quotes; 0 if a line lacks it."""
        width, rest = divmod(len(self._stops), max(len(self._last), 1))
        if not rest and np.array_equal(self._last, np.arange(width - 1, len(self._stops), width)):
            # All lines have the same number of fields, so the first field of each need not be
            # looked up.
            if pick >= width:
                return self.starts, np.zeros_like(self.starts)
            starts, stops = self._before[pick::width] + 1, self._stops[pick::width]
            lengths = stops - starts
        else:
            first = np.zeros_like(self._last)
            first[1:] = self._last[:-1] + 1
            here = np.minimum(first + pick, self._last)
            starts = self._before[here] + 1
            lengths = np.where(first + pick > self._last, 0, self._stops[here] - starts)
        if self._quoted:
            around = (self.marks[starts] == _QUOTE) & (lengths >= 2)
            starts, lengths = starts + around, lengths - 2 * around
        return starts, lengths


def _is_overfull(block: bytes, counted: bytes) -> bool:
    """Whether a block is one long line with too many marks, checked before it takes memory."""
    if len(block) <= MOST or block.find(b"\n") < len(block) - PAD - 1:
        return False
    return _marks(block, counted) > MOST


def _marks(line: bytes, counted: bytes) -> int:
    """The number of these characters."""
    return sum(line.count(mark) for mark in counted)


def is_text(data: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _views_of(texts: Sequence[bytes], buffer: int) -> tuple[Array, bytes]:
    """Views of texts that are not in the block, and the buffer that holds them."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    data = b"".join([*texts, bytes(PAD)])
    return _views(data, np.cumsum(lengths) - lengths, lengths, buffer), data


def _views(data: bytes, starts: Array, lengths: Array, buffer: int = 0) -> Array:
    """Arrow string views: up to 12 bytes inline, otherwise four bytes and a reference."""
    texts = np.ndarray((len(data) - PAD + 1,), f"V{PAD}", data, strides=(1,))
    views = np.empty((len(starts), 4), np.uint32)
    views[:, 0] = lengths
    words = texts[starts].view("<u4").reshape(-1, 3)
    views[:, 1:] = words & _INLINE.take(lengths, axis=0, mode="clip")
    long = np.flatnonzero(lengths > PAD)
    views[long, 2], views[long, 3] = buffer, starts[long]
    return views


# --- the columns of text files --------------------------------------------------------------------

#: The error if the files are no longer those that a question was checked against.
CHANGED: Final = (
    "data: a file was replaced, emptied or removed since the question was checked; ask again once "
    "nobody writes it"
)


def text_schema(names: tuple[str, ...], wanted: tuple[str, ...]) -> Schema:
    """The schema of text files with these columns, all of them text; unnamed ones are left out.

    Names that differ only in case are distinct columns, unless a question asks for both.
    """
    check_case(tuple(name for name in wanted if name in names))
    fields = tuple(Field(name, "text", "text", typed=False) for name in names if name)
    # If the file has no header line, the names are the cells of a record: they are not listed.
    return Schema(fields, listed=False)


def check_case(wanted: tuple[str, ...]) -> None:
    """Refuse a question for two columns whose names differ only in case, which SQL ignores."""
    for i, name in enumerate(wanted):
        for other in wanted[:i]:
            if name.casefold() == other.casefold() and name != other:
                raise DataError(
                    "two of the columns asked for have names that differ in case alone, which SQL "
                    "does not tell apart; rename one of them in the header"
                )
