"""Expressions with PostgreSQL's meaning as ones whose Spark text has that meaning.

sqlglot's generator of Spark writes each node as Spark's function of the same name. Where that is
another function, the node is rewritten here into one that is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError, UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational import (
    angles,
    byte_strings,
    intervals,
    signatures,
    templates,
    typing,
    zones,
)
from streamsql.planner.relational.algebra import Field, Project, Relation, RelationalPlan
from streamsql.planner.relational.dependent import anywhere, with_expressions
from streamsql.planner.relational.expressions import (
    cast,
    column,
    number,
    operand,
    transformed,
    typed,
)
from streamsql.planner.relational.intervals import computed, length_of, micros
from streamsql.planner.relational.typing import NUMERIC, UNKNOWN, T, is_integer
from streamsql.planner.scopes.spans import span_of
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
)
from streamsql.values.intervals import Interval


def for_spark(plan: RelationalPlan) -> RelationalPlan:
    """The plan with expressions for Spark."""

    def of(relation: Relation) -> Relation:
        return with_expressions(relation, spark)

    root, order = _with_sort_keys(anywhere(plan.root, of), [spark(part) for part in plan.order])
    return replace(plan, root=root, order=order)


def _with_sort_keys(
    root: Relation, order: Sequence[Expression]
) -> tuple[Relation, tuple[Expression, ...]]:
    """The relation with what its rows are sorted by, which is more than a column of arrays and
    rows."""
    kept = [(field, column(field)) for field in root.fields]
    keys: list[tuple[Field, Expression]] = []
    items = []
    for place, item in enumerate(order):
        changed = item.copy()
        if not isinstance(item.this, exp.Column):
            name = f"$sorted_{place}"
            key = Field(name, name, _kind(item.this))
            keys.append((key, item.this))
            changed.set("this", column(key))
        items.append(changed)
    return Project(root, (*kept, *keys)) if keys else root, tuple(items)


def spark(expression: Expression) -> Expression:
    """The expression as one whose Spark text has its meaning."""

    def of(node: Expression) -> Expression:
        rule = _RULES.get(type(node))
        if rule is None:
            return node
        changed = rule(node)
        if changed.type is None and node.type is not None:
            changed.type = node.type
        return _rounded_single(changed) if isinstance(node, _COMPUTED) else changed

    return transformed(intervals.with_constants(expression), of)


_COMPUTED = (exp.Cast, exp.TryCast, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
"""Expressions whose value has to be rounded to the precision of a REAL."""
_FLOAT = exp.DataType(this=T.FLOAT)
"""Spark's numbers of single precision, which no column has."""


def _rounded_single(value: Expression) -> Expression:
    if value.type is None or not types.is_single(value.type):
        return value
    return cast(cast(value.copy(), _FLOAT), types.REAL)


def _call(name: str, kind: SQLType, *arguments: Expression) -> Expression:
    return typed(exp.Anonymous(this=name, expressions=[a.copy() for a in arguments]), kind)


def _as(expression: Expression, kind: SQLType) -> Expression:
    return expression if expression.type == kind else cast(expression, kind)


def _kind(node: Expression) -> SQLType:
    return types.type_of(node)


# -- numbers -------------------------------------------------------------------------------------


def _int_div(node: Expression) -> Expression:
    whole = typed(exp.IntDiv(this=node.this.copy(), expression=node.expression.copy()), BIGINT)
    return _as(whole, _kind(node))


_NUMERIC_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "SQL_NUMERIC_ADD",
    exp.Sub: "SQL_NUMERIC_SUBTRACT",
    exp.Mul: "SQL_NUMERIC_MULTIPLY",
    exp.Div: "SQL_NUMERIC_DIVIDE",
}


def _exact(node: Expression) -> Expression:
    """Spark derives other scales of quotients, and rounds what is made of wide numbers."""
    if node.type != NUMERIC:
        return node
    sides = [
        side if types.is_decimal(_kind(side)) else cast(side.copy(), NUMERIC)
        for side in (node.this, node.expression)
    ]
    return _call(_NUMERIC_ARITHMETIC[type(node)], NUMERIC, *sides)


def _rounded_double(value: Expression) -> Expression:
    return _call("RINT", DOUBLE, value)


def _round(node: Expression) -> Expression:
    if node.this.type == DOUBLE and node.args.get("decimals") is None:
        return _rounded_double(node.this)
    return cast(node.copy(), _kind(node)) if types.is_decimal(_kind(node)) else node


def _of_argument(node: Expression) -> Expression:
    """CEIL, FLOOR and SIGN have the type of their argument."""
    return cast(node.copy(), _kind(node))


def _whole(node: Expression) -> Expression:
    if _kind(node) == DOUBLE:
        return _call(f"SQL_{node.key.upper()}", DOUBLE, _as(node.this, DOUBLE))
    return _of_argument(node)


def _modulo(node: Expression) -> Expression:
    return cast(node.copy(), NUMERIC) if node.type == NUMERIC else node


def _trunc(node: Expression) -> Expression:
    value, digits, kind = node.this, node.args.get("decimals"), _kind(node)
    if digits is None and kind == DOUBLE:
        return _call("SQL_TRUNCATE", DOUBLE, _as(value, DOUBLE))
    digits = number(0) if digits is None else _as(digits, INT)
    return _as(_call("SQL_NUMERIC_TRUNCATE", NUMERIC, _as(value, NUMERIC), digits), kind)


def _sum(node: Expression) -> Expression:
    """Sums have the type of their result, which is wide enough."""
    kind = _kind(node)
    if kind == INTERVAL:
        return _interval_sum(node)
    value = node.this
    inner = value.expressions[0] if isinstance(value, exp.Distinct) else value
    if types.is_decimal(kind) and inner.type != kind:
        inner.replace(cast(inner.copy(), kind))
    return node


def _interval_sum(node: Expression) -> Expression:
    def of(rows: Expression) -> Expression:
        template = intervals.SUM if isinstance(node, exp.Sum) else intervals.MEAN
        return intervals.computed(template, INTERVAL, x=rows)

    return _collected(node, INTERVAL, of)


