"""What an engine says of itself: how far its start is, and how its queries stand."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from streamsql.errors import StreamSQLError


class StepState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class StartupStep:
    """One line of a progress display; `fraction` (0 to 1) only where it is known."""

    name: str
    state: StepState
    detail: str = ""
    fraction: float | None = None


@dataclass(frozen=True)
class StartupStatus:
    """All steps at one moment, and the first error among them."""

    steps: tuple[StartupStep, ...]
    error: StreamSQLError | None = None

    @property
    def ready(self) -> bool:
        return all(step.state is StepState.DONE for step in self.steps)


@dataclass(frozen=True)
class StoreInfo:
    """A table's store; `lag` in records of its topic, None while unknown; `rows` is an estimate."""

    table: str
    lag: int | None
    rows: int


class QueryState(Enum):
    """Where a query stands. WAITING: Kafka or Spark is not there; it goes on when it is back.
    STANDBY: another server runs it, and this one will if that fails."""

    STARTING = "STARTING"
    CATCHING_UP = "CATCHING_UP"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    WAITING = "WAITING"
    ERROR = "ERROR"
    STANDBY = "STANDBY"


@dataclass(frozen=True)
class QueryInfo:
    """A query at one moment; `lag` counts records not yet processed, None while unknown."""

    id: str
    kind: str
    """PERSISTENT or PUSH."""
    state: QueryState
    mode: str
    """`real-time` or `micro-batch`: how it runs once it has caught up."""
    reason: str
    """Why that mode, or why the query waits."""
    lag: int | None
    sql: str
    sink: str | None
    error: str | None = None
