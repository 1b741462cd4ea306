"""The stream or table of CREATE .. AS SELECT: its schema, formats and topic."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.catalog import Source
from streamsql.errors import PlanError
from streamsql.nodes import CreateAsSelect
from streamsql.parser.generate.statements import to_sql
from streamsql.planner.ddl.schema_inference import check_written_by
from streamsql.planner.ddl.sources import timestamp_column
from streamsql.planner.ddl.topics import Growth, check_conforms, existing_topic
from streamsql.planner.operators import Operator, Sink
from streamsql.planner.plans.statements import SchemaLookup, TopicLookup
from streamsql.planner.select.build import Built
from streamsql.planner.select.constraints import bound_constraints
from streamsql.planner.with_clause.format_choice import formats_of_sink
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.properties import INHERIT_REPLICAS, TOPIC_PREFIX, get_bool, get_text
from streamsql.schema import Kind, Topic
from streamsql.types import SQLType


def new_sink(
    statement: CreateAsSelect,
    built: Built,
    properties: WithProperties,
    session: Mapping[str, str],
    topics: TopicLookup | None,
    query_id: str,
    schemas: SchemaLookup | None = None,
    growth: Growth | None = None,
) -> tuple[Source, bool]:
    """The sink, and whether to create its topic; `growth` of a replaced sink."""
    schema = built.root.schema
    origin = built.source.origin.source.topic
    key_format, value_format = formats_of_sink(
        properties, session, schema, built.source.key_format, origin.value_format
    )
    check_written_by(schema, key_format, value_format, schemas)
    name = properties.kafka_topic
    if name is None:
        name = (get_text(session, TOPIC_PREFIX) or "") + statement.name
    found = existing_topic(topics, name)
    if found is not None:
        check_conforms(found, name, properties, growth)
        partitions: int | None = properties.partitions or found.partitions
        replicas: int | None = found.replicas
    else:
        partitions = properties.partitions or origin.partitions
        inherits = get_bool(session, INHERIT_REPLICAS)
        replicas = properties.replicas or (origin.replicas if inherits else None)
    topic = Topic(
        name,
        key_format,
        value_format,
        built.window,
        partitions,
        replicas,
        _retention(statement, built, properties),
    )
    source = Source(
        statement.name,
        statement.kind,
        schema,
        topic,
        timestamp_column(properties, schema),
        created_by_query=query_id,
        statement=to_sql(statement),
    )
    return source, topics is not None and found is None


def sink_of(rows: Operator, target: Source, types: Mapping[str, SQLType]) -> Sink:
    """The target of a query's rows, and its constraints."""
    constraints = bound_constraints(target.expected_of_writes, target, types)
    return Sink(rows, target, target.timestamp, constraints)


def _retention(statement: CreateAsSelect, built: Built, properties: WithProperties) -> int | None:
    """The given retention, or that of the source's topic; a windowed table keeps its windows'
    RETENTION. The default RETENTION of a window does not limit the topic: Kafka measures a record's
    age by the wall clock, so the results of replayed history would disappear immediately."""
    given = properties.retention_ms
    if statement.kind is Kind.TABLE and built.window is None:
        if given is not None:
            raise PlanError(
                "Non-windowed tables do not support retention.",
                hint="Their topics are compacted, and Kafka keeps the latest value of each key.",
                span=properties.span("RETENTION_MS"),
            )
        return None
    window = statement.query.window
    if window is None:
        return given if given is not None else built.source.origin.source.topic.retention_ms
    retention = built.retention_ms
    if given is None or retention is None:
        return retention if given is None else given
    return given if given < 0 else max(given, retention)
