"""The base of figures that are derived from an answer by group: how they are printed."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..core.keys import is_column
from ..core.limits import one_or_more
from ..errors import OptionError, shown
from ..estimate.interval import Interval
from .presented import TOO_FEW, not_among
from .rendering import (
    NOT_PRIVATE,
    WIDTH,
    clamped,
    group_label,
    html_paragraphs,
    html_table,
    listed,
    number,
    paragraphs,
    text_table,
)

if TYPE_CHECKING:
    from .counts import Counts
    from .release import Releases

__all__ = [
    "IN_EACH", "Derived", "chosen_of", "finite", "key_name", "pair_of", "places_of", "plain_key",
    "stored", "text_of",
]  # fmt: skip

#: What the printed intervals cover.
_OF_RECORDS: Final = (
    "Intervals are for these records, clamped to {}; they cover the noise, not sampling error."
)

#: What they cover if intervals of the population are printed as well.
_OF_BOTH: Final = (
    "Intervals of these records, clamped to {}, cover the noise only; those of the population "
    "cover sampling error, too, and hold for every population within the bounds."
)

#: What the total of several groups is not: a number of different persons.
IN_EACH: Final = "A person may count in several of these groups."


class Derived:
    """A figure of several groups, printed as a table like any other answer."""

    _algorithm: Any
    private: bool
    #: The attributes that repr() shows.
    _shown: ClassVar[tuple[str, ...]]
    #: What intervals of the population assume.
    _assumed: ClassVar[str] = (
        "Intervals for the population assume that the records of each group are a random sample "
        "from that group's population."
    )

    @property
    def _subject(self) -> str:
        """A short description of the figure."""
        raise NotImplementedError

    def _rows(self, confidence: float) -> list[list[str]]:
        """The rows of the printed table: a name, the estimate, and the ends of its interval."""
        raise NotImplementedError

    @property
    def _mean_word(self) -> str:
        return "share" if self._algorithm.grid.yes_or_no else "mean"

    def _number(self, value: float, decimals: int, sign: str) -> str:
        """A number; of a yes/no column, in per cent or in percentage points, as the sign says."""
        if not self._algorithm.grid.yes_or_no:
            return number(value, decimals)
        return f"{number(100 * value, max(0, decimals - 2))} {sign}"

    def _head(self, confidence: float) -> list[str]:
        return ["", "estimate", f"{100 * confidence:g} % from", "to"]

    def _rows_of_both(self, confidence: float) -> list[list[str]]:
        """The rows, with the mean of the population below that of these records."""
        raise OptionError("population=True is for means; leave it out for sums and counts")

    def _notes(self, population: bool = False) -> list[str]:
        covered = [_OF_BOTH, self._assumed] if population else [_OF_RECORDS]
        told = clamped(self._algorithm.grid.bounds)
        return [*(each.format(told) for each in covered), *([] if self.private else [NOT_PRIVATE])]

    @property
    def _bounds(self) -> dict[str, list[float]]:
        """What the values were clamped to, as JSON values."""
        return {"bounds": [*self._algorithm.grid.bounds]}

    def _sparse(self, fewest: int) -> list[str]:
        """What may have fewer records than ``fewest``, by the 95 % intervals of the counts."""
        raise NotImplementedError

    def few(self, fewest: int = 1) -> bool:
        """Whether the total, or one of two groups, may have fewer records than ``fewest``.

        By the 95 % interval of its count.
        """
        one_or_more("fewest", fewest)
        return bool(self._sparse(fewest))

    def _marks(self, fewest: int) -> list[str]:
        names = self._sparse(fewest)
        verb = "has" if len(names) == 1 else "have"
        return [f"{listed(names)} {verb} {TOO_FEW}."] if names else []

    def text(
        self,
        confidence: float = 0.95,
        *,
        fewest: int = 1,
        population: bool = False,
        width: int = WIDTH,
    ) -> str:
        """A printable table; ``population`` adds the mean of the population.

        A note says which groups may have fewer records than ``fewest``. Long names are wrapped to
        lines of ``width`` characters.
        """
        return text_of([self], confidence, population, width, fewest)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        table = html_table(self._head(0.95), self._rows(0.95), self._subject)
        return table + html_paragraphs([*self._marks(1), *self._notes()])


def text_of(
    figures: Sequence[Derived],
    confidence: float = 0.95,
    population: bool = False,
    width: int = WIDTH,
    fewest: int = 1,
) -> str:
    """Printable tables of several figures: one for those with the same head, and each note once."""
    rows: dict[tuple[str, ...], list[list[str]]] = {}
    for figure in figures:
        found = figure._rows_of_both(confidence) if population else figure._rows(confidence)
        rows.setdefault(tuple(figure._head(confidence)), []).extend(found)
    one_or_more("fewest", fewest)
    marks = dict.fromkeys(note for figure in figures for note in figure._marks(fewest))
    notes = marks | dict.fromkeys(note for figure in figures for note in figure._notes(population))
    tables = (text_table([*head], each, width=width) for head, each in rows.items())
    return "\n\n".join([*tables, paragraphs([*notes])])


def place_of(answer: Releases | Counts, key: Any) -> int:
    """The place of a group in an answer."""
    if not isinstance(key, Hashable) or key not in answer:
        raise OptionError(not_among(key, answer, "group"))
    return answer._places[key]


def chosen_of(answer: Releases | Counts, keys: Sequence[Any] | None) -> list[Any]:
    """The keys of the groups to add up: a list of them, or all."""
    if keys is None:
        return list(answer)
    one = isinstance(keys, str | bytes) or not isinstance(keys, Iterable)
    if one or is_column(keys) or (isinstance(keys, tuple) and keys in answer):
        raise OptionError(
            f"keys={shown(keys)} is not a list; give a list of groups, even for a single one: "
            "total([key])"
        )
    return list(keys)


def places_of(answer: Releases | Counts, keys: Sequence[Any]) -> list[int]:
    """The places of groups to add up: at least one, and each once."""
    if not keys:
        if not len(answer):
            raise OptionError(
                "no group of this answer was published, so there is nothing to add up"
            )
        raise OptionError("keys: name at least one group to add up")
    places = [place_of(answer, key) for key in keys]
    if len(set(places)) < len(places):
        raise OptionError("keys: a group is named twice; its records would count twice")
    return places


def pair_of(answer: Releases | Counts, a: Any, b: Any) -> tuple[int, int]:
    """The places of two groups to compare."""
    places = place_of(answer, a), place_of(answer, b)
    if places[0] == places[1]:
        raise OptionError(
            f"a={shown(a)} and b={shown(b)} are the same group; name two different groups"
        )
    return places


def stored(found: Interval) -> dict[str, Any]:
    """An interval as JSON values."""
    low, high = map(finite, found)
    return {"confidence": found.confidence, "low": low, "high": high, "kind": found.kind}


def finite(value: float) -> float | None:
    """A number as a JSON value: None if it is infinite, or no number."""
    return value if math.isfinite(value) else None


def plain_key(key: Any) -> Any:
    """The key of a group as JSON values."""
    if isinstance(key, tuple):
        return [plain_key(part) for part in key]
    return key.isoformat() if hasattr(key, "isoformat") else key


def key_name(key: Any) -> str:
    """The name of a group in tables, whether it is keyed by one column or several."""
    return group_label(key if isinstance(key, tuple) else (key,))
