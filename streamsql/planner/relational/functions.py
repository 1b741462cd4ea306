"""Calls of standard SQL: sqlglot's nodes by the names of its dialect of PostgreSQL, and types."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from streamsql import types
from streamsql.errors import BindError, TypeMismatchError, UnsupportedError, did_you_mean
from streamsql.nodes import Expression
from streamsql.planner.relational import angles, byte_strings
from streamsql.planner.relational.expressions import (
    cast,
    is_not_null,
    is_null,
    number,
    typed,
)
from streamsql.planner.relational.signatures import OF_ARRAYS, SIGNATURES, Signature, signature
from streamsql.planner.relational.typing import (
    NUMERIC,
    UNKNOWN,
    T,
    alike,
    coerced,
    comparable,
    is_integer,
    is_open,
    kind_of,
    mean,
    name,
    settled,
    standard,
    total,
)
from streamsql.planner.scopes.spans import span_of
from streamsql.properties import POSTGRES_VERSION
from streamsql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    LOCAL_TIMESTAMP,
    STRING,
    TIMESTAMP,
    SQLType,
)

AGGREGATES = frozenset(
    {
        *("COUNT", "SUM", "AVG", "MIN", "MAX", "STRING_AGG", "LISTAGG", "ARRAY_AGG", "BOOL_AND"),
        *("BOOL_OR", "EVERY", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP"),
        *("VAR_SAMP", "CORR", "COVAR_POP", "COVAR_SAMP", "BIT_AND", "BIT_OR", "BIT_XOR", "MODE"),
        *("PERCENTILE_CONT", "PERCENTILE_DISC", "PERCENTILE", "APPROX_COUNT_DISTINCT"),
        *("ANY_VALUE", "FIRST", "LAST", "ARG_MIN", "ARG_MAX", "MIN_BY", "MAX_BY", "MEDIAN"),
        *("FIRST_VALUE", "LAST_VALUE", "GROUP_CONCAT"),
    }
)
OF_A_SHARE = {
    "PERCENTILE": "PERCENTILE_CONT",
    "QUANTILE_CONT": "PERCENTILE_CONT",
    "QUANTILE": "PERCENTILE_DISC",
    "QUANTILE_DISC": "PERCENTILE_DISC",
}
"""Aggregates of a value and a share, and the same with WITHIN GROUP."""
JSON_AGGREGATES = frozenset({"JSON_AGG", "JSONB_AGG", "JSON_OBJECT_AGG", "JSONB_OBJECT_AGG"})
"""Written as ARRAY_AGG of JSON texts: `json_aggregate`."""
JSON_PATHS = {
    f"{prefix}_EXTRACT_PATH{suffix}": last
    for prefix in ("JSON", "JSONB")
    for suffix, last in (("", exp.JSONExtract), ("_TEXT", exp.JSONExtractScalar))
}
"""Written as the operators -> and ->>: `json_path`."""
WINDOW_ONLY = frozenset(
    {
        *("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD"),
        "NTH_VALUE",
    }
)
_WINDOW_ONLY = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
    *(exp.Lag, exp.Lead, exp.NthValue),
)
JSON_ROWS = {
    f"{prefix}_{name}": f"JSON_{name}"
    for prefix in ("JSON", "JSONB")
    for name in ("ARRAY_ELEMENTS", "ARRAY_ELEMENTS_TEXT", "OBJECT_KEYS")
}
"""Table functions over a JSON text: their names, and that of the function that gives an array."""
JSON_ELEMENTS = frozenset(name for name in JSON_ROWS if "ELEMENTS" in name)
"""Those whose column is `value`, whatever their alias."""
JSON_ENTRIES = {
    f"{prefix}_EACH{suffix}": f"JSON_EACH{suffix}"
    for prefix in ("JSON", "JSONB")
    for suffix in ("", "_TEXT")
}
"""Table functions of the keys and values of an object."""
SPLITS = {
    "REGEXP_SPLIT_TO_TABLE": "REGEXP_SPLIT_TO_ARRAY",
    "STRING_TO_TABLE": "STRING_TO_ARRAY",
    "REGEXP_MATCHES": "REGEXP_MATCH_ROWS",
}
"""Table functions over a text, and the function that gives the array of their rows."""
TABLE_FUNCTIONS = frozenset(
    {
        *("UNNEST", "GENERATE_SERIES", "RANGE", "GENERATE_SUBSCRIPTS"),
        *JSON_ROWS,
        *JSON_ENTRIES,
        *SPLITS,
    }
)

_OWN_NAMES = {
    "FIRST": "FIRST_VALUE",
    "LAST": "LAST_VALUE",
    "LISTAGG": "STRING_AGG",
    "EVERY": "BOOL_AND",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "STRPOS": "STR_POSITION",
    "SUBSTR": "SUBSTRING",
    "CEILING": "CEIL",
    "POW": "POWER",
    "NOW": "CURRENT_TIMESTAMP",
    "TRANSACTION_TIMESTAMP": "CURRENT_TIMESTAMP",
    "STATEMENT_TIMESTAMP": "CURRENT_TIMESTAMP",
    "CLOCK_TIMESTAMP": "CURRENT_TIMESTAMP",
    "PROCTIME": "CURRENT_TIMESTAMP",
    "IFNULL": "COALESCE",
    "CARDINALITY": "ARRAY_SIZE",
    "LCASE": "LOWER",
    "UCASE": "UPPER",
    "STRLEN": "OCTET_LENGTH",
    "TODAY": "CURRENT_DATE",
    "MIN_BY": "ARG_MIN",
    "MAX_BY": "ARG_MAX",
    "ARRAY_UPPER": "ARRAY_LENGTH",
    "JSONB_ARRAY_LENGTH": "JSON_ARRAY_LENGTH",
    "JSONB_TYPEOF": "JSON_TYPEOF",
    **dict.fromkeys(("TO_JSON", "ROW_TO_JSON", "ARRAY_TO_JSON"), "TO_JSONB"),
    "JSON_BUILD_OBJECT": "JSONB_BUILD_OBJECT",
    "JSON_BUILD_ARRAY": "JSONB_BUILD_ARRAY",
    "JSON_STRIP_NULLS": "JSONB_STRIP_NULLS",
    "JSON_OBJECT": "JSONB_OBJECT",
}


CONSTANTS = {
    "CURRENT_DATABASE": "streamsql",
    "CURRENT_CATALOG": "streamsql",
    "CURRENT_SCHEMA": "public",
    "VERSION": f"PostgreSQL {POSTGRES_VERSION} (streamsql)",
}
"""Functions of the server, whose values are those of its system catalog."""
OF_SESSION = frozenset({"CURRENT_USER", "SESSION_USER", "CURRENT_ROLE"})
"""What the system catalog alone answers."""
CLOCK = frozenset(
    {
        *("CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIMESTAMP", "LOCALTIME"),
        *("CURRENT_CATALOG", "CURRENT_SCHEMA", *OF_SESSION),
    }
)
"""Functions that are called without parentheses."""


CASTS = frozenset(
    {"BOOL", "DATE", "FLOAT4", "FLOAT8", "INT2", "INT4", "INT8", "NUMERIC", "TEXT", "TIMESTAMPTZ"}
)
"""Types that PostgreSQL lets one write as functions."""
_ORDERED = frozenset(
    {"STRING_AGG", "GROUP_CONCAT", "LISTAGG", "ARRAY_AGG", "FIRST_VALUE", "LAST_VALUE"}
)
_FIRST_OF_ALIKE = frozenset({"ARG_MIN", "ARG_MAX"})


def _without_order(function: str, arguments: list[Expression]) -> list[Expression]:
    """The arguments of an aggregate whose result does not depend on the order of its rows."""
    order = arguments[-1] if arguments else None
    if not isinstance(order, exp.Order) or function in _ORDERED:
        return arguments
    if function in _FIRST_OF_ALIKE:
        raise UnsupportedError(
            f"ORDER BY in {function} is not supported.",
            hint="FIRST_VALUE(value ORDER BY ..) takes the value of the first row.",
            span=span_of(order),
        )
    return arguments[:-1]


def build(function: str, arguments: list[Expression]) -> Expression:
    """The call as sqlglot's node; the arguments are typed, the call is not."""
    function = _OWN_NAMES.get(function, function)
    arguments = _without_order(function, arguments)
    if signature(function, arguments) is not None:
        return exp.Anonymous(this=function, expressions=arguments)
    if (own := _OWN.get(function)) is not None:
        return own(arguments)
    builder = Postgres.Parser.FUNCTIONS.get(function)
    if builder is None or _has_too_many(builder, arguments):
        return exp.Anonymous(this=function, expressions=arguments)
    try:
        more = {"dialect": Postgres()} if "dialect" in builder.__code__.co_varnames else {}
        call: Expression = builder(arguments, **more)
        return call
    except (SqlglotError, TypeError, IndexError, KeyError, AttributeError, ValueError):
        return exp.Anonymous(this=function, expressions=arguments)


