"""What an engine can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ...core.totals import Groups, Sum
from ..schema import Field
from .asked import Input
from .expression.words import DUCKDB, Words

if TYPE_CHECKING:
    from ..column import Column

__all__ = ["Question"]


class Question(Protocol):
    """What an engine can be asked: by group a number of records n, and sums 65536 * hi + lo.

    The columns of the answer are the keys, n, and a pair hi, lo for each sum.
    """

    @property
    def value(self) -> Field:
        """The column of numbers."""

    @property
    def by(self) -> tuple[Field, ...]:
        """What the answer is grouped by."""

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""

    @property
    def keys(self) -> list[str]:
        """The names of the key columns in the answer."""

    @property
    def balance(self) -> Sequence[int]:
        """For each sum G where the "huge" one is of 2t - G for each record, else 0."""

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The sums in the answer."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What filters and expressions read, under names of its own."""

    def text(self, sums: str = "huge", words: Words = DUCKDB) -> str:
        """The question over a table named ``source``, in DuckDB's dialect."""

    def of_columns(self, columns: Mapping[str, Column]) -> Groups:
        """The same of columns in memory, by their names."""
