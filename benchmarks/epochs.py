"""Views that are of one moment: transfers among ten accounts, whose balances add up to 0.

    python -m benchmarks.epochs --transfers 200000 --rate 1000 --readers 2

A server has four views, each over the one before. They are read all the time over the PostgreSQL
port: in one SELECT, and in one transaction. Shown are how many reads were not 0; the freshness,
from when a transfer was sent until a Kafka client could read an epoch of the last view that
includes it; the processor time of the server while transfers come, and at rest with more views.
Exit code 1 if anything was not 0.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from confluent_kafka import Producer

from benchmarks.common import show_table
from benchmarks.postgres import connect
from benchmarks.serving import Server, free_port
from streamsql.config import EPOCHS_TOPIC
from streamsql.kafka.client import KafkaClient

START_SECONDS = 180.0
ACCOUNTS = 10
_BURSTS = 100
"""A second."""
STATEMENTS = (
    """CREATE STREAM transfers (id BIGINT, src INT, dst INT, amount BIGINT)
       WITH (KAFKA_TOPIC='transfers', VALUE_FORMAT='JSON', PARTITIONS=2)""",
    """CREATE MATERIALIZED VIEW credits AS
       SELECT dst AS account, SUM(amount) AS credits FROM transfers GROUP BY dst""",
    """CREATE MATERIALIZED VIEW debits AS
       SELECT src AS account, SUM(amount) AS debits FROM transfers GROUP BY src""",
    """CREATE MATERIALIZED VIEW balance AS
       SELECT c.account AS account, c.credits - d.debits AS balance
       FROM credits c JOIN debits d ON c.account = d.account""",
    "CREATE MATERIALIZED VIEW total AS SELECT SUM(balance) AS total, COUNT(*) AS n FROM balance",
)
LAST = "TOTAL"
TOTALS = """
    SELECT c.s - d.s, b.s, t.total, b.n
    FROM (SELECT SUM(credits) AS s FROM credits) c, (SELECT SUM(debits) AS s FROM debits) d,
      (SELECT SUM(balance) AS s, COUNT(*) AS n FROM balance) b, total t"""
PARTS = (
    "SELECT SUM(credits) FROM credits",
    "SELECT SUM(debits) FROM debits",
    "SELECT SUM(balance), COUNT(*) FROM balance",
    "SELECT total FROM total",
)


@dataclass
class Reads:
    """What one connection has read until it is stopped."""

    port: int
    reads: int = 0
    """With all accounts."""
    wrong: list[tuple[Any, ...]] = field(default_factory=list)

    def run(self, stopped: threading.Event) -> None:
        with connect(self.port) as connection:
            while not stopped.is_set():
                for row in connection.execute(TOTALS).fetchall():
                    self._saw(row[:3], row[3])
                self._transaction(connection)

    def _transaction(self, connection: psycopg.Connection) -> None:
        connection.execute("BEGIN READ ONLY")
        (credits,), (debits,), (balance, count), (total,) = (
            connection.execute(part).fetchone() or (None,) for part in PARTS
        )
        connection.execute("COMMIT")
        if credits is not None and debits is not None:
            self._saw((credits - debits, balance, total), count)

    def _saw(self, sums: tuple[Any, ...], accounts: int) -> None:
        if accounts == ACCOUNTS:
            self.reads += 1
            if any(sums):
                self.wrong.append(sums)


class Sender:
    """Transfers of 1, with the time at which each has been sent."""

    def __init__(self, bootstrap: str) -> None:
        self._client = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._random = random.Random(7)
        self.sent: list[list[float]] = [[], []]
        """By partition and offset."""

    def send(self, count: int, rate: int) -> None:
        begin = time.time()
        for number in range(count):
            src, dst = (self._random.randrange(ACCOUNTS) for _ in range(2))
            value = f'{{"ID":{number},"SRC":{src},"DST":{dst},"AMOUNT":1}}'
            self.sent[number % 2].append(time.time())
            while True:
                try:
                    self._client.produce("transfers", value, partition=number % 2)
                    break
                except BufferError:
                    self._client.poll(0.1)
            if number % max(1, rate // _BURSTS) == 0:
                self._client.poll(0)
                time.sleep(max(0.0, begin + number / rate - time.time()))
        self._client.flush()


class Marks:
    """The marks of epochs, with the time at which each could be read."""

    def __init__(self, kafka: KafkaClient) -> None:
        self._kafka = kafka
        self.cuts: dict[int, dict[str, dict[str, int]]] = {}
        self.ends: dict[int, float] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for mark in self._kafka.consume(EPOCHS_TOPIC, stop=self._stopped.is_set):
            value = json.loads(mark.value or b"{}")
            topic = json.loads(mark.key or b"{}").get("topic")
            if topic is None and value:
                self.cuts[value["epoch"]] = value["cut"]
            elif topic == LAST:
                self.ends[value["epoch"]] = time.time()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def latencies(self, sent: list[list[float]]) -> list[float]:
        """In seconds, of each transfer."""
        found, reached = [], [0, 0]
        for epoch, when in sorted(self.ends.items()):
            for partition, end in self.cuts[epoch].get("transfers", {}).items():
                number = int(partition)
                found += [when - at for at in sent[number][reached[number] : end]]
                reached[number] = max(reached[number], end)
        return sorted(found)


class Processor:
    """The processor time of a server and its children."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.begin()

    def begin(self) -> None:
        self._before, self._began = self._seconds(), time.monotonic()

    def _seconds(self) -> float:
        times = [p.cpu_times() for p in (self._process, *self._process.children(recursive=True))]
        return sum(t.user + t.system for t in times)

    def cores(self) -> float:
        return (self._seconds() - self._before) / (time.monotonic() - self._began)


