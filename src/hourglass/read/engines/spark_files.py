"""Files in Spark: text by the rule of :mod:`..lines`, Parquet by its footers.

Spark's readers of CSV and JSON are not used: they can make several records of one line, and fail
beyond a number of columns or characters. Lines are read as text and split by the functions below,
which are called through the DataFrame API instead of SQL, so that no setting of the session changes
their meaning.
"""

from __future__ import annotations

import json
from functools import reduce
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from ...core.urls import shown_url
from ...errors import DataError, OptionError
from ..blocks import LONGEST, MOST
from ..lines import JSON_MARKS, check_case, text_schema
from ..open import FileSet
from ..source import Schema, check_names, guarded_schema
from ..types import Kind, reconciled
from .spark import Spark, new_reader, session

__all__ = ["of_files"]

_WHAT: Final = "data: Spark cannot read the files"
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_BOM: Final = "\ufeff"
#: The entry of a footer in which Spark declares the types of the columns that it wrote.
_OWN_TYPES: Final = b"org.apache.spark.sql.parquet.row.metadata"
#: The Spark types of plain numbers, by how Parquet stores them.
_STORED: Final = {
    ("BOOLEAN", "NONE"): "boolean",
    ("INT32", "NONE"): "integer",
    ("INT32", "INT_8"): "byte",
    ("INT32", "INT_16"): "short",
    ("INT32", "INT_32"): "integer",
    ("INT64", "NONE"): "long",
    ("INT64", "INT_64"): "long",
    ("FLOAT", "NONE"): "float",
    ("DOUBLE", "NONE"): "double",
}
#: Lines of this many bytes or more, including their ends, are skipped without holding them in
#: memory.
_LONGEST_OPTION: Final = "mapreduce.input.linerecordreader.line.maxlength"


def of_files(files: FileSet, wanted: tuple[str, ...]) -> Spark:
    """Open files in the active session."""
    if files.format == "arrow":
        raise DataError(
            "engine='spark' does not read Arrow files; use duckdb, or store Parquet files"
        )
    if files.multiline:
        raise OptionError(
            "multiline: engine='spark' reads each line as a record; use duckdb, or store Parquet "
            "files"
        )
    reader = new_reader()
    paths = _found(reader, files)
    if files.format == "parquet":
        return _of_parquet(reader, files, paths, wanted)
    if files.format == "json":
        check_case(wanted)
        with guarded_schema(_WHAT):
            lines = _lines(reader, paths, JSON_MARKS.decode())
            frame = _objects(lines, wanted) if wanted else lines
        return Spark(frame, text=Schema((), open=True))
    headers = _remote_headers(reader, files, paths) if files.is_remote else files.headers()
    names = files.names(min(headers))
    schema = text_schema(names, wanted)
    known = [name for name in dict.fromkeys(wanted) if name and name in names]
    with guarded_schema(_WHAT):
        lines = _lines(reader, paths, files.separator + '"', headers)
        frame = _fields(lines, files.separator, names, known) if known else lines
    return Spark(frame, text=schema, files=files, headers=headers)


# --- which files ----------------------------------------------------------------------------


def _found(reader: Any, files: FileSet) -> list[str]:
    """The paths of all files, each once, escaped so that Spark does not treat them as globs."""
    if files.is_remote:
        with guarded_schema(f"data={shown_url(files.paths[0])!r}: Spark cannot find it"):
            listed = reader.format("binaryFile").load(files.paths[0]).inputFiles()
            found = sorted({_decoded(url) for url in listed})
    else:
        found = [f"file://{path}" for path in files.absolute]
    if not found:
        raise DataError(
            f"data={shown_url(files.paths[0])!r}: there is no such file; check the path"
        )
    for path in found:
        name = path.rsplit("/", 1)[-1]
        if name.startswith(("_", ".")) or ":" in name:
            raise DataError(
                f"engine='spark' cannot read a file named {name!r}: the name must not start with "
                "an underscore or a dot, or contain a colon; rename it, or use duckdb"
            )
    return [_literally(path) for path in found]


def _decoded(url: str) -> str:
    """A path as Hadoop writes it, from a URL whose path is percent-encoded."""
    parts = urlsplit(url, allow_fragments=False)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return f"{parts.scheme}://{parts.netloc}{unquote(path)}" if parts.scheme else unquote(path)


def _literally(path: str) -> str:
    """A path as a glob that matches only that path."""
    return "".join(f"\\{c}" if c in "{}[]*?\\" else c for c in path)


# --- text -----------------------------------------------------------------------------------


