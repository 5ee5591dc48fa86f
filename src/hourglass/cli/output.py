"""Write answers in the formats of the command line, and check beforehand that this is possible.

A format can be named, or follows from the ending of a file name.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import time
from codecs import register_error
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from glob import glob
from itertools import pairwise
from pathlib import Path
from shutil import get_terminal_size
from types import MappingProxyType
from typing import Any, Final, NoReturn, TextIO
from urllib.parse import unquote

from .. import __version__
from ..core.urls import shown_url
from ..errors import OptionError
from ..release.answer import figure_names
from ..release.rendering import WIDTH, yaml_text
from .files import check_writable, write_file
from .wording import as_options

__all__ = [
    "FORMATS", "as_options", "check_statement", "check_targets", "discard", "encoded", "format_of",
    "make_printable", "origin_of", "print_notes", "rendered", "say", "statement_text",
    "table_width", "tell_json", "tell_line", "wants_json", "write",
]  # fmt: skip

_PLAIN: Final = {"─": "-", "…": "...", "±": "+-", "×": "x", "–": "-", "≤": "<="}
#: Up to this many groups, intervals are part of the answer by default.
WITH_INTERVALS: Final = 100_000


def check_targets(targets: Mapping[str, Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Raise an error if an answer cannot be written, or would overwrite a file that is read."""
    if sys.stdout is None and targets.get("output") is None:
        raise OptionError("standard output is closed; name a file with --output")
    names = [file for name in inputs if name for file in _files_of(str(name))]
    read = [file for name in names for file in [name, *glob(name, recursive=True)]]
    seen: dict[str, str] = {}
    for option, path in targets.items():
        if path is None:
            continue
        if str(path) == "-":  # which other programs take for standard output
            instead = "leave out --output" if option == "output" else "name another path"
            raise OptionError(f"{option}='-' is not standard output, but a file's name; {instead}")
        there = [file for file in read if os.path.exists(path) and os.path.exists(file)]
        if any(os.path.samefile(path, file) for file in there):
            raise OptionError(f"{option}={str(path)!r} is read by this command; name another path")
        first = seen.setdefault(os.path.realpath(path), option)
        if first != option:
            raise OptionError(f"--{first} and --{option} name the same file; give each its own")
        check_writable(option, path)


def _files_of(name: str) -> list[str]:
    """The files that a path or the URL of a database may mean."""
    scheme, _, path = name.partition(":///")
    if scheme not in ("sqlite", "duckdb"):
        return [name]
    return [path, unquote(re.split("[?#]", path)[0])]


def make_printable() -> None:
    """Replace characters that the terminal's encoding lacks, so that no answer is lost to it."""
    register_error("hourglass", lambda error: (_plain_text(error), getattr(error, "end", 0)))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="hourglass")


def _plain_text(error: UnicodeError) -> str:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end])


def table_width() -> int:
    """How wide a table may be: as the terminal is, and never narrower than in a file or a pipe."""
    wide = sys.stdout is not None and sys.stdout.isatty()
    return max(WIDTH, get_terminal_size().columns) if wide else WIDTH


def wants_json(words: Sequence[str]) -> bool:
    """Whether the answer is asked for as JSON."""
    return "--format=json" in words or ("--format", "json") in pairwise(words)


def tell_line(error: BaseException, message: str, code: int) -> NoReturn:
    """Print an error as a line on stderr, followed by its notes."""
    say(message)
    print_notes(error)
    sys.exit(code)


def tell_json(error: BaseException, message: str, code: int) -> NoReturn:
    """Print an error as JSON, also on stderr: stdout is for answers only."""
    notes = _notes(error)
    told = {"kind": type(error).__name__, "message": message, "notes": notes, "exit_code": code}
    _print_error(json.dumps({"error": told}, ensure_ascii=False))
    sys.exit(code)


def print_notes(error: BaseException) -> None:
    """Print the notes of an error: that a charge stands, and under which request key."""
    for note in _notes(error):
        say(note)


def _notes(error: BaseException) -> list[str]:
    return [as_options(note) for note in getattr(error, "__notes__", ())]


def say(text: str) -> None:
    """Print a line of hourglass on stderr."""
    _print_error(f"hourglass: {text}")