def _avg(node: Expression) -> Expression:
    return _interval_sum(node) if node.type == INTERVAL else node


# -- casts ---------------------------------------------------------------------------------------

_OFFSET = " ?[+-][0-9]{2}(:?[0-9]{2})?$"
"""From UTC, behind a time of day."""
_CLOCK = "([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)"


def _cast(node: Expression) -> Expression:
    source, target = node.this.type, node.args["to"]
    if source is None:
        return node
    if INTERVAL in (source, target) or TIME in (source, target):
        return _temporal_cast(node.this, source, target)
    if is_integer(target) and types.is_json(source):
        return _cast(cast(cast(node.this.copy(), NUMERIC), target))
    if is_integer(target) and (source == DOUBLE or types.is_decimal(source)):
        rounded = (
            _rounded_double(node.this)
            if source == DOUBLE
            else typed(exp.Round(this=node.this.copy(), decimals=number(0)), source)
        )
        return cast(rounded, target)
    if types.is_json(target) and source in (STRING, UNKNOWN) and not types.is_json(source):
        return _call("SQL_JSONB", types.JSONB, node.this)
    if types.is_array(source) and types.is_array(target):
        return _array_cast(node, types.element_type(source), types.element_type(target))
    if target == BYTES and source in (STRING, UNKNOWN):
        return byte_strings.of_text(node.this)
    if target == STRING and types.is_array(source):
        return _array_text(node.this, source)
    if target == STRING and types.is_struct(source):
        return _row_text(node.this, source)
    if target == STRING and source == BYTES:
        return byte_strings.text_of(node.this)
    if target == BOOLEAN and source in (STRING, UNKNOWN):
        return cast(_truth_word(node.this), target)
    if target == STRING and source == NUMERIC:
        return _replaced(cast(node.this.copy(), STRING), "[.]?0*$", "")
    if target == STRING and source == DOUBLE:
        value = cast(node.this.copy(), _FLOAT) if types.is_single(source) else node.this.copy()
        written = exp.RegexpReplace(
            this=cast(value, STRING),
            expression=exp.Literal.string("\\.0$"),
            replacement=exp.Literal.string(""),
        )
        return typed(written, STRING)
    if target == TIMESTAMP and source in (STRING, UNKNOWN):
        return cast(_moment(node.this, types.is_local(target)), target)
    if target == STRING and source == TIMESTAMP and not types.is_local(source):
        shown = cast(node.this.copy(), STRING)
        return _call("CONCAT", STRING, shown, exp.Literal.string("+00"))
    return node


_QUOTED_PART = (
    "IF(v.x = '' OR v.x RLIKE '[\\\\s\",()\\\\\\\\]', "
    "CONCAT('\"', REPLACE(REPLACE(v.x, '\\\\', '\\\\\\\\'), '\"', '\"\"'), '\"'), v.x)"
)


_QUOTED_ELEMENT = (
    _QUOTED_PART.replace(",()", ",{}")
    .replace("v.x = ''", "v.x = '' OR UPPER(v.x) = 'NULL'")
    .replace("'\"', '\"\"'", "'\"', '\\\\\"'")
)


def _array_text(array: Expression, kind: SQLType) -> Expression:
    """`{1,NULL,"a b"}`."""
    element, name = types.element_type(kind), exp.to_identifier("x")
    text = _cast(cast(typed(exp.Column(this=name.copy()), element), STRING))
    if not types.is_array(element):
        text = computed(_QUOTED_ELEMENT, STRING, x=text)
    shown = exp.Coalesce(this=text, expressions=[exp.Literal.string("NULL")])
    each = _call(
        "TRANSFORM", types.array(STRING), array, exp.Lambda(this=shown, expressions=[name])
    )
    joined = _call("ARRAY_JOIN", STRING, each, exp.Literal.string(","))
    return _call("CONCAT", STRING, exp.Literal.string("{"), joined, exp.Literal.string("}"))


def _row_text(row: Expression, kind: SQLType) -> Expression:
    """`(1,x)`, with quotes where a part needs them; a null is nothing."""
    parts: list[Expression] = []
    for name, member in types.fields(kind):
        part = exp.Dot(this=operand(row.copy()), expression=exp.to_identifier(name, True))
        text = _cast(cast(typed(part, member), STRING))
        quoted = computed(_QUOTED_PART, STRING, x=text)
        empty = exp.Literal.string("")
        parts += [exp.Literal.string(","), exp.Coalesce(this=quoted, expressions=[empty])]
    ends = exp.Literal.string("("), exp.Literal.string(")")
    whole = _call("CONCAT", STRING, ends[0], *parts[1:], ends[1])
    null = exp.If(this=_is_null(row), true=exp.Null())
    return typed(exp.Case(ifs=[null], default=whole), STRING)


def _truth_word(text: Expression) -> Expression:
    """Spark knows the letters and the whole words, but for `on` and `off`."""
    word = _call("LOWER", STRING, _call("TRIM", STRING, text))
    for short, whole in (("on|tr|tru|ye", "true"), ("of|off|fa|fal|fals", "false")):
        word = _replaced(word, f"^({short})$", whole)
    return word


def _temporal_cast(value: Expression, source: SQLType, target: SQLType) -> Expression:
    """From and to INTERVALs, and TIMEs, which are milliseconds."""
    is_text = source in (STRING, UNKNOWN)
    if target == INTERVAL:
        if source == TIME:
            return intervals.of_millis(value)
        return intervals.parsed(value) if is_text else cast(value.copy(), target)
    if target == TIME:
        if source == INTERVAL:
            return intervals.time_moved(number(0), value, "+")
        if source == TIMESTAMP:
            return intervals.time_of(value)
        return intervals.time_of_text(value) if is_text else typed(cast(value, BIGINT), TIME)
    text = intervals.text_of(value) if source == INTERVAL else intervals.time_text(value)
    return text if target == STRING else cast(text, target)


