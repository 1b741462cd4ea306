"""A made-up history of tables and streams, queries of every kind over it, and what they must give.

The history is random, the same for the same seed. Timestamps across topics say in what order things
happened; orders and payments come out of order, by less than their grace periods.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamsql.kafka.client import NewRecord

START = 1_700_000_000_000
IDS = 12
REGIONS = ("north", "south", "east", "west")
OUT_OF_ORDER_MS = 20_000
MATCH_MS = 10_000
GAP_MS = 8_000
CLOSING_MS = 3_600_000
FEW = 5, 60
GROWN_UP = 40

SOURCES = """
CREATE TABLE $users (id STRING PRIMARY KEY, region STRING, age INT)
  WITH (KAFKA_TOPIC='$users', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $profiles (id STRING PRIMARY KEY, score INT)
  WITH (KAFKA_TOPIC='$profiles', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $regions (id STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='$regions', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM $visits (id STRING KEY, n INT)
  WITH (KAFKA_TOPIC='$visits', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE STREAM $orders (id STRING KEY, amount INT)
  WITH (KAFKA_TOPIC='$orders', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE STREAM $payments (id STRING KEY, amount INT)
  WITH (KAFKA_TOPIC='$payments', PARTITIONS=2, VALUE_FORMAT='JSON');
"""
TOPICS = ("users", "profiles", "regions", "visits", "orders", "payments")

QUERIES = """
CREATE TABLE $visitsbyregion AS SELECT u.region AS region, SUM(v.n) AS total
  FROM $visits v JOIN $users u ON v.id = u.id GROUP BY u.region;
CREATE TABLE $scored AS SELECT ROWKEY AS id, u.region AS region, p.score AS score
  FROM $users u FULL JOIN $profiles p ON u.id = p.id;
CREATE TABLE $located AS SELECT u.id AS id, u.age AS age, r.name AS name
  FROM $users u LEFT JOIN $regions r ON u.region = r.id;
CREATE TABLE $population AS SELECT region, COUNT(*) AS users, SUM(age) AS ages
  FROM $users GROUP BY region;
CREATE TABLE $fewvisits AS SELECT id, SUM(n) AS total FROM $visits GROUP BY id
  HAVING SUM(n) > 5 AND SUM(n) < 60;
CREATE TABLE $grownup AS SELECT id, age FROM $users WHERE age >= 40;
CREATE TABLE $paid AS SELECT o.id AS id, COUNT(*) AS pairs, SUM(p.amount) AS total
  FROM $orders o JOIN $payments p WITHIN 10 SECONDS GRACE PERIOD 10 MINUTES ON o.id = p.id
  GROUP BY o.id;
CREATE TABLE $settled AS SELECT o.id AS id, COUNT(*) AS n, COUNT(p.amount) AS payments
  FROM $orders o LEFT JOIN $payments p WITHIN (0 SECONDS, 10 SECONDS) GRACE PERIOD 10 MINUTES
  ON o.id = p.id GROUP BY o.id;
CREATE TABLE $bursts AS SELECT id, COUNT(*) AS orders, SUM(amount) AS total,
    WINDOWSTART AS first, WINDOWEND AS last
  FROM $orders WINDOW SESSION (8 SECONDS, GRACE PERIOD 10 MINUTES) GROUP BY id;
"""
TABLES = (
    "visitsbyregion",
    "scored",
    "located",
    "population",
    "fewvisits",
    "grownup",
    "paid",
    "settled",
    "bursts",
)
AT_THE_END = {"settled"}
"""Tables that wait for time to pass: known when the history is closed."""


@dataclass(frozen=True)
class Event:
    """A record of a topic of the history; `row` None is a tombstone."""

    topic: str
    id: str
    row: dict[str, Any] | None
    time: int

    def record(self) -> NewRecord:
        value = None if self.row is None else json.dumps(self.row).encode()
        return NewRecord(self.id.encode(), value, self.time)


class History:
    """Makes events, chapter by chapter."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._clock = START
        self._chapters = 0

    def tables(self, count: int) -> list[Event]:
        """Changes of tables; the last is a new user, whose `visit` tells that all are known."""
        topics = self._dice.choices(("users", "profiles", "regions"), (6, 3, 1), k=count)
        events = [self._change(topic) for topic in topics]
        self._chapters += 1
        row = {"region": self.chapter, "age": 0}
        return [*events, Event("users", self.chapter, row, self._now())]

    @property
    def chapter(self) -> str:
        """The id and region of the chapter's own user."""
        return f"chapter-{self._chapters}"

    def visit(self) -> Event:
        """A visit of the chapter's own user that adds nothing to any sum."""
        return Event("visits", self.chapter, {"n": 0}, self._now())

    def streams(self, count: int) -> list[Event]:
        """Visits in order, orders and payments out of order."""
        topics = self._dice.choices(("visits", "orders", "payments"), (2, 3, 3), k=count)
        return [self._happening(topic) for topic in topics]

    def closing(self) -> list[Event]:
        """An order of each id, paid at once, after so long that nothing waits any more."""
        self._clock += CLOSING_MS
        ids = [f"id-{number}" for number in range(IDS)]
        orders = [Event("orders", id, {"amount": 0}, self._now()) for id in ids]
        return orders + [Event("payments", id, {"amount": 0}, self._clock) for id in ids]

    def _now(self) -> int:
        self._clock += self._dice.randint(1, 300)
        return self._clock

    def _id(self) -> str:
        return f"id-{self._dice.randrange(IDS)}"

    def _change(self, topic: str) -> Event:
        dice, now = self._dice, self._now()
        id = dice.choice(REGIONS) if topic == "regions" else self._id()
        row: dict[str, Any] | None
        if dice.random() < 0.2:
            row = None
        elif topic == "users":
            row = {"region": dice.choice((*REGIONS, None)), "age": dice.randint(1, 90)}
        elif topic == "profiles":
            row = {"score": dice.randint(1, 100)}
        else:
            row = {"name": f"{id} {dice.randint(1, 9)}"}
        return Event(topic, id, row, now)

    def _happening(self, topic: str) -> Event:
        dice, now = self._dice, self._now()
        if topic == "visits":
            return Event(topic, self._id(), {"n": dice.randint(1, 5)}, now)
        late = dice.randrange(OUT_OF_ORDER_MS) if dice.random() < 0.3 else 0
        row = None if dice.random() < 0.05 else {"amount": dice.randint(1, 50)}
        return Event(topic, self._id(), row, now - late)


Rows = Mapping[str, Sequence[Event]]
Table = dict[Any, dict[str, Any]]


def expected(topics: Rows) -> dict[str, Table]:
    """The final tables, by plain computation over the events of each topic in their order."""
    users, profiles, regions = (_latest(topics[name]) for name in TOPICS[:3])
    grown_up = {id: {"AGE": u["age"]} for id, u in users.items() if u["age"] >= GROWN_UP}
    located = {
        id: {"AGE": u["age"], "NAME": regions.get(u["region"], {}).get("name")}
        for id, u in users.items()
    }
    scored = {
        id: {
            "REGION": users.get(id, {}).get("region"),
            "SCORE": profiles.get(id, {}).get("score"),
        }
        for id in users.keys() | profiles.keys()
    }
    return {
        "visitsbyregion": _visits_by_region(topics),
        "scored": scored,
        "located": located,
        "population": _population(topics["users"], users),
        "fewvisits": _few_visits(topics["visits"]),
        "grownup": grown_up,
        "paid": _paid(topics),
        "settled": _settled(topics),
        "bursts": _bursts(topics["orders"]),
    }


def _latest(events: Sequence[Event]) -> dict[Any, dict[str, Any]]:
    rows: dict[Any, dict[str, Any]] = {}
    for event in events:
        rows.pop(event.id, None)
        if event.row is not None:
            rows[event.id] = event.row
    return rows


def _visits_by_region(topics: Rows) -> Table:
    users: dict[str, dict[str, Any]] = {}
    totals: dict[str, int] = defaultdict(int)
    for event in sorted([*topics["users"], *topics["visits"]], key=lambda event: event.time):
        if event.topic == "users":
            users.pop(event.id, None)
            if event.row is not None:
                users[event.id] = event.row
        elif event.row is not None and event.id in users:
            if (region := users[event.id]["region"]) is not None:
                totals[region] += event.row["n"]
    return {region: {"TOTAL": total} for region, total in totals.items()}


def _population(changes: Sequence[Event], users: Mapping[str, dict[str, Any]]) -> Table:
    """A region that all have left stays, with a count of 0."""
    known = {e.row["region"] for e in changes if e.row is not None} - {None}
    ages = {r: [u["age"] for u in users.values() if u["region"] == r] for r in known}
    return {region: {"USERS": len(of), "AGES": sum(of)} for region, of in ages.items()}


def _few_visits(visits: Sequence[Event]) -> Table:
    totals: dict[str, int] = defaultdict(int)
    for event in visits:
        totals[event.id] += event.row["n"] if event.row else 0
    low, high = FEW
    return {id: {"TOTAL": total} for id, total in totals.items() if low < total < high}


def _by_id(events: Sequence[Event]) -> dict[str, list[tuple[int, int]]]:
    """Times and amounts of what is no tombstone."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event.row is not None:
            found[event.id].append((event.time, event.row["amount"]))
    return found


def _paid(topics: Rows) -> Table:
    orders, payments = _by_id(topics["orders"]), _by_id(topics["payments"])
    table: Table = {}
    for id in orders:
        amounts = [
            amount
            for ordered, _ in orders[id]
            for paid, amount in payments[id]
            if abs(ordered - paid) <= MATCH_MS
        ]
        if amounts:
            table[id] = {"PAIRS": len(amounts), "TOTAL": sum(amounts)}
    return table


def _settled(topics: Rows) -> Table:
    orders, payments = _by_id(topics["orders"]), _by_id(topics["payments"])
    table: Table = {}
    for id in orders:
        matches = [
            sum(1 for paid, _ in payments[id] if 0 <= paid - ordered <= MATCH_MS)
            for ordered, _ in orders[id]
        ]
        table[id] = {"N": sum(max(n, 1) for n in matches), "PAYMENTS": sum(matches)}
    return table


def _bursts(orders: Sequence[Event]) -> Table:
    table: Table = {}
    for id, found in _by_id(orders).items():
        sessions: list[list[tuple[int, int]]] = []
        for order in sorted(found):
            if sessions and order[0] - sessions[-1][-1][0] <= GAP_MS:
                sessions[-1].append(order)
            else:
                sessions.append([order])
        for session in sessions:
            first, last = session[0][0], session[-1][0]
            total = sum(amount for _, amount in session)
            row = {"ORDERS": len(session), "TOTAL": total, "FIRST": first, "LAST": last}
            table[id, first, last] = row
    return table
