"""CREATE SINK with CONNECTION='JDBC': rows of a stream, table or view in a table of a database."""

from __future__ import annotations

from streamsql.catalog import ExternalSink, Source
from streamsql.nodes import CreateSink
from streamsql.planner.operators import DatabaseSink, Operator
from streamsql.planner.sink_rows import check_whole, mode_of, row_keys
from streamsql.planner.with_clause.databases import (
    database_password,
    database_table,
    sink_url,
)
from streamsql.planner.with_clause.properties import WithProperties

PROPERTIES = ("URL", "TABLE", "MODE", "USER", "PASSWORD", "BATCH_ROWS")
INTERVAL = "1 SECOND"
DEFAULT_ROWS = 5_000


def database_target(
    statement: CreateSink, source: Source, query_id: str, given: WithProperties, text: str
) -> ExternalSink:
    """The table; UnsupportedError where its mode does not fit the source."""
    return ExternalSink(
        statement.name,
        source.name,
        query_id,
        "JDBC",
        sink_url(given, statement.span),
        mode_of(given, source),
        text,
        database_table("TABLE", given, statement.span),
        given.text("USER") or "",
        database_password(given),
    )


def database_sink(
    rows: Operator, source: Source, target: ExternalSink, interval_ms: int, given: WithProperties
) -> DatabaseSink:
    check_whole(source)
    upserts = target.format == "UPSERT"
    keys = row_keys(source) if upserts else ()
    most = given.integer("BATCH_ROWS", minimum=1) or DEFAULT_ROWS
    return DatabaseSink(rows, target, interval_ms, source.topic.name, keys, most)
