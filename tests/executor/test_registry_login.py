"""How the codecs in the JVM log in to a schema registry: as the engine's own client does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from executor.test_codecs import NOTHING
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from schema_registry.front import CLIENT, PASSWORD, Certificates, Front, basic, front

from streamsql.executor.frames.records import value_side
from streamsql.executor.spark.jvm import Jvm
from streamsql.properties import schema_registry as names
from streamsql.registry.client import RegistryClient
from streamsql.registry.serdes import Schemas
from streamsql.schema import Column, FormatSpec, Schema, Topic
from streamsql.test_driver.registries import CaseRegistry
from streamsql.types import INT

pytestmark = pytest.mark.spark

RECORD = '{"type": "record", "name": "R%d", "fields": [{"name": "A", "type": "int"}]}'
RECORDS = itertools.count()


@pytest.fixture(scope="module")
def registry() -> CaseRegistry:
    registry = CaseRegistry([])
    registry.store.set_mode(None, "READWRITE")
    return registry


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


def read(spark: SparkSession, registry: CaseRegistry, before: Front, **more: object) -> int:
    """Column A of an Avro record with 7, whose schema, a new one, is read through the front."""
    id = registry.client.register("t-value", "AVRO", RECORD % next(RECORDS))
    properties = {getattr(names, name): str(value) for name, value in more.items()}
    client = RegistryClient.of({names.URL: before.url, **properties})
    assert client is not None
    topic = Topic("t", FormatSpec("NONE"), FormatSpec("AVRO"))
    side = value_side(topic, Schema((Column("A", INT),)), Schemas(lambda: client).reading)
    jvm: Any = spark._jvm
    decoder = Jvm(spark).decoder(NOTHING, side, None, "Source")
    text = jvm.org.apache.spark.unsafe.types.UTF8String.fromString("t")
    row = decoder.decode(None, b"\0" + id.to_bytes(4, "big") + b"\x0e", text, 0, 0)
    return int(row.getInt(0))


def failure(spark: SparkSession, registry: CaseRegistry, before: Front, **more: object) -> str:
    with pytest.raises(Py4JJavaError) as failed:
        read(spark, registry, before, **more)
    error = failed.value.java_exception
    return f"{error.getMessage()} / {error.getCause()}"


def test_a_certificate(
    spark: SparkSession, registry: CaseRegistry, certificates: Certificates
) -> None:
    pair = {"CERTIFICATE": certificates.certificate, "KEY": certificates.key}
    locked = {**pair, "KEY": certificates.locked_key, "KEY_PASSWORD": PASSWORD}
    for given in (pair, locked, {"CERTIFICATE": certificates.both}):
        with front(registry.client.url, tls=certificates.server()) as before:
            assert read(spark, registry, before, CA=certificates.ca, **given) == 7


def test_without_a_certificate(
    spark: SparkSession, registry: CaseRegistry, certificates: Certificates
) -> None:
    with front(registry.client.url, tls=certificates.server()) as before:
        message = failure(spark, registry, before, CA=certificates.ca)
        assert f"no answer from the schema registry at {before.url}" in message
    with front(registry.client.url, tls=certificates.server(of_clients=False)) as before:
        assert "unable to find valid certification path" in failure(spark, registry, before)
        assert read(spark, registry, before, CA=certificates.ca) == 7


def test_a_name_and_password(spark: SparkSession, registry: CaseRegistry) -> None:
    with front(registry.client.url, basic("ann:secret")) as before:
        assert "answered 401" in failure(spark, registry, before)
        assert read(spark, registry, before, USER="ann:secret") == 7


def test_a_token_that_is_set(spark: SparkSession, registry: CaseRegistry) -> None:
    with front(registry.client.url, "Bearer abc") as before:
        more = {"LOGICAL_CLUSTER": "c1", "IDENTITY_POOL": "p1"}
        assert read(spark, registry, before, BEARER_TOKEN="abc", **more) == 7
        sent = before.seen[-1]
        assert (sent["target-sr-cluster"], sent["confluent-identity-pool-id"]) == ("c1", "p1")


def test_a_token_of_an_issuer(spark: SparkSession, registry: CaseRegistry) -> None:
    """It is asked for again when it has ended."""
    login: dict[str, object] = {"CLIENT_ID": CLIENT[0], "SCOPE": "schemas of all"}
    with front(registry.client.url, "Bearer none yet") as before:
        login["ISSUER_URL"] = f"{before.url}/token"
        for before.lifetime, asked in ((0, 1), (3600, 2), (3600, 2)):
            assert read(spark, registry, before, **login, CLIENT_SECRET=CLIENT[1]) == 7
            assert len(before.tokens) == asked
        assert before.tokens[-1]["scope"] == "schemas of all"
        message = failure(spark, registry, before, **login, CLIENT_SECRET="wrong")
        assert f"no token for the schema registry from {before.url}/token" in message
