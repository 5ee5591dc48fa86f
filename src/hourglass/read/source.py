"""What a source of data is: its schema and its engine; guards around errors, and spilled data.

A schema has names and kinds of columns, never a value.

An engine is a module of the package ``engines`` with one registered class, which says which data it
claims and opens it. All modules of that package are imported with it, so adding a file is enough.
An engine's library is imported only when data is opened, never to find out whether data is claimed.

Data that an engine spills to disk is not encrypted. It goes into a directory with permissions 0700,
one for each process, which is removed when the process ends. A process that is killed leaves its
directory behind; the next process that needs one removes it. A lock on a file in the directory
shows whether its owner is still running: the system releases the lock however the owner ends,
whereas a process id may be reused. Links, directories of other users and directories that others
can enter are never touched.
"""

from __future__ import annotations

import atexit
import difflib
import os
import re
import shutil
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Protocol, TypeVar

from ..core.limits import DEFAULT_GRID, Bounds, Grid
from ..core.totals import Groups
from ..errors import (
    BoundsError,
    DataError,
    HourglassError,
    OptionError,
    SourceError,
    needs_extra,
    shown,
)

if TYPE_CHECKING:
    from .sql.question import Question

__all__ = [
    "COMPUTED", "INT64", "OBJECTS", "SEPARATELY", "TEXT_REACH", "Engine", "Field", "Schema",
    "Source", "check_names", "check_version", "engines", "guarded", "guarded_schema", "is_recent",
    "missing_extra", "raise_alone", "register", "spill_directory", "value_field",
]  # fmt: skip


#: The range of a 64-bit integer.
INT64: Final = (-(2**63), 2**63 - 1)
#: The range of integers read from text; every engine supports this many digits, except SQLite,
#: which reads 64 bits.
TEXT_REACH: Final = (-(10**38) + 1, 10**38 - 1)

#: The type of a pandas column of Python objects, which is read as text.
OBJECTS: Final = "object"
#: In place of the type of a column that an expression computes.
COMPUTED: Final = "an expression"


@dataclass(frozen=True)
class Field:
    """A column as declared.

    ``kind`` is "real" (a double or narrower), "decimal", "integer", "boolean", "text", "date",
    "timestamp" or "other"; ``declared`` is the engine's name of the type; ``reach`` is the range of
    an integer type and ``wide`` its name if it has more than 64 bits; ``digits`` is the precision
    of a decimal and ``scale`` how many of its digits are fractional, or ``digits`` are those of
    seconds. ``exact`` is False if a value must be cast to its kind, ``typed`` if the source
    declares no type, so that a number is text as it is written. ``why`` is the reason, and the
    remedy, if the engine cannot read the column safely.
    """

    name: str
    kind: str
    declared: str = ""
    reach: tuple[int, int] = INT64
    wide: str | None = None
    digits: int = 38
    scale: int = 0
    exact: bool = True
    typed: bool = True
    why: str = ""

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return self.kind in ("integer", "boolean", "text as integer")

    @property
    def computed(self) -> bool:
        """Whether an expression computes this column."""
        return self.declared == COMPUTED

    def value(self, parse: str | None, default: str | None = None) -> Field:
        """This field as the column to average, with text read as ``parse`` declares."""
        if self.kind == "text" and (parse or default):
            return replace(self, kind=f"text as {parse or default}")
        if self.why:
            raise DataError(f"column {self.name!r} is of type {self.declared}; {self.why}")
        if self.kind not in ("real", "decimal", "integer", "boolean"):
            raise DataError(
                f"column {self.name!r} is of type {self.declared or self.kind}, which is not "
                "numeric; "
                + (_of_text(self) if self.kind == "text" else "name a column of numbers")
            )
        return self

    def grid(
        self,
        bounds: Bounds,
        cells: int | None,
        *,
        averaged: bool = False,
        finest: int = DEFAULT_GRID,
    ) -> Grid:
        """The grid for this column, determined by its kind and the bounds.

        ``averaged`` means that persons count with the mean of their rows, which need not be whole.
        ``finest`` is the largest number of cells that the statistic supports.
        """
        if self.kind == "boolean" and (bounds.lower, bounds.upper) != (0, 1):
            named = f" ({self.name!r})" if self.name else ""
            raise BoundsError(
                f"bounds=({bounds.lower}, {bounds.upper}) do not fit a column of booleans"
                f"{named}; give bounds=(0, 1)"
            )
        own = self.whole and not averaged
        grid = Grid.choose(bounds, cells, integers=own, finest=finest)
        within = TEXT_REACH[0] <= bounds.lower and bounds.upper <= TEXT_REACH[1]
        if grid.own and self.kind == "text as integer" and not within:
            raise BoundsError(
                f"bounds=({bounds.lower}, {bounds.upper}): parse='integer' reads numbers of up to "
                "38 digits; give bounds within, or parse='real'"
            )
        return grid


