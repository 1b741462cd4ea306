"""SQL types: syntax, order and conversions. A type is a sqlglot `DataType`, so that expressions can
contain it; only this module depends on its structure. Rules: ksqlDB's data types."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.expressions import DataType

from streamsql.errors import InternalError

SQLType = DataType
_T = exp.DType

BOOLEAN = DataType(this=_T.BOOLEAN)
INT = DataType(this=_T.INT)
BIGINT = DataType(this=_T.BIGINT)
DOUBLE = DataType(this=_T.DOUBLE)
STRING = DataType(this=_T.TEXT)
BYTES = DataType(this=_T.VARBINARY)
DATE = DataType(this=_T.DATE)
TIME = DataType(this=_T.TIME)
TIMESTAMP = DataType(this=_T.TIMESTAMP)
"""A moment, as in ksqlDB."""
NULL = DataType(this=_T.NULL)
"""Type of an untyped NULL literal: compatible with every type."""
INTERVAL_UNIT = DataType(this=_T.INTERVAL)
"""A time unit (SECONDS) as an argument of a date function."""

_ZONE = "zone"
"""In the `meta` of a TIMESTAMP, which no comparison of types sees: whether it has a time zone."""
LENGTH = "length"
"""In the `meta` of STRING: the most characters that a cast to VARCHAR(n) of standard SQL keeps."""
TIMESTAMPTZ = TIMESTAMP.copy()
"""TIMESTAMP as SQL spells it where TIMESTAMP alone has no time zone."""
TIMESTAMPTZ.meta[_ZONE] = True
LOCAL_TIMESTAMP = TIMESTAMP.copy()
"""TIMESTAMP of standard SQL: date and time of day without a time zone. It is stored, and computed
with, as the moment of that time in UTC; it differs where text is made of it."""
LOCAL_TIMESTAMP.meta[_ZONE] = False

_JSON = "json"
"""In the `meta` of a STRING: whether it is a JSON text."""
JSONB = STRING.copy()
"""JSON and JSONB of standard SQL: a STRING with a JSON text."""
JSONB.meta[_JSON] = True

_SINGLE = "single"
"""In the `meta` of a DOUBLE: whether its values have single precision."""
REAL = DOUBLE.copy()
"""REAL of standard SQL: stored, and computed with, as the DOUBLE of the same value."""
REAL.meta[_SINGLE] = True

INTERVAL_PARTS = (("months", INT), ("days", INT), ("micros", BIGINT))
_ROW = "row"
"""In the `meta` of a STRUCT: whether it is a row of standard SQL."""

MAX_PRECISION = 38
"""Spark's limit; ksqlDB has none."""

PRIMITIVES: dict[str, SQLType] = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "VARCHAR": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}

_NAMES = {
    _T.BOOLEAN: "BOOLEAN",
    _T.INT: "INTEGER",
    _T.BIGINT: "BIGINT",
    _T.DOUBLE: "DOUBLE",
    _T.TEXT: "STRING",
    _T.VARBINARY: "BYTES",
    _T.DATE: "DATE",
    _T.TIME: "TIME",
    _T.TIMESTAMP: "TIMESTAMP",
    _T.NULL: "NULL",
    _T.INTERVAL: "INTERVALUNIT",
}

_NUMERIC_ORDER = (_T.INT, _T.BIGINT, _T.DECIMAL, _T.DOUBLE)
_TIME_TYPES = (_T.DATE, _T.TIME, _T.TIMESTAMP)


def decimal(precision: int, scale: int) -> SQLType:
    return DataType(
        this=_T.DECIMAL,
        expressions=[
            exp.DataTypeParam(this=exp.Literal.number(precision)),
            exp.DataTypeParam(this=exp.Literal.number(scale)),
        ],
    )


NUMERIC = decimal(MAX_PRECISION, 16)
"""NUMERIC or DECIMAL without a precision, and averages in standard SQL."""

_ALIASES: dict[str, SQLType] = {
    **dict.fromkeys(("BOOL",), BOOLEAN),
    **dict.fromkeys(("INT2", "INT4", "SMALLINT"), INT),
    **dict.fromkeys(("INT8",), BIGINT),
    **dict.fromkeys(("FLOAT8", "FLOAT"), DOUBLE),
    **dict.fromkeys(("FLOAT4", "REAL"), REAL),
    **dict.fromkeys(("TEXT", "CHAR", "CHARACTER", "BPCHAR", "UUID"), STRING),
    **dict.fromkeys(("JSON", "JSONB"), JSONB),
    **dict.fromkeys(("BYTEA",), BYTES),
    **dict.fromkeys(("TIMESTAMPTZ",), TIMESTAMPTZ),
    **dict.fromkeys(("NUMERIC", "DEC"), NUMERIC),
}
"""PostgreSQL's names."""