def _has_too_many(builder: object, arguments: list[Expression]) -> bool:
    """Whether sqlglot would leave out arguments of a call."""
    node = getattr(builder, "__self__", None)
    if not isinstance(node, type) or not issubclass(node, exp.Func):
        return False
    return not node.is_var_len_args and len(arguments) > len(node.arg_types)


_TEXTS = types.array(STRING)


def _local_timestamp(_arguments: list[Expression]) -> Expression:
    zone = typed(exp.Literal.string("UTC"), STRING)
    return exp.AtTimeZone(this=typed(exp.CurrentTimestamp(), TIMESTAMP), zone=zone)


def _string_agg(arguments: list[Expression]) -> Expression:
    """STRING_AGG(value, separator), with DISTINCT before both and ORDER BY behind them."""
    order = arguments[-1] if isinstance(arguments[-1], exp.Order) else None
    values = arguments[:-1] if order is not None else arguments
    if isinstance(values[0], exp.Distinct):
        first, *rest = values[0].expressions
        values = [exp.Distinct(expressions=[first]), *rest]
    value, separator = values[0], values[1] if len(values) > 1 else None
    if order is not None:
        order = order.copy()
        order.set("this", value)
        value = order
    return exp.GroupConcat(this=value, separator=separator)


def _ordered(node: type[exp.Expr]) -> Callable[[list[Expression]], Expression]:
    def of(arguments: list[Expression]) -> Expression:
        *values, last = arguments
        if isinstance(last, exp.Order) and values:
            order = last.copy()
            order.set("this", values[0])
            return node(this=order)
        return node(this=arguments[0])

    return of


