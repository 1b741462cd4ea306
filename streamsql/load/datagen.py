"""Made-up records in the schemas of ksql-datagen, the same again for the same seed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from streamsql.kafka.client import KafkaClient
from streamsql.load.loader import ensure_topic
from streamsql.load.producing import BulkProducer
from streamsql.load.spec import Chunk, Progress, ProgressCallback, Summary

Row = Mapping[str, object]
MAX_CHUNK = 5_000


@dataclass(frozen=True)
class Generator:
    """A schema: its columns as SQL declares them, which one is the key, and how a row is made."""

    description: str
    columns: Mapping[str, str]
    key: str
    make: Callable[[random.Random, int, int], Row]
    """From the dice, the row's number and its time (ms since the epoch)."""


def _user(dice: random.Random, number: int, now: int) -> Row:
    return {
        "registertime": now - dice.randrange(10**10),
        "userid": f"User_{dice.randrange(1, 10)}",
        "regionid": f"Region_{dice.randrange(1, 10)}",
        "gender": dice.choice(("MALE", "FEMALE", "OTHER")),
    }


def _pageview(dice: random.Random, number: int, now: int) -> Row:
    return {
        "viewtime": now,
        "userid": f"User_{dice.randrange(1, 10)}",
        "pageid": f"Page_{dice.randrange(10, 100)}",
    }


def _order(dice: random.Random, number: int, now: int) -> Row:
    return {
        "ordertime": now,
        "orderid": number,
        "itemid": f"Item_{dice.randrange(1000)}",
        "orderunits": round(dice.uniform(0.1, 10), 2),
        "address": {
            "city": f"City_{dice.randrange(100)}",
            "state": f"State_{dice.randrange(100)}",
            "zipcode": dice.randrange(10_000, 100_000),
        },
    }


SCHEMAS: dict[str, Generator] = {
    "users": Generator(
        "nine users who change their region now and then",
        {
            "registertime": "BIGINT",
            "userid": "STRING",
            "regionid": "STRING",
            "gender": "STRING",
        },
        "userid",
        _user,
    ),
    "pageviews": Generator(
        "page views of those users",
        {"viewtime": "BIGINT", "userid": "STRING", "pageid": "STRING"},
        "userid",
        _pageview,
    ),
    "orders": Generator(
        "orders with a nested address",
        {
            "ordertime": "BIGINT",
            "orderid": "INT",
            "itemid": "STRING",
            "orderunits": "DOUBLE",
            "address": "STRUCT<CITY STRING, STATE STRING, ZIPCODE INT>",
        },
        "itemid",
        _order,
    ),
}


@dataclass(frozen=True)
class GenerateSpec:
    """`rate` in records a second, `count` None forever, `start` the first event time in ms.

    With a `start` the event times are spaced by the rate, however fast they are written, so that
    the same seed gives the same records; without one they are those of the clock.
    """

    schema: str
    topic: str
    rate: int = 10
    count: int | None = None
    seed: int | None = None
    start: int | None = None
    partitions: int | None = None


def generate(spec: GenerateSpec, client: KafkaClient, progress: ProgressCallback) -> Summary:
    """Write made-up records until there are `count`, or until interrupted."""
    generator = SCHEMAS[spec.schema]
    created = ensure_topic(client, spec.topic, spec.partitions)
    started = time.monotonic()
    rate = spec.rate if spec.start is None else None
    producer = BulkProducer(client, spec.topic, rate)

    def on_sent(records: int) -> None:
        progress(Progress(records, records / spec.count if spec.count else None))

    try:
        for chunk in _chunks(spec, generator):
            producer.write(chunk, on_sent)
    finally:
        producer.flush()
    columns = dict(generator.columns)
    return Summary(producer.sent, 0, time.monotonic() - started, created, columns)


def _chunks(spec: GenerateSpec, generator: Generator) -> Iterator[Chunk]:
    dice = random.Random(spec.seed)
    number = 0
    size = max(1, min(spec.rate // 10, MAX_CHUNK))
    while spec.count is None or number < spec.count:
        count = size if spec.count is None else min(size, spec.count - number)
        now = int(time.time() * 1000)
        times = [
            now if spec.start is None else spec.start + (number + i) * 1000 // spec.rate
            for i in range(count)
        ]
        rows = [generator.make(dice, number + i, at) for i, at in enumerate(times)]
        values = [json.dumps(row, separators=(",", ":")).encode() for row in rows]
        yield Chunk(values, [str(row[generator.key]).encode() for row in rows], times)
        number += count