def named(name: str) -> SQLType | None:
    """The type of this name in ksqlDB or PostgreSQL, without parameters."""
    return PRIMITIVES.get(name) or _ALIASES.get(name)


def array(element: SQLType) -> SQLType:
    return DataType(this=_T.ARRAY, expressions=[element.copy()], nested=True)


def map_(key: SQLType, value: SQLType) -> SQLType:
    return DataType(this=_T.MAP, expressions=[key.copy(), value.copy()], nested=True)


def struct(fields: Sequence[tuple[str, SQLType]]) -> SQLType:
    columns = [
        exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind.copy())
        for name, kind in fields
    ]
    return DataType(this=_T.STRUCT, expressions=columns, nested=True)


INTERVAL = struct(INTERVAL_PARTS)
"""INTERVAL of standard SQL, which is stored, and computed with, as a STRUCT."""
_ALIASES["INTERVAL"] = INTERVAL


def row(fields: Sequence[tuple[str, SQLType]]) -> SQLType:
    """A STRUCT of standard SQL, which PostgreSQL's clients read as a row instead of JSON."""
    kind = struct(fields)
    kind.meta[_ROW] = True
    return kind


def custom(name: str) -> SQLType:
    """An unresolved reference to a type of CREATE TYPE."""
    return DataType(this=_T.USERDEFINED, kind=name)


def type_of(expression: exp.Expr) -> SQLType:
    """The type that the planner assigned to an expression."""
    if expression.type is None:
        raise InternalError(f"expression without a type: {expression!r}")
    return expression.type


# -- structure -----------------------------------------------------------------------------------


def is_decimal(t: SQLType) -> bool:
    return bool(t.this == _T.DECIMAL)


def is_array(t: SQLType) -> bool:
    return bool(t.this == _T.ARRAY)


def is_map(t: SQLType) -> bool:
    return bool(t.this == _T.MAP)


def is_struct(t: SQLType) -> bool:
    return bool(t.this == _T.STRUCT)


def is_row(t: SQLType) -> bool:
    """Whether the type is a STRUCT of standard SQL."""
    return is_struct(t) and bool(t.meta.get(_ROW))


def is_null(t: SQLType) -> bool:
    return bool(t.this == _T.NULL)


def is_custom(t: SQLType) -> bool:
    return bool(t.this == _T.USERDEFINED)


def is_numeric(t: SQLType) -> bool:
    return t.this in _NUMERIC_ORDER


def is_time(t: SQLType) -> bool:
    return t.this in _TIME_TYPES


def is_local(t: SQLType) -> bool:
    """Whether the type is LOCAL_TIMESTAMP."""
    return t.this == _T.TIMESTAMP and t.meta.get(_ZONE) is False


def is_spelled_with_zone(t: SQLType) -> bool:
    """Whether the type is TIMESTAMPTZ."""
    return t.this == _T.TIMESTAMP and t.meta.get(_ZONE) is True


def is_json(t: SQLType) -> bool:
    """Whether the type is JSONB."""
    return t.this == _T.TEXT and bool(t.meta.get(_JSON))


def is_single(t: SQLType) -> bool:
    """Whether the type is REAL."""
    return t.this == _T.DOUBLE and bool(t.meta.get(_SINGLE))


def custom_name(t: SQLType) -> str:
    return str(t.args["kind"])


def element_type(t: SQLType) -> SQLType:
    """Element type of an ARRAY, or value type of a MAP."""
    inner: SQLType = t.expressions[-1]
    return inner


def innermost(t: SQLType) -> SQLType:
    """The type of what arrays of arrays hold."""
    while is_array(t):
        t = element_type(t)
    return t


def key_type(t: SQLType) -> SQLType:
    inner: SQLType = t.expressions[0]
    return inner


def fields(t: SQLType) -> list[tuple[str, SQLType]]:
    return [(column.name, column.args["kind"]) for column in t.expressions]


def precision_scale(t: SQLType) -> tuple[int, int]:
    """Of a DECIMAL; for an integer type, the DECIMAL that holds it exactly."""
    if t.this == _T.INT:
        return 10, 0
    if t.this == _T.BIGINT:
        return 19, 0
    precision, scale = (int(p.this.this) for p in t.expressions)
    return precision, scale


def contains_map(t: SQLType) -> bool:
    if is_map(t):
        return True
    if is_array(t):
        return contains_map(element_type(t))
    return is_struct(t) and any(contains_map(kind) for _, kind in fields(t))


def to_sql(t: SQLType) -> str:
    """Canonical text, as DESCRIBE shows it: `STRUCT<`A` INTEGER, `B` ARRAY<STRING>>`."""
    if is_decimal(t):
        precision, scale = precision_scale(t)
        return f"DECIMAL({precision}, {scale})"
    if is_array(t):
        return f"ARRAY<{to_sql(element_type(t))}>"
    if is_map(t):
        return f"MAP<{to_sql(key_type(t))}, {to_sql(element_type(t))}>"
    if is_struct(t):
        if t == INTERVAL:
            return "INTERVAL"
        inner = ", ".join(f"{quote(name)} {to_sql(kind)}" for name, kind in fields(t))
        return f"STRUCT<{inner}>"
    if is_custom(t):
        return quote(custom_name(t))
    return _NAMES[t.this]


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# -- conversion ----------------------------------------------------------------------------------


