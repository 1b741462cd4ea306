"""CREATE SINK with CONNECTION='JDBC': rows of a stream, table or view in a table of a database."""

from __future__ import annotations

from streamsql.catalog import ExternalSink, Source
from streamsql.errors import UnsupportedError
from streamsql.formats.changes import stored_columns
from streamsql.nodes import CreateSink
from streamsql.planner.operators import DatabaseSink, Operator
from streamsql.planner.with_clause.databases import (
    database_password,
    database_table,
    database_url,
)
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.schema import ROW_KEY, WINDOW_BOUNDS, Kind
from streamsql.types import quote

PROPERTIES = ("URL", "TABLE", "MODE", "USER", "PASSWORD", "BATCH_ROWS")
INTERVAL = "1 SECOND"
DEFAULT_ROWS = 5_000
SHOWN_KEY = "ROW_KEY"
_MODES = ("UPSERT", "APPEND")


def database_target(
    statement: CreateSink, source: Source, query_id: str, given: WithProperties, text: str
) -> ExternalSink:
    """The table; UnsupportedError where its mode does not fit the source."""
    return ExternalSink(
        statement.name,
        source.name,
        query_id,
        "JDBC",
        database_url(given, "sink", statement.span),
        _mode(given, source),
        text,
        database_table("TABLE", given, statement.span),
        given.text("USER") or "",
        database_password(given),
    )


def database_sink(
    rows: Operator, source: Source, target: ExternalSink, interval_ms: int, given: WithProperties
) -> DatabaseSink:
    _check_whole(source)
    upserts = target.format == "UPSERT"
    keys = _keys(source) if upserts else ()
    most = given.integer("BATCH_ROWS", minimum=1) or DEFAULT_ROWS
    return DatabaseSink(rows, target, interval_ms, source.topic.name, keys, most)


def selected(source: Source) -> str:
    """The columns in SQL: a hidden key has a name in the database, which needs it."""
    return f"{quote(ROW_KEY)} AS {SHOWN_KEY}, *" if _has_hidden_key(source) else "*"


def _keys(source: Source) -> tuple[str, ...]:
    if _has_hidden_key(source):
        return (SHOWN_KEY,)
    bounds = WINDOW_BOUNDS if source.is_windowed else ()
    return tuple(c.name for c in (*source.schema.key, *bounds))


def _has_hidden_key(source: Source) -> bool:
    return [c.name for c in source.schema.key] == [ROW_KEY]


def _mode(given: WithProperties, source: Source) -> str:
    default = "UPSERT" if source.kind is Kind.TABLE else "APPEND"
    mode, span = (given.text("MODE") or default).upper(), given.span("MODE")
    if mode not in _MODES:
        raise given.invalid("MODE", f"'{mode}' is not one of {', '.join(_MODES)}", default)
    if mode == "APPEND" and source.kind is Kind.TABLE:
        raise UnsupportedError(
            f"{source.name} is a table: MODE='APPEND' can neither replace nor delete its rows",
            hint="MODE='UPSERT' does; or declare a stream over its topic, "
            f"'{source.topic.name}', to append a row for each change.",
            span=span,
        )
    if mode == "UPSERT" and not source.schema.key:
        raise UnsupportedError(
            f"{source.name} has no key, by which MODE='UPSERT' replaces rows",
            hint="MODE='APPEND' writes a row for each record; or PARTITION BY a column first.",
            span=span,
        )
    return mode


def _check_whole(source: Source) -> None:
    """UnsupportedError for a source whose rows take values from earlier ones, which a shuffle
    provides: then rows are not in the order of their offsets."""
    if stored_columns(source.topic.value_format, source.kind, source.schema.value):
        raise UnsupportedError(
            f"{source.name} has changes that omit values: a sink cannot write them",
            hint=f"CREATE TABLE .. AS SELECT * FROM {quote(source.name)} makes a table of whole "
            "rows, which a sink can read.",
        )
