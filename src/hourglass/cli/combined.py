"""``--total`` and ``--difference``: figures derived from an answer by group, printed below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ..release.columns import Columns
from ..release.rendering import label

__all__ = ["Combined", "check_combined", "check_pair"]


def check_combined(total: bool, pair: tuple[str, str] | None, by: Any, format_: str) -> None:
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
    if pair and pair[0] == pair[1]:
        raise OptionError(
            f"--difference {pair[0]} {pair[1]} names the same group twice; name two groups"
        )


def check_pair(pair: tuple[str, str] | None, question: Any) -> None:
    """Raise an error, before anything is charged, if a group is not among the public keys."""
    if pair is None or question.keys is None:
        return
    known, by = _by_label(question.keys.keys), question.by
    for word in pair:
        if word not in known:
            form = (
                f"; write a group as its {' and '.join(by)}, in that order and separated by commas"
                if len(by) > 1
                else ""
            )
            raise OptionError(
                f"--difference: {word!r} is not among the public names of the groups; add it to "
                f"--keys or --keys-from, or name another group{form}"
            )
    if known[pair[0]] == known[pair[1]]:
        raise OptionError(
            f"--difference {pair[0]} {pair[1]} names the same group twice; name two groups"
        )


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
                places, names = _by_label(part.groups), list(part)
                both = [names[places[each]] for each in self.pair if each in places]
                yield "difference", name, part.difference(*both) if len(both) == 2 else _ABSENT


_NOTHING = "No group was published, so there is no total."
_ABSENT = "One of the two groups is not in the answer, so there is no difference."
