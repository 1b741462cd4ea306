"""What a running query looks like from outside: the rows of SHOW QUERIES."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class QueryState(Enum):
    """Where a query stands. WAITING: Kafka or Spark is not there; it goes on when it is back."""

    STARTING = "STARTING"
    CATCHING_UP = "CATCHING_UP"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    WAITING = "WAITING"
    ERROR = "ERROR"


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