def json_path(node: exp.Anonymous) -> Expression:
    value, *keys, last = node.expressions
    for key in keys:
        value = exp.JSONExtract(this=value, expression=key)
    return JSON_PATHS[node.name.upper()](this=value, expression=last)


def json_aggregate(
    node: exp.Anonymous, condition: Expression | None = None, window: exp.Window | None = None
) -> Expression:
    """An aggregate that makes a JSON text, as a list of its parts' texts, without types;
    `condition` is that of its FILTER, and `window` is its OVER."""
    values = [argument.copy() for argument in node.expressions]
    order = [values.pop()] if values and isinstance(values[-1], exp.Order) else []
    distinct = bool(values) and isinstance(values[0], exp.Distinct)
    if distinct:
        values = values[0].expressions
    if len(values) != (2 if "OBJECT" in node.name.upper() else 1):
        raise _unknown(node, node.name.upper())
    part, brackets = _json_or_null(values[-1]), "[]"
    if "OBJECT" in node.name.upper():
        text = exp.Cast(this=values[0], to=STRING.copy())
        json = exp.Anonymous(this="TO_JSONB", expressions=[text])
        key = exp.Cast(this=json, to=STRING.copy())
        part, brackets = _joined_texts(key, exp.Literal.string(":"), part), "{}"
    if distinct:
        part = exp.Distinct(expressions=[part])
    parts: Expression = exp.Anonymous(this="ARRAY_AGG", expressions=[part, *order])
    if condition is not None:
        parts = exp.Filter(this=parts, expression=condition)
    if window is not None:
        over = window.copy()
        over.set("this", parts)
        parts = over
    comma = exp.Literal.string(",")
    inside = exp.Anonymous(this="ARRAY_TO_STRING", expressions=[parts, comma])
    begin, end = map(exp.Literal.string, brackets)
    whole = exp.Cast(this=exp.Paren(this=_joined_texts(begin, inside, end)), to=types.JSONB.copy())
    for made in whole.walk():
        made.meta.update(node.meta | made.meta)
    return whole


def _json_or_null(value: Expression) -> Expression:
    text = exp.Cast(this=exp.Anonymous(this="TO_JSONB", expressions=[value]), to=STRING.copy())
    return exp.Anonymous(this="COALESCE", expressions=[text, exp.Literal.string("null")])


def _joined_texts(*texts: Expression) -> Expression:
    whole, *rest = texts
    for text in rest:
        whole = exp.DPipe(this=whole, expression=text)
    return whole


def _count(arguments: list[Expression]) -> Expression:
    return exp.Count(this=arguments[0] if arguments else exp.Star(), big_int=True)


def _date_trunc(arguments: list[Expression]) -> Expression:
    unit, value, *zone = arguments
    if zone:
        value = typed(exp.AtTimeZone(this=coerced(value, TIMESTAMP), zone=zone[0]), LOCAL_TIMESTAMP)
    part = exp.TimestampTrunc(this=value, unit=exp.Var(this=unit.name.upper()))
    if zone:
        return exp.AtTimeZone(this=typed(part, LOCAL_TIMESTAMP), zone=zone[0].copy())
    return part


def _date_part(arguments: list[Expression]) -> Expression:
    part = exp.Extract(this=exp.Var(this=arguments[0].name.upper()), expression=arguments[1])
    return cast(typed(part, _extract(part)), DOUBLE)


def _greatest(node: type[exp.Expr]) -> Callable[[list[Expression]], Expression]:
    def of(arguments: list[Expression]) -> Expression:
        if len(arguments) == 1:
            return exp.Coalesce(this=arguments[0])
        return node(this=arguments[0], expressions=arguments[1:], ignore_nulls=True)

    return of


def _plain(node: type[exp.Expr], *names: str) -> Callable[[list[Expression]], Expression]:
    """A node whose arguments are the named ones in their order."""

    def of(arguments: list[Expression]) -> Expression:
        return node(**dict(zip(names, arguments, strict=False)))

    return of


def _hyperbolic_cotangent(arguments: list[Expression]) -> Expression:
    tangent = typed(exp.Anonymous(this="TANH", expressions=arguments), DOUBLE)
    return exp.Div(this=cast(exp.Literal.number(1), DOUBLE), expression=tangent)


def _schemas(arguments: list[Expression]) -> Expression:
    """CURRENT_SCHEMAS(implicit): the only schema, and that of the system."""
    (implicit,) = (coerced(argument, BOOLEAN) for argument in arguments)
    public, both = (
        typed(exp.Array(expressions=[typed(exp.Literal.string(n), STRING) for n in names]), _TEXTS)
        for names in (("public",), ("pg_catalog", "public"))
    )
    ifs = [exp.If(this=implicit, true=both), exp.If(this=exp.Not(this=implicit), true=public)]
    return typed(exp.Case(ifs=ifs), _TEXTS)


def _substring_call(arguments: list[Expression]) -> Expression:
    """From a place, or the first match of a pattern: of its first group if it has one."""
    if len(arguments) == 2 and kind_of(arguments[1]) in (STRING, UNKNOWN):
        found = exp.Anonymous(this="REGEXP_MATCH", expressions=arguments)
        groups = typed(found, _TEXTS)
        return typed(exp.Bracket(this=groups, expressions=[number(1)], offset=1), STRING)
    return _plain(exp.Substring, "this", "start", "length")(arguments)


