"""The columns of CREATE STREAM | TABLE: from their definitions to a schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsql.errors import PlanError, Span, TypeMismatchError, UnsupportedError
from streamsql.nodes import ColumnDefinition, ColumnRole
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.schema import RESERVED_COLUMNS, Column, Kind, Namespace, Schema
from streamsql.types import BYTES, STRING, SQLType, array, quote, struct, to_sql

HEADERS_TYPE = array(struct([("KEY", STRING), ("VALUE", BYTES)]))
"""The type of a HEADERS column: all headers of the record in their order."""


def declared_schema(
    kind: Kind,
    columns: tuple[ColumnDefinition, ...],
    types: Mapping[str, SQLType],
    inferred: Sequence[Column] = (),
) -> Schema:
    """The columns of CREATE and those of registered schemas, keys first; PlanError for what a
    source of this kind cannot have."""
    if not columns and not inferred:
        raise PlanError(
            "No columns supplied.",
            detail="The statement does not define any columns.",
            hint="List the columns after the name: (ID INT KEY, NAME STRING).",
        )
    made = [*(_column(kind, definition, types) for definition in columns), *inferred]
    _check_names([(d.name, d.span) for d in columns] + [(c.name, None) for c in inferred])
    _check_header_columns(columns)
    keys = [c for c in made if c.namespace is Namespace.KEY]
    return Schema((*keys, *(c for c in made if c.namespace is not Namespace.KEY)))


def _column(kind: Kind, definition: ColumnDefinition, types: Mapping[str, SQLType]) -> Column:
    check_role(kind, definition)
    sql_type = resolve_type(definition.type, types, definition.span)
    match definition.role:
        case ColumnRole.KEY | ColumnRole.PRIMARY_KEY:
            return Column(definition.name, sql_type, Namespace.KEY)
        case ColumnRole.HEADERS | ColumnRole.HEADER:
            _check_header_type(definition, sql_type)
            return Column(definition.name, sql_type, Namespace.HEADERS, definition.header)
    return Column(definition.name, sql_type)


def check_no_options(columns: tuple[ColumnDefinition, ...]) -> None:
    """UnsupportedError for NOT NULL, DEFAULT and AS outside of plain tables."""
    for column in columns:
        if column.not_null or column.default is not None or column.generated is not None:
            raise UnsupportedError(
                f"column {column.name} has NOT NULL, DEFAULT or AS, which only the columns of a "
                "table without WITH have",
                hint="Write among the columns: CONSTRAINT name EXPECT (column IS NOT NULL) "
                "ON VIOLATION DROP ROW.",
                span=column.span,
            )


def check_role(kind: Kind, definition: ColumnDefinition) -> None:
    """PlanError for KEY in a table and PRIMARY KEY in a stream."""
    wrong, right = (
        (ColumnRole.KEY, ColumnRole.PRIMARY_KEY)
        if kind is Kind.TABLE
        else (ColumnRole.PRIMARY_KEY, ColumnRole.KEY)
    )
    if definition.role is wrong:
        raise PlanError(
            f"Column {quote(definition.name)} is a '{wrong.value}' column: "
            f"please use '{right.value}' for {kind.value.lower()}s.",
            detail="Tables have PRIMARY KEYs, which are unique and NON NULL. "
            "Streams have KEYs, which have no uniqueness or NON NULL constraints.",
            span=definition.span,
        )


def _check_header_type(definition: ColumnDefinition, sql_type: SQLType) -> None:
    if definition.role is ColumnRole.HEADERS:
        wanted, shown = HEADERS_TYPE, "HEADERS"
    else:
        wanted, shown = BYTES, f"HEADER('{definition.header}')"
    if sql_type != wanted:
        raise TypeMismatchError(
            f"Invalid type for {shown} column: expected {to_sql(wanted)}, got {to_sql(sql_type)}",
            span=definition.span,
        )


def _check_names(names: Sequence[tuple[str, Span | None]]) -> None:
    seen = set()
    for name, span in names:
        if name in RESERVED_COLUMNS:
            raise PlanError(
                f"{quote(name)} is a reserved column name. "
                "You cannot use it as a name for a column.",
                detail="Every stream and table has this system column already.",
                span=span,
            )
        if name in seen:
            raise PlanError(
                f"Duplicate column names: {quote(name)}",
                hint=None if span else "The registered schema has it: rename the listed column.",
                span=span,
            )
        seen.add(name)


def _check_header_columns(columns: tuple[ColumnDefinition, ...]) -> None:
    every = [c for c in columns if c.role is ColumnRole.HEADERS]
    single = [c for c in columns if c.role is ColumnRole.HEADER]
    if len(every) > 1 or (every and single):
        offender = every[1] if len(every) > 1 else single[0]
        raise PlanError(
            "Schema already contains a HEADERS column.",
            hint="Declare either one HEADERS column, or HEADER('key') columns.",
            span=offender.span,
        )
    names = [c.header for c in single]
    for definition in single:
        if names.count(definition.header) > 1:
            raise PlanError(
                f"Schema already contains a HEADER('{definition.header}') column.",
                span=definition.span,
            )
