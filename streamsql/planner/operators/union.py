"""Union: UNION ALL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.operators.operator import Deletions, Keys, Operator, StateStore
from streamsql.planner.operators.parts import Part, Reading
from streamsql.schema import Kind, Schema


@dataclass(frozen=True)
class Union(Operator):
    """The rows of two streams whose columns are the same."""

    left: Operator
    right: Operator

    expressions = ()
    line = "Union of all rows"
    obstacles = ()
    deletions = Deletions.PASSED_ON
    time_decides = False
    knows_cause = False
    needs_batch = None
    differs_in_batch = None

    @property
    def schema(self) -> Schema:
        return self.left.schema

    @property
    def kind(self) -> Kind:
        return self.left.kind

    def lineage(self) -> Lineage:
        return self.left.lineage() | self.right.lineage()

    def stores(self, root: Operator) -> Iterable[StateStore]:
        return ()

    def identity(self, root: Operator) -> Iterable[str]:
        return ("union",)

    def parts(self, at: Reading) -> Iterator[Part]:
        branches = list(self._branches())
        yield at.part("UNION ALL", "", f"{len(branches)} queries")
        for number, branch in enumerate(branches, start=1):
            inner = at.inside(f"query {number} of the union")
            yield from branch.parts(inner)
            yield from inner.selected(self.schema)

    def _branches(self) -> Iterator[Operator]:
        for side in (self.left, self.right):
            if isinstance(side, Union):
                yield from side._branches()
            else:
                yield side

    def keyed_sources(self, keys: Keys) -> Iterable[str]:
        return ()