def _print_error(text: str) -> None:
    if sys.stderr is None:  # closed; print would turn to standard output, which is for answers
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # such as a full disk, which must not change the exit code
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Discard what is left in the buffer, which Python would try to write again at exit."""
    with suppress(OSError):  # a stream in memory has no file descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def origin_of(source: str, table: str | None) -> dict[str, str]:
    """Where a stored answer comes from: the source, the version of hourglass, the time.

    SOURCE_DATE_EPOCH, if set, replaces the current time.
    """
    told = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = int(told) if re.fullmatch("[0-9]{1,11}", told) else time.time()
    return {
        "source": shown_url(source) + (f" {table}" if table else ""),
        "hourglass": __version__,
        "written": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
    }


def write(
    answer: Any,
    format_: str,
    output: Path | None,
    confidence: float | None,
    fewest: int = 1,
    origin: Mapping[str, str] = MappingProxyType({}),
    population: bool = False,
) -> None:
    """Write the answer to a file, or to standard output; formats for programs are always UTF-8."""
    width = table_width() if output is None else WIDTH
    content = rendered(answer, format_, confidence, fewest, origin, population, width)
    if output is not None:
        write_file(output, content)
    elif format_ == "table" or not hasattr(sys.stdout, "buffer"):
        print(content.decode("utf-8"), end="", flush=True)
    else:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def rendered(
    answer: Any,
    format_: str,
    confidence: float | None,
    fewest: int = 1,
    origin: Mapping[str, str] = MappingProxyType({}),
    population: bool = False,
    width: int = WIDTH,
) -> bytes:
    """The answer as bytes in the given format; ``population`` needs an answer with means."""
    sure = 0.95 if confidence is None else confidence
    how: dict[str, Any] = {"fewest": fewest, **({"population": True} if population else {})}
    if format_ == "table":
        return encoded(f"{answer.text(sure, every=True, width=width, **how)}\n")
    few = len(answer.groups) <= WITH_INTERVALS
    asked = sure if few or population or confidence is not None else None
    if format_ in ("json", "yaml"):
        plain = answer.to_dict(asked, **how) | ({"origin": {**origin}} if origin else {})
        text = yaml_text(plain) if format_ == "yaml" else _json(plain)
        return encoded(f"{text}\n")
    columns = answer.columns(asked, **how)
    columns |= answer.terms(columns, asked) | _repeated(origin, columns)
    return _csv(columns) if format_ == "csv" else _parquet(columns)


def _json(plain: dict[str, Any]) -> str:
    return json.dumps(plain, indent=2, ensure_ascii=False)


def _repeated(origin: Mapping[str, str], columns: dict[str, Any]) -> dict[str, Any]:
    rows = len(next(iter(columns.values())))
    names = figure_names(list(columns), list(origin))
    return {names[name]: [text] * rows for name, text in origin.items()}


def encoded(text: str) -> bytes:
    """Encode as UTF-8; lone surrogates, which UTF-8 cannot encode, are escaped as in JSON."""
    return text.encode("utf-8", "backslashreplace")


def _csv(columns: dict[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = [c.tolist() if hasattr(c, "tolist") else c for c in columns.values()]
    writer.writerows(zip(*lists, strict=True))
    return encoded(text.getvalue())


def _parquet(columns: dict[str, Any]) -> bytes:
    """A Parquet file written by DuckDB, from rows as JSON with explicit types."""
    import tempfile

    import duckdb

    lists = {n: c.tolist() if hasattr(c, "tolist") else list(c) for n, c in columns.items()}
    kinds = {name: _kind(values) for name, values in lists.items()}
    with tempfile.TemporaryDirectory() as folder:
        rows, target = Path(folder) / "rows.json", Path(folder) / "answer.parquet"
        read, wrote = (str(path).replace("'", "''") for path in (rows, target))
        with rows.open("w", encoding="utf-8") as file:
            for row in zip(*lists.values(), strict=True):
                file.write(json.dumps([_plain(v) for v in row], ensure_ascii=False) + "\n")
        picks = ", ".join(
            f'CAST(json ->> {i} AS {kind}) AS "{name.replace(chr(34), chr(34) * 2)}"'
            for i, (name, kind) in enumerate(kinds.items())
        )
        duckdb.connect().execute(
            f"COPY (SELECT {picks} FROM read_json('{read}', format='newline_delimited', "
            f"records=false, columns={{'json': 'JSON'}})) TO '{wrote}' (FORMAT parquet)"
        )
        return target.read_bytes()


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return encoded(value).decode()
    return value.isoformat() if isinstance(value, date) else value


def _kind(values: list[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        whole = [value for value in values if value is not None]
        return _integers(min(whole), max(whole))
    names = {float: "DOUBLE", bool: "BOOLEAN", date: "DATE"}
    return names.get(kinds.pop(), "VARCHAR") if len(kinds) == 1 else "VARCHAR"


def _integers(low: int, high: int) -> str:
    """The narrowest type that holds all the integers; Parquet has none beyond 38 digits."""
    if low >= -(2**63) and high < 2**63:
        return "BIGINT"
    if low >= 0 and high < 2**64:
        return "UBIGINT"
    return "DECIMAL(38, 0)" if max(-low, high) < 10**38 else "VARCHAR"


# --- formats --------------------------------------------------------------------------------------

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
