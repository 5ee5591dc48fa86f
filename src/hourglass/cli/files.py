"""Files that a command writes, while others may read or write the same ones."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from ..errors import OptionError

__all__ = ["check_writable", "write_file"]


def check_writable(option: str, path: Path) -> None:
    """Raise an error if the file cannot be written; nothing is changed or left behind.

    A missing file is not created, because another command could write its answer into it before it
    is removed. A file of another name is created instead.
    """
    try:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        except FileNotFoundError:
            descriptor, name = _created(Path(os.path.realpath(path)).parent)
            os.close(descriptor)
            os.unlink(name)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
    else:
        return
    raise OptionError(f"{option}={str(path)!r} cannot be written: {reason}; name another path")


def write_file(path: Path, content: bytes) -> None:
    """Write a file; whoever reads it meanwhile finds all of it, or what was there before.

    If two commands write it at once, it holds the whole content of one of them. Links, devices,
    files of other users and files in a directory that cannot be written are written in place.
    """
    new = _started(path)
    if new is None:
        path.write_bytes(content)
        return
    descriptor, name = new
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _started(path: Path) -> tuple[int, str] | None:
    """A new file to take the place of the path, with its permissions; None if it must not."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return _created(path.parent)
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or not own:
        return None
    try:
        descriptor, name = _created(path.parent)
    except OSError:
        return None
    os.chmod(name, stat.S_IMODE(found.st_mode))
    return descriptor, name


def _created(folder: Path) -> tuple[int, str]:
    """A new file with a name of its own."""
    name = os.path.join(folder, f".hourglass-{uuid.uuid4().hex}")
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), name
