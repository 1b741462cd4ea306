"""Arithmetic of dates and times, and their parts, as function calls: PostgreSQL's `t + INTERVAL '1
day'` is TIMESTAMPADD(DAYS, 1, t)."""

from __future__ import annotations

from sqlglot import exp

from streamsql import types
from streamsql.errors import InternalError, TypeMismatchError, UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.types.scope import Scope, describe, span_of, text_of
from streamsql.types import SQLType, type_of
from streamsql.values.intervals import Interval, interval

_DAY_MS = 86_400_000
_UNITS = (("DAYS", _DAY_MS), ("HOURS", 3_600_000), ("MINUTES", 60_000), ("SECONDS", 1_000))
_ADDING = {types.DATE: "DATEADD", types.TIME: "TIMEADD", types.TIMESTAMP: "TIMESTAMPADD"}
_DIFFERING = ({types.TIMESTAMP}, {types.TIMESTAMP, types.DATE})
"""Types whose difference is an INTERVAL."""
_FRACTIONAL = ("SECOND", "EPOCH")


def alone(node: Expression, scope: Scope) -> Expression:
    """TypeMismatchError: an INTERVAL is not a value by itself."""
    del scope
    raise TypeMismatchError(
        "an INTERVAL can only be added to a DATE, TIME or TIMESTAMP, or taken from it",
        hint="For example ts - INTERVAL '1 day'. No column can hold an INTERVAL: keep a number of "
        "milliseconds.",
        span=span_of(node),
    )


def has_interval(node: exp.Binary) -> bool:
    """Whether one of the sides is an INTERVAL, or a multiple of one."""
    return length_of(node.left) is not None or length_of(node.right) is not None


def length_of(node: Expression) -> tuple[Interval, Expression | None] | None:
    """An INTERVAL and its multiplier; None for other expressions."""
    if isinstance(node, exp.Mul):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, exp.Interval) and (found := length_of(side)) is not None:
                return found[0], other
    if not isinstance(node, exp.Interval):
        return None
    unit = node.args.get("unit")
    length = interval(node.name, unit.name if unit else None)
    if length is None:
        raise InternalError(f"{node.name} is not an INTERVAL")
    return length, None


def shifted(node: exp.Binary, scope: Scope) -> Expression:
    """`t + INTERVAL ..` and `t - INTERVAL ..`, typed."""
    adds = isinstance(node, exp.Add)
    value, length = node.left, node.right
    if adds and length_of(value) is not None:
        value, length = length, value
    found = length_of(length)
    if found is None or length_of(value) is not None or not (adds or isinstance(node, exp.Sub)):
        return alone(value if found is None else length, scope)
    typed = scope.infer(value)
    kind = type_of(typed)
    _check_shifted(typed, kind, found[0], node)
    if kind == types.DATE:
        value = exp.Cast(this=value.copy(), to=types.TIMESTAMP.copy())
        kind = types.TIMESTAMP
    scaled = _scaled(found[0] if adds else -found[0], found[1], kind, value, scope)
    if scaled is not None:
        scaled.meta.update(node.meta)
        return scope.infer(scaled)
    result = value.copy()
    for call in _calls(found[0] if adds else -found[0], found[1], kind, result, node):
        result = call
    result.meta.update(node.meta)
    return scope.infer(result)


def _scaled(
    length: Interval, factor: Expression | None, kind: SQLType, value: Expression, scope: Scope
) -> Expression | None:
    """A TIMESTAMP and a fractional or potentially long multiple of an INTERVAL: in milliseconds.
    None for others, which use function calls."""
    times = types.INT if factor is None else type_of(scope.infer(factor.copy()))
    if length.months or kind != types.TIMESTAMP or times == types.INT or factor is None:
        return None
    if not types.is_numeric(times):
        return None
    each = exp.Literal(this=str(length.millis), is_string=False)
    other = factor.copy()
    if times != types.BIGINT:
        other = exp.Cast(this=other, to=types.DOUBLE.copy())
    millis: Expression = exp.Mul(this=each, expression=other)
    if times != types.BIGINT:
        millis = exp.Anonymous(this="ROUND", expressions=[millis])
    since = exp.Anonymous(this="UNIX_TIMESTAMP", expressions=[value.copy()])
    later = exp.Add(this=since, expression=millis)
    return exp.Anonymous(this="FROM_UNIXTIME", expressions=[later])