def _try_cast(node: Expression) -> Expression:
    """As the cast; null where that has no value."""
    target = node.args["to"]
    changed = _cast(typed(exp.Cast(this=node.this.copy(), to=target.copy()), target))
    if not isinstance(changed, exp.Cast):
        return changed
    # Without `safe` sqlglot writes it as a cast: those of Hive never fail.
    return typed(exp.TryCast(this=changed.this, to=changed.args["to"], safe=True), target)


def _array_cast(node: Expression, source: SQLType, target: SQLType) -> Expression:
    """Element by element, where Spark casts the elements in another way."""
    name = exp.to_identifier("x")
    element = typed(exp.Column(this=name.copy()), source)
    changed = _cast(cast(element, target))
    if isinstance(changed, exp.Cast) and changed.this is element:
        return node
    each = exp.Lambda(this=changed, expressions=[name])
    return _call("TRANSFORM", types.array(target), node.this, each)


def _moment(text: Expression, local: bool) -> Expression:
    """The text as Spark reads it. A TIMESTAMP without time zone ignores the offset; of a moment,
    seconds and the minutes of the offset are not optional."""
    if local:
        return _replaced(text, _CLOCK + _OFFSET, "$1")
    whole = _replaced(text, "([ T][0-9]{1,2}:[0-9]{2})( ?[+-])", "$1:00$2")
    return _replaced(whole, _CLOCK + " ?([+-][0-9]{2})$", "$1$4:00")


def _replaced(text: Expression, pattern: str, by: str) -> Expression:
    changed = exp.RegexpReplace(
        this=text.copy(),
        expression=exp.Literal.string(pattern),
        replacement=exp.Literal.string(by),
    )
    return typed(changed, STRING)


def _at_time_zone(node: Expression) -> Expression:
    """A moment's time of day there, or the moment of such a time."""
    local = types.is_local(typing.kind_of(node.this))
    name = "TO_UTC_TIMESTAMP" if local else "FROM_UTC_TIMESTAMP"
    return _call(name, typing.kind_of(node), node.this, zones.of_posix(node.args["zone"]))


# -- text ----------------------------------------------------------------------------------------


def _substring(node: Expression) -> Expression:
    """Positions before the first count, too, but have no character."""
    start, length = node.args.get("start"), node.args.get("length")
    if length is not None and (_whole_number(length) or 0) < 0:
        raise TypeMismatchError(
            "negative substring length not allowed",
            hint="The third argument counts characters.",
            span=span_of(node),
        )
    if start is None or (isinstance(start, exp.Literal) and int(start.name) >= 1):
        return node
    first = typed(exp.Greatest(this=start.copy(), expressions=[number(1)], ignore_nulls=True), INT)
    if length is None:
        return exp.Substring(this=node.this.copy(), start=first)
    before = exp.Least(this=start.copy(), expressions=[number(1)], ignore_nulls=True)
    rest = exp.Sub(
        this=exp.Add(this=cast(length.copy(), BIGINT), expression=before), expression=number(1)
    )
    most = exp.Least(this=rest, expressions=[number(2**31 - 1)], ignore_nulls=True)
    shown = exp.Greatest(this=most, expressions=[number(0)], ignore_nulls=True)
    return exp.Substring(this=node.this.copy(), start=first, length=cast(shown, INT))


def _whole_number(expression: Expression) -> int | None:
    """The value of a constant; None of other expressions."""
    match expression:
        case exp.Paren() | exp.Cast():
            return _whole_number(expression.this)
        case exp.Literal() if expression.name.lstrip("-").isdigit():
            return int(expression.name)
    return None


def _any_case(node: Expression) -> Expression:
    pattern = _call("CONCAT", STRING, exp.Literal.string("(?i)"), node.expression)
    return exp.RegexpLike(this=node.this.copy(), expression=pattern)


def _similar(node: Expression, escape: str = "\\") -> Expression:
    pattern = node.expression
    whole: Expression
    if isinstance(pattern, exp.Literal):
        whole = exp.Literal.string(f"^(?s:{_similar_pattern(pattern.name, escape)})$")
    else:
        for meant, written in ((r"([.^$])", r"\\$1"), (r"(?<!\\)%", ".*"), (r"(?<!\\)_", ".")):
            pattern = _replaced(pattern, meant, written)
        parts = [exp.Literal.string("^(?s:"), pattern, exp.Literal.string(")$")]
        whole = _call("CONCAT", STRING, *parts)
    found = exp.RegexpLike(this=node.this.copy(), expression=whole)
    found.meta["pattern"] = node.expression
    return found


def _similar_pattern(text: str, escape: str) -> str:
    """The regular expression of a pattern of SIMILAR TO."""
    places = {"%": ".*", "_": "."}
    result, at = "", 0
    while at < len(text):
        char = text[at]
        if escape and char == escape and at + 1 < len(text):
            at += 1
            # What stands between two #" is what SUBSTRING gives.
            result += "" if text[at] == '"' else re.escape(text[at])
        else:
            result += places.get(char, f"\\{char}" if char in ".^$\\" else char)
        at += 1
    return result


def _escaped(node: Expression) -> Expression:
    """`SIMILAR TO pattern ESCAPE 'x'`; that of LIKE is Spark's."""
    inner = node.this
    if not isinstance(inner, exp.RegexpLike) or "pattern" not in inner.meta:
        return node
    similar = exp.SimilarTo(this=inner.this.copy(), expression=inner.meta["pattern"].copy())
    return _similar(similar, node.expression.name)


def _regexp_like(node: Expression) -> Expression:
    flags = node.args.get("flag")
    if flags is None:
        return node
    if flags.name not in ("i", "c", ""):
        raise UnsupportedError("REGEXP_LIKE knows the flags i and c.", span=span_of(node))
    plain = exp.RegexpLike(this=node.this.copy(), expression=node.expression.copy())
    return _any_case(plain) if flags.name == "i" else plain


