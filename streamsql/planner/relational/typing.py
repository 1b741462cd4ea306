"""Types of standard SQL, as PostgreSQL derives them: of operands, results and conversions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.nodes import Expression
from streamsql.planner.relational.array_text import array_of
from streamsql.planner.relational.expressions import cast, typed
from streamsql.planner.relational.intervals import length
from streamsql.planner.scopes.spans import span_of
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    LOCAL_TIMESTAMP,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    SQLType,
    decimal,
)
from streamsql.values.intervals import interval

T = exp.DType
UNKNOWN = exp.DataType(this=T.UNKNOWN)
"""Of a text literal, which takes the type of what stands beside it."""
NUMERIC = types.NUMERIC

_ALIKE = {
    **dict.fromkeys((T.VARCHAR, T.CHAR, T.NCHAR, T.NVARCHAR, T.BPCHAR, T.NAME, T.UUID), STRING),
    **dict.fromkeys((T.SMALLINT, T.TINYINT), INT),
    T.FLOAT: DOUBLE,
    **dict.fromkeys((T.TIMESTAMPTZ, T.TIMESTAMPLTZ), TIMESTAMP),
    **dict.fromkeys((T.TIMESTAMPNTZ, T.DATETIME), LOCAL_TIMESTAMP),
    T.TIMETZ: TIME,
    T.BINARY: types.BYTES,
    T.INT128: decimal(38, 0),
}
_ORDER = (T.INT, T.BIGINT, T.DECIMAL, T.DOUBLE)


def standard(kind: SQLType) -> SQLType:
    """The type that the engine has for one of standard SQL."""
    if kind.this == T.DECIMAL and len(kind.expressions) != 2:
        if not kind.expressions:
            return NUMERIC
        return decimal(int(kind.expressions[0].name), 0)
    if kind.this == T.INTERVAL or kind == INTERVAL:
        return INTERVAL
    if types.is_array(kind) and kind.expressions:
        return types.array(standard(kind.expressions[0]))
    if types.is_struct(kind):
        return types.row([(name, standard(part)) for name, part in types.fields(kind)])
    if kind.this == T.TIMESTAMP:
        return kind if types.is_spelled_with_zone(kind) else LOCAL_TIMESTAMP
    return _ALIKE.get(kind.this, kind)


def kind_of(expression: Expression) -> SQLType:
    return types.type_of(expression)


def settled(kind: SQLType) -> SQLType:
    """The type of a result: text where nothing decides the type of a literal."""
    if types.is_struct(kind) and kind != INTERVAL:
        made = types.row if types.is_row(kind) else types.struct
        return made([(name, settled(part)) for name, part in types.fields(kind)])
    return STRING if kind in (UNKNOWN, NULL) else kind


def is_open(kind: SQLType) -> bool:
    return kind in (UNKNOWN, NULL)


def is_integer(kind: SQLType) -> bool:
    return kind.this in (T.INT, T.BIGINT)


def common(kinds: Sequence[SQLType]) -> SQLType | None:
    """The type of values that stand for each other, as in CASE or UNION; None: there is none."""
    result: SQLType = NULL
    for kind in kinds:
        both = _common(result, kind)
        if both is None:
            return None
        result = both
    return result


_TWOFOLD = (TIMESTAMP, STRING, DOUBLE)
"""Types of which a part are types of their own."""


def _common(a: SQLType, b: SQLType) -> SQLType | None:
    if a == b and a in _TWOFOLD:
        return a if is_same(a, b) else next(kind for kind in _TWOFOLD if kind == a)
    if a == b or b == NULL or (b == UNKNOWN and a != NULL):
        return a
    if a in (NULL, UNKNOWN):
        return b
    if {a.this, b.this} == {T.DATE, T.TIMESTAMP}:
        return b if a == DATE else a
    if types.is_struct(a) and types.is_struct(b):
        return _common_row(a, b)
    if STRING in (a, b):
        return None
    return types.common_type(a, b)


def _common_row(a: SQLType, b: SQLType) -> SQLType | None:
    """Of rows by the places of their fields; those of the first have the names."""
    one, two = types.fields(a), types.fields(b)
    if len(one) != len(two):
        return None
    parts = [_common(x, y) for (_, x), (_, y) in zip(one, two, strict=True)]
    found = [(name, kind) for (name, _), kind in zip(one, parts, strict=True) if kind is not None]
    return types.row(found) if len(found) == len(one) else None


def is_same(a: SQLType, b: SQLType) -> bool:
    if types.is_array(a) and types.is_array(b):
        return is_same(types.element_type(a), types.element_type(b))
    parts = (types.is_local, types.is_json, types.is_single)
    return a == b and all(is_part(a) == is_part(b) for is_part in parts)


def coerced(expression: Expression, kind: SQLType) -> Expression:
    """The expression as one of the type."""
    own = kind_of(expression)
    if is_same(own, kind) or is_open(kind):
        return expression
    if isinstance(expression, exp.Null):
        return cast(exp.Null(), kind)
    if own == UNKNOWN and kind == STRING and not types.is_json(kind):
        return typed(expression, STRING)
    if isinstance(expression, exp.Literal) and own == UNKNOWN and kind == INTERVAL:
        return interval_of(expression)
    if own == UNKNOWN and types.is_array(kind) and isinstance(expression, exp.Literal):
        return array_of(expression, kind)
    if isinstance(expression, exp.Struct) and types.is_struct(kind):
        return _row_of(expression, kind)
    if isinstance(expression, exp.Cast) and isinstance(expression.this, exp.Null):
        return cast(exp.Null(), kind)
    return cast(expression, kind)


def interval_of(literal: Expression, unit: str | None = None) -> Expression:
    """The constant interval of a text."""
    found = interval(literal.name, unit)
    if found is None:
        raise TypeMismatchError(
            f"invalid input syntax for type interval: '{literal.name}'",
            hint="Write an amount and its unit: INTERVAL '1 day 12 hours' or INTERVAL '3' DAY.",
            span=span_of(literal),
        )
    return length(found)


def _row_of(row: Expression, kind: SQLType) -> Expression:
    """A row of the type, field by field: a NULL in it may have any type."""
    if len(row.expressions) != len(types.fields(kind)):
        raise TypeMismatchError(
            f"a row of {len(row.expressions)} values cannot be one of {len(types.fields(kind))}",
            hint="Write NULL for a field without a value.",
            span=span_of(row),
        )
    parts = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True), expression=coerced(part.expression, member)
        )
        for part, (name, member) in zip(row.expressions, types.fields(kind), strict=True)
    ]
    return typed(exp.Struct(expressions=parts), kind.copy())


def alike(values: Sequence[Expression], what: str) -> tuple[list[Expression], SQLType]:
    """Values that stand for each other, as ones of their common type."""
    kind = common([_open_kind(value) for value in values])
    if kind is None:
        names = ", ".join(dict.fromkeys(name(kind_of(value)) for value in values))
        raise TypeMismatchError(
            f"{what} cannot have values of the types {names}",
            hint="CAST one of them.",
            span=span_of(values[0]) or span_of(values[-1]),
        )
    kind = _without_padding(values, settled(kind))
    return [coerced(value, kind) for value in values], kind


def _without_padding(values: Sequence[Expression], kind: SQLType) -> SQLType:
    """Numbers that are written with different digits behind the point keep theirs."""
    if not types.is_decimal(kind):
        return kind
    scales = {
        types.precision_scale(kind_of(value))[1]
        for value in values
        if isinstance(value, exp.Literal) and types.is_numeric(kind_of(value))
    }
    if len(scales) < 2:
        return kind
    precision, scale = types.precision_scale(kind)
    most, digits = types.precision_scale(NUMERIC)
    fits = scale <= digits and precision - scale <= most - digits
    return NUMERIC if fits else kind


def _open_kind(value: Expression) -> SQLType:
    """The type of a value, where a NULL in a row still has none."""
    if not isinstance(value, exp.Struct):
        return kind_of(value)
    names = (name for name, _ in types.fields(kind_of(value)))
    parts = (part.expression for part in value.expressions)
    return types.row([(name, _part_kind(part)) for name, part in zip(names, parts, strict=True)])


def _part_kind(part: Expression) -> SQLType:
    is_null = isinstance(part, exp.Cast) and isinstance(part.this, exp.Null)
    return NULL if is_null else _open_kind(part)


def comparable(left: Expression, right: Expression, what: str) -> tuple[Expression, Expression]:
    """Both sides of a comparison, as values of one type."""
    a, b = kind_of(left), kind_of(right)
    if types.is_numeric(a) and types.is_numeric(b):
        return left, right
    if is_open(a) and is_open(b):
        return coerced(left, STRING), coerced(right, STRING)
    kind = common([_open_kind(left), _open_kind(right)])
    if kind is None:
        raise mismatch(what, a, b, left)
    kind = settled(kind) if types.is_struct(kind) else kind
    return coerced(left, kind), coerced(right, kind)


def mismatch(what: str, a: SQLType, b: SQLType, at: Expression) -> TypeMismatchError:
    return TypeMismatchError(
        f"operator does not exist: {name(a)} {what} {name(b)}",
        hint="CAST one of the two.",
        span=span_of(at),
    )


def name(kind: SQLType) -> str:
    if kind in (UNKNOWN, NULL):
        return "unknown"
    try:
        return types.to_sql(kind)
    except KeyError:
        # A type of standard SQL that no column has.
        return kind.sql()


def postgres_name(kind: SQLType) -> str:
    """PostgreSQL's name of a type, as its format_type() writes it."""
    if types.is_array(kind):
        return f"{postgres_name(types.element_type(kind))}[]"
    if types.is_local(kind):
        return "timestamp without time zone"
    if types.is_json(kind):
        return "jsonb"
    if types.is_single(kind):
        return "real"
    if kind == INTERVAL:
        return "interval"
    return _POSTGRES_NAMES.get(kind.this, name(kind).lower())


