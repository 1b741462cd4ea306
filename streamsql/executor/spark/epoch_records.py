"""Records of the timestamp 0, which librdkafka takes for "now": Java's client writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.kafka.records import NewRecord


def write_records(
    spark: SparkSession, connection: Mapping[str, str], topic: str, records: Sequence[NewRecord]
) -> dict[int, int]:
    """Writes records in order and waits for Kafka; returns the next offset by partition.
    `connection` has the names of Java's client. ExternalError if Kafka fails."""
    try:
        bridge = Bridge.of(spark)
        producer = bridge.producer(connection)
        try:
            sent = [producer.send(bridge.record(topic, record)) for record in records]
            written = [future.get() for future in sent]
        finally:
            producer.close()
    except JVM_FAILURES as error:
        raise ExternalError(f"cannot write to {topic}", detail=str(error)) from error
    return {place.partition(): place.offset() + 1 for place in written}