def _named(node: Expression) -> Expression:
    rule = _BY_NAME.get(node.name.upper())
    if rule is not None:
        return rule(node)
    known = signatures.signature(node.name.upper(), node.expressions)
    return node if known is None else known.call(node.expressions)


def _group_concat(node: Expression) -> Expression:
    """LISTAGG with a text as separator, which may not be missing. Values in an order and DISTINCT
    values are the text of an array: Spark cannot plan LISTAGG with an order beside aggregates of
    DISTINCT values, nor LISTAGG of DISTINCT values with OVER."""
    separator = node.args.get("separator") or exp.Literal.string("")
    if separator.find(exp.Column):
        raise UnsupportedError(
            "STRING_AGG takes a constant separator in a relational query.",
            hint="A separator of each row may be part of the value: STRING_AGG(s || v, '').",
            span=span_of(separator) or span_of(node),
        )
    if isinstance(node.this, exp.Order | exp.Distinct):
        return _collected(
            node, STRING, lambda rows: _call("ARRAY_JOIN", STRING, rows, separator), nulls=False
        )
    call = exp.AnonymousAggFunc(this="LISTAGG", expressions=[node.this.copy(), separator.copy()])
    return typed(call, STRING)


# -- JSON ----------------------------------------------------------------------------------------


def _json_text(node: Expression) -> Expression:
    return _call("SQL_JSONB_TEXT_AT", STRING, node.this, node.expression)


def _parsed(text: Expression) -> Expression:
    """The VARIANT of a JSON text; null for other texts."""
    return _call("TRY_PARSE_JSON", STRING, text)


def _to_json(value: Expression) -> Expression:
    return _call("SQL_JSONB", types.JSONB, _call("TO_JSON", STRING, value))


def _variant(value: Expression) -> Expression:
    """Any value as a VARIANT: times as ISO 8601 writes them, texts as strings."""
    kind = typing.kind_of(value)
    if types.is_json(kind):
        return _parsed(value)
    if types.is_time(kind) or kind == INTERVAL:
        value = _as_text(value, kind)
    elif types.is_struct(kind) or types.is_array(kind) or types.is_map(kind):
        return _call("TO_VARIANT_OBJECT", STRING, _with_shown_names(value, kind))
    return exp.Cast(this=value.copy(), to=exp.DataType.build("VARIANT", dialect="spark"))


def _with_shown_names(value: Expression, kind: SQLType) -> Expression:
    """A row whose names without quotes are in lower case, as results show them."""
    shown = _shown(kind)
    return value if shown == kind else cast(value.copy(), shown)


def _shown(kind: SQLType) -> SQLType:
    if types.is_array(kind):
        return types.array(_shown(types.element_type(kind)))
    if not types.is_struct(kind):
        return kind
    fields = [(n.lower() if n.isupper() else n, _shown(k)) for n, k in types.fields(kind)]
    return types.struct(fields)


def _as_text(value: Expression, kind: SQLType) -> Expression:
    text = _cast(cast(value, STRING))
    if kind != TIMESTAMP:
        return text
    space, letter = exp.Literal.string(" "), exp.Literal.string("T")
    text = _call("REPLACE", STRING, text, space, letter)
    return (
        text if types.is_local(kind) else _call("CONCAT", STRING, text, exp.Literal.string(":00"))
    )


def _json_object(node: Expression) -> Expression:
    names, values = node.expressions[::2], map(_variant, node.expressions[1::2])
    entries = [part for entry in zip(names, values, strict=True) for part in entry]
    return _to_json(_call("MAP", STRING, *entries)) if entries else _json_constant("{}")


def _json_array(node: Expression) -> Expression:
    values = [_variant(value) for value in node.expressions]
    return _to_json(_call("ARRAY", STRING, *values)) if values else _json_constant("[]")


def _json_constant(text: str) -> Expression:
    return typed(exp.Literal.string(text), types.JSONB)


def _json_element(node: Expression) -> Expression:
    """The JSON text of an element, a string with its quotes."""
    return _call("SQL_JSONB_AT", types.JSONB, node.this, node.expression)


def _json_typeof(node: Expression) -> Expression:
    """By the name of a variant's type: Spark tells whole numbers from others."""
    kind = _call("SCHEMA_OF_VARIANT", STRING, _call("TRY_PARSE_JSON", STRING, *node.expressions))
    names = {"OBJECT": "object", "ARRAY": "array", "STRING": "string", "BOOLEAN": "boolean"}
    names |= {"VOID": "null", "BIGINT": "number", "DECIMAL": "number", "DOUBLE": "number"}
    ifs = [
        exp.If(
            this=exp.Like(this=kind.copy(), expression=exp.Literal.string(f"{name}%")),
            true=exp.Literal.string(shown),
        )
        for name, shown in names.items()
    ]
    return typed(exp.Case(ifs=ifs), STRING)


def _angle(name: str, node: Expression) -> Expression:
    return angles.of_degrees(name, node.expressions)


_BY_NAME: dict[str, Callable[[Expression], Expression]] = {
    "TO_CHAR": lambda node: _to_char(node),
    "JSON_TYPEOF": _json_typeof,
    "TO_JSONB": lambda node: _to_json(_variant(node.expressions[0])),
    "JSONB_BUILD_OBJECT": _json_object,
    "JSONB_BUILD_ARRAY": _json_array,
    **{name: partial(_angle, name) for name in angles.NAMES},
    **dict.fromkeys(byte_strings.FUNCTIONS, byte_strings.called),
    "MAKE_TIMESTAMPTZ": lambda node: _call("MAKE_TIMESTAMP", TIMESTAMP, *node.expressions),
}


# -- dates, times and intervals ------------------------------------------------------------------


