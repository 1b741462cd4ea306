"""What an engine says of itself: how far its start is, how its queries stand, and in numbers what
they have done so far, the same for SHOW QUERIES EXTENDED and `/metrics`.

The numbers count from the start of the engine's Spark (or of the query, if later) and stand at zero
again after a restart. Where they come from is the executor's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from typing import Any

from streamsql.errors import StreamSQLError


class StepState(Enum):
    """How far a part of the start is."""

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
        """Whether all parts are up."""
        return all(step.state is StepState.DONE for step in self.steps)


@dataclass(frozen=True)
class Resources:
    """What an engine may take of its machine, and what it has taken."""

    cpus: int
    memory_mb: Mapping[str, int]
    """By what takes it, and the machine's."""
    task_slots: int | None
    """None: not known yet."""
    task_slots_held: int
    """By queries in real time."""
    disk_free: Mapping[str, int] = field(default_factory=dict)
    """Bytes, by what is kept there."""


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
    """`real-time` or `micro-batch`: how it runs now, or is to run where it does not."""
    reason: str
    """Why that mode, or why the query waits."""
    lag: int | None
    sql: str
    sink: str | None
    error: str | None = None
    guarantee: str | None = None
    """`at_least_once` or `exactly_once`; None: its rows go to its reader alone."""
    asleep: bool = False
    """Whether its topics get no records: it costs nothing until one comes."""


@dataclass(frozen=True)
class Latency:
    """From the timestamp of a result's record to its being in Kafka, a histogram in ms.

    `counts[i]` results took more than `bounds[i - 1]` and at most `bounds[i]`; the last count is
    of those beyond all bounds.
    """

    bounds: tuple[int, ...]
    counts: tuple[int, ...]
    total: int

    @property
    def count(self) -> int:
        """How many were measured."""
        return sum(self.counts)

    @property
    def cumulative(self) -> list[tuple[float, int]]:
        """Upper bounds in seconds, the last one infinite, and how many stayed within each."""
        bounds = [*(bound / 1000 for bound in self.bounds), float("inf")]
        return list(zip(bounds, accumulate(self.counts), strict=True))


@dataclass(frozen=True)
class Percentiles:
    """Latencies (ms) of the results of some time; each is at most 1/16 above the exact value."""

    count: int
    """How many results were measured."""
    p50: int
    p95: int
    p99: int
    max: int


@dataclass(frozen=True)
class QueryMetrics:
    """One query's numbers; None is not known: before the first batch has ended (in real time it may
    be a minute long), the state, and where executors have not told what they count, what is
    written."""

    records_in: int = 0
    bytes_in: int | None = 0
    records_out: int | None = 0
    bytes_out: int | None = 0
    errors: int | None = 0
    """Records that failed and are in the processing log."""
    rows_late: int = 0
    """Rows that came after their window, with its grace, had closed: one for each window. Of what
    Spark drops in micro-batches it counts groups: rows of one task, batch, key and window are one.
    """
    violations: Mapping[str, int] | None = field(default_factory=dict)
    """Records that violated a constraint, by SOURCE.CONSTRAINT: each counts for the first that it
    violates. Constraints that were met are not listed."""
    records_lost: int = 0
    """Records that Kafka deleted before the query read them; where their number is not known, one
    for each partition."""
    last_out_ms: int | None = None
    """When the last result was written, ms since 1970."""
    latency: Latency | None = None
    """Since the start."""
    recent: Mapping[str, Percentiles] = field(default_factory=dict)
    """Latencies of the last minute (`1m`) and the last hour (`1h`), where there were results."""
    batches: int = 0
    batch_ms: int | None = None
    """How long the last batch took."""
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    state_disk_bytes: int | None = None

    @staticmethod
    def of(found: Mapping[str, Any]) -> QueryMetrics:
        """From what the JVM counts."""
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
