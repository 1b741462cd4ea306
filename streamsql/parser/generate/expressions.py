"""Expressions and types to canonical SQL: one entry a node class, parentheses only where the
precedence of the grammar asks for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp
from sqlglot.expressions import DataType

from streamsql import types
from streamsql.errors import InternalError
from streamsql.nodes import Expression
from streamsql.parser.generate.text import to_sql
from streamsql.parser.tokens.keywords import BARE_NAMES, KEYWORDS
from streamsql.types import SQLType

# Precedence, loose to tight, as the levels of grammar/expressions.lark.
OR, AND, NOT, PREDICATE, CONCAT, SUM, PRODUCT, POWER, UNARY, ZONED, PRIMARY = range(11)
VALUE = CONCAT
"""The grammar's `value`: operands of comparisons, GROUP BY expressions."""

_BARE = re.compile(r"[A-Z_][A-Z0-9_@]*")


def name(text: str) -> str:
    """An identifier, between backticks only where it needs them."""
    if _BARE.fullmatch(text) and (text not in KEYWORDS or text in BARE_NAMES):
        return text
    return types.quote(text)


def string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def type_sql(t: SQLType) -> str:
    if types.is_array(t):
        return f"ARRAY<{type_sql(types.element_type(t))}>"
    if types.is_map(t):
        return f"MAP<{type_sql(types.key_type(t))}, {type_sql(types.element_type(t))}>"
    if types.is_struct(t):
        inner = (f"{name(field)} {type_sql(kind)}" for field, kind in types.fields(t))
        return f"STRUCT<{', '.join(inner)}>"
    if types.is_custom(t):
        return name(types.custom_name(t))
    if types.is_spelled_with_zone(t):
        return "TIMESTAMPTZ"
    if types.is_json(t):
        return "JSONB"
    if types.is_single(t):
        return "REAL"
    return types.to_sql(t)


def expression_sql(node: Expression, at_least: int = OR) -> str:
    """The expression, in parentheses if it binds looser than `at_least`."""
    entry = EXPRESSIONS.get(type(node))
    if entry is None:
        raise InternalError(f"no SQL text for the expression {type(node).__name__}")
    precedence, text = entry(node)
    return text if precedence >= at_least else f"({text})"


def _list(nodes: Iterable[Expression]) -> str:
    return ", ".join(map(expression_sql, nodes))


Printed = tuple[int, str]
"""Precedence and text of a node."""


def _left_associative(precedence: int, operator: str) -> Callable[[Any], Printed]:
    def generate(node: exp.Binary) -> Printed:
        left = expression_sql(node.this, precedence)
        right = expression_sql(node.expression, precedence + 1)
        return precedence, f"{left} {operator} {right}"

    return generate


def _comparison(operator: str) -> Callable[[Any], Printed]:
    def generate(node: exp.Binary) -> Printed:
        left = expression_sql(node.this, VALUE)
        return PREDICATE, f"{left} {operator} {expression_sql(node.expression, VALUE)}"

    return generate


def _predicate(node: Expression, negation: str = "") -> str:
    """BETWEEN, IN, LIKE and IS NULL, which take a NOT inside."""
    if isinstance(node, exp.Escape):
        return f"{_predicate(node.this, negation)} ESCAPE {expression_sql(node.expression)}"
    operand = expression_sql(node.this, VALUE)
    if isinstance(node, exp.Between):
        low, high = (expression_sql(node.args[end], VALUE) for end in ("low", "high"))
        return f"{operand} {negation}BETWEEN {low} AND {high}"
    if isinstance(node, exp.In):
        query = node.args.get("query")
        inner = _list(node.expressions) if query is None else to_sql(query)
        return f"{operand} {negation}IN ({inner})"
    if isinstance(node, exp.Is):
        return f"{operand} IS {negation}NULL"
    return f"{operand} {negation}{_MATCHES[type(node)]} {expression_sql(node.expression, VALUE)}"


