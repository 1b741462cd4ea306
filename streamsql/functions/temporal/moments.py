"""Parts of dates and times by their names, months, and the time now: what PostgreSQL has beside
ksqlDB's functions. Weeks begin on Monday; time is UTC.

A BIGINT, such as ROWTIME, is taken for the milliseconds of a timestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from streamsql import types
from streamsql.functions.base import Call, Check, Overload, SparkColumn, overload, scalar

_CATEGORY = "date and time"
_DAY_MS = 86_400_000
_TRUNCATED = "MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR".split()

_Part = Callable[[Any, SparkColumn], SparkColumn]
_OF_DAYS: dict[str, _Part] = {
    "YEAR": lambda F, moment: F.year(moment),
    "QUARTER": lambda F, moment: F.quarter(moment),
    "MONTH": lambda F, moment: F.month(moment),
    "WEEK": lambda F, moment: F.weekofyear(moment),
    "DAY": lambda F, moment: F.dayofmonth(moment),
    "DOW": lambda F, moment: F.dayofweek(moment) - 1,
    "ISODOW": lambda F, moment: F.weekday(moment) + 1,
    "DOY": lambda F, moment: F.dayofyear(moment),
    "EPOCH": lambda F, moment: F.unix_millis(moment) / 1000,
}
"""Name -> the part of a TIMESTAMP."""
_OF_HOURS: dict[str, _Part] = {
    "HOUR": lambda F, millis: F.floor(millis / 3_600_000) % 24,
    "MINUTE": lambda F, millis: F.floor(millis / 60_000) % 60,
    "SECOND": lambda F, millis: millis % 60_000 / 1000,
    "MILLISECOND": lambda F, millis: millis % 60_000,
}
"""Name -> the part of the milliseconds of a day."""


def _both(names: Any) -> frozenset[str]:
    return frozenset(form for name in names for form in (name, f"{name}S"))


_UNITS, _PARTS, _TIME_PARTS = (
    _both(_TRUNCATED),
    _both([*_OF_DAYS, *_OF_HOURS]),
    _both(_OF_HOURS),
)


def _known(words: frozenset[str]) -> Check:
    def check(constants: Sequence[object]) -> str | None:
        if str(constants[0]).upper() in words:
            return None
        known = ", ".join(sorted(word.lower() for word in words if f"{word}S" in words))
        return f"knows no '{constants[0]}', but {known}"

    return check


def _name(call: Call) -> str:
    return str(call.constants[0]).upper().removesuffix("S")


def _moment(F: Any, call: Call, value: SparkColumn) -> SparkColumn:
    if call.arguments[1] == types.BIGINT:
        return F.timestamp_millis(value)
    return value.cast(call.spark_type(types.TIMESTAMP))


def _truncate(F: Any, call: Call, unit: SparkColumn, value: SparkColumn) -> SparkColumn:
    del unit
    return F.date_trunc(_name(call), _moment(F, call, value))


def _part(F: Any, call: Call, name: SparkColumn, value: SparkColumn) -> SparkColumn:
    del name
    moment = _moment(F, call, value)
    if (of_days := _OF_DAYS.get(_name(call))) is not None:
        return of_days(F, moment).cast("double")
    return _of_hours(F, call, F.pmod(F.unix_millis(moment), F.lit(_DAY_MS).cast("bigint")))


def _of_hours(F: Any, call: Call, millis: SparkColumn) -> SparkColumn:
    return _OF_HOURS[_name(call)](F, millis).cast("double")


def _part_of_time(F: Any, call: Call, name: SparkColumn, millis: SparkColumn) -> SparkColumn:
    del name
    return _of_hours(F, call, millis)


def _add_months(F: Any, call: Call, value: SparkColumn, months: SparkColumn) -> SparkColumn:
    """The last day of a month that has no such day."""
    if call.result == types.DATE:
        return F.add_months(value, months)
    day = F.unix_date(F.add_months(F.to_date(value), months)).cast("bigint")
    in_ms = F.lit(_DAY_MS).cast("bigint")
    return F.timestamp_millis(day * in_ms + F.pmod(F.unix_millis(value), in_ms))


def _now(F: Any) -> SparkColumn:
    # Spark's current_timestamp stands still for a whole batch, which may last a minute.
    now = F.reflect(F.lit("java.lang.System"), F.lit("currentTimeMillis"))
    return F.timestamp_millis(now.cast("bigint"))


def _by_name(
    parameters: str, result: str, words: frozenset[str], impl: Any
) -> tuple[Overload, ...]:
    return tuple(
        overload(
            f"const {parameters} {kind} -> {result}",
            impl,
            with_call=True,
            check=_known(words),
        )
        for kind in ("TIMESTAMP", "DATE", "BIGINT")
    )


MOMENTS = (
    scalar(
        "DATE_TRUNC",
        "The timestamp truncated to the second, minute, hour, day, week, month, quarter or year.",
        _CATEGORY,
        _by_name("unit STRING, moment", "TIMESTAMP", _UNITS, _truncate),
        example=("DATE_TRUNC('hour', FROM_UNIXTIME(4000000))", "1970-01-01T01:00:00.000"),
    ),
    scalar(
        "DATE_PART",
        "A part of a date or time: year, quarter, month, week, day, hour, minute, second (with its "
        "fraction), millisecond, dow (Sunday is 0), isodow (Monday is 1), doy or epoch.",
        _CATEGORY,
        _by_name("part STRING, moment", "DOUBLE", _PARTS, _part),
        overload(
            "const part STRING, time TIME -> DOUBLE",
            _part_of_time,
            with_call=True,
            check=_known(_TIME_PARTS),
        ),
        example=("DATE_PART('month', CAST('2024-12-31' AS DATE))", "12.0"),
    ),
    scalar(
        "ADD_MONTHS",
        "The date plus a number of months; in a shorter month its last day.",
        _CATEGORY,
        overload("moment TIMESTAMP, months INT -> TIMESTAMP", _add_months, with_call=True),
        overload("date DATE, months INT -> DATE", _add_months, with_call=True),
        example=("ADD_MONTHS(CAST('2024-01-31' AS DATE), 1)", "2024-02-29"),
    ),
    scalar(
        "NOW",
        "The time at which the row is processed.",
        _CATEGORY,
        overload("-> TIMESTAMP", _now),
        deterministic=False,
        example=("NOW() > FROM_UNIXTIME(0)", "TRUE"),
    ),
)
