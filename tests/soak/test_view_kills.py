"""Kill the engine, again and again, while the rows below views change.

Afterwards each view is its query's answer, and no record of a view has shown a moment within a
batch, or of two views of different moments: of transfers between accounts the total is 0 at every
moment.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from soak.engine_process import START_SECONDS, EngineProcess, let_pass
from views.whole_epochs import whole_epochs

from benchmarks.tpch import Expected, House, Sender, difference, query_text, tables_text
from benchmarks.tpch_rows import KEYS, Database
from streamsql.data_folder import DataDir
from streamsql.engine import EngineConfig
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

QUERIES = ("q3", "q5", "q13")
SCALE = 0.002
RATE = 200
"""Changes of TPC-H's rows a second, and transfers a second."""
BURST_SECONDS = 0.2
ACCOUNTS = 10

TRANSFERS = """
CREATE STREAM transfers (source INT, target INT, amount INT)
  WITH (KAFKA_TOPIC='transfers', PARTITIONS=2, VALUE_FORMAT='JSON');

CREATE MATERIALIZED VIEW balances AS
  WITH c AS (SELECT target AS a, SUM(amount) AS s FROM transfers GROUP BY target),
    d AS (SELECT source AS a, SUM(amount) AS s FROM transfers GROUP BY source)
  SELECT COALESCE(c.a, d.a) AS account, COALESCE(c.s, 0) - COALESCE(d.s, 0) AS balance
  FROM c FULL JOIN d ON c.a = d.a;

CREATE MATERIALIZED VIEW totals AS
  WITH c AS (SELECT target AS a, SUM(amount) AS s FROM transfers GROUP BY target),
    d AS (SELECT source AS a, SUM(amount) AS s FROM transfers GROUP BY source)
  SELECT SUM(COALESCE(c.s, 0) - COALESCE(d.s, 0)) AS total FROM c FULL JOIN d ON c.a = d.a;

CREATE MATERIALIZED VIEW credits AS
  SELECT target AS account, SUM(amount) AS credits FROM transfers GROUP BY target;

CREATE MATERIALIZED VIEW debits AS
  SELECT source AS account, SUM(amount) AS debits FROM transfers GROUP BY source;

CREATE MATERIALIZED VIEW differences AS
  SELECT c.account, c.credits - d.debits AS balance
  FROM credits c JOIN debits d ON c.account = d.account;
"""


class Transfers:
    """Transfers of 1 between random accounts."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        self._chance = random.Random(seed)
        self._client = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self.balances = dict.fromkeys(range(ACCOUNTS), 0)

    def send(self, count: int) -> None:
        for _ in range(count):
            source, target = self._chance.sample(range(ACCOUNTS), 2)
            self.balances[source] -= 1
            self.balances[target] += 1
            value = {"SOURCE": source, "TARGET": target, "AMOUNT": 1}
            self._client.produce(
                "transfers", json.dumps(value), partition=self._chance.randrange(2)
            )
        self._client.flush()


@contextmanager
def load(house: House, transfers: Transfers) -> Iterator[None]:
    """Changes and transfers, until the block ends."""
    stopped = threading.Event()
    changes = house.database.changes()

    def send() -> None:
        while not stopped.is_set():
            house.sender.send(changes, RATE, BURST_SECONDS)
            transfers.send(int(RATE * BURST_SECONDS))

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def run(folder: Path, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    broker = EmbeddedBroker(DataDir(folder / "broker"))
    broker.start(START_SECONDS)
    data = folder / "engine"
    database = Database(SCALE)
    sender = Sender(broker.bootstrap, {table: table.upper() for table in KEYS})
    house = House(EngineConfig(data, broker.bootstrap), database, sender)
    transfers = Transfers(broker.bootstrap, seed)
    try:
        house.start()
        try:
            house.run(tables_text() + TRANSFERS)
            sender.fill(database)
            for name in QUERIES:
                house.run(f"CREATE MATERIALIZED VIEW {name} AS {query_text(name)};")
        finally:
            house.engine.close()
        with load(house, transfers):
            _kill(EngineProcess(data, "", broker.bootstrap), kills, dice)
        _check(house, transfers, KafkaClient(broker.bootstrap))
    finally:
        broker.stop()


def _kill(engine: EngineProcess, kills: int, dice: random.Random) -> None:
    """SIGKILL at moments of which some are while the engine starts."""
    engine.start()
    try:
        for _ in range(kills):
            if dice.random() < 0.8:
                engine.await_ready()
            let_pass(dice.uniform(0.0, 10.0))
            assert engine.kill() >= 1
            engine.start()
        engine.await_ready()
        let_pass(10.0)
        assert engine.stop() == 0
    finally:
        engine.kill()


def _check(house: House, transfers: Transfers, kafka: KafkaClient) -> None:
    house.start()
    try:
        house.flush()
        expected = Expected(house.database)
        expected.load()
        for name in QUERIES:
            assert difference(house.rows(f"SELECT * FROM {name};"), expected.rows(name)) is None
        assert dict(house.rows("SELECT * FROM balances;")) == transfers.balances
        assert house.rows("SELECT * FROM totals;") == [(0,)]
    finally:
        house.engine.close()
    records = list(kafka.consume("TOTALS", until=kafka.end_offsets("TOTALS")))
    shown = [json.loads(record.value)["TOTAL"] for record in records if record.value is not None]
    # Before the first transfer the sum is null.
    assert set(shown) == {None, 0}
    epochs = whole_epochs(kafka, "DIFFERENCES").values()
    balances = [[json.loads(value)["BALANCE"] for value in rows.values()] for rows in epochs]
    full = [each for each in balances if len(each) == ACCOUNTS]
    assert full
    assert {sum(each) for each in full} == {0}


def test_three_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=3, seed=3)


def test_twenty_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=20, seed=20)
