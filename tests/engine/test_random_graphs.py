"""Random graphs of views over random changes: at each epoch each view is what DuckDB answers over
the cut of that epoch.

python -m pytest tests/engine/test_random_graphs.py       one graph
STREAMSQL_GRAPH_SEEDS=100:200 ..                          those of other seeds

The views, their queries and the changes of a seed are made of its random numbers; when a batch
begins is not.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import duckdb
import pytest
import sqlglot
from engine.live import Live, Restartable
from relational.generator import INT, TEXT, Generator, Pick, Seeded, Table
from relational.small import comparable
from views.view_run import view_row
from views.whole_epochs import cuts, records, whole_epochs

from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord, Record

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

FIRST, LAST = map(int, os.environ.get("STREAMSQL_GRAPH_SEEDS", "2:3").split(":"))
MANY = 5_120
"""Graphs of the long test."""
SEEDS_OF_A_TEST = 10
MOST_VIEWS = 12
INPUTS = 3
"""The most relations that a query reads."""
BURSTS = 30
PAUSE_MS = 300
"""The longest one between two bursts."""
TABLES = (
    Table("$t", (("a", INT), ("b", INT), ("c", TEXT)), key=1),
    Table("$s", (("a", INT), ("d", INT), ("e", TEXT)), rows=60),
)
SOURCES = """
SET 'streamsql.sql.semantics' = 'standard';
SET 'streamsql.consistency.timeout.ms' = '60000';
SET 'streamsql.view.freshness.ms' = '100';
CREATE TABLE $t (a INT PRIMARY KEY, b INT, c STRING)
  WITH (KAFKA_TOPIC='$t', FORMAT='JSON', PARTITIONS=2);
CREATE STREAM $s (a INT, d INT, e STRING)
  WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
_NUMBERS = (None, 0, 1, 2, 3, -1)
_TEXTS = (None, "x", "y", "z", "")

Rows = list[tuple[Any, ...]]


@dataclass
class Graph:
    """Views over the two base topics, and over each other."""

    live: Live
    kafka: KafkaClient
    pick: Pick
    judge: Judge
    views: dict[str, str] = field(default_factory=dict)
    """By name, the query."""

    def create(self) -> None:
        tables, wanted = list(TABLES), 2 + self.pick.number(MOST_VIEWS - 2)
        while len(self.views) < wanted:
            name = f"$v{len(self.views)}"
            inputs = [tables[-1 - self.pick.number(len(tables) - 1)] for _ in range(INPUTS)]
            generator = Generator(self.pick, inputs, size=2)
            kinds = generator.kinds()
            made = generator.made(kinds)
            try:
                self.judge.create(name, made.text)
                self.live.run(f"CREATE MATERIALIZED VIEW {name} AS {made.text};")
            except (duckdb.Error, UnsupportedError):
                continue
            self.views[name] = made.text
            columns = tuple((f"c{n}", kind) for n, kind in enumerate(kinds, 1))
            tables.append(Table(name, columns, rows=made.rows))

    def change(self) -> None:
        for _ in range(BURSTS):
            changes = [self._one() for _ in range(1 + self.pick.number(7))]
            for topic, burst in groupby(changes, lambda change: change[0]):
                self.kafka.produce(topic, [record for _, record in burst])
            # Batches are to end at other places each time.
            time.sleep(self.pick.number(PAUSE_MS) / 1000)
        self.live.run("FLUSH;")

    def _one(self) -> tuple[str, NewRecord]:
        kind = self.pick.number(9)
        number, other = (_NUMBERS[self.pick.number(len(_NUMBERS) - 1)] for _ in range(2))
        text = _TEXTS[self.pick.number(len(_TEXTS) - 1)]
        if kind <= 2:
            row = {"A": number, "D": other, "E": text}
            return self.live.name("S"), NewRecord(None, json.dumps(row).encode())
        key = json.dumps(self.pick.number(6)).encode()
        row = {"B": number, "C": text}
        value = None if kind == 9 else json.dumps(row).encode()
        return self.live.name("T"), NewRecord(key, value)

    def check(self) -> int:
        """How many answers were compared."""
        found = 0
        self.judge.load(self.kafka)
        for name, text in self.views.items():
            for epoch, rows in self._epochs(name).items():
                expected = self.judge.rows(name, epoch)
                assert comparable(rows) == comparable(expected), (name, epoch, text, self.views)
                found += 1
        return found

    def _epochs(self, name: str) -> dict[int, Rows]:
        topic = self.live.name(name.removeprefix("$").upper())
        schema = self.live.engine.catalog().get(topic).schema
        names = sorted(c.name for c in schema.columns if c.name.startswith("C"))
        return {
            epoch: [view_row(schema, names, k.decode(), json.loads(v)) for k, v in rows.items()]
            for epoch, rows in whole_epochs(self.kafka, topic).items()
        }


