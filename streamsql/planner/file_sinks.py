"""CREATE SINK with CONNECTION='FILE': a stream's rows as files."""

from __future__ import annotations

from streamsql.catalog import ExternalSink, Source
from streamsql.errors import BindError, UnsupportedError, did_you_mean
from streamsql.formats.base import maps_have_text_keys
from streamsql.nodes import CreateSink
from streamsql.planner.operators import FileSink, Operator
from streamsql.planner.with_clause.databases import needed
from streamsql.planner.with_clause.files import check_path, file_format
from streamsql.planner.with_clause.names import listed_names
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.schema import Column, Kind
from streamsql.types import BIGINT, BOOLEAN, DATE, INT, STRING, is_array, is_map, is_struct, quote
from streamsql.types import to_sql as type_text

PROPERTIES = ("PATH", "FORMAT", "PARTITION_BY")
INTERVAL = "60 SECONDS"
_PARTITIONED_BY = (STRING, INT, BIGINT, BOOLEAN, DATE)


def file_target(
    statement: CreateSink, source: Source, query_id: str, given: WithProperties, text: str
) -> ExternalSink:
    """The folder; UnsupportedError for a table."""
    if source.kind is Kind.TABLE:
        raise UnsupportedError(
            f"{source.name} is a table: files are append-only and cannot retract rows",
            hint=f"Declare a stream over its topic, '{source.topic.name}', to write a row for each "
            "change, "
            "or query the table for its current content.",
            span=statement.span,
        )
    name, path = statement.name, _path(given, statement)
    return ExternalSink(name, source.name, query_id, "FILE", path, file_format(given), text)


def file_sink(
    rows: Operator, target: ExternalSink, interval_ms: int, given: WithProperties
) -> FileSink:
    columns = rows.schema.columns
    _check_columns(columns, target, given)
    return FileSink(rows, target, interval_ms, _partition_by(columns, target, given))


def _path(given: WithProperties, statement: CreateSink) -> str:
    hint = "It is the folder of the files: PATH='/data/orders'."
    path = needed("PATH", hint, given, statement.span)
    check_path(path, given, "/data/orders")
    shortened = path.rstrip("/")
    if not shortened or shortened.endswith(":"):
        raise given.invalid("PATH", "it is the root of a file system", "/data/orders")
    return shortened


def _partition_by(
    columns: tuple[Column, ...], target: ExternalSink, given: WithProperties
) -> tuple[str, ...]:
    span = given.span("PARTITION_BY")
    names = listed_names("PARTITION_BY", given)
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
