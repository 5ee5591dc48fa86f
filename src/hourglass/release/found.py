"""Bounds that were found privately, as an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final

from ..core.exact import decimal
from ..core.limits import Bounds, Scale, one_or_more
from ..errors import BoundsError, OptionError, shown
from ..mechanisms.scan import Ends, Scan
from .answer import check_stored
from .rendering import NOT_PRIVATE, bound, counted, html_paragraphs, label, named, paragraphs

__all__ = ["FoundBounds"]

#: Numbers below this are seldom meant; a search that meets no records ends there.
_NOTHING: Final = 1e-15


@dataclass(frozen=True)
class FoundBounds:
    """Bounds that were found privately; pass them to a question as ``bounds=``.

    ``epsilon`` is the price of finding them, in addition to that of later questions. ``target`` is
    the number of records that the search aimed to leave outside each end (lower, upper), and
    ``edges`` tells whether an end is the last candidate of the scale, beyond which any number of
    records may lie. ``unit`` says whose presence is hidden; ``private`` is False if the random bits
    were not secret. ``column`` and ``where`` are what was searched: the name of the column, None if
    the data itself was a column, and the filter on its rows.
    """

    bounds: Bounds
    epsilon: Fraction
    target: tuple[int, int]
    edges: tuple[bool, bool]
    private: bool
    _scans: tuple[tuple[Scan, int], ...] = field(repr=False)
    unit: str = "row"
    where: str | None = None
    column: str | None = None

    @classmethod
    def of(
        cls,
        ends: Ends,
        scale: Scale,
        epsilon: Fraction,
        *,
        unit: str = "row",
        private: bool,
        where: str | None = None,
        column: str | None = None,
    ) -> FoundBounds:
        """The bounds at which a search stopped; ``epsilon`` is the price for a whole unit."""
        how = "privately" if private else "NOT PRIVATELY, with seeded bits"
        origin = f"found {how}, for an epsilon of {decimal(epsilon)} charged separately"
        scans = ends.lower_scan, ends.upper_scan
        target = scans[0][0].target, scans[1][0].target
        edges = ends.lower == 0, ends.upper == len(scale.candidates) - 1
        low, high = scale.candidates[ends.lower], scale.candidates[ends.upper]
        return cls(
            Bounds(low, high, origin=origin, leaves=_leaves(target, edges)),
            epsilon,
            target=target,
            edges=edges,
            private=private,
            _scans=scans,
            unit=unit,
            where=where,
            column=column,
        )

    def of_column(self, column: str | None, where: str | None) -> Bounds:
        """The bounds for a question about a column; those of another column are refused.

        A name of None means that one of the two columns has no name, or that the bounds were
        stored without one. For other rows the shares that lie outside are unknown.
        """
        if column is not None and self.column not in (None, column):
            raise BoundsError(
                f"bounds: these were found for column {self.column!r}, not {column!r}; search "
                "again, or give a pair"
            )
        return self.bounds if self.where == where else replace(self.bounds, leaves=(None, None))

    @property
    def lower(self) -> int | float:
        """The lower bound."""
        return self.bounds.lower

    @property
    def upper(self) -> int | float:
        """The upper bound."""
        return self.bounds.upper

    def most_outside(self, confidence: float = 0.95) -> int:
        """An upper bound on the records outside the two bounds, with this confidence.

        It follows from the law of the noise, without reading the data; an end at the edge of the
        scale is not covered. Divide it by a private count to get a share.
        """
        known = isinstance(confidence, int | float | Fraction) and not isinstance(confidence, bool)
        if not known or not 0 < confidence < 1:
            raise OptionError(
                f"confidence={shown(confidence)} is not a number between 0 and 1; give a number "
                "such as 0.95"
            )
        each = 1 - (1 - confidence) / 3  # a union bound over three scans
        return sum(scan.most_beyond(questions, each) for scan, questions in self._scans)

    def shares_outside(self, records: int) -> tuple[float, float]:
        """The shares of ``records`` that the search aimed to leave below and above the bounds.

        Give a private count. The share beyond an end of the scale is unknown and NaN.
        """
        one_or_more("records", records)
        below, above = (
            math.nan if edge else min(1.0, target / records)
            for target, edge in zip(self.target, self.edges, strict=True)
        )
        return below, above

    def to_dict(self) -> dict[str, Any]:
        """The whole answer as JSON values; :meth:`from_dict` restores it."""
        return {
            "bounds": [self.lower, self.upper],
            "bounds_origin": self.bounds.origin,
            "epsilon": str(self.epsilon),
            "target": list(self.target),
            "edges": list(self.edges),
            "most_outside": {"confidence": 0.95, "records": self.most_outside()},
            "scans": [
                {"epsilon": str(scan.epsilon), "questions": questions}
                for scan, questions in self._scans
            ],
            "unit": self.unit,
            "private": self.private,
            **({} if self.where is None else {"where": self.where}),
            **({} if self.column is None else {"column": self.column}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> FoundBounds:
        """Restore the bounds that :meth:`to_dict` returned."""
        check_stored(stored, "FoundBounds")
        lower_target, upper_target = stored["target"]
        lower_edge, upper_edge = stored["edges"]
        scans = stored["scans"]
        target = int(lower_target), int(upper_target)
        edges = bool(lower_edge), bool(upper_edge)
        origin = stored["bounds_origin"]
        return cls(
            Bounds(*stored["bounds"], origin=origin, leaves=_leaves(target, edges)),
            Fraction(stored["epsilon"]),
            target=target,
            edges=edges,
            private=bool(stored["private"]),
            _scans=tuple((Scan(Fraction(s["epsilon"])), int(s["questions"])) for s in scans),
            unit=str(stored["unit"]),
            where=stored.get("where"),
            column=stored.get("column"),
        )

    def __reduce__(self) -> Any:
        return type(self).from_dict, (self.to_dict(),)

    def __str__(self) -> str:
        return paragraphs(self._notes())

    def _repr_html_(self) -> str:
        return html_paragraphs(self._notes())

    def _notes(self) -> list[str]:
        below, above = self.target
        notes = [
            f"Bounds{f' of {named(self.column)}:' if self.column else ''} {bound(self.lower)} to "
            f"{bound(self.upper)}, found at a cost of epsilon {decimal(self.epsilon)}.",
            f"The search aimed to leave about {counted(below, 'record')} below and {above:,} "
            f"above; at most {self.most_outside():,} lie outside, with 95 % confidence. They are "
            "clamped, which pulls the mean towards the middle.",
        ]
        if self.where is not None:
            notes.append(f"Rows where {label([self.where])}.")
        if max(abs(self.lower), abs(self.upper)) < _NOTHING:
            notes.append(
                "Both bounds are next to zero. Unless all values are, the column has too few "
                "numbers for this epsilon, or none (text that is not a number is missing), and "
                "these bounds are useless."
            )
        for edge, end in zip(self.edges, self.bounds, strict=True):
            if edge:
                notes.append(
                    f"{bound(end)} is the end of the scale; more values may lie beyond it."
                )
        if self.unit != "row":
            notes.append(
                f"What is hidden is one {self.unit}; each of their rows that counts is a record."
            )
        if not self.private:
            notes.append(NOT_PRIVATE)
        return notes


def _leaves(target: tuple[int, int], edges: tuple[bool, bool]) -> tuple[int | None, int | None]:
    """How many records the search aimed to leave beyond each bound; None at an end of the scale."""
    return None if edges[0] else target[0], None if edges[1] else target[1]
