"""`streamsql check` asks a schema registry for columns only where one is named."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from schema_registry.front import basic, front

from streamsql.api.checking import NamedText, check
from streamsql.cli.subcommands.check import read_script
from streamsql.properties import SCHEMA_REGISTRY_URL, SCHEMA_REGISTRY_USER
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.app import app
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store

SQL = """
CREATE STREAM orders (id INT KEY) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='AVRO');
CREATE STREAM big AS SELECT id, total * 2 AS twice FROM orders WHERE total > 5;
"""
RECORD = '{"type": "record", "name": "R", "fields": [{"name": "total", "type": "double"}]}'


@pytest.fixture
def url() -> Iterator[str]:
    server = HttpServer(app(Store()))
    yield server.start()
    server.stop()


def messages(properties: dict[str, str]) -> list[str]:
    return [
        e.message for e, _ in check(NamedText("x.sql", SQL), {}, properties, read_script).errors
    ]


def test_columns_come_from_the_registry_that_is_named(url: str) -> None:
    RegistryClient.at(url).register("orders-value", "AVRO", RECORD)
    assert messages({SCHEMA_REGISTRY_URL: url}) == []


def test_the_login_is_that_of_the_properties(url: str) -> None:
    with front(url, basic("ann:secret")) as before:
        RegistryClient.at(url).register("orders-value", "AVRO", RECORD)
        properties = {SCHEMA_REGISTRY_URL: before.url}
        assert messages({**properties, SCHEMA_REGISTRY_USER: "ann:secret"}) == []
        (message,) = messages(properties)
        assert message == "cannot read orders-value: the schema registry answered 401"


def test_a_schema_that_is_missing(url: str) -> None:
    (message,) = messages({SCHEMA_REGISTRY_URL: url})
    assert message == (
        "Schema for message values on topic 'orders' does not exist in the Schema Registry."
    )


def test_without_a_registry_the_columns_are_not_known() -> None:
    (message,) = messages({})
    assert message == "the value's columns are not known without the schema registry"