def _temporal(node: Expression) -> Expression:
    """Sums and differences of dates, times and intervals."""
    left, right = node.this, node.expression
    if left.type is None or right.type is None:
        return node
    subtracts, kind = isinstance(node, exp.Sub), node.type
    sign = "-" if subtracts else "+"
    if left.type == INTERVAL and right.type == INTERVAL:
        return intervals.added(left, right, sign)
    if kind == INTERVAL:
        if left.type == TIME:
            between = exp.Sub(this=operand(left.copy()), expression=operand(right.copy()))
            return intervals.of_millis(typed(between, BIGINT))
        return intervals.between(_micros(left), _micros(right))
    kinds = left.type.this, right.type.this
    if kinds == (T.DATE, T.DATE):
        return _call("DATEDIFF", INT, left, right)
    if kinds == (T.DATE, T.INT):
        return _call("DATE_SUB" if subtracts else "DATE_ADD", DATE, left, right)
    if kinds == (T.INT, T.DATE):
        return _call("DATE_ADD", DATE, right, left)
    if kinds == (T.DATE, T.TIME):
        return intervals.moment_of(right, left)
    if left.type == INTERVAL and types.is_time(right.type):
        left, right = right, left
    if right.type == INTERVAL and left.type == TIME:
        return intervals.time_moved(left, right, sign)
    if right.type == INTERVAL and types.is_time(left.type):
        start = _as(left.copy(), TIMESTAMP) if left.type == DATE else left.copy()
        return _shifted(start, right, type(node), _kind(node))
    return _exact(node)


def _micros(time: Expression) -> Expression:
    return _call("UNIX_MICROS", BIGINT, _as(time, TIMESTAMP))


def _shifted(start: Expression, by: Expression, node: type[exp.Expr], kind: SQLType) -> Expression:
    """Spark adds up no months and days: each part of an interval is added by itself."""
    found = intervals.of_struct(by)
    if found is None:
        return typed(node(this=operand(start), expression=intervals.native(by)), kind)
    for part in _units(found):
        start = typed(node(this=operand(start), expression=intervals.length(part)), kind)
    return start


def _units(interval: Interval) -> Iterator[Interval]:
    parts = Interval(months=interval.months), Interval(days=interval.days)
    return filter(attrgetter("length"), (*parts, Interval(micros=interval.micros)))


def _interval_product(node: Expression) -> Expression:
    """A multiple of an interval."""
    left, right = node.this, node.expression
    if left.type == INTERVAL:
        return intervals.scaled(left, right, isinstance(node, exp.Div))
    if right.type == INTERVAL:
        return intervals.scaled(right, left, False)
    return _exact(node)


def _neg(node: Expression) -> Expression:
    return intervals.negated(node.this) if node.this.type == INTERVAL else node


def _comparison(node: Expression) -> Expression:
    """Intervals are compared by their length, arrays and rows with their nulls last."""
    left, right = node.this, node.expression
    if left.type == INTERVAL and right.type == INTERVAL:
        sides = [length_of(left), length_of(right)]
        return type(node)(this=operand(sides[0]), expression=operand(sides[1]))
    return _order_comparison(node) if isinstance(node, _ORDERS) else node


def _in_list(node: Expression) -> Expression:
    if node.this.type != INTERVAL:
        return node
    values = [length_of(value) for value in node.expressions]
    return exp.In(this=operand(length_of(node.this)), expressions=values)


_NUMBERS = (
    "IF((v.b - v.a) / v.s < 0, ARRAY(), TRANSFORM(SEQUENCE(0, CAST(FLOOR((v.b - v.a) / v.s) AS "
    "INT)), i -> v.a + i * CAST(v.s AS DECIMAL(28, 16))))"
)
"""Of a series from `a` to `b` in steps of `s`."""


def _series(node: Expression) -> Expression:
    start, end, step = (node.args.get(part) for part in ("start", "end", "step"))
    assert start is not None and end is not None
    kind = typing.kind_of(start)
    if types.is_decimal(kind):
        step = step if step is not None else cast(number(1), kind)
        found = computed(_NUMBERS, types.array(kind), a=start, b=end, s=step)
        return _rows(cast(found, types.array(kind)), node, end)
    if step is None or step.type != INTERVAL:
        return node
    constant = intervals.of_struct(step)
    if constant is None or constant.months:
        return _rows(intervals.series(start, end, step, kind), node, end)
    changed = node.copy()
    changed.set("step", intervals.native(step))
    return changed


def _rows(array: Expression, series: Expression, end: Expression) -> Expression:
    """The rows of a series, perhaps without the last one of RANGE."""
    if series.args.get("is_end_exclusive"):
        array = _call("ARRAY_REMOVE", typing.kind_of(array), array, end)
    return exp.Unnest(expressions=[array])


def _frame(node: Expression) -> Expression:
    changed = node.copy()
    for side in ("start", "end"):
        bound = changed.args.get(side)
        if isinstance(bound, exp.Expr) and bound.type == INTERVAL:
            changed.set(side, intervals.native(bound))
    return changed


def _date_bin(node: Expression) -> Expression:
    width = micros(node.this)
    if width is None or width <= 0:
        raise UnsupportedError(
            "Windows and date_bin take a constant width without months.",
            hint="date_trunc('month', ..) counts in months.",
            span=span_of(node),
        )
    time = _call("UNIX_MICROS", BIGINT, node.expression)
    origin = node.args.get("unit")
    since = time.copy()
    if origin is not None:
        start = _call("UNIX_MICROS", BIGINT, origin)
        since = typed(exp.Sub(this=time.copy(), expression=start), BIGINT)
    rest = _call("PMOD", BIGINT, since, number(width))
    return _call("TIMESTAMP_MICROS", TIMESTAMP, typed(exp.Sub(this=time, expression=rest), BIGINT))


