"""CREATE MATERIALIZED VIEW: a table that is kept equal to a query of standard SQL."""

from __future__ import annotations

from streamsql.catalog import Source
from streamsql.errors import CatalogError, PlanError
from streamsql.nodes import CreateMaterializedView, DropMaterializedView, DropSource, Emit
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.ddl.drops import DropPlan, check_not_a_sink, plan_drop
from streamsql.planner.ddl.replacement import Replacement, needs_rebuild
from streamsql.planner.ddl.sources import already_exists, check_source_name
from streamsql.planner.ddl.topics import Growth, check_conforms, existing_topic
from streamsql.planner.ddl.views import check_not_a_view
from streamsql.planner.materialized import planned_view, sink_of_view
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import plan_statement
from streamsql.planner.plans.guarantee import guarantee
from streamsql.planner.plans.modes import sources_read
from streamsql.planner.plans.query_plan import Mode, ModeDecision, QueryPlan
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.planner.with_clause.format_choice import formats_of_source
from streamsql.planner.with_clause.properties import Place, WithProperties, read_properties
from streamsql.planner.with_clause.query_ids import numbered_id
from streamsql.properties import (
    DEFAULT_KEY_FORMAT,
    DEFAULT_VALUE_FORMAT,
    SHUFFLE_PARTITIONS,
    TOPIC_PREFIX,
    get_text,
)
from streamsql.schema import Kind, Schema, Topic
from streamsql.types import quote

_MODE = ModeDecision(Mode.MICRO_BATCH, "a view takes the changes of a batch together")


@plan_statement.register
def _(statement: CreateMaterializedView, planning: Planning) -> QueryStatementPlan | NothingToDo:
    catalog, name = planning.catalog, statement.name
    check_not_a_view(name, catalog, statement.span)
    check_not_a_sink(name, catalog, statement.span)
    check_source_name(name)
    existing = catalog.sources.get(name)
    if existing is not None:
        if statement.if_not_exists:
            return NothingToDo(already_exists(existing))
        _check_replaceable(existing, statement)
    view = planned_view(statement, catalog)
    if name in (scan.source.name for scan in view.scans):
        raise PlanError(
            f"Cannot create {quote(name)} from itself: the query would read its own output.",
            hint="Give the view another name.",
            span=statement.span,
        )
    query_id = planning.query_id or (existing.created_by_query if existing else None)
    query_id = query_id or numbered_id(f"CMV_{name.upper()}", catalog)
    properties = read_properties(statement.properties, Place.VIEW)
    topic, create_topic = _topic(statement, view.schema, properties, planning, existing)
    sink = sink_of_view(view, name, topic, query_id, to_sql(statement))
    told = get_text(planning.session, SHUFFLE_PARTITIONS)
    query = QueryPlan(
        sink,
        _MODE,
        Emit.CHANGES,
        sources_read(sink),
        query_id,
        tuple(field.name for field in view.plan.output),
        {},
        guarantee(planning.session),
        sink,
        None if told is None else int(told),
    )
    rebuilds = planning.rebuilds
    if existing is not None and not rebuilds:
        rebuilds = needs_rebuild(Replacement(existing, sink.target, query, statement), catalog)
    return QueryStatementPlan(
        query,
        sink.target,
        creates_sink=True,
        create_topic=create_topic,
        replaces=existing is not None,
        statement=statement,
        rebuilds=rebuilds,
    )


def _check_replaceable(existing: Source, statement: CreateMaterializedView) -> None:
    if not existing.is_materialized_view:
        raise CatalogError(
            f"{quote(existing.name)} is a {existing.kind.value.lower()}, not a materialized view",
            span=statement.span,
        )
    if not statement.or_replace:
        raise CatalogError(
            f"Cannot add materialized view {quote(existing.name)}: it exists",
            hint="CREATE OR REPLACE MATERIALIZED VIEW changes it.",
            span=statement.span,
        )


def _topic(
    statement: CreateMaterializedView,
    schema: Schema,
    properties: WithProperties,
    planning: Planning,
    existing: Source | None,
) -> tuple[Topic, bool]:
    """The view's topic, and whether it is to be created."""
    session = {DEFAULT_KEY_FORMAT: "JSON", DEFAULT_VALUE_FORMAT: "JSON", **planning.session}
    key_format, value_format = formats_of_source(properties, session, schema)
    prefix = get_text(planning.session, TOPIC_PREFIX) or ""
    name = properties.kafka_topic or prefix + statement.name
    found = existing_topic(planning.topics, name)
    if found is None:
        partitions, replicas = properties.partitions, properties.replicas
    else:
        growth = None if existing is None else Growth.of(existing, planning.catalog)
        check_conforms(found, name, properties, growth)
        partitions, replicas = found.partitions, found.replicas
    topic = Topic(name, key_format, value_format, None, partitions, replicas)
    return topic, planning.topics is not None and found is None


@plan_statement.register
def _(statement: DropMaterializedView, planning: Planning) -> DropPlan | NothingToDo:
    name, catalog = statement.name, planning.catalog
    existing = catalog.sources.get(name)
    if existing is not None and not existing.is_materialized_view:
        raise CatalogError(
            f"{quote(name)} is a {existing.kind.value.lower()}, not a materialized view",
            hint=f"DROP {existing.kind.value} {quote(name)}",
            span=statement.span,
        )
    drop = DropSource(
        Kind.TABLE,
        name,
        statement.if_exists,
        delete_topic=True,
        cascade=statement.cascade,
        text=statement.text,
        span=statement.span,
    )
    return plan_drop(drop, catalog)
