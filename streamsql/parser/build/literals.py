"""Builds types and literals: one method for each of their rules in grammar/expressions.lark."""

from __future__ import annotations

import math
from typing import TypeVar

from lark import Token
from sqlglot import exp

from streamsql import types
from streamsql.errors import ParseError, Span
from streamsql.ksqldb import says
from streamsql.nodes import Expression
from streamsql.parser.build.items import with_tokens
from streamsql.types import SQLType

MAX_DIGITS = 38
"""Of a number without an exponent."""

E = TypeVar("E", bound=exp.Expr)


def at(node: E, span: Span) -> E:
    node.meta.update(line=span.line, column=span.column, start=span.start, end=span.end)
    return node


class TypeBuilder:
    """Makes types of the grammar's rules."""

    def named_type(self, span: Span, name: str) -> SQLType:
        known = types.named(name)
        return at(known.copy() if known else types.custom(name), span)

    def parameterized_type(self, span: Span, name: str, *parameters: str) -> SQLType:
        known = types.named(name)
        if known == types.NUMERIC and all(p.isdecimal() for p in parameters[:2]):
            return self.decimal_type(span, *parameters[:2])
        if known not in (types.STRING, types.TIMESTAMP, types.TIME):
            raise ParseError(f"type {name} takes no parameters", span=span)
        kind = self.named_type(span, name)
        if known == types.STRING and parameters[0].isdecimal():
            kind.meta[types.LENGTH] = int(parameters[0])
        return kind

    def decimal_type(self, span: Span, precision: str | None = None, scale: str = "0") -> SQLType:
        if precision is None:
            return at(types.NUMERIC.copy(), span)
        p, s = int(precision), int(scale)
        if p < 1:
            raise ParseError(f"DECIMAL precision must be >= 1: DECIMAL({p},{s})", span=span)
        if s > p or s < 0:
            raise ParseError(
                f"DECIMAL scale must be between 0 and the precision: DECIMAL({p}, {s})",
                span=span,
                ksqldb=says("decimal-scale", precision=p, scale=s),
            )
        return at(types.decimal(p, s), span)

    def array_type(self, span: Span, element: SQLType) -> SQLType:
        return at(types.array(element), span)

    def map_type(self, span: Span, key: SQLType, value: SQLType) -> SQLType:
        return at(types.map_(key, value), span)

    def struct_type(self, span: Span, *fields: tuple[str, SQLType] | None) -> SQLType:
        return at(types.struct([field for field in fields if field]), span)

    def type_field(self, span: Span, name: str, kind: SQLType) -> tuple[str, SQLType]:
        return name, kind

    @with_tokens
    def type_parameter(self, span: Span, token: Token) -> str:
        return str(token)


class LiteralBuilder:
    """Makes literals of the grammar's rules."""

    def text(self, span: Span, value: str) -> Expression:
        return at(exp.Literal.string(value), span)

    def decimal_text(self, span: Span, value: str) -> Expression:
        sign, digits = ("-", value[1:]) if value.startswith("-") else ("", value)
        if not digits.replace(".", "", 1).isdecimal() or not digits.isascii():
            raise ParseError(f"invalid DECIMAL literal: '{value}'", span=span)
        return _number(span, "DECIMAL_LITERAL", sign + (digits if "." in digits else digits + "."))

    def true(self, span: Span) -> Expression:
        return at(exp.Boolean(this=True), span)

    def false(self, span: Span) -> Expression:
        return at(exp.Boolean(this=False), span)

    def null(self, span: Span) -> Expression:
        return at(exp.Null(), span)

    @with_tokens
    def unsigned_number(self, span: Span, token: Token) -> Expression:
        return _number(span, token.type, token.value)

    @with_tokens
    def signed_number(self, span: Span, minus: Token, token: Token) -> Expression:
        if token.value.startswith("-"):  # a variable's value
            return at(exp.Neg(this=_number(span, token.type, token.value)), span)
        return _number(span, token.type, "-" + token.value)


def _number(span: Span, kind: str, text: str) -> Expression:
    """A literal with its sign; the text says its type: `1` integer, `1.` DECIMAL, `1e0` DOUBLE."""
    if kind == "INTEGER_LITERAL":
        sign, digits = ("-", text[1:]) if text[0] == "-" else ("", text)
        digits = digits.lstrip("0") or "0"
        if len(digits) > MAX_DIGITS:
            raise bad_number(f"Invalid numeric literal: {text}", span)
        text = sign + digits
    elif kind == "DOUBLE_LITERAL":
        text = text.upper()
        if math.isinf(float(text)):
            raise bad_number(f"Number overflows DOUBLE: {text}", span)
    return at(exp.Literal(this=text, is_string=False), span)


def bad_number(message: str, span: Span) -> ParseError:
    """The error of a literal that is too large; ksqlDB counts its column from 2."""
    place = f"line {span.line}:{span.column + 1}: "
    return ParseError(message, span=span, ksqldb=says("cannot-prepare", reason=place + message))
