"""The table of scalar SQL types: Python class, text, JSON, and encoding. Every display of a cell
loads it, so it refers to types by name and imports nothing."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from streamsql.errors import EvaluationError

Writer = Callable[[Any], str]
"""Converts a value that is not null to text."""

EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = EPOCH.toordinal()
_MILLISECOND = timedelta(milliseconds=1)

json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Compact JSON of any value."""
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)}
_ESCAPES |= {ord(c): json_text(c)[1:-1] for c in '"\\\b\f\n\r\t'}


def json_string(text: str) -> str:
    """Jackson's form of a text, with upper-case hex digits: keys are compared by bytes."""
    written = json_text(text)
    return written if "\\u00" not in written else f'"{text.translate(_ESCAPES)}"'


@dataclass(frozen=True)
class Scalar:
    """Representations of a type. Callers handle nulls."""

    name: str
    """The name in `types.to_sql`, without the digits of a DECIMAL."""
    python: type
    text: Writer
    of_text: Callable[[str], Any]
    """The inverse of `text`; ValueError if invalid."""
    json: Writer
    """ksqlDB's JSON of a result: quoted text if JSON has no such type."""
    packed: Callable[[Any], Any]
    """Encoding in records: a number (days of a DATE, ms of a TIME or TIMESTAMP), boolean or
    text."""
    of_packed: Callable[[Any], Any]
    """The inverse of `packed` for parsed JSON (decimal numbers as Decimals)."""
    record: Writer
    record_json: Writer


def _same(value: Any) -> Any:
    return value


def _quoted(text: Writer) -> Writer:
    """JSON of a text without escapes."""
    return lambda value: f'"{text(value)}"'


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _of_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _digits(value: Decimal) -> str:
    return format(value, "f")


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _double(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else _not_finite(value)


def java_double(value: float) -> str:
    """A DOUBLE in Java's form: `1.0`, `1.0E10`, `1.0E-5`, `Infinity`, `NaN`."""
    if not math.isfinite(value):
        return _not_finite(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = f"{Decimal(repr(value)):f}"
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if len(digits) == 1:
        # Java uses at least two digits, those nearest to the number: the smallest is 4.9E-324.
        sign, digits, exponent = Decimal(f"{value:.1e}").normalize().as_tuple()
    assert isinstance(exponent, int)
    mantissa = "".join(map(str, digits))
    power = exponent + len(mantissa) - 1
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}E{power}"


def _java(value: float) -> str:
    return java_double(float(value))


def _json_of_double(write: Writer) -> Writer:
    """A number, or the quoted name of a special value."""
    return lambda value: write(value) if math.isfinite(value) else f'"{_not_finite(value)}"'


# -- bytes and times -------------------------------------------------------------------------------


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _of_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def without_zone(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _digits_of(moment: datetime | time) -> str:
    """SQL times have milliseconds; Python's may have microseconds."""
    return "microseconds" if moment.microsecond % 1000 else "milliseconds"


def _timestamp(value: datetime) -> str:
    return without_zone(value).isoformat(timespec=_digits_of(value))


def _of_timestamp(text: str) -> datetime:
    return without_zone(datetime.fromisoformat(text))


def _time(value: time) -> str:
    return value.isoformat(_digits_of(value) if value.microsecond else "seconds")


def millis(moment: datetime) -> int:
    return (without_zone(moment) - EPOCH) // _MILLISECOND


def of_millis(number: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=number)
    except OverflowError:
        raise _out_of_range("timestamp") from None


def day_millis(value: time) -> int:
    return (datetime.combine(EPOCH, value) - EPOCH) // _MILLISECOND


def of_day_millis(number: int) -> time:
    return of_millis(number).time()


def days(value: date) -> int:
    return value.toordinal() - _EPOCH_DAY


def of_days(number: int) -> date:
    try:
        return date.fromordinal(number + _EPOCH_DAY)
    except (OverflowError, ValueError):
        raise _out_of_range("date") from None


def _out_of_range(what: str) -> EvaluationError:
    return EvaluationError(
        f"{what} out of range: a result has the years 1 to 9999",
        hint="CAST it to TEXT to see it.",
    )


def _day(value: date) -> str:
    return value.isoformat()


def _counted(count: Callable[[Any], int]) -> Writer:
    return lambda value: str(count(value))


# -- the table -------------------------------------------------------------------------------------


def _number(name: str, python: type, text: Writer, of_text: Callable[[Any], Any]) -> Scalar:
    return Scalar(name, python, text, of_text, text, _same, of_text, text, text)


def _moment(
    name: str,
    python: type,
    text: Writer,
    of_text: Callable[[str], Any],
    count: Callable[[Any], int],
    of_count: Callable[[int], Any],
) -> Scalar:
    """A time type: ISO 8601 as text, a number in records."""
    counted = _counted(count)
    return Scalar(name, python, text, of_text, _quoted(text), count, of_count, counted, counted)


_TABLE = (
    Scalar(
        *("BOOLEAN", bool, _boolean, _of_boolean, _boolean),
        *(_same, _same, _boolean, _boolean),
    ),
    _number("INTEGER", int, str, int),
    _number("BIGINT", int, str, int),
    Scalar(
        *("DOUBLE", float, _double, float, _json_of_double(_double)),
        *(_same, float, _java, _json_of_double(_java)),
    ),
    Scalar(
        *("DECIMAL", Decimal, _digits, Decimal, _digits),
        *(_same, lambda number: Decimal(str(number)), _digits, _digits),
    ),
    Scalar(
        *("STRING", str, _same, _same, json_string),
        *(_same, _same, _same, json_string),
    ),
    Scalar(
        *("BYTES", bytes, _base64, _of_base64, _quoted(_base64)),
        *(_base64, _of_base64, _base64, _quoted(_base64)),
    ),
    _moment("DATE", date, _day, date.fromisoformat, days, of_days),
    _moment("TIME", time, _time, time.fromisoformat, day_millis, of_day_millis),
    _moment("TIMESTAMP", datetime, _timestamp, _of_timestamp, millis, of_millis),
)

SCALARS = {entry.name: entry for entry in _TABLE}
_BY_CLASS = {entry.python: entry for entry in _TABLE}


def scalar_of(value: object) -> Scalar:
    """The SQL type of a Python class (an int is a BIGINT); KeyError for other classes."""
    kind = next((c for c in type(value).__mro__ if c in _BY_CLASS), type(value))
    return _BY_CLASS[kind]
