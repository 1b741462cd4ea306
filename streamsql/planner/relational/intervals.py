"""Constant intervals, and the text of any interval."""

from __future__ import annotations

import math

from sqlglot import exp, parse_one

from streamsql.nodes import Expression
from streamsql.planner.relational.expressions import operand, typed
from streamsql.types import STRING

_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000}
_DAY = 86_400_000_000


def micros(interval: Expression) -> int | None:
    """The length of a constant interval; None where it has months, or is not constant."""
    parts = _parts(interval)
    return None if parts is None or parts[0] else parts[1] * _DAY + parts[2]


_TEXT = parse_one(
    """
    CONCAT_WS(
      ' ',
      IF(EXTRACT(DAY FROM x) <> 0,
         CONCAT(EXTRACT(DAY FROM x), IF(EXTRACT(DAY FROM x) = 1, ' day', ' days')), NULL),
      IF(EXTRACT(DAY FROM x) = 0 OR EXTRACT(HOUR FROM x) <> 0
         OR EXTRACT(MINUTE FROM x) <> 0 OR EXTRACT(SECOND FROM x) <> 0,
         CONCAT(
           IF(EXTRACT(HOUR FROM x) < 0 OR EXTRACT(MINUTE FROM x) < 0 OR EXTRACT(SECOND FROM x) < 0,
              '-', ''),
           LPAD(CAST(ABS(EXTRACT(HOUR FROM x)) AS STRING), 2, '0'), ':',
           LPAD(CAST(ABS(EXTRACT(MINUTE FROM x)) AS STRING), 2, '0'), ':',
           IF(ABS(EXTRACT(SECOND FROM x)) < 10, '0', ''),
           REGEXP_REPLACE(CAST(ABS(EXTRACT(SECOND FROM x)) AS STRING), '[.]?0*$', '')),
         NULL))
    """,
    dialect="spark",
)
"""PostgreSQL's text of an interval of days and seconds."""


def interval_text(interval: Expression) -> Expression:
    """The text of an interval of days and seconds, or of a constant one."""
    if (constant := _constant_text(interval)) is not None:
        return typed(exp.Literal.string(constant), STRING)
    text = _TEXT.copy()
    for found in list(text.find_all(exp.Column)):
        found.replace(operand(interval.copy()))
    shown = exp.If(
        this=exp.Is(this=operand(interval.copy()), expression=exp.Null()), true=exp.Null()
    )
    return typed(exp.Case(ifs=[shown], default=text), STRING)


def _constant_text(interval: Expression) -> str | None:
    """PostgreSQL's text of a constant; None for other intervals."""
    length = _parts(interval)
    if length is None:
        return None
    months, days, micros = length
    years, months = int(months / 12), int(math.fmod(months, 12))
    counts = ((years, "year"), (months, "mon"), (days, "day"))
    words = [f"{n} {unit}" if n == 1 else f"{n} {unit}s" for n, unit in counts if n]
    if micros or not words:
        seconds, fraction = divmod(abs(micros), 1_000_000)
        minutes, hours = seconds // 60 % 60, seconds // 3600
        text = f"{hours:02}:{minutes:02}:{seconds % 60:02}.{fraction:06}".rstrip("0").rstrip(".")
        words.append(f"-{text}" if micros < 0 else text)
    return " ".join(words)


def _parts(interval: Expression, sign: int = 1) -> tuple[int, int, int] | None:
    """Months, days and microseconds of a constant interval."""
    match interval:
        case exp.Paren():
            return _parts(interval.this, sign)
        case exp.Neg():
            return _parts(interval.this, -sign)
        case exp.Add() | exp.Sub():
            other = sign if isinstance(interval, exp.Add) else -sign
            one, two = _parts(interval.this, sign), _parts(interval.expression, other)
            if one is None or two is None:
                return None
            return one[0] + two[0], one[1] + two[1], one[2] + two[2]
        case exp.Interval():
            amount, unit = sign * int(interval.this.name), interval.args["unit"].name
            if unit == "MONTH":
                return amount, 0, 0
            if unit == "DAY":
                return 0, amount, 0
            return 0, 0, amount * _MICROS[unit]
    return None
