"""The ledger in one SQLite file: the default, for one machine.

Each transaction opens the file again. This costs a fraction of the syncs of a commit, and needs no
special treatment of threads or of a replaced file; only forks have to wait. Once it exists, the
file is opened only by SQLite: closing another descriptor of it would drop the locks that SQLite
holds for this process.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ..errors import (
    LedgerBusyError,
    LedgerCorruptError,
    LedgerError,
    LedgerMissingError,
    LedgerUnsafeError,
    LedgerVersionError,
    LedgerWriteError,
)
from .entries import Row, make_row
from .store import Caller

__all__ = ["SqliteStore"]

#: The schema that this version writes and reads.
SCHEMA_VERSION: Final = 1
#: "HGLS": marks a file as a ledger.
APPLICATION_ID: Final = 0x48474C53

_REPLACED: Final = (
    "was moved or replaced by another file while it was in use; make sure that it is the right "
    "one, then ask again with the same request key"
)

#: The schema, verbatim: a file with any other schema is refused.
SCHEMA: Final = {
    "entries": (
        "CREATE TABLE entries (budget TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL, "
        "hash TEXT NOT NULL, answer TEXT, PRIMARY KEY (budget, number)) WITHOUT ROWID"
    ),
    "entries_stay": (
        "CREATE TRIGGER entries_stay BEFORE DELETE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END"
    ),
    "entries_keep": (
        "CREATE TRIGGER entries_keep BEFORE UPDATE ON entries "
        "BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END"
    ),
    "entries_once": (
        # REPLACE deletes the old row without firing the trigger above.
        "CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN EXISTS (SELECT 1 FROM entries "
        "WHERE budget = NEW.budget AND number = NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'entries are never replaced'); END"
    ),
}


class SqliteStore:
    """Entries in a file that only its owner may read and only ``create`` creates."""

    def __init__(self, path: str, *, wait: float = 10.0) -> None:
        """The store at a path, which is not opened yet."""
        self._path = Path(path).absolute()
        self._wait = float(wait)
        self.location = path

    def create(self) -> None:
        """Create the file with permissions 0600 and the schema; an existing ledger is unchanged."""
        check_directory(self._path, self.location)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            os.close(os.open(self._path, flags, 0o600))
        except FileExistsError:
            self.names()  # raises unless it is a ledger
            return
        except OSError as error:
            raise LedgerWriteError(
                f"ledger {self.location!r} cannot be created ({os.strerror(error.errno or 0)}); "
                "name a file in a directory that you may write to"
            ) from None
        try:
            self._fill()
        except BaseException:
            with suppress(OSError):
                if not os.path.getsize(self._path):  # a file with tables stays, come what may
                    os.unlink(self._path)
            raise

    def _fill(self) -> None:
        """Write the schema into the new file, which no other process does."""
        os.chmod(self._path, 0o600)  # a strict umask may have removed more permissions
        with no_fork(), self._errors(), closing(self._connect()) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            for statement in SCHEMA.values():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")

    def names(self) -> list[str]:
        """The budgets in the ledger, sorted by name."""
        with self._begun(write=False) as connection:
            rows = connection.execute("SELECT budget FROM entries WHERE number = 0 ORDER BY budget")
            return [_text(name) for (name,) in rows]

    @contextmanager
    def transaction(self, budget: str, *, write: bool = False) -> Iterator[SqliteTransaction]:
        """A transaction; a writing one holds the file's write lock from the start."""
        with self._begun(write=write) as connection:
            yield SqliteTransaction(connection, budget, self.location)

    @contextmanager
    def _begun(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        await_creation(self._path, self._wait)
        check_journal(self._path, self.location)
        try:
            seen = self._check_file()
        except LedgerUnsafeError:
            if not self._is_other_file():
                raise
            raise LedgerVersionError(
                f"{self.location!r} is not an hourglass ledger; check the path"
            ) from None
        check_directory(self._path, self.location)
        if is_mount_point(self._path):
            raise LedgerUnsafeError(
                f"ledger {self.location!r} is mounted as a single file, so its journal would not "
                "be beside it everywhere; mount its directory instead"
            )
        with no_fork(), self._errors(), closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            self._check_schema(connection)
            self._check_same(seen)
            yield connection
            connection.execute("COMMIT")
            if write:  # the path must still lead to the file that was written
                self._check_same(seen)

    def _connect(self, mode: str = "rw") -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode={mode}", uri=True, timeout=self._wait, isolation_level=None
        )
        connection.text_factory = _decoded
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA synchronous = EXTRA")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_same(self, seen: tuple[int, int]) -> None:
        """Refuse a file that was replaced, moved or linked since it was opened."""
        if self._check_file() != seen:
            raise LedgerUnsafeError(f"ledger {self.location!r} {_REPLACED}")

    def _check_file(self) -> tuple[int, int]:
        """Refuse a file that others could read or change; return its device and number."""
        return check_file(self._path, self.location)

    def _is_other_file(self) -> bool:
        """Whether it is a file that SQLite can open but that is no ledger."""
        try:
            if not stat.S_ISREG(os.lstat(self._path).st_mode):
                return False  # opening a pipe would wait for its other end
            with no_fork(), closing(self._connect("ro")) as connection:
                return _application(connection) != APPLICATION_ID
        except (OSError, sqlite3.Error) as error:
            return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if _application(connection) != APPLICATION_ID:
            raise LedgerVersionError(
                f"{self.location!r} is a database, but not an hourglass ledger; check the path"
            )
        if version != SCHEMA_VERSION:
            raise LedgerVersionError(
                f"ledger {self.location!r} has schema {version}, and this version of hourglass "
                f"knows schema {SCHEMA_VERSION}; use the version that wrote it, or a newer one"
            )
        found = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
        if found != SCHEMA or connection.execute("PRAGMA journal_mode").fetchone() != ("delete",):
            raise LedgerVersionError(
                f"ledger {self.location!r}: its tables or triggers are not those of a ledger; "
                "restore it from a copy"
            )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate SQLite's errors; its own messages may quote invalid bytes."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> LedgerError:
        code = getattr(error, "sqlite_errorcode", None)
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        place = f"ledger {self.location!r}"
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusyError(
                f"{place} stayed locked by another process for {self._wait:g} s; try again, or "
                "wait longer"
            )
        if code == sqlite3.SQLITE_READONLY_DBMOVED:
            return LedgerUnsafeError(f"{place} {_REPLACED}")
        if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            return LedgerWriteError(
                f"{place} could not be written ({name}): the disk is full or failing; free some "
                "space and ask again with the same request key"
            )
        if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            return LedgerWriteError(
                f"{place} is read-only here ({name}); the file and its directory must be writable"
            )
        if primary == sqlite3.SQLITE_NOTADB:
            return LedgerCorruptError(
                f"{place} is not a ledger, or is damaged ({name}); check the path, or restore it "
                "from a copy: it is never rebuilt silently"
            )
        return LedgerCorruptError(
            f"{place} is damaged ({name}); restore it from a copy: it is never rebuilt silently"
        )


