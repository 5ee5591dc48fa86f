"""The grey-box audit of lines that some readers split into several records, or join.

An unclosed quote swallows the lines after it, a JSON array becomes as many rows as it has elements,
a number that the first file's type cannot hold makes the query fail: in each case one record
affects others. Here such a line is added to files, and the totals may change by one record.
"""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ..ask.run import mean
from ..noise.bits import Bits
from .finding import Finding
from .greybox import Path as AuditPath
from .greybox import greybox_finding

__all__ = [
    "FIELDS", "MEMBERS", "MISREAD", "audit_lines", "csv_of", "json_of", "lines_finding",
    "misread_finding",
]  # fmt: skip

#: Creates a table with a column x from lines without their line ends.
Convert = Callable[[Sequence[bytes]], Any]
Lines = tuple[bytes, Sequence[bytes]]

_FIELDS: Final = [
    b'5,"', b'5,"a', b'"5', b'5,a"b', b'5,"a"b",c', b'5,"a""', b"5", b"5" + b",a" * 30_000,
    b"\xff\xfe", b"5,\xff", b"\0", b"5\r,a", b"5,a\r5,a\r5,a", b"\xef\xbb\xbf5,a", b"x,g", b"",
    b'"' * 1001, b"," * 1001, b"5," + b"a" * 100_000, b"1e400,a", b"nan,a",
]  # fmt: skip
_MEMBERS: Final = [
    b'[{"x": 5}]', b"[" + b",".join([b'{"x": 5}'] * 1000) + b"]", b"[5, 5]", b'"x"', b"5", b"null",
    b'{"x": 5', b"{", b'{"x": 5, "x": 6}', b'{"x": 5} {"x": 5}', b'{"x": 5}{"x": 5}',
    b'{"x": [5, 5]}', b'{"x": {"x": 5}}', b"\xff", b"\0", b"", b'{"x": "' + b"a" * 100_000 + b'"}',
]  # fmt: skip
_NUMBERS: Final = [b"4", b"1099511627776", b"-1", b"9223372036854775807", b"-9223372036854775808"]

#: A well-formed line, and those that are added one at a time.
FIELDS: Final = (b'7,"b"', _FIELDS)
MEMBERS: Final = (b'{"x": 7}', _MEMBERS)
NUMBERS: Final = (b"7", _NUMBERS)


def audit_lines(epsilon: Fraction) -> Iterator[Finding]:
    """Every kind of file with lines, and several files whose types differ."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        yield lines_finding("CSV file", lambda lines: csv_of(lines, place), epsilon)
        yield lines_finding("CSV file, gzip", lambda lines: _gzipped(lines, place), epsilon)
        yield lines_finding("TSV file", lambda lines: _tsv(lines, place), epsilon)
        yield lines_finding("JSON lines", lambda lines: json_of(lines, place), epsilon, MEMBERS)
        if importlib.util.find_spec("pyarrow"):
            yield lines_finding(
                "Parquet files of two types", lambda ns: _two_types(ns, place), epsilon, NUMBERS
            )


def lines_finding(
    name: str,
    convert: Convert,
    epsilon: Fraction,
    lines: Lines = FIELDS,
    *,
    engine: str | None = None,
    places: Sequence[int] = (0, 25, 50),
) -> Finding:
    """Each unusual line at the start, middle and end: the totals change by one record."""

    def run(rows: Sequence[Any], bits: Bits) -> Any:
        ask: dict[str, Any] = {"bounds": (0.0, 10.0), "epsilon": epsilon, "engine": engine}
        return mean(convert(rows), "x", bits=bits, **ask).to_dict()

    usual, added = lines
    base: list[Any] = [usual] * 50
    pairs = [
        (f"{line[:40]!r} at {place}", base, [*base[:place], line, *base[place:]])
        for line in added
        for place in places
    ]
    return greybox_finding(AuditPath(f"{name} with odd lines", run), pairs)


def csv_of(lines: Sequence[bytes], folder: Path) -> Path:
    """A CSV file of these lines, with columns x and g."""
    file = folder / "lines.csv"
    file.write_bytes(b"\n".join([b"x,g", *lines, b""]))
    return file


def _gzipped(lines: Sequence[bytes], folder: Path) -> Path:
    file = folder / "lines.csv.gz"
    file.write_bytes(gzip.compress(b"\n".join([b"x,g", *lines, b""]), 1))
    return file


def _tsv(lines: Sequence[bytes], folder: Path) -> Path:
    file = folder / "lines.tsv"
    file.write_bytes(b"\n".join([b"x,g", *lines, b""]).replace(b",", b"\t"))
    return file


def json_of(lines: Sequence[bytes], folder: Path) -> Path:
    """A file of JSON lines."""
    file = folder / "lines.jsonl"
    file.write_bytes(b"\n".join([*lines, b""]))
    return file


def _two_types(numbers: Sequence[bytes], folder: Path) -> str:
    """A glob of two files: the second one's type is wider than the first one's."""
    import pyarrow
    import pyarrow.parquet

    wide = pyarrow.array([int(number) for number in numbers], pyarrow.int64())
    narrow = pyarrow.array([7], pyarrow.int32())
    for name, column in (("1", narrow), ("2", wide)):
        pyarrow.parquet.write_table(pyarrow.table({"x": column}), folder / f"{name}.parquet")
    return str(folder / "[12].parquet")


# --- files read by the engines' own readers --------------------------------


def misread_finding(name: str, epsilon: Fraction) -> Finding:
    """One of the wrong readers below."""
    convert, lines = MISREAD[name]
    with TemporaryDirectory() as folder:
        return lines_finding(name, lambda rows: convert(rows, Path(folder)), epsilon, lines)


def _quotes_across(lines: Sequence[bytes], folder: Path) -> Any:
    file = csv_of([line for line in lines if b"\xff" not in line], folder)
    read = (
        f"read_csv('{file}', columns={{'x': 'VARCHAR', 'g': 'VARCHAR'}}, header=true, quote='\"', "
        "null_padding=true, strict_mode=false, ignore_errors=true)"
    )
    return _relation(f"SELECT TRY_CAST(x AS DOUBLE) AS x FROM {read}")


def _elements(lines: Sequence[bytes], folder: Path) -> Any:
    flat = [b"{" + part.strip(b"[]{") for line in lines for part in line.split(b",{")]
    return json_of(flat, folder)


def _first_type(numbers: Sequence[bytes], folder: Path) -> Any:
    return _relation(f"SELECT CAST(x AS DOUBLE) AS x FROM '{_two_types(numbers, folder)}'")


def _relation(query: str) -> Any:
    import duckdb

    return duckdb.connect().sql(query)


MISREAD: Final[dict[str, tuple[Callable[[Sequence[bytes], Path], Any], Lines]]] = {
    "quoted fields that extend past their line": (_quotes_across, FIELDS),
    "every element of an array a record": (_elements, MEMBERS),
    "the type of the first file for all": (_first_type, NUMBERS),
}
