"""The events of Nexmark's benchmark: in topics that all queries read, and live at a rate.

Making an event up takes longer than sending it: what is sent live is made up beforehand, but for
its times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any

from confluent_kafka import Producer

from benchmarks.common import PARTITIONS
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.load import NEXMARK, NEXMARK_COLUMNS, GenerateSpec, generate_nexmark
from streamsql.load.nexmark import events, topic_of

SEED = 1
START = 1_700_000_000_000
"""When the events of the past begin (ms)."""
_LATER = 3_600_000
"""So long (ms) after all others comes the last bid."""
_AHEAD_SECONDS = 30
"""Events are generated for that much longer than the measurement: a query takes time to start."""
_PREPARE_SECONDS = 1800.0
_TIME = "%d"
_context = get_context("spawn")


def make_topics(kafka: KafkaClient, prefix: str) -> None:
    """Empty ones for all kinds of events."""
    for kind in NEXMARK_COLUMNS:
        kafka.create_topic(topic_of(prefix, kind), PARTITIONS)


def last_bid(count: int, rate: int) -> dict[str, Any]:
    """A bid long after the events, of an unknown bidder for no auction: windows that
    end by the time of events do."""
    texts = dict.fromkeys(("channel", "url", "extra"), "")
    time = START + count * 1000 // rate + _LATER
    return {"auction": 0, "bidder": 0, "price": 1, **texts, "date_time": time}


def write_last_bid(kafka: KafkaClient, prefix: str, bid: Mapping[str, Any]) -> None:
    """Behind all other bids."""
    record = NewRecord(None, json.dumps(bid).encode(), bid["date_time"])
    kafka.produce(topic_of(prefix, "bid"), [record])


def fill(kafka: KafkaClient, prefix: str, count: int, rate: int) -> dict[str, int]:
    """Writes a number of events to topics, their times spaced by the rate; the count of each
    kind."""
    spec = GenerateSpec(NEXMARK, prefix, rate, count, SEED, START, PARTITIONS)
    generate_nexmark(spec, kafka, lambda _: None)
    write_last_bid(kafka, prefix, last_bid(count, rate))
    return {
        kind: sum(kafka.end_offsets(topic_of(prefix, kind)).values()) for kind in NEXMARK_COLUMNS
    }


@dataclass(frozen=True)
class _Template:
    """An event but for its times: `%d` in the value, each a number of ms after the event's own."""

    kind: str
    key: bytes
    value: bytes
    after: tuple[int, ...]

    def at(self, now: int) -> bytes:
        return self.value % tuple(now + later for later in self.after)


def templates(first: int = 0, count: int | None = None) -> Iterator[_Template]:
    """Of events from that number on."""
    size, number = 1000, first
    while count is None or number < first + count:
        size = size if count is None else min(size, first + count - number)
        for kind, row in events(SEED, number, size, lambda _: 0):
            times = [name for name, type in NEXMARK_COLUMNS[kind].items() if type == "TIMESTAMP"]
            text = json.dumps({**row, **dict.fromkeys(times, _TIME)}, separators=(",", ":"))
            value = text.replace(f'"{_TIME}"', _TIME).encode()
            key = str(row["auction" if kind == "bid" else "id"]).encode()
            yield _Template(kind, key, value, tuple(int(str(row[name])) for name in times))
        number += size


class LiveEvents:
    """A process that sends events of now, again and again from the first one on."""

    def __init__(self, bootstrap: str, rate: int, seconds: float) -> None:
        """`seconds` is how long is measured."""
        self.sends = False
        self._done = _context.Event()
        self._commands, theirs = _context.Pipe()
        count = int(rate * (seconds + _AHEAD_SECONDS))
        self.process = _context.Process(
            target=_serve, args=(bootstrap, rate, count, theirs, self._done), daemon=True
        )
        self.process.start()
        theirs.close()
        if not self._commands.poll(_PREPARE_SECONDS):
            raise TimeoutError("the events are not made up")
        self._commands.recv()

    def start(self, prefix: str) -> None:
        """Send into the topics of this prefix."""
        self._done.clear()
        self._commands.send(prefix)
        self.sends = True

    def stop(self) -> float:
        """Returns once all is sent: how many there were a second."""
        self._done.set()
        self.sends = False
        return float(self._commands.recv())

    def close(self) -> None:
        self._commands.send(None)
        self.process.join()


def _serve(bootstrap: str, rate: int, count: int, commands: Connection, done: Event) -> None:
    prepared = list(templates(0, count))
    commands.send(count)
    while prefix := commands.recv():
        made = chain(prepared, templates(count))
        commands.send(_send(bootstrap, rate, prefix, made, done))


def _send(bootstrap: str, rate: int, prefix: str, made: Iterator[_Template], done: Event) -> float:
    topics = {kind: topic_of(prefix, kind) for kind in NEXMARK_COLUMNS}
    client = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 1, "partitioner": "murmur2_random"}
    )
    burst, begin, sent = max(1, rate // 1000), time.time(), 0
    while not done.is_set():
        now = int(time.time() * 1000)
        for each in islice(made, burst):
            client.produce(topics[each.kind], each.at(now), each.key, timestamp=now)
        sent += burst
        client.poll(0)
        time.sleep(max(0.0, begin + sent / rate - time.time()))
    took = time.time() - begin
    client.flush(10)
    return sent / took
