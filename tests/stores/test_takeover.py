"""Servers on machines that share no disk: the checkpoints are in an object store."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from awaiting import await_until
from delivery.load import Events, let_pass
from delivery.reading import committed, problems
from delivery.shapes import SHAPES, SOURCES
from soak.server_process import ServerProcess
from stores.s3_server import BUCKET, s3_server

from streamsql.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

TAKE_OVER_SECONDS = 30.0
RUN_SECONDS = 120.0
LOOK_SECONDS = 0.5
EXACTLY_ONCE = (
    "SET 'processing.guarantee' = 'exactly_once'; SET 'processing.commit.interval.ms' = '5000';"
)
RUN = [shape for shape in SHAPES if shape.name in ("group_by", "projection")]


def leads(server: ServerProcess) -> bool:
    states = server.states()
    return bool(states) and "STANDBY" not in states.values()


def is_live(server: ServerProcess) -> bool:
    return all(
        query["state"] == "RUNNING" and query["mode"] == "real-time" for query in server.queries()
    )


@pytest.mark.parametrize("times", [2])
def test_another_server_on_an_empty_disk_takes_over(
    tmp_path: Path, broker: EmbeddedBroker, topic_name: str, times: int
) -> None:
    with s3_server(tmp_path / "s3") as s3:
        config = tmp_path / "spark.properties"
        config.write_text("\n".join(f"{n}={v}" for n, v in s3.settings.items()), "utf-8")
        options = (
            *("--bootstrap-servers", broker.bootstrap),
            *("--service-id", topic_name),
            *("--checkpoints", f"s3a://{BUCKET}/flights"),
            *("--spark-config", str(config)),
        )
        servers = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
        try:
            for server in servers:
                server.start()
            for server in servers:
                server.await_ready()
            servers[0].run(EXACTLY_ONCE + SOURCES)
            for shape in RUN:
                servers[0].run(EXACTLY_ONCE + shape.sql)
            with Events(broker.bootstrap, 200.0):
                for _ in range(times):
                    leader, follower = sorted(servers, key=leads, reverse=True)
                    assert leads(leader) and not leads(follower)
                    await_until(
                        lambda server=leader: is_live(server),  # type: ignore[misc]
                        "real time",
                        RUN_SECONDS,
                        every=LOOK_SECONDS,
                    )
                    let_pass(12.0)
                    print("taken over in", _taken_over(leader, broker.bootstrap), "s")
                    shutil.rmtree(tmp_path / leader.log.parent.name / "data")
                    leader.start()
                    leader.await_ready()
            found = problems(broker.bootstrap, RUN)
            assert not found, json.dumps([found, [s.queries() for s in servers]], indent=1)
            assert not list(tmp_path.glob("?/data/**/offsets")), "no checkpoint is on a disk"
        finally:
            for server in servers:
                server.kill()


def _taken_over(leader: ServerProcess, bootstrap: str) -> float:
    """Kill the leader; how long it takes until the table goes on."""
    leader.kill()
    began, killed_ms = time.monotonic(), time.time_ns() // 1_000_000

    def goes_on() -> bool:
        """Whether a record that came after the kill counts."""
        topics = committed(bootstrap)
        later = {r.key for r in topics["events"] if (r.timestamp or 0) > killed_ms}
        newest = max((r.timestamp or 0 for r in topics["TOTALS"]), default=0)
        return bool(later) and newest > killed_ms

    await_until(goes_on, "the table to go on", TAKE_OVER_SECONDS, every=LOOK_SECONDS)
    return round(time.monotonic() - began, 1)
