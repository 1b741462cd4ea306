"""Intervals: constants, and expressions of Spark over their months, days and microseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import c_float
from decimal import Decimal
from functools import cache

from sqlglot import exp, parse_one

from streamsql import types
from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import number, operand, typed
from streamsql.types import BIGINT, DOUBLE, INTERVAL, STRING, TIME, TIMESTAMP, SQLType
from streamsql.values.intervals import Interval

_DAY = 86_400_000_000
_UNITS = {"MONTH": "months", "DAY": "days", "MICROSECOND": "micros"}
_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000}
_LENGTH = "length"
"""In the `meta` of an interval between two moments: the expression of its microseconds."""


# -- constants -----------------------------------------------------------------------------------


def length(interval: Interval) -> Expression:
    """The constant as a sum of literals, of which each has one unit."""
    amounts = [(interval.months, "MONTH"), (interval.days, "DAY")]
    seconds = interval.micros // 1_000_000
    whole = interval.micros % 1_000_000 == 0
    amounts.append((seconds, "SECOND") if whole else (interval.micros, "MICROSECOND"))
    parts = [_literal(amount, unit) for amount, unit in amounts if amount]
    parts = parts or [_literal(0, "SECOND")]
    result = parts[0]
    for part in parts[1:]:
        result = typed(exp.Add(this=result, expression=part), INTERVAL)
    return result


def _literal(amount: int, unit: str) -> Expression:
    value = exp.Literal.string(str(amount))
    return typed(exp.Interval(this=value, unit=exp.Var(this=unit)), INTERVAL)


def constant(expression: Expression) -> Interval | None:
    """The value of a constant interval; None of other expressions."""
    match expression:
        case exp.Paren():
            return constant(expression.this)
        case exp.Neg():
            inner = constant(expression.this)
            return None if inner is None else -inner
        case exp.Add() | exp.Sub():
            one, two = constant(expression.this), constant(expression.expression)
            if one is None or two is None:
                return None
            return one + (two if isinstance(expression, exp.Add) else -two)
        case exp.Mul() | exp.Div():
            return _scaled(expression)
        case exp.Interval():
            amount, unit = int(expression.this.name), expression.args["unit"].name
            if unit == "MONTH":
                return Interval(months=amount)
            return (
                Interval(days=amount) if unit == "DAY" else Interval(0, 0, amount * _MICROS[unit])
            )
    return None


def span(expression: Expression) -> int | None:
    """The microseconds of a constant interval; None where it has months, or is not constant."""
    found = constant(expression)
    return None if found is None or found.months else found.length


def _scaled(product: Expression) -> Interval | None:
    sides = [product.this, product.expression]
    if isinstance(product, exp.Mul) and constant(sides[0]) is None:
        sides.reverse()
    value, factor = constant(sides[0]), constant_number(sides[1])
    if value is None or factor is None or not factor.is_finite():
        return None
    if isinstance(product, exp.Div) and not factor:
        return None
    return value * (factor if isinstance(product, exp.Mul) else 1 / factor)


def constant_number(expression: Expression) -> Decimal | None:
    """The value of a constant number; None of other expressions."""
    match expression:
        case exp.Paren():
            return constant_number(expression.this)
        case exp.Cast():
            return _as(constant_number(expression.this), expression.to)
        case exp.Neg():
            inner = constant_number(expression.this)
            return None if inner is None else -inner
        case exp.Literal():
            try:
                return Decimal(expression.name)
            except ArithmeticError:
                return None
    return None


def _as(number: Decimal | None, kind: SQLType) -> Decimal | None:
    if number is None or not types.is_numeric(kind):
        return None
    if types.is_single(kind):
        return Decimal(c_float(float(number)).value)
    same = kind == DOUBLE or not number.is_finite() or number == number.to_integral_value()
    return number if same else None


# -- Spark ---------------------------------------------------------------------------------------


def with_constants(expression: Expression) -> Expression:
    """The expression with each constant interval in the form that the others have, a STRUCT."""
    if expression.type == INTERVAL and (found := constant(expression)) is not None:
        return struct(found)
    copy = expression.copy()
    for node in list(copy.walk(bfs=False, prune=_is_constant)):
        if node is not copy and _is_constant(node):
            found = constant(node)
            assert found is not None
            node.replace(struct(found))
    return copy


def _is_constant(node: Expression) -> bool:
    return node.type == INTERVAL and constant(node) is not None


def struct(interval: Interval) -> Expression:
    amounts = (interval.months, interval.days, interval.micros)
    parts = [
        exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=_amount(amount, kind))
        for (name, kind), amount in zip(_FIELDS, amounts, strict=True)
    ]
    return typed(exp.Struct(expressions=parts), INTERVAL)


_FIELDS = (("months", "INT"), ("days", "INT"), ("micros", "BIGINT"))


def _amount(amount: int, kind: str) -> Expression:
    return exp.Cast(this=exp.Literal.number(amount), to=exp.DataType.build(kind))


def of_struct(expression: Expression) -> Interval | None:
    """The value of a constant in that form; None of other expressions."""
    inner = expression.this if isinstance(expression, exp.Paren) else expression
    if not isinstance(inner, exp.Struct) or inner.type != INTERVAL:
        return None
    amounts = [part.expression.this for part in inner.expressions]
    return Interval(*(int(constant_number(amount) or 0) for amount in amounts))


def micros(interval: Expression) -> int | None:
    """The length of a constant interval; None where it has months, or is not constant."""
    found = of_struct(interval)
    return None if found is None or found.months else found.length


def native(interval: Expression) -> Expression:
    """The interval as Spark's own, which is added to times."""
    if (found := of_struct(interval)) is not None:
        return length(found) if found.units < 2 else _native(found)
    return computed(
        "MAKE_INTERVAL(0, v.x.months, 0, v.x.days, 0, 0, v.x.micros / CAST(1000000 AS DECIMAL(8)))",
        INTERVAL,
        x=interval,
    )