def _lines(
    reader: Any, paths: list[str], counted: str, headers: frozenset[bytes] = frozenset()
) -> Any:
    """The lines that are records; their number of ``counted`` characters is limited."""
    from pyspark.sql import functions as f

    value, line = f.col("value"), f.col("line")
    whole = reader.option("lineSep", "\n").option(_LONGEST_OPTION, LONGEST + 3)
    text = whole.schema("value STRING").text(paths)
    # The whole line is checked: trimming its end as text could remove the invalid bytes.
    text = text.filter(f.is_valid_utf8(value))
    ended = f.when(value.endswith("\r"), f.left(value, f.length(value) - 1)).otherwise(value)
    lines = text.select(ended.alias("line"))
    kept = lines.filter(f.octet_length(line).between(1, LONGEST))
    bare = f.translate(line, counted, "")
    few = f.length(line) - f.length(bare) <= MOST
    kept = kept.filter((f.octet_length(line) <= MOST) | few)
    for header in headers:
        name = header.decode()
        kept = kept.filter(~line.isin(name, _BOM + name))
    return kept


def _fields(lines: Any, separator: str, names: tuple[str, ...], wanted: list[str]) -> Any:
    """A DataFrame of the wanted fields of each line."""
    from pyspark.sql import functions as f

    line = f.col("line")
    until = f"[^{separator}]*+"
    # Possessive throughout: Java's matcher would recurse, and overflow its stack on a long line.
    inside = '"[^"]*+(?:""[^"]*+)*+'
    pattern = f'{separator}({inside}(?:"{until})?+|{until})'
    quoted = f.regexp_extract_all(f.concat(f.lit(separator), line), f.lit(pattern), f.lit(1))

    def field(place: int) -> Any:
        text = f.get(quoted, f.lit(place))
        start = f.regexp_extract(text, f"^{inside}", 0)
        rest = f.substr(text, f.length(start) + 2)
        unquoted = f.concat(f.replace(f.substr(start, f.lit(2)), f.lit('""'), f.lit('"')), rest)
        part = f.split_part(line, f.lit(separator), f.lit(place + 1))
        found = (
            f.when(~f.contains(line, f.lit('"')), part)
            .when(f.startswith(text, f.lit('"')), unquoted)
            .otherwise(text)
        )
        return f.when(found != "", found)

    return lines.select(*(field(names.index(name)).alias(name) for name in wanted))


