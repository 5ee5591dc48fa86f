"""Answers by group: a mapping from key to release, stored as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import one_of
from .answer import Answer
from .combined import Total, total_of
from .compared import Difference, Ratio, SumDifference, compared
from .hidden import limited
from .outside import share_cells, shares_notes
from .presented import TOO_FEW, group_names, no_such_key
from .release import Release
from .rendering import bound, group_label, label

__all__ = ["Releases"]

Floats = npt.NDArray[np.float64]


class _Places(dict[Any, int]):
    """The position of each key. In a text file, a number can be looked up as text or as an int."""

    def __missing__(self, key: Any) -> int:
        place = super().get(_written(key))
        if place is None:
            raise no_such_key(key, self, "group")
        return place

    def get(self, key: Any, default: Any = None) -> Any:
        """The position of a key, or the default."""
        return super().get(key, super().get(_written(key), default))


def _written(key: Any) -> Any:
    """The key as an answer has it: numbers of text files as text, and midnight as its day."""
    if isinstance(key, tuple):
        return tuple(map(_written, key))
    if isinstance(key, np.datetime64):
        key = key.astype("datetime64[us]").item()
    if isinstance(key, datetime) and key.tzinfo is None and key.time() == time():
        return key.date()
    return str(key) if isinstance(key, int) and not isinstance(key, bool) else key


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Releases(Answer, Mapping[Any, Release]):
    """A private mean, sum and count for each group, at one price for all of them.

    A mapping from key to :class:`Release`: the key is the group's value, or a tuple if ``by`` names
    several columns. Public keys are in the order given, secret ones in the order of their values. A
    group with a secret name is published if its noisy count is ``threshold`` or more (None if the
    names are public).
    """

    _by_group: ClassVar[bool] = True
    _shown: ClassVar[tuple[str, ...]] = (
        "by", "epsilon", "delta", "threshold", "estimator", "unit", "private",
    )  # fmt: skip

    # --- a mapping --------------------------------------------------------------------------

    @cached_property
    def _places(self) -> _Places:
        return _Places(zip(group_names(self), range(len(self)), strict=True))

    def __getitem__(self, key: Any) -> Release:
        return self._release(self._places[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self.groups)

    def __contains__(self, key: object) -> bool:
        return self._places.get(key) is not None

    def _release(self, place: int) -> Release:
        return Release.of(
            self._algorithm,
            self.noisy_totals.take(place),
            estimator=self.estimator,
            private=self.private,
            unit=limited(self.unit, by_group=True),
            epsilon=self.epsilon,
            delta=self.delta,
            column=self.column,
            where=self.where,
            missing=self.missing,
            asked=self.asked,
            outside_epsilon=self.outside_epsilon,
            as_real=self.as_real,
        )

    if not TYPE_CHECKING:  # a type checker would then accept any attribute

        def __getattr__(self, name: str) -> Any:
            if name in ("mean", "sum", "count", "std", "variance", "expected_error"):
                raise AttributeError(
                    f"this answer is by group and has no {name}; use answer[key].{name} for one "
                    f"group, or answer.{name}s for all"
                )
            return super().__getattr__(name)

    # --- columns ----------------------------------------------------------------------------

    @property
    def means(self) -> Floats:
        """The mean of each group."""
        return np.asarray(self._mean)

    @property
    def sums(self) -> Floats:
        """The sum of each group."""
        return np.asarray(self._sum)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """The count of each group."""
        return np.asarray(self._count)

    @property
    def variances(self) -> Floats:
        """The variance of each group; needs ``spread=True``."""
        return np.asarray(self._variance)

    @property
    def stds(self) -> Floats:
        """The standard deviation of each group; needs ``spread=True``."""
        return np.asarray(self._std)

    @property
    def expected_errors(self) -> Floats:
        """The expected error of each group's mean."""
        return np.asarray(self._error)

    # --- derived figures, at no further cost -----------------------------------------------

    def total(self, keys: Sequence[Any] | None = None) -> Total:
        """The total of the groups with these keys, or of all; costs no epsilon.

        Its intervals come from the joint law of all their noises, and are far narrower than those
        of the groups added up.
        """
        return total_of(self, keys)

    def difference(self, a: Any, b: Any, *, of: str | None = None) -> Difference:
        """The figure of group ``a`` minus that of group ``b``, with an interval; costs no epsilon.

        The figure is ``of``, "mean" or "sum"; by default the one that was asked for.
        """
        one_of("of", of or self.asked, ("mean", "sum"))
        kind = SumDifference if (of or self.asked) == "sum" else Difference
        found: Difference = compared(kind, self, a, b)
        return found

    def ratio(self, a: Any, b: Any) -> Ratio:
        """The mean of group ``a`` over that of group ``b``, with an interval; costs no epsilon."""
        found: Ratio = compared(Ratio, self, a, b)
        return found

    # --- for people -------------------------------------------------------------------------

    def _expected_outside(self) -> list[str]:
        return [] if self.bounds.leaves is None else [f"{self._found}."]

    def _outside_notes(self, confidence: float) -> list[str]:
        return shares_notes(self, confidence) if self.groups else []

    def _marks(self, fewest: int) -> list[str]:
        marked = self.outside_epsilon is not None and np.any(self.few(fewest))
        return [f"* {TOO_FEW}"] if marked else []

    def _table(
        self, confidence: float, fewest: int, every: bool = False
    ) -> tuple[list[str], list[list[str]]]:
        other = "sum" if self.asked == "mean" else "mean"
        sides = self.outside_epsilon is not None
        more = [*(["std"] if self._spread else []), *([] if sides else [other])]
        names = {"mean": "share"} if self._yes_or_no else {}
        head = [label(self.by), self._asked_word, f"{100 * confidence:g} % from", "to"]
        head += [*(names.get(of, of) for of in more), self._counted]
        rows, few = [], np.atleast_1d(self.few(fewest))[: self._groups_shown(every)]
        ones = [self._release(place) for place in range(len(few))]
        for group, one, mark in zip(self.groups[: len(few)], ones, few, strict=True):
            figures = [one._figure(confidence, of, mark) for of in (*more, "count")]
            rows.append([group_label(group), *one._printed(confidence, self.asked, mark), *figures])
        if sides:  # in place of the other figure, because a line has 80 characters
            head += [f"below {bound(self.bounds.lower)}", f"above {bound(self.bounds.upper)}"]
            for row, mark, cells in zip(rows, few, share_cells(ones, confidence), strict=True):
                row[-1] += " *" if mark else ""
                row += cells
        elif few.any():
            head = [*head, "note"]
            rows = [[*row, TOO_FEW if mark else ""] for row, mark in zip(rows, few, strict=True)]
        return head, rows