def series(start: Expression, end: Expression, step: Expression, kind: SQLType) -> Expression:
    """The times from one on, each a step behind the one before it: a month behind 31 January is
    29 February, and a month behind that 29 March."""
    left = "(UNIX_MICROS(v.b) - UNIX_MICROS({})) * SIGN(v.n)"
    # Months are at most twice as short as 30 days.
    most = f"CAST(2 * {left.format('v.a')} / ABS(v.n) AS INT) + 1"
    following = (
        "ELEMENT_AT(l, -1) + MAKE_INTERVAL(0, v.s.months, 0, v.s.days, 0, 0, "
        "v.s.micros / CAST(1000000 AS DECIMAL(8)))"
    )
    steps = f"AGGREGATE(SEQUENCE(1, {most}), ARRAY(v.a), (l, i) -> CONCAT(l, ARRAY({following})))"
    kept = f"FILTER({steps}, t -> {left.format('t')} >= 0)"
    template = f"IF({left.format('v.a')} < 0 OR v.n = 0, ARRAY(), {kept})"
    values = {"a": start, "b": end, "s": step, "n": length_of(step)}
    return computed(template, types.array(kind), **values)


def _native(interval: Interval) -> Expression:
    parts = (interval.months, 0, interval.days, 0, 0, Decimal(interval.micros) / 1_000_000)
    text = ", ".join(
        format(part, "f") if isinstance(part, Decimal) else str(part) for part in parts
    )
    return typed(_parsed(f"MAKE_INTERVAL(0, {text})").copy(), INTERVAL)


def computed(template: str, kind: SQLType, **values: Expression) -> Expression:
    """An expression of Spark over `v.name` for each value; null where one of them is."""
    return computed_of(template, kind, values)


