"""The failures of one query in a row, and when it is started again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsql.executor.queries.spark_run import Failure
from streamsql.waiting import Backoff

RETRY = Backoff(1.0, 60.0)
MOST = 3
"""The number of failures in a row, for lack of memory or by JVM crashes of which the query was the
only suspect, after which it is held."""


@dataclass(frozen=True)
class Failures:
    """A run that makes progress resets them."""

    error: str | None = None
    retryable: bool = False
    """Whether the query waits for Kafka, Spark or something else outside the engine."""
    count: int = 0
    retry_at: float = 0.0
    exhausted: int = 0
    """Failures in a row for lack of memory."""
    crashes: int = 0
    """JVM crashes in a row of which the query was a suspect."""
    alone: bool = False
    """Whether it was the only suspect of the last crash."""
    held: bool = False
    """Whether it stays stopped until RESUME."""

    def after(self, failure: Failure, query_id: str, now: float, *, outage: bool) -> Failures:
        """With one more failure; during an `outage` of Kafka every failure is retryable."""
        text, exhausted, held = failure.text, self.exhausted, False
        if failure.died:
            held = self.alone and self.crashes >= MOST
            why = f"Spark's JVM has crashed {self.crashes} times in a row while it was running"
        elif failure.exhausting:
            exhausted += 1
            held = exhausted >= MOST
            why = f"{text}, {MOST} times in a row"
        if held:
            text = f"{why}: RESUME {query_id} starts it again"
        count = self.count + 1
        return replace(
            self,
            error=text,
            retryable=(failure.retryable and not held) or outage,
            count=count,
            retry_at=now + RETRY.after(count),
            exhausted=exhausted,
            held=held,
        )

    def due(self, now: float) -> bool:
        """Whether the query may be started again. A first retryable failure, as after an outage,
        needs no delay."""
        return now >= self.retry_at or (self.retryable and self.count <= 1)

    @property
    def persistent(self) -> bool:
        """Whether waiting for the query is useless: its errors repeat."""
        return not self.retryable and self.count >= 3

    def cleared(self) -> Failures:
        """A run has lasted, but made no progress: failures that it may repeat still count."""
        return Failures(exhausted=self.exhausted, crashes=self.crashes, alone=self.alone)
