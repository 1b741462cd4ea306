"""What a query does after a restart that left it nothing to read: it waits, without Spark."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.executor.queries.checkpoint import Positions
from streamsql.executor.queries.spark_run import Failure


@dataclass(frozen=True)
class Unstarted:
    """The run of a query that Spark is told of later: when there is time, or a record comes."""

    at: Positions

    def active(self) -> bool:
        """It waits for as long as nobody starts it."""
        return True

    def failure(self) -> Failure | None:
        """What does nothing does not fail."""
        return None

    def positions(self) -> Positions:
        """Where it is to begin."""
        return self.at

    def finish(self) -> None:
        """It has read nothing."""

    def stop(self) -> None:
        """Nothing runs."""
