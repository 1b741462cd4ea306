"""Kill everything, again and again, while records flow into a GROUP BY: nothing is lost.

A process with engine, Spark and broker is ended by SIGKILL at random moments, its children too, and
started again. In the end the table must hold exactly what a count of the topic's records gives.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest
from awaiting import await_until
from confluent_kafka import KafkaError, Message, Producer
from soak.engine_process import START_SECONDS, EngineProcess, let_pass

from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

RECORDS = 100_000
KEYS = 1_000
FINISH_SECONDS = 300.0

SQL = """
CREATE STREAM events (k STRING KEY, v BIGINT)
  WITH (KAFKA_TOPIC='events', PARTITIONS=2, VALUE_FORMAT='JSON');

CREATE TABLE totals AS SELECT k, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top
  FROM events GROUP BY k;
"""


class Loader:
    """Writes all records, each again until it is acknowledged: some may be there twice."""

    def __init__(self, bootstrap: str, per_second: float) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "message.timeout.ms": 15_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._per_second = per_second
        self.acknowledged: set[int] = set()
        self._again: list[int] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        while len(self.acknowledged) < RECORDS and not self._stopped.is_set():
            if self._again:
                self._send(self._again.pop())
            elif sent < min(RECORDS, (time.monotonic() - began) * self._per_second):
                self._send(sent)
                sent += 1
            else:
                self._producer.poll(0.005)

    def _send(self, number: int) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                self.acknowledged.add(number)
            else:
                self._again.append(number)

        value = json.dumps({"v": number})
        while not self._stopped.is_set():
            try:
                self._producer.produce("events", value, f"k{number % KEYS}", on_delivery=delivered)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(10)
        self._producer.purge()


def expected(kafka: KafkaClient) -> dict[str, tuple[int, int, int]]:
    """The table as the records that are really in the topic make it."""
    counts: dict[str, int] = defaultdict(int)
    totals: dict[str, int] = defaultdict(int)
    tops: dict[str, int] = defaultdict(int)
    for record in kafka.consume("events", until=kafka.end_offsets("events")):
        assert record.key is not None and record.value is not None
        key, value = record.key.decode(), json.loads(record.value)["v"]
        counts[key] += 1
        totals[key] += value
        tops[key] = max(tops[key], value)
    return {key: (counts[key], totals[key], tops[key]) for key in counts}


class TableReader:
    """The last value of each key of the table's topic, read on from where it last was."""

    def __init__(self, kafka: KafkaClient, topic: str) -> None:
        self._kafka, self._topic = kafka, topic
        self._start: dict[int, int] = {}
        self.rows: dict[str, tuple[int, int, int]] = {}

    def read(self) -> dict[str, tuple[int, int, int]]:
        ends = self._kafka.end_offsets(self._topic)
        for record in self._kafka.consume(self._topic, start=self._start, until=ends):
            assert record.key is not None and record.value is not None
            row = json.loads(record.value)
            self.rows[record.key.decode()] = (row["N"], row["TOTAL"], row["TOP"])
        self._start = ends
        return self.rows


def run(folder: Path, kills: int, seed: int, *, parts: bool = False) -> None:
    """`parts`: kill the broker or Spark only."""
    dice = random.Random(seed)
    engine = EngineProcess(folder, SQL)
    engine.start()
    loader = None
    try:
        engine.await_ready()
        loader = Loader(engine.bootstrap, per_second=RECORDS / (8.0 * (kills + 1)))
        for number in range(1, kills + 1):
            _await_moment(loader, dice, number, kills)
            if parts:
                engine.kill_part(dice)
            else:
                _kill_all(engine, dice)
        engine.await_ready()
        _check(engine, loader)
    finally:
        if loader is not None:
            loader.stop()
        engine.kill()


def _await_moment(loader: Loader, dice: random.Random, number: int, kills: int) -> None:
    """Some seconds into the share of the records that is this kill's."""
    threshold = int(RECORDS * (number - 1 + dice.random()) / (kills + 1))
    await_until(
        lambda: len(loader.acknowledged) >= threshold, f"{threshold} records", START_SECONDS
    )
    let_pass(dice.uniform(0.0, 10.0))


def _kill_all(engine: EngineProcess, dice: random.Random) -> None:
    assert engine.kill() >= 1
    engine.start()
    if dice.random() < 0.3:
        # Sometimes twice in a row, while it is only just starting.
        let_pass(dice.uniform(0.5, 6.0))
        engine.kill()
        engine.start()


def _check(engine: EngineProcess, loader: Loader) -> None:
    await_until(
        lambda: len(loader.acknowledged) == RECORDS, "all records to be written", FINISH_SECONDS
    )
    kafka = KafkaClient(engine.bootstrap)
    await_until(lambda: kafka.reachable(1.0), "the broker to be back", START_SECONDS)
    wanted = expected(kafka)
    assert sum(n for n, _, _ in wanted.values()) >= RECORDS and len(wanted) == KEYS
    table = TableReader(kafka, "TOTALS")
    try:
        await_until(lambda: table.read() == wanted, "the table to be exact", FINISH_SECONDS)
    except AssertionError:
        wrong = {k: (table.rows.get(k), v) for k, v in wanted.items() if table.rows.get(k) != v}
        sample = dict(list(wrong.items())[:5])
        raise AssertionError(f"{len(wrong)} keys are wrong, found and wanted: {sample}") from None
    assert engine.stop() == 0


def test_three_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=3, seed=3)


def test_twenty_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=20, seed=20)


def test_broker_or_spark_alone(tmp_path: Path) -> None:
    run(tmp_path, kills=6, seed=6, parts=True)
