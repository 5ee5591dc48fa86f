"""Totals that were read beforehand: a source that answers without looking at the data again.

A service that answers strangers must not take a time that depends on the data. So it reads the
totals of every question that it offers once, keeps them in memory, and answers from there.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ..core.grid import Bounds
from ..core.totals import Groups
from ..errors import OptionError
from .engines.base import Source
from .schema import Schema
from .sql.query import Question

if TYPE_CHECKING:
    from .keys import PublicKeys

__all__ = ["Kept"]


class Kept:
    """A table whose totals are kept in memory, for the questions that were read: secret.

    A question takes it as its data. One that was not read is refused when it is made, before
    anything is charged.
    """

    def __init__(self, source: Source, place: str) -> None:
        """Nothing is kept yet. ``place`` names the table, for the text of questions."""
        self.name = source.name
        self.parse = source.parse
        self.parses = source.parses
        self.place = place
        self._schema = source.schema()
        self._totals: dict[Hashable, Groups] = {}

    def __repr__(self) -> str:
        return "Kept(secret)"

    def __reduce__(self) -> Any:
        raise TypeError("totals are secret: they are not pickled or copied out of the process")

    def keep(self, query: Any, groups: Groups, keys: PublicKeys | None) -> None:
        """Keep the totals that a question has read.

        With public keys every key gets an entry, in the order given, with zeros where it has no
        rows: picking them later takes the same time whichever groups are there.
        """
        if keys is not None:
            groups = keys.padded(groups)
        elif query.by:
            raise OptionError("totals are kept of groups with public names; give keys=")
        self._totals[query] = groups

    def schema(self) -> Schema:
        """The columns as declared."""
        return self._schema

    def sql(self, query: Any, bounds: Bounds) -> None:
        """No SQL runs; a question whose totals are not kept is refused."""
        if query not in self._totals:
            raise OptionError("this question is not one of those whose totals were read")

    def run(self, sql: Any, query: Question) -> Groups:
        """The totals that are kept."""
        assert isinstance(query, Hashable)
        return self._totals[query]
