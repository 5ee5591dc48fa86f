"""Arrow and Parquet files as one PyArrow dataset, with types that can hold every value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..errors import DataError
from .open import FileSet
from .source import check_version, guarded_schema
from .types import Kind, common, reconciled

__all__ = ["LONG_DECIMALS", "check", "file_format", "long_decimals", "unified_dataset"]

#: PyArrow and DataFusion have this many bytes for a decimal in a Parquet file.
_MOST_BYTES: Final = 16
#: DuckDB crashes at views that an older PyArrow reads from a dataset.
_OLDEST_VIEWS: Final = (25, 0)
#: Why such decimals are refused.
LONG_DECIMALS: Final = (
    f"it is stored in a way that allows more than {_MOST_BYTES} bytes, and such a cell would make "
    "the query fail; store it in a fixed number of bytes, as its digits need, or as doubles"
)


def file_format(name: str) -> Any:
    """How PyArrow reads files of a format: times of the old type INT96 as microseconds.

    They may lie thousands of years away, beyond the range of nanoseconds.
    """
    import pyarrow.dataset

    if name != "parquet":
        return name
    return pyarrow.dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")


def long_decimals(schema: Any) -> set[str]:
    """The decimals that a Parquet file stores in a variable number of bytes, or in too many."""
    columns = (schema.column(place) for place in range(len(schema)))
    return {
        column.path
        for column in columns
        if column.logical_type.type == "DECIMAL"
        and (column.physical_type == "BYTE_ARRAY" or column.length > _MOST_BYTES)
    }


def unified_dataset(files: FileSet, wanted: tuple[str, ...], format: str) -> Any:
    """The files as one PyArrow dataset in which each wanted column has one type."""
    import pyarrow.dataset

    # PyArrow makes no dataset of a file in which any name is repeated.
    what = f"{'Arrow' if format == 'ipc' else 'Parquet'} file, or has two columns of one name"
    schemas = []
    for path, shown in zip(files.absolute, files.paths, strict=True):
        with guarded_schema(f"{shown!r} is not a complete {what}"):
            schemas.append(pyarrow.dataset.dataset(path, format=file_format(format)).schema)
    groups: dict[Any, str] = {}
    for path, schema in zip(files.paths, schemas, strict=True):
        of_wanted = tuple((f.name, f.type) for f in schema if f.name in wanted)
        groups.setdefault(of_wanted, path)
    if format == "ipc":
        _check_views({column for group in groups for column in group})
    schema = schemas[0]
    if len(groups) > 1:
        columns = [{name: _kind(kind) for name, kind in group} for group in groups]
        for name in wanted:
            kind = reconciled(name, list(groups.values()), columns)
            if kind is not None:
                types = {t: path for group, path in groups.items() for n, t in group if n == name}
                target = next(iter(types)) if len(types) == 1 else _type(kind)
                _check_converted(name, types, target)
                at = schema.get_field_index(name)
                schema = schema.set(at, schema.field(at).with_type(target))
    return pyarrow.dataset.dataset(list(files.absolute), schema=schema, format=file_format(format))


def _check_views(columns: Iterable[tuple[str, Any]]) -> None:
    """Refuse views of text, by the columns' names and types, if PyArrow is too old for them."""
    import pyarrow

    for name, kind in columns:
        if str(kind).endswith("_view"):
            check_version(pyarrow, _OLDEST_VIEWS, f"column {name!r} of type {kind}")


def _check_converted(name: str, types: Mapping[Any, str], target: Any) -> None:
    """Refuse a type that PyArrow cannot convert: reading would fail if the file has a row."""
    for one, path in types.items():
        if not _converts(one, target):
            raise DataError(
                f"column {name!r} is of type {one} in {path!r}, which cannot be read as {target}, "
                "the type that holds what all files declare; store it as one type"
            )


def _converts(one: Any, target: Any) -> bool:
    """Whether every value of a type can be converted; a dictionary has room for only some."""
    import pyarrow

    if one == target:
        return True
    try:
        pyarrow.nulls(1, one).cast(target)
    except pyarrow.ArrowException:
        return False
    return not pyarrow.types.is_dictionary(target)


def check(dataset: Any, wanted: Sequence[str]) -> None:
    """Refuse a dataset whose types cannot hold what its files declare: a cell could make it fail.

    Text files declare no types; PyArrow infers them from the first cells.
    """
    for part in getattr(dataset, "children", [dataset]):
        if part is not dataset:
            check(part, wanted)
            continue
        format = getattr(getattr(dataset, "format", None), "default_extname", "parquet")
        if format not in ("parquet", "arrow", "ipc", "feather", "orc"):
            raise DataError(
                f"data: a dataset of {format} files infers its types from their first cells, and a "
                "later cell could make the query fail; give the path of the files instead"
            )
        for fragment in dataset.get_fragments():
            _check_types(fragment, dataset.schema, wanted)


def _check_types(fragment: Any, schema: Any, wanted: Sequence[str]) -> None:
    declared, footer = fragment.physical_schema, getattr(fragment, "metadata", None)
    for name in long_decimals(footer.schema) & set(wanted) if footer else ():
        raise DataError(f"data: column {name!r} is a decimal; {LONG_DECIMALS}")
    for name in wanted:
        if declared.get_field_index(name) < 0:
            continue  # a file without the column: all its values are missing
        one, all_ = declared.field(name).type, schema.field(name).type
        _check_views([(name, one), (name, all_)])
        both = common(_kind(one), _kind(all_))
        if both is None or both.same != _kind(all_).same or not _converts(one, all_):
            where = getattr(fragment, "path", "a part of it")
            raise DataError(
                f"data: column {name!r} is of type {one} in {where!r} and of type {all_} in the "
                "dataset, which cannot hold it; give the dataset a schema that can"
            )


def _kind(kind: Any) -> Kind:
    """An Arrow type."""
    import pyarrow

    types, declared = pyarrow.types, str(kind)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind):
        signed = types.is_signed_integer(kind)
        most = 2 ** (kind.bit_width - signed)
        return Kind("integer", declared, -most if signed else 0, most - 1)
    if types.is_floating(kind):
        return Kind("real", declared, bits=kind.bit_width)
    if types.is_decimal(kind) and kind.precision <= 38:
        return Kind("decimal", declared, precision=kind.precision, scale=kind.scale)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Kind("text", declared)
    families = {pyarrow.bool_(): "boolean", pyarrow.date32(): "date", pyarrow.null(): "null"}
    return Kind(families.get(kind, "other"), declared)


def _type(kind: Kind) -> Any:
    """The Arrow type that holds what a kind holds."""
    import pyarrow

    if kind.family == "integer":
        if kind.low >= -(2**63) and kind.high < 2**63:
            return pyarrow.int64()
        return pyarrow.uint64() if kind.low >= 0 else pyarrow.decimal128(20, 0)
    if kind.family == "decimal":
        return pyarrow.decimal128(kind.precision, kind.scale)
    return {
        "real": pyarrow.float64(),
        "text": pyarrow.large_string(),
        "boolean": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "null": pyarrow.null(),
    }[kind.family]
