"""A leader that is stopped for a while and wakes up: nothing it still writes counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import psutil
import pytest
from awaiting import await_until
from delivery.leaders import leads, stopped
from delivery.load import Events, let_pass
from delivery.reading import problems
from delivery.shapes import SHAPES, SOURCES
from soak.server_process import ServerProcess

from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

LOOK_SECONDS = 0.5
TAKE_OVER_SECONDS = 60.0


@pytest.mark.parametrize("times", [3])
def test_a_leader_that_wakes_up_writes_nothing(
    tmp_path: Path, broker: EmbeddedBroker, kafka: KafkaClient, topic_name: str, times: int
) -> None:
    options = (
        *("--bootstrap-servers", broker.bootstrap),
        *("--service-id", topic_name),
        *("--checkpoints", str(tmp_path / "checkpoints")),
    )
    servers = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
    try:
        for server in servers:
            server.start()
        for server in servers:
            server.await_ready()
        servers[0].run("SET 'processing.guarantee' = 'exactly_once';" + SOURCES)
        for shape in SHAPES:
            servers[0].run("SET 'processing.guarantee' = 'exactly_once';" + shape.sql)
        with Events(broker.bootstrap, 200.0):
            for _ in range(times):
                leader, follower = sorted(servers, key=leads, reverse=True)
                assert leads(leader) and not leads(follower)
                let_pass(10.0)
                with stopped(leader):
                    await_until(
                        lambda other=follower: leads(other),  # type: ignore[misc]
                        "the follower to lead",
                        TAKE_OVER_SECONDS,
                        every=LOOK_SECONDS,
                    )
                    let_pass(5.0)
                let_pass(10.0)
        found = problems(broker.bootstrap, SHAPES)
        assert not found, json.dumps([found, [s.queries() for s in servers]], indent=1)
    finally:
        for server in servers:
            server.kill()


def test_a_jvm_without_its_server_writes_nothing(
    tmp_path: Path, broker: EmbeddedBroker, kafka: KafkaClient, topic_name: str
) -> None:
    options = ("--bootstrap-servers", broker.bootstrap, "--service-id", topic_name)
    servers = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
    source, sink = topic_name, f"{topic_name}-sink"
    kafka.create_topics([source, sink])

    def counts(first: int, last: int) -> list[int]:
        """How often each of these rows is in the sink."""
        records = kafka.consume(sink, until=kafka.end_offsets(sink))
        ids = Counter(json.loads(r.value or b"{}")["ID"] for r in records)
        return [ids[n] for n in range(first, last)]

    def send(first: int, last: int) -> None:
        rows = (NewRecord(None, json.dumps({"id": n}).encode()) for n in range(first, last))
        kafka.produce(source, list(rows))

    try:
        for server in servers:
            server.start()
        for server in servers:
            server.await_ready()
        servers[0].run(
            f"CREATE STREAM s (id INT) WITH (KAFKA_TOPIC='{source}', VALUE_FORMAT='JSON');"
            f"CREATE STREAM t WITH (KAFKA_TOPIC='{sink}') AS SELECT * FROM s;"
        )
        leader, follower = sorted(servers, key=leads, reverse=True)
        send(0, 10)
        await_until(lambda: all(counts(0, 10)), "the leader's rows", TAKE_OVER_SECONDS)
        process = psutil.Process(leader.pid)
        process.suspend()
        try:
            await_until(lambda: leads(follower), "the follower to lead", TAKE_OVER_SECONDS)
            send(10, 20)
            await_until(lambda: all(counts(10, 20)), "the follower's rows", TAKE_OVER_SECONDS)
            let_pass(2.0)
            assert counts(10, 20) == [1] * 10
        finally:
            process.resume()
        await_until(lambda: not leads(leader), "the leader to notice", TAKE_OVER_SECONDS)
        let_pass(5.0)
        assert counts(10, 20) == [1] * 10
    finally:
        for server in servers:
            server.kill()