_MATCHES: dict[type[exp.Expr], str] = {
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.SimilarTo: "SIMILAR TO",
}
_PREDICATES = (exp.Between, exp.In, exp.Is, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape)
_REGEXES: dict[type[exp.Expr], str] = {exp.RegexpLike: "~", exp.RegexpILike: "~*"}


_CONTAINMENT: dict[type[exp.Expr], str] = {
    exp.ArrayContainsAll: "@>",
    exp.ArrayContainedBy: "<@",
    exp.ArrayOverlaps: "&&",
    exp.JSONBContainsTopKey: "?",
    exp.JSONBContainsAnyTopKeys: "?|",
    exp.JSONBContainsAllTopKeys: "?&",
    exp.JSONBDeleteAtPath: "#-",
}


def _and(node: exp.And) -> Printed:
    if "any_of" in node.meta:
        array, value = node.expression.expressions
        text = f"{expression_sql(value, VALUE)} = ANY ({expression_sql(array)})"
        return PREDICATE, text
    return _left_associative(AND, "AND")(node)


def _not(node: exp.Not) -> Printed:
    if isinstance(node.this, _PREDICATES):
        return PREDICATE, _predicate(node.this, "NOT ")
    if (operator := _REGEXES.get(type(node.this))) is not None:
        return _comparison(f"!{operator}")(node.this)
    return NOT, f"NOT {expression_sql(node.this, NOT)}"


def _neg(node: exp.Neg) -> Printed:
    operand = expression_sql(node.this, UNARY)
    # `-5` begins a literal and `--` a comment.
    if operand[0] in "-.0123456789":
        operand = f"({operand})"
    return UNARY, f"-{operand}"


def _literal(node: exp.Literal) -> Printed:
    if node.is_string:
        return PRIMARY, string(node.this)
    return (UNARY if node.this.startswith("-") else PRIMARY), node.this


def _column(node: exp.Column) -> Printed:
    table = node.args.get("table")
    column = name(node.name)
    return PRIMARY, f"{name(table.name)}.{column}" if table else column


def _case(node: exp.Case) -> Printed:
    parts = ["CASE"]
    if node.args.get("this"):
        parts.append(expression_sql(node.this))
    for branch in node.args["ifs"]:
        result = expression_sql(branch.args["true"])
        parts.append(f"WHEN {expression_sql(branch.this)} THEN {result}")
    if node.args.get("default"):
        parts.append(f"ELSE {expression_sql(node.args['default'])}")
    return PRIMARY, " ".join([*parts, "END"])


def _map(node: exp.Map) -> Printed:
    pairs = zip(node.args["keys"].expressions, node.args["values"].expressions, strict=True)
    entries = (f"{expression_sql(k)} := {expression_sql(v)}" for k, v in pairs)
    return PRIMARY, f"MAP({', '.join(entries)})"


def _struct(node: exp.Struct) -> Printed:
    entries = (f"{name(e.name)} := {expression_sql(e.expression)}" for e in node.expressions)
    return PRIMARY, f"STRUCT({', '.join(entries)})"


def _lambda(node: exp.Lambda) -> Printed:
    names = [name(parameter.name) for parameter in node.expressions]
    parameters = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return OR, f"{parameters} => {expression_sql(node.this)}"


def _call(node: exp.Anonymous) -> Printed:
    arguments = node.expressions
    plain = arguments and not isinstance(arguments[0], exp.Distinct | exp.Star)
    called = node.name if plain and node.name in _RESERVED_CALLS else name(node.this)
    *others, last = arguments or [None]
    if isinstance(last, exp.Order):
        return PRIMARY, f"{called}({_list(others)} {expression_sql(last)})"
    return PRIMARY, f"{called}({_list(arguments)})"


_RESERVED_CALLS = ("LEFT", "RIGHT")
"""Functions that are called by a reserved word, where they have plain arguments."""


