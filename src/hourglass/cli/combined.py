"""``--total`` and ``--difference``: figures derived from an answer by group, printed below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ..release.columns import Columns
from ..release.rendering import label

__all__ = ["Combined", "check_combined"]


def check_combined(
    total: bool, pair: tuple[str, str] | None, by: Any, keys: Any, format_: str
) -> None:
    """Raise an error, before anything is charged, if the groups could not be combined as asked."""
    if not total and not pair:
        return
    option = "--total" if total else "--difference"
    if not by:
        raise OptionError(f"{option} needs groups; name the column to group by with --by")
    if format_ not in ("table", "json", "yaml"):
        raise OptionError(
            f"{option} works only with --format table, json or yaml; choose one of them"
        )
    if pair and pair[0].replace(", ", ",") == pair[1].replace(", ", ","):
        raise OptionError(
            f"--difference {pair[0]} {pair[1]} names the same group twice; name two groups"
        )
    missing = [name for name in pair or () if isinstance(keys, list) and name not in keys]
    if missing:
        raise OptionError(f"--difference: {missing[0]!r} is not among --keys; add it there")


def _by_label(keys: Iterable[Any]) -> dict[str, int]:
    """The places of groups by what --difference may call them: "AA, 1" as in the table, or AA,1.

    A label that several groups share means the first of them, and the table's form goes first.
    """
    tuples = [key if isinstance(key, tuple) else (key,) for key in keys]
    found: dict[str, int] = {}
    for between in (", ", ","):
        for place, key in enumerate(tuples):
            found.setdefault(between.join(label([part]) for part in key), place)
    return found


@dataclass(frozen=True)
class Combined:
    """An answer by group with its total and a difference, written like the answer itself."""

    answer: Any
    total: bool
    pair: tuple[str, str] | None

    @property
    def groups(self) -> Any:
        """The groups of the answer."""
        return self.answer.groups

    def text(self, confidence: float, *, fewest: int = 1) -> str:
        """The answer's table, with the total and the difference below it."""
        parts = [self.answer.text(confidence, fewest=fewest)]
        for _, name, found in self._found():
            heading = f"{name}:\n" if name else ""
            parts.append(heading + (found if isinstance(found, str) else found.text(confidence)))
        return "\n\n".join(parts)

    def to_dict(self, confidence: float | None, *, fewest: int = 1) -> dict[str, Any]:
        """The answer, with "total" and "difference": one figure, or one for each column."""
        whole: dict[str, Any] = self.answer.to_dict(confidence, fewest=fewest)
        sure = 0.95 if confidence is None else confidence
        for kind, name, found in self._found():
            stored = None if isinstance(found, str) else found.to_dict(sure)
            if name:
                whole.setdefault(kind, {})[name] = stored
            else:
                whole[kind] = stored
        return whole

    def _found(self) -> Iterator[tuple[str, str, Any]]:
        """The option, the column's name if there are several, and the figure.

        With secret keys a group may not have been published; then a sentence says so in place of
        the figure, since nothing may fail after the charge.
        """
        answer = self.answer
        named = isinstance(answer, Columns)
        for name in answer.names if named else ("",):
            part = answer.column(name) if named else answer
            if self.total:
                yield "total", name, part.total() if len(part) else _NOTHING
            if self.pair:
                yield "difference", name, _difference(part, self.pair)


_NOTHING = "No group was published, so there is no total."


def _difference(part: Any, pair: tuple[str, str]) -> Any:
    places, names = _by_label(part.groups), list(part)
    for word in pair:
        if word not in places:
            return f"{label([word])} is not in the answer, so there is no difference."
    if places[pair[0]] == places[pair[1]]:
        return f"{pair[0]} and {pair[1]} are the same group, so there is no difference."
    return part.difference(*(names[places[word]] for word in pair))
