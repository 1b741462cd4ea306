"""CREATE SOURCE TABLE with a CONNECTION: a lookup table outside Kafka."""

from __future__ import annotations

import re

from streamsql.catalog import Lookup, Source
from streamsql.errors import ConfigError, PlanError, UnsupportedError
from streamsql.nodes import CreateSource
from streamsql.planner.with_clause.files import check_path, file_format
from streamsql.planner.with_clause.properties import (
    Place,
    WithProperties,
    names_taken,
    read_properties,
)
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

CONNECTIONS = ("FILE", "JDBC")
DEFAULT_TTL = "1 MINUTE"
DEFAULT_ROWS = 100_000
_OF_FILES = ("PATH", "FORMAT")
_OF_DATABASES = ("URL", "DBTABLE", "USER", "PASSWORD", "CACHE_ROWS", "MAX_LOOKUPS_PER_SECOND")
_OTHERS = {"FILE": _OF_DATABASES, "JDBC": _OF_FILES}
"""Properties that a connection does not support."""
_KEYS = (BOOLEAN, INT, BIGINT, STRING, DATE)
_POSTGRESQL = "jdbc:postgresql:"
_SECRET = re.compile(r"\$\{(env:[^:{}]+|file:[^{}]+:[^:{}]+)\}")
_IN_URL = re.compile(r"[?&;](password|sslpassword)=|//[^/@]*:[^/@]*@", re.IGNORECASE)
_TABLE = re.compile(r'(?:[A-Za-z_]\w*|"(?:[^"]|"")+")(?:\.(?:[A-Za-z_]\w*|"(?:[^"]|"")+")){0,2}')


def lookup_source(statement: CreateSource, schema: Schema, text: str) -> Source:
    """The source that the statement declares; a StreamSQLError for an unsupported one."""
    _check_statement(statement)
    given = read_properties(statement.properties, Place.LOOKUP)
    connection = (given.text("CONNECTION") or "").upper()
    if connection not in CONNECTIONS:
        raise UnsupportedError(
            f"unknown CONNECTION '{given.text('CONNECTION')}' of a lookup table",
            hint="CONNECTION='FILE' reads files, CONNECTION='JDBC' queries a database.",
            span=given.span("CONNECTION"),
        )
    _check_taken(given, connection)
    _check_columns(schema, connection, given)
    lookup = _file(given, statement) if connection == "FILE" else _database(given, statement)
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


def _check_taken(given: WithProperties, connection: str) -> None:
    own = [name for name in names_taken(Place.LOOKUP) if name not in _OTHERS[connection]]
    for name, span in given.spans.items():
        if name not in own:
            raise ConfigError(
                f"a lookup table with CONNECTION='{connection}' has no property {name}",
                hint=f"It may have {', '.join(own)}.",
                span=span,
            )


def _check_columns(schema: Schema, connection: str, given: WithProperties) -> None:
    flat = connection == "JDBC" or file_format(given) == "CSV"
    for column in schema:
        nested = is_array(column.type) or is_map(column.type) or is_struct(column.type)
        if column in schema.headers:
            raise _no_column(column, "rows outside of Kafka have no headers")
        if column in schema.key and column.type not in _KEYS and not is_decimal(column.type):
            raise _no_column(column, "rows are not looked up by values of this type")
        if flat and nested:
            where = "a table of a database" if connection == "JDBC" else "CSV"
            raise _no_column(column, f"{where} has no such values")
        if nested and file_format(given) == "PARQUET":
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
    path = _needed("PATH", "It is a file or a folder: PATH='/data/rates.csv'.", given, statement)
    check_path(path, given, "/data/rates.csv")
    return Lookup("FILE", path.rstrip("/") or path, _ttl(given, 1_000), file_format(given))


def _database(given: WithProperties, statement: CreateSource) -> Lookup:
    example = "jdbc:postgresql://localhost:5432/shop"
    url = _needed("URL", f"It is the address of the database: URL='{example}'.", given, statement)
    if not url.startswith(_POSTGRESQL):
        raise UnsupportedError(
            "only PostgreSQL is supported for lookup tables",
            hint=f"URL='{example}'.",
            span=given.span("URL"),
        )
    if _IN_URL.search(url):
        raise given.invalid("URL", "it contains a password, which would be shown: use PASSWORD")
    table = _needed("DBTABLE", "It is the table: DBTABLE='public.users'.", given, statement)
    if not _TABLE.fullmatch(table):
        raise given.invalid("DBTABLE", "invalid name of a table", "public.users")
    rows = given.integer("CACHE_ROWS", minimum=0)
    return Lookup(
        "JDBC",
        url,
        _ttl(given, 0),
        table=table,
        user=given.text("USER") or "",
        password=_password(given),
        rows=DEFAULT_ROWS if rows is None else rows,
        per_second=given.integer("MAX_LOOKUPS_PER_SECOND", minimum=1),
    )


def _password(given: WithProperties) -> str:
    """A reference to the password, since statements are logged, exported and shown."""
    password = given.text("PASSWORD")
    if password is not None and not _SECRET.fullmatch(password):
        raise ConfigError(
            "PASSWORD must be a reference, since statements are stored and shown",
            hint="Use a reference: PASSWORD='${env:NAME}' is a variable of the environment, "
            "PASSWORD='${file:/etc/streamsql/db.properties:password}' is the entry "
            "`password=..` of a file.",
            span=given.span("PASSWORD"),
        )
    return password or ""


def _needed(name: str, hint: str, given: WithProperties, statement: CreateSource) -> str:
    value = given.text(name)
    if not value:
        raise ConfigError(
            f"CREATE SOURCE TABLE with CONNECTION='{given.text('CONNECTION')}' needs the property "
            f"{name}",
            hint=hint,
            span=statement.span,
        )
    return value