def _check_shifted(typed: Expression, kind: SQLType, length: Interval, node: exp.Binary) -> None:
    if not types.is_time(kind):
        hint = "TIMESTAMP '2024-12-31 10:00' is a literal, CAST(text AS TIMESTAMP) reads a text."
        if types.is_numeric(kind):
            hint = f"FROM_UNIXTIME({text_of(typed)}) makes a TIMESTAMP of milliseconds."
        raise TypeMismatchError(
            f"an INTERVAL is added to a DATE, TIME or TIMESTAMP, but {describe(typed)} is not one",
            hint=hint,
            span=span_of(node),
        )
    if kind == types.TIME and length.months:
        raise TypeMismatchError("a TIME has no months and years", span=span_of(node))


def _calls(
    length: Interval,
    factor: Expression | None,
    kind: SQLType,
    value: Expression,
    node: exp.Binary,
) -> list[Expression]:
    """Nested calls: months first, then days, then smaller units."""
    if max(abs(length.months), abs(length.millis) // _DAY_MS) >= 2**31:
        raise TypeMismatchError("the INTERVAL is too long", span=span_of(node))

    def amount(number: int) -> Expression:
        literal = exp.Literal(this=str(number), is_string=False)
        return literal if factor is None else exp.Mul(this=literal, expression=factor.copy())

    calls: list[Expression] = []
    if length.months:
        calls.append(exp.Anonymous(this="ADD_MONTHS", expressions=[value, amount(length.months)]))
    sign = -1 if length.millis < 0 else 1
    days, rest = divmod(abs(length.millis), _DAY_MS)
    for millis in (days * _DAY_MS, rest):
        if millis:
            unit, size = next(((u, s) for u, s in _UNITS if millis % s == 0), ("MILLISECONDS", 1))
            inner = calls[-1] if calls else value
            arguments = [exp.Var(this=unit), amount(sign * millis // size), inner]
            calls.append(exp.Anonymous(this=_ADDING[kind], expressions=arguments))
    return calls


def of_dates(
    node: exp.Binary, left: Expression, right: Expression, scope: Scope
) -> Expression | None:
    """`date - date`, a number of days, and `date + days`, of typed sides; None for other types."""
    a, b = type_of(left), type_of(right)
    made: Expression | None = None
    if isinstance(node, exp.Sub) and a == b == types.DATE:
        days = [exp.Anonymous(this="UNIX_DATE", expressions=[s.copy()]) for s in _sides(node)]
        made = exp.Sub(this=days[0], expression=days[1])
    elif isinstance(node, exp.Sub) and {a, b} in _DIFFERING:
        seconds = f"EXTRACT(EPOCH FROM {text_of(left)} - {text_of(right)})"
        raise UnsupportedError(
            "the difference of two TIMESTAMPs would be an INTERVAL, which no column can hold",
            hint=f"In seconds it is {seconds}; it can be compared with an INTERVAL.",
            span=span_of(node),
        )
    elif (a, b) == (types.DATE, types.INT) and isinstance(node, exp.Add | exp.Sub):
        name = "DATEADD" if isinstance(node, exp.Add) else "DATESUB"
        made = _days(name, node.right, node.left)
    elif (a, b) == (types.INT, types.DATE) and isinstance(node, exp.Add):
        made = _days("DATEADD", node.left, node.right)
    if made is None:
        return None
    made.meta.update(node.meta)
    return scope.infer(made)


def _sides(node: exp.Binary) -> tuple[Expression, Expression]:
    return node.left, node.right


def _days(name: str, amount: Expression, date: Expression) -> Expression:
    arguments = [exp.Var(this="DAYS"), amount.copy(), date.copy()]
    return exp.Anonymous(this=name, expressions=arguments)


def extract(node: exp.Extract, scope: Scope) -> Expression:
    """EXTRACT of a time: DATE_PART, as an integer if the part is one."""
    field = exp.Literal.string(node.name)
    field.meta.update(node.meta)
    call = exp.Anonymous(this="DATE_PART", expressions=[field, node.expression.copy()])
    call.meta.update(node.meta)
    if node.name.upper().removesuffix("S") in _FRACTIONAL:
        return scope.infer(call)
    whole = exp.Cast(this=call, to=types.INT.copy())
    whole.meta.update(node.meta)
    return scope.infer(whole)
