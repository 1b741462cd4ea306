"""Typing context of one expression: visible columns, lambda parameters, and small tree tools. The
rules are in inference.py (the table) and the other files of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from streamsql import types
from streamsql.errors import BindError, Span, did_you_mean
from streamsql.nodes import Expression
from streamsql.parser.generate.expressions import expression_sql
from streamsql.planner.scopes.qualified import as_written
from streamsql.types import SQLType, type_of

Columns = Mapping[str, SQLType] | Callable[[exp.Column], SQLType]


@dataclass(frozen=True)
class Scope:
    """The visible names; `infer` types a child in the same scope."""

    columns: Columns
    clause: str
    rules: Mapping[type[Expression], Callable[[Any, Scope], Expression]]
    fallback: Callable[[Expression, Scope], Expression]
    lambda_parameters: Mapping[str, SQLType]

    def infer(self, node: Expression) -> Expression:
        """The typed node and its typed children, by the rule for its class."""
        return self.rules.get(type(node), self.fallback)(node, self)

    def with_parameters(self, parameters: Mapping[str, SQLType]) -> Scope:
        """The scope inside of a lambda with these parameters."""
        return replace(self, lambda_parameters={**self.lambda_parameters, **parameters})

    def column_type(self, node: exp.Column) -> SQLType:
        """The type of a column; BindError if unknown."""
        if callable(self.columns):
            return self.columns(node)
        if node.name not in self.columns:
            raise BindError(
                f"{self.clause} column '{node.name}' cannot be resolved.",
                hint=did_you_mean(node.name, self.columns),
                span=span_of(node),
            )
        return self.columns[node.name]

    def is_column(self, name: str) -> bool:
        return not callable(self.columns) and name in self.columns


def span_of(node: Expression) -> Span | None:
    """The position of the expression in the statement, if the parser has set one."""
    meta = node.meta
    if "start" not in meta:
        return None
    return Span(meta["start"], meta["end"], meta["line"], meta["column"])


def typed(node: Expression, sql_type: SQLType, **args: object) -> Expression:
    """A node with other arguments and a type; the position is kept."""
    new: Expression = type(node)(**args)
    new.meta.update(node.meta)
    new.type = sql_type.copy()
    return new


def cast_to(node: Expression, target: SQLType) -> Expression:
    """The typed expression as `target`, which its type widens to: itself if it is of that type,
    a number or NULL as a literal of that type, else inside a Cast."""
    if type_of(node) == target:
        return node
    number = isinstance(node, exp.Literal) and not node.is_string and types.is_numeric(target)
    if number or isinstance(node, exp.Null):
        return typed(node, target, **node.args)
    return cast_node(node, target)


def cast_node(node: Expression, target: SQLType) -> Expression:
    new = exp.Cast(this=node, to=target.copy())
    new.meta.update(node.meta)
    new.type = target.copy()
    return new


COMPARES = "compares"
"""In a call's `meta`: it is written as a comparison operator, so that NULL gives FALSE."""


def is_comparison(node: Expression) -> bool:
    """Whether it is the call of an operator, `~` or SIMILAR TO."""
    return COMPARES in node.meta


def is_literal(node: Expression) -> bool:
    """A literal, possibly with a sign."""
    inner = node.this if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal | exp.Boolean)


def describe(node: Expression) -> str:
    """`TEXT (TYPE)`, as messages show an operand; call it with a typed node."""
    return f"{text_of(node)} ({types.to_sql(type_of(node))})"


def text_of(node: Expression) -> str:
    """The expression as SQL in ksqlDB's style of messages: `((A + 1) * 2)`, `true`, `MAP(1:=2)`."""
    copy = as_written(node).transform(_lower_case)
    for part in reversed(list(copy.find_all(*_BRACKETED))):
        if isinstance(part.parent, exp.Escape):
            continue
        shown = exp.Var(this=f"({expression_sql(part)})")
        if part is copy:
            copy = shown
        else:
            part.replace(shown)
    return expression_sql(copy).replace(" := ", ":=")


_BRACKETED = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.And, exp.Or, exp.Not),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Escape, exp.Case),
)
"""Expressions that ksqlDB shows in parentheses."""


def _lower_case(node: Expression) -> Expression:
    if isinstance(node, exp.Null):
        return exp.Var(this="null")
    return exp.Var(this=str(node.this).lower()) if isinstance(node, exp.Boolean) else node
