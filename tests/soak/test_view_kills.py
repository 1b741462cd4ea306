"""Kill the engine, again and again, while the rows below views change.

Afterwards each view is its query's answer, and no record of a view has shown a moment within a
batch, or of two views of different moments: of transfers between accounts the total is 0 at every
moment.
"""

from __future__ import annotations

import json
import random
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from background import repeated
from soak.engine_process import START_SECONDS, EngineProcess, let_pass
from soak.transfers import TRANSFERS, Transfers, sums_of_epochs

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


def load(house: House, transfers: Transfers) -> AbstractContextManager[None]:
    """Changes and transfers, until the block ends."""
    changes = house.database.changes()

    def send() -> None:
        house.sender.send(changes, RATE, BURST_SECONDS)
        transfers.send(int(RATE * BURST_SECONDS))

    return repeated(send)


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
    assert set(sums_of_epochs(kafka)) == {0}


def test_three_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=3, seed=3)


def test_twenty_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=20, seed=20)
