"""Asks the JVM what queries have done; nothing where it does not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from streamsql.errors import StreamSQLError
from streamsql.query_metrics import QueryMetrics

if TYPE_CHECKING:
    from streamsql.executor.spark.session import SparkRuntime


class QueryCounters:
    """The counters of io.streamsql.QueryMetrics; may be used from any thread."""

    def __init__(self, spark: Callable[[], SparkRuntime | None]) -> None:
        """`spark` gives what runs just now, without waiting for it."""
        self._spark = spark

    def all(self) -> dict[str, QueryMetrics]:
        """By the id of a persistent query, or the topic of a push query."""
        java = self._java()
        if java is None:
            return {}
        from py4j.protocol import Py4JError

        # A JVM that has died just now has lost its numbers.
        with suppress(Py4JError, OSError):
            found = json.loads(java.all())
            return {query_id: QueryMetrics.of(numbers) for query_id, numbers in found.items()}
        return {}

    def forget(self, query_id: str) -> None:
        """A query has ended for good, or begins anew."""
        java = self._java()
        if java is None:
            return
        from py4j.protocol import Py4JError

        with suppress(Py4JError, OSError):
            java.forget(query_id)

    def _java(self) -> Any:
        from py4j.protocol import Py4JError

        runtime = self._spark()
        if runtime is None or not runtime.is_running:
            return None
        try:
            return cast(Any, runtime.session)._jvm.io.streamsql.QueryMetrics
        except (Py4JError, OSError, StreamSQLError):
            # It has gone just now, and its numbers with it.
            return None
