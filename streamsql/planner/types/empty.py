"""ARRAY[] and MAP(), whose type depends on the context."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.nodes import Expression
from streamsql.types import SQLType

_EXPECTED = "expected"


def expecting(expression: Expression, target: SQLType) -> Expression:
    """A copy in which each empty constructor has the type that a value of `target` has there."""
    expression = expression.copy()
    _note(expression, target)
    return expression


def expected_type(node: Expression) -> SQLType:
    """The type noted by `expecting`; NULL if unknown."""
    found: SQLType = node.meta.get(_EXPECTED, types.NULL)
    return found


def _note(node: Expression, target: SQLType) -> None:
    match node:
        case exp.Paren():
            _note(node.this, target)
        case exp.Array() if types.is_array(target):
            node.meta[_EXPECTED] = target
            for element in node.expressions:
                _note(element, types.element_type(target))
        case exp.Map() if types.is_map(target):
            node.meta[_EXPECTED] = target
            for value in node.args["values"].expressions:
                _note(value, types.element_type(target))
        case exp.Struct() if types.is_struct(target):
            wanted = dict(types.fields(target))
            for field in node.expressions:
                _note(field.expression, wanted.get(field.this.name, types.NULL))