_YEARS = {"DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}
"""Of units that Spark does not truncate to; centuries begin with a year 1."""


def _date_trunc(node: Expression) -> Expression:
    unit, value = node.args["unit"].name.upper().removesuffix("S"), node.this
    node = node.copy()
    node.set("unit", exp.Var(this=unit))
    if value.type == INTERVAL:
        found = intervals.truncated(value, unit)
        if found is None:
            raise UnsupportedError(f"An INTERVAL has no {unit}.", span=span_of(node))
        return found
    if (years := _YEARS.get(unit)) is None:
        return node
    first = 0 if unit == "DECADE" else 1
    template = f"MAKE_DATE(YEAR(v.x) - PMOD(YEAR(v.x) - {first}, {years}), 1, 1)"
    return cast(computed(template, DATE, x=value), _kind(node))


def _to_char(node: Expression) -> Expression:
    value, template = node.expressions
    if not isinstance(template, exp.Literal):
        raise UnsupportedError(
            "TO_CHAR takes a template that is a literal in a relational query.",
            hint="CASE chooses among several templates.",
            span=span_of(node),
        )
    if value.type == INTERVAL:
        return templates.of_interval(value, template)
    moment = intervals.moment_of(value) if value.type == TIME else _as(value, TIMESTAMP)
    return templates.of_moment(moment, template)


def _extract(node: Expression) -> Expression:
    field, value = node.this.name.upper(), node.expression
    if value.type == INTERVAL:
        part = intervals.part_of(value, field, NUMERIC)
        if part is None:
            raise UnsupportedError(f"An INTERVAL has no {field}.", span=span_of(node))
        return cast(part, _kind(node))
    if value.type == TIME:
        value = intervals.moment_of(value)
    found: Expression
    match field:
        case "EPOCH":
            whole = cast(_call("UNIX_MICROS", BIGINT, _as(value, TIMESTAMP)), NUMERIC)
            found = exp.Div(this=whole, expression=number(1_000_000))
        case "DOW":
            found = exp.Sub(this=_call("DAYOFWEEK", INT, value), expression=number(1))
        case "ISODOW":
            found = exp.Add(this=_call("WEEKDAY", INT, value), expression=number(1))
        case "MILLISECOND" | "MILLISECONDS" | "MICROSECOND" | "MICROSECONDS":
            factor = 1_000 if field.startswith("MILLI") else 1_000_000
            seconds = cast(
                exp.Extract(this=exp.Var(this="SECOND"), expression=value.copy()), NUMERIC
            )
            found = exp.Mul(this=seconds, expression=number(factor))
        case _ if field in _FIELDS:
            found = computed(_FIELDS[field], NUMERIC, x=value)
        case _:
            found = exp.Extract(this=exp.Var(this=field), expression=value.copy())
    return cast(found, _kind(node))


_FIELDS = {
    "ISOYEAR": "EXTRACT(YEAROFWEEK FROM v.x)",
    "DECADE": "FLOOR(YEAR(v.x) / 10)",
    "CENTURY": "CEIL(YEAR(v.x) / 100)",
    "MILLENNIUM": "CEIL(YEAR(v.x) / 1000)",
    "JULIAN": "DATEDIFF(CAST(v.x AS DATE), DATE '1970-01-01') + 2440588 + "
    "CAST(PMOD(UNIX_MICROS(CAST(v.x AS TIMESTAMP)), 86400000000) AS DECIMAL(20)) / 86400000000",
    # Of UTC.
    "TIMEZONE": "IF(v.x IS NULL, NULL, 0)",
    "TIMEZONE_HOUR": "IF(v.x IS NULL, NULL, 0)",
    "TIMEZONE_MINUTE": "IF(v.x IS NULL, NULL, 0)",
}
"""What Spark does not extract."""


# -- arrays --------------------------------------------------------------------------------------


def _bracket(node: Expression) -> Expression:
    """Subscripts count from 1; one outside of the array gives a null."""
    value, index = node.this, node.expressions[0]
    if value.type is not None and types.is_map(value.type):
        return _call("ELEMENT_AT", _kind(node), value, index)
    if isinstance(index, exp.Slice):
        start = index.this if index.this is not None else number(1)
        if (_whole_number(start) or 0) < 1:
            start = exp.Greatest(this=start.copy(), expressions=[number(1)], ignore_nulls=True)
            start = typed(start, INT)
        size = _call("ARRAY_SIZE", INT, value)
        end = index.expression if index.expression is not None else size
        length = exp.Greatest(
            this=exp.Add(
                this=exp.Sub(this=operand(end.copy()), expression=operand(start.copy())),
                expression=number(1),
            ),
            expressions=[number(0)],
            ignore_nulls=True,
        )
        return _call("SLICE", _kind(node), value, start, length)
    place = exp.Sub(this=operand(index.copy()), expression=number(1))
    return _call("GET", _kind(node), value, cast(place, INT))


def _array_size(node: Expression) -> Expression:
    return _call("ARRAY_SIZE", INT, node.this)


def _array_agg(node: Expression) -> Expression:
    """COLLECT_LIST leaves out nulls; PostgreSQL has a null for no rows."""
    return _collected(node, _kind(node), lambda rows: rows)


def _first(node: Expression) -> Expression:
    """FIRST_VALUE as an aggregate: of the rows in their order."""
    if not isinstance(node.this, exp.Order):
        return node
    return _collected(node, _kind(node), lambda rows: _call("GET", _kind(node), rows, number(0)))


def _last(node: Expression) -> Expression:
    if not isinstance(node.this, exp.Order):
        return node
    return _collected(
        node, _kind(node), lambda rows: _call("ELEMENT_AT", _kind(node), rows, number(-1))
    )


_ROW = "v"


def _collected(
    node: Expression,
    kind: SQLType,
    result: Callable[[Expression], Expression],
    nulls: bool = True,
) -> Expression:
    """The values of all rows in their order, perhaps with nulls, and what is made of them."""
    order, value = None, node.this
    if isinstance(value, exp.Order):
        order, value = value.expressions, value.this
    distinct = isinstance(value, exp.Distinct)
    if distinct:
        value = value.expressions[0]
    keys = [item.this for item in order or ()]
    parts = [*keys, value]
    names = [f"k{n}" for n in range(len(keys))] + [_ROW]
    row: Expression = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=part.copy())
            for name, part in zip(names, parts, strict=True)
        ]
    )
    if not nulls:
        there = exp.Not(this=exp.Is(this=operand(value.copy()), expression=exp.Null()))
        row = exp.Case(ifs=[exp.If(this=there, true=row)])
    # COLLECT_SET would compare whole rows of keys and value, as DISTINCT with ORDER BY does.
    name = "COLLECT_SET" if distinct else "COLLECT_LIST"
    rows: Expression = typed(exp.AnonymousAggFunc(this=name, expressions=[row]), kind)
    if order:
        rows = _call("ARRAY_SORT", kind, rows, _comparator(order, names))
    each = exp.Lambda(
        this=exp.Dot(this=exp.to_identifier("x"), expression=exp.to_identifier(_ROW)),
        expressions=[exp.to_identifier("x")],
    )
    array = types.array(kind) if not types.is_array(kind) else kind
    values = exp.Anonymous(this="TRANSFORM", expressions=[rows, each])
    some = exp.Anonymous(this="NULLIF", expressions=[values, _empty(array)])
    return result(typed(some, kind))


