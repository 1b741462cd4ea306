"""A small reader of PostgreSQL's log: what Debezium does, over a replication slot, into a topic.

`python -m capture.reader CONNINFO TABLE BOOTSTRAP TOPIC` does so until it is killed. It advances
the slot now and then, when Kafka has the changes: one that is killed repeats changes, and loses
none.
"""

from __future__ import annotations

import signal
import sys
import threading
import time

import psycopg
from capture.debezium import Place, records
from capture.pgoutput import Begin, Commit, Decoder, RowChange, Truncate
from confluent_kafka import KafkaError, Message, Producer

CHANGES_AT_ONCE = 10_000
ADVANCE_SECONDS = 2.0
IDLE_SECONDS = 0.05


class Reader:
    """The changes of one table, from where its slot stands."""

    def __init__(self, conninfo: str, table: str, bootstrap: str, topic: str) -> None:
        # The zone is that of the values that the slot's functions print.
        options = "-c timezone=UTC -c datestyle=ISO"
        self._connection = psycopg.connect(conninfo, autocommit=True, options=options)
        self._slot, self._topic = slot_of(table), topic
        self._keys = self._primary_key(table)
        self._written = self._end = 0
        self._failed: list[KafkaError] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def _primary_key(self, table: str) -> tuple[str, ...]:
        rows = self._connection.execute(
            "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = ANY (i.indkey) WHERE i.indrelid = %s::regclass AND i.indisprimary",
            [table],
        )
        return tuple(name for (name,) in rows)

    def step(self) -> int:
        """Write what has been committed since, of about CHANGES_AT_ONCE changes behind the slot;
        how many records that made."""
        decoder, begin, count = Decoder(), Begin(0, 0, 0), 0
        for lsn, data in self._peek():
            message = decoder.decode(data)
            match message:
                case Begin():
                    begin = message
                case Commit():
                    self._end = message.end
                case RowChange() | Truncate() if begin.lsn > self._written:
                    for key, value in records(message, self._keys, Place(lsn, begin)):
                        self._produce(key, value)
                        count += 1
        left = self._producer.flush(60.0)
        assert left == 0 and not self._failed, f"{left} records are not in Kafka: {self._failed}"
        self._written = begin.lsn
        return count

    def _peek(self) -> list[tuple[int, bytes]]:
        """Whole transactions, each message with its place in the log."""
        rows = self._connection.execute(
            "SELECT lsn::text, data FROM pg_logical_slot_peek_binary_changes"
            "(%s, NULL, %s, 'proto_version', '1', 'publication_names', %s)",
            [self._slot, CHANGES_AT_ONCE, self._slot],
            binary=True,
        )
        return [(_number(lsn), data) for lsn, data in rows]

    def advance(self) -> None:
        """The next reader, this one included, begins after the present records."""
        if self._end:
            place = f"{self._end >> 32:X}/{self._end & 0xFFFF_FFFF:X}"
            sql = "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)"
            self._connection.execute(sql, [self._slot, place])
            self._end = 0

    def forget(self) -> None:
        """Behave like a new one: what the slot has not advanced over is written again."""
        self._written = self._end = 0

    def _produce(self, key: bytes | None, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self._delivered)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def close(self) -> None:
        """Leave the slot where it is."""
        self._connection.close()


def _number(lsn: str) -> int:
    high, low = lsn.split("/")
    return int(high, 16) << 32 | int(low, 16)


def slot_of(table: str) -> str:
    """The name of a table's slot, and of its publication."""
    return f"capture_{table}"


def capture(connection: psycopg.Connection, table: str) -> None:
    """From now on the table's changes wait for a reader."""
    slot = slot_of(table)
    connection.execute(f"CREATE PUBLICATION {slot} FOR TABLE {table}".encode())
    connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])


def main(conninfo: str, table: str, bootstrap: str, topic: str) -> None:
    """Until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    reader = Reader(conninfo, table, bootstrap, topic)
    advanced = time.monotonic()
    while not ended.is_set():
        try:
            idle = reader.step() == 0
            if time.monotonic() - advanced > ADVANCE_SECONDS:
                reader.advance()
                advanced = time.monotonic()
        except psycopg.errors.ObjectInUse:
            idle = True  # by what the reader before, which was killed, had asked for
        if idle:
            ended.wait(IDLE_SECONDS)
    reader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