def _of_text(field: Field) -> str:
    """How a column of text can have a mean: as numbers, or as the share of one of its values."""
    written = field.name if field.name.isidentifier() else "name"
    what = "its objects are numbers" if field.declared == OBJECTS else "its text is numbers"
    return (
        f"if {what}, declare that with parse='real' or parse='integer'; for the share "
        "of rows with one value, ask for an expression such as "
        f"hg.expression(\"{written} = 'yes'\")"
    )


#: How a column of another kind can be grouped by.
_AS_KEY: Final = {
    "real": "; if its numbers are whole, cast it to integers first",
    "decimal": "; cast it to text first, or to integers if its numbers are whole",
    "timestamp": "; for a group of each day, cast it to dates in the frame or file, or in a "
    "database with hg.sql (--table), as in 'SELECT *, CAST(time AS DATE) AS day FROM visits'",
}


def _as_key(field: Field) -> str:
    """How a column that cannot be grouped by can become one that can."""
    return _AS_KEY.get(field.kind, f"; {field.why}" if field.why else "")


#: The remedy for several columns in one place of a list.
SEPARATELY: Final = "name each of them separately"
#: Operators: a name that contains one was probably meant as an expression.
_COMPUTED: Final = re.compile(r"[<>=+*/]|\s-\s")


def _bare(name: str) -> str:
    """A name without what is easily mistaken in it: case, spaces and underscores."""
    return re.sub(r"[\s_]+", "", name).casefold()


#: What DuckDB appends to a name that is taken.
_NUMBERED: Final = re.compile(r"_[0-9]+$")


def check_names(
    names: Sequence[str],
    wanted: Iterable[str],
    where: str,
    *,
    folds: bool = True,
    role: str = "column",
) -> None:
    """Check that no wanted name is that of two columns; with ``folds``, whatever its case is.

    Of two such columns DuckDB renames the second: x and X become x and X_1, even beside a column
    x_1, which is then read in place of the right one. So x_1 is refused, too.
    """
    for name in wanted:
        if folds and name in names and (stem := _renamed(name, names)):
            raise DataError(
                f"{role}={name!r}: {where} has several columns named {stem!r} apart from case, one "
                f"of which the engine may call {name!r} as well; rename them"
            )
        alike = [n for n in names if n == name or (folds and n.casefold() == name.casefold())]
        if name not in alike or len(alike) == 1:
            continue
        if set(alike) == {name}:
            told = f"{where} has {len(alike)} columns of that name"
        else:
            told = (
                f"the columns {', '.join(alike)} of {where} have names that differ only in case, "
                "which this engine ignores"
            )
        raise DataError(f"{role}={name!r}: {told}; rename one")


def _renamed(name: str, names: Sequence[str]) -> str | None:
    """The repeated name from which an engine may make this one, by appending numbers."""
    known, stem = [each.casefold() for each in names], name.casefold()
    while _NUMBERED.search(stem):
        stem = _NUMBERED.sub("", stem)
        if known.count(stem) > 1:
            return stem
    return None


