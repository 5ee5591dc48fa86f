"""The query behind private bounds: how many records fall into each bucket of a scale.

    valued      the number x of every row, and the person
    quantised   those that are numbers
    chosen      of persons: the rows that count, see :func:`.steps.kept_rows`
    bucketed    the bucket t of each, by comparisons with public constants, see :mod:`.buckets`
    (last)      COUNT by bucket

DuckDB hands the numbers over after ``chosen``, and NumPy counts them. If persons are integers, it
hands over ``valued``, and NumPy chooses the rows as well. It sorts them by person, too, unless they
are too many: then DuckDB hands them over in the order of persons.

Comparisons do not round, so every engine puts every value into the same bucket. Numbers of an
integer type are compared as integers, all others as doubles; a candidate that the type cannot
represent is replaced by its nearest neighbours on either side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.keys import KeyColumn, Keys
from ...core.limits import Counts, Scale, Unit, counts_from_histogram
from ...core.totals import CELLS, Groups, Sum
from ...errors import BoundsError
from ..bucket_counts import histogram_of_chunks
from ..kernel import Chunk
from ..persons import histogram_in_any_order, histogram_of_persons
from ..source import TEXT_REACH, Field
from .buckets import Thresholds, of_doubles, of_integers
from .cells import as_double, as_integer, double, is_number, key_column, whole, widened, with_steps
from .expression.nodes import Node
from .expression.words import DUCKDB, Words
from .query import Asked, Input
from .question import Change
from .steps import kept_rows

if TYPE_CHECKING:
    from ..column import Column

__all__ = ["MOST_CANDIDATES", "Histogram"]

#: With a longer scale, some engines take minutes to plan the query.
MOST_CANDIDATES: Final = 2000


@dataclass(frozen=True)
class Histogram:
    """A query for an engine, made of public values only.

    It has the interface of a :class:`.query.Query` grouped by the bucket.
    """

    value: Field
    scale: Scale
    unit: Unit = Unit()  # noqa: RUF009
    person: Field | None = None
    expression: Node | None = None
    asked: Asked = Asked()  # noqa: RUF009
    in_order: bool = True

    @property
    def fields(self) -> list[Field]:
        """The columns that are read, each once."""
        found = [] if self.expression is not None else [self.value]
        if self.person is None or (found and self.person.name == self.value.name):
            return found
        return [*found, self.person]

    @property
    def names(self) -> set[str]:
        """The column that identifies persons, if that is text."""
        return {self.person.name} if self.person and self.person.kind == "text" else set()

    @property
    def has_null_key(self) -> bool:
        """Buckets are never NULL."""
        return False

    @property
    def number_fields(self) -> dict[str, Field]:
        """The column, if it is read."""
        return {} if self.expression is not None else {self.value.name: self.value}

    @property
    def plain_fields(self) -> tuple[Field, ...] | None:
        """The column; None if it is computed, or rows are chosen."""
        return None if self.asked or self.person or self.expression is not None else (self.value,)

    def with_fields(self, changed: Change, of_numbers: Change | None = None) -> Histogram:
        """The same query with other fields: renamed, or of another kind."""
        return replace(
            self,
            value=self.value
            if self.expression is not None
            else (of_numbers or changed)(self.value),
            person=changed(self.person) if self.person else None,
            asked=self.asked.with_fields(changed),
        )

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs of the filter and the expression, under names of their own."""
        return self.asked.inputs

    @property
    def by(self) -> tuple[Field, ...]:
        """The bucket."""
        return (Field("bucket", "integer"),)

    @property
    def keys(self) -> list[str]:
        """The name of the bucket in the answer."""
        return ["k1"]

    @property
    def sums(self) -> tuple[Sum, ...]:
        """One empty sum."""
        return CELLS

    @cached_property
    def _integers(self) -> bool:
        if self.value.kind == "text as integer":
            first, *_, last = self.scale.candidates
            return TEXT_REACH[0] <= first and last <= TEXT_REACH[1]
        return self.value.kind == "integer"

    @cached_property
    def _widened(self) -> Field:
        """The column; integers in text get a type wide enough for every candidate."""
        first, *_, last = self.scale.candidates
        return widened(self.value, math.floor(first), math.ceil(last))

    def text(self, sums: str = "huge", words: Words = DUCKDB) -> str:
        """The query; NaN is left out."""
        return with_steps(*self.steps(sums, words))

    def steps(self, sums: str = "huge", words: Words = DUCKDB) -> tuple[list[tuple[str, str]], str]:
        """The common table expressions of the query, and its final SELECT."""
        self._check()
        steps = self._rows(sums, words)
        zero = whole(0)
        steps += words.bucket(self._thresholds, steps[-1][0])
        counted = f"SELECT t AS k1, COUNT(t) AS n, {zero} AS hi1, {zero} AS lo1"
        return steps, f"{counted} FROM bucketed GROUP BY t"

    def handed_over(self) -> str | None:
        """A DuckDB query that returns the number of each row that counts, for NumPy to count.

        None if 64 bits are not enough for an integer.
        """
        self._check()
        if self._integers and self._widened.wide:
            return None
        if self.of_integers:
            steps = [*self._first_steps(DUCKDB), self._valued]
            order = " ORDER BY person ASC" if self.in_order else ""
            return with_steps(steps, f"SELECT person, x FROM valued{order}")
        if self.person:
            steps = self._rows("huge", DUCKDB)
            return with_steps(steps, f"SELECT x FROM {steps[-1][0]}")
        last = f"SELECT {self._number} FROM {self._source}"
        return with_steps(self._first_steps(DUCKDB), last)

    @property
    def of_integers(self) -> bool:
        """Whether persons are integers, so that NumPy can choose their rows."""
        return self.person is not None and self.person.kind == "integer" and not self.person.wide

    def _rows(self, sums: str, words: Words) -> list[tuple[str, str]]:
        """The steps up to the numbers that count."""
        if self._integers:
            present = "x IS NOT NULL"
        else:
            present = is_number("x") if sums == "huge" else f"x <= {double(math.inf)}"
        return [
            *self._first_steps(words),
            self._valued,
            ("quantised", f"SELECT * FROM valued WHERE {present}"),
            *(kept_rows(self.unit.records, self.person, ["x"]) if self.person else []),
        ]

    @property
    def _valued(self) -> tuple[str, str]:
        """The step with the number of every row, and the person."""
        person, where = "", ""
        if self.person:
            person = f", {key_column(self.person)} AS person"
            where = f" WHERE {key_column(self.person)} IS NOT NULL"
        return "valued", f"SELECT {self._number} AS x{person} FROM {self._source}{where}"

    def _check(self) -> None:
        if len(self.scale.candidates) > MOST_CANDIDATES:
            raise BoundsError(
                f"scale has {len(self.scale.candidates)} candidates; for a table at most "
                f"{MOST_CANDIDATES} are possible: leave some out"
            )

    @property
    def _number(self) -> str:
        return as_integer(self._widened) if self._integers else as_double(self.value)

    def _first_steps(self, words: Words) -> list[tuple[str, str]]:
        """The step that filters and computes, if there is one."""
        computed = {} if self.expression is None else {self.value.name: self.expression}
        return [self.asked.step(self.fields, computed, words)] if self.asked else []

    @property
    def _source(self) -> str:
        return "asked" if self.asked else "source"

    @property
    def _thresholds(self) -> Thresholds:
        if not self._integers:
            return of_doubles(self.scale)
        return of_integers(self.scale, self._widened.reach, self._widened.wide)

    def of_columns(self, columns: Mapping[str, Column]) -> Groups:
        """The histogram of a column in memory."""
        return self.of_chunks(columns[self.value.name].each_chunk())

    def of_chunks(self, chunks: Iterable[Chunk]) -> Groups:
        """The histogram of chunks of numbers."""
        return self._of_buckets(histogram_of_chunks(self.scale, chunks))

    def of_persons(self, blocks: Iterable[tuple[Any, Any]]) -> Groups | None:
        """The histogram of persons and numbers; None if there are too many to be sorted here."""
        histogram = histogram_of_persons if self.in_order else histogram_in_any_order
        found = histogram(self.scale, self.unit.records, blocks)
        return None if found is None else self._of_buckets(found)

    @staticmethod
    def _of_buckets(records: Any) -> Groups:
        return Groups.of(Keys([KeyColumn(np.arange(len(records)))]), records)

    def counts(self, groups: Groups) -> Counts:
        """The counts by bucket in the result."""
        buckets = (key for (key,) in groups.keys)
        found: dict[Any, int] = dict(zip(buckets, groups.count.tolist(), strict=True))
        return counts_from_histogram(self.scale, found)
