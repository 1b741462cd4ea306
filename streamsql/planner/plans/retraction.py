"""What is remembered of a table's rows where they are read, and where they are filtered.

A change of a database's row need not tell its large values: then they are those of the row before.
A row that fails a filter deletes what its key had before, and only that. Where nobody minds a
deletion of what was never there, because the reader remembers by itself, the filter need not.
"""

from __future__ import annotations

from streamsql.formats.changes import stored_columns
from streamsql.nodes import Emit
from streamsql.planner.plans.logical import (
    Aggregate,
    Filter,
    Join,
    LogicalPlan,
    Scan,
    Sink,
    TopN,
)
from streamsql.schema import Column, Kind


def stored_values(node: Scan) -> tuple[Column, ...]:
    """The columns of a scan whose values are kept, since changes need not tell them."""
    source = node.source
    return stored_columns(source.topic.value_format, source.kind, source.schema.value)


def remembers_passed(node: Filter, root: LogicalPlan) -> bool:
    """Whether the filter, an operator of the plan `root`, keeps the keys that have passed."""
    if node.kind is not Kind.TABLE or _is_final(node):
        return False  # a final result is written once: one that fails was never there
    reader = _reader(node, root)
    while reader is not None:
        if isinstance(reader, Aggregate | Join | Filter | TopN):
            return False
        if isinstance(reader, Sink):
            return True
        reader = _reader(reader, root)
    return False  # who reads a push query knows what was shown


def _is_final(node: LogicalPlan) -> bool:
    if isinstance(node, Aggregate) and node.emit is Emit.FINAL:
        return True
    return any(_is_final(child) for child in node.inputs)


def _reader(node: LogicalPlan, root: LogicalPlan) -> LogicalPlan | None:
    """The operator that reads this very one."""
    if any(child is node for child in root.inputs):
        return root
    return next((found for child in root.inputs if (found := _reader(node, child))), None)