def main() -> int:
    options = arguments().parse_args()
    postgres = free_port()
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        server = Server(Path(name), "--postgres", str(postgres))
        server.start()
        try:
            return measure(server, postgres, options)
        finally:
            server.stop()


def measure(server: Server, postgres: int, options: argparse.Namespace) -> int:
    kafka = KafkaClient(server.bootstrap())
    control = _connected(postgres)
    if options.guarantee:
        control.execute(f"SET processing.guarantee = '{options.guarantee}'")
    for statement in STATEMENTS:
        control.execute(statement)
    for part in PARTS:
        control.execute(part)
    marks, sender = Marks(kafka), Sender(kafka.bootstrap)
    readers = [Reads(postgres) for _ in range(options.readers)]
    stopped = threading.Event()
    threads = [threading.Thread(target=each.run, args=(stopped,)) for each in readers]
    for thread in threads:
        thread.start()
    assert server.process is not None
    processor = Processor(psutil.Process(server.process.pid))
    sender.send(options.transfers, options.rate)
    cores = processor.cores()
    control.execute("FLUSH")
    stopped.set()
    for thread in threads:
        thread.join()
    time.sleep(1)
    marks.stop()
    latencies = marks.latencies(sender.sent)
    wrong = [sums for each in readers for sums in each.wrong]
    last = control.execute("SELECT total, n FROM total").fetchone()
    for number in range(options.rest):
        control.execute(f"CREATE MATERIALIZED VIEW rest_{number} AS SELECT account FROM balance")
    time.sleep(10)
    processor.begin()
    time.sleep(options.seconds)
    show_table(
        [
            {
                "transfers": options.transfers,
                "included": len(latencies),
                "reads": sum(each.reads for each in readers),
                "not 0": len(wrong),
                "epochs": len(marks.ends),
                "p50 s": round(latencies[len(latencies) // 2], 2),
                "p99 s": round(latencies[len(latencies) * 99 // 100], 2),
                "worst s": round(latencies[-1], 2),
                "cores": round(cores, 2),
                "at rest": round(processor.cores(), 2),
            }
        ]
    )
    print("last:", last, "wrong:", wrong[:3])
    return int(bool(wrong) or last != (0, ACCOUNTS))


def _connected(port: int) -> psycopg.Connection:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return connect(port)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transfers", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=1000, help="transfers a second")
    parser.add_argument("--readers", type=int, default=1, help="connections that read")
    parser.add_argument("--guarantee", choices=("at_least_once", "exactly_once"))
    parser.add_argument("--rest", type=int, default=16, help="more views, to be measured at rest")
    parser.add_argument("--seconds", type=int, default=30, help="of rest")
    return parser


if __name__ == "__main__":
    sys.exit(main())
