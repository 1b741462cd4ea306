"""The base of all operators: what each of them states about itself.

Expressions inside a plan are bound and typed: every column is a `Column` with no table, named as in
the input's schema, and every node has its SQL type in `node.type`. No schema has system columns:
event time, whether the value is null (a tombstone), and a record's headers where it causes one row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from streamsql.nodes import Expression
from streamsql.planner.operators.lineage import Lineage
from streamsql.schema import Kind, Schema

Binding = tuple[Expression, "Operator"]
"""An expression, and the operator whose columns it reads."""


@dataclass(frozen=True)
class Operator(ABC):
    """A node of a plan."""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        values = (getattr(self, f.name) for f in fields(self))
        return tuple(value for value in values if isinstance(value, Operator))

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns of its rows."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """STREAM: rows are events; TABLE: rows are upserts and deletes by key."""

    @property
    @abstractmethod
    def bindings(self) -> tuple[Binding, ...]:
        """All expressions of its own."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(expression for expression, _ in self.bindings)

    @property
    @abstractmethod
    def line(self) -> str:
        """Its line in EXPLAIN."""

    @property
    def details(self) -> tuple[str, ...]:
        """Lines of EXPLAIN below its own."""
        return ()

    @abstractmethod
    def lineage(self) -> Lineage:
        """Where its rows and their columns come from."""

    def bound_to_input(self, expressions: Iterable[Expression]) -> tuple[Binding, ...]:
        """Expressions over the columns of its first input."""
        return tuple((expression, self.inputs[0]) for expression in expressions)


@dataclass(frozen=True)
class RowByRow(Operator):
    """An operator that handles each row of its input for itself, at once, and keeps nothing."""

    input: Operator

    @property
    def kind(self) -> Kind:
        return self.input.kind


def operators(root: Operator) -> Iterator[Operator]:
    """All operators, the root first."""
    yield root
    for operator in root.inputs:
        yield from operators(operator)
