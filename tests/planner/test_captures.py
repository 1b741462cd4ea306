"""Captured tables of PostgreSQL: what their statements declare, and what cannot be captured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from streamsql.catalog import Capture, Catalog, Source
from streamsql.errors import CatalogError, ConfigError, StreamSQLError, UnsupportedError
from streamsql.executor.captures import connector_name
from streamsql.nodes import CreateSource
from streamsql.parser import parse_one
from streamsql.planner.ddl.sources import plan_create_source
from streamsql.planner.plans.statements import SourcePlan
from streamsql.planner.statements import apply, plan
from streamsql.registry.client import RegistryClient
from streamsql.registry.lookup import RegistrySchemas, RememberedSchemas

LOGIN = "CONNECTION='POSTGRES', URL='postgres://ann@db:5433/shop?sslmode=require', TABLE='orders'"
CAPTURE = Capture("db", 5433, "shop", "public", "orders", "ann", "", "require")
ROWS = [
    ["name", "character varying(40)", None],
    ["id", "bigint", "1"],
    ["Part", "integer", "0"],
    ["price", "numeric(10,2)", None],
    ["huge", "numeric(60,2)", None],
    ["any", "numeric", None],
    ["at", "timestamp(3) without time zone", None],
    ["zoned", "timestamp with time zone", None],
    ["day", "date", None],
    ["tags", "text[]", None],
    ["raw", "bytea", None],
]


def _registry() -> RegistryClient:
    raise AssertionError("no registry is needed")


def planned(sql: str, rows: list[list[str | None]] | None = None) -> Source:
    statement = parse_one(sql)
    assert isinstance(statement, CreateSource)
    described = None if rows is None else lambda capture: json.dumps(rows)
    schemas = RegistrySchemas(_registry, described)
    plan = plan_create_source(statement, Catalog(), {}, None, schemas)
    assert isinstance(plan, SourcePlan)
    if rows is not None:
        remembered = RememberedSchemas(schemas.to_json())
        again = plan_create_source(statement, Catalog(), {}, None, remembered)
        assert isinstance(again, SourcePlan)
        assert again.source == plan.source
    return plan.source


def test_a_table_has_the_columns_of_the_database() -> None:
    source = planned(f"CREATE TABLE o WITH ({LOGIN});", ROWS)
    assert source.capture == CAPTURE
    assert [str(column) for column in source.schema] == [
        "`Part` INTEGER KEY",
        "`ID` BIGINT KEY",
        "`NAME` STRING",
        "`PRICE` DECIMAL(10, 2)",
        "`HUGE` STRING",
        "`ANY` STRING",
        "`AT` TIMESTAMP",
        "`ZONED` TIMESTAMP",
        "`DAY` DATE",
        "`TAGS` ARRAY<STRING>",
        "`RAW` BYTES",
    ]
    assert source.topic.name == "O"
    assert source.topic.value_format.name == "DEBEZIUM_JSON"
    assert source.topic.value_format.properties["unavailable.values"] == "KEEP"


def test_a_stream_has_the_changes() -> None:
    rows = [["id", "integer", "0"], ["name", "text", None]]
    source = planned(f"CREATE STREAM o WITH ({LOGIN}, KAFKA_TOPIC='t', PARTITIONS=3);", rows)
    row = "STRUCT<`ID` INTEGER, `NAME` STRING>"
    assert [str(column) for column in source.schema] == [
        "`ID` INTEGER KEY",
        "`OP` STRING",
        f"`BEFORE` {row}",
        f"`AFTER` {row}",
        "`SOURCE` STRUCT<`LSN` BIGINT, `TXID` BIGINT, `TS_MS` BIGINT>",
        "`TS_MS` BIGINT",
    ]
    assert (source.topic.name, source.topic.partitions) == ("t", 3)


def test_listed_columns_need_no_database() -> None:
    source = planned(f"CREATE TABLE o (id BIGINT PRIMARY KEY, name STRING) WITH ({LOGIN});")
    assert source.schema.names == ("ID", "NAME")


@pytest.mark.parametrize(
    ("url", "table", "user", "capture"),
    [
        ("postgresql://db/shop", "a.b", "u", Capture("db", 5432, "shop", "a", "b", "u", "")),
        (
            "jdbc:postgresql://db/shop",
            "B",
            "u",
            Capture("db", 5432, "shop", "public", "b", "u", ""),
        ),
        (
            "postgres://u%40x@db/a%20b",
            '"My ""S""".T',
            None,
            Capture("db", 5432, "a b", 'My "S"', "t", "u@x", ""),
        ),
    ],
)
def test_names_and_urls(url: str, table: str, user: str | None, capture: Capture) -> None:
    login = f"USER='{user}', " if user else ""
    sql = f"(id INT PRIMARY KEY) WITH ({login}CONNECTION='postgres', URL='{url}', TABLE='{table}')"
    assert planned(f"CREATE TABLE o {sql};").capture == capture


