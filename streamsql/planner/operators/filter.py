"""Filter: WHERE, HAVING, and ON besides its equalities."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.nodes import Emit, Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.join import Join
from streamsql.planner.operators.lineage import Lineage, influence
from streamsql.planner.operators.operator import Binding, Operator, RowByRow
from streamsql.planner.operators.sink import Sink
from streamsql.planner.operators.top_n import TopN
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import columns_in
from streamsql.planner.windows import STEP
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Filter(RowByRow):
    """Rows for which the condition is true. On a TABLE the others become tombstones."""

    condition: Expression
    clause: str = "WHERE"

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return self.bound_to_input((self.condition,))

    @property
    def line(self) -> str:
        return f"Filter {self.clause} {expression_text(self.condition)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        by = Transformation.JOIN if self.clause == "ON" else Transformation.FILTER
        if {column.name for column in columns_in(self.condition)} == {STEP}:
            by = Transformation.WINDOW  # The condition is not the user's, but that of HOP in FROM.
        return found.influenced(influence(by, self.condition, found.columns))


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
