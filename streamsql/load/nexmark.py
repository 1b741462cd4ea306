"""Events of Nexmark's auction house: of 50 one person, three auctions and 46 bids. Reimplemented
after github.com/nexmark/nexmark: its proportions and skew (some auctions, sellers and bidders are
far more frequent), not its numbers. An event depends on its number and seed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence

from streamsql.kafka.client import KafkaClient
from streamsql.load.datagen import GenerateSpec
from streamsql.load.loader import ensure_topic
from streamsql.load.producing import BulkProducer
from streamsql.load.spec import Chunk, Progress, ProgressCallback, Summary

NEXMARK = "nexmark"
COLUMNS: dict[str, dict[str, str]] = {
    "person": {
        "id": "BIGINT",
        "name": "STRING",
        "email": "STRING",
        "credit_card": "STRING",
        "city": "STRING",
        "state": "STRING",
        "date_time": "TIMESTAMP",
        "extra": "STRING",
    },
    "auction": {
        "id": "BIGINT",
        "item_name": "STRING",
        "description": "STRING",
        "initial_bid": "BIGINT",
        "reserve": "BIGINT",
        "date_time": "TIMESTAMP",
        "expires": "TIMESTAMP",
        "seller": "BIGINT",
        "category": "BIGINT",
        "extra": "STRING",
    },
    "bid": {
        "auction": "BIGINT",
        "bidder": "BIGINT",
        "price": "BIGINT",
        "channel": "STRING",
        "url": "STRING",
        "date_time": "TIMESTAMP",
        "extra": "STRING",
    },
}
"""Of each kind of event, each of which has a topic of its own."""

_FIRST_ID = 1000
_PERSONS, _AUCTIONS, _PERIOD = 1, 3, 50
_OPEN_AUCTIONS, _ACTIVE_PERSONS = 100, 1000
"""Number of recent auctions and persons that are active."""
_SELLER, _BIDDER = 0, 1
"""The most frequent seller differs from the most frequent bidder."""
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_CHUNK = 5_000

_FIRST_NAMES = ("Ada", "Bob", "Cy", "Dora", "Eve", "Finn", "Gus", "Hedy", "Ivo", "Jill", "Kay")
_LAST_NAMES = ("Abel", "Bach", "Cole", "Dean", "Eco", "Ford", "Gray", "Hill", "Ito")
_CITIES = {
    "AZ": "Phoenix",
    "CA": "Los Angeles",
    "ID": "Boise",
    "OR": "Portland",
    "WA": "Kent",
    "WY": "Cheyenne",
}
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_LETTERS = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=5_000))
"""Source of generated texts."""

Event = dict[str, object]


def events(
    seed: int, first: int, count: int, time_of: Callable[[int], int]
) -> Iterator[tuple[str, Event]]:
    """Events from a number on: kinds and columns. `time_of` maps an event's number to its time
    (ms)."""
    dice = random.Random()
    for period in range(first // _PERIOD, (first + count - 1) // _PERIOD + 1):
        dice.seed(seed * 1_000_003 + period)
        for place in range(_PERIOD):
            number = period * _PERIOD + place
            found = _event(dice, period, place, time_of(number))
            if first <= number < first + count:
                yield found


def _event(dice: random.Random, period: int, place: int, at: int) -> tuple[str, Event]:
    if place < _PERSONS:
        return "person", _person(dice, _FIRST_ID + period, at)
    if place < _PERSONS + _AUCTIONS:
        own = period * _AUCTIONS + place - _PERSONS
        return "auction", _auction(dice, _FIRST_ID + own, _person_id(dice, period, _SELLER), at)
    return "bid", _bid(dice, period, at)


def _person_id(dice: random.Random, period: int, favourite: int) -> int:
    """A recent person; in three of four cases the last favorite: of each hundred persons the one at
    that position."""
    if dice.random() < 0.75:
        return _FIRST_ID + min(period // 100 * 100 + favourite, period)
    return _FIRST_ID + _between(dice, max(0, period - _ACTIVE_PERSONS), period)


def _auction_id(dice: random.Random, period: int) -> int:
    last = period * _AUCTIONS + _AUCTIONS - 1
    if dice.random() < 0.5:
        return _FIRST_ID + last // 100 * 100
    return _FIRST_ID + _between(dice, max(0, last - _OPEN_AUCTIONS), last)


def _between(dice: random.Random, low: int, high: int) -> int:
    return low + int(dice.random() * (high - low + 1))


def _price(dice: random.Random) -> int:
    return round(10 ** (dice.random() * 6) * 100)


def _extra(dice: random.Random, most: int) -> str:
    length = int(dice.random() * most)
    begin = int(dice.random() * (len(_LETTERS) - length))
    return _LETTERS[begin : begin + length]


def _person(dice: random.Random, id: int, at: int) -> Event:
    first, last = dice.choice(_FIRST_NAMES), dice.choice(_LAST_NAMES)
    state = dice.choice(tuple(_CITIES))
    return {
        "id": id,
        "name": f"{first} {last}",
        "email": f"{first}.{last}{id}@example.com".lower(),
        "credit_card": " ".join(f"{dice.randrange(10_000):04}" for _ in range(4)),
        "city": _CITIES[state],
        "state": state,
        "date_time": at,
        "extra": _extra(dice, 40),
    }


def _auction(dice: random.Random, id: int, seller: int, at: int) -> Event:
    initial = _price(dice)
    return {
        "id": id,
        "item_name": _extra(dice, 20),
        "description": _extra(dice, 100),
        "initial_bid": initial,
        "reserve": initial + _price(dice),
        "date_time": at,
        "expires": at + 1 + dice.randrange(2_000),
        "seller": seller,
        "category": _FIRST_CATEGORY + dice.randrange(_CATEGORIES),
        "extra": _extra(dice, 80),
    }


def _bid(dice: random.Random, period: int, at: int) -> Event:
    if dice.random() < 0.5:
        channel = dice.choice(_CHANNELS)
        number = _CHANNELS.index(channel)
    else:
        number = _between(dice, len(_CHANNELS), 9_999)
        channel = f"channel-{number}"
    folders = "/".join(_extra(dice, 6) for _ in range(3))
    query = f"&channel_id={number}" if dice.random() < 0.9 else ""
    return {
        "auction": _auction_id(dice, period),
        "bidder": _person_id(dice, period, _BIDDER),
        "price": _price(dice),
        "channel": channel,
        "url": f"https://www.nexmark.example/{folders}/item.htm?query=1{query}",
        "date_time": at,
        "extra": _extra(dice, 60),
    }


def topic_of(prefix: str, kind: str) -> str:
    return f"{prefix}-{kind}"


def generate_nexmark(
    spec: GenerateSpec, client: KafkaClient, progress: ProgressCallback
) -> Summary:
    """Write events into the topics of all kinds until there are `count`, or until interrupted."""
    topics = {kind: topic_of(spec.topic, kind) for kind in COLUMNS}
    made = [ensure_topic(client, topic, spec.partitions) for topic in topics.values()]
    started = time.monotonic()
    rate = None if spec.start is not None else spec.rate
    producers = {
        kind: BulkProducer(client, topic, _share(rate, kind)) for kind, topic in topics.items()
    }
    sent = 0
    try:
        for chunk in _chunks(spec):
            for kind, producer in producers.items():
                records = _chunk(chunk, kind)
                if records.values:
                    producer.write(records, lambda _: None)
            sent += len(chunk)
            progress(Progress(sent, sent / spec.count if spec.count else None))
    finally:
        for producer in producers.values():
            producer.flush()
    return Summary(sent, 0, time.monotonic() - started, any(made), {})


def _share(rate: int | None, kind: str) -> int | None:
    if rate is None:
        return None
    parts = {"person": _PERSONS, "auction": _AUCTIONS}
    part = parts.get(kind, _PERIOD - _PERSONS - _AUCTIONS)
    return max(1, rate * part // _PERIOD)


def _chunks(spec: GenerateSpec) -> Iterator[Sequence[tuple[str, Event]]]:
    seed = random.randrange(1 << 30) if spec.seed is None else spec.seed
    number = 0
    size = max(_PERIOD, min(spec.rate // 10, _CHUNK))
    while spec.count is None or number < spec.count:
        count = size if spec.count is None else min(size, spec.count - number)
        now = int(time.time() * 1000)
        yield list(events(seed, number, count, _clock(spec, now)))
        number += count


def _clock(spec: GenerateSpec, now: int) -> Callable[[int], int]:
    start = spec.start
    if start is None:
        return lambda number: now
    return lambda number: start + number * 1000 // spec.rate


def _chunk(found: Sequence[tuple[str, Event]], kind: str) -> Chunk:
    rows = [row for name, row in found if name == kind]
    values = [json.dumps(row, separators=(",", ":")).encode() for row in rows]
    key = "auction" if kind == "bid" else "id"
    keys = [str(row[key]).encode() for row in rows]
    return Chunk(values, keys, [int(str(row["date_time"])) for row in rows])