_POSTGRES_NAMES = {
    T.DOUBLE: "double precision",
    T.DECIMAL: "numeric",
    T.TEXT: "text",
    T.VARBINARY: "bytea",
    T.TIME: "time without time zone",
    T.TIMESTAMP: "timestamp with time zone",
    T.STRUCT: "record",
}


# -- arithmetic ----------------------------------------------------------------------------------


def arithmetic(node: type[exp.Expr], symbol: str, a: Expression, b: Expression) -> Expression:
    """`a + b` and its like, with the operands' common type."""
    left, right = kind_of(a), kind_of(b)
    temporal = _temporal(node, a, b)
    if temporal is not None:
        return temporal
    if is_open(left) and is_open(right):
        if UNKNOWN in (left, right):
            raise TypeMismatchError(
                f"operator is not unique: unknown {symbol} unknown",
                hint="CAST one of the two.",
                span=span_of(a) or span_of(b),
            )
        a, b = coerced(a, INT), coerced(b, INT)
    elif is_open(left):
        a = coerced(a, right)
    elif is_open(right):
        b = coerced(b, left)
    left, right = kind_of(a), kind_of(b)
    if not (types.is_numeric(left) and types.is_numeric(right)):
        raise mismatch(symbol, left, right, a)
    kind = _number(node, left, right)
    if node is exp.Div and is_integer(kind):
        return typed(exp.IntDiv(this=a, expression=b), kind)
    if node is exp.Div and types.is_decimal(kind):
        a = cast(a, NUMERIC) if not types.is_decimal(left) else a
    if is_integer(kind) and left != right:
        a, b = coerced(a, kind), coerced(b, kind)
    return typed(node(this=a, expression=b), kind)


