"""Functions on dates, times and timestamps. Patterns are those of java.time's DateTimeFormatter.

They are read in the JVM part, since Spark's own formatter knows a part of them only. A zone or
pattern that a row brings along may be none: the call fails then. UTC where no zone is given.
"""

from __future__ import annotations

import re
from typing import Any

from streamsql import types
from streamsql.functions.base import Call, Overload, Safe, SparkColumn, overload, scalar
from streamsql.types import SQLType

_CATEGORY = "date and time"
_DAY_MS = 86_400_000
_UNIT_MS = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": _DAY_MS,
}


def _millis(F: Any, moment: SparkColumn) -> SparkColumn:
    return F.unix_millis(moment)


def _now(F: Any) -> SparkColumn:
    # Spark's current_timestamp stands still for a whole batch, which may last a minute.
    now = F.reflect(F.lit("java.lang.System"), F.lit("currentTimeMillis"))
    return now.cast("bigint")


def _java(method: str, result: SQLType) -> Any:
    """A method of DateTimes with unchanged arguments."""

    def impl(F: Any, call: Call, *arguments: SparkColumn) -> SparkColumn:
        del F
        return call.java(f"DateTimes.{method}", result, *arguments)

    return impl


_DATE_TO_TEXT = _java("formatDate", types.STRING)


def _parse(F: Any, call: Call, text: SparkColumn, pattern: SparkColumn, *zone: SparkColumn) -> Any:
    given = zone[0] if zone else F.lit("UTC")
    return call.java("DateTimes.parseTimestamp", types.TIMESTAMP, text, pattern, given)


def _format(F: Any, call: Call, moment: SparkColumn, pattern: SparkColumn, *zone: Any) -> Any:
    given = zone[0] if zone else F.lit("UTC")
    return call.java("DateTimes.formatTimestamp", types.STRING, moment, pattern, given)


def _shift(sign: int) -> Any:
    """Moves a TIMESTAMP, which has no zone, by a number of units."""

    def impl(F: Any, unit: str, amount: SparkColumn, moment: SparkColumn) -> SparkColumn:
        return F.timestamp_millis(F.unix_millis(moment) + _delta(F, sign, unit, amount))

    return impl


def _delta(F: Any, sign: int, unit: str, amount: SparkColumn) -> SparkColumn:
    return amount.cast("bigint") * F.lit(sign * _UNIT_MS[unit]).cast("bigint")


def _shift_date(sign: int) -> Any:
    """Less than a day moves to the day before, or not at all."""

    def impl(F: Any, unit: str, amount: SparkColumn, date: SparkColumn) -> SparkColumn:
        millis = F.unix_date(date).cast("bigint") * F.lit(_DAY_MS).cast("bigint")
        days = F.floor((millis + _delta(F, sign, unit, amount)) / F.lit(_DAY_MS))
        return F.date_from_unix_date(days.cast("int"))

    return impl


def _shift_time(sign: int) -> Any:
    """Wraps around at midnight."""

    def impl(F: Any, unit: str, amount: SparkColumn, time: SparkColumn) -> SparkColumn:
        return F.pmod(time + _delta(F, sign, unit, amount), F.lit(_DAY_MS).cast("bigint"))

    return impl


_OF_DATES = frozenset({"yyyy", "yy", "uuuu", "MMMM", "MMM", "MM", "M", "dd", "d", "EEEE", "EEE"})
_OF_TIMES = frozenset({"HH", "H", "hh", "h", "mm", "m", "ss", "s", "S", "SS", "SSS", "a"})


def _can_format(letters: frozenset[str]) -> Safe:
    """Whether the pattern is a literal of letters that always have a value, in a known zone."""

    def safe(call: Call) -> bool:
        pattern, *zone = call.constants[1:]
        if not isinstance(pattern, str) or not all(z in ("UTC", "GMT") for z in zone):
            return False
        bare = re.sub("'[^']*'", "", pattern)
        runs = {run.group() for run in re.finditer(r"([A-Za-z])\1*", bare)}
        return runs <= letters and not set(bare) & set("'[]{}#")

    return safe


_SAFE_MOMENT = _can_format(_OF_DATES | _OF_TIMES)


def _with_zone(text: str, result: str, impl: Any, safe: Safe | None = None) -> tuple[Overload, ...]:
    return tuple(
        overload(f"{text}{zone} -> {result}", impl, with_call=True, safe=safe)
        for zone in ("", ", timeZone STRING")
    )


