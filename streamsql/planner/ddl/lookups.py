"""CREATE SOURCE TABLE with a CONNECTION: a lookup table outside Kafka."""

from __future__ import annotations

from streamsql.catalog import Lookup, Source
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import CreateSource
from streamsql.planner.with_clause.databases import (
    check_taken,
    database_password,
    database_table,
    database_url,
    needed,
)
from streamsql.planner.with_clause.files import check_path, file_format
from streamsql.planner.with_clause.lakes import catalog_of, table_in_lake, warehouse_of
from streamsql.planner.with_clause.properties import Place, WithProperties, read_properties
from streamsql.schema import Column, FormatSpec, Kind, Schema, Topic
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    STRING,
    is_array,
    is_decimal,
    is_map,
    is_struct,
    quote,
    to_sql,
)

CONNECTIONS = ("FILE", "JDBC", "ICEBERG")
DEFAULT_TTL = "1 MINUTE"
DEFAULT_ROWS = 100_000
_OF_FILES = ("PATH", "FORMAT")
_LOGIN = ("URL", "USER", "PASSWORD")
_OF_DATABASES = ("DBTABLE", "CACHE_ROWS", "MAX_LOOKUPS_PER_SECOND")
_OF_LAKES = ("CATALOG", "WAREHOUSE", "TABLE")
_OTHERS = {
    "FILE": (*_LOGIN, *_OF_DATABASES, *_OF_LAKES),
    "JDBC": (*_OF_FILES, *_OF_LAKES),
    "ICEBERG": (*_OF_FILES, *_OF_DATABASES),
}
"""Properties that a connection does not support."""
_KEYS = (BOOLEAN, INT, BIGINT, STRING, DATE)


def lookup_source(statement: CreateSource, schema: Schema, text: str) -> Source:
    """The source that the statement declares; a StreamSQLError for an unsupported one."""
    _check_statement(statement)
    given = read_properties(statement.properties, Place.LOOKUP)
    connection = (given.text("CONNECTION") or "").upper()
    if connection not in CONNECTIONS:
        raise UnsupportedError(
            f"unknown CONNECTION '{given.text('CONNECTION')}' of a lookup table",
            hint="CONNECTION='FILE' reads files, CONNECTION='JDBC' queries a database, "
            "CONNECTION='ICEBERG' reads a table of a lakehouse.",
            span=given.span("CONNECTION"),
        )
    check_taken(given, _OTHERS[connection], "lookup table", connection)
    _check_columns(schema, connection, given)
    lookup = _LOOKUPS[connection](given, statement)
    unset = FormatSpec("NONE")
    topic = Topic("", unset, unset)
    return Source(
        statement.name, Kind.TABLE, schema, topic, is_source=True, statement=text, lookup=lookup
    )


def _check_statement(statement: CreateSource) -> None:
    if statement.kind is not Kind.TABLE or not statement.is_source:
        raise PlanError(
            "A table with a CONNECTION is read by key lookups: use CREATE SOURCE TABLE.",
            hint=f"Write CREATE SOURCE TABLE {quote(statement.name)} (.. PRIMARY KEY, ..).",
            span=statement.span,
        )
    if statement.constraints:
        raise UnsupportedError(
            "lookup tables do not support constraints",
            hint="Put the condition into the queries that join it.",
            span=statement.constraints[0].span,
        )


def _check_columns(schema: Schema, connection: str, given: WithProperties) -> None:
    flat = connection == "JDBC" or (connection == "FILE" and file_format(given) == "CSV")
    for column in schema:
        nested = is_array(column.type) or is_map(column.type) or is_struct(column.type)
        if column in schema.headers:
            raise _no_column(column, "rows outside of Kafka have no headers")
        if column in schema.key and column.type not in _KEYS and not is_decimal(column.type):
            raise _no_column(column, "rows are not looked up by values of this type")
        if flat and nested:
            where = "a table of a database" if connection == "JDBC" else "CSV"
            raise _no_column(column, f"{where} has no such values")
        if nested and connection == "FILE" and file_format(given) == "PARQUET":
            raise _no_column(column, "of Parquet files only columns with plain values are read")


def _no_column(column: Column, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"a lookup table cannot have the column {quote(column.name)} of type "
        f"{to_sql(column.type)}: {why}",
        hint="Omit it, or CAST the compared expression; keys are BOOLEAN, INT, BIGINT, "
        "DECIMAL, STRING or DATE.",
    )


# -- WITH ----------------------------------------------------------------------------------------


def _ttl(given: WithProperties, least_ms: int) -> int:
    ttl = given.duration("CACHE_TTL", given.text("CACHE_TTL") or DEFAULT_TTL)
    if ttl.ms < least_ms:
        raise given.invalid("CACHE_TTL", "it is less than a second", "10 SECONDS")
    return ttl.ms


def _file(given: WithProperties, statement: CreateSource) -> Lookup:
    path = needed(
        "PATH", "It is a file or a folder: PATH='/data/rates.csv'.", given, statement.span
    )
    check_path(path, given, "/data/rates.csv")
    return Lookup("FILE", path.rstrip("/") or path, _ttl(given, 1_000), file_format(given))


def _database(given: WithProperties, statement: CreateSource) -> Lookup:
    url = database_url(given, "lookup table", statement.span)
    table = database_table("DBTABLE", given, statement.span)
    rows = given.integer("CACHE_ROWS", minimum=0)
    return Lookup(
        "JDBC",
        url,
        _ttl(given, 0),
        table=table,
        user=given.text("USER") or "",
        password=database_password(given),
        rows=DEFAULT_ROWS if rows is None else rows,
        per_second=given.integer("MAX_LOOKUPS_PER_SECOND", minimum=1),
    )


def _lake(given: WithProperties, statement: CreateSource) -> Lookup:
    catalog, url = catalog_of(given)
    warehouse = warehouse_of(given, statement.span)
    return Lookup(
        "ICEBERG",
        url or warehouse,
        _ttl(given, 1_000),
        table=table_in_lake(given, statement.span),
        user=given.text("USER") or "",
        password=database_password(given),
        catalog=catalog,
        warehouse=warehouse,
    )


_LOOKUPS = {"FILE": _file, "JDBC": _database, "ICEBERG": _lake}
