"""Change data capture formats: changes of a database's rows as written by capture tools. Read-only.
A table has the columns of the database's table. A stream has a row per change, in columns
identified by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from streamsql.formats.base import Format, maps_have_text_keys
from streamsql.schema import Column, FormatSpec, Kind
from streamsql.types import (
    BIGINT,
    BYTES,
    STRING,
    SQLType,
    element_type,
    is_array,
    is_struct,
    quote,
    to_sql,
)

OP, BEFORE, AFTER, SOURCE, TIME = "OP", "BEFORE", "AFTER", "SOURCE", "TS_MS"
STREAM_COLUMNS = (OP, BEFORE, AFTER, SOURCE, TIME)
"""Value columns of a stream of changes."""

TIMESTAMPS, TIMES, DECIMALS = "timestamp.precision", "time.precision", "decimal.mode"
UNAVAILABLE = "unavailable.values"
"""The codecs' names of the options in `OPTIONS`."""
_PRECISIONS = ("MILLISECONDS", "MICROSECONDS", "NANOSECONDS")
OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "TIMESTAMP_PRECISION": (TIMESTAMPS, _PRECISIONS),
    "TIME_PRECISION": (TIMES, _PRECISIONS),
    "DECIMAL_HANDLING_MODE": (DECIMALS, ("PRECISE", "STRING")),
    "UNAVAILABLE_VALUES": (UNAVAILABLE, ("KEEP", "LOG")),
}
"""Properties of WITH for values that no schema describes or that are omitted, and their values."""
KEPT = "KEEP"
"""UNAVAILABLE: an omitted value is that of the previous row."""
PLACEHOLDER = "__debezium_unavailable_value"
"""Placeholder of a large PostgreSQL value that is unchanged and therefore not in the log."""


def stored_columns(spec: FormatSpec, kind: Kind, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Value columns of a source that a database may store out of line, if unchanged values are
    kept; otherwise empty."""
    if kind is not Kind.TABLE or spec.properties.get(UNAVAILABLE) != KEPT:
        return ()
    return tuple(column for column in columns if _may_be_large(column.type))


def _may_be_large(kind: SQLType) -> bool:
    return (element_type(kind) if is_array(kind) else kind) in (STRING, BYTES)


class ChangeFormat(Format):
    """Records that describe changes of rows."""

    remedy: ClassVar[str | None] = "Declare the map's keys as STRING."
    options: ClassVar[frozenset[str]] = frozenset()
    """Which of `OPTIONS` apply."""

    def problem(self, columns: Sequence[Column]) -> str | None:
        if all(maps_have_text_keys(column.type) for column in columns):
            return None
        return f"{self.name} only supports MAP types with STRING keys"

    def stream_problem(self, columns: Sequence[Column]) -> str | None:
        """Why these value columns do not fit a stream of changes, or None."""
        for column in columns:
            wanted = _wanted(column.name, column.type)
            if wanted is not None:
                return f"{quote(column.name)} {to_sql(column.type)} is no {wanted}"
        rows = [column.type for column in columns if column.name in (BEFORE, AFTER)]
        if len(rows) == 2 and rows[0] != rows[1]:
            return f"{BEFORE} and {AFTER} are of different types"
        return None


def _wanted(name: str, kind: SQLType) -> str | None:
    """The expected type of a column; None if it is correct."""
    match name:
        case "OP":
            return None if kind == STRING else "STRING"
        case "TS_MS":
            return None if kind == BIGINT else "BIGINT"
        case "BEFORE" | "AFTER" | "SOURCE":
            return None if is_struct(kind) else "STRUCT"
    return "part of a change"


class DebeziumJsonFormat(ChangeFormat):
    """Debezium's envelope in JSON, with or without its schema."""

    name: ClassVar[str] = "DEBEZIUM_JSON"
    written_as: ClassVar[str | None] = "JSON"
    options: ClassVar[frozenset[str]] = frozenset(OPTIONS)


class DebeziumAvroFormat(ChangeFormat):
    """Debezium's envelope in Avro."""

    name: ClassVar[str] = "DEBEZIUM_AVRO"
    written_as: ClassVar[str | None] = "AVRO"
    reads_by_id: ClassVar[bool] = True
    options: ClassVar[frozenset[str]] = frozenset({"UNAVAILABLE_VALUES"})


class MaxwellJsonFormat(ChangeFormat):
    """Maxwell's JSON."""

    name: ClassVar[str] = "MAXWELL_JSON"
    written_as: ClassVar[str | None] = "JSON"


class CanalJsonFormat(ChangeFormat):
    """Canal's flat messages."""

    name: ClassVar[str] = "CANAL_JSON"
    written_as: ClassVar[str | None] = "JSON"
