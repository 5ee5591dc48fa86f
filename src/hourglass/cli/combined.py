"""``--total``, ``--difference`` and ``--ratio``: figures derived from an answer by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError
from ..release.columns import Columns
from ..release.rendering import label

__all__ = ["Combined", "Pairs", "check_combined"]

#: Two groups for each option that compares them, "difference" or "ratio".
Pairs = Mapping[str, tuple[str, str]]


def check_combined(total: bool, pairs: Pairs, by: Any, keys: Any, format_: str) -> None:
    """Raise an error, before anything is charged, if the groups could not be combined as asked."""
    if not total and not pairs:
        return
    option = "--total" if total else f"--{next(iter(pairs))}"
    if not by:
        raise OptionError(f"{option} needs groups; name the column to group by with --by")
    if format_ not in ("table", "json", "yaml"):
        raise OptionError(
            f"{option} works only with --format table, json or yaml; choose one of them"
        )
    for kind, (a, b) in pairs.items():
        if a.replace(", ", ",") == b.replace(", ", ","):
            raise OptionError(f"--{kind} {a} {b} names the same group twice; name two groups")
        if min(len(name.split(",")) for name in (a, b)) < len(by):
            raise OptionError(
                f"--{kind} {a} {b}: --by names {len(by)} columns; write a group as one value of "
                "each, with commas between them"
            )
        known = [_spelled(key) for key in keys] if isinstance(keys, list) else None
        missing = [name for name in (a, b) if known is not None and _spelled(name) not in known]
        if missing:
            raise OptionError(f"--{kind}: {missing[0]!r} is not among --keys; add it there")


def _by_label(keys: Iterable[Any]) -> dict[str, int]:
    """The places of groups by what options may call them: "AA, 1" as in the table, or AA,1.

    A label that several groups share means the first of them, and the table's form goes first.
    """
    tuples = [key if isinstance(key, tuple) else (key,) for key in keys]
    found: dict[str, int] = {}
    for between in (", ", ","):
        for place, key in enumerate(tuples):
            found.setdefault(between.join(label([part]) for part in key), place)
    for place, key in enumerate(tuples):  # the table has True, and --keys may have true
        if len(key) == 1 and isinstance(key[0], bool):
            found.setdefault(_spelled(str(key[0])), place)
    return found


def _spelled(word: str) -> str:
    """A word as it is compared: true and false in any case."""
    return word.lower() if word.lower() in ("true", "false") else word


@dataclass(frozen=True)
class Combined:
    """An answer by group with figures of its groups, written like the answer itself."""

    answer: Any
    total: bool
    pairs: Pairs

    @property
    def groups(self) -> Any:
        """The groups of the answer."""
        return self.answer.groups

    def text(self, confidence: float, *, fewest: int = 1) -> str:
        """The answer's table, with the other figures below it."""
        parts = [self.answer.text(confidence, fewest=fewest)]
        for _, name, found in self._found():
            heading = f"{name}:\n" if name else ""
            parts.append(heading + (found if isinstance(found, str) else found.text(confidence)))
        return "\n\n".join(parts)

    def to_dict(self, confidence: float | None, *, fewest: int = 1) -> dict[str, Any]:
        """The answer, with "total", "difference", "ratio": one figure, or one for each column."""
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
            for kind, pair in self.pairs.items():
                yield kind, name, _compared(part, kind, pair)


_NOTHING = "No group was published, so there is no total."


def _compared(part: Any, kind: str, pair: tuple[str, str]) -> Any:
    places, names = _by_label(part.groups), list(part)
    found = [places.get(word, places.get(_spelled(word))) for word in pair]
    for word, place in zip(pair, found, strict=True):
        if place is None:
            return f"{label([word])} is not in the answer, so there is no {kind}."
    if found[0] == found[1]:
        return f"{pair[0]} and {pair[1]} are the same group, so there is no {kind}."
    return getattr(part, kind)(*(names[place] for place in found if place is not None))
