"""The events that the pipelines read, written while everything fails."""

from __future__ import annotations

import json
import threading
import time

from awaiting import await_until
from confluent_kafka import Producer

KEYS = 50


class Events:
    """Writes events, each with an id, and an answer to every twentieth, while it is open."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "log_level": 0,
            }
        )
        self._rate = rate
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Events:
        for number in range(KEYS):
            self._send("names", number, {"name": f"name {number}"})
        self._producer.flush()
        self._thread.start()
        return self

    def _write(self) -> None:
        began, number = time.monotonic(), 0
        while not self._ended.is_set():
            while number < (time.monotonic() - began) * self._rate:
                self._send("events", number, {"id": number, "v": number * 7 % 1000})
                if number % 20 == 0:
                    self._send("answers", number, {"id": number})
                number += 1
            self._producer.poll(0.002)

    def _send(self, topic: str, number: int, row: dict[str, object]) -> None:
        headers = [("number", b"%d" % number)]
        self._producer.produce(topic, json.dumps(row), f"k{number % KEYS}", headers=headers)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert self._producer.flush(60.0) == 0


def let_pass(seconds: float) -> None:
    """Be any moment."""
    # The moment is to be any: nothing is waited for.
    moment = time.monotonic() + seconds
    await_until(lambda: time.monotonic() >= moment, "the moment", seconds + 20)