def computed_of(
    template: str, kind: SQLType, values: Mapping[str, Expression], nullable: str = ""
) -> Expression:
    """The same, where values whose names are among the `nullable` letters may be null."""
    names = ", ".join(f"{name} AS {name}" for name in values)
    nulls = " OR ".join(f"v.{name} IS NULL" for name in values if name not in nullable) or "FALSE"
    made = _parsed(
        f"GET(TRANSFORM(ARRAY(STRUCT({names})), v -> IF({nulls}, NULL, {template})), 0)"
    ).copy()
    rows = next(made.find_all(exp.Struct))
    return typed(_filled(made, rows, values), kind)


def of_template(template: str, kind: SQLType, values: Mapping[str, Expression]) -> Expression:
    """The template itself, with the values for `v.name`."""
    made = _parsed(template).copy()
    return typed(_filled(made, made, values), kind)


def _filled(made: Expression, part: Expression, values: Mapping[str, Expression]) -> Expression:
    for found in list(part.find_all(exp.Column)):
        found.replace(operand(values[found.name].copy()))
    return made


@cache
def _parsed(text: str) -> Expression:
    found: Expression = parse_one(text, dialect="spark")
    return found


def written(months: str, days: str, micros: str) -> str:
    """The text of an interval of Spark's expressions."""
    return (
        f"NAMED_STRUCT('months', CAST({months} AS INT), 'days', CAST({days} AS INT), "
        f"'micros', CAST({micros} AS BIGINT))"
    )


def between(later: Expression, earlier: Expression) -> Expression:
    """From one time to another, as numbers of microseconds: days, and a rest."""
    whole = typed(exp.Sub(this=operand(later), expression=operand(earlier)), BIGINT)
    made = computed(written("0", f"v.x DIV {_DAY}", f"v.x % {_DAY}"), INTERVAL, x=whole)
    made.meta[_LENGTH] = whole
    return made


def of_millis(value: Expression) -> Expression:
    return computed(written("0", "0", "v.x * 1000"), INTERVAL, x=value)


def length_of(interval: Expression) -> Expression:
    """The microseconds, by which intervals are compared."""
    inner = interval.this if isinstance(interval, exp.Paren) else interval
    if (known := inner.meta.get(_LENGTH)) is not None:
        return operand(known.copy())
    if (found := of_struct(inner)) is not None:
        return number(found.length)
    template = f"(v.x.months * CAST(30 AS BIGINT) + v.x.days) * {_DAY} + v.x.micros"
    return computed(template, BIGINT, x=interval)


def added(one: Expression, two: Expression, sign: str) -> Expression:
    parts = (f"v.x.{name} {sign} v.y.{name}" for name, _ in _FIELDS)
    return computed(written(*parts), INTERVAL, x=one, y=two)


def negated(interval: Expression) -> Expression:
    return computed(written(*(f"-v.x.{name}" for name, _ in _FIELDS)), INTERVAL, x=interval)


_SCALED = written(
    "v.x.months * v.y",
    "CAST(v.x.days * v.y AS INT) + CAST(ROUND({months} * 30, 6) AS INT)",
    f"RINT(v.x.micros * v.y + ((v.x.days * v.y) % 1 + ROUND({{months}} * 30, 6) % 1) * {_DAY})",
).format(months="((v.x.months * v.y) % 1)")


def scaled(interval: Expression, factor: Expression, divides: bool) -> Expression:
    """The parts times the factor: fractions of months and days become days and microseconds."""
    by = typed(exp.Cast(this=factor.copy(), to=DOUBLE.copy()), DOUBLE)
    template = _SCALED.replace("* v.y", "/ v.y") if divides else _SCALED
    return computed(template, INTERVAL, x=interval, y=by)


_ADDED = "AGGREGATE(FILTER(v.x, i -> i IS NOT NULL), {zero}, (s, i) -> {sum})".format(
    zero=written("0", "0", "0"),
    sum=written(*(f"s.{name} + i.{name}" for name, _ in _FIELDS)),
)
SUM = f"IF(EXISTS(v.x, i -> i IS NOT NULL), {_ADDED}, NULL)"
"""Of an array of intervals: those that are not null."""
_QUOTIENT = _SCALED.replace("* v.y", "/ w.y").replace("v.x.", "w.x.")
MEAN = (
    f"GET(TRANSFORM(ARRAY(STRUCT({SUM} AS x, "
    "CAST(SIZE(FILTER(v.x, i -> i IS NOT NULL)) AS DOUBLE) AS y)), "
    f"w -> IF(w.x IS NULL, NULL, {_QUOTIENT})), 0)"
)

