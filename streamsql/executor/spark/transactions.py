"""A transactional producer: some records are written as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.kafka.records import NewRecord

_OPEN_MILLIS = "60000"
"""How long the broker lets a transaction of a process be open that is gone."""


class TransactionalWriter:
    """One producer with a transactional id, which fences all others; not thread-safe."""

    def __init__(self, spark: SparkSession, connection: Mapping[str, str], id: str) -> None:
        """`connection` has the names of Java's client. ExternalError if Kafka fails."""
        self._bridge = Bridge.of(spark)
        settings = {"transactional.id": id, "transaction.timeout.ms": _OPEN_MILLIS}
        try:
            self._producer = self._bridge.producer({**connection, **settings})
            self._producer.initTransactions()
        except JVM_FAILURES as error:
            raise _failed(error) from error

    def write(self, records: Sequence[tuple[str, NewRecord]]) -> None:
        """Write records, each with its topic, in one transaction. ExternalError where Kafka refuses
        one of them, or another has taken over the id: then none of them is there."""
        try:
            self._producer.beginTransaction()
            for topic, record in records:
                self._producer.send(self._bridge.record(topic, record))
            self._producer.commitTransaction()
        except JVM_FAILURES as error:
            self.close()  # which aborts it
            raise _failed(error) from error

    def __enter__(self) -> TransactionalWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the producer up; raises nothing."""
        try:
            self._producer.close()
        except JVM_FAILURES:
            return  # the broker ends what was open


def _failed(error: Exception) -> ExternalError:
    return ExternalError("cannot write a transaction to Kafka", detail=str(error))
