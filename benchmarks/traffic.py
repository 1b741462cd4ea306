"""Records with the producer's clock in them, sent and received by processes of their own.

So neither waits for the other's turn in Python, and what the engine takes of the machine can be
distinguished from the cost of measuring.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event as EventFlag

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from benchmarks.histogram import Latencies
from benchmarks.producing import producing

KEYS = 1000
_ARRIVAL_SECONDS = 60.0
"""How long the last record sent may take."""
_context = get_context("spawn")


Event = Callable[[int], tuple[str, str]]
"""Key and value of the n-th record, made when it is sent; a function of a module."""


def id_and_time(number: int) -> tuple[str, str]:
    """ID INT, also as the key, and T DOUBLE, the time in seconds."""
    return str(number % KEYS), json.dumps({"ID": number % KEYS, "T": time.time()})


class Sender:
    """Sends `rate` events a second from now on, to the topics in turn."""

    def __init__(
        self,
        bootstrap: str,
        topics: Sequence[str],
        rate: int,
        event: Event = id_and_time,
        linger_ms: int = 1,
    ) -> None:
        """`linger_ms` is the producer's setting, linger.ms."""
        self._done = _context.Event()
        self.process = _context.Process(
            target=_send, args=(bootstrap, topics, rate, event, linger_ms, self._done), daemon=True
        )
        self.process.start()

    def stop(self) -> None:
        """Returns once all is sent."""
        self._done.set()
        self.process.join()


def _send(
    bootstrap: str,
    topics: Sequence[str],
    rate: int,
    event: Event,
    linger_ms: int,
    done: EventFlag,
) -> None:
    burst = max(1, rate // 1000)
    with producing(bootstrap, topics, event, rate=rate, burst=burst, linger_ms=linger_ms):
        done.wait()


SentAt = Callable[[Message], float]
"""When the event was sent (seconds) that a record is the result of."""


def by_value(message: Message) -> float:
    """By the record's T."""
    return float(json.loads(message.value() or b"")["T"])


def by_timestamp(message: Message) -> float:
    """By the record's timestamp: where ROWTIME is when an event was sent, that of the newest event
    that a result is of."""
    return message.timestamp()[1] / 1000


class Receiver:
    """Takes the latencies of topics' records, from the topics' beginnings or from now on."""

    def __init__(
        self,
        bootstrap: str,
        topics: Sequence[str],
        partitions: int,
        isolation: str = "read_committed",
        sent_at: SentAt = by_value,
        start: int = OFFSET_BEGINNING,
    ) -> None:
        """`sent_at` is a function of a module. `start`: where reading begins. A topic with history
        wants `OFFSET_END`: while the receiver reads that, what comes meanwhile waits for it."""
        self._begin: Synchronized[float] = _context.Value("d", math.inf)
        self._end: Synchronized[float] = _context.Value("d", math.inf)
        self._newest: Synchronized[float] = _context.Value("d", 0.0)
        self._answer, theirs = _context.Pipe(duplex=False)
        self.process = _context.Process(
            target=_receive,
            args=(
                bootstrap,
                topics,
                partitions,
                isolation,
                sent_at,
                start,
                self._begin,
                self._end,
                self._newest,
                theirs,
            ),
            daemon=True,
        )
        self.process.start()
        theirs.close()

    def first_row(self, seconds: float) -> float | None:
        """When each topic had its first record, by the clock; None if not in time."""
        return self._answer.recv() if self._answer.poll(seconds) else None

    def is_current(self, within: float) -> bool:
        """Whether the last record that it took was sent at most that many seconds ago. A receiver
        that still reads a topic's history measures itself."""
        return time.time() - self._newest.value <= within

    def begin(self, now: float) -> None:
        """Records that are sent from now on count."""
        self._begin.value = now

    def end(self, last: float) -> Latencies:
        """What was measured, once the records that were sent up to then have come; TimeoutError
        if they do not."""
        self._end.value = last
        if not self._answer.poll(2 * _ARRIVAL_SECONDS):
            raise TimeoutError("the receiver does not answer")
        found: Latencies | None = self._answer.recv()
        self.process.join()
        if found is None:
            raise TimeoutError(f"the last record did not come within {_ARRIVAL_SECONDS:.0f} s")
        return found


def _receive(
    bootstrap: str,
    topics: Sequence[str],
    partitions: int,
    isolation: str,
    sent_at: SentAt,
    start: int,
    begin: Synchronized[float],
    end: Synchronized[float],
    last: Synchronized[float],
    answer: Connection,
) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": topics[0], "isolation.level": isolation}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(t, p, start) for t in topics for p in range(partitions)])
    latencies: Latencies | None = None
    newest: dict[str, float] = {}
    while time.time() < end.value + _ARRIVAL_SECONDS and not _past(newest, topics, end):
        message = consumer.poll(0.1)
        if message is None or message.error() or not message.value():
            continue
        now = time.time()
        sent, topic = sent_at(message), message.topic() or ""
        if topic not in newest and len(newest) == len(topics) - 1:
            answer.send(now)
        newest[topic] = max(newest.get(topic, 0.0), sent)
        last.value = sent
        if latencies is None and begin.value < math.inf:
            latencies = Latencies(begin.value)
        if latencies is not None and sent < end.value:
            latencies.add(sent, now)
    consumer.close()
    answer.send(latencies if _past(newest, topics, end) else None)


def _past(newest: dict[str, float], topics: Sequence[str], end: Synchronized[float]) -> bool:
    """Whether each topic has a record that was sent after the end."""
    return time.time() > end.value and min(newest.get(t, 0.0) for t in topics) >= end.value
