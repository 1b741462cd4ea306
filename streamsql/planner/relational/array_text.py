"""Text literals as arrays: '{1,NULL,"a b",{..}}', PostgreSQL's form of an array."""

from __future__ import annotations

import re

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import cast, typed
from streamsql.planner.scopes.spans import span_of
from streamsql.types import SQLType

_ITEM = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\]*))\s*', re.DOTALL)


def array_of(literal: Expression, kind: SQLType) -> Expression:
    """The literal's elements as an array of that type."""
    array, rest = _array(literal.name.strip(), kind, literal)
    if rest.strip():
        raise _malformed(literal)
    return array


def _array(text: str, kind: SQLType, literal: Expression) -> tuple[Expression, str]:
    """The array that the text begins with, and what follows it."""
    if not text.startswith("{"):
        raise _malformed(literal)
    element, elements = types.element_type(kind), []
    rest = text[1:].lstrip()
    while not rest.startswith("}"):
        if types.is_array(element):
            value, rest = _array(rest, element, literal)
        else:
            value, rest = _value(rest, element, literal)
        elements.append(value)
        rest = rest.lstrip()
        if rest.startswith(","):
            rest = rest[1:].lstrip()
        elif not rest.startswith("}"):
            raise _malformed(literal)
    return cast(exp.Array(expressions=elements), kind), rest[1:]


def _value(text: str, kind: SQLType, literal: Expression) -> tuple[Expression, str]:
    item = _ITEM.match(text)
    quoted, plain = item.groups() if item is not None else (None, "")
    if item is None or (quoted is None and not plain.strip()):
        raise _malformed(literal)
    rest = text[item.end() :]
    if quoted is None and plain.strip().upper() == "NULL":
        return cast(exp.Null(), kind), rest
    shown = plain.strip() if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
    value = typed(exp.Literal.string(shown), types.STRING)
    return value if kind == types.STRING else cast(value, kind), rest


def _malformed(literal: Expression) -> TypeMismatchError:
    return TypeMismatchError(
        f"malformed array literal: '{literal.name}'",
        hint="Elements stand between braces: '{1,2}'.",
        span=span_of(literal),
    )
