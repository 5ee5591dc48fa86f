"""DataFusion, for Parquet files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.keys import LONGEST
from ...core.limits import Bounds
from ...core.totals import Groups
from ...errors import OptionError, SourceError
from ..arrow_types import LONG_DECIMALS, file_format, long_decimals, unified_dataset
from ..open import FileSet, unchanged
from ..source import (
    Field,
    Schema,
    check_names,
    guarded,
    guarded_schema,
    missing_extra,
    register,
    spill_directory,
)
from ..sql.cells import columns_of, identifier, with_source
from ..sql.dialects import Dialect, integer_division
from ..sql.expression.arithmetic import VECTORS
from ..sql.expression.words import BRANCHES, DATAFUSION
from ..sql.expression.writing import FIRST_DAY, LAST_DAY, NANOSECONDS
from ..sql.query import Question
from ..sql.steps import plain_input

if TYPE_CHECKING:
    from .duckdb import DuckDB

__all__ = ["DataFusion", "of_files"]

_TABLE: Final = "hourglass_table"
#: The minimum and maximum in a file's statistics ignore NaN. If the two are equal, DataFusion
#: treats the column as a constant, and a NaN counts as the value of the other rows. Old writers
#: ordered text and unsigned numbers as if they were signed, so that a part of a file would be
#: skipped because of one of its rows. Times of the old type INT96 may lie thousands of years away,
#: beyond the range of nanoseconds. An expression may nest deeper than DataFusion's parser goes.
_SETTINGS: Final = {
    "datafusion.execution.collect_statistics": "false",
    "datafusion.execution.parquet.bloom_filter_on_read": "false",
    "datafusion.execution.parquet.coerce_int96": "us",
    "datafusion.execution.parquet.enable_page_index": "false",
    "datafusion.execution.parquet.pruning": "false",
    "datafusion.sql_parser.recursion_limit": "1000",
}
#: The optimiser rule that pushes filters down to a scan. The scan would compare them with
#: statistics, which fails in PyArrow for unsigned numbers of 64 bits.
_PUSHED: Final = "push_down_filter"


#: Digits after a second's decimal point.
_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _mend(node: Any, expressions: Any) -> Any:
    """Types and functions by DataFusion's names.

    It keeps another name of a function, LENGTH, together with its whole operand as text, which
    would double with each level of an expression.
    """
    if isinstance(node, expressions.Length):
        return expressions.Anonymous(this="CHARACTER_LENGTH", expressions=[node.this])
    if isinstance(node, expressions.DataType) and node.this.value == "UBIGINT":
        return expressions.Var(this="BIGINT UNSIGNED")
    return integer_division(node, expressions)


_DIALECT: Final = Dialect("postgres", _mend)


class DataFusion:
    """Files, registered with a context of their own."""

    name = "datafusion"
    parse: str | None = None
    parses = False

    def __init__(self, context: Any, files: FileSet, declared: Any, unsound: set[str]) -> None:
        """``unsound`` are columns that have a cell at which reading could fail."""
        self._context, self._files, self._declared = context, files, declared
        self._unsound = unsound
        self._other: tuple[DuckDB, str, Question] | None = None

    def schema(self) -> Schema:
        """The files' own schema."""
        return Schema(tuple(self._sound(_field(field)) for field in self._declared))

    def _sound(self, field: Field) -> Field:
        return (
            replace(field, kind="other", why=LONG_DECIMALS)
            if field.name in self._unsound
            else field
        )

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query, over the columns that it needs."""
        texts = query.names
        if texts or any(each.field.kind == "text" for each in query.inputs):
            self._other = self._of_duckdb(query)
        columns = [_name(f) if f.name in texts else _present(f) for f in query.fields]
        columns += [f"{_input(i.field)} AS {identifier(i.alias)}" for i in query.inputs]
        native = f"SELECT {columns_of(columns)} FROM {_TABLE}"
        return with_source(native, _DIALECT.write_query(*query.steps("halves", DATAFUSION)))

    def run(self, sql: str, query: Question) -> Groups:
        """Run the query; the result is an Arrow table.

        DataFusion fails at text that is not UTF-8. DuckDB's totals are the same, bit for bit, and
        it can treat such text as missing, so in that case DuckDB reads the data.
        """
        with unchanged(self._files):
            return self._found(sql, query)

    def _found(self, sql: str, query: Question) -> Groups:
        try:
            with guarded("data: DataFusion failed while reading"):
                return Groups.of_arrow(self._context.sql(sql).to_arrow_table(), len(query.by))
        except SourceError:
            if self._other is None or self._files.is_changed():
                raise
        source, text, asked = self._other
        return source.run(text, asked)

    def _of_duckdb(self, query: Question) -> tuple[DuckDB, str, Question]:
        """The same question to DuckDB; if it cannot answer, that is an error before the charge.

        Otherwise one cell that is not UTF-8 would make the query fail.
        """
        from . import duckdb, duckdb_files

        fields = [*query.fields, *(each.field for each in query.inputs)]
        wanted = tuple(dict.fromkeys(field.name for field in fields))
        source = duckdb.DuckDB(duckdb_files.of_files(self._files, wanted))
        schema = source.schema()

        def known(field: Field) -> Field:
            found = schema.field(field.name, "column")
            if found.kind != field.kind:
                raise OptionError(
                    f"column {field.name!r} of type {field.declared} cannot be used together with "
                    "text on DataFusion: text that is not UTF-8 is left to DuckDB, which cannot "
                    f"read this type ({found.declared})"
                )
            return found

        asked = query.with_fields(known)
        return source, source.sql(asked, Bounds(0, 1)), asked


def _name(field: Field) -> str:
    """Text that names groups or persons, from its bytes; what is not UTF-8 is NULL."""
    return f"{_text(field)} AS {identifier(field.name)}"


def _text(field: Field) -> str:
    text = f"TRY_CAST({identifier(field.name)} AS VARCHAR)"
    return f"CASE WHEN octet_length({text}) <= {LONGEST} THEN {text} END"


def _input(field: Field) -> str:
    """What an expression reads of a column."""
    if field.kind == "text":
        return _text(field)
    if field.kind not in ("date", "timestamp"):
        return _DIALECT.part(plain_input(field))
    column = identifier(field.name)
    if field.kind == "date":
        days = f"CAST(CAST({column} AS INT) AS BIGINT)"
        return f"CASE WHEN {days} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN {days} END"
    raw, units = f"CAST({column} AS BIGINT)", 10**field.digits  # a second
    first, last = FIRST_DAY * 86_400 * units, (LAST_DAY + 1) * 86_400 * units - 1
    passed = f"{raw} * {10**6 // units}"
    if field.digits > 6:  # rounds down, also before 1970
        first, last = NANOSECONDS
        passed = f"({raw} - ({raw} % 1000 + 1000) % 1000) / 1000"
    return f"CASE WHEN {raw} BETWEEN {first} AND {last} THEN {passed} END"


def _present(field: Field) -> str:
    """A column with NaN as NULL; in DataFusion a negative NaN is less than all numbers."""
    column = identifier(field.name)
    if field.kind != "real":
        return column
    return f"CASE WHEN NOT ISNAN({column}) THEN {column} END AS {column}"


def of_files(files: FileSet, wanted: tuple[str, ...]) -> DataFusion:
    """Open Parquet files; text files are left to other engines."""
    try:
        from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext
    except ImportError:
        raise missing_extra("engine='datafusion'", "datafusion", "datafusion") from None
    if files.format != "parquet":
        raise OptionError(f"engine='datafusion' reads Parquet, not {files.format}; use duckdb")

    with guarded_schema("data: DataFusion cannot read the files"):
        runtime = RuntimeEnvBuilder().with_disk_manager_specified(spill_directory())
        context = SessionContext(SessionConfig(_SETTINGS), runtime)
        context.remove_optimizer_rule(_PUSHED)
        _define_functions(context)
        declared = _registered(context, files, wanted)
        return DataFusion(context, files, declared, _unsound(files, declared, wanted))


def _define_functions(context: Any) -> None:
    """Define arithmetic with NumPy, on arrays in which NaN represents NULL.

    The others replace what DataFusion would plan as a formula, see :mod:`..sql.expression.words`.
    """
    import pyarrow
    from datafusion import udf
    from pyarrow import compute

    def on_arrow(function: Any) -> Any:
        def found(*operands: Any) -> Any:
            arrays = [x.to_numpy(zero_copy_only=False).astype(np.float64) for x in operands]
            with np.errstate(all="ignore"):
                numbers = function(*arrays)
            return pyarrow.array(numbers, mask=np.isnan(numbers))

        return found

    def between(x: Any, low: Any, high: Any) -> Any:
        return compute.and_kleene(compute.greater_equal(x, low), compute.less_equal(x, high))

    def case(*parts: Any) -> Any:
        conditions = compute.make_struct(*parts[:-1:2])
        return compute.case_when(conditions, *parts[1::2], parts[-1])

    def define(name: str, function: Any, operands: list[Any], result: Any) -> None:
        context.register_udf(udf(function, operands, result, "immutable", name.lower()))

    double, condition = pyarrow.float64(), pyarrow.bool_()
    for name, (count, function) in VECTORS.items():
        define(name, on_arrow(function), [double] * count, double)
    for kind, of in {"number": double, "text": pyarrow.string(), "boolean": condition}.items():
        define(f"HOURGLASS_BETWEEN_{kind}", between, [of] * 3, condition)
        define(f"HOURGLASS_COALESCE_{kind}", compute.coalesce, [of] * 2, of)
        for count in BRANCHES:
            define(f"HOURGLASS_CASE{count}_{kind}", case, [condition, of] * count + [of], of)


def _registered(context: Any, files: FileSet, wanted: tuple[str, ...]) -> Any:
    """Register the files as a table of the context, and return their schema."""
    import pyarrow.dataset
    import pyarrow.parquet

    if len(files.paths) == 1 and files.absolute[0].isprintable():
        names = pyarrow.parquet.read_schema(files.absolute[0]).names
        check_names(names, wanted, "the table", folds=False)
        path = Path(files.absolute[0])  # as a URL, because a path would be treated as a glob
        context.register_parquet(
            _TABLE, path.as_uri(), parquet_pruning=False, file_extension=path.suffix
        )
        return context.table(_TABLE).schema()
    declared = unified_dataset(files, wanted, "parquet").schema
    reader = file_format("parquet")
    dataset = pyarrow.dataset.dataset(list(files.absolute), _as_bytes(declared), reader)
    context.register_dataset(_TABLE, dataset)
    return declared


def _unsound(files: FileSet, declared: Any, wanted: tuple[str, ...]) -> set[str]:
    """The wanted decimals with a cell at which reading could fail."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    decimals = {f.name for f in declared if pyarrow.types.is_decimal(f.type) and f.name in wanted}
    found = set()
    for path in files.absolute if decimals else ():
        with ParquetFile(path) as file:
            found |= long_decimals(file.schema) & decimals
    return found


