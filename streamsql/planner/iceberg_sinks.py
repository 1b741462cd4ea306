"""CREATE SINK with CONNECTION='ICEBERG': rows of a stream, table or view in a table of Iceberg."""

from __future__ import annotations

import re

from streamsql.catalog import ExternalSink, Source
from streamsql.errors import BindError, UnsupportedError, did_you_mean
from streamsql.nodes import CreateSink
from streamsql.planner.iceberg_columns import PROPERTIES as _OF_COLUMNS
from streamsql.planner.iceberg_columns import other_columns, written_columns
from streamsql.planner.operators import IcebergSink, Operator, PartitionTransform
from streamsql.planner.sink_rows import check_whole, mode_of, row_keys
from streamsql.planner.with_clause.databases import database_password
from streamsql.planner.with_clause.lakes import catalog_of, table_in_lake, warehouse_of
from streamsql.planner.with_clause.names import NAME, name_of
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.schema import Column
from streamsql.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    quote,
    to_sql,
)

PROPERTIES = (
    "CATALOG",
    "WAREHOUSE",
    "URL",
    "TABLE",
    "MODE",
    "USER",
    "PASSWORD",
    "PARTITION_BY",
    "SNAPSHOT_RETENTION",
    *_OF_COLUMNS,
    "PART_OF",
)
INTERVAL = "10 SECONDS"
_TRANSFORM = re.compile(
    r"\s*(?:(?P<transform>[A-Za-z]+)\s*\(\s*(?:(?P<width>\d+)\s*,\s*)?)?"
    rf"{NAME}(?(transform)\s*\))\s*(?:,|$)"
)
_TRANSFORMS = {
    **{n: n for n in ("identity", "year", "month", "day", "hour", "bucket", "truncate")},
    **{f"{n}s": n for n in ("year", "month", "day", "hour")},
}
_WITH_WIDTH = ("bucket", "truncate")
_OF = {
    "year": (DATE, TIMESTAMP),
    "month": (DATE, TIMESTAMP),
    "day": (DATE, TIMESTAMP),
    "hour": (TIMESTAMP,),
    "bucket": (INT, BIGINT, STRING, BYTES, DATE, TIME, TIMESTAMP),
    "truncate": (INT, BIGINT, STRING, BYTES),
}
_WITH_DECIMALS = ("bucket", "truncate", "identity")


def iceberg_target(
    statement: CreateSink, source: Source, query_id: str, given: WithProperties, text: str
) -> ExternalSink:
    """The table; UnsupportedError where its mode does not fit the source."""
    return ExternalSink(
        statement.name,
        source.name,
        query_id,
        "ICEBERG",
        warehouse_of(given, statement.span),
        mode_of(given, source),
        text,
        table_in_lake(given, statement.span),
        given.text("USER") or "",
        database_password(given),
    )


def iceberg_sink(
    rows: Operator, source: Source, target: ExternalSink, interval_ms: int, given: WithProperties
) -> IcebergSink:
    check_whole(source)
    keys = row_keys(source) if target.format == "UPSERT" else ()
    names = [column.name for column in rows.schema]
    written = written_columns(names, keys, target.reads, given)
    there = {column.name: column for column in rows.schema}
    columns = {column.name: there[column.name] for column in written}
    for key in keys:
        _check_key(columns[key], given)
    return IcebergSink(
        rows,
        target,
        interval_ms,
        source.topic.name,
        keys,
        *catalog_of(given),
        _partition_by(columns, keys, target, given),
        retention_of(given),
        written,
        other_columns("DROP_COLUMNS", written, given),
        other_columns("KEEP_COLUMNS", written, given),
    )


def retention_of(given: WithProperties) -> int:
    """SNAPSHOT_RETENTION in milliseconds; 0 if it is not given."""
    text = given.text("SNAPSHOT_RETENTION")
    return given.duration("SNAPSHOT_RETENTION", text).ms if text else 0


def _check_key(column: Column, given: WithProperties) -> None:
    """UnsupportedError for a type of which Iceberg compares no values."""
    if column.type == DOUBLE or _is_nested(column.type):
        raise UnsupportedError(
            f"Iceberg cannot replace rows by the key {quote(column.name)} of type "
            f"{to_sql(column.type)}",
            hint="MODE='APPEND' writes a row for each record of a stream.",
            span=given.span("MODE"),
        )


# -- PARTITION_BY --------------------------------------------------------------------------------


def _partition_by(
    columns: dict[str, Column],
    keys: tuple[str, ...],
    target: ExternalSink,
    given: WithProperties,
) -> tuple[PartitionTransform, ...]:
    text = given.text("PARTITION_BY")
    if text is None:
        return ()
    transforms = _transforms(text, given)
    for transform in transforms:
        name, span = transform.column, given.span("PARTITION_BY")
        if name not in columns:
            raise BindError(
                f"PARTITION_BY: {target.reads} has no column {quote(name)}.",
                hint=did_you_mean(name, columns) or f"It has {', '.join(columns)}.",
                span=span,
            )
        if not _takes(transform.name, columns[name].type):
            raise UnsupportedError(
                f"PARTITION_BY: {transform.text} of a column of type {to_sql(columns[name].type)}",
                span=span,
            )
        if keys and name not in keys:
            raise UnsupportedError(
                f"PARTITION_BY: {quote(name)} is not in the key: MODE='UPSERT' cannot find the row "
                "that it replaces",
                hint=f"Partition by {', '.join(map(quote, keys))}.",
                span=span,
            )
    return transforms


def _transforms(text: str, given: WithProperties) -> tuple[PartitionTransform, ...]:
    found: list[PartitionTransform] = []
    place = 0
    while match := _TRANSFORM.match(text, place):
        found.append(_transform(match, given))
        place = match.end()
    ends_in_comma = text.rstrip().endswith(",")
    if place < len(text) or not found or ends_in_comma or len(set(found)) < len(found):
        why = f"'{text}' is not a list of columns and transforms"
        raise given.invalid("PARTITION_BY", why, "days(ts), bucket(16, id)")
    return tuple(found)


def _transform(match: re.Match[str], given: WithProperties) -> PartitionTransform:
    written = (match["transform"] or "identity").lower()
    name, width = _TRANSFORMS.get(written), int(match["width"] or 0)
    if name is None:
        known = "year, month, day, hour, bucket, truncate"
        raise given.invalid("PARTITION_BY", f"'{written}' is not one of {known}", "days(ts)")
    if (name in _WITH_WIDTH) != (width > 0):
        example = "bucket(16, id)" if name in _WITH_WIDTH else f"{written}(ts)"
        raise given.invalid("PARTITION_BY", f"the arguments of {written}", example)
    return PartitionTransform(name, name_of(match), width)


def _takes(transform: str, t: SQLType) -> bool:
    if is_decimal(t):
        return transform in _WITH_DECIMALS
    if transform == "identity":
        return t != DOUBLE and not _is_nested(t)
    return t in _OF[transform]


def _is_nested(t: SQLType) -> bool:
    return is_array(t) or is_map(t) or is_struct(t)
