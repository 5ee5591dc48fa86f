"""Read a text file in blocks of whole records; :mod:`.lines` finds their fields."""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np

from .threads import cores

__all__ = ["BLOCK", "LONGEST", "MOST", "PAD", "ahead", "blocks", "open_binary"]

Made = TypeVar("Made")

#: A longer line is not a record, because it would have to be held in memory as a whole.
LONGEST: Final = 1 << 26
#: A line with more separators and quotes than this is not a record: each field takes memory.
MOST: Final = 1 << 20
#: Bytes read at once; a batch of this size keeps all threads of the engine busy.
BLOCK: Final = 1 << 20
#: Threads that split blocks (NumPy releases the GIL), and how many bytes they may be ahead.
THREADS: Final = 4
AHEAD: Final = 8 * BLOCK
#: Zero bytes after a block, for views that read past the end of a short field.
PAD: Final = 12
_BOM: Final = b"\xef\xbb\xbf"
_LF, _QUOTE = 10, 34


def open_binary(path: str) -> Any:
    """The bytes of a file, decompressed if its name says so."""
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb", buffering=0)


def blocks(path: str, *, multiline: bool = False, size: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole records that end with a line feed, each followed by ``PAD`` zeros."""
    with open_binary(path) as file:
        pieces: list[bytes] = []  # the beginning of a record that the last block cut off
        held, first, skipping = 0, True, False
        while block := file.read(size):
            if first:
                first, block = False, block.removeprefix(_BOM)
            if skipping:
                _, found, block = block.partition(b"\n")
                skipping = not found
            if multiline and pieces:
                pieces, block = [], b"".join([*pieces, block])
                held = 0
            if held > MOST and not multiline:  # a long line is a block of its own
                line, found, block = block.partition(b"\n")
                pieces, held = [*pieces, line], held + len(line)
                if found and held <= LONGEST + 1:
                    yield b"".join([*pieces, b"\n", bytes(PAD)])
                if found:
                    pieces, held = [], 0
            cut = _cut(block, multiline)
            if cut:
                yield b"".join([*pieces, memoryview(block)[:cut], bytes(PAD)])
                pieces, held = [], 0
            if cut < len(block):
                pieces.append(block[cut:])
                held += len(block) - cut
            if held > LONGEST + 1:  # including a carriage return that may belong to its end
                pieces, held, skipping = [], 0, True
        if pieces:
            yield b"".join([*pieces, b"\n", bytes(PAD)])


def _cut(block: bytes, multiline: bool) -> int:
    """Where the last whole record of a block ends."""
    if not multiline or b'"' not in block:
        return block.rfind(b"\n") + 1
    marks = np.frombuffer(block, np.uint8)
    places = np.flatnonzero((marks == _LF) | (marks == _QUOTE))
    kinds = marks[places]
    quotes = np.cumsum(kinds == _QUOTE)
    ends = places[(kinds == _LF) & (quotes % 2 == 0)]
    return int(ends[-1]) + 1 if len(ends) else 0


def ahead(work: Callable[[bytes], Made], parts: Iterable[bytes]) -> Iterator[Made]:
    """Yield ``work(part)`` for each part, in order, computed by threads a few parts ahead."""
    waiting: deque[tuple[Future[Made], int]] = deque()
    size = 0
    pool = ThreadPoolExecutor(min(THREADS, cores()))
    try:
        for part in parts:
            while waiting and size + len(part) > AHEAD:
                done, length = waiting.popleft()
                size -= length
                yield done.result()
            waiting.append((_submitted(pool, work, part), len(part)))
            size += len(part)
        while waiting:
            yield waiting.popleft()[0].result()
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(
    pool: ThreadPoolExecutor, work: Callable[[bytes], Made], part: bytes
) -> Future[Made]:
    """The work in another thread; where none can be started, this thread does it."""
    try:
        return pool.submit(work, part)
    except RuntimeError:  # the limit of the process, or the main thread has ended
        done: Future[Made] = Future()
        done.set_result(work(part))
        return done
