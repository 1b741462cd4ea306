"""Writes and reads whole one-partition topics through the JVM's Kafka client, for tests.

The engine's own client cannot write a record of timestamp 0: librdkafka takes 0 as now.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from io import BytesIO

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.kafka.records import NewRecord, Record


class TopicRecords:
    """The records of one cluster's topics; thread-safe."""

    def __init__(self, spark: SparkSession, connection: Mapping[str, str]) -> None:
        """`connection` has the names of Kafka's Java client, with bootstrap.servers."""
        self._bridge = Bridge.of(spark)
        self._settings = connection
        self._producer_settings = {**connection, "linger.ms": "0"}

    def write(self, records: Iterable[tuple[str, NewRecord]]) -> None:
        """Write records, each to its topic, in order. Each must have a timestamp (ms)."""
        packed = b"".join(_packed(topic, record) for topic, record in records)
        try:
            self._bridge.write_records(self._producer_settings, packed)
        except JVM_FAILURES as error:
            raise ExternalError("cannot write the records", detail=_first_line(error)) from error

    def read(self, topic: str) -> list[Record]:
        try:
            packed = self._bridge.read_records(self._settings, topic)
        except JVM_FAILURES as error:
            raise ExternalError(f"cannot read {topic}", detail=_first_line(error)) from error
        return list(_unpacked(topic, packed))


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 2)[-1].split("\n", 1)[0]


def _packed(topic: str, record: NewRecord) -> bytes:
    assert record.timestamp is not None
    parts = [
        _bytes(topic.encode()),
        struct.pack(">q", record.timestamp),
        _bytes(record.key),
        _bytes(record.value),
        struct.pack(">i", len(record.headers)),
    ]
    for name, value in record.headers:
        parts += [_bytes(name.encode()), _bytes(value)]
    return b"".join(parts)


def _bytes(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def _unpacked(topic: str, packed: bytes) -> Iterable[Record]:
    data = BytesIO(packed)
    offset = 0
    while data.tell() < len(packed):
        (timestamp,) = struct.unpack(">q", data.read(8))
        key, value = _read_bytes(data), _read_bytes(data)
        (count,) = struct.unpack(">i", data.read(4))
        headers = tuple(
            ((_read_bytes(data) or b"").decode(), _read_bytes(data)) for _ in range(count)
        )
        yield Record(topic, 0, offset, timestamp, key, value, headers)
        offset += 1


def _read_bytes(data: BytesIO) -> bytes | None:
    (length,) = struct.unpack(">i", data.read(4))
    return None if length < 0 else data.read(length)
