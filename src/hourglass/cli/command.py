"""What all commands share: parsing of options, and the layout of the help.

Typer supports options with several values and options that may be repeated, but not both at once.
So the values of such an option are joined into one before Typer sees them; :func:`.parts.values_of`
splits them again.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from itertools import takewhile
from pathlib import Path
from shlex import quote
from types import MappingProxyType
from typing import Any, Final, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.exact import exact_epsilon
from ..errors import BoundsError, OptionError
from ..release.rendering import listed
from .examples import EXAMPLES
from .wording import not_a_number

__all__ = ["Command", "Group", "spread_out"]

#: The options that take several values and may be repeated, and how many values each takes.
_VALUES: Final = {"--bounds-of": 3, "--missing-of": 2, "--difference": 2, "--ratio": 2}
_SAMPLES: Final = {
    "--bounds-of": "delay -60 300", "--missing-of": "delay 0", "--difference": "A B",
    "--ratio": "A B",
}  # fmt: skip

#: The panels in the help of commands that ask about data, in order, and the options in each.
_PANELS: Final = {
    "Question": "epsilon bounds bounds_of bounds_from outside spread where expression missing "
    "missing_of parse algorithm estimator grid scale scale_from share",
    "Source": "table trusted multiline engine master explain",
    "Groups": "by keys keys_from delta total difference ratio fewest",
    "Persons": "person rows groups",
    "Budget": "budget ledger request",
    "Output": "format_ output plot statement confidence population",
}
_PANEL_OF: Final = {name: panel for panel, names in _PANELS.items() for name in names.split()}
#: What stands for the value in the help, where the type says little.
_METAVARS: Final = {
    "source": "SOURCE", "column": "COLUMN", "names": "NAME", "epsilon": "NUMBER", "delta": "NUMBER",
    "at_delta": "NUMBER", "share": "SHARE", "missing": "VALUE", "person": "COLUMN",
    "table": "TABLE", "budget": "NAME", "ledger": "FILE_OR_URL", "request": "KEY",
    "catalogue": "CATALOGUE", "what": "WHAT",
}  # fmt: skip
#: The error for a column too many, for commands that take one or none.
_TOO_MANY: Final = {
    "sum": "{!r}: sum takes one column; hourglass mean with several columns prints the sum of each "
    "from one epsilon, or ask for each column separately",
    "bounds": "{!r}: bounds takes one column at a time; ask for each separately",
    "count": "{!r}: count takes no column, since every row counts; choose rows with --where, or "
    "count groups with --by",
}
#: Options whose value is SQL, and what one looks like in a shell.
_SQL: Final = {
    "--where": """\"city = 'Rome'\"""",
    "--expression": '"dep_delay > 15"',
    "--table": '"SELECT * FROM flights"',
}
#: What follows the first word of a condition.
_OPERATOR: Final = re.compile("[=<>!]+|AND|OR|IN|IS|NOT|LIKE|BETWEEN", re.IGNORECASE)
#: What to do instead of giving an option twice, where it is not obvious.
_ONCE: Final = {
    "--where": "join the conditions with AND, in one --where",
    "--keys": "give all names in one, with commas between them",
    "--expression": "this command takes one",
    "--bounds": "for each of several columns, use --bounds-of",
}