def _over(node: exp.Window) -> Printed:
    parts = []
    if partition := node.args.get("partition_by"):
        keys = ", ".join(expression_sql(key, VALUE) for key in partition)
        parts.append(f"PARTITION BY {keys}")
    if order := node.args.get("order"):
        parts.append(f"ORDER BY {_list(order.expressions)}")
    if frame := node.args.get("spec"):
        parts.append(expression_sql(frame))
    if grace := node.args.get("grace"):
        parts.append(f"GRACE PERIOD {_length(grace)}")
    return PRIMARY, f"{expression_sql(node.this)} OVER ({' '.join(parts)})"


def _frame(node: exp.WindowSpec) -> Printed:
    if node.args["kind"] == "SESSION":
        return PRIMARY, f"SESSION WITH GAP {expression_sql(node.args['start'])}"
    start, end = (_bound(node, which) for which in ("start", "end"))
    excluded = f" EXCLUDE {exclude}" if (exclude := node.args.get("exclude")) else ""
    return PRIMARY, f"{node.args['kind']} BETWEEN {start} AND {end}{excluded}"


def _bound(frame: exp.WindowSpec, which: str) -> str:
    distance, side = frame.args[which], frame.args[f"{which}_side"]
    text = distance if isinstance(distance, str) else expression_sql(distance)
    return f"{text} {side}" if side else text


def _length(grace: exp.Interval) -> str:
    plural = "" if grace.name == "1" else "S"
    return f"{grace.name} {grace.args['unit'].name}{plural}"


def _filtered(node: exp.Filter) -> Printed:
    condition = expression_sql(node.expression)
    return PRIMARY, f"{expression_sql(node.this)} FILTER (WHERE {condition})"


def _interval(node: exp.Interval) -> Printed:
    unit = node.args.get("unit")
    return PRIMARY, f"INTERVAL {string(node.name)}" + (f" {unit.name}" if unit else "")


def _extract(node: exp.Extract) -> Printed:
    value = expression_sql(node.expression)
    bare = name(node.name) == node.name
    field = node.name if bare else string(node.name)
    return PRIMARY, f"EXTRACT({field} FROM {value})"


def _ordered(node: exp.Ordered) -> Printed:
    direction = " DESC" if node.args.get("desc") else ""
    nulls = node.args.get("nulls_first")
    placed = "" if nulls is None else f" NULLS {'FIRST' if nulls else 'LAST'}"
    return OR, f"{expression_sql(node.this, VALUE)}{direction}{placed}"


def _at_time_zone(node: exp.AtTimeZone) -> Printed:
    zone = expression_sql(node.args["zone"])
    return ZONED, f"{expression_sql(node.this, ZONED)} AT TIME ZONE {zone}"


def _field(node: exp.Dot) -> Printed:
    return PRIMARY, f"{expression_sql(node.this, PRIMARY)}->{name(node.expression.name)}"


def _json(operator: str) -> Callable[[exp.Expr], Printed]:
    def of(node: exp.Expr) -> Printed:
        key = expression_sql(node.expression)
        return PRIMARY, f"{expression_sql(node.this, PRIMARY)} {operator} {key}"

    return of


def _subscript(node: exp.Bracket) -> Printed:
    index = expression_sql(node.expressions[0], VALUE)
    return PRIMARY, f"{expression_sql(node.this, PRIMARY)}[{index}]"


def _slice(node: exp.Slice) -> Printed:
    ends = (node.args.get("this"), node.args.get("expression"))
    return PRIMARY, ":".join("" if end is None else expression_sql(end, VALUE) for end in ends)


def _array(node: exp.Array) -> Printed:
    query = node.args.get("query")
    if query is not None:
        return PRIMARY, f"ARRAY ({to_sql(query)})"
    return PRIMARY, f"ARRAY[{_list(node.expressions)}]"


def _row(node: exp.Tuple) -> Printed:
    row = "" if len(node.expressions) > 1 else "ROW"
    return PRIMARY, f"{row}({_list(node.expressions)})"


def _within_group(node: exp.WithinGroup) -> Printed:
    order = expression_sql(node.expression)
    return PRIMARY, f"{expression_sql(node.this)} WITHIN GROUP ({order})"