_TEXT = """
    CONCAT_WS(
      ' ',
      IF(v.x.months DIV 12 <> 0,
         CONCAT(v.x.months DIV 12, IF(v.x.months DIV 12 = 1, ' year', ' years')), NULL),
      IF(v.x.months % 12 <> 0,
         CONCAT(v.x.months % 12, IF(v.x.months % 12 = 1, ' mon', ' mons')), NULL),
      IF(v.x.days <> 0,
         CONCAT(IF(v.x.months < 0 AND v.x.days > 0, '+', ''), v.x.days,
                IF(v.x.days = 1, ' day', ' days')), NULL),
      IF(v.x.micros <> 0 OR (v.x.months = 0 AND v.x.days = 0),
         CONCAT(
           IF(v.x.micros < 0, '-', IF(IF(v.x.days <> 0, v.x.days, v.x.months) < 0, '+', '')),
           IF(ABS(v.x.micros) < 36000000000, '0', ''), ABS(v.x.micros) DIV 3600000000, ':',
           LPAD(CAST(ABS(v.x.micros) DIV 60000000 % 60 AS STRING), 2, '0'), ':',
           LPAD(CAST(ABS(v.x.micros) DIV 1000000 % 60 AS STRING), 2, '0'),
           IF(v.x.micros % 1000000 = 0, '', CONCAT('.', REGEXP_REPLACE(
             LPAD(CAST(ABS(v.x.micros) % 1000000 AS STRING), 6, '0'), '0+$', '')))),
         NULL))
"""


def text_of(interval: Expression) -> Expression:
    """PostgreSQL's text."""
    if (found := of_struct(interval)) is not None:
        return typed(exp.Literal.string(str(found)), STRING)
    return computed(_TEXT, STRING, x=interval)


_PARSED = written(
    "EXTRACT(YEAR FROM v.x) * 12 + EXTRACT(MONTH FROM v.x)",
    "EXTRACT(DAY FROM v.x)",
    "(EXTRACT(HOUR FROM v.x) * 3600 + EXTRACT(MINUTE FROM v.x) * 60 + EXTRACT(SECOND FROM v.x))"
    " * 1000000",
)
_CLOCK = "'([+-]?)([0-9]+):([0-9]{2}):([0-9.]+)', '$1$2 hours $1$3 minutes $1$4 seconds'"
_SHORT = {"mons?": "months", "hrs?": "hours", "mins?": "minutes", "secs?": "seconds"}


def _spelled() -> str:
    """The text `v.x` as Spark spells intervals."""
    text = f"REGEXP_REPLACE(v.x, {_CLOCK})"
    for pattern, by in (("([0-9]) *([a-zA-Z])", "$1 $2"), *_units()):
        text = f"REGEXP_REPLACE({text}, '{pattern}', '{by}')"
    return f"CAST({text} AS INTERVAL)"


def _units() -> Iterator[tuple[str, str]]:
    return ((f" {short}( |$)", f" {unit}$1") for short, unit in _SHORT.items())


def parsed(text: Expression) -> Expression:
    """The interval of a text that is not constant: amounts with units, and a time of day."""
    return computed(_PARSED, INTERVAL, x=computed(_spelled(), INTERVAL, x=text))