class Command(TyperCommand):
    """A command of hourglass."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", self.help or "")
        self._panels = _PANEL_OF if any(each.name == "source" for each in self.params) else {}
        self.params.sort(key=self._panel_order)
        for each in self.params:
            _present(each, self._panels)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as Typer does, with the values of a repeatable option joined into one."""
        words = _joined(args)
        self._check_columns(words)
        try:
            self._check_repeated(ctx, words)
            return super().parse_args(ctx, [*words])  # which uses up the list
        except Exception as error:
            if words:  # else the usage is shown
                _check_missing(error)
            told = self._elsewhere(ctx, getattr(error, "option_name", None))
            told = told or self._unusable(ctx, words, error)
            if not told:
                raise
        raise OptionError(told)

    def _unusable(self, ctx: Any, words: Sequence[str], error: Exception) -> str:
        """The message for a value that is no number or none of the choices; otherwise empty."""
        option: Any = getattr(error, "param", None)
        message = getattr(error, "message", None) or ""
        kind = re.search("integer|number|float", message)
        choices = re.search("is not one of (.+)[.]", message)
        if not (kind or choices) or option is None:
            return ""
        text = self.make_parser(ctx).parse_args(args=[*words])[0].get(option.name)
        name = max(option.opts, key=len)
        if not isinstance(text, str) or not name.startswith("--"):
            return ""
        if choices:
            return f"{name} {text!r} is not one of " + choices[1].replace("'", "")
        return not_a_number(name, text, whole=kind is not None and kind[0] == "integer")

    def _elsewhere(self, ctx: Any, option: str | None) -> str:
        """The message for an option that only other commands have; empty if it is not one."""
        others = getattr(ctx.parent and ctx.parent.command, "commands", {})
        having = [name for name, each in others.items() if option in _options_of(each)]
        if not having or option in _options_of(self):
            return ""
        return (
            f"{option} is an option of hourglass {listed(having)}, not of {self.name}; leave it out"
        )

    def _check_repeated(self, ctx: Any, words: Sequence[str]) -> None:
        """Refuse an option that is given twice but has one value: Typer would keep the last."""
        if ctx.resilient_parsing:
            return
        _, _, given = self.make_parser(ctx).parse_args(args=[*words])
        single = [each for each in given if not getattr(each, "is_flag", True)]
        for each in single:
            if not each.multiple and single.count(each) > 1:
                name = max(each.opts, key=len)
                remedy = _ONCE.get(name, "give it once")
                raise OptionError(f"{name} is given twice; {remedy}")

    def _check_columns(self, words: Sequence[str]) -> None:
        """Refuse a column after an option: it may be meant as a second value of the option.

        Only a command that takes any number of columns would accept it; other commands refuse what
        is more than they take. What follows ``--`` is certain.
        """
        arguments = [each for each in self.params if not hasattr(each, "is_flag")]
        if not any(each.name == "source" for each in arguments):
            return
        many = any(each.nargs == -1 for each in arguments)
        options: dict[str, Any] = {name: each for each in self.params for name in each.opts}
        left, plain, before, source = [*words], 0, list[str](), ""
        while left and (word := left.pop(0)) != "--":
            if not word.startswith("-"):
                plain += 1
                source = source or word
                if word != source and _is_another_file(source, word):
                    raise OptionError(_several_files(source, words))
                if not many and plain > len(arguments):
                    too_many = _unquoted(word, before) or _TOO_MANY[self.name or ""].format(word)
                    raise OptionError(f"{too_many}{_also_by(word, before)}")
                if many and plain > 1 and before:
                    raise OptionError(_misplaced(word, before))
                continue
            name, given, value = word.partition("=")
            option = options.get(name)
            if option is None:  # --help, or one that does not exist
                return
            values = 0 if option.is_flag or given else option.nargs
            if plain:
                before = [name, value] if given else [name, *left[:values]]
            left = left[values:]

    def get_help_option(self, ctx: Any) -> Any:
        """--help, which takes no value."""
        option: Any = super().get_help_option(ctx)
        if option is not None:
            option.metavar, option.rich_help_panel = "", "Help" if self._panels else None
        return option

    def _panel_order(self, each: Any) -> tuple[bool, int]:
        """Arguments first, then the options by panel, each in the order of the signature."""
        return hasattr(each, "is_flag"), [*_PANELS, None].index(self._panels.get(each.name))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, then examples."""
        super().format_help(ctx, formatter)
        lines = EXAMPLES.get(self.name or "", ())
        if lines:
            typer.echo(" Examples:\n" + "".join(f"   {line}\n" for line in lines))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of Typer, including those that it adds itself."""
        found = list(super().get_params(ctx))
        for each in found:
            _present(each)
        return found


def _check_missing(error: Exception) -> None:
    """Raise the library's error for a required option that is missing, with what to give."""
    names = getattr(getattr(error, "param", None), "opts", [])
    if type(error).__name__ != "MissingParameter":
        return
    if "--epsilon" in names:
        exact_epsilon(None)
    if "--bounds" in names:
        raise BoundsError(
            "--bounds is missing; give the public range of the values, as in --bounds 0 100"
        )


def _options_of(command: Any) -> list[str]:
    return [name for each in command.params for name in each.opts if name.startswith("--")]


def _present(each: Any, panels: Mapping[str, str] = MappingProxyType({})) -> None:
    if each.metavar is None:
        each.metavar = "" if getattr(each, "is_flag", False) else _METAVARS.get(each.name)
    if not hasattr(each, "is_flag"):  # an argument, whose name says what it is
        each.display_type_rich = lambda ctx: None
        return
    each.rich_help_panel = each.rich_help_panel or panels.get(each.name)


