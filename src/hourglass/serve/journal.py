"""The journal: an append-only file of who signed in, asked and verified; it contains no cells.

Each line is JSON. Lines record questions and people, never answers. A line is written before a
question is charged; if it cannot be written, the question is not asked.
"""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .failures import Failure

__all__ = ["Journal"]


class Journal:
    """A file that lines are appended to, each in one write."""

    def __init__(self, path: Path) -> None:
        """Open the file; create it for its owner only if there is none."""
        self.path = path
        self._lock = threading.Lock()
        self._torn = False
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def write(self, what: str, person: str | None, **facts: Any) -> None:
        """Append a line; raises a Failure if that is not possible."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, "what": what, "person": person, **facts}) + "\n"
        try:
            with self._lock:
                self._append(line.encode())
        except OSError:
            raise Failure("unavailable") from None

    def _append(self, data: bytes) -> None:
        """Write a line; if only part of the last one was written, on a new line."""
        data = b"\n" + data if self._torn else data
        written = os.write(self._file, data)
        if written != len(data):
            self._torn = self._torn or written > 0
            raise OSError
        self._torn = False

    def close(self) -> None:
        """Close the file; later writes fail, and go to no other file."""
        with self._lock:
            file, self._file = self._file, -1
        os.close(file)