SHOP = "CREATE SOURCE shop WITH (CONNECTION='POSTGRES', URL='postgres://ann@db:5433/shop');"
ORDERS = "CREATE TABLE o (id BIGINT PRIMARY KEY) FROM SOURCE shop TABLE 'Orders';"


def defined(*statements: str) -> Catalog:
    """The catalog after them."""
    catalog = Catalog()
    for sql in statements:
        apply(plan(parse_one(sql), catalog, {}, None), catalog)
    return catalog


def test_tables_of_a_source() -> None:
    catalog = defined(
        SHOP,
        ORDERS,
        """CREATE STREAM s (id INT KEY, op STRING) FROM SOURCE shop TABLE 'a."B"'
        WITH (KAFKA_TOPIC='t', PARTITIONS=2);""",
    )
    login = Capture("db", 5433, "shop", "", "", "ann", "", "", "SHOP")
    assert catalog.databases["SHOP"].login == login
    orders, stream = catalog.sources["O"], catalog.sources["S"]
    assert orders.capture == replace(login, schema="public", table="orders")
    assert stream.capture == replace(login, schema="a", table="B")
    assert (orders.topic.name, stream.topic.name, stream.topic.partitions) == ("O", "t", 2)
    assert catalog.captured_from("SHOP") == [orders, stream]
    names = {connector_name(s.capture, s.topic.name, "i") for s in (orders, stream) if s.capture}
    assert len(names) == 1
    assert connector_name(CAPTURE, "O", "i") not in names


@pytest.mark.parametrize(
    ("before", "sql", "kind", "message"),
    [
        ([], ORDERS, CatalogError, "Source SHOP does not exist"),
        ([SHOP], SHOP, CatalogError, "Source SHOP already exists"),
        (
            [SHOP],
            "CREATE TABLE o (id INT PRIMARY KEY) FROM SOURCE shop TABLE 'a b';",
            ConfigError,
            "'a b' is not the name of a table",
        ),
        (
            [SHOP],
            "CREATE TABLE o (id INT PRIMARY KEY) FROM SOURCE shop TABLE 'o' WITH (URL='x');",
            ConfigError,
            "URL",
        ),
        (
            [SHOP, ORDERS],
            "CREATE STREAM s (id INT KEY, op STRING) FROM SOURCE shop TABLE 'public.orders';",
            CatalogError,
            "public.orders of the source SHOP is already captured by O",
        ),
        ([SHOP], "CREATE TABLE o FROM SOURCE shop TABLE 'o';", UnsupportedError, "are not known"),
        ([SHOP, ORDERS], "DROP SOURCE shop;", CatalogError, "O is captured from it"),
        ([], "DROP SOURCE shop;", CatalogError, "Source SHOP does not exist"),
        ([SHOP, ORDERS], SHOP.replace("shop", "o"), CatalogError, "O is the name of a stream"),
        ([], SHOP.replace("POSTGRES", "MYSQL"), ConfigError, "a database of PostgreSQL"),
        ([], SHOP.replace("ann@", ""), ConfigError, "needs the property USER"),
        ([], SHOP.replace("ann@", "ann:x@"), ConfigError, "contains a password"),
    ],
)
def test_what_a_source_refuses(
    before: list[str], sql: str, kind: type[StreamSQLError], message: str
) -> None:
    catalog = defined(*before)
    with pytest.raises(kind, match=message):
        plan(parse_one(sql), catalog, {}, None)


def test_dropped_tables_free_their_source() -> None:
    assert not defined(SHOP, ORDERS, "DROP TABLE o;", "DROP SOURCE shop;").databases


@pytest.mark.parametrize(
    ("given", "rows", "kind", "message"),
    [
        (LOGIN, None, UnsupportedError, "are not known without the database"),
        (LOGIN, [], ConfigError, "the database shop has no table public.orders"),
        (LOGIN, [["a", "text", None]], UnsupportedError, "public.orders has no primary key"),
        (
            LOGIN,
            [["id", "integer", "0"], ["spot", "point", None]],
            UnsupportedError,
            "the column spot of type point, which is not captured",
        ),
        (f"{LOGIN}, PASSWORD='x'", ROWS, ConfigError, "PASSWORD must be a reference"),
        (f"{LOGIN}, VALUE_FORMAT='JSON'", ROWS, ConfigError, "VALUE_FORMAT"),
        (LOGIN.replace("ann@", "ann:x@"), ROWS, ConfigError, "contains a password"),
        (LOGIN.replace("ann@", ""), ROWS, ConfigError, "needs the property USER"),
        (LOGIN.replace("/shop", ""), ROWS, ConfigError, "names no database"),
        (LOGIN.replace("postgres:", "mysql:"), ROWS, ConfigError, "not the URL of a PostgreSQL"),
        (LOGIN.replace("sslmode", "ssl"), ROWS, UnsupportedError, "has no option ssl"),
    ],
)
def test_what_cannot_be_captured(
    given: str, rows: list[list[str | None]] | None, kind: type[StreamSQLError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        planned(f"CREATE TABLE o WITH ({given});", rows)
