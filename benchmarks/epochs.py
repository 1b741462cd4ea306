"""Views that are of one moment: transfers among ten accounts, whose balances add up to 0.

    python -m benchmarks.epochs --transfers 200000 --rate 1000 --readers 2
    python -m benchmarks.epochs --before 5000000 --base table --shape one

A server has four views, each over the one before, or one view with the same answer, over a stream
or over a table. They are read all the time over the PostgreSQL port: each by itself, all in one
SELECT, and in one transaction. Shown are how many reads, and records of the last view, were not 0;
how long the views take for the transfers that were there before them; the freshness, from when a
transfer was sent until a Kafka client could read an epoch of the last view that includes it; the
processor time of the server while transfers come, and at rest with more views. Exit code 1 if
anything was not 0.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from confluent_kafka import Producer

from benchmarks.common import show_table
from benchmarks.flink.cluster import Flink
from benchmarks.flink.transfers import script
from benchmarks.postgres import connect
from benchmarks.serving import Server, free_port
from streamsql.config import EPOCHS_TOPIC
from streamsql.kafka.client import KafkaClient

START_SECONDS = 180.0
ACCOUNTS = 10
_BURSTS = 100
"""A second."""
_COLUMNS = "src INT, dst INT, amount BIGINT"
_TOPIC = "WITH (KAFKA_TOPIC='transfers', FORMAT='JSON', PARTITIONS=2)"
BASES = {
    "stream": f"CREATE STREAM transfers (id BIGINT KEY, {_COLUMNS}) {_TOPIC}",
    "table": f"CREATE TABLE transfers (id BIGINT PRIMARY KEY, {_COLUMNS}) {_TOPIC}",
}
_VIEWS = {
    "credits": "SELECT dst AS account, SUM(amount) AS credits FROM transfers GROUP BY dst",
    "debits": "SELECT src AS account, SUM(amount) AS debits FROM transfers GROUP BY src",
    "balance": """SELECT c.account AS account, c.credits - d.debits AS balance
       FROM credits c JOIN debits d ON c.account = d.account""",
    "total": "SELECT SUM(balance) AS total, COUNT(*) AS n FROM balance",
}
_PARTS = ", ".join(f"{name} AS ({query})" for name, query in _VIEWS.items() if name != "total")
VIEWS = {
    "four": [f"CREATE MATERIALIZED VIEW {name} AS {query}" for name, query in _VIEWS.items()],
    "one": [f"CREATE MATERIALIZED VIEW total AS WITH {_PARTS} {_VIEWS['total']}"],
}
LAST = "TOTAL"
TOTALS = """
    SELECT c.s - d.s, b.s, t.total, b.n
    FROM (SELECT SUM(credits) AS s FROM credits) c, (SELECT SUM(debits) AS s FROM debits) d,
      (SELECT SUM(balance) AS s, COUNT(*) AS n FROM balance) b, total t"""
TOTAL = "SELECT total, n FROM total"
BALANCE = "SELECT SUM(balance), COUNT(*) FROM balance"
ACCOUNT_SUMS = ("SELECT SUM(credits) FROM credits", "SELECT SUM(debits) FROM debits")


@dataclass
class Reads:
    """What one connection has read until it is stopped."""

    port: int
    shape: str
    reads: int = 0
    """With all accounts."""
    wrong: list[tuple[Any, ...]] = field(default_factory=list)

    def run(self, stopped: threading.Event) -> None:
        with connect(self.port) as connection:
            while not stopped.is_set():
                self._one(connection, TOTAL)
                if self.shape == "four":
                    self._one(connection, BALANCE)
                    for *sums, accounts in connection.execute(TOTALS).fetchall():
                        self._saw(sums, accounts)
                    self._transaction(connection)

    def _one(self, connection: psycopg.Connection, query: str) -> None:
        for sum_, accounts in connection.execute(query).fetchall():
            self._saw([sum_], accounts)

    def _transaction(self, connection: psycopg.Connection) -> None:
        connection.execute("BEGIN READ ONLY")
        self._one(connection, TOTAL)
        (balance, accounts) = connection.execute(BALANCE).fetchone() or (None, 0)
        credits, debits = (
            (connection.execute(each).fetchone() or (None,))[0] for each in ACCOUNT_SUMS
        )
        connection.execute("COMMIT")
        if credits is not None and debits is not None:
            self._saw([credits - debits, balance], accounts)

    def _saw(self, sums: list[Any], accounts: int) -> None:
        if accounts == ACCOUNTS:
            self.reads += 1
            if any(sums):
                self.wrong.append(tuple(sums))


class Sender:
    """Transfers of 1, with the time at which each has been sent."""

    def __init__(self, bootstrap: str) -> None:
        self._client = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
        self._random = random.Random(7)
        self.sent: list[list[float]] = [[], []]
        """By partition and offset."""

    def send(self, count: int, rate: int | None = None) -> None:
        """At most `rate` of them a second."""
        begin = time.time()
        for number in range(count):
            src, dst = (self._random.randrange(ACCOUNTS) for _ in range(2))
            value = f'{{"SRC":{src},"DST":{dst},"AMOUNT":1}}'
            partition = sum(map(len, self.sent)) % 2
            self.sent[partition].append(time.time())
            key = str(len(self.sent[partition]) * 2 + partition)
            while True:
                try:
                    self._client.produce("transfers", value, key, partition)
                    break
                except BufferError:
                    self._client.poll(0.1)
            if rate and number % max(1, rate // _BURSTS) == 0:
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

    def latencies(self, sent: list[list[float]], before: Sequence[int]) -> list[float]:
        """In seconds, of each transfer from these offsets on."""
        found, reached = [], list(before)
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
    control.execute(BASES[options.base])
    sender = Sender(kafka.bootstrap)
    sender.send(options.before)
    assert server.process is not None
    processor = Processor(psutil.Process(server.process.pid))
    began = time.monotonic()
    for statement in VIEWS[options.shape]:
        control.execute(statement)
    control.execute(TOTAL)
    caught_up = _flushed(control) - began if options.before else 0.0
    catching_up = processor.cores()
    marks, before = Marks(kafka), [len(each) for each in sender.sent]
    readers = [Reads(postgres, options.shape) for _ in range(options.readers)]
    stopped = threading.Event()
    threads = [threading.Thread(target=each.run, args=(stopped,)) for each in readers]
    for thread in threads:
        thread.start()
    processor.begin()
    sender.send(options.transfers, options.rate)
    cores = processor.cores()
    _flushed(control)
    stopped.set()
    for thread in threads:
        thread.join()
    time.sleep(1)
    marks.stop()
    latencies = marks.latencies(sender.sent, before)
    wrong = [sums for each in readers for sums in each.wrong]
    records, not_0 = _changelog(kafka, LAST)
    last = control.execute(TOTAL).fetchone()
    for number in range(options.rest):
        control.execute(f"CREATE MATERIALIZED VIEW rest_{number} AS SELECT n FROM total")
    time.sleep(10)
    processor.begin()
    time.sleep(options.seconds)
    show_table(
        [
            {
                "before": options.before,
                "caught up s": round(caught_up, 1),
                "its cores": round(catching_up, 2),
                "transfers": options.transfers,
                "included": len(latencies),
                "reads": sum(each.reads for each in readers),
                "not 0": len(wrong),
                "records": records,
                "not 0 ": not_0,
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
    if options.flink_jars is not None:
        count, wrong_there = by_flink(options.flink_jars, kafka)
        print(f"Flink: of {count} records of the total {wrong_there} are not 0")
    return int(bool(wrong) or bool(not_0) or last != (0, ACCOUNTS))


def _flushed(connection: psycopg.Connection) -> float:
    """When all views have what was sent, by the monotonic clock."""
    while True:
        try:
            connection.execute("FLUSH")
            return time.monotonic()
        except psycopg.Error as error:
            # It waits for a minute at most.
            if "timeout" not in str(error) and "within" not in str(error):
                raise


def by_flink(jars: Path, kafka: KafkaClient) -> tuple[int, int]:
    """The same of the total that Flink writes, once it has read all transfers."""
    topic = "flink-total"
    kafka.create_topic(topic)
    with tempfile.TemporaryDirectory(prefix="flink-bench-") as folder:
        flink = Flink(jars, Path(folder))
        try:
            flink.submit(script(kafka.bootstrap, topic))
            while not flink.finished():
                time.sleep(1)
        finally:
            flink.close()
    return _changelog(kafka, topic)


def _changelog(kafka: KafkaClient, topic: str) -> tuple[int, int]:
    """How many records of a total have all accounts, and how many of these are not 0."""
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    rows = [json.loads(record.value) for record in records if record.value is not None]
    totals = [row["TOTAL"] for row in rows if row["N"] == ACCOUNTS]
    return len(totals), sum(1 for total in totals if total)


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
    parser.add_argument("--base", choices=[*BASES], default="stream", help="what transfers are")
    parser.add_argument("--shape", choices=[*VIEWS], default="four", help="the views")
    parser.add_argument("--before", type=int, default=0, help="transfers before there are views")
    parser.add_argument("--transfers", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=1000, help="transfers a second")
    parser.add_argument("--readers", type=int, default=1, help="connections that read")
    parser.add_argument("--guarantee", choices=("at_least_once", "exactly_once"))
    parser.add_argument(
        "--flink-jars", type=Path, metavar="FOLDER", help="as of benchmarks.nexmark"
    )
    parser.add_argument("--rest", type=int, default=16, help="more views, to be measured at rest")
    parser.add_argument("--seconds", type=int, default=30, help="of rest")
    return parser


if __name__ == "__main__":
    sys.exit(main())