def _cast(node: exp.Cast) -> Printed:
    kind = node.args["to"]
    length = kind.meta.get(types.LENGTH)
    target = type_sql(kind) if length is None else f"VARCHAR({length})"
    return PRIMARY, f"CAST({expression_sql(node.this)} AS {target})"


def _try_cast(node: exp.TryCast) -> Printed:
    return PRIMARY, f"TRY_{_cast(node)[1]}"


def _treating_nulls(words: str) -> Callable[[Any], Printed]:
    return lambda node: (PRIMARY, f"{expression_sql(node.this)} {words}")


EXPRESSIONS: dict[type[exp.Expr], Callable[[Any], Printed]] = {
    exp.Or: _left_associative(OR, "OR"),
    exp.And: _and,
    exp.Not: _not,
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeEQ: _comparison("IS NOT DISTINCT FROM"),
    exp.NullSafeNEQ: _comparison("IS DISTINCT FROM"),
    **{node: (lambda n: (PREDICATE, _predicate(n))) for node in _PREDICATES},
    **{node: _comparison(operator) for node, operator in _REGEXES.items()},
    exp.DPipe: _left_associative(CONCAT, "||"),
    **{node: _left_associative(CONCAT, operator) for node, operator in _CONTAINMENT.items()},
    exp.Add: _left_associative(SUM, "+"),
    exp.Sub: _left_associative(SUM, "-"),
    exp.Mul: _left_associative(PRODUCT, "*"),
    exp.Div: _left_associative(PRODUCT, "/"),
    exp.Mod: _left_associative(PRODUCT, "%"),
    exp.Pow: _left_associative(POWER, "^"),
    exp.BitwiseAnd: _left_associative(CONCAT, "&"),
    exp.BitwiseOr: _left_associative(CONCAT, "|"),
    exp.BitwiseXor: _left_associative(CONCAT, "#"),
    exp.BitwiseLeftShift: _left_associative(CONCAT, "<<"),
    exp.BitwiseRightShift: _left_associative(CONCAT, ">>"),
    exp.BitwiseNot: lambda n: (UNARY, f"~{expression_sql(n.this, UNARY)}"),
    exp.Neg: _neg,
    exp.AtTimeZone: _at_time_zone,
    exp.JSONExtract: _json("->"),
    exp.JSONExtractScalar: _json("->>"),
    exp.Literal: _literal,
    exp.Boolean: lambda n: (PRIMARY, "TRUE" if n.this else "FALSE"),
    exp.Null: lambda n: (PRIMARY, "NULL"),
    exp.Column: _column,
    exp.Anonymous: _call,
    exp.Distinct: lambda n: (OR, f"DISTINCT {_list(n.expressions)}"),
    exp.Filter: _filtered,
    exp.Interval: _interval,
    exp.Extract: _extract,
    exp.Star: lambda n: (PRIMARY, "*"),
    exp.Var: lambda n: (PRIMARY, n.name),
    exp.Lambda: _lambda,
    exp.Dot: _field,
    exp.Bracket: _subscript,
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    exp.IgnoreNulls: _treating_nulls("IGNORE NULLS"),
    exp.RespectNulls: _treating_nulls("RESPECT NULLS"),
    exp.Exists: lambda n: (PRIMARY, f"EXISTS ({to_sql(n.this)})"),
    exp.Subquery: lambda n: (PRIMARY, f"({to_sql(n.this)})"),
    exp.Any: lambda n: (PRIMARY, f"ANY ({to_sql(n.this)})"),
    exp.All: lambda n: (PRIMARY, f"ALL ({to_sql(n.this)})"),
    exp.Slice: _slice,
    exp.Tuple: _row,
    exp.WithinGroup: _within_group,
    exp.Window: _over,
    exp.WindowSpec: _frame,
    exp.Ordered: _ordered,
    exp.Order: lambda n: (OR, f"ORDER BY {_list(n.expressions)}"),
    exp.Case: _case,
    exp.Array: _array,
    exp.Map: _map,
    exp.Struct: _struct,
    DataType: lambda n: (PRIMARY, type_sql(n)),
}
"""Node class -> its precedence and text."""
