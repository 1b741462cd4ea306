"""ALTER STREAM | TABLE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import CatalogError, PlanError, Span, UnsupportedError, did_you_mean
from streamsql.formats import Side, format_named
from streamsql.nodes import (
    AlterSource,
    ColumnDefinition,
    ColumnRole,
    DropColumn,
    RenameColumn,
    RetypeColumn,
)
from streamsql.planner.changes.columns import ColumnChange, upgrade
from streamsql.planner.changes.users import users_of_columns
from streamsql.planner.ddl.constraints import check_unconstrained
from streamsql.planner.ddl.watermarks import check_no_watermark
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import CatalogChange
from streamsql.planner.relational.typing import standard
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.planner.with_clause.changes import check_change_columns
from streamsql.schema import RESERVED_COLUMNS, Column, Namespace, Schema
from streamsql.types import quote


@dataclass(frozen=True)
class AlterPlan(CatalogChange):
    """The altered source."""

    source: Source

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("source", self.source.name),)

    @property
    def done(self) -> tuple[str, ...]:
        return (f"{self.source.kind.value.capitalize()} {self.source.name} altered.",)


def plan_alter(statement: AlterSource, catalog: Catalog) -> AlterPlan:
    """The source after all alterations, applied in order."""
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
    return AlterPlan(_altered(source, statement, catalog))


def _altered(source: Source, statement: AlterSource, catalog: Catalog) -> Source:
    dropped = set()
    for alteration in statement.alterations:
        if isinstance(alteration, DropColumn):
            dropped.add(alteration.name)
        if isinstance(alteration, ColumnDefinition):
            if alteration.name in dropped:
                raise PlanError(
                    f"Column {quote(alteration.name)} is dropped by the same statement.",
                    hint="Existing records would show the values of the old column. Use another "
                    "name.",
                    span=alteration.span,
                )
            source = _extended(source, alteration, catalog)
        else:
            source = _changed(source, alteration, catalog)
    schema, name = source.schema, source.topic.value_format.name
    format_named(name).check(schema.value, Side.VALUE)
    check_change_columns(source.kind, schema.value, name)
    return source


def _extended(source: Source, added: ColumnDefinition, catalog: Catalog) -> Source:
    if added.role is not ColumnRole.VALUE:
        raise PlanError(
            f"Only value columns can be added: {quote(added.name)} is marked as {added.role.value}",
            span=added.span,
        )
    _check_is_free(source, added.name, added.span)
    _check_options(source, added)
    column = Column(added.name, resolve_type(added.type, catalog.types, added.span))
    extended = replace(source, schema=Schema((*source.schema, column)))
    if not source.is_plain:
        return extended
    return replace(
        extended,
        schema=Schema((*source.schema, replace(column, type=standard(column.type)))),
        order=(*source.order, added.name),
        definitions=(*source.definitions, added),
    )


def _check_options(source: Source, added: ColumnDefinition) -> None:
    options = {
        "NOT NULL": added.not_null,
        "AS": added.generated is not None,
        "DEFAULT": added.default is not None and not source.is_plain,
    }
    for option, given in options.items():
        if given:
            raise UnsupportedError(
                f"A column with {option} cannot be added to {quote(source.name)}.",
                hint="A plain table takes columns with DEFAULT, which its rows then have.",
                span=added.span,
            )


def _check_is_free(source: Source, name: str, span: Span | None) -> None:
    if name in RESERVED_COLUMNS or source.schema.find(name) is not None:
        raise PlanError(
            f"Cannot add column {quote(name)} to schema. "
            "A column with the same name already exists.",
            span=span,
        )


def _changed(
    source: Source, alteration: DropColumn | RenameColumn | RetypeColumn, catalog: Catalog
) -> Source:
    """With a column removed, renamed or of another type; PlanError if existing records or queries
    prevent it."""
    name, span = alteration.name, alteration.span
    column = source.schema.find(name)
    if column is None:
        if isinstance(alteration, DropColumn) and alteration.if_exists:
            return source
        raise PlanError(
            f"{source.kind.value.capitalize()} {source.name} has no column {quote(name)}.",
            hint=did_you_mean(name, source.schema.names),
            span=span,
        )
    after = _after(column, source, alteration, catalog)
    columns = (after if c is column else c for c in source.schema)
    altered = replace(source, schema=Schema(tuple(c for c in columns if c is not None)))
    if after is None:
        altered = replace(
            altered,
            order=tuple(n for n in source.order if n != name),
            definitions=tuple(d for d in source.definitions if d.name != name),
        )
    if after == column:
        return source
    _check_role(column, source, span)
    check_unconstrained(column.name, source, span)
    check_no_watermark(column.name, source, span)
    if users := users_of_columns(source, altered, catalog):
        raise PlanError(
            f"Cannot alter column {quote(name)}: {source.name} is used by {', '.join(users)}.",
            hint="TERMINATE or DROP its users first.",
            span=span,
        )
    if upgrade(source, altered) is None:
        raise _unreadable(ColumnChange(column, after), source, span)
    return altered


def _after(
    column: Column,
    source: Source,
    alteration: DropColumn | RenameColumn | RetypeColumn,
    catalog: Catalog,
) -> Column | None:
    match alteration:
        case RenameColumn():
            if alteration.new_name != column.name:
                _check_is_free(source, alteration.new_name, alteration.span)
            return replace(column, name=alteration.new_name)
        case RetypeColumn():
            wanted = resolve_type(alteration.type, catalog.types, alteration.span)
            return replace(column, type=wanted)
    return None


def _check_role(column: Column, source: Source, span: Span | None) -> None:
    role = None
    if column.namespace is not Namespace.VALUE:
        role = f"marked as {column.namespace.value}"
    elif source.timestamp is not None and source.timestamp.name == column.name:
        role = "the TIMESTAMP of the records"
    if role is not None:
        raise PlanError(
            f"Only value columns can be altered: {quote(column.name)} is {role}.",
            hint=f"DROP {source.kind.value} {source.name} and create it again: its topic is kept.",
            span=span,
        )


def _unreadable(change: ColumnChange, source: Source, span: Span | None) -> PlanError:
    name, value_format = quote(change.before.name), source.topic.value_format.name
    if change.after is None:
        text = f"Cannot drop column {name}: records in {value_format} would not be read without it."
        hint = "In JSON, JSON_SR and AVRO columns may go, in PROTOBUF the last ones."
    elif change.after.name != change.before.name:
        text = f"Cannot rename column {name}: records in {value_format} have their fields by name."
        hint = "CREATE VIEW .. AS SELECT with the other name shows it so."
    else:
        text = f"Cannot alter column: {change}: the records in {value_format} are not read as that."
        hint = (
            "An INTEGER can become a BIGINT and, except for PROTOBUF, a DOUBLE; in JSON, JSON_SR "
            "and "
            "DELIMITED, an INTEGER, BIGINT or DECIMAL can become a DECIMAL that holds all its "
            "digits."
        )
    return PlanError(text, hint=hint, span=span)


@plan_statement.register
def _(statement: AlterSource, planning: Planning) -> AlterPlan:
    return plan_alter(statement, planning.catalog)


@apply.register
def _(planned: AlterPlan, catalog: Catalog) -> None:
    catalog.put(planned.source)
