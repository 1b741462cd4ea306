"""CREATE SINK: a stream's rows as files, by a query equal to SELECT * FROM the stream, with the
stream's current columns. Each kind of connection has its own module."""

from __future__ import annotations

import re
from dataclasses import replace

from streamsql.catalog import Catalog, ExternalSink, Source
from streamsql.errors import (
    BindError,
    CatalogError,
    ConfigError,
    StreamSQLError,
    UnsupportedError,
    did_you_mean,
)
from streamsql.formats.base import maps_have_text_keys
from streamsql.nodes import CreateSink, SelectQuery
from streamsql.parser import parse_one, to_sql
from streamsql.planner.changes.queries import compare_plans
from streamsql.planner.ddl.sources import check_source_name
from streamsql.planner.joins.lookups import check_not_read
from streamsql.planner.operators import FileSink
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode, ModeDecision
from streamsql.planner.plans.statements import NothingToDo, QueryStatementPlan
from streamsql.planner.queries import query_plan
from streamsql.planner.select.build import build_query
from streamsql.planner.windows import span_text
from streamsql.planner.with_clause.files import check_path, file_format
from streamsql.planner.with_clause.properties import Place, WithProperties, read_properties
from streamsql.planner.with_clause.query_ids import numbered_id
from streamsql.properties import CREATE_OR_REPLACE, PROCESSING_MODE, get_bool
from streamsql.schema import Column, Kind
from streamsql.types import BIGINT, BOOLEAN, DATE, INT, STRING, is_array, is_map, is_struct, quote
from streamsql.types import to_sql as type_text

DEFAULT_INTERVAL = "60 SECONDS"
_PARTITIONED_BY = (STRING, INT, BIGINT, BOOLEAN, DATE)
_NAMES = re.compile(r"""\s*(?:`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([A-Za-z_][\w@]*))\s*(?:,|$)""")


def plan_create_sink(statement: CreateSink, planning: Planning) -> QueryStatementPlan | NothingToDo:
    """CREATE [OR REPLACE] SINK: the query that writes the files."""
    catalog = planning.catalog
    existing = _existing(statement, planning)
    if existing is not None and statement.if_not_exists:
        return NothingToDo(
            f"Cannot add sink {quote(statement.name)}: A sink with the same name already exists."
        )
    query_id = planning.query_id or (existing.query_id if existing else None)
    query_id = query_id or numbered_id(f"SINK_{statement.name.upper()}", catalog)
    planned = _planned(statement, planning, query_id)
    if existing is not None:
        _check_resumes(existing, planned, planning)
    return replace(planned, replaces=existing is not None)


def _existing(statement: CreateSink, planning: Planning) -> ExternalSink | None:
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


def _planned(statement: CreateSink, planning: Planning, query_id: str) -> QueryStatementPlan:
    source = _stream(statement, planning.catalog)
    given = read_properties(statement.properties, Place.SINK)
    target = ExternalSink(
        statement.name,
        source.name,
        query_id,
        _connection(given, statement),
        _path(given, statement),
        file_format(given),
        to_sql(statement),
    )
    # In micro-batches whatever the session asks for: a real-time batch has no end.
    session = {n: v for n, v in planning.session.items() if n != PROCESSING_MODE}
    selected = parse_one(f"SELECT * FROM {quote(source.name)} EMIT CHANGES")
    assert isinstance(selected, SelectQuery)
    query = replace(selected.query, span=statement.span)
    built = build_query(query, planning.catalog, None)
    columns = built.root.schema.columns
    _check_columns(columns, target, given)
    interval = given.duration("COMMIT_INTERVAL", given.text("COMMIT_INTERVAL") or DEFAULT_INTERVAL)
    if interval.ms < 1_000:
        raise given.invalid("COMMIT_INTERVAL", "it is less than a second", "10 SECONDS")
    root = FileSink(built.root, target, _partition_by(columns, target, given), interval.ms)
    plan = query_plan(root, query, built, replace(planning, session=session), query_id)
    why = f"the rows of each {span_text(interval.ms).lower()} become files together"
    mode = ModeDecision(Mode.MICRO_BATCH, why)
    plan = replace(plan, mode=mode, guarantee=Guarantee.EXACTLY_ONCE)
    return QueryStatementPlan(plan, statement=statement, external=target)


