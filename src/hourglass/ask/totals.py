"""What questions about totals have in common: which groups are read, noised and published."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..core.keys import sort_key
from ..core.totals import Groups, Totals
from ..core.unit import Unit
from ..noise.bits import Bits, SeededBits
from ..read.engines.base import Source
from ..read.keys import PublicKeys
from ..read.sql.query import Query

__all__ = ["TotalsQuestion"]


@dataclass(frozen=True, kw_only=True)
class TotalsQuestion:
    """A question about totals that can be asked: everything is checked, no row has been read.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at the part of
    epsilon that each record of a unit gets. ``place`` holds what tells the question apart.
    """

    epsilon: Fraction
    delta: Fraction
    sql: str | None = field(repr=False)
    mechanism: Any
    unit: Unit
    source: Source = field(repr=False)
    query: Query = field(repr=False)
    by: tuple[str, ...] = ()
    keys: PublicKeys | None = field(default=None, repr=False)
    threshold: int | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """Everything that makes this question this one. The SQL does not: engines make up names."""
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "unit": str(self.unit),
        }
        return json.dumps(facts | self._facts() | self.place, sort_keys=True)

    def _facts(self) -> dict[str, Any]:
        """What else tells the statistic's question apart."""
        return {}

    def read(self) -> Groups:
        """The exact totals of each group; of one group without a name where none are asked."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, Any]:
        """The keys that are published, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self._noised(self.keys.pick(secret), bits)
        if not self.by:
            return (), self._noised(secret.only, bits)
        # A group all of whose values are missing has no records: it is never published.
        rows = np.flatnonzero(np.asarray(secret.count > 0, dtype=bool))
        noisy = self._noised(secret.take(rows), bits)
        kept = np.flatnonzero(np.asarray(noisy.sizes >= self.threshold, dtype=bool)).tolist()
        keys = {i: secret.key(rows[i]) for i in kept}
        order = sorted(kept, key=lambda i: sort_key(keys[i]))  # never in the data's order
        return tuple(keys[i] for i in order), noisy.take(order)

    def _noised(self, totals: Totals, bits: Bits) -> Any:
        """The totals of one group or of many, with the noise on them."""
        return self.mechanism.noise(totals, bits=bits)

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The answer that the noisy totals lead to."""
        raise NotImplementedError

    def rehearse(self) -> None:
        """Noise and write down one record, so that the law and the figures are known to work."""
        nothing: Any = np.array([0], dtype=object) if self.by else 0
        one = Totals(nothing, nothing + 1, (nothing,) * (len(self.query.sums) - 1))
        keys = (((None,) * len(self.by)),) if self.by else ()
        noisy = self._noised(one, SeededBits(0))
        json.dumps(self.answer((keys, noisy), private=False).to_dict(), allow_nan=False)
