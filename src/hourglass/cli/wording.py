"""Messages of the library in the words of the command line."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Final

__all__ = ["as_options", "not_a_number"]

#: Arguments of the library that are options of the same name on the command line.
_SAME: Final = (
    "algorithm anchor bounds budget by columns confidence delta description engine epsilon error "
    "estimator expression fewest filter format grid groups keys ledger missing outside output "
    "parse plot records request rows samples scale share slots spread statement table where"
)
#: All arguments, with their names on the command line.
_OPTIONS: Final = {name: f"--{name}" for name in _SAME.split()} | {
    "column": "COLUMN", "data": "SOURCE", "mean": "--at-mean", "unit": "--person",
    "multiline": "--multiline",
}  # fmt: skip
_NAME: Final = rf"(?<![\w-])({'|'.join(_OPTIONS)})"
#: Arguments that a message may begin with, without a value: "scale: ...", "keys is empty".
_FIRST: Final = re.compile(
    "(anchor|bounds|column|data|epsilon|expression|grid|keys|ledger|missing|parse|scale|share|table|"
    "unit|where)(?=: | is | has |, character )|multiline(?=: )"
)
#: Quoted values, which stay as they are. The apostrophe in "a column's" opens none.
_QUOTED: Final = re.compile(
    r"""((?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w))""", re.DOTALL
)
#: A number with commas between its thousands.
_THOUSANDS: Final = re.compile(r"-?[1-9][0-9]{0,2}(,[0-9]{3})+([.][0-9]+)?")


def not_a_number(option: str, text: str, *, whole: bool = False) -> str:
    """What is wrong with the text of an option that takes a number, and how to write one."""
    kind, example = ("a whole number", "1000") if whole else ("a number", "1000 or 0.5")
    write = text.replace(",", "") if _THOUSANDS.fullmatch(text) else f"it like {example}"
    return f"{option}: {text!r} is not {kind}; write {write}"


def as_options(message: str) -> str:
    """A message of the library in terms of command-line options: bounds=(0, 9) as --bounds 0 9."""
    # Only a file has bounds that were found.
    message = re.sub("^bounds(?=: these were found)", "--bounds-from", message)
    pair = r"bounds=\(([^(),]+), ([^(),]+)\)"
    message = re.sub(rf"""^column ('[^']*'|"[^"]*"): {pair}""", r"--bounds-of \1 \2 \3", message)
    message = re.sub(r"slots=\((-?\d+), '?([^')]+)'?\)", r"--slots \1x\2", message)
    message = message.replace(
        "declare that with keys=hg.public(...)", "copy them into a file of their own"
    )
    message = re.sub(r"give them as a list, as in (column|by)=(\[[^]]*\])$", _apart, message)
    parts = _QUOTED.split(message)
    for place in range(1, len(parts), 2):  # hg.expression("x > 1") as --expression "x > 1"
        if parts[place - 1].endswith("hg.expression(") and parts[place + 1].startswith(")"):
            parts[place - 1] = parts[place - 1].removesuffix("hg.expression(") + "--expression "
            parts[place + 1] = parts[place + 1][1:]
    if first := _FIRST.match(parts[0]):
        parts[0] = _OPTIONS[first[0]] + parts[0][first.end() :]
    last = len(parts) - 1
    return "".join(
        part if place % 2 else _renamed(part, quoted=place < last)
        for place, part in enumerate(parts)
    )


def _renamed(text: str, *, quoted: bool) -> str:
    """Text without quoted values; ``quoted`` if such a value follows it."""
    text = re.sub(r"(?<![\w-])bounds=\(([^(),]+), ([^(),]+)\)", r"--bounds \1 \2", text)
    text = re.sub(r"(?<![\w-])scale=\[([^]]*)\]", _listed, text)
    text = re.sub(r"(?<![\w-])keys\[(\d+)\]", lambda f: f"--keys: name {int(f[1]) + 1}", text)
    text = re.sub(r"(?<![\w-])(spread|population)=True", r"--\1", text)
    text = re.sub(r"(trusted=True|hg\.\w+) \((--\w+)\)", r"\2", text)
    if quoted:  # keys that are quoted are the name of a file
        text = re.sub(r"(?<![\w-])keys=$", "--keys-from ", text)
        text = re.sub(rf"{_NAME}=$", lambda found: f"{_OPTIONS[found[1]]} ", text)
    text = re.sub(rf"{_NAME}=(?=[\s,;:.)]|$)", lambda found: _OPTIONS[found[1]], text)
    return re.sub(rf"{_NAME}=", lambda found: f"{_OPTIONS[found[1]]} ", text)


def _apart(found: re.Match[str]) -> str:
    """column=['a', 'b'] as a b, by=['a', 'b'] as --by a --by b."""
    names = [shlex.quote(name) for name in ast.literal_eval(found[2])]
    if found[1] == "column":
        return f"separate them by spaces: {' '.join(names)}"
    return f"repeat --by: --by {' --by '.join(names)}"


def _listed(found: re.Match[str]) -> str:
    """scale=[0, 10, 100] as --scale 0,10,100."""
    return f"--scale {found[1].replace(' ', '')}"