def _as_bytes(schema: Any) -> Any:
    """The schema with text as bytes, because DataFusion trusts text that PyArrow did not check.

    A dictionary is unchanged, because PyArrow checks dictionaries.
    """
    import pyarrow

    texts = (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view())
    return pyarrow.schema(
        field.with_type(pyarrow.large_binary()) if field.type in texts else field
        for field in schema
    )


def _field(field: Any) -> Field:
    import pyarrow

    types, kind, declared = pyarrow.types, field.type, str(field.type)
    if types.is_dictionary(kind):
        kind = kind.value_type
    if kind == pyarrow.uint64():
        return Field(field.name, "integer", declared, reach=(0, 2**64 - 1), wide="UBIGINT")
    if types.is_integer(kind):
        return Field(field.name, "integer", declared)
    if types.is_decimal(kind):
        return Field(field.name, "decimal", declared, digits=kind.precision, scale=kind.scale)
    if types.is_floating(kind):
        return Field(field.name, "real", declared, exact=kind == pyarrow.float64())
    if types.is_boolean(kind):
        return Field(field.name, "boolean", declared)
    if types.is_date32(kind):
        return Field(field.name, "date", declared)
    if types.is_timestamp(kind):
        return Field(field.name, "timestamp", declared, digits=_DIGITS[kind.unit])
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Field(field.name, "text", declared, exact=not types.is_dictionary(field.type))
    return Field(field.name, "other", declared)


@register
class DataFusionEngine:
    """Parquet files."""

    name = "datafusion"
    preferred = False

    @staticmethod
    def claims(data: Any) -> bool:
        """Files; those that are not Parquet are refused with a reason when they are opened."""
        return isinstance(data, FileSet)

    @staticmethod
    def open(data: Any, wanted: tuple[str, ...]) -> DataFusion:
        """The files, registered with a context of their own."""
        return of_files(data, wanted)
