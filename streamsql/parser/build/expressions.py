"""Builds expressions: one method for each of their rules in grammar/expressions.lark."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lark import Token
from sqlglot import exp
from sqlglot.expressions import DataType

from streamsql import types
from streamsql.errors import ParseError, Span
from streamsql.nodes import Expression, Query
from streamsql.parser.build.items import with_tokens
from streamsql.parser.build.literals import LiteralBuilder, TypeBuilder, at
from streamsql.parser.build.schemas import check_schema
from streamsql.values.intervals import interval

_BYTE_ORDERS = frozenset({"C", "POSIX", "DEFAULT", "UCS_BASIC"})
"""Collations of PostgreSQL that compare texts as Spark does."""


def identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)


def _text(word: Token | str) -> str:
    return str(word.value) if isinstance(word, Token) else word


ANY_OF = "any_of"
"""In the `meta` of AND: it was written `value = ANY (array)`."""
OF_TRUTH = "of_truth"
"""In the `meta` of IS NULL: it was written IS UNKNOWN, which takes a condition."""


def _binary(node: type[exp.Expr]) -> Any:
    def build(self: object, span: Span, left: Expression, right: Expression) -> Expression:
        return at(node(this=left, expression=right), span)

    return build


def _escaped(node: type[exp.Expr]) -> Any:
    def build(
        self: object, span: Span, operand: Expression, pattern: Expression, character: str
    ) -> Expression:
        if len(character) != 1 and (character or node is not exp.SimilarTo):
            raise ParseError(f"ESCAPE must be one character: '{character}'", span=span)
        matched = at(node(this=operand, expression=pattern), span)
        return at(exp.Escape(this=matched, expression=exp.Literal.string(character)), span)

    return build


def _operator(function: str) -> Any:
    """An operator that is the call of a function."""

    def build(self: ExpressionBuilder, span: Span, *operands: Expression) -> Expression:
        return self.call(span, function, list(operands))

    return build


def _compared_to(node: type[exp.Expr], truth: bool) -> Any:
    def build(self: object, span: Span, operand: Expression) -> Expression:
        return at(node(this=operand, expression=at(exp.Boolean(this=truth), span)), span)

    return build


def _at_path(node: type[exp.Expr], span: Span, base: Expression, path: str) -> Expression:
    """`#>` and `#>>`, as one `->` for each key of `{a,0}`."""
    keys = [key.strip() for key in path.strip().removeprefix("{").removesuffix("}").split(",")]
    for number, key in enumerate(keys, 1):
        literal = exp.Literal.number(key) if key.isdigit() else exp.Literal.string(key.strip('"'))
        kind = node if number == len(keys) else exp.JSONExtract
        base = at(kind(this=base, expression=at(literal, span)), span)
    return base


def _any_of(span: Span, value: Expression, array: Expression) -> Expression:
    """`x = ANY (array)`; ARRAY_CONTAINS alone would find a NULL among others."""
    found = at(exp.Anonymous(this="ARRAY_CONTAINS", expressions=[array, value]), span)
    absent = at(exp.Is(this=value.copy(), expression=exp.Null()), span)
    both = at(exp.And(this=at(exp.Not(this=absent), span), expression=found), span)
    both.meta[ANY_OF] = True
    return both


_OTHERS = {exp.Any: exp.All, exp.All: exp.Any}


def _negated(method: Any) -> Any:
    """`a NOT LIKE ANY (..)` is not that a is like all of them."""

    def build(self: object, span: Span, *values: Any) -> Expression:
        values = tuple(
            at(_OTHERS[type(value)](this=value.this), span) if type(value) in _OTHERS else value
            for value in values
        )
        return at(exp.Not(this=method(self, span, *values)), span)

    return build


class ExpressionBuilder(LiteralBuilder, TypeBuilder):
    """Makes expressions of the grammar's rules."""

    or_ = _binary(exp.Or)
    and_ = _binary(exp.And)
    not_equal = _binary(exp.NEQ)
    less = _binary(exp.LT)
    less_equal = _binary(exp.LTE)
    greater = _binary(exp.GT)
    greater_equal = _binary(exp.GTE)
    is_distinct = _binary(exp.NullSafeNEQ)
    is_not_distinct = _binary(exp.NullSafeEQ)
    like = _binary(exp.Like)
    not_like = _negated(like)
    concatenate = _binary(exp.DPipe)
    add = _binary(exp.Add)
    subtract = _binary(exp.Sub)
    multiply = _binary(exp.Mul)
    divide = _binary(exp.Div)
    modulo = _binary(exp.Mod)

    power = _binary(exp.Pow)
    bit_and = _binary(exp.BitwiseAnd)
    bit_or = _binary(exp.BitwiseOr)
    bit_xor = _binary(exp.BitwiseXor)
    contains = _binary(exp.ArrayContainsAll)
    contained = _binary(exp.ArrayContainedBy)
    overlaps = _binary(exp.ArrayOverlaps)
    has_key = _binary(exp.JSONBContainsTopKey)
    has_any_key = _binary(exp.JSONBContainsAnyTopKeys)
    has_all_keys = _binary(exp.JSONBContainsAllTopKeys)
    without_path = _binary(exp.JSONBDeleteAtPath)
    shift_left = _binary(exp.BitwiseLeftShift)
    shift_right = _binary(exp.BitwiseRightShift)

    begins = _operator("TEXT_STARTS_WITH")
    path_exists = _operator("JSONB_PATH_EXISTS")
    path_matches = _operator("JSONB_PATH_MATCH")
    absolute = _operator("ABS")
    square_root = _operator("SQRT")
    cube_root = _operator("CBRT")

    def bit_not(self, span: Span, operand: Expression) -> Expression:
        return at(exp.BitwiseNot(this=operand), span)

    def equal(self, span: Span, left: Expression, right: Expression) -> Expression:
        if isinstance(right, exp.Any) and not isinstance(right.this, Query):
            return _any_of(span, left, right.this)
        return at(exp.EQ(this=left, expression=right), span)

    def not_(self, span: Span, operand: Expression) -> Expression:
        return at(exp.Not(this=operand), span)

    def negate(self, span: Span, operand: Expression) -> Expression:
        return at(exp.Neg(this=operand), span)

    def plus(self, span: Span, operand: Expression) -> Expression:
        return operand

    def parenthesized(self, span: Span, inner: Expression) -> Expression:
        return inner

    def is_null(self, span: Span, operand: Expression) -> Expression:
        return at(exp.Is(this=operand, expression=exp.Null()), span)

    is_not_null = _negated(is_null)

    def is_unknown(self, span: Span, operand: Expression) -> Expression:
        node = self.is_null(span, operand)
        node.meta[OF_TRUTH] = True
        return node

    is_not_unknown = _negated(is_unknown)

    is_true = _compared_to(exp.NullSafeEQ, True)
    is_not_true = _compared_to(exp.NullSafeNEQ, True)
    is_false = _compared_to(exp.NullSafeEQ, False)
    is_not_false = _compared_to(exp.NullSafeNEQ, False)

    def between(
        self, span: Span, operand: Expression, low: Expression, high: Expression
    ) -> Expression:
        return at(exp.Between(this=operand, low=low, high=high), span)

    not_between = _negated(between)

    def between_symmetric(
        self, span: Span, operand: Expression, low: Expression, high: Expression
    ) -> Expression:
        upwards = self.between(span, operand, low, high)
        downwards = self.between(span, operand.copy(), high.copy(), low.copy())
        return at(exp.Or(this=upwards, expression=downwards), span)

    not_between_symmetric = _negated(between_symmetric)

    def in_(self, span: Span, operand: Expression, values: list[Expression]) -> Expression:
        return at(exp.In(this=operand, expressions=values), span)

    not_in = _negated(in_)

    def in_query(self, span: Span, operand: Expression, query: Query) -> Expression:
        return at(exp.In(this=operand, query=query), span)

    not_in_query = _negated(in_query)

    def exists(self, span: Span, query: Query) -> Expression:
        return at(exp.Exists(this=query), span)

    def scalar_query(self, span: Span, query: Query) -> Expression:
        return at(exp.Subquery(this=query), span)

    def array_query(self, span: Span, query: Query) -> Expression:
        return at(exp.Array(query=query), span)

    def any_of(self, span: Span, *values: Query | Expression) -> Expression:
        if len(values) > 1:
            raise ParseError("ANY takes one array", span=span)
        return at(exp.Any(this=values[0]), span)

    def all_of(self, span: Span, values: Query | Expression) -> Expression:
        return at(exp.All(this=values), span)

    def row(self, span: Span, *values: Expression) -> Expression:
        return at(exp.Tuple(expressions=list(values)), span)

    ilike = _binary(exp.ILike)
    not_ilike = _negated(ilike)
    similar = _binary(exp.SimilarTo)
    not_similar = _negated(similar)
    similar_escape = _escaped(exp.SimilarTo)
    not_similar_escape = _negated(similar_escape)
    matches = _binary(exp.RegexpLike)
    not_matches = _negated(matches)
    matches_any_case = _binary(exp.RegexpILike)
    not_matches_any_case = _negated(matches_any_case)
    like_escape = _escaped(exp.Like)
    not_like_escape = _negated(like_escape)
    ilike_escape = _escaped(exp.ILike)
    not_ilike_escape = _negated(ilike_escape)

    def at_time_zone(self, span: Span, operand: Expression, zone: str) -> Expression:
        return at(exp.AtTimeZone(this=operand, zone=exp.Literal.string(zone)), span)

    def collated(self, span: Span, operand: Expression, collation: str) -> Expression:
        if collation.upper() in _BYTE_ORDERS:
            return operand
        raise ParseError(
            f"unknown collation {collation}",
            hint='Texts are compared by their bytes, which is COLLATE "C".',
            span=span,
        )

    def column(self, span: Span, name: str) -> Expression:
        return at(exp.Column(this=identifier(name)), span)

    def qualified_column(self, span: Span, source: str, name: str) -> Expression:
        return at(exp.Column(this=identifier(name), table=identifier(source)), span)

    def schema_column(self, span: Span, schema: str, source: str, name: str) -> Expression:
        check_schema(schema, span, "A field of a STRUCT is taken with ->: column->field.")
        return self.qualified_column(span, source, name)

    def typed_literal(self, span: Span, name: str, text: str) -> Expression:
        kind = types.named(name)
        if kind is not None:
            literal = at(exp.Literal.string(text), span)
            return at(exp.Cast(this=literal, to=kind.copy()), span)
        raise ParseError(
            f"Unknown type: {name}",
            span=span,
            hint=f"Only DECIMAL '1.23' is written so; use CAST('{text}' AS {name}).",
        )

    def interval_text(self, span: Span, text: str, field: str | None = None) -> Expression:
        if interval(text, field) is None:
            raise ParseError(
                f"'{text}' is not an INTERVAL",
                hint="Write an amount and its unit: INTERVAL '1 day 12 hours' or INTERVAL '3' DAY. "
                "Units are YEAR, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND and MILLISECOND.",
                span=span,
            )
        unit = None if field is None else exp.Var(this=field)
        return at(exp.Interval(this=exp.Literal.string(text), unit=unit), span)

    @with_tokens
    def interval_field(self, span: Span, field: Token) -> str:
        return str(field.value).removesuffix("S")

    def extract(self, span: Span, field: Token | str | exp.Var, value: Expression) -> Expression:
        name = field.name.removesuffix("S") if isinstance(field, exp.Var) else _text(field)
        return at(exp.Extract(this=exp.Var(this=name.upper()), expression=value), span)

    def call(
        self,
        span: Span,
        name: str,
        arguments: list[Expression] | None = None,
        order: Expression | None = None,
    ) -> Expression:
        if name.upper() == "ROW":
            return self.row(span, *arguments or [])
        given = [*(arguments or []), *([order] if order is not None else [])]
        return at(exp.Anonymous(this=name.upper(), expressions=given), span)

    def call_star(self, span: Span, name: str) -> Expression:
        return self.call(span, name, [exp.Star()])

    def call_distinct(
        self, span: Span, name: str, arguments: list[Expression], order: Expression | None
    ) -> Expression:
        return self.call(span, name, [at(exp.Distinct(expressions=arguments), span)], order)

    def call_for(self, span: Span, name: str, text: Expression, length: Expression) -> Expression:
        """SUBSTRING(text FOR length) begins at the first character."""
        return self.call_from(span, name, text, at(exp.Literal.number(1), span), length)

    def overlay(self, span: Span, name: str, *arguments: Expression | None) -> Expression:
        return self.call(span, name, [a for a in arguments if a is not None])

    @with_tokens
    def trim(self, span: Span, *parts: Any) -> Expression:
        """TRIM(LEADING a FROM b) is LTRIM(b, a)."""
        _, _, side, characters, _, text, _ = parts
        function = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(side.upper(), "BTRIM")
        return self.call(span, function, [text] if characters is None else [text, characters])

    def position(self, span: Span, name: str, part: Expression, text: Expression) -> Expression:
        """POSITION(a IN b) is INSTR(b, a)."""
        return self.call(span, "INSTR", [text, part])

    def call_from(self, span: Span, name: str, *arguments: Expression) -> Expression:
        if name.upper() == "TRIM" and len(arguments) == 2:
            return self.call(span, "BTRIM", [arguments[1], arguments[0]])
        if name.upper() != "SUBSTRING":
            raise ParseError(
                f"{name.upper()}(.. FROM ..) is not known",
                hint="SUBSTRING is written so; others have commas between their arguments.",
                span=span,
            )
        return self.call(span, name, list(arguments))

    def ordered_set(
        self, span: Span, name: str, shares: list[Expression] | None, order: Expression
    ) -> Expression:
        """PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY value) is PERCENTILE(value, share), with
        DESC of the other share from the least up."""
        given, keys = shares or [], order.expressions
        if name.upper() != "PERCENTILE_CONT" or len(given) != 1 or len(keys) != 1:
            called = self.call(span, name, given)
            return at(exp.WithinGroup(this=called, expression=order), span)
        share = given[0]
        if keys[0].args.get("desc"):
            if not isinstance(share, exp.Literal) or share.is_string:
                raise ParseError("a share with DESC is a number", hint="Use ASC.", span=span)
            share = at(exp.Literal.number(str(1 - Decimal(share.name))), span)
        return self.call(span, "PERCENTILE", [keys[0].this, share])

    def left_call(self, span: Span, arguments: list[Expression]) -> Expression:
        return self.call(span, "LEFT", arguments)

    def right_call(self, span: Span, arguments: list[Expression]) -> Expression:
        return self.call(span, "RIGHT", arguments)

    def filtered(self, span: Span, call: Expression, condition: Expression) -> Expression:
        return at(exp.Filter(this=call, expression=condition), span)

    def of_array(
        self, span: Span, call: Expression, condition: Expression | None = None
    ) -> Expression:
        """`aggregate:f(..)`: the function of the array of a group's values."""
        if not isinstance(call, exp.Anonymous) or call.find(exp.Star):
            raise ParseError("aggregate: stands before a function of arrays", span=span)
        values: Expression = exp.Anonymous(this="ARRAY_AGG", expressions=call.expressions)
        values = at(values, span)
        if condition is not None:
            values = self.filtered(span, values, condition)
        return at(exp.Anonymous(this=call.this, expressions=[values]), span)

    def field(self, span: Span, base: Expression, name: str) -> Expression:
        return at(exp.Dot(this=base, expression=identifier(name)), span)

    def text_key(self, span: Span, key: str) -> Expression:
        return at(exp.Literal.string(key), span)

    def last_key(self, span: Span, index: Token) -> Expression:
        return at(exp.Literal.number(f"-{index}"), span)

    def index_key(self, span: Span, index: Token) -> Expression:
        return at(exp.Literal.number(str(index)), span)

    json_element = _binary(exp.JSONExtract)
    json_text = _binary(exp.JSONExtractScalar)

    def json_element_at(self, span: Span, base: Expression, path: str) -> Expression:
        return _at_path(exp.JSONExtract, span, base, path)

    def json_text_at(self, span: Span, base: Expression, path: str) -> Expression:
        return _at_path(exp.JSONExtractScalar, span, base, path)

    def slice(
        self, span: Span, base: Expression, low: Expression | None, high: Expression | None
    ) -> Expression:
        return self.subscript(span, base, at(exp.Slice(this=low, expression=high), span))

    def subscript(self, span: Span, base: Expression, index: Expression) -> Expression:
        return at(exp.Bracket(this=base, expressions=[index]), span)

    def cast(self, span: Span, operand: Expression, target: DataType) -> Expression:
        if target == types.INTERVAL:
            if isinstance(operand, exp.Literal) and operand.is_string:
                return self.interval_text(span, operand.name)
        return at(exp.Cast(this=operand, to=target), span)

    def try_cast(self, span: Span, operand: Expression, target: DataType) -> Expression:
        return at(exp.TryCast(this=operand, to=target), span)

    def searched_case(self, span: Span, *branches: Expression | None) -> Expression:
        return self.simple_case(span, None, *branches)

    def simple_case(
        self, span: Span, operand: Expression | None, *branches: Expression | None
    ) -> Expression:
        *ifs, default = branches
        case = exp.Case(ifs=ifs)
        if operand is not None:
            case.set("this", operand)
        if default is not None:
            case.set("default", default)
        return at(case, span)

    def when(self, span: Span, condition: Expression, result: Expression) -> Expression:
        return at(exp.If(this=condition, true=result), span)

    def otherwise(self, span: Span, result: Expression) -> Expression:
        return result

    def array(self, span: Span, elements: list[Expression] | None) -> Expression:
        return at(exp.Array(expressions=elements or []), span)

    def map(self, span: Span, entries: list[tuple[Expression, Expression]] | None) -> Expression:
        keys = exp.Array(expressions=[key for key, _ in entries or []])
        values = exp.Array(expressions=[value for _, value in entries or []])
        return at(exp.Map(keys=keys, values=values), span)

    def map_entries(self, span: Span, *entries: tuple[Expression, Expression]) -> list[Any]:
        return list(entries)

    def map_entry(
        self, span: Span, key: Expression, value: Expression
    ) -> tuple[Expression, Expression]:
        return key, value

    def struct(self, span: Span, entries: list[Expression] | None) -> Expression:
        return at(exp.Struct(expressions=entries or []), span)

    def struct_entries(self, span: Span, *entries: Expression) -> list[Expression]:
        return list(entries)

    def struct_entry(self, span: Span, name: str, value: Expression) -> Expression:
        return at(exp.PropertyEQ(this=identifier(name), expression=value), span)

    def expressions(self, span: Span, *items: Expression) -> list[Expression]:
        return list(items)

    arguments = expressions

    def lambda_(self, span: Span, *parts: Any) -> Expression:
        *names, body = parts
        return at(exp.Lambda(this=body, expressions=[identifier(n) for n in names]), span)

    @with_tokens
    def interval_unit(self, span: Span, unit: Token) -> Expression:
        return at(exp.Var(this=unit.value), span)

    def name(self, span: Span, word: Token) -> str:
        return str(word.value)

    @with_tokens
    def word(self, span: Span, token: Token) -> Token:
        return token
