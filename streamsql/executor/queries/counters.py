"""The counters of queries in the JVM; empty while it does not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from streamsql.status import QueryMetrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class QueryCounters:
    """Reads the counters of io.streamsql.monitoring.QueryMetrics. Thread-safe."""

    def __init__(self, spark: Callable[[], SparkSession | None]) -> None:
        """`spark` returns the running session, without waiting for it."""
        self._spark = spark

    def all(self) -> dict[str, QueryMetrics]:
        """By the id of a persistent query, or the topic of a push query."""
        found = self._ask(lambda java: json.loads(java.all())) or {}
        return {query_id: QueryMetrics.of(numbers) for query_id, numbers in found.items()}

    def forget(self, query_id: str) -> None:
        """Reset a query's counters after its end, or before it starts without state."""
        self._ask(lambda java: java.forget(query_id))

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """The answer; None if the JVM does not run, or has just died with its counters."""
        spark = self._spark()
        if spark is None:
            return None
        from streamsql.executor.spark.failures import JVM_FAILURES

        with suppress(*JVM_FAILURES):
            return question(cast(Any, spark)._jvm.io.streamsql.monitoring.QueryMetrics)
        return None
