"""Servers on machines that share no disk: their checkpoints are in an object store."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from awaiting import await_until
from delivery.leaders import leads, stopped
from delivery.load import Events, let_pass
from delivery.reading import committed, problems
from delivery.shapes import SHAPES, SOURCES
from soak.server_process import ServerProcess
from stores.s3_server import BUCKET, S3Server, s3_server

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

TAKE_OVER_SECONDS = 30.0
RUN_SECONDS = 120.0
LOOK_SECONDS = 0.5
EXACTLY_ONCE = (
    "SET 'processing.guarantee' = 'exactly_once'; SET 'processing.commit.interval.ms' = '5000';"
)
RUN = [shape for shape in SHAPES if shape.name in ("group_by", "projection")]


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    with s3_server(tmp_path / "s3") as found:
        yield found


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """One for each test: the results are computed from all records of the topics."""
    found = EmbeddedBroker(DataDir.at(tmp_path / "kafka"))
    try:
        found.start(120)
        yield found
    finally:
        found.stop(timeout=0)


@pytest.fixture
def servers(
    s3: S3Server, tmp_path: Path, broker: EmbeddedBroker, topic_name: str
) -> Iterator[list[ServerProcess]]:
    """Two, whose queries run in real time with exactly-once delivery."""
    config = tmp_path / "spark.properties"
    config.write_text("\n".join(f"{n}={v}" for n, v in s3.settings.items()), "utf-8")
    options = (
        *("--bootstrap-servers", broker.bootstrap),
        *("--service-id", topic_name),
        *("--checkpoints", f"s3a://{BUCKET}/flights"),
        *("--spark-config", str(config)),
    )
    found = [ServerProcess(tmp_path / name, *options) for name in ("a", "b")]
    try:
        for server in found:
            server.start()
        for server in found:
            server.await_ready()
        found[0].run(EXACTLY_ONCE + SOURCES)
        for shape in RUN:
            found[0].run(EXACTLY_ONCE + shape.sql)
        yield found
        assert not list(tmp_path.glob("?/data/**/offsets")), "no checkpoint is on a disk"
    finally:
        for server in found:
            server.kill()


@pytest.mark.parametrize("times", [2])
def test_a_server_on_an_empty_disk_takes_over(
    servers: list[ServerProcess], broker: EmbeddedBroker, times: int
) -> None:
    with Events(broker.bootstrap, 200.0):
        for _ in range(times):
            leader, _ = by_leadership(servers)
            await_live(leader)
            let_pass(12.0)
            with going_on(broker.bootstrap):
                leader.kill()
            shutil.rmtree(leader.log.parent / "data")
            leader.start()
            leader.await_ready()
    assert_exact(servers, broker)


@pytest.mark.parametrize("times", [2])
def test_a_leader_that_wakes_up_is_refused(
    servers: list[ServerProcess], broker: EmbeddedBroker, times: int
) -> None:
    with Events(broker.bootstrap, 200.0):
        for _ in range(times):
            leader, follower = by_leadership(servers)
            await_live(leader)
            let_pass(8.0)
            with stopped(leader):
                with going_on(broker.bootstrap):
                    pass
                await_live(follower)
                let_pass(7.0)
            let_pass(10.0)
    assert_exact(servers, broker)


def test_queries_wait_for_a_store_that_is_away(
    s3: S3Server, servers: list[ServerProcess], broker: EmbeddedBroker
) -> None:
    leader, _ = by_leadership(servers)
    with Events(broker.bootstrap, 200.0):
        await_live(leader)
        let_pass(8.0)
        s3.kill()
        await_until(
            lambda: set(leader.states().values()) == {"WAITING"},
            "the queries to wait",
            RUN_SECONDS,
            every=LOOK_SECONDS,
        )
        print([query["reason"] for query in leader.queries()])
        s3.start()
        await_live(leader)
        let_pass(8.0)
    assert_exact(servers, broker)


def by_leadership(servers: list[ServerProcess]) -> list[ServerProcess]:
    """The leader and the follower."""
    leader, follower = sorted(servers, key=leads, reverse=True)
    assert leads(leader) and not leads(follower)
    return [leader, follower]


def await_live(server: ServerProcess) -> None:
    def is_live() -> bool:
        found = [(query["state"], query["mode"]) for query in server.queries()]
        return set(found) == {("RUNNING", "real-time")}

    await_until(is_live, "real time", RUN_SECONDS, every=LOOK_SECONDS)


@contextmanager
def going_on(bootstrap: str) -> Iterator[None]:
    """What is done to the leader, and then waited until the table counts a later record."""
    began, began_ms = time.monotonic(), time.time_ns() // 1_000_000
    yield

    def goes_on() -> bool:
        return any((r.timestamp or 0) > began_ms for r in committed(bootstrap)["TOTALS"])

    await_until(goes_on, "the table to continue", TAKE_OVER_SECONDS, every=LOOK_SECONDS)
    print(f"taken over in {time.monotonic() - began:.1f} s")


def assert_exact(servers: list[ServerProcess], broker: EmbeddedBroker) -> None:
    found = problems(broker.bootstrap, RUN)
    assert not found, json.dumps([found, [s.queries() for s in servers]], indent=1)
