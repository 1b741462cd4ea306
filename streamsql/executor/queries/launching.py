"""What the query manager asks of those who start queries and of those who watch Kafka."""

from __future__ import annotations

from typing import Protocol

from streamsql.executor.queries.checkpoint import Positions
from streamsql.executor.queries.persistent_query import Definition
from streamsql.executor.queries.spark_run import Run
from streamsql.planner.plans.logical import Mode


class Launcher(Protocol):
    """Starts queries in Spark; every method may take a second, and raises StreamSQLError."""

    def prepare(self, query: Definition) -> Positions: ...

    def catch_up(self, query: Definition) -> Run: ...

    def live(self, query: Definition, mode: Mode) -> tuple[Run, Mode, str | None]: ...

    def behind(self, query: Definition) -> int: ...

    def live_positions(self, query: Definition) -> Positions: ...

    def stopped(self, query_id: str) -> None: ...

    def lag(self, query: Definition, positions: Positions) -> int: ...


class Watch(Protocol):
    """What is known of Kafka: see KafkaWatch."""

    @property
    def outage(self) -> str | None: ...

    def lag(self, positions: Positions) -> int | None: ...
