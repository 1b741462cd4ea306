"""Records of the timestamp 0, which librdkafka takes for "now": Java's client writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.executor.spark.java_maps import java_map
from streamsql.kafka.records import NewRecord

_BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"


def write_records(
    spark: SparkSession, connection: Mapping[str, str], topic: str, records: Sequence[NewRecord]
) -> dict[int, int]:
    """Writes records in order and waits for Kafka; returns the next offset by partition.
    `connection` has the names of Java's client. ExternalError if Kafka fails."""
    try:
        producer = java_producer(spark, connection)
        try:
            sent = [producer.send(java_record(spark, topic, record)) for record in records]
            written = [future.get() for future in sent]
        finally:
            producer.close()
    except JVM_FAILURES as error:
        raise ExternalError(f"cannot write to {topic}", detail=str(error)) from error
    return {place.partition(): place.offset() + 1 for place in written}


def java_producer(spark: SparkSession, settings: Mapping[str, str]) -> Any:
    jvm = cast(Any, spark)._jvm
    serializers = {f"{side}.serializer": _BYTES for side in ("key", "value")}
    told = java_map(jvm, {**settings, **serializers})
    return jvm.org.apache.kafka.clients.producer.KafkaProducer(told)


def java_record(spark: SparkSession, topic: str, record: NewRecord) -> Any:
    jvm = cast(Any, spark)._jvm
    clients = jvm.org.apache.kafka.clients.producer
    headers = jvm.java.util.ArrayList()
    for name, value in record.headers:
        headers.add(jvm.org.apache.kafka.common.header.internals.RecordHeader(name, value))
    return clients.ProducerRecord(
        topic, record.partition, record.timestamp, record.key, record.value, headers
    )