def _empty(kind: SQLType) -> Expression:
    return cast(exp.Array(expressions=[]), kind)


def _comparator(order: list[Expression], names: list[str]) -> Expression:
    """`(a, b) -> ..`: -1, 0 or 1."""
    ifs = []

    def part(side: str, name: str) -> Expression:
        return exp.Dot(this=exp.to_identifier(side), expression=exp.to_identifier(name))

    for item, name in zip(order, names, strict=False):
        down = bool(item.args.get("desc"))
        nulls_first = bool(item.args.get("nulls_first"))
        a, b = part("a", name), part("b", name)

        def null(side: Expression) -> Expression:
            return exp.Is(this=side.copy(), expression=exp.Null())

        one_null = exp.And(this=null(a), expression=exp.Not(this=null(b)))
        other_null = exp.And(this=exp.Not(this=null(a)), expression=null(b))
        ifs += [
            exp.If(this=one_null, true=number(-1 if nulls_first else 1)),
            exp.If(this=other_null, true=number(1 if nulls_first else -1)),
            exp.If(this=exp.LT(this=a, expression=b), true=number(1 if down else -1)),
            exp.If(this=exp.GT(this=a.copy(), expression=b.copy()), true=number(-1 if down else 1)),
        ]
    compared = exp.Case(ifs=ifs, default=number(0))
    sides = [exp.to_identifier("a"), exp.to_identifier("b")]
    return exp.Lambda(this=compared, expressions=sides)


# -- aggregates over sorted rows -----------------------------------------------------------------


def _filter(node: Expression) -> Expression:
    """FILTER belongs to the aggregate inside of what is made of it."""
    inner = node.this
    if not isinstance(inner, exp.Anonymous):
        return node
    where = node.expression

    def of(part: Expression) -> Expression:
        if isinstance(part, exp.AnonymousAggFunc):
            return exp.Filter(this=part.copy(), expression=where.copy())
        return part

    return transformed(inner, of)


def _within_group(node: Expression) -> Expression:
    """sqlglot has an approximation for percentiles."""
    inner = node.this
    names = {exp.PercentileCont: "PERCENTILE_CONT", exp.PercentileDisc: "PERCENTILE_DISC"}
    name = names.get(type(inner))
    if name is None:
        return node
    call = exp.Anonymous(this=name, expressions=[inner.this.copy()])
    return exp.WithinGroup(this=call, expression=node.expression.copy())


def _at_extreme(node: Expression) -> Expression:
    """ARG_MIN and ARG_MAX give a value, as in DuckDB; those of Spark may give null."""
    changed = node.copy()
    is_null = exp.Is(this=operand(node.this.copy()), expression=exp.Null())
    case = exp.Case(ifs=[exp.If(this=is_null, true=exp.Null())], default=node.expression.copy())
    changed.set("expression", typed(case, typing.kind_of(node.expression)))
    return changed


def _array_sum(node: Expression) -> Expression:
    """The sum so far keeps its type."""
    kind = _kind(node)
    so_far, item = exp.to_identifier("sum"), exp.to_identifier("item")
    added = exp.Add(this=exp.Column(this=so_far.copy()), expression=exp.Column(this=item.copy()))
    step = exp.Lambda(this=cast(added, kind), expressions=[so_far, item])
    return _call("AGGREGATE", kind, node.this, cast(number(0), kind), step)


def _array_any(node: Expression) -> Expression:
    """sqlglot writes it as true for an empty array, and knows no null."""
    arguments = [node.this.copy(), node.expression.copy()]
    return exp.Anonymous(this="EXISTS", expressions=arguments)


def _array_reverse(node: Expression) -> Expression:
    return exp.Anonymous(this="REVERSE", expressions=[node.this.copy()])


# -- order ---------------------------------------------------------------------------------------


def _sort_key(value: Expression, kind: SQLType) -> Expression:
    """The value as Spark orders it like PostgreSQL: nulls in arrays and rows are the last."""
    if kind == INTERVAL:
        return length_of(value)
    if types.is_array(kind):
        element, name = types.element_type(kind), exp.to_identifier("x")
        pair = _nulls_last([typed(exp.Column(this=name.copy()), element)])
        each = exp.Lambda(this=pair, expressions=[name])
        return _call("TRANSFORM", types.array(_kind(pair)), value, each)
    if types.is_struct(kind):
        members = [
            typed(exp.Dot(this=operand(value.copy()), expression=exp.to_identifier(n, True)), t)
            for n, t in types.fields(kind)
        ]
        whole = _nulls_last(members)
        null = exp.If(this=_is_null(value), true=exp.Null())
        return typed(exp.Case(ifs=[null], default=whole), _kind(whole))
    return value


def _nulls_last(values: list[Expression]) -> Expression:
    """A STRUCT that is ordered as the values, of which nulls are the largest."""
    parts: list[Expression] = []
    for value in values:
        parts += [typed(_is_null(value), BOOLEAN), _sort_key(value, _kind(value))]
    named = [(f"c{number}", _kind(part)) for number, part in enumerate(parts)]
    entries = [
        exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=part)
        for (name, _), part in zip(named, parts, strict=True)
    ]
    return typed(exp.Struct(expressions=entries), types.struct(named))


