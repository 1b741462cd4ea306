"""CREATE STREAM | TABLE with CONNECTION='POSTGRES' or FROM SOURCE: a table of PostgreSQL, whose
changes a connector writes to the topic. Its columns are those of the database, unless the statement
lists some."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import parse_qsl, unquote, urlsplit

from streamsql.catalog import Capture, Catalog, Database, Source
from streamsql.errors import CatalogError, ConfigError, Span, UnsupportedError, did_you_mean
from streamsql.formats.changes import AFTER, BEFORE, OP, SOURCE, TIME
from streamsql.nodes import CreateSource
from streamsql.planner.plans.statements import SchemaLookup
from streamsql.planner.with_clause.databases import (
    checked_table,
    database_password,
    database_table,
    needed,
)
from streamsql.planner.with_clause.properties import (
    Place,
    WithProperties,
    names_taken,
    read_properties,
)
from streamsql.schema import Column, Kind, Namespace
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    SQLType,
    array,
    decimal,
    fields,
    quote,
    struct,
)
from streamsql.types import (
    TIME as TIME_OF_DAY,
)

EXAMPLE = "postgres://localhost:5432/shop"
PORT = 5432
_NAMES = re.compile(r'"(?:[^"]|"")+"|\w+')
_FOLDED = re.compile(r"[a-z_][a-z0-9_]*")
_FORM = {
    "VALUE_FORMAT": "DEBEZIUM_JSON",
    "DECIMAL_HANDLING_MODE": "STRING",
    "TIMESTAMP_PRECISION": "MILLISECONDS",
    "TIME_PRECISION": "MILLISECONDS",
}
"""How the connector writes changes."""
_TYPES = {
    "boolean": BOOLEAN,
    "smallint": INT,
    "integer": INT,
    "bigint": BIGINT,
    "real": DOUBLE,
    "double precision": DOUBLE,
    "bytea": BYTES,
    "date": DATE,
    "time without time zone": TIME_OF_DAY,
    "timestamp without time zone": TIMESTAMP,
    "timestamp with time zone": TIMESTAMP,
    **dict.fromkeys(
        (
            "numeric",
            "text",
            "character varying",
            "character",
            "bpchar",
            "citext",
            "uuid",
            "json",
            "jsonb",
            "xml",
            "inet",
            "cidr",
            "macaddr",
            "interval",
            "time with time zone",
        ),
        STRING,
    ),
}
_IN_ARRAYS = ("boolean", "smallint", "integer", "bigint", "text", "character varying", "uuid")
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_LENGTH = re.compile(r"\(\d+(,-?\d+)?\)")


def captured(
    statement: CreateSource, catalog: Catalog, schemas: SchemaLookup | None
) -> tuple[Capture, WithProperties, Sequence[Column]]:
    """What is captured, the properties of a source of its changes, and the columns that are not
    listed. A StreamSQLError for what cannot be captured."""
    if (origin := statement.origin) is not None:
        given, span = read_properties(statement.properties, Place.FROM_DATABASE), origin.span
        login = existing_database(origin.database, catalog, origin.span).login
        capture = _of(login, checked_table(origin.table, origin.span))
        _check_captured_once(statement, capture, catalog)
    else:
        given = read_properties(statement.properties, Place.CAPTURE)
        table, span = database_table("TABLE", given, statement.span), given.span("TABLE")
        capture = _of(database_login(given, statement.span), table)
    texts = {"KAFKA_TOPIC": statement.name, "PARTITIONS": "1", **_FORM}
    texts |= {n: given.texts[n] for n in names_taken(Place.FROM_DATABASE) if n in given.texts}
    if statement.kind is Kind.TABLE:
        texts["UNAVAILABLE_VALUES"] = "KEEP"
    properties = WithProperties(Place.CREATE, texts, given.spans)
    columns = () if statement.columns else _columns(statement, capture, span, schemas)
    return capture, properties, columns


def check_capture(existing: Source, source: Source, span: Span | None) -> None:
    """UnsupportedError for a replacement that would change what is captured."""
    if existing.capture != source.capture:
        raise UnsupportedError(
            f"CREATE OR REPLACE cannot change the CONNECTION of {quote(source.name)}",
            hint="DROP it, and create it with another KAFKA_TOPIC.",
            span=span,
        )


def existing_database(name: str, catalog: Catalog, span: Span | None) -> Database:
    """CatalogError if there is none of this name."""
    found = catalog.databases.get(name)
    if found is None:
        raise CatalogError(
            f"Source {name} does not exist.",
            hint=did_you_mean(name, catalog.databases) or "SHOW SOURCES lists the sources.",
            span=span,
        )
    return found


def _check_captured_once(statement: CreateSource, capture: Capture, catalog: Catalog) -> None:
    for other in catalog.captured_from(capture.origin):
        assert other.capture is not None
        if other.capture == capture and other.name != statement.name:
            raise CatalogError(
                f"{capture.schema}.{capture.table} of the source {capture.origin} is already "
                f"captured by {other.name}",
                hint=f"Create a stream or table over its topic: KAFKA_TOPIC='{other.topic.name}', "
                "VALUE_FORMAT='DEBEZIUM_JSON'.",
                span=statement.origin.span if statement.origin else None,
            )


def database_login(given: WithProperties, span: Span | None) -> Capture:
    """Where the database is and who logs in, without a table."""
    url = needed("URL", f"It is the address of the database: URL='{EXAMPLE}'.", given, span)
    parts = urlsplit(url.removeprefix("jdbc:"))
    if parts.scheme not in ("postgres", "postgresql") or not parts.hostname:
        raise given.invalid("URL", "it is not the URL of a PostgreSQL", EXAMPLE)
    if parts.password is not None:
        raise given.invalid("URL", "it contains a password, which would be shown: use PASSWORD")
    options = dict(parse_qsl(parts.query))
    if options.keys() - {"sslmode"}:
        raise UnsupportedError(
            f"the URL of a captured table has no option {min(options.keys() - {'sslmode'})}",
            hint="It may have sslmode.",
            span=given.span("URL"),
        )
    database = unquote(parts.path.strip("/"))
    if not database:
        raise given.invalid("URL", "it names no database", EXAMPLE)
    user = given.text("USER") or unquote(parts.username or "")
    if not user:
        raise ConfigError(
            "a captured table needs the property USER",
            hint="The user has the attribute REPLICATION, and owns the table.",
            span=span,
        )
    password, sslmode = database_password(given), options.get("sslmode", "")
    return Capture(parts.hostname, parts.port or PORT, database, "", "", user, password, sslmode)


def _of(login: Capture, table: str) -> Capture:
    names = [_folded(name) for name in _NAMES.findall(table)]
    return replace(login, schema=names[-2] if len(names) > 1 else "public", table=names[-1])


def _folded(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


# -- columns -------------------------------------------------------------------------------------


def _columns(
    statement: CreateSource,
    capture: Capture,
    span: Span | None,
    schemas: SchemaLookup | None,
) -> list[Column]:
    found = None if schemas is None else schemas.table(capture)
    if found is None:
        raise UnsupportedError(
            f"the columns of {capture.schema}.{capture.table} are not known without the database",
            hint="List the columns, or run the statement instead of checking it.",
            span=statement.span,
        )
    table = f"{capture.schema}.{capture.table}"
    described: list[tuple[str, str, str | None]] = [tuple(row) for row in json.loads(found.text)]
    if not described:
        raise ConfigError(
            f"the database {capture.database} has no table {table}",
            span=span,
        )
    keys = sorted((int(place), name) for name, _, place in described if place is not None)
    if not keys:
        raise UnsupportedError(
            f"{table} has no primary key",
            hint="Changes are of rows with a key: ALTER TABLE .. ADD PRIMARY KEY.",
            span=span,
        )
    columns = {
        name: Column(_name(name), _type(name, kind, table, span)) for name, kind, _ in described
    }
    key = [Column(c.name, c.type, Namespace.KEY) for c in (columns[name] for _, name in keys)]
    if statement.kind is Kind.TABLE:
        names = {column.name for column in key}
        return [*key, *(c for c in columns.values() if c.name not in names)]
    return [*key, *_changes(list(columns.values()))]


def other_columns(source: Source, text: str) -> tuple[list[str], list[str]]:
    """The columns of a captured source that its table in the database does not have, and those that
    only the database has; `text` describes the table."""
    row = source.schema.names
    if source.kind is Kind.STREAM:
        after = source.schema.find(AFTER)
        row = () if after is None else tuple(name for name, _ in fields(after.type))
        row = (*(column.name for column in source.schema.key), *row)
    found = [_name(name) for name, *_ in json.loads(text)]
    own = dict.fromkeys(row)
    return [n for n in own if n not in found], [n for n in found if n not in own]


def _changes(columns: Sequence[Column]) -> Iterator[Column]:
    row = struct([(c.name, c.type) for c in columns])
    yield Column(OP, STRING)
    yield Column(BEFORE, row)
    yield Column(AFTER, row)
    yield Column(SOURCE, struct([("LSN", BIGINT), ("TXID", BIGINT), ("TS_MS", BIGINT)]))
    yield Column(TIME, BIGINT)


def _name(name: str) -> str:
    return name.upper() if _FOLDED.fullmatch(name) else name


def _type(name: str, described: str, table: str, span: Span | None) -> SQLType:
    """The type for one of PostgreSQL, as format_type() writes it."""
    if (number := _NUMERIC.fullmatch(described)) and int(number[2]) <= int(number[1]) <= 38:
        return decimal(int(number[1]), int(number[2]))
    plain = _LENGTH.sub("", described)
    element = plain.removesuffix("[]")
    if element in _IN_ARRAYS and plain == f"{element}[]":
        return array(_TYPES[element])
    if plain not in _TYPES:
        raise UnsupportedError(
            f"{table} has the column {name} of type {described}, which is not captured",
            hint="List the columns to capture after the name: (ID INT PRIMARY KEY, ..).",
            span=span,
        )
    return _TYPES[plain]