def _number(node: type[exp.Expr], a: SQLType, b: SQLType) -> SQLType:
    wider = max(a, b, key=lambda kind: _ORDER.index(kind.this))
    if wider == DOUBLE and not (types.is_single(a) and types.is_single(b)):
        return DOUBLE
    if not types.is_decimal(wider):
        return wider
    if NUMERIC in (a, b):
        return NUMERIC
    (p1, s1), (p2, s2) = types.precision_scale(a), types.precision_scale(b)
    if node is exp.Mul:
        return bounded(p1 + p2 + 1, s1 + s2)
    if node is exp.Div:
        return NUMERIC
    scale = max(s1, s2)
    if node is exp.Mod:
        return bounded(min(p1 - s1, p2 - s2) + scale, scale)
    return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)


def bounded(precision: int, scale: int) -> SQLType:
    """A DECIMAL of at most 38 digits, which gives up digits behind the point, but for six."""
    if precision <= types.MAX_PRECISION:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(types.MAX_PRECISION, max(types.MAX_PRECISION - whole, min(scale, 6)))


def _temporal(node: type[exp.Expr], a: Expression, b: Expression) -> Expression | None:
    """Sums and differences of dates, times and intervals; None where there is none of these."""
    left, right = kind_of(a), kind_of(b)
    kinds = {_tag(left), _tag(right)}
    if not kinds & {T.DATE, T.TIMESTAMP, T.TIME, T.INTERVAL}:
        return None
    if node in (exp.Add, exp.Sub):
        if is_open(right) and right != NULL:
            b = coerced(b, INTERVAL if left != DATE else (DATE if node is exp.Sub else INT))
        elif is_open(left) and left != NULL:
            a = coerced(a, right if node is exp.Sub and right != INTERVAL else INTERVAL)
        left, right = kind_of(a), kind_of(b)
        if node is exp.Add and left == TIME and right == DATE:
            a, b, left, right = b, a, right, left
        kind = _TEMPORAL.get((node, _tag(left), _tag(right)))
        if kind is None:
            return None
        if kinds == {T.DATE, T.TIMESTAMP}:
            a, b = cast(a, TIMESTAMP), cast(b, TIMESTAMP)
        if kind == TIMESTAMP:
            kind = next((k for k in (left, right) if k == TIMESTAMP), LOCAL_TIMESTAMP)
        return typed(node(this=a, expression=b), kind)
    if node in (exp.Mul, exp.Div) and left == TIME:
        a, left = cast(a, INTERVAL), INTERVAL
    if node in (exp.Mul, exp.Div) and left == INTERVAL and right != INTERVAL:
        b = coerced(b, DOUBLE) if is_open(right) else b
        return typed(node(this=a, expression=b), INTERVAL) if _is_factor(b) else None
    if node is exp.Mul and right == INTERVAL:
        a = coerced(a, DOUBLE) if is_open(left) else a
        return typed(node(this=a, expression=b), INTERVAL) if _is_factor(a) else None
    return None