def _of_millis(impl: Any) -> Any:
    """The same for ms since the epoch instead of a TIMESTAMP."""
    return lambda F, call, millis, *rest: impl(F, call, F.timestamp_millis(millis), *rest)


_NOT_PARSED = "the text does not follow the pattern, or there is no such pattern or time zone"
_NOT_FORMATTED = "no such time zone or pattern, or it asks for more than the value has"

DATETIMES = (
    scalar(
        "UNIX_TIMESTAMP",
        "Milliseconds since the epoch, of the current time or of a timestamp.",
        _CATEGORY,
        overload("-> BIGINT", _now),
        overload("moment TIMESTAMP -> BIGINT", _millis),
        deterministic=False,
        example=("UNIX_TIMESTAMP('1970-01-01T00:00:01')", "1000"),
    ),
    scalar(
        "UNIX_DATE",
        "Days since the epoch, of the current date or of a date.",
        _CATEGORY,
        overload("-> INT", lambda F: F.floor(_now(F) / F.lit(_DAY_MS)).cast("int")),
        overload("date DATE -> INT", lambda F, date: F.unix_date(date)),
        deterministic=False,
        example=("UNIX_DATE('1970-01-02')", "1"),
    ),
    scalar(
        "FROM_UNIXTIME",
        "The timestamp of a number of milliseconds since the epoch.",
        _CATEGORY,
        overload("millis BIGINT -> TIMESTAMP", lambda F, millis: F.timestamp_millis(millis)),
        example=("FROM_UNIXTIME(1000)", "1970-01-01T00:00:01.000"),
    ),
    scalar(
        "FROM_DAYS",
        "The date of a number of days since the epoch.",
        _CATEGORY,
        overload("days INT -> DATE", lambda F, days: F.date_from_unix_date(days)),
        example=("FROM_DAYS(1)", "1970-01-02"),
    ),
    scalar(
        "PARSE_TIMESTAMP",
        "The timestamp of a text, parsed by a pattern.",
        _CATEGORY,
        _with_zone("text STRING, pattern STRING", "TIMESTAMP", _parse),
        fallible=_NOT_PARSED,
        example=(
            "PARSE_TIMESTAMP('31.12.2024 10:00', 'dd.MM.yyyy HH:mm')",
            "2024-12-31T10:00:00.000",
        ),
    ),
    scalar(
        "FORMAT_TIMESTAMP",
        "The timestamp formatted by a pattern.",
        _CATEGORY,
        _with_zone("moment TIMESTAMP, pattern STRING", "STRING", _format, _SAFE_MOMENT),
        fallible=_NOT_FORMATTED,
        example=("FORMAT_TIMESTAMP(FROM_UNIXTIME(0), 'yyyy-MM-dd HH:mm')", "'1970-01-01 00:00'"),
    ),
    scalar(
        "PARSE_DATE",
        "The date of a text, parsed by a pattern.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING -> DATE", _java("parseDate", types.DATE), with_call=True
        ),
        fallible=_NOT_PARSED,
        example=("PARSE_DATE('31.12.2024', 'dd.MM.yyyy')", "2024-12-31"),
    ),
    scalar(
        "FORMAT_DATE",
        "The date formatted by a pattern.",
        _CATEGORY,
        overload(
            "date DATE, pattern STRING -> STRING",
            _DATE_TO_TEXT,
            with_call=True,
            safe=_can_format(_OF_DATES),
        ),
        fallible=_NOT_FORMATTED,
        example=("FORMAT_DATE('2024-12-31', 'dd/MM/yy')", "'31/12/24'"),
    ),
    scalar(
        "PARSE_TIME",
        "The time of day of a text, parsed by a pattern.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING -> TIME", _java("parseTime", types.TIME), with_call=True
        ),
        fallible=_NOT_PARSED,
        example=("PARSE_TIME('10.30', 'HH.mm')", "10:30:00.000"),
    ),
    scalar(
        "FORMAT_TIME",
        "The time of day formatted by a pattern.",
        _CATEGORY,
        overload(
            "time TIME, pattern STRING -> STRING",
            _java("formatTime", types.STRING),
            with_call=True,
            safe=_can_format(_OF_TIMES),
        ),
        fallible=_NOT_FORMATTED,
        example=("FORMAT_TIME('10:30', 'HH''h''mm')", "'10h30'"),
    ),
    scalar(
        "TIMESTAMPADD",
        "The timestamp plus an amount of a unit.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, moment TIMESTAMP -> TIMESTAMP", _shift(1)),
        example=("TIMESTAMPADD(HOURS, 2, FROM_UNIXTIME(0))", "1970-01-01T02:00:00.000"),
    ),
    scalar(
        "TIMESTAMPSUB",
        "The timestamp minus an amount of a unit.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, moment TIMESTAMP -> TIMESTAMP", _shift(-1)),
        example=("TIMESTAMPSUB(DAYS, 1, FROM_UNIXTIME(0))", "1969-12-31T00:00:00.000"),
    ),
    scalar(
        "DATEADD",
        "The date plus an amount of a unit, in whole days.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, date DATE -> DATE", _shift_date(1)),
        example=("DATEADD(DAYS, 2, '2024-02-28')", "2024-03-01"),
    ),
    scalar(
        "DATESUB",
        "The date minus an amount of a unit, in whole days.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, date DATE -> DATE", _shift_date(-1)),
        example=("DATESUB(DAYS, 1, '2024-03-01')", "2024-02-29"),
    ),
    scalar(
        "TIMEADD",
        "The time of day plus an amount of a unit; it wraps around at midnight.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, time TIME -> TIME", _shift_time(1)),
        example=("TIMEADD(HOURS, 3, '22:30')", "01:30:00.000"),
    ),
    scalar(
        "TIMESUB",
        "The time of day minus an amount of a unit; it wraps around at midnight.",
        _CATEGORY,
        overload("unit INTERVALUNIT, amount INT, time TIME -> TIME", _shift_time(-1)),
        example=("TIMESUB(MINUTES, 45, '00:30')", "23:45:00.000"),
    ),
    scalar(
        "CONVERT_TZ",
        "The timestamp converted from one time zone to another.",
        _CATEGORY,
        overload(
            "moment TIMESTAMP, given STRING, wanted STRING -> TIMESTAMP",
            _java("convertZone", types.TIMESTAMP),
            with_call=True,
        ),
        fallible="no such time zone",
        example=(
            "CONVERT_TZ(FROM_UNIXTIME(0), 'UTC', 'Asia/Tokyo')",
            "1970-01-01T09:00:00.000",
        ),
    ),
    scalar(
        "DATETOSTRING",
        "Days since the epoch formatted by a pattern. Prefer FORMAT_DATE.",
        _CATEGORY,
        overload(
            "days INT, pattern STRING -> STRING",
            lambda F, call, days, p: _DATE_TO_TEXT(F, call, F.date_from_unix_date(days), p),
            with_call=True,
            safe=_can_format(_OF_DATES),
        ),
        fallible=_NOT_FORMATTED,
        example=("DATETOSTRING(1, 'yyyy-MM-dd')", "'1970-01-02'"),
    ),
    scalar(
        "STRINGTODATE",
        "The days since the epoch of a text, parsed by a pattern. Prefer PARSE_DATE.",
        _CATEGORY,
        overload(
            "text STRING, pattern STRING -> INT",
            _java("parseWholeDate", types.INT),
            with_call=True,
        ),
        fallible=_NOT_PARSED,
        example=("STRINGTODATE('1970-01-02', 'yyyy-MM-dd')", "1"),
    ),
    scalar(
        "STRINGTOTIMESTAMP",
        "The milliseconds since the epoch of a text, parsed by a pattern. Prefer PARSE_TIMESTAMP.",
        _CATEGORY,
        _with_zone(
            "text STRING, pattern STRING",
            "BIGINT",
            lambda F, call, *arguments: F.unix_millis(_parse(F, call, *arguments)),
        ),
        fallible=_NOT_PARSED,
        example=("STRINGTOTIMESTAMP('1970-01-01 00:01', 'yyyy-MM-dd HH:mm')", "60000"),
    ),
    scalar(
        "TIMESTAMPTOSTRING",
        "Milliseconds since the epoch formatted by a pattern. Prefer FORMAT_TIMESTAMP.",
        _CATEGORY,
        _with_zone("millis BIGINT, pattern STRING", "STRING", _of_millis(_format), _SAFE_MOMENT),
        fallible=_NOT_FORMATTED,
        example=("TIMESTAMPTOSTRING(0, 'yyyy-MM-dd HH:mm:ss')", "'1970-01-01 00:00:00'"),
    ),
)
