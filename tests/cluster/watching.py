"""When a reader of committed data sees what: how long nothing new comes after something fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from awaiting import await_until
from confluent_kafka import Consumer, TopicPartition


class Watch:
    """Reads sinks, each of one partition, while it is open."""

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "watch",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 1000,
                "log_level": 0,
            }
        )
        self._ended = threading.Event()
        self._topics = tuple(topics)
        self._counts = dict.fromkeys(topics, 0)
        self._at_ms = dict.fromkeys(topics, 0)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Watch:
        self._consumer.assign([TopicPartition(topic, 0, 0) for topic in self._topics])
        self._thread.start()
        return self

    def _read(self) -> None:
        while not self._ended.is_set():
            for message in self._consumer.consume(1000, 0.05):
                topic = message.topic()
                if message.error() is None and topic is not None:
                    self._counts[topic] += 1
                    self._at_ms[topic] = max(self._at_ms[topic], message.timestamp()[1])

    def count(self, topic: str) -> int:
        """Committed records so far."""
        return self._counts[topic]

    def passed(self, at_ms: int) -> dict[str, Callable[[], bool]]:
        """Of each sink, whether a row is there that is later than this event time."""
        return {t: lambda t=t: self._at_ms[t] > at_ms for t in self._topics}  # type: ignore[misc]

    def silences(
        self, began: float, at_ms: int, timeout: float, state: Callable[[], str]
    ) -> dict[str, float]:
        """Seconds from `began` until each sink has rows of records later than `at_ms`; fails, with
        what `state` says, if that takes longer than `timeout`."""
        found: dict[str, float] = {}
        passed = self.passed(at_ms)

        def all_passed() -> bool:
            for topic, is_there in passed.items():
                if topic not in found and is_there():
                    found[topic] = round(time.monotonic() - began, 1)
            return len(found) == len(passed)

        try:
            await_until(all_passed, "later rows in all sinks", timeout, every=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}: only in {found}\n{state()}") from None
        return found

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()