def _stream(statement: CreateSink, catalog: Catalog) -> Source:
    name = statement.source
    if name in catalog.views:
        raise UnsupportedError(
            f"{name} is a view: a sink reads the topic of a stream",
            hint=f"CREATE STREAM .. AS SELECT * FROM {quote(name)} makes a stream of it.",
            span=statement.span,
        )
    source = catalog.get(name)
    check_not_read(source, statement.span)
    if source.kind is Kind.TABLE:
        raise UnsupportedError(
            f"{name} is a table: files are append-only and cannot retract rows",
            hint=f"Declare a stream over its topic, '{source.topic.name}', to write a row for each "
            "change, "
            "or query the table for its current content.",
            span=statement.span,
        )
    return source


# -- WITH ----------------------------------------------------------------------------------------


def _connection(given: WithProperties, statement: CreateSink) -> str:
    connection = given.text("CONNECTION")
    if connection is None:
        raise ConfigError(
            "CREATE SINK needs the property CONNECTION",
            hint="WITH (CONNECTION='FILE', PATH='/data/orders', FORMAT='PARQUET') writes files.",
            span=statement.span,
        )
    if connection.upper() != "FILE":
        raise UnsupportedError(
            f"unknown CONNECTION '{connection}' of a sink",
            hint="CONNECTION='FILE' writes files; connectors of Kafka Connect write elsewhere.",
            span=given.span("CONNECTION"),
        )
    return "FILE"


def _path(given: WithProperties, statement: CreateSink) -> str:
    path = given.text("PATH")
    if path is None:
        raise ConfigError(
            "CREATE SINK needs the property PATH",
            hint="It is the folder of the files: PATH='/data/orders'.",
            span=statement.span,
        )
    check_path(path, given, "/data/orders")
    shortened = path.rstrip("/")
    if not shortened or shortened.endswith(":"):
        raise given.invalid("PATH", "it is the root of a file system", "/data/orders")
    return shortened


def _partition_by(
    columns: tuple[Column, ...], target: ExternalSink, given: WithProperties
) -> tuple[str, ...]:
    text, span = given.text("PARTITION_BY"), given.span("PARTITION_BY")
    if text is None:
        return ()
    names = _listed_names(text, given)
    types = {column.name: column.type for column in columns}
    for name in names:
        if name not in types:
            raise BindError(
                f"PARTITION_BY: {target.reads} has no column {quote(name)}.",
                hint=did_you_mean(name, types) or f"It has {', '.join(types)}.",
                span=span,
            )
        if types[name] not in _PARTITIONED_BY:
            raise UnsupportedError(
                f"PARTITION_BY: values of type {type_text(types[name])} cannot be folder names: "
                "column "
                f"{quote(name)}",
                hint="Partition by a STRING, INT, BIGINT, BOOLEAN or DATE. Of a time a column "
                "such as FORMAT_TIMESTAMP(t, 'yyyy-MM-dd') AS day can be made in a stream.",
                span=span,
            )
    if len(names) == len(columns):
        raise given.invalid("PARTITION_BY", "no column is left for the files")
    return names


def _listed_names(text: str, given: WithProperties) -> tuple[str, ...]:
    """The names of a list, in upper case unless they are quoted."""
    names, place = [], 0
    while match := _NAMES.match(text, place):
        ticked, quoted, plain = match.groups()
        upper = plain.upper() if plain else None
        names.append(upper or (ticked or "").replace("``", "`") or quoted.replace('""', '"'))
        place = match.end()
    ends_in_comma = text.rstrip().endswith(",")
    if place < len(text) or not names or ends_in_comma or len(set(names)) < len(names):
        raise given.invalid("PARTITION_BY", f"'{text}' is not a list of columns", "a, b")
    return tuple(names)


def _check_columns(
    columns: tuple[Column, ...], target: ExternalSink, given: WithProperties
) -> None:
    """UnsupportedError for a column that the format cannot hold."""
    for column in columns:
        nested = is_array(column.type) or is_map(column.type) or is_struct(column.type)
        shown = f"column {quote(column.name)} of type {type_text(column.type)}"
        if target.format == "CSV" and nested:
            raise UnsupportedError(
                f"a CSV file cannot hold {shown}",
                hint="FORMAT='PARQUET' and FORMAT='JSON' can; or select its parts into a stream.",
                span=given.span("FORMAT"),
            )
        if target.format == "JSON" and not maps_have_text_keys(column.type):
            raise UnsupportedError(
                f"a JSON file cannot hold {shown}: its objects have text keys",
                hint="FORMAT='PARQUET' can.",
                span=given.span("FORMAT"),
            )


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