class Judge:
    """DuckDB with the same views, over the base topics up to the cut of an epoch."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._records: dict[str, list[Record]] = {}
        self._cuts: dict[int, dict[str, dict[str, int]]] = {}
        self._database = duckdb.connect()
        self._database.execute("SET integer_division = true; SET threads = 1")
        self._database.execute(live.sql("CREATE TABLE $t (a INT, b INT, c VARCHAR)"))
        self._database.execute(live.sql("CREATE TABLE $s (a INT, d INT, e VARCHAR)"))

    def create(self, name: str, text: str) -> None:
        """A view; in place of one of that name."""
        own = sqlglot.transpile(self._live.sql(text), "postgres", "duckdb")[0]
        self._database.execute(f"CREATE OR REPLACE VIEW {self._live.sql(name)} AS {own}")

    def load(self, kafka: KafkaClient) -> None:
        self._cuts = cuts(kafka)
        self._records = {name: records(kafka, self._live.name(name)) for name in ("T", "S")}

    def rows(self, name: str, epoch: int) -> Rows:
        cut = self._cuts[epoch]
        table = {record.key: record.value for record in self._until("T", cut)}
        rows = [
            (json.loads(key or b""), *json.loads(value).values())
            for key, value in table.items()
            if value is not None
        ]
        self._fill("$t", rows)
        self._fill(
            "$s", [tuple(json.loads(r.value or b"").values()) for r in self._until("S", cut)]
        )
        return self._database.execute(f"SELECT * FROM {self._live.sql(name)}").fetchall()

    def _until(self, name: str, cut: dict[str, dict[str, int]]) -> Iterator[Record]:
        ends = cut.get(self._live.name(name), {})
        for record in self._records[name]:
            if record.offset < ends.get(str(record.partition), 0):
                yield record

    def _fill(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        name = self._live.sql(name)
        self._database.execute(f"DELETE FROM {name}")
        if rows:
            row = f"({', '.join('?' for _ in rows[0])})"
            values = ", ".join(row for _ in rows)
            cells = [cell for each in rows for cell in each]
            self._database.execute(f"INSERT INTO {name} VALUES {values}", cells)


def _check(restartable: Restartable, kafka: KafkaClient, seed: int) -> None:
    live = Live(restartable)
    try:
        live.run(SOURCES)
        graph = Graph(live, kafka, Seeded(seed), Judge(live))
        graph.create()
        graph.change()
        assert graph.check() > len(graph.views)
    finally:
        live.drop_all()


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_each_epoch_of_random_views(
    restartable: Restartable, kafka: KafkaClient, seed: int
) -> None:
    _check(restartable, kafka, seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 1_000 + MANY, SEEDS_OF_A_TEST))
def test_each_epoch_of_many_random_views(
    restartable: Restartable, kafka: KafkaClient, first: int
) -> None:
    for seed in range(first, first + SEEDS_OF_A_TEST):
        _check(restartable, kafka, seed)
