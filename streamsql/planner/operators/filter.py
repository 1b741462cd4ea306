"""Filter: WHERE, HAVING, and ON besides its equalities."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Emit, Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.operator import Operator
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Filter(Operator):
    """Rows for which the condition is true. On a TABLE the others become tombstones."""

    input: Operator
    condition: Expression
    clause: str = "WHERE"

    @property
    def schema(self) -> Schema:
        return self.input.schema


def remembers_passed(node: Filter, root: Operator) -> bool:
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


def _is_final(node: Operator) -> bool:
    if isinstance(node, Aggregate) and node.emit is Emit.FINAL:
        return True
    return any(_is_final(child) for child in node.inputs)


def _reader(node: Operator, root: Operator) -> Operator | None:
    """The operator that reads this very one."""
    if any(child is node for child in root.inputs):
        return root
    return next((found for child in root.inputs if (found := _reader(node, child))), None)