def _array_size(arguments: list[Expression]) -> Expression:
    """CARDINALITY counts the elements of all dimensions."""
    value = arguments[0]
    while types.is_array(kind_of(value)) and types.is_array(types.element_type(kind_of(value))):
        value = typed(exp.Flatten(this=value), types.element_type(kind_of(value)))
    return exp.ArraySize(this=value)


def _constant(text: str, _arguments: list[Expression]) -> Expression:
    return typed(exp.Literal.string(text), STRING)


def _age(arguments: list[Expression]) -> Expression:
    """Until today's midnight."""
    today = cast(typed(exp.CurrentDate(), DATE), LOCAL_TIMESTAMP)
    values = [today, *(coerced(argument, LOCAL_TIMESTAMP) for argument in arguments)]
    return typed(exp.Anonymous(this="AGE", expressions=values), INTERVAL)


def _scale(arguments: list[Expression]) -> Expression:
    """The digits behind the point that the type of a number has; those that a NUMERIC needs."""
    value = arguments[0]
    kind = kind_of(value)
    if kind == NUMERIC or not types.is_numeric(kind):
        return exp.Anonymous(this="MIN_SCALE", expressions=arguments)
    digits = number(types.precision_scale(kind)[1] if types.is_decimal(kind) else 0)
    there = exp.If(this=is_not_null(value), true=digits)
    return typed(exp.Case(ifs=[there]), INT)


def _counted(weights: str, arguments: list[Expression]) -> Expression:
    """How many of the arguments are there, or are not."""
    there, absent = map(number, map(int, weights))
    total: Expression = number(0)
    for value in arguments:
        one = exp.Case(ifs=[exp.If(this=is_null(value), true=absent.copy())], default=there.copy())
        total = typed(exp.Add(this=total, expression=typed(one, INT)), INT)
    return total


def _reverse(arguments: list[Expression]) -> Expression:
    """Of a text, or of BYTES."""
    if kind_of(arguments[0]) == types.BYTES:
        return _named("REVERSE_BYTES", arguments)
    return exp.Reverse(this=arguments[0])


def _named(name: str, arguments: list[Expression]) -> Expression:
    """A call by that name, where sqlglot has another function of it."""
    return exp.Anonymous(this=name, expressions=arguments)


_OWN: dict[str, Callable[[list[Expression]], Expression]] = {
    "STRING_AGG": _string_agg,
    "GROUP_CONCAT": _string_agg,
    "ARRAY_AGG": _ordered(exp.ArrayAgg),
    "COUNT": _count,
    "DATE_TRUNC": _date_trunc,
    "DATE_PART": _date_part,
    "GREATEST": _greatest(exp.Greatest),
    "LEAST": _greatest(exp.Least),
    "CURRENT_TIMESTAMP": lambda _: exp.CurrentTimestamp(),
    "CURRENT_DATE": lambda _: exp.CurrentDate(),
    "CURRENT_TIME": lambda _: cast(typed(exp.CurrentTimestamp(), TIMESTAMP), types.TIME),
    "LOCALTIMESTAMP": _local_timestamp,
    "LOCALTIME": lambda _: cast(typed(exp.CurrentTimestamp(), TIMESTAMP), types.TIME),
    **{name: partial(_constant, text) for name, text in CONSTANTS.items()},
    "CONCAT": lambda a: exp.Concat(expressions=a, safe=True, coalesce=True),
    "CONCAT_WS": lambda a: exp.ConcatWs(expressions=a, safe=False, coalesce=True),
    "ROUND": _plain(exp.Round, "this", "decimals"),
    "LENGTH": _plain(exp.Length, "this"),
    "ARRAY_SIZE": _array_size,
    "SUBSTRING": _substring_call,
    "STR_POSITION": _plain(exp.StrPosition, "this", "substr"),
    "BTRIM": _plain(exp.Trim, "this", "expression"),
    "TRIM": _plain(exp.Trim, "this", "expression"),
    "LTRIM": lambda a: exp.Trim(this=a[0], expression=_second(a), position="LEADING"),
    "RTRIM": lambda a: exp.Trim(this=a[0], expression=_second(a), position="TRAILING"),
    "POWER": _plain(exp.Pow, "this", "expression"),
    "LAG": _plain(exp.Lag, "this", "offset", "default"),
    "LEAD": _plain(exp.Lead, "this", "offset", "default"),
    "MOD": _plain(exp.Mod, "this", "expression"),
    "FIRST_VALUE": _ordered(exp.FirstValue),
    "LAST_VALUE": _ordered(exp.LastValue),
    "MEDIAN": _plain(exp.Median, "this"),
    "AGE": _age,
    "SCALE": _scale,
    "NUM_NULLS": partial(_counted, "01"),
    "NUM_NONNULLS": partial(_counted, "10"),
    "COTH": _hyperbolic_cotangent,
    "BOOL_AND": _plain(exp.LogicalAnd, "this"),
    "BOOL_OR": _plain(exp.LogicalOr, "this"),
    "FORMAT": lambda a: exp.Anonymous(this="FORMAT_STRING", expressions=a),
    "TIMEZONE": _plain(exp.AtTimeZone, "zone", "this"),
    "CURRENT_SCHEMAS": _schemas,
    "REVERSE": _reverse,
    "TO_CHAR": partial(_named, "TO_CHAR"),
    **{name: partial(_named, name) for name in byte_strings.FUNCTIONS},
}


