"""Parts of expressions that an operator computes: aggregates, window functions and subqueries.

Binding leaves a placeholder for each; the clause decides where in the plan it is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.binder.scopes import Bound
from streamsql.planner.relational.expressions import operand, transformed, typed
from streamsql.types import SQLType


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate with its DISTINCT, ORDER BY and FILTER."""

    call: Expression


@dataclass(frozen=True)
class WindowCall:
    """A function with OVER."""

    window: exp.Window


@dataclass(frozen=True)
class Generated:
    """A table function in a SELECT list."""

    call: Expression


@dataclass(frozen=True)
class Grouping:
    """GROUPING(..)."""

    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class ScalarQuery:
    """`(query)` as a value."""

    query: Bound


@dataclass(frozen=True)
class ArrayQuery:
    """`ARRAY(query)`."""

    query: Bound


@dataclass(frozen=True)
class ExistsQuery:
    """`EXISTS (query)`."""

    query: Bound


@dataclass(frozen=True)
class ComparedQuery:
    """`values operator ANY | ALL (query)`; IN is `= ANY`, NOT IN is `<> ALL`."""

    values: tuple[Expression, ...]
    operator: type[exp.Expr]
    all: bool
    query: Bound


SUBQUERIES = (ScalarQuery, ArrayQuery, ExistsQuery, ComparedQuery)
Subquery = ScalarQuery | ArrayQuery | ExistsQuery | ComparedQuery
Part = AggregateCall | WindowCall | Generated | Grouping | Subquery


@dataclass
class Pending:
    """The parts of the expressions of one SELECT, by the names of their placeholders."""

    parts: dict[str, Part] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def placeholder(self, part: Part, kind: SQLType, text: str | None = None) -> Expression:
        """Stands for the part; parts with the same text are computed once."""
        key = (type(part).__name__, text or "")
        name = self._known.get(key) if text else None
        if name is None:
            name = str(len(self.parts))
            self.parts[name] = part
            if text:
                self._known[key] = name
        return typed(exp.Placeholder(this=name), kind)

    def in_(self, expression: Expression, *kinds: type[Part]) -> list[tuple[str, Part]]:
        """The parts of these kinds in the expression, without those within other parts."""
        found = []
        for node in expression.find_all(exp.Placeholder):
            part = self.parts.get(node.name)
            if isinstance(part, kinds):
                found.append((node.name, part))
        return found

    def resolved(self, expression: Expression, results: Mapping[str, Expression]) -> Expression:
        """The expression with what its placeholders are."""
        if not results:
            return expression

        def of(node: Expression) -> Expression:
            if isinstance(node, exp.Placeholder) and node.name in results:
                return operand(results[node.name].copy())
            return node

        return transformed(expression, of)
