"""The watch over Kafka outlives whatever goes wrong while it looks."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest
from awaiting import await_until
from small_disk import small_disk

from streamsql.config import EngineConfig
from streamsql.data_folder import DataDir
from streamsql.errors import ExternalError
from streamsql.executor.services.services import Services
from streamsql.kafka.client import NewRecord
from streamsql.runtime import kafka_watch
from streamsql.runtime.kafka_watch import KafkaWatch
from streamsql.sizes import Machine, sizes_of


class Failing:
    """Services whose broker has died, and cannot be started while the disk is full."""

    def __init__(self) -> None:
        self.disk_full = True
        self.running = False
        self.kafka = self.broker = self

    def peek(self) -> Failing:
        return self

    def reachable(self, timeout: float) -> bool:
        return self.running

    def all_end_offsets(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        return {topic: {0: 7} for topic in topics}

    def alive(self) -> bool:
        return self.running

    def start(self) -> None:
        if self.disk_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.running = True


@pytest.fixture
def services() -> Failing:
    return Failing()


@pytest.fixture
def watch(services: Failing, monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaWatch]:
    monkeypatch.setattr(kafka_watch, "WATCH_SECONDS", 0.01)
    watch = KafkaWatch(cast(Services, services))
    watch.start(lambda: ["t"])
    yield watch
    watch.close()


def test_an_outage_ends_once_the_broker_can_be_started_again(
    services: Failing, watch: KafkaWatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "streamsql.kafka")
    await_until(lambda: "No space left on device" in (watch.outage or ""), "the outage's reason")
    services.disk_full = False
    await_until(
        lambda: watch.outage is None and watch.moment.progress({"t": {0: 2}}).lag == 5, "its end"
    )
    assert len(caplog.records) == 1, "an error that comes again and again is logged once"


def test_a_topic_list_that_fails_does_not_end_the_watch(
    services: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_watch, "WATCH_SECONDS", 0.01)
    services.running = True
    asked = iter([KeyError("changed while it was read")])

    def topics() -> list[str]:
        for error in asked:
            raise error
        return ["t"]

    watch = KafkaWatch(cast(Services, services))
    watch.start(topics)
    await_until(lambda: watch.moment.progress({"t": {}}).lag == 7, "the look after")
    watch.close()


@pytest.mark.kafka
@pytest.mark.slow
def test_a_broker_whose_disk_was_full_comes_back_with_all_that_it_had(tmp_path: Path) -> None:
    data = DataDir.at(tmp_path)
    sizes = sizes_of(Machine(2, 4096), {}, None, has_master=False)
    services = Services(EngineConfig(data_dir=tmp_path), data, sizes)
    watch = KafkaWatch(services)
    with small_disk(tmp_path / "kafka", 48) as disk:
        try:
            services.jars.start()
            services.kafka.start()
            client = services.kafka.get(120)
            client.create_topic("t")
            client.produce("t", (NewRecord(b"k", b"%d" % i) for i in range(100)))
            watch.start(lambda: ["t"])
            await_until(lambda: watch.moment.progress({"t": {}}).lag == 100, "the topic's end", 60)
            disk.fill()
            with pytest.raises(ExternalError):
                client.produce("t", (NewRecord(b"k", bytes(100_000)) for _ in range(50)))
            await_until(
                lambda: "no space left on a disk" in (watch.outage or ""), "the reason", 120
            )
            disk.empty()
            await_until(lambda: watch.outage is None, "the broker to be back", 120)
            client.produce("t", (NewRecord(b"k", b"%d" % i) for i in range(100, 200)))
            found = [r.value for r in client.consume("t", until=client.end_offsets("t"))]
            small = [int(value) for value in found if value and len(value) < 10]
            assert small == list(range(200))
        finally:
            watch.close()
            services.close()


def test_it_looks_at_once_where_a_query_waits(
    services: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_watch, "WATCH_SECONDS", 600.0)
    services.running = True
    watch = KafkaWatch(cast(Services, services))
    watch.start(lambda: ["t"])
    try:
        watch.look_soon()
        await_until(lambda: watch.moment.progress({"t": {0: 5}}).lag == 2, "the ends to be known")
    finally:
        watch.close()
