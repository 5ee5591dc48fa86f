"""Totals that were read in advance: a source that answers without reading the data again.

The time that a service takes to answer must not depend on the data. So it reads the totals of every
question that it offers once, keeps them in memory, and answers from there.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.keys import Keys
from ..core.limits import Bounds
from ..core.totals import Groups, Secret
from ..errors import OptionError
from .source import Schema, Source
from .sql.query import Question

if TYPE_CHECKING:
    from .open import PublicKeys

__all__ = ["Kept"]


class Kept(Secret):
    """The totals of a table, kept in memory for a list of questions.

    Questions take it as their data. A question whose totals were not read is refused when it is
    constructed, before anything is charged.
    """

    def __init__(self, source: Source, place: str) -> None:
        """Start empty. ``place`` identifies the table in the text of questions."""
        self.name = source.name
        self.parse = source.parse
        self.parses = source.parses
        self.place = place
        self._schema = source.schema()
        self._totals: dict[Hashable, Groups] = {}

    def keep(
        self, query: Any, groups: Groups, keys: PublicKeys | None = None, most: int | None = None
    ) -> None:
        """Keep the totals that a question has read, in a form whose size is public.

        With public keys every key gets an entry, in the order given, with zeros if it has no rows.
        Groups with secret names are padded to ``most`` entries with groups without records, which
        are never published. The time to add noise does not depend on which groups exist.
        """
        if keys is not None:
            groups = keys.padded(groups)
        elif query.by:
            if most is None:
                raise OptionError("most is missing: how many groups with secret names are kept")
            groups = _filled(groups, most)
        self._totals[query] = groups

    def schema(self) -> Schema:
        """The columns as declared."""
        return self._schema

    def sql(self, query: Any, bounds: Bounds) -> None:
        """None, since no SQL runs; a question whose totals are not kept is refused."""
        if query not in self._totals:
            raise OptionError("this question is not one of those whose totals were read")

    def run(self, sql: Any, query: Question) -> Groups:
        """The totals that are kept."""
        assert isinstance(query, Hashable)
        return self._totals[query]


def _filled(groups: Groups, most: int) -> Groups:
    """The groups that have records, padded to ``most`` with groups without records.

    If there were more than ``most`` groups, the choice of those to drop would depend on the data,
    and no noise would hide it. So they are refused.
    """
    there = groups.take(np.flatnonzero(groups.count > 0))
    rows, width = len(there.keys), len(there.keys.columns)
    if rows > most:
        raise OptionError(
            f"most={most}: the data has more groups than that; give a number that it can never "
            "reach, or coarser groups"
        )
    keys = Keys.of([*there.keys, *[(None,) * width] * (most - rows)], width)
    return there.placed(keys, np.arange(rows))
