"""The interface of queries for engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, Self

from ...core.totals import Groups, Sum
from ..source import Field
from .expression.words import DUCKDB, Words

if TYPE_CHECKING:
    from ..column import Column
    from ..kernel import Chunk
    from .query import Input

__all__ = ["Change", "Question"]


Change = Callable[[Field], Field]


class Question(Protocol):
    """A query for an engine: by group, a number of records n and sums 65536 * hi + lo.

    The columns of the result are the keys, n, and a pair hi, lo for each sum.
    """

    @property
    def by(self) -> tuple[Field, ...]:
        """The columns that the result is grouped by."""

    @property
    def person(self) -> Field | None:
        """The column that identifies persons, if rows do not count by themselves."""

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in the result."""

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The sums in the result."""

    @property
    def names(self) -> set[str]:
        """The columns of text that name groups or persons."""

    @property
    def has_null_key(self) -> bool:
        """Whether NULL is among the public keys."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of filters and expressions, under names of their own."""

    @property
    def number_fields(self) -> dict[str, Field]:
        """The columns of numbers that are read, by their names."""

    @property
    def plain_fields(self) -> tuple[Field, ...] | None:
        """The key, if any, and the columns of numbers; None if rows are chosen or computed, too.

        Leaving out rows whose key is not public does not count as choosing: the kernel does that.
        """

    def with_fields(self, changed: Change, of_numbers: Change | None = None) -> Self:
        """The same query with other fields: renamed, or of another kind.

        ``of_numbers`` is for numeric columns, if they change in another way.
        """

    def text(self, sums: str = "huge", words: Words = DUCKDB) -> str:
        """The query over a table named ``source``, in DuckDB's dialect."""

    def steps(self, sums: str = "huge", words: Words = DUCKDB) -> tuple[list[tuple[str, str]], str]:
        """The common table expressions of that query, by their names, and its final SELECT."""

    def handed_over(self) -> str | None:
        """A DuckDB query for the rows, which NumPy then adds up; None if ``text`` is to run."""

    def of_columns(self, columns: Mapping[str, Column]) -> Groups:
        """The same totals from columns in memory, by name."""

    def of_chunks(self, chunks: Iterable[Chunk]) -> Groups:
        """The totals of a single column, in chunks."""