class SqliteTransaction:
    """One budget's entries, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, budget: str, location: str) -> None:
        """The transaction has begun."""
        self._connection = connection
        self._budget = budget
        self._location = location
        self.caller = Caller()

    def rows(self, first: int) -> Iterator[Row]:
        """The budget's entries from number ``first`` on, in order."""
        found = self._connection.execute(
            "SELECT number, body, hash FROM entries WHERE budget = ? AND number >= ? "
            "ORDER BY number",
            (self._budget, first),
        )
        for number, body, hash_ in found:
            yield Row(int(number), _text(body), _text(hash_))

    def answer(self, number: int) -> str | None:
        """The answer of an entry."""
        found = self._connection.execute(
            "SELECT answer FROM entries WHERE budget = ? AND number = ?", (self._budget, number)
        ).fetchone()
        return None if found is None or found[0] is None else _text(found[0])

    def append(
        self,
        number: int,
        previous: str,
        kind: str,
        fields: Mapping[str, Any],
        answer: str | None = None,
    ) -> Row:
        """Add an entry."""
        row = make_row(self._budget, number, previous, kind, fields)
        self._connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?)",
            (self._budget, row.number, row.body, row.hash, answer),
        )
        return row

    def check(self) -> None:
        """Let SQLite check every page: a damaged free list would overwrite rows."""
        found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != ("ok",):
            raise LedgerCorruptError(
                f"ledger {self._location!r} is damaged: SQLite's integrity check fails; restore "
                "it from a copy"
            )


