"""What an engine is, the registry of engines, and how a foreign error becomes one of ours.

An engine is one file in this folder with one registered class, which says which data it claims
and opens it. Adding the file is enough: :func:`engines` imports all that are here. A library is
imported only when data is opened, never to find out whether data is claimed.
"""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeVar

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import DataError, HourglassError, OptionError, SourceError
from ..schema import Field, Schema
from ..sql.query import Question

__all__ = [
    "Engine", "Source", "engines", "guarded", "guarded_schema", "missing_extra", "raise_alone",
    "register", "value_field",
]  # fmt: skip


class Engine(Protocol):
    """A registered engine: which data it claims, and how it is opened."""

    name: ClassVar[str]
    #: Whether it is asked first where several engines claim the same data.
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
    """Offer an engine; it passes the conformance corpus of the tests first."""
    _REGISTRY[engine.name] = engine
    return engine


def engines() -> list[type[Engine]]:
    """Every engine, the preferred one first."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        name = f"{__package__}.{module.name}"
        if name not in sys.modules:
            import_module(name)
    return sorted(_REGISTRY.values(), key=lambda engine: (not engine.preferred, engine.name))


class Source(Protocol):
    """Where a table lives: it tells its schema, and runs one query."""

    @property
    def name(self) -> str:
        """The engine's name."""

    @property
    def parse(self) -> str | None:
        """How text is read unless the question says otherwise: text files as "real"."""

    @property
    def parses(self) -> bool:
        """Whether a column of text can be read as numbers here."""

    def schema(self) -> Schema:
        """The columns as declared; no row is looked at."""

    def sql(self, query: Question, bounds: Bounds) -> str | None:
        """The query as this engine will run it; None where no SQL runs."""

    def run(self, sql: Any, query: Question) -> Groups:
        """The secret totals by group: here the data is looked at, once."""


class guarded:  # noqa: N801 - used as a statement
    """``with guarded(what):`` a foreign error in the block becomes a SourceError.

    Engines quote cells in their messages, so nothing of the foreign error is kept: neither its
    words nor, as cause or context, the error itself.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> None:
        del error, trace  # a tool that prints the variables of a frame would print them
        if (
            kind is not None
            and issubclass(kind, Exception)
            and not issubclass(kind, HourglassError)
        ):
            raise_alone(self.told(kind.__name__))

    def told(self, kind: str) -> HourglassError:
        """What is raised in the place of a foreign error of that kind."""
        return SourceError(
            f"{self.what} ({kind}); the engine's own message may quote data and is withheld"
        )


class guarded_schema(guarded):  # noqa: N801
    """The same where no row is read: what goes wrong is wrong with the request."""

    def told(self, kind: str) -> HourglassError:
        """A DataError."""
        return DataError(f"{self.what} ({kind})")


def raise_alone(error: BaseException) -> NoReturn:
    """Raise an error without the one that is being handled as its context."""
    try:
        raise error
    finally:
        error.__context__ = None


def value_field(engine: Source, schema: Schema, column: str, parse: str | None) -> Field:
    """The column to average, text read as the request or the engine declares."""
    field = schema.field(column, "column")
    if parse and field.kind == "text" and not engine.parses:
        raise OptionError(
            f"parse={parse!r}: {engine.name} cannot read text as numbers in such a way that no "
            f"cell ends the query; store column {column!r} as numbers, or read it from a file or "
            "a frame"
        )
    return field.value(parse, engine.parse)


def missing_extra(engine: str, package: str, extra: str) -> DataError:
    """The error for an engine whose library is not installed."""
    return DataError(
        f"{engine} needs the package {package}; install it with: "
        f"pip install 'hourglass-dp[{extra}]'"
    )
