"""What an engine is, the registry of engines, and how a foreign error becomes one of ours.

An engine is one file in this folder with one registered class, which says which data it claims
and opens it. Adding the file is enough: all that are here are imported with the package. A library
is imported only when data is opened, never to find out whether data is claimed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol, TypeVar

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import DataError, OptionError
from ..schema import Field, Schema
from ..sql.query import Question

__all__ = [
    "Engine", "Source", "engines", "missing_extra", "register", "value_field",
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
    return sorted(_REGISTRY.values(), key=_order)


def _order(engine: type[Engine]) -> tuple[bool, str]:
    return not engine.preferred, engine.name


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