def _second(arguments: list[Expression]) -> Expression | None:
    return arguments[1] if len(arguments) > 1 else None


# -- types ---------------------------------------------------------------------------------------


def typed_call(call: Expression, function: str) -> Expression:
    """The call with its type, and its arguments as the types that it takes."""
    rule = _RULES.get(type(call))
    if rule is not None:
        return typed(call, rule(call))
    if function in CONSTANTS:
        return call
    if isinstance(call, exp.Anonymous):
        if (signed := signature(call.name.upper(), call.expressions)) is not None:
            return typed(call, _signed(call, signed))
        if (known := _BY_NAME.get(call.name.upper())) is None:
            raise _unknown(call, function)
        return typed(call, known(call))
    return typed(call, call.type or _derived(call))


class UnknownFunctionError(BindError):
    """The standard has no such function; the dialect of streams and tables may."""


def _unknown(call: Expression, function: str) -> BindError:
    return UnknownFunctionError(
        f"function {function}({_signature(call)}) does not exist",
        hint=did_you_mean(function, names()),
        span=span_of(call),
    )


def _signature(call: Expression) -> str:
    return ", ".join(name(a.type) if a.type is not None else "*" for a in call.expressions)


@cache
def names() -> tuple[str, ...]:
    """The functions' names, for messages."""
    return tuple(sorted({*Postgres.Parser.FUNCTIONS, *_OWN, *_OWN_NAMES}))


def is_built_in(function: str) -> bool:
    """Whether standard SQL has a function of the name."""
    families = (SIGNATURES, OF_ARRAYS, AGGREGATES, OF_A_SHARE, JSON_AGGREGATES, JSON_PATHS)
    more = (WINDOW_ONLY, TABLE_FUNCTIONS, CONSTANTS, CLOCK, CASTS, _BY_NAME, names())
    return any(function in family for family in (*families, *more))


def _derived(call: Expression) -> SQLType:
    """The type as sqlglot derives it; of the first argument where it has none."""
    copy = annotate_types(call.copy(), dialect="postgres", overwrite_types=False)
    kind = copy.type
    if kind is not None and kind.this not in (T.UNKNOWN, T.NULL):
        return standard(kind)
    for argument in call.iter_expressions():
        if argument.type is not None:
            return settled(argument.type)
    return STRING


Rule = Callable[[Expression], SQLType]


def _always(kind: SQLType) -> Rule:
    return lambda call: kind


def inner(call: Expression) -> Expression:
    """The value that an aggregate call takes, without its DISTINCT and ORDER BY."""
    value = call.this
    while isinstance(value, exp.Order | exp.Distinct | exp.IgnoreNulls | exp.RespectNulls):
        value = value.this if not isinstance(value, exp.Distinct) else value.expressions[0]
    return value if isinstance(value, exp.Expr) else exp.Null()


def _replace_inner(call: Expression, change: Callable[[Expression], Expression]) -> SQLType:
    value = inner(call)
    changed = change(value)
    if changed is not value:
        value.replace(changed)
    return kind_of(changed)


def _numeric(call: Expression) -> SQLType:
    def number(value: Expression) -> Expression:
        kind = kind_of(value)
        if is_open(kind):
            return coerced(value, DOUBLE)
        if not types.is_numeric(kind) and kind != INTERVAL:
            raise TypeMismatchError(
                f"{title(call)} takes numbers, not {name(kind)}",
                hint="CAST the value.",
                span=span_of(value),
            )
        return value

    return _replace_inner(call, number)


def _same(call: Expression) -> SQLType:
    value = inner(call)
    return _replace_inner(call, lambda v: coerced(v, settled(kind_of(value))))


def _sum(call: Expression) -> SQLType:
    return total(_numeric(call))


def _avg(call: Expression) -> SQLType:
    kind = mean(_numeric(call))
    if kind == NUMERIC:
        _replace_inner(call, lambda v: v if kind_of(v) == NUMERIC else cast(v.copy(), NUMERIC))
    return kind


def _double(call: Expression) -> SQLType:
    for argument in list(call.iter_expressions()):
        if argument.type is not None and argument.type != DOUBLE:
            argument.replace(cast(argument.copy(), DOUBLE))
    return DOUBLE


def _moment(call: Expression) -> SQLType:
    _replace_inner(call, lambda v: v if kind_of(v) == DOUBLE else cast(v.copy(), DOUBLE))
    return DOUBLE


def _rounded(call: Expression) -> SQLType:
    if is_open(kind_of(call.this)):
        call.this.replace(coerced(call.this.copy(), DOUBLE))
    kind = _numeric(call)
    digits = _digits(call)
    if types.is_decimal(kind) and digits is not None:
        precision, scale = types.precision_scale(kind)
        # A digit more: 9.5 becomes 10.
        whole = precision - scale + 1
        return types.decimal(min(whole + digits, types.MAX_PRECISION), digits)
    if types.is_decimal(kind) and call.args.get("decimals") is not None:
        return NUMERIC
    if not types.is_decimal(kind):
        if is_integer(kind) and call.args.get("decimals") is not None:
            call.this.replace(cast(call.this.copy(), NUMERIC))
            return NUMERIC
        return kind if kind == DOUBLE else DOUBLE if _as_double(call) else kind
    return kind


