"""The embedded registry as confluent-kafka's own client sees it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
)

from streamsql.config import REGISTRY_TOPIC
from streamsql.errors import ConfigError, ExternalError, PlanError
from streamsql.kafka.client import KafkaClient
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.app import MAX_BODY_BYTES, app
from streamsql.registry.embedded.server import EmbeddedRegistry, HttpServer
from streamsql.registry.embedded.store import Store


def record(*fields: str) -> Schema:
    text = ", ".join(fields)
    return Schema(f'{{"type": "record", "name": "R", "fields": [{text}]}}', "AVRO")


A = '{"name": "a", "type": "int"}'
B = '{"name": "b", "type": "string"}'
OPTIONAL_B = '{"name": "b", "type": "string", "default": ""}'


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    server = HttpServer(app(Store()))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(server: HttpServer) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": server.url}) as client:
        yield client


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> str:
    return f"{request.node.name}-value"


def refused(call: Any, *arguments: Any, **named: Any) -> tuple[int, int, str]:
    with pytest.raises(SchemaRegistryError) as error:
        call(*arguments, **named)
    return error.value.http_status_code, error.value.error_code, error.value.error_message


def test_versions_of_a_subject(client: SchemaRegistryClient, subject: str) -> None:
    first = client.register_schema(subject, record(A))
    assert client.register_schema(subject, record(A)) == first
    second = client.register_schema(subject, record(A, OPTIONAL_B))
    assert second > first
    assert client.get_versions(subject) == [1, 2]
    latest = client.get_latest_version(subject)
    assert (latest.version, latest.schema_id) == (2, second)
    assert client.get_version(subject, 1).schema_id == first
    assert client.lookup_schema(subject, record(A)).version == 1
    assert subject in client.get_subjects()
    assert client.get_schema(second).schema_str == latest.schema.schema_str


def test_one_schema_has_one_id_everywhere(client: SchemaRegistryClient, subject: str) -> None:
    spaced = Schema('{"type" :  "record", "name":"Same", "fields":[ ]}', "AVRO")
    tight = Schema('{"type":"record","name":"Same","fields":[]}', "AVRO")
    other = subject.replace("-value", "-key")
    assert client.register_schema(subject, spaced) == client.register_schema(other, tight)


def test_what_is_incompatible_is_refused(client: SchemaRegistryClient, subject: str) -> None:
    client.register_schema(subject, record(A))
    status, code, message = refused(client.register_schema, subject, record(A, B))
    assert (status, code) == (409, 409)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/b" in message
    assert not client.test_compatibility(subject, record(A, B))
    assert client.test_compatibility(subject, record(A, OPTIONAL_B))
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    client.register_schema(subject, record(A, B))
    assert client.get_versions(subject) == [1, 2]


def test_the_general_level_holds_for_subjects_without_their_own(
    client: SchemaRegistryClient, subject: str
) -> None:
    assert client.get_compatibility() == "BACKWARD"
    assert refused(client.get_compatibility, subject)[:2] == (404, 40408)
    assert refused(client.set_compatibility, subject, "SIDEWAYS")[:2] == (422, 42203)


def test_deleting(client: SchemaRegistryClient, subject: str) -> None:
    id = client.register_schema(subject, record(A))
    client.register_schema(subject, record(A, OPTIONAL_B))
    assert refused(client.delete_subject, subject, permanent=True)[:2] == (404, 40405)
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.get_schema(id).schema_str, "a deleted schema still reads old records"
    assert client.delete_subject(subject) == [2]
    assert subject not in client.get_subjects()
    assert refused(client.get_versions, subject)[:2] == (404, 40401)
    assert client.delete_subject(subject, permanent=True) == [1, 2]
    assert client.register_schema(subject, record(A, B)) > id


def test_a_schema_that_others_refer_to_stays(client: SchemaRegistryClient, subject: str) -> None:
    point = Schema('{"type": "record", "name": "Point", "fields": []}', "AVRO")
    client.register_schema("point", point)
    line = Schema(
        '{"type": "record", "name": "Line", "fields": [{"name": "p", "type": "Point"}]}',
        "AVRO",
        [SchemaReference("Point", "point", 1)],
    )
    client.register_schema(subject, line)
    assert client.get_latest_version(subject).schema.references[0].subject == "point"
    assert refused(client.delete_subject, "point")[:2] == (422, 42206)
    missing = Schema(line.schema_str, "AVRO", [SchemaReference("Point", "point", 7)])
    assert refused(client.register_schema, subject, missing)[:2] == (422, 42201)


@pytest.mark.parametrize(
    ("schema_type", "text"),
    [
        ("AVRO", "{"),
        ("AVRO", '{"type": "record", "name": "R"}'),
        ("AVRO", '{"type": "nothing"}'),
        ("PROTOBUF", "message M {"),
        ("PROTOBUF", 'syntax = "proto3";'),
        ("JSON", "no json"),
        ("XML", "<a/>"),
    ],
)
def test_invalid_schemas(
    client: SchemaRegistryClient, subject: str, schema_type: str, text: str
) -> None:
    schema = Schema(text, schema_type)
    assert refused(client.register_schema, subject, schema)[:2] == (422, 42201)


def test_what_is_not_there(client: SchemaRegistryClient, subject: str) -> None:
    assert refused(client.get_schema, 9999)[:2] == (404, 40403)
    client.register_schema(subject, record(A))
    assert refused(client.get_version, subject, 5)[:2] == (404, 40402)
    assert refused(client.lookup_schema, subject, record(B))[:2] == (404, 40403)


def test_a_body_beyond_reason_is_refused(server: HttpServer) -> None:
    body = b'{"schema": "' + b" " * MAX_BODY_BYTES + b'"}'
    answer = httpx2.post(f"{server.url}/subjects/large/versions", content=body)
    assert answer.status_code == answer.json()["error_code"] == 413


def test_the_engines_own_client(server: HttpServer, subject: str) -> None:
    own = RegistryClient.at(server.url)
    assert own.latest(subject) is None
    assert own.by_id(9999) is None
    assert not own.exists(subject)
    proto = 'syntax = "proto3"; message M { int32 a = 1; }'
    id = own.register(subject, "PROTOBUF", proto)
    found = own.latest(subject)
    assert found is not None and (found.type, found.id) == ("PROTOBUF", id)
    assert own.by_id(id) == found
    with pytest.raises(PlanError, match="incompatible with an earlier schema"):
        own.register(subject, "PROTOBUF", proto.replace("int32", "string"))
    with pytest.raises(ExternalError, match="the schema registry answered 422"):
        own.register(subject, "PROTOBUF", "message")
    own.delete(subject)
    own.delete(subject)
    assert not own.exists(subject)


def test_a_registry_that_is_not_there() -> None:
    with pytest.raises(ExternalError, match="no answer from the schema registry") as error:
        RegistryClient.at("http://127.0.0.1:1").subjects()
    assert error.value.retryable
    with pytest.raises(ConfigError, match="not the URL of a schema registry: localhost"):
        RegistryClient.at("localhost:8081")


def test_a_port_that_is_taken_is_not_shared() -> None:
    first = HttpServer(app(Store()))
    port = int(first.url.rpartition(":")[2])
    second = HttpServer(app(Store()), port)
    assert first.start() != second.start()
    first.stop()
    third = HttpServer(app(Store()), port)
    assert third.start() == first.url
    third.stop()
    second.stop()


def test_the_programs_own_logging_stays(tmp_path: Path) -> None:
    log, name = logging.getLogger("a.users.program"), str(tmp_path / "log")
    handler = logging.FileHandler(name, mode="w")
    log.addHandler(handler)
    try:
        server = HttpServer(app(Store()))
        server.start()
        log.warning("still here")
        server.stop()
        assert Path(name).read_text() == "still here\n"
    finally:
        log.removeHandler(handler)
        handler.close()


@pytest.mark.kafka
def test_a_second_registry_takes_another_port(kafka: KafkaClient) -> None:
    first, second = EmbeddedRegistry(kafka), EmbeddedRegistry(kafka)
    assert first.start() != second.start()
    assert RegistryClient.at(first.url).subjects() == RegistryClient.at(second.url).subjects()
    first.stop()
    second.stop()


@pytest.mark.kafka
def test_schemas_outlive_the_registry(kafka: KafkaClient) -> None:
    """All that was done is in the topic, in a form that any Confluent registry reads."""
    first = EmbeddedRegistry(kafka)
    url = first.start()
    with SchemaRegistryClient({"url": url}) as client:
        kept = client.register_schema("kept", record(A))
        client.register_schema("gone", record(B))
        client.delete_subject("gone")
        client.delete_subject("gone", permanent=True)
        client.set_compatibility("kept", "FULL")
    first.stop()
    second = EmbeddedRegistry(kafka)
    url = second.start()
    with SchemaRegistryClient({"url": url}) as client:
        assert client.get_latest_version("kept").schema_id == kept
        assert "gone" not in client.get_subjects()
        assert client.get_compatibility("kept") == "FULL"
        assert refused(client.register_schema, "kept", record(B))[0] == 409
    second.stop()
    described = kafka.describe(REGISTRY_TOPIC)
    assert described is not None and described.config["cleanup.policy"] == "compact"