def _is_factor(expression: Expression) -> bool:
    return types.is_numeric(kind_of(expression))


def _tag(kind: SQLType) -> T:
    return T.INTERVAL if kind == INTERVAL else kind.this


_TEMPORAL: dict[tuple[type[exp.Expr], T, T], exp.DataType] = {
    (exp.Add, T.DATE, T.INT): DATE,
    (exp.Add, T.INT, T.DATE): DATE,
    (exp.Sub, T.DATE, T.INT): DATE,
    (exp.Sub, T.DATE, T.DATE): INT,
    (exp.Add, T.DATE, T.TIME): TIMESTAMP,
    (exp.Sub, T.TIMESTAMP, T.TIMESTAMP): INTERVAL,
    (exp.Sub, T.DATE, T.TIMESTAMP): INTERVAL,
    (exp.Sub, T.TIMESTAMP, T.DATE): INTERVAL,
    (exp.Sub, T.TIME, T.TIME): INTERVAL,
    **{(node, T.DATE, T.INTERVAL): TIMESTAMP for node in (exp.Add, exp.Sub)},
    **{(node, T.TIMESTAMP, T.INTERVAL): TIMESTAMP for node in (exp.Add, exp.Sub)},
    **{(node, T.TIME, T.INTERVAL): TIME for node in (exp.Add, exp.Sub)},
    **{(node, T.INTERVAL, T.INTERVAL): INTERVAL for node in (exp.Add, exp.Sub)},
    (exp.Add, T.INTERVAL, T.DATE): TIMESTAMP,
    (exp.Add, T.INTERVAL, T.TIMESTAMP): TIMESTAMP,
    (exp.Add, T.INTERVAL, T.TIME): TIME,
}


def condition(expression: Expression, clause: str) -> Expression:
    """The expression as a BOOLEAN, or a TypeMismatchError."""
    kind = kind_of(expression)
    if is_open(kind):
        return coerced(expression, BOOLEAN)
    if kind != BOOLEAN:
        raise TypeMismatchError(
            f"argument of {clause} must be BOOLEAN, not {name(kind)}", span=span_of(expression)
        )
    return expression


def total(kind: SQLType) -> SQLType:
    """The type of a SUM."""
    if kind == INT:
        return BIGINT
    if kind == BIGINT:
        return decimal(38, 0)
    if types.is_decimal(kind):
        return decimal(38, types.precision_scale(kind)[1])
    return kind


def mean(kind: SQLType) -> SQLType:
    """The type of an AVG."""
    return kind if kind in (DOUBLE, INTERVAL) else NUMERIC
