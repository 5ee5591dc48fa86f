"""The formats of answers and statements, and the endings of file names that stand for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import OptionError

__all__ = ["FORMATS", "check_statement", "format_of", "statement_text"]

FORMATS: Final = ("table", "json", "csv", "parquet", "yaml")
#: The formats that the ending of a file's name promises.
_ENDINGS: Final = {
    ".json": "json", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".yaml": "yaml",
    ".yml": "yaml",
}  # fmt: skip
#: Endings that promise text of any kind: a table, unless --format says otherwise.
_TEXT: Final = ("", ".txt")
#: The endings of a statement's file; without one it is YAML.
_STATEMENTS: Final = (".yaml", ".yml", ".json", ".txt")


def format_of(given: str | None, output: Path | None, offered: Sequence[str] = FORMATS) -> str:
    """The format of the answer: as given, else by the ending of the output's name, else a table."""
    if given is not None and given not in offered:
        raise OptionError(f"format={given!r} is not one of {', '.join(offered)}")
    ending = "" if output is None else output.suffix.lower()
    promised = _ENDINGS.get(ending)
    if promised is None:
        if given is None and ending not in _TEXT:
            known = [end for end, form in _ENDINGS.items() if form in offered]
            raise OptionError(
                f"output={str(output)!r} ends in {ending}, which is not a known format; use the "
                f"extension {', '.join(known)} or .txt (a table), or name the format with --format"
            )
        return given or offered[0]
    if promised not in offered:
        raise OptionError(
            f"output={str(output)!r} ends in {ending}, but this command writes "
            f"{' or '.join(offered)}; use another extension"
        )
    if given not in (None, promised):
        raise OptionError(
            f"format={given!r} contradicts output={str(output)!r}, which ends in {ending}; leave "
            "out --format, or use another extension"
        )
    return promised


def check_statement(path: Path | None) -> None:
    """Raise an error unless the ending of a statement's file stands for a format."""
    ending = "" if path is None else path.suffix.lower()
    if ending and ending not in _STATEMENTS:
        raise OptionError(
            f"statement={str(path)!r} ends in {ending}, which is not a format of "
            f"statements; use the extension {', '.join(_STATEMENTS[:-1])} or "
            f"{_STATEMENTS[-1]} (only the sentences)"
        )


def statement_text(statement: Any, path: Path) -> str:
    """A statement in the format that the file's ending stands for."""
    ending = path.suffix.lower()
    if ending == ".json":
        found = {"statement": statement.words.splitlines(), **statement.to_dict()}
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    return f"{statement.words}\n" if ending == ".txt" else str(statement.yaml)
