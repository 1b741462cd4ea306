"""What the rules of expressions share: the scope, the clause, and the way into other rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql.nodes import Expression, Query
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder.pending import (
    Pending,
)
from streamsql.planner.relational.binder.scopes import Bound, Scope

BindQuery = Callable[[Query, Scope], Bound]


@dataclass(frozen=True)
class Allowed:
    """What may stand in a clause."""

    clause: str
    aggregates: bool = False
    windows: bool = False
    generated: bool = False


@dataclass(frozen=True)
class Rules(ABC):
    """The rules for some of the nodes; ExpressionBinder has them all."""

    scope: Scope
    pending: Pending
    query: BindQuery
    allowed: Allowed

    @abstractmethod
    def bind(self, node: Expression) -> Expression:
        """The typed expression over fields."""

    def bound_call(self, function: str, arguments: list[Expression]) -> Expression:
        """A call of a function by its name with arguments that are bound."""
        return functions.typed_call(functions.build(function, arguments), function)

    def bind_all(self, nodes: Sequence[Expression]) -> list[Expression]:
        return [self.bind(node) for node in nodes]

    def _truth(self, node: Expression, clause: str) -> Expression:
        return typing.condition(self.bind(node), clause)


SYMBOLS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}
