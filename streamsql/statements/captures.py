"""Statements about captured tables of databases."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.catalog import Source
from streamsql.errors import ConfigError, StreamSQLError
from streamsql.executor.captures import connector_name, connectors_of, described
from streamsql.nodes import DescribeDatabase
from streamsql.planner.ddl.captures import existing_database, other_columns
from streamsql.results import Field, Result, Rows, Text, Warning
from streamsql.runtime.state import Context, EngineState
from streamsql.statements.dispatch import handle

SETTLE_SECONDS = 60.0


def check_captures(source: Source, state: EngineState) -> None:
    """Raises a StreamSQLError if a new source is captured, and a connector could not do so, or the
    topic already has records."""
    capture, topic = source.capture, source.topic.name
    if capture is None:
        return
    client = state.services.capturing()
    catalog = state.catalog.copy()
    catalog.put(source)
    name = connector_name(capture, topic, state.data.instance)
    connector = connectors_of(catalog, state.data.instance)[name]
    client.validate({"name": name, **connector.config})
    kafka = state.services.kafka.get()
    if kafka.partitions(topic) is not None and any(kafka.end_offsets(topic).values()):
        raise ConfigError(
            f"the topic {topic} has records, and changes are written to a topic of their own",
            hint="Name another topic: WITH (KAFKA_TOPIC='name', ..).",
        )


@handle.register
def describe_database(statement: DescribeDatabase, context: Context) -> Iterable[Result]:
    """DESCRIBE SOURCE: the database, and the streams and tables that are captured from it."""
    state = context.state
    database = existing_database(statement.name, state.catalog, statement.span)
    login = database.login
    facts = {
        "Name": database.name,
        "Connection": "POSTGRES",
        "URL": login.url,
        "User": login.user,
        "Password": login.password,
        "Connector": state.captures.connector_of(database.name),
        "Statement": database.statement,
    }
    lines = [f"{title:<10}: {fact}" for title, fact in facts.items() if fact]
    rows = [
        (source.name, source.kind.value, f"{capture.schema}.{capture.table}", source.topic.name)
        + (snapshot.value if snapshot else "UNKNOWN",)
        for source in sorted(state.catalog.captured_from(database.name), key=lambda s: s.name)
        if (capture := source.capture) is not None
        for snapshot in (state.captures.snapshot(capture, source.topic.name),)
    ]
    fields = ("Name", "Type", "Table", "Kafka Topic", "Snapshot")
    return [Text("\n".join(lines)), Rows(tuple(map(Field, fields)), rows)]


def changed_columns(source: Source, state: EngineState) -> list[Result]:
    """Warnings where a captured source has other columns than its table in the database."""
    capture = source.capture
    if capture is None:
        return []
    table = f"{capture.schema}.{capture.table}"
    if state.services.current_spark() is None:
        return [Warning(f"The columns of {table} are not known yet.")]
    try:
        missing, more = other_columns(source, described(capture, state.services))
    except StreamSQLError as error:
        return [Warning(f"The columns of {table} are not known: {error.message}")]
    found: list[Result] = [
        Warning(f"{table} no longer has the column {name}: its values are null in new rows.")
        for name in missing
    ]
    if more:
        found.append(Text(f"Columns of {table} that are left out: {', '.join(more)}"))
    return found


def unsettled(state: EngineState, what: str) -> list[Warning]:
    """A warning if the connectors do not follow the catalog soon."""
    error = state.captures.settled(SETTLE_SECONDS)
    if error is None:
        return []
    why = f"{error.message}: {error.detail}" if error.detail else error.message
    return [Warning(f"{what}, which is retried: {why}")]
