"""Filter: WHERE, HAVING, and the conditions of ON that are not equalities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsql.nodes import Emit, Expression
from streamsql.planner.operators.aggregate import Aggregate
from streamsql.planner.operators.edges import Transformation
from streamsql.planner.operators.lineage import Lineage, influence
from streamsql.planner.operators.operator import (
    Deletions,
    Operator,
    RowByRow,
    StateStore,
    operators,
)
from streamsql.planner.operators.parts import Part, Reading
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.types.binding import columns_in
from streamsql.planner.windows import STEP
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Filter(RowByRow):
    """Rows for which the condition is true. On a TABLE the others become tombstones."""

    condition: Expression
    clause: str = "WHERE"

    deletions = Deletions.IGNORED

    @property
    def schema(self) -> Schema:
        return self.input.schema

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.condition,)

    @property
    def line(self) -> str:
        return f"Filter {self.clause} {expression_text(self.condition)}"

    def lineage(self) -> Lineage:
        found = self.input.lineage()
        by = Transformation.JOIN if self.clause == "ON" else Transformation.FILTER
        if {column.name for column in columns_in(self.condition)} == {STEP}:
            by = Transformation.WINDOW  # The condition is not the user's, but that of HOP in FROM.
        return found.influenced(influence(by, self.condition, found.columns))

    def stores(self, root: Operator) -> Iterable[StateStore]:
        if not self.remembers(root):
            return
        holds = f"keys that passed {self.clause}"
        if isinstance(self.input, Aggregate) and self.input.window is not None:
            yield StateStore(holds, f"{self.key_names} and window", "expires with the window")
        else:
            yield StateStore(holds, self.key_names, "grows with their number")

    def identity(self, root: Operator) -> Iterable[str]:
        return (f"remembers who passes {self.clause}",) if self.remembers(root) else ()

    def remembers(self, root: Operator) -> bool:
        """Whether it stores the keys that have passed, and deletes only these.

        A row that fails deletes the earlier row of its key. The filter stores nothing if no
        deletion of an unknown row reaches the sink: an operator above ignores it, or the reader of
        a push query does. A final result is written once, so one that fails was never written.
        """
        final = any(isinstance(o, Aggregate) and o.emit is Emit.FINAL for o in operators(self))
        if self.kind is not Kind.TABLE or final:
            return False
        reader = _reader(self, root)
        while reader is not None and reader.deletions is Deletions.PASSED_ON:
            reader = _reader(reader, root)
        return reader is not None and reader.deletions is Deletions.WRITTEN

    def parts(self, at: Reading) -> Iterator[Part]:
        keeps = at.keeps(self)
        yield from self.input.parts(at.behind(keeps))
        name = str(at.stage) if at.stage else ""
        yield at.part(self.clause, name, at.text(self.condition), keeps=keeps)


def _reader(node: Operator, root: Operator) -> Operator | None:
    """The operator that reads this one."""
    if any(child is node for child in root.inputs):
        return root
    return next((found for child in root.inputs if (found := _reader(node, child))), None)
