"""Files in DuckDB: text by the rule of :mod:`..lines`, Parquet and Arrow by their footers.

DuckDB's own CSV reader is not used: its quoted fields can extend past a line, and its parallel scan
can lose lines at the end of a buffer. JSON lines are split in the same way as CSV.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from ...errors import SourceError
from ..arrow_stream import TextStream
from ..blocks import ahead, blocks
from ..frames import frame_of
from ..lines import CHANGED, Views, check_case, records, text_schema
from ..open import FileSet
from ..source import Schema, check_names, guarded_schema
from ..sql.cells import identifier, literal
from ..types import Kind, reconciled
from .duckdb_scans import TABLE, OwnDatabase, Table, as_glob, of_parquet, scans_of, top_level

__all__ = ["of_files"]


_PLAIN: Final = re.compile(r"[\w -]+")
_UNSIGNED: Final = {"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64, "uhugeint": 128}
_SIGNED: Final = {"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}


def of_files(files: FileSet, wanted: tuple[str, ...]) -> Table:
    """A scan of files."""
    if files.format == "parquet":
        return _of_parquet(files, wanted)
    if files.format == "arrow":
        return _of_arrow_files(files, wanted)
    if files.format == "json":
        return _of_json(files, wanted)
    headers = files.headers()
    names = files.names(min(headers))
    schema = text_schema(names, wanted)
    known = [name for name in dict.fromkeys(wanted) if name and name in names]
    picks = [names.index(name) for name in known] or [0]
    stream = TextStream(len(picks), partial(_fields, files, picks, headers))
    listed = ", ".join(f"c{i} AS {identifier(name)}" for i, name in enumerate(known)) or "c0"
    return Table(f"(SELECT {listed} FROM {TABLE})", stream=stream, text=schema)


def _fields(files: FileSet, picks: list[int], headers: frozenset[bytes]) -> Iterator[Views]:
    multiline = files.multiline
    fields: partial[Views] = partial(
        records,
        picks=picks,
        separator=files.separator.encode(),
        headers=headers,
        multiline=multiline,
    )
    parts = (block for path in files.paths for block in blocks(path, multiline=multiline))
    yield from (found for found in ahead(fields, parts) if found.rows)
    if not files.has_headers(headers):  # other columns may have been read in their place
        raise SourceError(CHANGED)


def _of_json(files: FileSet, wanted: tuple[str, ...]) -> Table:
    check_case(wanted)
    stream, declared = TextStream(1, partial(_lines, files)), Schema((), open=True)
    if not wanted:  # only lines are counted
        return Table(TABLE, stream=stream, text=declared)
    # A line that is not an object, or not JSON at all, has none of the columns.
    paths = ", ".join(literal(_member(name)) for name in wanted)
    members = f"json_extract_string(c0, [{paths}])"
    listed = ", ".join(
        f"list_extract(line, {place}) AS {identifier(name)}" for place, name in enumerate(wanted, 1)
    )
    scan = f"(SELECT {listed} FROM (SELECT TRY({members}) AS line FROM {TABLE}) AS lines)"
    return Table(scan, stream=stream, text=declared)


def _member(name: str) -> str:
    """The path of a member of an object: a pointer if the name has characters special in a path.

    A pointer could also name an element of an array, if it were a number.
    """
    if _PLAIN.fullmatch(name):
        return f'$."{name}"'
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _lines(files: FileSet) -> Iterator[Views]:
    parts = (block for path in files.paths for block in blocks(path))
    whole: partial[Views] = partial(records, picks=None)
    return (found for found in ahead(whole, parts) if found.rows)


# --- Parquet --------------------------------------------------------------------------------


def _of_parquet(files: FileSet, wanted: tuple[str, ...]) -> Table:
    paths = [as_glob(path) for path in files.absolute]
    named = dict(zip(paths, files.paths, strict=True))
    groups = _alike(named, wanted)
    if len(groups) == 1:
        return of_parquet(files.absolute)
    first = [named[group[0]] for group, _ in groups]
    kinds = [{name: _kind(text) for name, text in columns} for _, columns in groups]
    targets = {name: reconciled(name, first, kinds) for name in wanted}
    columns = ", ".join(
        identifier(name)
        if kind.family == "other"
        else f"CAST({identifier(name)} AS {_type(kind)}) AS {identifier(name)}"
        for name, kind in targets.items()
        if kind is not None
    )
    if not columns:  # with the schema of any file the check below raises the error
        return Table(scans_of(paths[:1]), footer=literal(paths[0]))
    return Table(scans_of(*(group for group, _ in groups), columns=columns))


def _alike(paths: Mapping[str, str], wanted: tuple[str, ...]) -> list[tuple[list[str], Any]]:
    """Files by what they declare of the wanted columns, as pairs of name and type.

    ``paths`` has the name of each file, as it is shown.
    """
    database = OwnDatabase()
    groups: dict[Any, list[str]] = {}
    for path, shown in paths.items():
        with guarded_schema(
            f"{shown!r}: is it a whole Parquet file? DuckDB cannot read the columns"
        ):
            rows = database.connection.execute(
                "SELECT name, coalesce(num_children, 0), coalesce(duckdb_type, 'nested') "
                f"FROM parquet_schema({literal(path)}) ORDER BY column_id"
            ).fetchall()
        columns = [(name, "nested" if inside else kind) for name, inside, kind in top_level(rows)]
        found = tuple(sorted({c for c in columns if c[0] in wanted}))
        check_names([name for name, _ in columns], wanted, repr(shown))
        groups.setdefault(found, []).append(path)
    database.close(keep=True)
    return [(group, found) for found, group in groups.items()]


def _kind(declared: str) -> Kind:
    """A DuckDB type by its name."""
    import duckdb

    if declared in ("nested", "JSON"):  # whose reader fails at a cell that is not JSON
        return Kind("other", declared)
    dtype = duckdb.sqltype(declared)
    name = str(dtype.id)
    if name in _SIGNED:
        most = 2 ** (_SIGNED[name] - 1)
        return Kind("integer", declared, -most, most - 1)
    if name in _UNSIGNED:
        return Kind("integer", declared, 0, 2 ** _UNSIGNED[name] - 1)
    if name in ("float", "double"):
        return Kind("real", declared, bits=32 if name == "float" else 64)
    if name == "decimal":
        digits: dict[str, Any] = dict(dtype.children)
        return Kind("decimal", declared, precision=digits["precision"], scale=digits["scale"])
    families = {"varchar": "text", "boolean": "boolean", "date": "date", "null": "null"}
    return Kind(families.get(name, "other"), declared)


def _type(kind: Kind) -> str:
    """The DuckDB type that holds the values of a kind."""
    if kind.declared:
        return kind.declared
    if kind.family == "decimal":
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if kind.family == "real":
        return "DOUBLE"
    if kind.low >= -(2**63) and kind.high < 2**63:
        return "BIGINT"
    return "UBIGINT" if kind.low >= 0 else "DECIMAL(20, 0)"  # as for Arrow files and on Spark


# --- Arrow ----------------------------------------------------------------------------------


def _of_arrow_files(files: FileSet, wanted: tuple[str, ...]) -> Table:
    from ..arrow_types import unified_dataset

    dataset = unified_dataset(files, wanted, "ipc")
    with guarded_schema(f"{files.paths[0]!r} is not a complete Arrow file"):
        frame = frame_of(dataset, wanted)
    return Table(TABLE, frame=frame)
