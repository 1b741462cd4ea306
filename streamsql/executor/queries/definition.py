"""The definition of a query, and its part in the statement log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from streamsql.errors import ExternalError
from streamsql.log.entries import Offsets
from streamsql.nodes import Emit
from streamsql.planner.operators import Export, Join, Sink, View, operators
from streamsql.planner.plans.modes import time_decides
from streamsql.planner.plans.query_plan import QueryPlan


@dataclass(frozen=True)
class Definition:
    """The definition of a query; fixed by its statement."""

    id: str
    sql: str
    plan: QueryPlan
    sink: str
    topics: tuple[str, ...]
    """The topics it reads."""
    properties: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: Offsets | None = None
    """None: from the beginning."""
    generation: int = 0
    """The number of the statement that created it: ids may be used again, and a checkpoint belongs
    to one query only. CREATE OR REPLACE keeps it."""

    @property
    def writes(self) -> str | None:
        root = self.plan.root
        return root.target.topic.name if isinstance(root, Sink) else None

    @property
    def by_interval(self) -> bool:
        """Whether a live run takes the records of an interval as one batch."""
        return isinstance(self.plan.root, Export)

    @property
    def is_view(self) -> bool:
        """Whether it maintains a materialized view."""
        return any(isinstance(operator, View) for operator in operators(self.plan.root))

    @property
    def merges(self) -> bool:
        """Whether the order of records across topics matters: only a micro-batch over all of them
        can merge them by time."""
        return len(self.topics) > 1 and not self.is_view

    @cached_property
    def only_reacts(self) -> bool:
        """Whether it has no results without a new record."""
        joins = any(isinstance(operator, Join) for operator in operators(self.plan.root))
        timeless = not (joins or self.merges or time_decides(self.plan.root))
        return timeless and self.plan.emit is not Emit.FINAL

    @property
    def may_rest(self) -> bool:
        """Whether it may stay out of Spark while it has nothing to read. A view may not: its
        epochs are those of other views too."""
        return self.only_reacts and not self.is_view


@dataclass(frozen=True)
class KnownQuery:
    """A query in the statement log."""

    definition: Definition
    paused: bool = False
    read_rate: float | None = None
    """Records per second of its last long catch-up; None: none in this engine."""


def stuck(query_id: str) -> ExternalError:
    """The error for a query that does not stop in time."""
    return ExternalError(
        f"query {query_id} does not stop",
        retryable=True,
        hint="Try again; if the error persists, restart the server.",
    )
