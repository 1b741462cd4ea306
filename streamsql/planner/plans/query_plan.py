"""A planned query: its operators, and how it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from streamsql.nodes import Emit, StartPosition
from streamsql.planner.operators import Operator
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.schema import Schema


class Mode(Enum):
    """How a caught-up query runs."""

    REAL_TIME = "real-time"
    MICRO_BATCH = "micro-batch"


@dataclass(frozen=True)
class ModeDecision:
    """The mode and, in words for EXPLAIN, why."""

    mode: Mode
    reason: str


@dataclass(frozen=True)
class QueryPlan:
    """A planned query: `root` is a Sink or an Export, of a push query a Project or Limit."""

    root: Operator
    mode: ModeDecision
    emit: Emit
    reads: tuple[str, ...]
    """Names of the sources it reads."""
    query_id: str | None = None
    columns: tuple[str, ...] = ()
    """The names of the result's columns in the order of the SELECT (a schema has keys first)."""
    starts: Mapping[str, StartPosition] = field(default_factory=dict)
    """The start positions by topic, for topics with FROM."""
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    unoptimized: Operator | None = None
    """The plan before the rules, for EXPLAIN VERBOSE."""
    partitions: int | None = None  # of its state, if a property sets their number
    by_epochs: bool = False
    """Of a push query: whether it gives the rows of each epoch of its views together."""

    @property
    def schema(self) -> Schema:
        return self.root.schema
