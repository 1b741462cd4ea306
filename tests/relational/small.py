"""A small database with nulls and duplicates, in a catalog and in DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import duckdb

from streamsql import types
from streamsql.catalog import Catalog, Source
from streamsql.nodes import Query, SelectQuery
from streamsql.parser import parse_one
from streamsql.schema import Column, FormatSpec, Kind, Namespace, Schema, Topic, Watermark
from streamsql.types import SQLType

Columns = Sequence[tuple[str, SQLType]]

TABLES: dict[str, tuple[Columns, tuple[str, ...]]] = {
    "T": ((("A", types.INT), ("B", types.INT), ("C", types.STRING)), ("A",)),
    "S": ((("A", types.INT), ("D", types.BIGINT), ("E", types.STRING)), ()),
    "P": (
        (
            ("K", types.INT),
            ("L", types.STRING),
            ("M", types.decimal(10, 2)),
            ("X", types.DOUBLE),
            ("AT", types.TIMESTAMP),
            ("DAY", types.DATE),
        ),
        ("K", "L"),
    ),
}
ROWS = {
    "T": "(1,1,'x'),(2,1,'y'),(3,NULL,'x'),(4,2,NULL),(5,5,'z'),(6,2,'x')",
    "S": "(1,10,'x'),(1,11,NULL),(2,NULL,'y'),(NULL,5,'z'),(7,8,'x'),(1,10,'x'),(5,1,'z')",
    "P": "(1,'a',1.50,1.5,'2024-01-01 10:00:00','2024-01-01'),"
    "(1,'b',NULL,2.5,'2024-01-31 23:59:59','2024-01-31'),"
    "(2,'a',-3.25,NULL,NULL,'2024-02-29'),(3,'c',10.00,0.25,'2024-02-29 00:00:00',NULL)",
}


def source(name: str, columns: Columns, key: Sequence[str]) -> Source:
    """A table if it has a key, and otherwise a stream."""
    fields = tuple(
        Column(column, kind, Namespace.KEY if column in key else Namespace.VALUE)
        for column, kind in columns
    )
    spec = FormatSpec("JSON")
    kind = Kind.TABLE if key else Kind.STREAM
    return Source(name, kind, Schema(fields), Topic(name, spec, spec))


_READS = (("AT", types.TIMESTAMP), ("SENSOR", types.INT), ("VALUE", types.INT))


def catalog() -> Catalog:
    found = Catalog()
    reads = replace(source("READS", _READS, ()), watermark=Watermark("AT", 600_000_000))
    found.put(reads)
    for name, (columns, key) in TABLES.items():
        found.put(source(name, columns, key))
    return found


def database() -> duckdb.DuckDBPyConnection:
    """The same in DuckDB, which divides integers as PostgreSQL does."""
    connection = duckdb.connect()
    connection.execute("SET integer_division = true")
    for name, (columns, _) in TABLES.items():
        body = ", ".join(f'"{column}" {kind.sql("duckdb")}' for column, kind in columns)
        connection.execute(f'CREATE TABLE "{name}" ({body})')
        connection.execute(f'INSERT INTO "{name}" VALUES {ROWS[name]}')
    return connection


def query(text: str) -> Query:
    statement = parse_one(text)
    assert isinstance(statement, SelectQuery)
    return statement.query


def comparable(rows: Sequence[tuple[object, ...]]) -> list[str]:
    """Rows as a bag that does not tell one type of number from another."""

    def value(item: object) -> object:
        if isinstance(item, bool | str) or item is None:
            return item
        if isinstance(item, int | float | Decimal):
            return round(float(item), 3) + 0.0
        if isinstance(item, list | tuple):
            return [value(part) for part in item]
        return str(item)

    return sorted(repr([value(item) for item in row]) for row in rows)
