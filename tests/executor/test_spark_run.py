"""What is asked of Spark about one run of a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from streamsql.executor.queries.spark_run import SparkRun

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class Ending:
    """A query that Spark calls ended before it has done with it, as Spark does."""

    error: Exception | None
    done: bool = False
    asked: list[float] = field(default_factory=list)

    @property
    def isActive(self) -> bool:  # Spark's name
        return False

    def awaitTermination(self, timeout: float) -> bool:  # Spark's name
        self.asked.append(timeout)
        self.done = True
        if self.error is not None:
            raise self.error
        return True


@pytest.mark.parametrize("error", [None, RuntimeError("what it ended by")])
def test_a_run_is_over_once_spark_has_done_with_it(error: Exception | None) -> None:
    """Else the next run of the query may find its name taken, which Spark refuses."""
    query = Ending(error)
    assert not SparkRun(cast("StreamingQuery", query)).active()
    assert query.done and query.asked[0] > 0
