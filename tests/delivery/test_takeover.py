"""A leader that is stopped for a while and wakes up: nothing it still writes counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from awaiting import await_until
from delivery.leaders import leads, stopped
from delivery.load import Events, let_pass
from delivery.reading import problems
from delivery.shapes import SHAPES, SOURCES
from soak.server_process import ServerProcess

from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

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
