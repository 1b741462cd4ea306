"""What the JVM knows of queries; nothing where it does not run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from streamsql.executor.spark.messages import Status
from streamsql.status import QueryMetrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from streamsql.executor.spark.bridge import Bridge

_Answer = TypeVar("_Answer")


class JvmQueries:
    """May be used from any thread."""

    def __init__(self, spark: Callable[[], SparkSession | None]) -> None:
        """`spark` gives the session that runs just now, without waiting for it."""
        self._spark = spark

    def status(self) -> Status:
        return self._ask(lambda bridge: bridge.status()) or Status(answers=False)

    def counters(self) -> dict[str, QueryMetrics]:
        """By the id of a persistent query, or the topic of a push query."""
        return self._ask(lambda bridge: bridge.counters()) or {}

    def forget(self, query_id: str) -> None:
        """A query has ended for good, or begins without state."""
        self._ask(lambda bridge: bridge.forget(query_id))

    def stopped(self, query_id: str) -> None:
        """A run of a query has ended."""
        self._ask(lambda bridge: bridge.stopped(query_id))

    def _ask(self, question: Callable[[Bridge], _Answer]) -> _Answer | None:
        """The answer; None from a JVM that is not there, or has died just now with its numbers."""
        spark = self._spark()
        if spark is None:
            return None
        from streamsql.executor.spark.bridge import Bridge
        from streamsql.executor.spark.failures import JVM_FAILURES

        with suppress(*JVM_FAILURES):
            return question(Bridge.of(spark))
        return None
