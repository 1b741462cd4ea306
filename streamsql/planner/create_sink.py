"""CREATE SINK: rows outside Kafka, by a query equal to SELECT * FROM the source, with the source's
current columns. Each kind of connection has its own module."""

from __future__ import annotations

from dataclasses import replace

from streamsql.catalog import Catalog, ExternalSink, Source
from streamsql.errors import CatalogError, ConfigError, StreamSQLError, UnsupportedError
from streamsql.nodes import CreateSink, CreateSinkOfAll, SelectQuery
from streamsql.parser import parse_one, to_sql
from streamsql.planner import database_sinks as _databases
from streamsql.planner import file_sinks as _files
from streamsql.planner import iceberg_sinks as _iceberg
from streamsql.planner.changes.queries import compare_plans
from streamsql.planner.ddl.sources import check_source_name
from streamsql.planner.joins.lookups import check_not_read
from streamsql.planner.operators import Export, Operator
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode, ModeDecision
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.planner.queries import query_plan
from streamsql.planner.select.build import build_query
from streamsql.planner.sink_rows import selected
from streamsql.planner.windows import span_text
from streamsql.planner.with_clause.databases import check_taken
from streamsql.planner.with_clause.properties import (
    Place,
    WithProperties,
    names_taken,
    read_properties,
)
from streamsql.planner.with_clause.query_ids import numbered_id
from streamsql.properties import CREATE_OR_REPLACE, PROCESSING_MODE, get_bool
from streamsql.types import quote

_KINDS = {"FILE": _files, "JDBC": _databases, "ICEBERG": _iceberg}
_OF_ALL = ("CONNECTION", "COMMIT_INTERVAL")


def plan_create_sink(statement: CreateSink, planning: Planning) -> QueryStatementPlan | NothingToDo:
    """CREATE [OR REPLACE] SINK: the query that writes it."""
    catalog = planning.catalog
    existing = check_name(statement, planning)
    if existing is not None and statement.if_not_exists:
        return NothingToDo(
            f"Cannot add sink {quote(statement.name)}: A sink with the same name already exists."
        )
    query_id = planning.query_id or (existing.query_id if existing else None)
    query_id = query_id or numbered_id(f"SINK_{statement.name.upper()}", catalog)
    planned = _planned(statement, planning, query_id)
    if existing is not None:
        _check_one(existing, statement)
        _check_resumes(existing, planned, planning)
    return replace(planned, replaces=existing is not None)


def check_name(statement: CreateSink | CreateSinkOfAll, planning: Planning) -> ExternalSink | None:
    """The sink of that name; CatalogError where it is in the way."""
    name, catalog = statement.name, planning.catalog
    check_source_name(name)
    if statement.or_replace and get_bool(planning.session, CREATE_OR_REPLACE) is False:
        raise ConfigError(
            f"Cannot CREATE OR REPLACE: it is switched off by '{CREATE_OR_REPLACE}'",
            span=statement.span,
        )
    taken, existing = catalog.sources.get(name), catalog.sinks.get(name)
    in_the_way = existing is not None and not (statement.or_replace or statement.if_not_exists)
    if taken is not None or in_the_way:
        kind = "sink" if taken is None else taken.kind.value.lower()
        other = "CREATE OR REPLACE SINK" if taken is None else "another name"
        raise CatalogError(
            f"Cannot add sink '{name}': A {kind} with the same name already exists",
            hint=f"Use {other}, or DROP {kind.upper()} {quote(name)} first.",
            span=statement.span,
        )
    return existing


def _check_one(existing: ExternalSink, statement: CreateSink) -> None:
    if existing.of_all:
        raise UnsupportedError(
            f"the sink {existing.name} of all tables cannot become one of {statement.source}",
            hint=f"DROP SINK {quote(existing.name)}, or choose another name.",
            span=statement.span,
        )