def _objects(lines: Any, wanted: tuple[str, ...]) -> Any:
    """A DataFrame of the wanted members of the JSON object in each line."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    broken = "broken" + "_" * max(map(len, wanted))  # not the name of a wanted member
    shape = StructType([StructField(name, StringType()) for name in (*wanted, broken)])
    options = {"columnNameOfCorruptRecord": broken, "allowSingleQuotes": "false"}
    found = f.from_json(f.col("line"), shape, {"mode": "PERMISSIVE", **options})
    parsed = lines.select(found.alias("object"))
    # from_json would accept an incomplete object; a line that is an array is corrupt to it.
    members = f.col("object")
    whole = members.getField(broken).isNull()

    def member(name: str) -> Any:
        text = members.getField(name)
        # A number beyond the range of doubles is returned as one of these, in quotes.
        for end in ("Infinity", "-Infinity"):
            text = f.when(members.getField(name) == f'"{end}"', f.lit(end)).otherwise(text)
        return f.when(whole, text).alias(name)

    return parsed.select(*map(member, wanted))


def _remote_headers(reader: Any, files: FileSet, paths: list[str]) -> frozenset[bytes]:
    """The header lines of files that only Spark can read."""

    def header(path: str) -> bytes:
        lines = reader.option("lineSep", "\n").text(path)
        with guarded_schema(_WHAT):
            rows = lines.take(1)
        line: str = rows[0][0].removeprefix(_BOM).removesuffix("\r") if rows else ""
        return line.encode(errors="replace")

    return files.checked_headers((path, header(path)) for path in paths)


# --- Parquet --------------------------------------------------------------------------------


def _of_parquet(reader: Any, files: FileSet, paths: list[str], wanted: tuple[str, ...]) -> Spark:
    if files.is_remote:
        # A type that differs between files makes the analysis fail, before the charge.
        with guarded_schema(_WHAT):
            frame = reader.option("mergeSchema", "true").parquet(*paths)
            sizes = {f.name: _kind(f.dataType).precision for f in frame.schema.fields}
        short = {name for name, size in sizes.items() if 0 < size <= 18 and _in_vectors()}
        return Spark(frame, converted=sizes.keys() - short)
    groups, converted, unsigned = _alike(files, paths, wanted)
    with guarded_schema(_WHAT):
        frames = [_frame(group, plain) for group, _, plain in groups]
    if len(frames) == 1:
        return Spark(frames[0], converted=converted, unsigned=unsigned, files=files)
    kinds = [{f.name: _kind(f.dataType) for f in frame.schema.fields} for frame in frames]
    first = [name for _, name, _ in groups]
    targets = {name: reconciled(name, first, kinds) for name in wanted}
    if not all(targets.values()):  # with the schema of any file the check below raises the error
        return Spark(frames[0], files=files)
    with guarded_schema(_WHAT):
        return Spark(_union(frames, targets), converted=converted, unsigned=unsigned, files=files)


def _alike(
    files: FileSet, paths: list[str], wanted: tuple[str, ...]
) -> tuple[list[Any], set[str], set[str]]:
    """Files grouped by the declared types of the wanted columns.

    Each group has the name of one of its files, and the types that :func:`_plain` finds. Also
    returns the columns that Spark converts as it reads them (to microseconds, or to decimals of
    more than 18 digits or stored in a variable number of bytes), and the unsigned integers that
    need 64 bits.
    """
    import pyarrow.parquet

    converted: set[str] = set()
    unsigned: set[str] = set()
    others: set[str] = set()
    groups: dict[Any, tuple[list[str], str, dict[str, str] | None]] = {}
    for path, full, name in zip(paths, files.absolute, files.paths, strict=True):
        what = f"{name!r}: is it a whole Parquet file? Spark cannot read the columns"
        with guarded_schema(what), pyarrow.parquet.ParquetFile(full) as file:
            schema, plain = file.schema_arrow, _plain(file, wanted)
            stored = map(file.schema.column, range(len(file.schema)))
            of_bytes = {column.path for column in stored if column.physical_type == "BYTE_ARRAY"}
        check_names(schema.names, wanted, repr(name))
        found = tuple(sorted((f.name, str(f.type)) for f in schema if f.name in wanted))
        known = None if plain is None else tuple(plain.items())
        groups.setdefault((found, known), ([], name, plain))[0].append(path)
        times = (f for f in schema if pyarrow.types.is_timestamp(f.type))
        converted |= {f.name for f in times if f.type.unit != "us"}
        decimals = {f.name: f.type for f in schema if pyarrow.types.is_decimal(f.type)}
        long = {name for name, kind in decimals.items() if kind.precision > 18}
        converted |= long | (of_bytes & decimals.keys()) if _in_vectors() else decimals.keys()
        unsigned |= {f.name for f in schema if f.type == pyarrow.uint64()}
        signed = (f for f in schema if not pyarrow.types.is_unsigned_integer(f.type))
        others |= {f.name for f in signed if not pyarrow.types.is_null(f.type)}
    return list(groups.values()), converted, unsigned - others


def _in_vectors() -> bool:
    """Whether Spark reads in vectors; if not, a decimal with too many digits makes it fail."""
    return bool(session().conf.get("spark.sql.parquet.enableVectorizedReader") == "true")


def _plain(file: Any, wanted: tuple[str, ...]) -> dict[str, str] | None:
    """The Spark types of the wanted columns; None if any is not stored as a plain number.

    Spark would find the same types, for which it starts a job. A file that Spark wrote may declare
    another type for what is stored as a number, such as an interval.
    """
    own = (file.metadata.metadata or {}).get(_OWN_TYPES)
    try:
        declared = {f["name"]: f["type"] for f in json.loads(own)["fields"]} if own else None
    except (ValueError, LookupError, TypeError):  # not what Spark writes
        return None
    found = {}
    for column in map(file.schema.column, range(len(file.schema))):
        whole = column.name == column.path and column.max_repetition_level == 0
        plain = whole and column.logical_type.type in ("NONE", "INT")
        stored = _STORED.get((column.physical_type, column.converted_type)) if plain else None
        if stored and (declared is None or declared.get(column.name) == stored):
            found[column.name] = stored
    if not wanted or any(name not in found for name in wanted):
        return None
    return {name: found[name] for name in wanted}


def _frame(paths: list[str], plain: dict[str, str] | None) -> Any:
    """A DataFrame of files that declare the same types."""
    reader = new_reader()  # one that was given a schema would keep it
    if plain is None:
        return reader.parquet(*paths)
    from pyspark.sql.types import StructType

    declared = StructType()
    for name, text in plain.items():
        declared = declared.add(name, text)
    return reader.schema(declared).parquet(*paths)


def _union(frames: list[Any], targets: dict[str, Kind | None]) -> Any:
    from pyspark.sql import functions as f

    def column(name: str, kind: Kind | None) -> Any:
        assert kind is not None
        found = f.col(f"`{name.replace('`', '``')}`")
        return (found if kind.family == "other" else found.cast(_type(kind))).alias(name)

    selected = [frame.select(*(column(n, k) for n, k in targets.items())) for frame in frames]
    return reduce(lambda one, two: one.union(two), selected)


def _kind(dtype: Any) -> Kind:
    """A Spark type."""
    name, declared = dtype.typeName(), dtype.simpleString()
    if name in _BITS:
        most = 2 ** (_BITS[name] - 1)
        return Kind("integer", declared, -most, most - 1)
    if name in ("float", "double"):
        return Kind("real", declared, bits=32 if name == "float" else 64)
    if name == "decimal":
        return Kind("decimal", declared, precision=dtype.precision, scale=dtype.scale)
    families = {"string": "text", "boolean": "boolean", "date": "date", "void": "null"}
    return Kind(families.get(name, "other"), declared)


def _type(kind: Kind) -> str:
    """The Spark type that holds the values of a kind."""
    if kind.declared:
        return kind.declared
    if kind.family == "decimal":
        return f"decimal({kind.precision},{kind.scale})"
    return "double" if kind.family == "real" else "bigint"