def _digits(call: Expression) -> int | None:
    """To how many digits after the point a number is rounded; None: only a row says it."""
    given = call.args.get("decimals")
    if given is None:
        return 0
    constant = isinstance(given, exp.Literal) and given.name.isdigit()
    return min(int(given.name), types.MAX_PRECISION) if constant else None


def _as_double(call: Expression) -> bool:
    call.this.replace(cast(call.this.copy(), DOUBLE))
    return True


def _first_alike(*parts: str) -> Rule:
    """Of arguments that stand for each other: `this` and the named parts."""

    def of(call: Expression) -> SQLType:
        given = [call.this]
        for part in parts:
            value = call.args.get(part)
            given += value if isinstance(value, list) else [value] if value is not None else []
        new, kind = alike([v.copy() for v in given], title(call))
        for old, value in zip(given, new, strict=True):
            old.replace(value)
        return kind

    return of


def _date_bin(call: Expression) -> SQLType:
    call.set("this", coerced(call.this.copy(), INTERVAL))
    value = call.expression
    if is_open(kind_of(value)):
        value.replace(coerced(value.copy(), LOCAL_TIMESTAMP))
    return kind_of(call.expression)


def _sign(call: Expression) -> SQLType:
    kind = _numeric(call)
    return types.decimal(1, 0) if types.is_decimal(kind) else DOUBLE


def _nullif(call: Expression) -> SQLType:
    left, right = comparable(call.this.copy(), call.expression.copy(), "=")
    call.set("this", left)
    call.set("expression", right)
    return settled(kind_of(left))


def _text(call: Expression) -> SQLType:
    """Text functions take anything that has a text."""
    if call.args.get("this") is not None:
        value = call.this
        if isinstance(value, exp.Expr) and value.type is not None and value.type != STRING:
            value.replace(coerced(value.copy(), STRING))
    return STRING


def _length(call: Expression) -> SQLType:
    _text(call)
    return INT


def _substring(call: Expression) -> SQLType:
    """Of a text, or of BYTES."""
    return types.BYTES if kind_of(call.this) == types.BYTES else _text(call)


_CONVERSION = re.compile(r"%(?:%|(\d+\$)?-?\d*([sIL]))")
_QUOTES = {"I": "QUOTE_IDENT", "L": "QUOTE_NULLABLE"}


def _format(call: Expression) -> SQLType:
    """FORMAT(pattern, ..), in which a null is an empty text. Values are quoted before it."""
    pattern, *values = call.expressions
    pattern.replace(coerced(pattern.copy(), STRING))
    pattern, quotes = call.expressions[0], dict[int, str]()
    if isinstance(pattern, exp.Literal):
        place = 0
        for found in _CONVERSION.finditer(pattern.name):
            if found[2] is None:
                continue
            place = int(found[1][:-1]) if found[1] else place + 1
            if found[2] in _QUOTES:
                quotes[place - 1] = _QUOTES[found[2]]
        pattern.replace(typed(exp.Literal.string(_CONVERSION.sub(_as_text, pattern.name)), STRING))
    for place, value in enumerate(values):
        if place in quotes:
            quoted = exp.Anonymous(this=quotes[place], expressions=[coerced(value.copy(), STRING)])
            value.replace(typed(quoted, STRING))
            continue
        text = _letter(value) if value.type == BOOLEAN else coerced(value.copy(), STRING)
        empty = typed(exp.Literal.string(""), STRING)
        value.replace(typed(exp.Coalesce(this=text.copy(), expressions=[empty]), STRING))
    pattern = call.expressions[0]
    if isinstance(pattern, exp.Literal) and pattern.name.replace("%%", "").count("%s") > len(
        values
    ):
        raise TypeMismatchError(
            "too few arguments for format()",
            hint="Each %s takes an argument.",
            span=span_of(call),
        )
    return STRING


def _as_text(conversion: re.Match[str]) -> str:
    """`%I` and `%L` as `%s`, of a value that is quoted."""
    return conversion[0] if conversion[2] is None else f"{conversion[0][:-1]}s"


def _concat(call: Expression) -> SQLType:
    if not call.expressions:
        raise _unknown(call, title(call))
    for value in list(call.expressions):
        value.replace(_letter(value) if value.type == BOOLEAN else coerced(value.copy(), STRING))
    return STRING


def _letter(value: Expression) -> Expression:
    """A BOOLEAN as PostgreSQL's functions of any type write it, unlike a cast."""
    yes, no = (exp.Literal.string(text) for text in "tf")
    ifs = [exp.If(this=value.copy(), true=yes), exp.If(this=exp.Not(this=value.copy()), true=no)]
    return typed(exp.Case(ifs=ifs), STRING)


def _group_concat(call: Expression) -> SQLType:
    _replace_inner(call, lambda v: coerced(v.copy(), STRING))
    separator = call.args.get("separator")
    if separator is not None:
        call.set("separator", coerced(separator.copy(), STRING))
    return STRING


def _array_agg(call: Expression) -> SQLType:
    return types.array(_same(call))


def _element(call: Expression) -> SQLType:
    kind = kind_of(call.this)
    return types.element_type(kind) if types.is_array(kind) else kind


def _mod(call: Expression) -> SQLType:
    left, right = kind_of(call.this), kind_of(call.expression)
    return left if is_open(right) else max(left, right, key=lambda k: types.is_decimal(k))


