"""Rows of tables outside Kafka: which ones a row replaces, by which key."""

from __future__ import annotations

from streamsql.catalog import Source
from streamsql.errors import UnsupportedError
from streamsql.formats.changes import stored_columns
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.schema import ROW_KEY, Kind
from streamsql.types import quote

SHOWN_KEY = "ROW_KEY"
_MODES = ("UPSERT", "APPEND")


def selected(source: Source) -> str:
    """The columns in SQL: a hidden key has a name outside Kafka, where rows need it."""
    return f"{quote(ROW_KEY)} AS {SHOWN_KEY}, *" if _has_hidden_key(source) else "*"


def row_keys(source: Source) -> tuple[str, ...]:
    if _has_hidden_key(source):
        return (SHOWN_KEY,)
    return tuple(c.name for c in source.primary_key)


def _has_hidden_key(source: Source) -> bool:
    return [c.name for c in source.schema.key] == [ROW_KEY]


def mode_of(given: WithProperties, source: Source) -> str:
    """UPSERT or APPEND; UnsupportedError where it does not fit the source."""
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


def check_whole(source: Source) -> None:
    """UnsupportedError for a source whose rows take values from earlier ones, which a shuffle
    provides: then rows are not in the order of their offsets."""
    if stored_columns(source.topic.value_format, source.kind, source.schema.value):
        raise UnsupportedError(
            f"{source.name} has changes that omit values: a sink cannot write them",
            hint=f"CREATE TABLE .. AS SELECT * FROM {quote(source.name)} makes a table of whole "
            "rows, which a sink can read.",
        )
