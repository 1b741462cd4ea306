"""A Kafka that takes rights away: queries report it, wait, and resume by themselves."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from awaiting import await_until
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from engine.live import PATIENCE, Live, Restartable

from streamsql.data_folder import DataDir
from streamsql.engine import EngineConfig, QueryState
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.jars import ensure_jars
from streamsql.kafka.broker_config import choose_ports, command, write_config
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

AUTHORIZER = """
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
"""
SCRIPT = """
SET 'processing.commit.interval.ms' = '5000';
CREATE STREAM $s (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM $c AS SELECT id, v FROM $s;
CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;
"""


@contextmanager
def authorizing_broker(folder: Path) -> Iterator[str]:
    data, ports = DataDir.at(folder).create(), choose_ports(None)
    config = write_config(data, ports)
    config.write_text(config.read_text("latin-1") + AUTHORIZER, "latin-1")
    jars = [*ensure_jars("kafka"), ensure_runtime_jar()]
    with subprocess.Popen(
        command(data, config, jars, attached=True),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert KafkaClient(ports.bootstrap).reachable(PATIENCE), "the broker does not start"
            yield ports.bootstrap
        finally:
            process.kill()


@pytest.mark.parametrize("topic", ["S", "T"], ids=["source", "sink"])
def test_rights_that_are_taken_away_and_given_back(tmp_path: Path, topic: str) -> None:
    with authorizing_broker(tmp_path / "broker") as bootstrap:
        restartable = Restartable(EngineConfig(tmp_path / "data", bootstrap))
        try:
            restartable.start()
            live = Live(restartable)
            live.run(SCRIPT)
            admin = AdminClient({"bootstrap.servers": bootstrap})
            kafka = KafkaClient(bootstrap)
            counted(live, kafka, 10)
            table = next(q.id for q in live.engine.queries() if q.sink == live.name("T"))
            produce(kafka, live)
            denied = denial(live.name(topic))
            for future in admin.create_acls([denied]).values():
                future.result()

            def says_so() -> bool:
                info = live.query(table)
                assert info.state is not QueryState.ERROR, info.error
                refused = "Kafka refuses the access" in info.reason
                return info.state is QueryState.WAITING and refused

            try:
                if topic == "T":
                    produce(kafka, live)
                await_until(says_so, "the query to wait", PATIENCE, every=1)
            finally:
                where = AclBindingFilter(
                    denied.restype,
                    denied.name,
                    ResourcePatternType.LITERAL,
                    *(denied.principal, "*", AclOperation.ALL, AclPermissionType.DENY),
                )
                for future in admin.delete_acls([where]).values():
                    future.result()
            live.await_state(table, QueryState.RUNNING)
            counted(live, kafka, 40 if topic == "T" else 30)
        finally:
            restartable.engine.close()


def denial(topic: str) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        *("User:ANONYMOUS", "*", AclOperation.ALL, AclPermissionType.DENY),
    )


def produce(kafka: KafkaClient, live: Live) -> None:
    value = json.dumps({"v": 1}).encode()
    kafka.produce(live.name("S"), (NewRecord(f"k{i % 10}".encode(), value) for i in range(100)))


def counted(live: Live, kafka: KafkaClient, number: int) -> None:
    """A hundred records more make that."""
    produce(kafka, live)
    live.table("t", lambda t: len(t) == 10 and all(n == (number,) for n in t.values()))
