"""Records that come all the time, and when rows arrive: what a switch must not be seen in."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from awaiting import await_until
from background import repeated
from confluent_kafka import Consumer

from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

START_MS = time.time_ns() // 1_000_000 - 3_600_000
STEP_MS = 20
"""Of event time, from one record to the next."""


class Load:
    """Some hundred records a second, numbered, into a topic."""

    def __init__(self, kafka: KafkaClient, topic: str, per_second: int) -> None:
        self.count = 0
        self._kafka, self._topic, self._per_second = kafka, topic, per_second

    def produce(self, count: int) -> None:
        """The next ones, at once."""
        numbers = range(self.count, self.count + count)
        self._kafka.produce(self._topic, [_record(n) for n in numbers])
        self.count += count

    def running(self) -> AbstractContextManager[None]:
        """While it comes."""
        began, first = time.monotonic(), self.count

        def step() -> None:
            due = int((time.monotonic() - began) * self._per_second) + first
            if due > self.count:
                self.produce(due - self.count)

        return repeated(step, 0.05)


def _record(n: int) -> NewRecord:
    row = {"N": n, "SHOP": f"shop {n % 7}", "CITY": f"city {n * 31 % 11}", "V": n * 7 % 100}
    key, time = f"k{n % 5}".encode(), START_MS + n * STEP_MS
    return NewRecord(key, json.dumps(row).encode(), timestamp=time)


class Arrivals:
    """When records of a topic can be read, committed ones alone."""

    def __init__(self, kafka: KafkaClient, topic: str) -> None:
        self.times: list[float] = []
        self._topic = topic
        settings = {
            **kafka.settings,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
        self._consumer = Consumer(settings)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """While they come."""
        self._consumer.subscribe([self._topic])

        def step() -> None:
            message = self._consumer.poll(0.01)
            if message is not None and message.error() is None:
                self.times.append(time.monotonic())

        try:
            with repeated(step):
                yield
        finally:
            self._consumer.close()

    def await_one(self, seconds: float) -> None:
        """Wait for the next one."""
        count = len(self.times)
        await_until(lambda: len(self.times) > count, f"a record in {self._topic}", seconds)

    def gap(self, begin: float, end: float) -> float:
        """The longest time without one, between two moments."""
        times = [begin, *(t for t in self.times if begin < t < end), end]
        return max(b - a for a, b in zip(times, times[1:], strict=False))


def latest(kafka: KafkaClient, topic: str) -> dict[bytes, bytes]:
    """What a table's topic holds, by the bytes of its keys."""
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    found = {record.key: record.value for record in records if record.key is not None}
    return {key: value for key, value in found.items() if value is not None}
