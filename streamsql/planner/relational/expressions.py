"""Expressions of the algebra: columns by the ids of fields, conditions and their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Field
from streamsql.types import BIGINT, BOOLEAN, INT, SQLType


class Ids:
    """Makes the fields of a plan."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def field(self, name: str, kind: SQLType) -> Field:
        return Field(f"{name}_{next(self._numbers)}", name, kind)

    def like(self, field: Field) -> Field:
        return self.field(field.name, field.type)


def typed(expression: Expression, kind: SQLType) -> Expression:
    expression.type = kind
    return expression


def column(field: Field) -> Expression:
    return typed(exp.Column(this=exp.to_identifier(field.id, quoted=True)), field.type)


def id_of(expression: Expression) -> str | None:
    """The field's id, where the expression is a column."""
    return expression.name if isinstance(expression, exp.Column) else None


def ids_in(*expressions: Expression | None) -> set[str]:
    """The ids of all fields in the expressions."""
    given = (e for e in expressions if e is not None)
    return {found.name for e in given for found in e.find_all(exp.Column)}


def number(value: int) -> Expression:
    return typed(exp.Literal.number(value), INT if abs(value) < 2**31 else BIGINT)


def boolean(value: bool) -> Expression:
    return typed(exp.Boolean(this=value), BOOLEAN)


def null(kind: SQLType) -> Expression:
    return typed(exp.Cast(this=exp.Null(), to=kind.copy()), kind)


def cast(expression: Expression, kind: SQLType) -> Expression:
    return typed(exp.Cast(this=expression, to=kind.copy()), kind)


# -- conditions ----------------------------------------------------------------------------------


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The conditions that AND joins."""
    if condition is None:
        return []
    found, waiting = [], [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Paren):
            waiting.append(part.this)
        elif isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        else:
            found.append(part)
    return found


def conjunction(conditions: Iterable[Expression]) -> Expression | None:
    return _joined(exp.And, conditions)


def disjunction(conditions: Iterable[Expression]) -> Expression | None:
    return _joined(exp.Or, conditions)


def _joined(node: type[exp.Expr], conditions: Iterable[Expression]) -> Expression | None:
    whole: Expression | None = None
    for condition in conditions:
        part = condition if isinstance(condition, node) else _part(condition)
        whole = part if whole is None else typed(node(this=whole, expression=part), BOOLEAN)
    return whole


def _part(condition: Expression) -> Expression:
    return operand(condition) if isinstance(condition, exp.Connector) else condition


_ATOMS = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Boolean, exp.Null, exp.Placeholder)


def operand(expression: Expression) -> Expression:
    """The expression in parentheses where its text needs them as part of another."""
    if isinstance(expression, _ATOMS) and not isinstance(expression, exp.Connector):
        return expression
    assert expression.type is not None
    return typed(exp.Paren(this=expression), expression.type)


def compare(node: type[exp.Expr], left: Expression, right: Expression) -> Expression:
    return typed(node(this=operand(left), expression=operand(right)), BOOLEAN)


def negation(condition: Expression) -> Expression:
    return typed(exp.Not(this=operand(condition)), BOOLEAN)


def is_null(expression: Expression) -> Expression:
    return typed(exp.Is(this=operand(expression), expression=exp.Null()), BOOLEAN)


def is_not_null(expression: Expression) -> Expression:
    return negation(is_null(expression))


_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime)


def has_clock(expression: Expression) -> bool:
    """Whether its value changes as time passes."""
    return expression.find(*_CLOCKS) is not None


# -- rewriting -----------------------------------------------------------------------------------


def substituted(expression: Expression, mapping: Mapping[str, Expression]) -> Expression:
    """The expression with other expressions for fields, by their ids."""
    if not mapping:
        return expression

    def of(node: Expression) -> Expression:
        if isinstance(node, exp.Column) and node.name in mapping:
            return operand(mapping[node.name].copy())
        return node

    return transformed(expression, of)


def transformed(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with each node changed, the innermost first."""
    copy = expression.copy()
    for node in list(_postorder(copy)):
        changed = change(node)
        if changed is node:
            continue
        if node is copy:
            copy = changed
        else:
            node.replace(changed)
    return copy


def _postorder(node: Expression) -> Iterator[Expression]:
    for child in node.iter_expressions():
        yield from _postorder(child)
    yield node
