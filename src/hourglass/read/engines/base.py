"""The interface of engines, their registry, and a private directory for what they spill.

An engine is a module in this package with one registered class, which says which data it claims and
opens it. All modules here are imported with the package, so adding a file is enough. An engine's
library is imported only when data is opened, never to find out whether data is claimed.

Data that an engine spills to disk is not encrypted. It goes into a directory with permissions 0700,
one for each process, which is removed when the process ends. A process that is killed leaves its
directory behind; the next process that needs one removes it. A lock on a file in the directory
shows whether its owner is still running: the system releases the lock however the owner ends,
whereas a process id may be reused. Links, directories of other users and directories that others
can enter are never touched.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import DataError, OptionError, SourceError
from ..schema import Field, Schema
from ..sql.query import Question

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows nothing is swept
    fcntl = None

__all__ = [
    "Engine", "Source", "engines", "missing_extra", "register", "spill_directory", "value_field",
]  # fmt: skip


class Engine(Protocol):
    """A registered engine: which data it claims, and how it is opened."""

    name: ClassVar[str]
    #: Whether it is preferred if several engines claim the same data.
    preferred: ClassVar[bool]

    @staticmethod
    def claims(data: Any) -> bool:
        """Whether the data is for this engine; a path comes as a :class:`..files.FileSet`."""

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> Source:
        """The data with its schema; no row is read."""


_REGISTRY: Final[dict[str, type[Engine]]] = {}
Kind = TypeVar("Kind", bound=type[Any])


def register(engine: Kind) -> Kind:
    """Register an engine; it must pass the conformance corpus of the tests."""
    _REGISTRY[engine.name] = engine
    return engine


def engines() -> list[type[Engine]]:
    """Every engine, the preferred one first."""
    return sorted(_REGISTRY.values(), key=_order)


def _order(engine: type[Engine]) -> tuple[bool, str]:
    return not engine.preferred, engine.name


class Source(Protocol):
    """A table opened by an engine: has a schema, and runs one query."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def parse(self) -> str | None:
        """How text is read unless the question says otherwise: text files as "real"."""

    @property
    def parses(self) -> bool:
        """Whether this source can read a column of text as numbers."""

    def schema(self) -> Schema:
        """The columns as declared; no row is read."""

    def sql(self, query: Question, bounds: Bounds) -> str | None:
        """The query as this engine will run it; None if no SQL runs."""

    def run(self, sql: Any, query: Question) -> Groups:
        """The secret totals by group; this reads the data, once."""


def value_field(engine: Source, schema: Schema, column: str, parse: str | None) -> Field:
    """The column to average, with text read as ``parse`` or the engine declares."""
    field = schema.field(column, "column")
    if parse and field.kind == "text" and not engine.parses:
        raise OptionError(
            f"parse={parse!r}: {engine.name} cannot read text as numbers without the risk that a "
            f"cell makes the query fail; store column {column!r} as numbers, or read it from a "
            "file or a frame"
        )
    return field.value(parse, engine.parse)


def missing_extra(engine: str, package: str, extra: str) -> DataError:
    """The error for an engine whose library is not installed."""
    return DataError(
        f"{engine} needs the package {package}; install it with: "
        f"pip install 'hourglass-dp[{extra}]'"
    )


# --- spilled data -------------------------------------------------------------------------------

_PREFIX: Final = "hourglass-spill-"
_LOCK: Final = "owner.lock"
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

#: The directory of this process: the process id (a fork needs its own), path and lock.
_own: tuple[int, Path, int] | None = None
_making = threading.Lock()


def spill_directory() -> Path:
    """A new path inside this process's private directory; the engine creates it."""
    global _own
    with _making:
        if _own is None or _own[0] != os.getpid() or not _is_ours(_own[1]):
            try:
                sweep(Path(tempfile.gettempdir()))
                path, lock = _made()
            except OSError as error:
                reason = os.strerror(error.errno or 0)
                raise SourceError(
                    f"data: a private directory for temporary files cannot be made ({reason}); "
                    "make room, or name another place in the environment variable TMPDIR"
                ) from None
            _own = os.getpid(), path, lock
            atexit.register(_leave, os.getpid(), path)
        return _own[1] / uuid.uuid4().hex


def _made() -> tuple[Path, int]:
    """Create a directory and lock it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))  # unique, with permissions 0700
        try:
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
        except OSError:
            path.rmdir()  # without a lock it would never be swept
            raise
        if fcntl is None:
            return path, lock
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:  # so that it is not swept between its creation and its lock
            return path, lock
        os.close(lock)


def sweep(folder: Path) -> None:
    """Remove the directories of processes that have ended; errors are ignored."""
    if fcntl is None:
        return
    try:
        with os.scandir(folder) as entries:
            left = [Path(e.path) for e in entries if e.name.startswith(_PREFIX)]
    except OSError:
        return
    for path in left:
        if _is_ours(path):
            _remove_if_left(path)


def _is_ours(path: Path) -> bool:
    """Whether it is a directory, not a link, that we own and nobody else can enter."""
    try:
        found = path.lstat()
    except OSError:
        return False
    private = not stat.S_IMODE(found.st_mode) & 0o077 or os.name == "nt"
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and mine and private


def _remove_if_left(path: Path) -> None:
    try:
        lock = os.open(path / _LOCK, os.O_RDWR | _NO_FOLLOW)
    except OSError:  # it is gone, or just being created
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # its owner is still running
        return
    else:
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def _leave(owner: int, path: Path) -> None:
    if owner == os.getpid():  # and not in a forked child that inherited this
        shutil.rmtree(path, ignore_errors=True)


def _forget() -> None:
    """In a forked child, the thread of its parent that held the lock does not run."""
    global _making
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
