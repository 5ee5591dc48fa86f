"""The interface of engines, and their registry.

An engine is a module in this package with one registered class, which says which data it claims and
opens it. All modules here are imported with the package, so adding a file is enough. An engine's
library is imported only when data is opened, never to find out whether data is claimed.
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
