"""What makes a query what it is, and what of it the statement log knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamsql.errors import ExternalError
from streamsql.log.entries import Offsets
from streamsql.nodes import Emit
from streamsql.planner.operators import FileSink, Join, Sink, operators
from streamsql.planner.plans.modes import time_decides
from streamsql.planner.plans.query_plan import QueryPlan


@dataclass(frozen=True)
class Definition:
    """What makes a query what it is; fixed from its statement on."""

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
    """The number of the statement that made it: ids may come again, and a checkpoint belongs to one
    query only. CREATE OR REPLACE keeps it."""

    @property
    def writes(self) -> str | None:
        """The topic it writes to."""
        root = self.plan.root
        return root.target.topic.name if isinstance(root, Sink) else None

    @property
    def by_interval(self) -> bool:
        """Whether, once it has caught up, it takes what has come in an interval together."""
        return isinstance(self.plan.root, FileSink)

    @property
    def merges(self) -> bool:
        """Whether the order of records across topics matters: only a micro-batch, which sees all
        that is there, can take them by time."""
        return len(self.topics) > 1

    @property
    def only_reacts(self) -> bool:
        """Whether nothing is ever to be written but for a record that comes."""
        joins = any(isinstance(operator, Join) for operator in operators(self.plan.root))
        timeless = not (joins or self.merges or time_decides(self.plan.root))
        return timeless and self.plan.emit is not Emit.FINAL


@dataclass(frozen=True)
class KnownQuery:
    """A query as the statement log has it."""

    definition: Definition
    paused: bool = False
    read_rate: float | None = None
    """Records a second, as it last caught up with many; None: it has not, in this engine."""


def stuck(query_id: str) -> ExternalError:
    """The error where a query does not stop in time."""
    return ExternalError(
        f"query {query_id} does not stop",
        retryable=True,
        hint="Try again; if it stays so, restart the server.",
    )
