"""The figures of ``--total``, ``--difference`` and ``--ratio``, below an answer by group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Final

from ..errors import OptionError
from ..release.columns import Columns
from ..release.derived import text_of
from ..release.rendering import WIDTH, label
from .parts import Figures, Pair

__all__ = ["Combined", "check_groups"]

#: The most groups among which the nearest to a wrong one is looked for, or listed.
_SEARCHED: Final = 1_000
_LISTED: Final = 12


def check_groups(figures: Figures, keys: Iterable[Any], option: str) -> None:
    """Raise an error if a group to compare is not among public keys, which ``option`` gave."""
    known = _by_label(keys) if figures.pairs else {}
    for pair in figures.pairs:
        places = [_place(word, known) for word in (pair.a, pair.b)]
        for word, place in zip((pair.a, pair.b), places, strict=True):
            if place is None:
                raise OptionError(
                    f"--{pair.kind}: {word!r} is not among the groups of {option}; "
                    f"{_hint(word, known)}"
                )
        if places[0] == places[1]:
            raise OptionError(f"{pair} names the same group twice; name two groups")


def _hint(word: str, known: Collection[str]) -> str:
    near = get_close_matches(word, known, n=1) if len(known) <= _SEARCHED else []
    if near:
        return f"did you mean {near[0]!r}?"
    some = ", ".join(islice(known, _LISTED))
    return f"they are {some}{', ...' if len(known) > _LISTED else ''}"


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
        if any(isinstance(part, bool) for part in key):
            parts = (_spelled(str(p)) if isinstance(p, bool) else label([p]) for p in key)
            found.setdefault(",".join(parts), place)
    return found


def _place(word: str, places: dict[str, int]) -> int | None:
    spelled = ",".join(_spelled(part.strip()) for part in word.split(","))
    return places.get(word, places.get(spelled))


def _spelled(word: str) -> str:
    """A word as it is compared: true and false in any case."""
    return word.lower() if word.lower() in ("true", "false") else word


@dataclass(frozen=True)
class Combined:
    """An answer by group with figures of its groups, written like the answer itself."""

    answer: Any
    figures: Figures

    @property
    def groups(self) -> Any:
        """The groups of the answer."""
        return self.answer.groups

    def text(
        self,
        confidence: float,
        *,
        fewest: int = 1,
        every: bool = False,
        width: int = WIDTH,
        **of: bool,
    ) -> str:
        """The answer's table, with the other figures below it; of several columns, one by one.

        ``of`` may be ``population=True``, for answers that have means.
        """
        parts = [self.answer.text(confidence, fewest=fewest, every=every, width=width, **of)]
        for name, each in groupby(self._found(), key=itemgetter(1)):
            found = [figure for _, _, figure in each]
            told = [sentence for sentence in found if isinstance(sentence, str)]
            if figures := [figure for figure in found if not isinstance(figure, str)]:
                told.append(text_of(figures, confidence, width=width, fewest=fewest, **of))
            parts.append((f"{name}:\n" if name else "") + "\n\n".join(told))
        return "\n\n".join(parts)

    def to_dict(self, confidence: float | None, *, fewest: int = 1, **of: bool) -> dict[str, Any]:
        """The answer, with "total", "difference", "ratio".

        Each is one figure, or a list of them if the option was given several times; for several
        columns, there is one of these for each column.
        """
        whole: dict[str, Any] = self.answer.to_dict(confidence, fewest=fewest, **of)
        sure = 0.95 if confidence is None else confidence
        found: dict[str, dict[str, list[Any]]] = {}
        for kind, name, figure in self._found():
            stored = None if isinstance(figure, str) else figure.to_dict(sure, fewest=fewest, **of)
            found.setdefault(kind, {}).setdefault(name, []).append(stored)
        for kind, of_columns in found.items():
            each = {name: all_ if len(all_) > 1 else all_[0] for name, all_ in of_columns.items()}
            whole[kind] = each.get("", each)
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
            if self.figures.total:
                yield "total", name, part.total() if len(part) else _NOTHING
            for pair in self.figures.pairs:
                yield pair.kind, name, _compared(part, pair)


_NOTHING = "No group was published, so there is no total."


def _compared(part: Any, pair: Pair) -> Any:
    places, names = _by_label(part.groups), list(part)
    found = [_place(word, places) for word in (pair.a, pair.b)]
    for word, place in zip((pair.a, pair.b), found, strict=True):
        if place is None:
            return f"{label([word])} is not in the answer, so there is no {pair.kind}."
    if found[0] == found[1]:
        return f"{pair.a} and {pair.b} are the same group, so there is no {pair.kind}."
    return getattr(part, pair.kind)(*(names[place] for place in found if place is not None))
