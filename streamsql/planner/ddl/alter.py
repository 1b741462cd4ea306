"""ALTER STREAM | TABLE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import CatalogError, PlanError, did_you_mean
from streamsql.formats import Side, format_named
from streamsql.nodes import (
    AlterSource,
    ColumnRole,
)
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.planner.with_clause.changes import check_change_columns
from streamsql.schema import RESERVED_COLUMNS, Column, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class AlterPlan(CatalogChange):
    """ALTER .. ADD COLUMN: the source as it will be."""

    source: Source

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("source", self.source.name),)

    @property
    def done(self) -> tuple[str, ...]:
        return (f"{self.source.kind.value.capitalize()} {self.source.name} altered.",)


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
    name = source.topic.value_format.name
    format_named(name).check(schema.value, Side.VALUE)
    check_change_columns(source.kind, schema.value, name)
    return schema


@plan_statement.register
def _(statement: AlterSource, planning: Planning) -> AlterPlan:
    return plan_alter(statement, planning.catalog)


@apply.register
def _(planned: AlterPlan, catalog: Catalog) -> None:
    catalog.put(planned.source)
