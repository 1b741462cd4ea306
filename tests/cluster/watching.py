"""When a reader of committed data sees what: how long nothing new comes after something fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

from awaiting import await_until
from confluent_kafka import Consumer, TopicPartition

_SAME_SECONDS = 0.02
"""Rows that come within so long count as one."""


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
        self._arrivals: dict[str, list[float]] = {topic: [] for topic in topics}
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
                    self._note_arrival(topic)
                    self._at_ms[topic] = max(self._at_ms[topic], message.timestamp()[1])

    def _note_arrival(self, topic: str) -> None:
        times, now = self._arrivals[topic], time.monotonic()
        if not times or now - times[-1] > _SAME_SECONDS:
            times.append(now)

    def count(self, topic: str) -> int:
        """Committed records so far."""
        return self._counts[topic]

    def await_later(self, at_ms: int, timeout: float, state: Callable[[], str]) -> None:
        """Each sink has a row that is later than this event time; fails, with what `state` says, if
        that takes longer than `timeout`."""

        def late() -> list[str]:
            return [topic for topic in self._topics if self._at_ms[topic] <= at_ms]

        try:
            await_until(lambda: not late(), "later rows in all sinks", timeout, every=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}: none in {late()}\n{state()}") from None

    def silences(self, began: float) -> dict[str, float]:
        """Of each sink the longest time without a row since `began`, in seconds.

        Not the time until the first later row: executors that have lost their driver write on for
        a moment, and are silent then.
        """
        found = {}
        for topic, all_times in self._arrivals.items():
            times = [began, *(at for at in all_times if at > began)]
            found[topic] = round(max(b - a for a, b in pairwise(times)), 1)
        return found

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()