def _trunc(call: Expression) -> SQLType:
    kind = kind_of(call.this)
    if is_open(kind):
        call.this.replace(coerced(call.this.copy(), TIMESTAMP))
        return TIMESTAMP
    if kind == DATE:
        call.this.replace(cast(call.this.copy(), TIMESTAMP))
        return LOCAL_TIMESTAMP
    return kind


def _at_time_zone(call: Expression) -> SQLType:
    return TIMESTAMP if types.is_local(kind_of(call.this)) else LOCAL_TIMESTAMP


def _overlay(call: Expression) -> SQLType:
    kind = BYTES if kind_of(call.this) == BYTES else STRING
    for part, takes in (("this", kind), ("expression", kind), ("from_", INT), ("for_", INT)):
        if call.args.get(part) is not None:
            call.set(part, coerced(call.args[part], takes))
    return kind


def _boolean(call: Expression) -> SQLType:
    _replace_inner(call, lambda v: coerced(v.copy(), BOOLEAN))
    return BOOLEAN


def _array_of(call: Expression) -> SQLType:
    if not call.expressions:
        return types.array(STRING)
    new, kind = alike([v.copy() for v in call.expressions], "ARRAY")
    call.set("expressions", new)
    return types.array(kind)


def _array_total(call: Expression) -> SQLType:
    kind = total(_element(call))
    call.this.replace(cast(call.this.copy(), types.array(kind)))
    return kind


def _contains(call: Expression) -> SQLType:
    if is_open(kind_of(call.this)):
        kind = types.array(settled(kind_of(call.expression)))
        call.this.replace(coerced(call.this.copy(), kind))
    return BOOLEAN


def _extract(call: Expression) -> SQLType:
    value = call.expression
    if is_open(kind_of(value)):
        value.replace(coerced(value.copy(), TIMESTAMP))
    digits = _DIGITS.get(call.this.name.removesuffix("S"))
    is_date = kind_of(call.expression) == DATE
    return NUMERIC if digits is None or is_date else types.decimal(_EXTRACTED, digits)


_EXTRACTED = 24
_DIGITS = {"EPOCH": 6, "SECOND": 6, "MILLISECOND": 3}
"""Behind the point, of parts of a time."""


_RULES: dict[type[exp.Expr], Rule] = {
    exp.Count: _always(BIGINT),
    exp.Sum: _sum,
    exp.Avg: _avg,
    **dict.fromkeys((exp.Min, exp.Max, exp.AnyValue, exp.Mode), _same),
    **dict.fromkeys((exp.FirstValue, exp.LastValue, exp.NthValue), _same),
    **dict.fromkeys((exp.ArgMin, exp.ArgMax), _same),
    **dict.fromkeys((exp.Lag, exp.Lead), _first_alike("default")),
    **dict.fromkeys((exp.RowNumber, exp.Rank, exp.DenseRank), _always(BIGINT)),
    **dict.fromkeys((exp.PercentRank, exp.CumeDist), _always(DOUBLE)),
    exp.Ntile: _always(INT),
    **dict.fromkeys(
        (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop), _moment
    ),
    **dict.fromkeys((exp.Corr, exp.CovarPop, exp.CovarSamp), _double),
    **dict.fromkeys((exp.RegrSlope, exp.RegrIntercept, exp.RegrR2), _double),
    **dict.fromkeys((exp.RegrAvgx, exp.RegrAvgy, exp.RegrSxx, exp.RegrSxy, exp.RegrSyy), _double),
    exp.RegrCount: _always(BIGINT),
    exp.DateBin: _date_bin,
    exp.Sign: _sign,
    exp.Median: _moment,
    exp.GroupConcat: _group_concat,
    exp.ArrayAgg: _array_agg,
    **dict.fromkeys((exp.LogicalAnd, exp.LogicalOr), _boolean),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _first_alike("expressions")),
    exp.Nullif: _nullif,
    exp.Abs: _numeric,
    **dict.fromkeys((exp.Round, exp.Ceil, exp.Floor, exp.Trunc), _rounded),
    **dict.fromkeys((exp.Pow, exp.Sqrt, exp.Exp, exp.Ln, exp.Cbrt), _double),
    **dict.fromkeys((exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Log), _double),
    exp.Mod: _mod,
    exp.Substring: _substring,
    **dict.fromkeys((exp.Upper, exp.Lower, exp.Trim, exp.Left, exp.Right), _text),
    **dict.fromkeys((exp.Reverse, exp.Initcap, exp.Repeat, exp.Replace), _text),
    **dict.fromkeys((exp.Length, exp.StrPosition, exp.Ascii), _length),
    **dict.fromkeys((exp.Concat, exp.ConcatWs), _concat),
    exp.TimestampTrunc: _trunc,
    exp.Extract: _extract,
    exp.CurrentTimestamp: _always(TIMESTAMP),
    exp.CurrentDate: _always(DATE),
    exp.AtTimeZone: _at_time_zone,
    exp.Overlay: _overlay,
    exp.Array: _array_of,
    **dict.fromkeys((exp.ArrayMin, exp.ArrayMax), _element),
    exp.ArraySum: _array_total,
    exp.ArrayContains: _contains,
    **dict.fromkeys((exp.ArraySize, exp.StrToMap), _always(INT)),
    **dict.fromkeys((exp.Unnest, exp.Explode), _element),
    exp.Chr: _always(STRING),
    exp.TimeToStr: _always(STRING),
    exp.ToChar: _always(STRING),
    exp.StrToTime: _always(TIMESTAMP),
    exp.UnixToTime: _always(TIMESTAMP),
    exp.StrToDate: _always(DATE),
    exp.SplitPart: _text,
    exp.MD5: _text,
    exp.BitwiseAndAgg: _same,
    exp.BitwiseOrAgg: _same,
    exp.BitwiseXorAgg: _same,
}