_PARTS = {
    "MILLENNIUM": "v.x.months DIV 12000",
    "CENTURY": "v.x.months DIV 1200",
    "DECADE": "v.x.months DIV 120",
    "YEAR": "v.x.months DIV 12",
    "QUARTER": "v.x.months % 12 DIV 3 + 1",
    "MONTH": "v.x.months % 12",
    "DAY": "v.x.days",
    "HOUR": "v.x.micros DIV 3600000000",
    "MINUTE": "v.x.micros DIV 60000000 % 60",
    "SECOND": "v.x.micros % 60000000 / 1000000",
    "MILLISECOND": "v.x.micros % 60000000 / 1000",
    "MICROSECOND": "v.x.micros % 60000000",
    # A year has 365.25 days, as in PostgreSQL.
    "EPOCH": "(v.x.months DIV 12 * 31557600 + v.x.months % 12 * 2592000 + v.x.days * 86400)"
    " + CAST(v.x.micros AS DECIMAL(20)) / 1000000",
}


_TRUNCATED = {
    "MILLENNIUM": ("v.x.months - v.x.months % 12000", "0", "0"),
    "CENTURY": ("v.x.months - v.x.months % 1200", "0", "0"),
    "DECADE": ("v.x.months - v.x.months % 120", "0", "0"),
    "YEAR": ("v.x.months - v.x.months % 12", "0", "0"),
    "QUARTER": ("v.x.months - v.x.months % 3", "0", "0"),
    "MONTH": ("v.x.months", "0", "0"),
    "DAY": ("v.x.months", "v.x.days", "0"),
    "HOUR": ("v.x.months", "v.x.days", "v.x.micros - v.x.micros % 3600000000"),
    "MINUTE": ("v.x.months", "v.x.days", "v.x.micros - v.x.micros % 60000000"),
    "SECOND": ("v.x.months", "v.x.days", "v.x.micros - v.x.micros % 1000000"),
    "MILLISECOND": ("v.x.months", "v.x.days", "v.x.micros - v.x.micros % 1000"),
    "MICROSECOND": ("v.x.months", "v.x.days", "v.x.micros"),
}


def truncated(interval: Expression, unit: str) -> Expression | None:
    """DATE_TRUNC(unit, interval); None for a unit that it has not."""
    parts = _TRUNCATED.get(unit.removesuffix("S"))
    return None if parts is None else computed(written(*parts), INTERVAL, x=interval)


def part_of(interval: Expression, field: str, kind: SQLType) -> Expression | None:
    """EXTRACT(field FROM interval); None for a field that it has not."""
    inner = interval.this if isinstance(interval, exp.Paren) else interval
    if field == "EPOCH" and (known := inner.meta.get(_LENGTH)) is not None:
        return computed("CAST(v.x AS DECIMAL(20)) / 1000000", kind, x=known)
    template = _PARTS.get(field.removesuffix("S"))
    return None if template is None else computed(template, kind, x=interval)


# -- times of day, which are milliseconds ----------------------------------------------------------


def time_of(moment: Expression) -> Expression:
    return computed("PMOD(UNIX_MILLIS(v.x), 86400000)", TIME, x=moment)


def time_of_text(text: Expression) -> Expression:
    """A date before the time of day counts for nothing."""
    template = "UNIX_MILLIS(CAST(CONCAT('1970-01-01 ', REGEXP_REPLACE(v.x, '^.*[ T]', '')) AS {}))"
    return computed(f"PMOD({template.format('TIMESTAMP')}, 86400000)", TIME, x=text)


def time_text(time: Expression) -> Expression:
    template = "DATE_FORMAT(TIMESTAMP_MILLIS(v.x), 'HH:mm:ss.SSS')"
    return computed(f"REGEXP_REPLACE({template}, '[.]?0*$', '')", STRING, x=time)


def time_moved(time: Expression, by: Expression, sign: str) -> Expression:
    template = f"PMOD(v.x {sign} v.y.micros DIV 1000, 86400000)"
    return computed(template, TIME, x=time, y=by)


def moment_of(time: Expression, day: Expression | None = None) -> Expression:
    """The time of day on a day, of which functions of moments take the time alone."""
    if day is None:
        return computed("TIMESTAMP_MILLIS(v.x)", TIMESTAMP, x=time)
    template = "TIMESTAMP_MILLIS(UNIX_DATE(v.y) * CAST(86400000 AS BIGINT) + v.x)"
    return computed(template, TIMESTAMP, x=time, y=day)
