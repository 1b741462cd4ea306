"""Status of an engine: startup progress, query states, and the counters of SHOW QUERIES EXTENDED
and `/metrics`. Counters start at zero with the engine's Spark, or with the query if later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import Any

from streamsql.errors import StreamSQLError


class StepState(Enum):
    """Progress of a startup step."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class StartupStep:
    """A line of the progress display; `fraction` (0 to 1) if known."""

    name: str
    state: StepState
    detail: str = ""
    fraction: float | None = None


@dataclass(frozen=True)
class StartupStatus:
    """Snapshot of all steps, and the first error."""

    steps: tuple[StartupStep, ...]
    error: StreamSQLError | None = None

    @property
    def ready(self) -> bool:
        return all(step.state is StepState.DONE for step in self.steps)


@dataclass(frozen=True)
class Resources:
    """Available and used resources of an engine."""

    cpus: int
    memory_mb: Mapping[str, int]
    """By consumer; includes the machine's total."""
    task_slots: int | None
    task_slots_held: int
    disk_free: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class StoreInfo:
    """Store of a table; `lag` in records of its topic, None if unknown; `rows` is an estimate."""

    table: str
    lag: int | None
    rows: int


class QueryState(Enum):
    """State of a query. WAITING: Kafka or Spark is unavailable; the query resumes by itself.
    STANDBY: another server runs it."""

    STARTING = "STARTING"
    CATCHING_UP = "CATCHING_UP"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    WAITING = "WAITING"
    ERROR = "ERROR"
    STANDBY = "STANDBY"


@dataclass(frozen=True)
class QueryInfo:
    """Snapshot of a query; `lag` in unprocessed records, None if unknown."""

    id: str
    kind: str
    """PERSISTENT or PUSH."""
    state: QueryState
    mode: str
    """`real-time` or `micro-batch`: the current or the next mode."""
    reason: str
    lag: int | None
    sql: str
    sink: str | None
    error: str | None = None
    guarantee: str | None = None
    """`at_least_once` or `exactly_once`; None for a push query."""
    asleep: bool = False
    """Whether it is idle: its topics have no new records."""


@dataclass(frozen=True)
class Latency:
    """Histogram in ms from the timestamp of a result's record to its acknowledgement by Kafka.
    `counts[i]` results took more than `bounds[i - 1]` and at most `bounds[i]`; the last count has
    no upper bound."""

    bounds: tuple[int, ...]
    counts: tuple[int, ...]
    total: int

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def cumulative(self) -> list[tuple[float, int]]:
        """Cumulative counts by upper bound in seconds, the last one infinite."""
        bounds = [*(bound / 1000 for bound in self.bounds), float("inf")]
        return list(zip(bounds, accumulate(self.counts), strict=True))


@dataclass(frozen=True)
class Percentiles:
    """Latency quantiles in ms of a period; each is at most 1/16 above the exact value."""

    count: int
    """Number of results in the period."""
    p50: int
    p95: int
    p99: int
    max: int


@dataclass(frozen=True)
class QueryMetrics:
    """Counters of a query. None is unknown: state before the end of the first batch (a minute in
    real time), and output that executors have not reported."""

    records_in: int = 0
    bytes_in: int | None = 0
    records_out: int | None = 0
    bytes_out: int | None = 0
    errors: int | None = 0
    """Records that failed and are in the processing log."""
    rows_late: int = 0
    """Dropped late rows, once per window. For Spark's own drops in micro-batches it counts groups:
    rows of one task, batch, key and window are one."""
    violations: Mapping[str, int] | None = field(default_factory=dict)
    """Records that violated a constraint, by SOURCE.CONSTRAINT; each counts for the first one.
    Satisfied constraints are absent."""
    records_lost: int = 0
    """Records that Kafka deleted before the query read them; if their number is unknown, one per
    partition."""
    last_out_ms: int | None = None
    """Time of the last output, ms since the epoch."""
    latency: Latency | None = None
    recent: Mapping[str, Percentiles] = field(default_factory=dict)
    """Latencies of the last minute (`1m`) and hour (`1h`), if there were results."""
    batches: int = 0
    batch_ms: int | None = None
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    state_disk_bytes: int | None = None

    @staticmethod
    def of(found: Mapping[str, Any]) -> QueryMetrics:
        """Converts the JVM's counters."""
        bounds: Sequence[int] = found.get("latency_bounds_ms", ())
        counts: Sequence[int] = found.get("latency_counts", ())
        latency = Latency(tuple(bounds), tuple(counts), found["latency_sum_ms"]) if counts else None
        return QueryMetrics(
            records_in=found["records_in"],
            bytes_in=found.get("bytes_in"),
            records_out=found.get("records_out"),
            bytes_out=found.get("bytes_out"),
            errors=found.get("errors"),
            rows_late=found.get("rows_late", 0),
            violations=found.get("violations"),
            records_lost=found.get("records_lost", 0),
            last_out_ms=found.get("last_out_ms") or None,
            latency=latency,
            recent={
                window: Percentiles(**percentiles)
                for window, percentiles in found.get("recent_latencies_ms", {}).items()
            },
            batches=found["batches"],
            batch_ms=found.get("batch_ms"),
            state_rows=found.get("state_rows"),
            state_memory_bytes=found.get("state_memory_bytes"),
            state_disk_bytes=found.get("state_disk_bytes"),
        )