def _elements(call: Expression) -> SQLType:
    kind = kind_of(call.expressions[0])
    return types.element_type(kind) if types.is_array(kind) else kind


def _doubles(call: Expression) -> SQLType:
    """Of a function of numbers, whose arguments may be calls of others."""
    for argument in call.expressions:
        if isinstance(argument, exp.Anonymous):
            _doubles(argument)
        elif argument.type != DOUBLE:
            argument.replace(coerced(argument.copy(), DOUBLE))
    return DOUBLE


def _first_argument(call: Expression) -> SQLType:
    return kind_of(call.expressions[0])


def _json_values(call: Expression) -> SQLType:
    for value in list(call.expressions):
        value.replace(coerced(value.copy(), settled(kind_of(value))))
    return types.JSONB


def _json_object(call: Expression) -> SQLType:
    if len(call.expressions) % 2:
        raise TypeMismatchError(
            "argument list must have even number of elements",
            hint="JSONB_BUILD_OBJECT takes names and values in turn.",
            span=span_of(call),
        )
    _json_values(call)
    for key in call.expressions[::2]:
        key.replace(coerced(key.copy(), STRING))
    return types.JSONB


def _to_char(call: Expression) -> SQLType:
    if len(call.expressions) != 2:
        raise _unknown(call, "TO_CHAR")
    value, template = call.expressions
    if is_open(kind_of(value)):
        value.replace(coerced(value.copy(), TIMESTAMP))
    kind = kind_of(call.expressions[0])
    if types.is_numeric(kind):
        raise UnsupportedError(
            "TO_CHAR of a number is not supported in a relational query.",
            hint="CAST it to TEXT, ROUND it before, or pad it by LPAD.",
            span=span_of(call),
        )
    if not types.is_time(kind) and kind != INTERVAL:
        raise _unknown(call, "TO_CHAR")
    template.replace(coerced(template.copy(), STRING))
    return STRING


def _signed(call: Expression, signed: Signature) -> SQLType:
    """Of a call whose arguments become those of its signature."""
    for argument, kind in zip(list(call.expressions), signed.takes, strict=True):
        own = kind_of(argument)
        if not (is_open(own) or _becomes(own, kind)):
            raise _unknown(call, title(call))
        argument.replace(coerced(argument.copy(), kind))
    return signed.gives


def _becomes(own: SQLType, kind: SQLType) -> bool:
    """Whether a value of a type may be an argument of another one."""
    if types.is_array(kind):
        return types.is_array(own)
    if types.is_json(kind) or own == kind:
        return own == kind
    if types.is_time(own) and types.is_time(kind):
        return kind != DATE
    return types.is_numeric(own) and types.is_numeric(kind)


def _of_bytes(call: Expression) -> SQLType:
    first = call.expressions[0]
    if kind_of(first) != types.BYTES:
        if not is_open(kind_of(first)):
            raise _unknown(call, title(call))
        first.replace(coerced(first.copy(), types.BYTES))
    return byte_strings.FUNCTIONS[call.name.upper()][0]


_BY_NAME: dict[str, Rule] = {
    **dict.fromkeys(byte_strings.FUNCTIONS, _of_bytes),
    "FORMAT_STRING": _format,
    "TO_CHAR": _to_char,
    "TO_JSONB": _json_values,
    "JSONB_BUILD_ARRAY": _json_values,
    "JSONB_BUILD_OBJECT": _json_object,
    "MAKE_DATE": _always(DATE),
    "MAKE_TIMESTAMP": _always(LOCAL_TIMESTAMP),
    "MAKE_TIMESTAMPTZ": _always(TIMESTAMP),
    "OCTET_LENGTH": _always(INT),
    "BIT_LENGTH": _always(INT),
    "WIDTH_BUCKET": _always(INT),
    "JSON_ARRAY_LENGTH": _always(INT),
    "JSON_TYPEOF": _always(STRING),
    "PI": _always(DOUBLE),
    **dict.fromkeys(("SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "ATAN2"), _doubles),
    **dict.fromkeys(("SINH", "COSH", "TANH", "ASINH", "ACOSH", "ATANH"), _doubles),
    **dict.fromkeys(("DEGREES", "RADIANS", *angles.NAMES), _doubles),
    "ARRAY_MAX": _elements,
    "ARRAY_MIN": _elements,
    "ARRAY_DISTINCT": _first_argument,
    "ARRAY_REMOVE": _first_argument,
}
"""Functions that sqlglot does not know: Spark has them by the same name, or dialect.py another."""


def title(call: Expression) -> str:
    """The function's name, for messages."""
    return call.sql_name() if isinstance(call, exp.Func) else call.key.upper()


def is_aggregate(call: Expression, function: str | None = None) -> bool:
    if function is not None:
        return function in AGGREGATES
    return isinstance(call, exp.AggFunc) and not isinstance(call, _WINDOW_ONLY)