def widens_to(source: SQLType, target: SQLType) -> bool:
    """Whether `source` is accepted for `target` (strict coercion): numeric widening, text to a time
    type or BYTES, and the same inside containers."""
    if source == target or is_null(source):
        return True
    if is_numeric(source) and is_numeric(target):
        if is_decimal(source) and is_decimal(target):
            (p1, s1), (p2, s2) = precision_scale(source), precision_scale(target)
            return s1 <= s2 and p1 - s1 <= p2 - s2
        return _NUMERIC_ORDER.index(source.this) < _NUMERIC_ORDER.index(target.this)
    if source == STRING:
        return is_time(target) or target == BYTES
    if is_array(source) and is_array(target):
        return widens_to(element_type(source), element_type(target))
    if is_map(source) and is_map(target):
        return widens_to(key_type(source), key_type(target)) and widens_to(
            element_type(source), element_type(target)
        )
    if is_struct(source) and is_struct(target):
        wanted = dict(fields(target))
        return all(n in wanted and widens_to(t, wanted[n]) for n, t in fields(source))
    return False


def common_type(a: SQLType, b: SQLType) -> SQLType | None:
    """The narrowest type that both widen to, or None: for two DECIMALs one that holds both, for two
    STRUCTs the union of their fields."""
    if a == b or is_null(b):
        return a
    if is_null(a):
        return b
    if is_numeric(a) and is_numeric(b):
        if not (is_decimal(a) or is_decimal(b)) or DOUBLE in (a, b):
            return max(a, b, key=lambda t: _NUMERIC_ORDER.index(t.this))
        # Not every INTEGER fits every DECIMAL, although it widens to DECIMALs.
        (p1, s1), (p2, s2) = precision_scale(a), precision_scale(b)
        scale = max(s1, s2)
        return decimal(min(max(p1 - s1, p2 - s2) + scale, MAX_PRECISION), scale)
    if is_array(a) and is_array(b):
        inner = common_type(element_type(a), element_type(b))
        return array(inner) if inner else None
    if is_map(a) and is_map(b):
        key = common_type(key_type(a), key_type(b))
        value = common_type(element_type(a), element_type(b))
        return map_(key, value) if key and value else None
    if is_struct(a) and is_struct(b):
        return _common_struct(a, b)
    if widens_to(a, b):
        return b
    return a if widens_to(b, a) else None


def _common_struct(a: SQLType, b: SQLType) -> SQLType | None:
    merged = dict(fields(a))
    for name, kind in fields(b):
        both = common_type(merged[name], kind) if name in merged else kind
        if both is None:
            return None
        merged[name] = both
    return struct(list(merged.items()))


_EXPLICIT_CASTS: dict[object, tuple[object, ...]] = {
    _T.BOOLEAN: (_T.TEXT,),
    _T.INT: (_T.BIGINT, _T.DECIMAL, _T.DOUBLE, _T.TEXT),
    _T.BIGINT: (_T.INT, _T.DECIMAL, _T.DOUBLE, _T.TEXT),
    _T.DECIMAL: (_T.INT, _T.BIGINT, _T.DECIMAL, _T.DOUBLE, _T.TEXT),
    _T.DOUBLE: (_T.INT, _T.BIGINT, _T.DECIMAL, _T.TEXT),
    _T.TEXT: (
        *(_T.BOOLEAN, _T.INT, _T.BIGINT, _T.DECIMAL, _T.DOUBLE),
        *(_T.TIMESTAMP, _T.TIME, _T.DATE, _T.VARBINARY),
    ),
    _T.TIMESTAMP: (_T.TEXT, _T.TIME, _T.DATE),
    _T.TIME: (_T.TEXT,),
    _T.DATE: (_T.TEXT, _T.TIMESTAMP),
}


def can_cast(source: SQLType, target: SQLType) -> bool:
    """Whether CAST(source AS target) is allowed (ksqlDB's matrix of casts)."""
    if source == target or is_null(source):
        return True
    if is_array(source) and is_array(target):
        return can_cast(element_type(source), element_type(target))
    if is_map(source) and is_map(target):
        return can_cast(key_type(source), key_type(target)) and can_cast(
            element_type(source), element_type(target)
        )
    if is_struct(source) and is_struct(target):
        wanted = dict(fields(target))
        return all(can_cast(t, wanted[n]) for n, t in fields(source) if n in wanted)
    if is_array(source) or is_map(source) or is_struct(source):
        return target == STRING
    return target.this in _EXPLICIT_CASTS.get(source.this, ())