@dataclass(frozen=True)
class Schema:
    """The columns of a table in order; ``folds`` if names that differ only in case are equal.

    ``open`` if any name is accepted because the format declares none (JSON lines). ``listed`` if
    an error may list the names: the first line of a text file may be a record instead of a header.
    """

    fields: tuple[Field, ...]
    folds: bool = False
    open: bool = False
    listed: bool = True

    def check_listed(self, names: tuple[str, ...], role: str) -> None:
        """Check that each name is a column; an error gives the position of a wrong one in the list.

        A list given by mistake may contain cells of the data, so its entries are not shown.
        """
        known = {field.name for field in self.fields}
        for place, name in enumerate(names, 1):
            if not self.open and name not in known:
                raise DataError(
                    f"{role}: name {place} of the list is not a column of the table; "
                    f"{self.hint(name)}"
                )

    def field(self, name: str, role: str) -> Field:
        """The column of this name; an error suggests the nearest one."""
        if self.open:
            return Field(name, "text", "text", typed=False)
        if not isinstance(name, str):
            raise DataError(f"{role}={shown(name)} is not the name of a column; give it as text")
        found = [field for field in self.fields if field.name == name]
        check_names([f.name for f in found], [name], "the table", role=role)
        if not found:
            hint = self.hint(name, role)
            if role == "column" and _COMPUTED.search(name):
                hint += ("" if hint.endswith("?") else ".") + " For a computed column, give "
                hint += f"hg.expression({name!r})"
            raise DataError(f"{role}={name!r}: the table has no such column; {hint}")
        if self.folds:
            check_names([f.name for f in self.fields], [name], "the table", role=role)
        return found[0]

    def _near(self, name: str) -> list[str]:
        """The most similar name, if any; where names may be cells, only one like a name."""
        names = [f.name for f in self.fields if self.listed or f.name.isidentifier()]
        return difflib.get_close_matches(name, names, n=1, cutoff=0.65)

    def _in_place_of_it(self) -> str:
        """The available names, for when no name is similar to the one asked for."""
        if self.listed:
            names = [field.name for field in self.fields[:12]]
            return f"the columns are {', '.join(names)}{', ...' * (len(self.fields) > 12)}"
        told = "the file's first line, which is the header, names "
        if len(self.fields) == 1:
            return (
                f"{told}1 column; fields are separated by commas (.csv) or tabs (.tsv), and a file "
                "with other separators must be rewritten"
            )
        return told + f"{len(self.fields)} columns; names must match exactly, spaces included"

    def hint(self, name: str, role: str = "") -> str:
        """What may be meant by a name that no column has."""
        parts = [part.strip() for part in name.split(",")]
        if len(parts) > 1 and set(parts) <= {f.name for f in self.fields}:
            remedies = dict.fromkeys(("column", "by"), f"give them as a list, as in {role}={parts}")
            remedies["unit"] = "name the one that identifies persons"
            return f"these are {len(parts)} columns; {remedies.get(role, SEPARATELY)}"
        near = [f.name for f in self.fields if (_bare(f.name) or None) == _bare(name)]
        near = near or self._near(name)
        return f"did you mean {near[0]!r}?" if near else self._in_place_of_it()

    def key(self, name: str) -> Field:
        """A column to group by."""
        field = self.field(name, "by")
        if field.kind not in ("text", "integer", "boolean", "date"):
            raise DataError(
                f"by={name!r} is of type {field.declared or field.kind}; group by a column of "
                f"text, whole numbers, booleans or dates{_as_key(field)}"
            )
        if field.reach[1] >= 2**64:
            raise DataError(
                f"by={name!r} is of type {field.declared}, whose numbers are longer than 64 bits; "
                "cast it to BIGINT, or to text"
            )
        return field

    def person(self, name: str) -> Field:
        """A column that identifies persons."""
        field = self.field(name, "unit")
        if field.kind not in ("text", "integer"):
            raise DataError(
                f"unit: column {name!r} is of type {field.declared or field.kind}; persons are "
                "identified by a column of text or whole numbers"
            )
        return field


# --- guards ---------------------------------------------------------------------------------------


class guarded:  # noqa: N801 - used as a statement
    """``with guarded(what):`` turns a foreign error in the block into a SourceError.

    Engines quote cells in their messages, so nothing of the foreign error is kept: neither its
    message nor the error itself as cause or context.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        del error, trace  # otherwise a tool that prints local variables would print them
        if kind is not None and _is_foreign(kind):
            raise_alone(self.told(kind.__name__))

    def told(self, kind: str) -> HourglassError:
        """The error to raise in place of a foreign error of that type."""
        return SourceError(
            f"{self.what} ({kind}); the engine's own message may quote data and is withheld"
        )


def _is_foreign(kind: type[BaseException]) -> bool:
    """Whether it is an engine's error; the panics of those written in Rust are no Exceptions."""
    panic = (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException")
    return panic or (issubclass(kind, Exception) and not issubclass(kind, HourglassError))


class guarded_schema(guarded):  # noqa: N801
    """Like :class:`guarded`, where no row is read: a failure is a fault of the request."""

    def told(self, kind: str) -> HourglassError:
        """A DataError."""
        return DataError(f"{self.what} ({kind})")


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error without the one being handled as its context."""
    try:
        raise error
    finally:
        error.__context__ = None


# --- engines --------------------------------------------------------------------------------------

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows nothing is swept
    fcntl = None


class Engine(Protocol):
    """A registered engine: which data it claims, and how it is opened."""

    name: ClassVar[str]
    #: Whether it is preferred if several engines claim the same data.
    preferred: ClassVar[bool]

    @staticmethod
    def claims(data: Any) -> bool:
        """Whether the data is for this engine; a path comes as a :class:`.open.FileSet`."""

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


def is_recent(library: Any, least: tuple[int, int]) -> bool:
    """Whether a library has at least this version."""
    numbers = re.findall("[0-9]+", library.__version__)[:2]
    return tuple(map(int, numbers)) >= least


def check_version(library: Any, least: tuple[int, int], what: str) -> None:
    """Refuse data of a library that is too old, which could fail after the charge."""
    if not is_recent(library, least):
        name = library.__name__
        raise DataError(
            f"data: {what} needs {name} {'.'.join(map(str, least))} or later, and "
            f"{library.__version__} is installed; update it with: pip install -U {name}"
        )


def missing_extra(engine: str, package: str, extra: str) -> DataError:
    """The error for an engine whose library is not installed."""
    return DataError(needs_extra(engine, package, extra))


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
