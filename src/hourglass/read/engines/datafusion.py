"""DataFusion: files, through the engine of that name."""

from __future__ import annotations

from typing import Any, Final

from ...core.grid import Bounds
from ...core.totals import Groups
from ...errors import OptionError
from ..files import FileSet
from ..schema import Field, Schema
from ..sql.cells import identifier
from ..sql.dialects import Dialect, integer_division, with_source
from ..sql.query import Question
from .base import guarded, guarded_schema, missing_extra

__all__ = ["DataFusion", "of_files"]

_TABLE: Final = "hourglass_table"
#: A file's least and largest values leave NaN out. Where the two are equal, DataFusion takes
#: the column for a constant, and a NaN counts as the other rows' value.
_NO_STATISTICS: Final = {
    "datafusion.execution.collect_statistics": "false",
    "datafusion.execution.parquet.pruning": "false",
}


def _mend(node: Any, expressions: Any) -> Any:
    if isinstance(node, expressions.DataType) and node.this.value == "UBIGINT":
        return expressions.Var(this="BIGINT UNSIGNED")
    return integer_division(node, expressions)


_DIALECT: Final = Dialect("postgres", _mend)


class DataFusion:
    """Files registered with a context of their own."""

    name = "datafusion"
    parse: str | None = None
    parses = False

    def __init__(self, context: Any) -> None:
        self._context = context

    def schema(self) -> Schema:
        """The files' own schema."""
        arrow = guarded_schema(
            "data: DataFusion cannot read the columns", lambda: self._context.table(_TABLE).schema()
        )
        return Schema(tuple(_field(field) for field in arrow))

    def sql(self, query: Question, bounds: Bounds) -> str:
        """The query over the columns that it needs."""
        columns = ", ".join(_present(f) for f in query.fields)
        native = f"SELECT {columns} FROM {_TABLE}"
        return with_source(native, _DIALECT.write(query.text("halves")))

    def run(self, sql: str, query: Question) -> Groups:
        """Run it; the answer comes as Arrow."""
        groups: Groups = guarded(
            "data: DataFusion failed while reading",
            lambda: Groups.of_arrow(self._context.sql(sql).to_arrow_table(), len(query.by)),
        )
        return groups


def _present(field: Field) -> str:
    """A column, NaN as NULL: here a NaN with the sign of minus lies below all numbers."""
    column = identifier(field.name)
    if field.kind != "real":
        return column
    return f"CASE WHEN NOT ISNAN({column}) THEN {column} END AS {column}"


def of_files(files: FileSet) -> DataFusion:
    """Parquet or Arrow files; text is left to engines that read it by a declared rule."""
    try:
        from datafusion import SessionConfig, SessionContext
    except ImportError:
        SessionContext = None  # type: ignore[assignment,misc]
    if SessionContext is None:
        raise missing_extra("engine='datafusion'", "datafusion", "datafusion")
    if files.format != "parquet":
        raise OptionError(f"engine='datafusion' reads Parquet, not {files.format}; use duckdb")

    def registered() -> Any:
        import pyarrow.dataset

        context = SessionContext(SessionConfig(_NO_STATISTICS))
        if len(files.paths) == 1:
            context.register_parquet(_TABLE, files.paths[0])
        else:
            context.register_dataset(_TABLE, pyarrow.dataset.dataset(list(files.paths)))
        return context

    return DataFusion(guarded_schema("data: DataFusion cannot read the files", registered))


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
        return Field(field.name, "decimal", declared, digits=kind.precision)
    if types.is_floating(kind):
        return Field(field.name, "real", declared, exact=kind == pyarrow.float64())
    if types.is_boolean(kind):
        return Field(field.name, "boolean", declared)
    if types.is_date32(kind):
        return Field(field.name, "date", declared)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return Field(field.name, "text", declared, exact=not types.is_dictionary(field.type))
    return Field(field.name, "other", declared)
