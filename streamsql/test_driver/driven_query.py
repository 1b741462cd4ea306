"""A query under test control: it processes its topics on request, and reports its failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql.streaming.query import StreamingQuery

from streamsql.errors import ExternalError
from streamsql.executor.frames.context import StreamingQuerySpec
from streamsql.executor.queries.spark_run import classify, failure_of
from streamsql.executor.queries.start import Trigger, start
from streamsql.executor.spark.failures import SPARK_FAILURES

DEADLINE_SECONDS = 120.0


class QueryDied(ExternalError):
    """The query failed for a reason of its own: another try would fail as well."""


class DrivenQuery:
    """A running micro-batch query. What it dies of is a QueryDied, or, where Kafka or Spark are
    to blame, another ExternalError."""

    def __init__(self, spec: StreamingQuerySpec) -> None:
        self.id = spec.query_id
        self._query = start(spec, Trigger.CONTINUOUS_MICRO_BATCH)

    def process_available(self) -> None:
        """Return when everything that is in its topics now has been processed and written."""
        with _watched(self.id, self._query):
            self._query.processAllAvailable()

    def stop(self) -> None:
        """End it; does nothing if it has ended, or the JVM has."""
        _quietly(self._query.stop)


def process_once(spec: StreamingQuerySpec) -> None:
    """Starts the query, processes its topics, ends it. Errors as of a DrivenQuery."""
    query = start(spec, Trigger.AVAILABLE_NOW)
    with _watched(spec.query_id, query):
        query.awaitTermination()


@contextmanager
def _watched(query_id: str, query: StreamingQuery) -> Iterator[None]:
    late = threading.Event()

    def give_up() -> None:
        late.set()
        _quietly(query.stop)

    timer = threading.Timer(DEADLINE_SECONDS, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
        failure = failure_of(query)
    except SPARK_FAILURES as died:
        failure = classify(died)
    finally:
        timer.cancel()
    if late.is_set():
        raise ExternalError(f"a query took more than {DEADLINE_SECONDS:g} s", retryable=True)
    if failure is not None:
        if failure.retryable:
            raise ExternalError(f"a query failed: {failure.text}", retryable=True)
        raise QueryDied(f"a query failed: {failure.text}")


def _quietly(action: Callable[[], object]) -> None:
    try:
        action()
    except SPARK_FAILURES:
        return
