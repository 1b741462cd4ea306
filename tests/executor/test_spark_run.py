"""What is asked of Spark about one run of a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import StreamingQueryException

from streamsql.executor.queries.spark_run import SparkRun

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

DIED = StreamingQueryException("what it ended by")


@dataclass
class Query:
    """A query as Spark has it: inactive as soon as it is asked to stop, and ended a while later."""

    is_active: bool = False
    has_ended: bool = True
    error: Exception | None = None
    """What it has ended by."""
    lost: Exception | None = None
    """What every call raises: the JVM does not answer."""
    stop_error: Exception | None = None
    asked: list[float] = field(default_factory=list)

    @property
    def isActive(self) -> bool:  # Spark's name
        self._call()
        return self.is_active

    def awaitTermination(self, timeout: float) -> bool:  # Spark's name
        self._call()
        self.asked.append(timeout)
        if self.error is not None:
            raise self.error
        return self.has_ended

    def exception(self) -> Exception | None:
        self._call()
        return self.error

    def stop(self) -> None:
        self._call()
        self.is_active = False
        if self.stop_error is not None:
            raise self.stop_error

    def _call(self) -> None:
        if self.lost is not None:
            raise self.lost


def run(query: Query, *, lives: bool = True) -> SparkRun:
    return SparkRun(cast("StreamingQuery", query), lambda: lives)


@pytest.mark.parametrize("error", [None, DIED])
def test_a_run_is_over_once_spark_has_done_with_it(error: Exception | None) -> None:
    """Else the next run of the query may find its name taken, which Spark refuses."""
    query = Query(error=error)
    assert not run(query).active()
    assert query.asked[0] > 0


LOST = [Py4JNetworkError("Answer from Java side is empty"), OSError(24, "Too many open files")]


@pytest.mark.parametrize(
    ("query", "lives", "ended"),
    [
        (Query(), True, True),
        (Query(error=DIED), True, True),
        (Query(is_active=True), True, True),
        (Query(has_ended=False), True, False),
        (Query(is_active=True, has_ended=False, stop_error=Py4JError("timeout")), True, False),
        (Query(is_active=True, stop_error=Py4JError("timeout")), True, True),
        *[(Query(lost=lost), lives, not lives) for lost in LOST for lives in (True, False)],
    ],
)
def test_a_run_has_stopped_only_where_that_is_certain(
    query: Query, lives: bool, ended: bool
) -> None:
    """Spark's stop() marks the query as inactive first, and gives up waiting after its timeout."""
    found = run(query, lives=lives)
    assert found.stop() is ended
    assert found.active() is not ended


@pytest.mark.parametrize("lives", [True, False])
def test_a_jvm_that_does_not_answer_has_not_died(lives: bool) -> None:
    failure = run(Query(lost=LOST[0]), lives=lives).failure()
    assert failure is not None and failure.retryable and failure.died is not lives
