"""Exactly-once delivery: its requirements on a plan.

A query that resumes after a failure repeats its last batch, of which committed rows must not be
written again. This module decides how repeated rows are recognized, see
docs/design/exactly-once.md.
"""

from __future__ import annotations

from enum import Enum

from streamsql.planner.operators import Operator, state_stores
from streamsql.schema import Kind


class Replay(Enum):
    """How committed rows of a repeated batch are recognized."""

    SOURCE = "SOURCE"
    """By the input record that caused the row: there is no state."""
    CAUSE = "CAUSE"
    """By that record and the row's task: a join of a stream's records with a table."""
    KEY = "KEY"
    """By the row's key: of a table only the newest row is written again."""
    TASK = "TASK"
    """By the row's task: all of its rows of a micro-batch are committed together, or none."""

    @property
    def real_time(self) -> bool:
        """Whether a batch can be committed in parts."""
        return self is not Replay.TASK


def replay_of(root: Operator) -> Replay:
    if not state_stores(root):
        return Replay.SOURCE
    if root.kind is Kind.TABLE:
        return Replay.KEY
    return Replay.CAUSE if root.knows_cause else Replay.TASK