def _unquoted(word: str, before: Sequence[str]) -> str:
    """What is wrong if the shell took a condition or a SELECT apart, of which this is a word."""
    if len(before) != 2 or before[0] not in _SQL:
        return ""
    if not _OPERATOR.fullmatch(word) and before[1].upper() != "SELECT":
        return ""
    return (
        f"{before[0]} is followed by several words, of which it takes only {before[1]!r}; put the "
        f"text in quotation marks, as in {before[0]} {_SQL[before[0]]}"
    )


def _is_another_file(source: str, word: str) -> bool:
    """Whether the word, where a column is expected, names a file of the source's kind."""
    ending = Path(source).suffix
    return ending != "" and Path(word).suffix == ending and os.path.isfile(word)


def _several_files(source: str, words: Sequence[str]) -> str:
    """What is wrong with further files: the shell has probably replaced a glob by its files."""
    others = [word for word in words if word != source and _is_another_file(source, word)]
    paths = [source, *others]
    start = _beginning(paths)
    ends = [path[len(start) :] for path in paths]
    glob = f"visits-*{Path(source).suffix}"
    if not any(os.sep in end for end in ends):  # all in one folder
        glob = f"{start}*{_beginning([end[::-1] for end in ends])[::-1]}"
    return (
        f"{others[0]!r} is a second file, and a command takes one; for several give a glob in "
        f"quotation marks, which keep the shell from replacing it: {quote(glob)}"
    )


def _beginning(texts: Sequence[str]) -> str:
    """What all of the texts begin with."""
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)


def _misplaced(word: str, before: Sequence[str]) -> str:
    if told := _unquoted(word, before):
        return told
    remedy = "name it next to the source, before the options"
    if also := _also_by(word, before):
        return f"{word!r} is taken as a column to average{also}; else {remedy}"
    return f"{word!r} is taken as a column to average; {remedy}"


def _also_by(word: str, before: Sequence[str]) -> str:
    """The remedy if the word is meant as a second value of --by or --keys."""
    match before:
        case ["--by", *_, first]:
            return f"; to group by it as well, write --by {first} --by {word}"
        case ["--keys", *_, first]:
            return f"; for a group of that name as well, write --keys {quote(f'{first},{word}')}"
    return ""


def _joined(args: Sequence[str]) -> list[str]:
    left, found = list(args), list[str]()
    while left:
        word = left.pop(0)
        if word == "--":
            return [*found, word, *left]
        if word == "--bounds" or word.startswith("--bounds="):
            found += _pair(word, left)
            continue
        name, given, value = word.partition("=")
        count = _VALUES.get(name)
        if count is None:
            found.append(word)
            continue
        found.append(name)
        left = [value, *left] if given else left
        values, left = left[:count], left[count:]
        if len(values) < count or any(value.startswith("--") for value in values):
            raise OptionError(f"{name} takes {count} values, as in {name} {_SAMPLES[name]}")
        found.append(json.dumps(values))
    return found


#: How a number starts: the second bound, after one with commas between its thousands.
_NUMBER: Final = re.compile(r"-?[0-9]")


def _pair(word: str, left: list[str]) -> list[str]:
    """--bounds and its two values, which may also be written as one: -60,300."""
    name, _, rest = word.partition("=")
    values = [rest] if rest else left[:1]
    if rest == "":
        del left[:1]
    if values and "," in values[0] and not (left and _NUMBER.match(left[0])):
        values = values[0].split(",")
    elif left and not left[0].startswith("--"):
        values = [*values, left.pop(0)]
    if len(values) != 2 or any(value.startswith("--") for value in values):
        raise OptionError("--bounds takes two numbers, as in --bounds -60 300")
    return [name, *values]


def spread_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command in the form that Typer needs, with dataclass parameters expanded into options.

    Each field of such a dataclass becomes an option; the command gets the dataclass.
    """
    types = get_type_hints(command, include_extras=True)
    parts: dict[str, Any] = {}
    options: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = types[name]
        if is_dataclass(kind):
            parts[name] = kind
            hints = get_type_hints(kind, include_extras=True)
            options |= {field.name: (hints[field.name], field.default) for field in fields(kind)}
        else:
            options[name] = kind, parameter.default

    @wraps(command)
    def run(**given: Any) -> None:
        found = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in parts.items()
        }
        command(**given, **found)

    run.__annotations__ = {name: kind for name, (kind, _) in options.items()}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=kind,
                default=inspect.Parameter.empty if default is MISSING else default,
            )
            for name, (kind, default) in options.items()
        ]
    )
    return run
