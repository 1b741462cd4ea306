"""ALTER and custom types; TERMINATE, PAUSE and RESUME."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Catalog, Source
from streamsql.errors import BindError, CatalogError, PlanError, did_you_mean
from streamsql.formats import Side, format_named
from streamsql.nodes import (
    AlterSource,
    ColumnRole,
    ControlQuery,
    CreateType,
    DropType,
)
from streamsql.planner.plans.statements import AlterPlan, ControlPlan, NothingToDo, TypePlan
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.schema import RESERVED_COLUMNS, Column, Schema
from streamsql.types import PRIMITIVES, quote, to_sql


def plan_alter(statement: AlterSource, catalog: Catalog) -> AlterPlan:
    """ALTER STREAM | TABLE .. ADD COLUMN."""
    kind = statement.kind.value
    source = catalog.sources.get(statement.name)
    if source is None:
        raise CatalogError(
            f"Source {statement.name} does not exist.",
            hint=did_you_mean(statement.name, catalog.sources),
            span=statement.span,
        )
    if source.kind is not statement.kind:
        raise CatalogError(
            f"Incompatible data source type is {source.kind.value}, but statement was ALTER {kind}",
            hint=f"Write ALTER {source.kind.value} {source.name} ..",
            span=statement.span,
        )
    if source.is_source:
        raise CatalogError(
            f"Cannot alter {kind.lower()} '{source.name}': "
            f"ALTER operations are not supported on source {kind.lower()}s.",
            span=statement.span,
        )
    if source.created_by_query is not None:
        raise PlanError(
            "ALTER command is not supported for CREATE ... AS statements.",
            hint="CREATE OR REPLACE .. AS SELECT with the new columns at its end.",
            span=statement.span,
        )
    return AlterPlan(replace(source, schema=_extended(source, statement, catalog)))


def _extended(source: Source, statement: AlterSource, catalog: Catalog) -> Schema:
    columns = list(source.schema)
    for definition in statement.columns:
        name = definition.name
        if definition.role is not ColumnRole.VALUE:
            raise PlanError(
                f"Only value columns can be added: {quote(name)} is marked as "
                f"{definition.role.value}",
                span=definition.span,
            )
        if name in RESERVED_COLUMNS or any(c.name == name for c in columns):
            raise PlanError(
                f"Cannot add column {quote(name)} to schema. "
                "A column with the same name already exists.",
                span=definition.span,
            )
        columns.append(Column(name, resolve_type(definition.type, catalog.types, definition.span)))
    schema = Schema(tuple(columns))
    format_named(source.topic.value_format.name).check(schema.value, Side.VALUE)
    return schema


# -- custom types --------------------------------------------------------------------------------


def plan_create_type(statement: CreateType, catalog: Catalog) -> TypePlan | NothingToDo:
    """CREATE TYPE."""
    existing = catalog.types.get(statement.name)
    if existing is not None:
        message = (
            f"Cannot register custom type {statement.name}: "
            f"it is already registered with type {to_sql(existing)}"
        )
        if statement.if_not_exists:
            return NothingToDo(message)
        raise CatalogError(message, hint=f"DROP TYPE {statement.name} first.", span=statement.span)
    if statement.name.upper() in (*PRIMITIVES, "DECIMAL", "ARRAY", "MAP", "STRUCT"):
        raise CatalogError(f"{statement.name} is the name of a built-in type", span=statement.span)
    return TypePlan(statement.name, resolve_type(statement.type, catalog.types, statement.span))


def plan_drop_type(statement: DropType, catalog: Catalog) -> TypePlan | NothingToDo:
    """DROP TYPE."""
    if statement.name in catalog.types:
        return TypePlan(statement.name, None)
    message = f"Type '{statement.name}' does not exist"
    if statement.if_exists:
        return NothingToDo(message)
    raise CatalogError(
        message, hint=did_you_mean(statement.name, catalog.types), span=statement.span
    )


# -- running queries -----------------------------------------------------------------------------


def plan_control(statement: ControlQuery, catalog: Catalog) -> ControlPlan:
    """TERMINATE, PAUSE and RESUME."""
    if statement.query_id is None:
        return ControlPlan(statement.action, tuple(catalog.queries))
    if statement.query_id not in catalog.queries:
        raise BindError(
            f"Unknown queryId: {statement.query_id}",
            hint=did_you_mean(statement.query_id, catalog.queries) or "SHOW QUERIES lists them.",
            span=statement.span,
        )
    return ControlPlan(statement.action, (statement.query_id,))
