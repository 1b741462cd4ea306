"""A load of records that comes at a steady rate, from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from confluent_kafka import Producer


@contextmanager
def producing(
    bootstrap: str,
    topic: str | Sequence[str],
    record: Callable[[int], tuple[str, str]],
    *,
    rate: int,
    burst: int = 1,
    linger_ms: int = 1,
    time_ms: Callable[[int], int] = lambda number: 0,
) -> Iterator[None]:
    """`rate` records a second, `burst` at a time, until the block ends; to several topics in turn.

    `record(n)` gives key and value of the n-th, from 0, at the moment when it is sent; `time_ms(n)`
    its timestamp, where 0 is that moment.
    """
    done = threading.Event()
    topics = [topic] if isinstance(topic, str) else topic

    def run() -> None:
        client = Producer({"bootstrap.servers": bootstrap, "linger.ms": linger_ms})
        begin, sent = time.time(), 0
        while not done.is_set():
            for _ in range(burst):
                key, value = record(sent)
                topic = topics[sent % len(topics)]
                client.produce(topic, key=key, value=value, timestamp=time_ms(sent))
                sent += 1
            client.poll(0)
            time.sleep(max(0.0, begin + sent / rate - time.time()))
        client.flush(10)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
