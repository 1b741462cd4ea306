"""CREATE STREAM | TABLE over a topic: from its clauses to the source it declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from streamsql.catalog import Capture, Catalog, Source
from streamsql.errors import CatalogError, ConfigError, PlanError
from streamsql.ksqldb import says
from streamsql.nodes import CreateSource
from streamsql.parser.generate.statements import to_sql as statement_sql
from streamsql.planner.changes.users import users_of_columns
from streamsql.planner.ddl.captures import captured, check_capture
from streamsql.planner.ddl.columns import check_no_options, declared_schema
from streamsql.planner.ddl.constraints import declared_constraints
from streamsql.planner.ddl.lookups import lookup_source
from streamsql.planner.ddl.plain_tables import is_plain, plan_plain_table
from streamsql.planner.ddl.replacing import check_name_is_free, check_upgrade
from streamsql.planner.ddl.schema_inference import inferred_columns
from streamsql.planner.ddl.topics import check_conforms, existing_topic, missing_topic
from streamsql.planner.ddl.watermarks import check_not_append_only, declared_watermark
from streamsql.planner.plans.statements import NothingToDo, SchemaLookup, SourcePlan, TopicLookup
from streamsql.planner.with_clause.changes import check_change_source, tells_changes
from streamsql.planner.with_clause.format_choice import check_formats, formats_of_source
from streamsql.planner.with_clause.properties import Place, WithProperties, read_properties
from streamsql.properties import CREATE_OR_REPLACE, get_bool
from streamsql.schema import (
    FormatSpec,
    Kind,
    Schema,
    TimestampColumn,
    Topic,
)
from streamsql.types import BIGINT, STRING, TIMESTAMP, quote, to_sql

_SOURCE_NAME = re.compile(r"[a-zA-Z0-9_-]*")


def plan_create_source(
    statement: CreateSource,
    catalog: Catalog,
    session: Mapping[str, str],
    topics: TopicLookup | None,
    schemas: SchemaLookup | None = None,
) -> SourcePlan | NothingToDo:
    check_source_name(statement.name)
    existing = catalog.sources.get(statement.name)
    if existing is not None and statement.if_not_exists:
        return NothingToDo(already_exists(existing))
    check_name_is_free(existing, statement, get_bool(session, CREATE_OR_REPLACE) is not False)
    if is_plain(statement):
        return plan_plain_table(statement, catalog, topics)
    check_not_append_only(statement)
    if statement.outside:
        return SourcePlan(_lookup(statement, catalog), False, False)
    capture: Capture | None = None
    if statement.captures:
        capture, properties, inferred = captured(statement, catalog, schemas)
    else:
        properties = read_properties(statement.properties, Place.CREATE)
        check_formats(properties)
        inferred = inferred_columns(statement, properties, session, schemas)
    check_no_options(statement.columns)
    schema = declared_schema(statement.kind, statement.columns, catalog.types, inferred)
    if statement.kind is Kind.TABLE and not schema.key:
        raise _no_key(statement)
    key_format, value_format = formats_of_source(properties, session, schema)
    if tells_changes(value_format.name):
        check_change_source(statement, properties, schema, value_format.name)
    window = properties.window
    if window is not None and not schema.key:
        raise PlanError(
            "Windowed sources require a key column.", span=properties.span("WINDOW_TYPE")
        )
    topic, create = _topic(statement, properties, topics)
    source = Source(
        statement.name,
        statement.kind,
        schema,
        Topic(
            topic.name,
            key_format,
            value_format,
            window,
            topic.partitions,
            topic.replicas,
            properties.retention_ms,
        ),
        timestamp_column(properties, schema),
        statement.is_source,
        statement=statement_sql(statement),
        capture=capture,
        watermark=declared_watermark(statement, schema),
    )
    constraints = declared_constraints(statement.constraints, source, catalog.types)
    source = replace(source, constraints=constraints)
    if existing is not None:
        check_capture(existing, source, statement.span)
        check_upgrade(existing, source, users_of_columns(existing, source, catalog))
    return SourcePlan(source, create, existing is not None)


def _lookup(statement: CreateSource, catalog: Catalog) -> Source:
    check_no_options(statement.columns)
    schema = declared_schema(statement.kind, statement.columns, catalog.types)
    source = lookup_source(statement, schema, statement_sql(statement))
    if not schema.key and not source.is_lake:
        raise _no_key(statement)
    return source


def _no_key(statement: CreateSource) -> PlanError:
    return PlanError(
        "Tables require a PRIMARY KEY. Please define the PRIMARY KEY.",
        hint="Mark the column that identifies a row: ID INT PRIMARY KEY.",
        span=statement.span,
    )


def already_exists(source: Source) -> str:
    kind = source.kind.value.lower()
    return f"Cannot add {kind} {quote(source.name)}: A {kind} with the same name already exists."


def check_source_name(name: str) -> None:
    """CatalogError for a name with characters other than letters, digits, `_` and `-`."""
    if not _SOURCE_NAME.fullmatch(name):
        raise CatalogError(
            f"Illegal argument: {quote(name)} is not a valid name. Source names may only contain "
            "alphanumeric values, '_' or '-'."
        )


# -- topic and time ------------------------------------------------------------------------------


def _topic(
    statement: CreateSource, properties: WithProperties, topics: TopicLookup | None
) -> tuple[Topic, bool]:
    """Name and counts of the topic (without formats), and whether to create it."""
    name = properties.kafka_topic
    if name is None:
        missing = 'Missing required property "KAFKA_TOPIC" which has no default value.'
        raise ConfigError(
            missing,
            hint="Add WITH (KAFKA_TOPIC='name', ..).",
            span=statement.span,
            ksqldb=says("cannot-prepare", reason=missing),
        )
    found = existing_topic(topics, name)
    partitions, replicas = properties.partitions, properties.replicas
    if found is not None:
        check_conforms(found, name, properties)
        partitions, replicas = found.partitions, found.replicas
    create = topics is not None and found is None
    if create and (partitions is None or statement.is_source):
        raise missing_topic(name, statement.kind.value, properties.span("KAFKA_TOPIC"))
    return _bare_topic(name, partitions, replicas), create


def _bare_topic(name: str, partitions: int | None, replicas: int | None) -> Topic:
    unset = FormatSpec("NONE")
    return Topic(name, unset, unset, partitions=partitions, replicas=replicas)


def timestamp_column(properties: WithProperties, schema: Schema) -> TimestampColumn | None:
    """The TIMESTAMP property, checked against the schema."""
    name, pattern = properties.timestamp, properties.text("TIMESTAMP_FORMAT")
    if name is None:
        return None
    span = properties.span("TIMESTAMP")
    column = schema.find(name)
    if column is None:
        raise PlanError(
            f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{name}'",
            hint=f"The columns are {', '.join(schema.names)}.",
            span=span,
        )
    if column.type == STRING:
        if pattern is not None:
            check_pattern(pattern, properties)
            return TimestampColumn(name, pattern)
    elif column.type in (BIGINT, TIMESTAMP):
        if pattern is not None:
            raise ConfigError(
                "'TIMESTAMP_FORMAT' set, but the timestamp column is of type "
                f"{to_sql(column.type)}",
                hint="Leave TIMESTAMP_FORMAT out.",
                span=properties.span("TIMESTAMP_FORMAT"),
            )
        return TimestampColumn(name)
    raise PlanError(
        f"Timestamp column, {quote(name)}, should be BIGINT, TIMESTAMP, or a STRING with a "
        "TIMESTAMP_FORMAT",
        hint="Add TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm:ss', in the pattern letters of Java."
        if column.type == STRING
        else f"It is of type {to_sql(column.type)}.",
        span=span,
        ksqldb=says("timestamp-column", name=quote(name)),
    )


_PATTERN_LETTERS = frozenset("GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZp")


def check_pattern(pattern: str, properties: WithProperties) -> None:
    """ConfigError for a text that is not a java.time pattern."""
    quoted = False
    for character in pattern:
        if character == "'":
            quoted = not quoted
        elif not quoted and character.isalpha() and character not in _PATTERN_LETTERS:
            raise properties.invalid(
                "TIMESTAMP_FORMAT",
                f"Unknown pattern letter: {character}. Text is quoted by single quotes: "
                "yyyy-MM-dd''T''HH:mm:ss",
            )
        elif not quoted and character in "{}#":
            raise properties.invalid(
                "TIMESTAMP_FORMAT", f"Pattern includes reserved character: '{character}'"
            )
    if quoted:
        raise properties.invalid(
            "TIMESTAMP_FORMAT", f"Pattern ends with an incomplete string literal: {pattern}"
        )