def _application(connection: sqlite3.Connection) -> int:
    """Which program a database says that it belongs to."""
    found: int = connection.execute("PRAGMA application_id").fetchone()[0]
    return found


def _decoded(raw: bytes) -> str:
    """Decode a line even if a byte is flipped, so that its hash shows the damage and where."""
    return raw.decode("utf-8", "replace")


def _text(value: object) -> str:
    """Text, or an error if the type of the cell was changed."""
    if not isinstance(value, str):
        raise sqlite3.DatabaseError("not text")
    return value


# --- no fork within a transaction -----------------------------------------------------------------

# SQLite keeps track of its locks in process memory. A child forked while another thread holds a
# lock would inherit that state and find the ledger locked for ever. So a fork waits for the current
# transaction; transactions are short.

#: A fork looks again after this many seconds, in case Ctrl-C prevented the notification.
_AGAIN: Final = 0.1


class _Gate:
    """The threads that are in a transaction, and whether a fork waits for them.

    Ctrl-C can end a transaction at any instant, and may leave the main thread in the set. So a set
    of threads is kept instead of a count: the thread's next transaction removes it, and so does a
    fork that it makes.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.inside: set[int] = set()
        self.forking = False


_gate = _Gate()


@contextmanager
def no_fork() -> Iterator[None]:
    """Keep this process from forking until the end of the block; blocks are not nested."""
    thread = threading.get_ident()
    with _gate.changed:
        while _gate.forking:
            _gate.changed.wait()
        _gate.inside.add(thread)
    try:
        yield
    finally:
        _gate.inside.discard(thread)  # at once: Ctrl-C may come while waiting for the lock
        with _gate.changed:
            _gate.changed.notify_all()


def _before() -> None:
    _gate.changed.acquire()
    _gate.forking = True
    _gate.inside.discard(threading.get_ident())
    while _gate.inside:
        _gate.changed.wait(_AGAIN)


def _after_in_parent() -> None:
    _gate.forking = False
    _gate.changed.notify_all()
    _gate.changed.release()


def _after_in_child() -> None:
    global _gate
    _gate = _Gate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )


# --- the file, before SQLite opens it -------------------------------------------------------------

# Nothing is opened here: closing another descriptor of the file would drop the locks that SQLite
# holds for this process.

#: For this many seconds a new file may be empty because another process is still creating it.
_CREATION: Final = 10.0


def await_creation(path: Path, wait: float) -> None:
    """Wait until the process that is creating the file has committed its tables.

    Until then the file is empty. One that stays empty, or has long been, is left to the checks.
    """
    end = time.monotonic() + min(wait, _CREATION)
    while _is_new(path) and time.monotonic() < end:
        time.sleep(0.01)


def _is_new(path: Path) -> bool:
    found = _beside(path, "")
    if found is None or not stat.S_ISREG(found.st_mode) or found.st_size:
        return False
    return abs(time.time() - found.st_mtime) < _CREATION


def check_file(path: Path, location: str) -> tuple[int, int]:
    """Refuse anything but a private regular file; return its device and number."""
    found = _looked_up(path, location)
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a plain file"
        raise LedgerUnsafeError(f"ledger {location!r} is {what}; name the ledger's file itself")
    if found.st_nlink > 1:
        # SQLite names its journal after the path: under another name it would not find the
        # journal that a crash left, and could lose charges or restore the wrong ones.
        raise LedgerUnsafeError(
            f"ledger {location!r} has {found.st_nlink} names (hard links), and SQLite "
            "can lose charges in a file with more than one; remove the others, or keep "
            "copies of the file instead"
        )
    if _open_to_others(found):
        raise LedgerUnsafeError(
            f"ledger {location!r} has permissions {stat.S_IMODE(found.st_mode):04o}, open "
            f"to other users; chmod 600 {location}"
        )
    if found.st_size == 0:
        raise LedgerCorruptError(
            f"ledger {location!r} is empty: its creation was interrupted or its content "
            "lost; restore it, or remove the file if no budget was ever kept in it"
        )
    return found.st_dev, found.st_ino


def check_directory(path: Path, location: str) -> None:
    """Refuse a directory in which every user can create files, such as /tmp.

    SQLite takes a file named like the ledger's journal for one that a crash left, and writes its
    content into the ledger: whoever can create one can undo charges.
    """
    try:
        mode = os.stat(path.parent).st_mode
    except OSError:
        return  # opening the file will say what is wrong
    if os.name == "posix" and mode & stat.S_IWOTH:
        raise LedgerUnsafeError(
            f"ledger {location!r} is in a directory where every user can create files, which is "
            "enough to undo charges; keep it in a directory of your own"
        )


def check_journal(path: Path, location: str) -> None:
    """Refuse a journal that SQLite did not make for this ledger, or that others can change.

    It must be checked before SQLite opens the file in any way: for root, that gives the journal
    the owner of the file.
    """
    log = _beside(path, "-wal")
    if log is not None and log.st_size:  # ledgers have no such log, but SQLite would read it
        raise LedgerUnsafeError(
            f"ledger {location!r} has a file {path.name}-wal beside it, which hourglass never "
            "makes and SQLite would write into the ledger; check the path, and find out what made "
            "it before you move it away"
        )
    ledger, found = _beside(path, ""), _beside(path, "-journal")
    if ledger is None or found is None:
        return
    plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
    if not plain or found.st_uid not in (ledger.st_uid, 0) or _open_to_others(found):
        raise LedgerUnsafeError(
            f"ledger {location!r} has a journal beside it, {path.name}-journal, that is a link, "
            "belongs to another user or is open to others, and SQLite would write it into the "
            "ledger; check the path, and find out who made it before you move it away"
        )


def _beside(path: Path, ending: str) -> os.stat_result | None:
    try:
        found = os.lstat(f"{path}{ending}")
    except OSError:
        return None
    # Another process deletes its journal when it commits. Looked up at that moment, the file is
    # still found, but has no name left.
    return found if found.st_nlink else None


def _looked_up(path: Path, location: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        raise LedgerMissingError(
            f"ledger {location!r} does not exist; check the path, or create it with "
            "`hourglass budget init` or hg.create_budget"
        ) from None
    except OSError as error:
        raise LedgerMissingError(
            f"ledger {location!r} cannot be looked up ({os.strerror(error.errno or 0)})"
        ) from None


def _open_to_others(found: os.stat_result) -> bool:
    return os.name == "posix" and bool(stat.S_IMODE(found.st_mode) & 0o077)


def is_mount_point(path: Path) -> bool:
    """Whether a file is itself a mount point; detected only on Linux."""
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    name = os.fsencode(os.path.realpath(path))
    for character in (b"\\", b" ", b"\t", b"\n"):
        name = name.replace(character, b"\\%03o" % ord(character))
    return any(mount.split(b" ", 5)[4] == name for mount in mounts)