def _is_null(value: Expression) -> Expression:
    return exp.Is(this=operand(value.copy()), expression=exp.Null())


def _is_nested(kind: SQLType | None) -> bool:
    return kind is not None and (types.is_array(kind) or types.is_struct(kind))


def _ordered(node: Expression) -> Expression:
    if not _is_nested(node.this.type):
        return node
    changed = node.copy()
    changed.set("this", _sort_key(node.this, _kind(node.this)))
    return changed


_ORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def _order_comparison(node: Expression) -> Expression:
    if not (_is_nested(node.this.type) and _is_nested(node.expression.type)):
        return node
    sides = [_sort_key(side, _kind(side)) for side in (node.this, node.expression)]
    return type(node)(this=operand(sides[0]), expression=operand(sides[1]))


def _extreme(node: Expression) -> Expression:
    """MIN and MAX, in which DISTINCT changes nothing."""
    value = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
    if _is_nested(value.type):
        by = exp.ArgMax if isinstance(node, exp.Max) else exp.ArgMin
        return typed(by(this=value.copy(), expression=_sort_key(value, _kind(value))), _kind(node))
    return node if value is node.this else type(node)(this=value.copy())


# -- windows -------------------------------------------------------------------------------------

_ORDERED = (
    *(exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead),
    *(exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist),
)


def _window(node: Expression) -> Expression:
    """Spark requires an order for these functions. By a constant all rows are equal."""
    call = _distinct_over(node.this)
    if isinstance(call, exp.Anonymous) and call.find(exp.AnonymousAggFunc):
        return _over_aggregates(call, node)
    call = call.this if isinstance(call, exp.IgnoreNulls) else call
    if node.args.get("order") is not None or not isinstance(call, _ORDERED):
        return node
    changed = node.copy()
    changed.set("order", exp.Order(expressions=[exp.Ordered(this=number(1), nulls_first=False)]))
    return changed


def _over_aggregates(call: Expression, window: Expression) -> Expression:
    """OVER belongs to the aggregates inside of what is made of them."""
    made = typed(call.copy(), _kind(window))
    for function in list(made.find_all(exp.AnonymousAggFunc)):
        aggregate = function.parent if isinstance(function.parent, exp.Filter) else function
        over = window.copy()
        over.set("this", aggregate.copy())
        aggregate.replace(over)
    return made


def _distinct_over(call: Expression) -> Expression:
    """An aggregate of DISTINCT values by the set of them: Spark has none with OVER."""
    inner = call.this if isinstance(call, exp.Filter) else call
    if not isinstance(inner, exp.AggFunc) or not isinstance(inner.this, exp.Distinct):
        return call
    value, *others = inner.this.expressions
    if others or not isinstance(inner, exp.Count | exp.Sum | exp.Avg):
        raise UnsupportedError(
            f"{inner.key.upper()}(DISTINCT ..) with OVER is not supported for these arguments.",
            hint="COUNT, SUM and AVG of the DISTINCT values of one expression are.",
            span=span_of(call),
        )
    values: Expression = exp.AnonymousAggFunc(this="COLLECT_SET", expressions=[value.copy()])
    if isinstance(call, exp.Filter):
        values = exp.Filter(this=values, expression=call.expression.copy())
    size = _call("ARRAY_SIZE", BIGINT, values)
    if isinstance(inner, exp.Count):
        return size
    array = types.array(typing.kind_of(value))
    some = _call("NULLIF", array, values, _empty(array))
    total = _array_sum(typed(exp.ArraySum(this=some), _kind(inner)))
    return total if isinstance(inner, exp.Sum) else _call("TRY_DIVIDE", _kind(inner), total, size)


_RULES: dict[type[exp.Expr], Callable[[Expression], Expression]] = {
    exp.Ordered: _ordered,
    **dict.fromkeys((*_ORDERS, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ), _comparison),
    exp.In: _in_list,
    exp.Avg: _avg,
    exp.Neg: _neg,
    exp.Mul: _interval_product,
    exp.GenerateSeries: _series,
    exp.WindowSpec: _frame,
    exp.IntDiv: _int_div,
    exp.Div: _interval_product,
    exp.Round: _round,
    exp.Ceil: _whole,
    exp.Floor: _whole,
    exp.Trunc: _trunc,
    exp.Sum: _sum,
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    exp.AtTimeZone: _at_time_zone,
    exp.Substring: _substring,
    exp.RegexpILike: _any_case,
    exp.RegexpLike: _regexp_like,
    exp.TimestampTrunc: _date_trunc,
    exp.Sign: _of_argument,
    exp.Mod: _modulo,
    exp.SimilarTo: _similar,
    exp.Escape: _escaped,
    exp.Anonymous: _named,
    exp.GroupConcat: _group_concat,
    exp.Add: _temporal,
    exp.Sub: _temporal,
    exp.DateBin: _date_bin,
    exp.Extract: _extract,
    exp.Bracket: _bracket,
    exp.ArraySize: _array_size,
    exp.ArrayAgg: _array_agg,
    exp.FirstValue: _first,
    exp.LastValue: _last,
    exp.Filter: _filter,
    exp.WithinGroup: _within_group,
    exp.Window: _window,
    **dict.fromkeys((exp.Min, exp.Max), _extreme),
    exp.ArgMin: _at_extreme,
    exp.ArgMax: _at_extreme,
    exp.ArrayAny: _array_any,
    exp.JSONExtract: _json_element,
    exp.JSONExtractScalar: _json_text,
    exp.ArrayReverse: _array_reverse,
    exp.ArrayContainsAll: lambda node: signatures.contains(node.this, node.expression),
    exp.ArrayOverlaps: lambda node: signatures.overlap(node.this, node.expression),
    exp.ArraySum: _array_sum,
}