def _planned(statement: CreateSink, planning: Planning, query_id: str) -> QueryStatementPlan:
    source = _source(statement, planning.catalog)
    given = read_properties(statement.properties, Place.SINK)
    connection = connection_of(given, statement)
    kind = _KINDS[connection]
    own = (*kind.PROPERTIES, *_OF_ALL)
    others = tuple(name for name in names_taken(Place.SINK) if name not in own)
    check_taken(given, others, "sink", connection)
    of_files = connection == "FILE"
    target = _target(statement, source, query_id, given)
    _check_part(target, given, planning.catalog)
    interval = commit_interval(given, connection)
    # In micro-batches whatever the session asks for: a real-time batch has no end.
    session = {n: v for n, v in planning.session.items() if n != PROCESSING_MODE}
    columns = "*" if of_files else selected(source)
    reading = parse_one(f"SELECT {columns} FROM {quote(source.name)} EMIT CHANGES")
    assert isinstance(reading, SelectQuery)
    query = replace(reading.query, span=statement.span)
    built = build_query(query, planning.catalog, None)
    root = _export(built.root, source, target, interval, given)
    plan = query_plan(root, query, built, replace(planning, session=session), query_id)
    together = "become files together" if of_files else "are committed together"
    why = f"the rows of each {span_text(interval).lower()} {together}"
    mode = ModeDecision(Mode.MICRO_BATCH, why)
    plan = replace(plan, mode=mode, guarantee=Guarantee.EXACTLY_ONCE)
    return QueryStatementPlan(plan, statement=statement, external=target)


def _check_part(target: ExternalSink, given: WithProperties, catalog: Catalog) -> None:
    whole = catalog.sinks.get(target.part_of)
    if target.part_of and (whole is None or not whole.of_all):
        raise given.invalid("PART_OF", f"{target.part_of} is no sink FROM ALL TABLES", "LAKE")


def _target(
    statement: CreateSink, source: Source, query_id: str, given: WithProperties
) -> ExternalSink:
    text = to_sql(statement)
    match connection_of(given, statement):
        case "FILE":
            return _files.file_target(statement, source, query_id, given, text)
        case "JDBC":
            return _databases.database_target(statement, source, query_id, given, text)
        case _:
            target = _iceberg.iceberg_target(statement, source, query_id, given, text)
            return replace(target, part_of=given.text("PART_OF") or "")


def _export(
    rows: Operator, source: Source, target: ExternalSink, interval: int, given: WithProperties
) -> Export:
    match target.connection:
        case "FILE":
            return _files.file_sink(rows, target, interval, given)
        case "JDBC":
            return _databases.database_sink(rows, source, target, interval, given)
        case _:
            return _iceberg.iceberg_sink(rows, source, target, interval, given)


def _source(statement: CreateSink, catalog: Catalog) -> Source:
    name = statement.source
    if name in catalog.views:
        raise UnsupportedError(
            f"{name} is a view: a sink reads a topic",
            hint=f"CREATE STREAM .. AS SELECT * FROM {quote(name)} makes a stream of it.",
            span=statement.span,
        )
    source = catalog.get(name)
    check_not_read(source, statement.span)
    return source


def connection_of(given: WithProperties, statement: CreateSink | CreateSinkOfAll) -> str:
    connection = given.text("CONNECTION")
    if connection is None:
        raise ConfigError(
            "CREATE SINK needs the property CONNECTION",
            hint="WITH (CONNECTION='FILE', PATH='/data/orders', FORMAT='PARQUET') writes files.",
            span=statement.span,
        )
    if connection.upper() not in _KINDS:
        raise UnsupportedError(
            f"unknown CONNECTION '{connection}' of a sink",
            hint="CONNECTION='FILE' writes files, CONNECTION='JDBC' a table of a database, "
            "CONNECTION='ICEBERG' one of a lakehouse; connectors of Kafka Connect write elsewhere.",
            span=given.span("CONNECTION"),
        )
    return connection.upper()


def commit_interval(given: WithProperties, connection: str) -> int:
    """COMMIT_INTERVAL in milliseconds."""
    text = given.text("COMMIT_INTERVAL") or _KINDS[connection].INTERVAL
    interval = given.duration("COMMIT_INTERVAL", text)
    if interval.ms < 1_000:
        raise given.invalid("COMMIT_INTERVAL", "it is less than a second", "10 SECONDS")
    return interval.ms


# -- OR REPLACE ----------------------------------------------------------------------------------


def _check_resumes(existing: ExternalSink, planned: QueryStatementPlan, planning: Planning) -> None:
    """Raises UnsupportedError if the existing sink's query cannot resume with the new
    definition."""
    statement = parse_one(existing.statement)
    assert isinstance(statement, CreateSink)
    try:
        old = _planned(statement, planning, existing.query_id)
    except StreamSQLError:
        return  # its text plans no more
    if compare_plans(old.query.root, planned.query.root).may_mix:
        return
    raise UnsupportedError(
        f"CREATE OR REPLACE cannot have sink {existing.name} read {planned.query.reads[0]}: "
        f"it reads {existing.reads}, and its place in there",
        hint=f"DROP SINK {quote(existing.name)} and create it again, which starts from scratch.",
        span=planned.statement.span if planned.statement else None,
    )
