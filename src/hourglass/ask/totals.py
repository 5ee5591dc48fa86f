"""The base of all questions about totals: reads groups, adds noise, chooses what to publish."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from ..core.columns import NAMELESS, Keys
from ..core.totals import Groups, Totals, joined
from ..core.unit import Unit
from ..core.wide import Wide
from ..mechanisms.outside import OutsideCounts
from ..noise.bits import BLOCK, Bits, SeededBits
from ..read.engines.base import Source
from ..read.keys import PublicKeys
from ..read.sql.query import Query

__all__ = ["TotalsQuestion"]


@dataclass(frozen=True, kw_only=True)
class TotalsQuestion:
    """A checked question about totals; no row has been read yet.

    ``epsilon`` and ``delta`` are its price; the mechanism draws its noise at epsilon divided by the
    records of a unit. ``outside`` counts values outside the bounds, with noise of its own; None if
    that was not asked for. ``place`` holds what distinguishes the question from others.
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
    outside: OutsideCounts | None = None
    place: dict[str, Any] = field(default_factory=dict, repr=False)

    def about(self, source: Source) -> Self:
        """The same question, about other data of the same kind."""
        question = object.__new__(type(self))
        question.__dict__.update(self.__dict__, source=source)  # dataclasses.replace takes 6 us
        return question

    @property
    def text(self) -> str:
        """The question as canonical text. It leaves out the SQL, in which engines make up names."""
        facts: dict[str, Any] = {
            "algorithm": self.mechanism.name,
            "delta": str(self.delta),
            "epsilon": str(self.epsilon),
            "unit": str(self.unit),
        }
        facts |= self._facts() | self.place
        return json.dumps(facts, sort_keys=True, default=PublicKeys.written)

    def _facts(self) -> dict[str, Any]:
        """Further facts that distinguish this statistic's question from others."""
        return {}

    def read(self) -> Groups:
        """The exact totals of each group; of one unnamed group if there is no ``by``."""
        return self.source.run(self.sql, self.query)

    def noise(self, secret: Groups, bits: Bits) -> tuple[Any, Any]:
        """The keys to publish, and their noisy totals."""
        if self.keys is not None:
            return self.keys.keys, self._noised_groups(self.keys.padded(secret), bits)
        if not self.by:
            return NAMELESS, self._noised(secret.only, bits)
        noisy = self._noised_groups(secret, bits)
        # A group without records (all its values are missing) is never published, whether the
        # engine returns it or not.
        kept = np.flatnonzero((noisy.sizes >= self.threshold) & (secret.count > 0))
        kept = kept[secret.keys.take(kept).order()]  # the order of the data is not published
        return secret.keys.take(kept), noisy.take(kept)

    def _noised_groups(self, groups: Groups, bits: Bits) -> Any:
        """Add noise to the totals of groups, in blocks that stay in the cache."""
        return joined([self._noised(totals, bits) for totals in groups.blocks(BLOCK)])

    def _noised(self, totals: Totals, bits: Bits) -> Any:
        """Add noise to the totals of one group or of many."""
        if self.outside is None:
            return self.mechanism.noise(totals, bits=bits)
        asked = len(self.outside.sums)
        plain = Totals(totals.cells, totals.count, totals.more[:-asked])
        noisy = self.mechanism.noise(plain, bits=bits)
        return self.outside.noise(noisy, totals.more[-asked:], bits=bits)

    def answer(self, noisy: tuple[Any, Any], *, private: bool) -> Any:
        """The answer, computed from the noisy totals."""
        raise NotImplementedError

    def rehearse(self) -> None:
        """Answer the totals of one made-up record, so that failures happen before the charge."""
        nothing: Any = Wide.of(np.zeros(1, dtype=np.int64)) if self.by else 0
        one = Totals(nothing, nothing + 1, (nothing,) * (len(self.query.sums) - 1))
        keys = Keys.of([(None,) * len(self.by)], len(self.by))
        noisy = self._noised(one, SeededBits(0))
        json.dumps(self.answer((keys, noisy), private=False).to_dict(), allow_nan=False)
