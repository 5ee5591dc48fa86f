"""Checks of a ledger's file, its directory and its journal, made before SQLite opens them.

Nothing is opened here: closing another descriptor of the file would drop the locks that SQLite
holds for this process.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Final

from ..errors import LedgerCorruptError, LedgerMissingError, LedgerUnsafeError

__all__ = ["await_creation", "check_directory", "check_file", "check_journal", "is_mount_point"]

#: For so many seconds a new file may be empty because another process is still creating it.
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

    SQLite takes a file named like the ledger's journal for what a crash left, and writes its
    content into the ledger: whoever can create one can undo charges.
    """
    try:
        mode = os.stat(path.parent).st_mode
    except OSError:
        return  # whoever opens the file is told
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
            "`hourglass budget init`"
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
