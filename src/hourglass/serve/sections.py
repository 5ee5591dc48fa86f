"""Read tables of a TOML file value by value, noting every problem with its line."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from ..core.exact import exact_number
from .lines import Path, line_of

__all__ = ["NAME", "Problem", "Problems", "Section"]

#: Names of datasets, budgets and people, which are used in URLs and request keys.
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Problem:
    """Something wrong in a catalogue: where, and what to do about it."""

    line: int | None
    where: str
    what: str

    def __str__(self) -> str:
        place = f"{self.line}: " if self.line is not None else ""
        return f"{place}{self.where}: {self.what}" if self.where else f"{place}{self.what}"


@dataclass
class Problems:
    """All that is found wrong, in the order of the lines."""

    lines: dict[Path, int]
    found: list[Problem] = field(default_factory=list)

    def add(self, path: Path, what: str) -> None:
        """Note a problem with the value at the path."""
        self.found.append(Problem(line_of(self.lines, path), ".".join(path), what))

    def sorted(self) -> list[Problem]:
        """Each once, by line."""
        return sorted(dict.fromkeys(self.found), key=lambda each: each.line or 0)


class Section:
    """One table, whose values are read by name and kind; unknown values are noted as problems."""

    def __init__(self, values: dict[str, Any], path: Path, problems: Problems) -> None:
        """The table at a path."""
        self.path = path
        self.problems = problems
        self._values = values
        self._asked: set[str] = set()

    @property
    def names(self) -> list[str]:
        """The names in this table."""
        return list(self._values)

    def wrong(self, name: str, what: str) -> None:
        """Note a problem with one of the values, or with the table ("")."""
        self.problems.add((*self.path, name) if name else self.path, what)

    def get(self, name: str, *, needed: bool = False) -> Any:
        """A value of any kind, or None."""
        self._asked.add(name)
        found = self._values.get(name)
        if found is None and needed:
            self.wrong("", f"{name} is missing; add {name} = ...")
        return found

    def text(self, name: str, default: str = "", *, needed: bool = False) -> str:
        """A text."""
        found = self.get(name, needed=needed)
        if found is None:
            return default
        if not isinstance(found, str) or (not found and needed):
            self.wrong(name, f'takes a text, such as {name} = "..."')
            return default
        return found

    def secret(self, name: str, *, needed: bool = False) -> str:
        """A text in which ${NAME} is replaced by an environment variable."""

        def variable(match: re.Match[str]) -> str:
            if match[1] not in os.environ:
                self.wrong(name, f"the environment variable {match[1]} is not set")
            return os.environ.get(match[1], "")

        return _VARIABLE.sub(variable, self.text(name, needed=needed))

    def number(self, name: str, *, needed: bool = False) -> Fraction | None:
        """An exact number: 0.1 and "1/10" are one tenth."""
        found = self.get(name, needed=needed)
        if found is None:
            return None
        exact = None if isinstance(found, bool) else exact_number(found)
        if exact is None:
            self.wrong(name, f'takes a number, such as {name} = 0.5 or {name} = "1/3"')
        return exact

    def whole(self, name: str, default: int) -> int:
        """A whole number of 1 or more."""
        found = self.get(name)
        if found is None:
            return default
        if isinstance(found, bool) or not isinstance(found, int) or found < 1:
            self.wrong(name, "takes a whole number of 1 or more")
            return default
        return found

    def truth(self, name: str) -> bool:
        """True or false; false by default."""
        found = self.get(name)
        if found is not None and not isinstance(found, bool):
            self.wrong(name, "is true or false")
        return found is True

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of distinct texts, or None."""
        found = self.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or any(not isinstance(each, str) for each in found):
            self.wrong(name, f'takes a list of texts, such as {name} = ["a", "b"]')
            return ()
        if len(set(found)) < len(found):
            self.wrong(name, "names something twice")
        return tuple(found)

    def one_of(self, name: str, value: str, offered: Iterable[str], what: str) -> None:
        """Note a value that is not one of those allowed."""
        known = list(offered)
        if value not in known:
            self.wrong(name, f"{value!r} is not {what}{_nearest(value, known)}")

    def section(self, name: str, *, needed: bool = False) -> Section:
        """A table inside this one, or an empty one."""
        found = self.get(name, needed=needed)
        if found is not None and not isinstance(found, dict):
            self.wrong(name, f"is a table: write it as [{'.'.join((*self.path, name))}]")
            found = None
        return Section(found or {}, (*self.path, name), self.problems)

    def each(self, read: Callable[[str, Section], Any], *, names: bool = True) -> dict[str, Any]:
        """The result of ``read`` for every table in this one, by name."""
        found = {}
        for name in self._values:
            if names and NAME.fullmatch(name) is None:
                self.wrong(
                    name,
                    "a name has 1 to 40 letters, digits, dots, dashes, underscores, and begins "
                    "with a letter or a digit",
                )
                continue
            inner = self.section(name)
            found[name] = read(name, inner)
            inner.done()
        return found

    def done(self) -> None:
        """Note the values that were not read."""
        for name in self._values:
            if name not in self._asked:
                self.wrong(name, f"is not known here{_nearest(name, self._asked)}")


def _nearest(value: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(value, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
