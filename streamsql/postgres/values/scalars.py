"""Codecs of scalar types: text and binary form in both directions. OIDs, sizes and forms are
PostgreSQL's. Readers raise ValueError for invalid input."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from ctypes import c_float
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from streamsql.values.intervals import Interval, interval
from streamsql.values.scalars import EPOCH, without_zone

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]
_CENTURY = datetime(2000, 1, 1)
_CENTURY_DAY = _CENTURY.toordinal()
_MICROSECOND = timedelta(microseconds=1)
_NAN = 0xC000


@dataclass(frozen=True)
class ScalarCodec:
    """A type and its representations; callers handle nulls."""

    name: str
    oid: int
    array: int
    """The OID of arrays of it."""
    size: int
    to_text: Encode
    of_text: Decode
    to_binary: Encode
    of_binary: Decode


def _packed(form: str) -> tuple[Encode, Decode]:
    packer = struct.Struct(form)

    def unpack(data: bytes) -> Any:
        if len(data) != packer.size:
            raise ValueError(f"{len(data)} bytes instead of {packer.size}")
        return packer.unpack(data)[0]

    return packer.pack, unpack


def _plain(value: Any) -> bytes:
    return str(value).encode()


# -- numbers, truth, bytes -------------------------------------------------------------------------


def _of_boolean(data: bytes) -> bool:
    word = data.decode().strip().lower()
    for value, words in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0"))):
        if word and any(full.startswith(word) for full in words) and word != "o":
            return value
    raise ValueError(f"{word!r} is not a boolean")


def _double(value: float) -> bytes:
    if math.isfinite(value):
        return repr(float(value)).removesuffix(".0").encode()
    return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"


def _single(value: float) -> bytes:
    """The fewest digits that no other number of single precision has."""
    if not math.isfinite(value):
        return _double(value)
    single = c_float(value).value
    texts = (f"{single:.{digits}e}" for digits in range(9))
    text = next(text for text in texts if c_float(float(text)).value == single)
    number, exponent = text.split("e")
    if -4 <= int(exponent) < 6:
        places = max(0, len(number.partition(".")[2]) - int(exponent))
        return f"{float(text):.{places}f}".encode()
    return text.encode()


def _integer(bits: int) -> Decode:
    def read(data: bytes) -> int:
        number = int(data)
        if not -(1 << bits) <= number < 1 << bits:
            raise ValueError(f"{number} is out of range")
        return number

    return read


def _decimal(data: bytes) -> Decimal:
    try:
        number = Decimal(data.decode().strip())
    except ArithmeticError:
        raise ValueError(f"{data.decode()!r} is not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > 1000:
        raise ValueError(f"{number} is out of range")
    return number


def _numeric_out(value: Decimal) -> bytes:
    """Groups of four digits, the first one's weight, the sign, the number of decimals."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    left, right = (whole[:-scale], whole[-scale:]) if scale else (whole, "")
    left = left.lstrip("0")
    left = left.rjust(-(-len(left) // 4) * 4, "0")
    right = right.ljust(-(-len(right) // 4) * 4, "0")
    text = left + right
    groups = [int(text[at : at + 4]) for at in range(0, len(text), 4)]
    weight = len(left) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!HhHH", len(groups), weight if groups else 0, 0x4000 * sign, scale)
    return head + struct.pack(f"!{len(groups)}H", *groups)


def _numeric_in(data: bytes) -> Decimal:
    if len(data) < 8:
        raise ValueError("no numeric")
    count, weight, sign, scale = struct.unpack("!HhHH", data[:8])
    if sign not in (0, 0x4000) or len(data) != 8 + 2 * count:
        raise ValueError("a numeric that is not finite" if sign >= _NAN else "no numeric")
    groups = struct.unpack(f"!{count}H", data[8:])
    if any(group > 9999 for group in groups) or abs(weight) > 250 or scale > 1000:
        raise ValueError("a numeric out of range")
    number = int("".join(f"{group:04}" for group in groups) or "0")
    digits = tuple(map(int, str(number)))
    exact = Decimal((int(sign == 0x4000), digits, 4 * (weight - count + 1)))
    with_scale = Decimal((0, (1,), -scale))
    return exact.quantize(with_scale, context=Context(prec=2100))


def _of_bytea(data: bytes) -> bytes:
    if data.startswith(b"\\x"):
        return bytes.fromhex(data[2:].decode())
    return re.sub(
        rb"\\(\\|[0-3][0-7]{2})",
        lambda m: m[1] if m[1] == b"\\" else bytes([int(m[1], 8)]),
        data,
    )


# -- times -----------------------------------------------------------------------------------------


def _short(text: str, value: datetime | time) -> str:
    """Without the zeros at the end of a fraction."""
    return text.rstrip("0") if value.microsecond else text


def _timestamp(value: datetime) -> bytes:
    local = without_zone(value)
    return _short(local.isoformat(" "), local).encode()


def _of_timestamp(data: bytes) -> datetime:
    return without_zone(datetime.fromisoformat(data.decode().strip()))


def _moment(value: datetime) -> bytes:
    return _timestamp(value) + b"+00"


def _micros(value: datetime) -> bytes:
    return struct.pack("!q", (without_zone(value) - _CENTURY) // _MICROSECOND)


def _of_micros(data: bytes) -> datetime:
    (number,) = struct.unpack("!q", _sized(data, 8))
    try:
        return _CENTURY + int(number) * _MICROSECOND
    except OverflowError:
        raise ValueError("a timestamp out of range") from None


def _sized(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes instead of {size}")
    return data


def _day(value: date) -> bytes:
    return struct.pack("!i", value.toordinal() - _CENTURY_DAY)


def _of_day(data: bytes) -> date:
    (number,) = struct.unpack("!i", _sized(data, 4))
    return date.fromordinal(number + _CENTURY_DAY)


def _clock(value: time) -> bytes:
    return struct.pack("!q", (datetime.combine(EPOCH, value) - EPOCH) // _MICROSECOND)


def _of_clock(data: bytes) -> time:
    (number,) = struct.unpack("!q", _sized(data, 8))
    if not 0 <= number < 86_400_000_000:
        raise ValueError("a time out of range")
    return (EPOCH + int(number) * _MICROSECOND).time()


def _interval(value: Mapping[str, int]) -> bytes:
    return str(Interval(**value)).encode()


def _of_interval(data: bytes) -> str:
    if interval(data.decode()) is None:
        raise ValueError(f"{data.decode()!r} is not an interval")
    return data.decode()


def _interval_out(value: Mapping[str, int]) -> bytes:
    return struct.pack("!qii", value["micros"], value["days"], value["months"])


def _interval_in(data: bytes) -> str:
    micros, days, months = struct.unpack("!qii", _sized(data, 16))
    return str(Interval(months, days, micros))


# -- text and JSON ---------------------------------------------------------------------------------


def _utf8(value: Any) -> bytes:
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace")


def _jsonb(value: Any) -> bytes:
    return b"\x01" + _utf8(value)


def _json_in(data: bytes) -> str:
    json.loads(data)
    return data.decode()


def _jsonb_in(data: bytes) -> str:
    if data[:1] != b"\x01":
        raise ValueError("another version of jsonb")
    return _json_in(data[1:])


def _texts(name: str, oid: int, array: int, size: int = -1) -> ScalarCodec:
    return ScalarCodec(name, oid, array, size, _utf8, bytes.decode, _utf8, bytes.decode)


def _whole(name: str, oid: int, array: int, size: int, form: str) -> ScalarCodec:
    return ScalarCodec(name, oid, array, size, _plain, _integer(size * 8 - 1), *_packed(form))


def _fractions(name: str, oid: int, array: int, size: int, form: str) -> ScalarCodec:
    return ScalarCodec(name, oid, array, size, _double, float, *_packed(form))


def _vector(name: str, oid: int, array: int, of: int, form: str) -> ScalarCodec:
    """Vectors of numbers in system relations: text is separated by blanks, and indices count from
    0."""
    pack, unpack = _packed(form)
    size = struct.calcsize(form)

    def to_binary(values: list[int]) -> bytes:
        cells = (struct.pack("!i", size) + pack(value) for value in values)
        return struct.pack("!iiIii", 1, 0, of, len(values), 0) + b"".join(cells)

    def of_binary(data: bytes) -> list[int]:
        places = range(20, len(data), size + 4)
        return [unpack(data[at + 4 : at + 4 + size]) for at in places]

    return ScalarCodec(
        *(name, oid, array, -1),
        *(
            lambda values: " ".join(map(str, values)).encode(),
            lambda data: [*map(int, data.split())],
        ),
        *(to_binary, of_binary),
    )


_iso = (lambda value: value.isoformat().encode(), lambda data: data.decode().strip())
BOOL = ScalarCodec(
    *("bool", 16, 1000, 1),
    *(lambda value: b"t" if value else b"f", _of_boolean),
    *_packed("!?"),
)
BYTEA = ScalarCodec(
    *("bytea", 17, 1001, -1),
    *(lambda value: b"\\x" + value.hex().encode(), _of_bytea, bytes, bytes),
)
INT8 = _whole("int8", 20, 1016, 8, "!q")
INT2 = _whole("int2", 21, 1005, 2, "!h")
INT4 = _whole("int4", 23, 1007, 4, "!i")
TEXT = _texts("text", 25, 1009)
OID = ScalarCodec("oid", 26, 1028, 4, _plain, int, *_packed("!I"))
FLOAT8 = _fractions("float8", 701, 1022, 8, "!d")
DATE = ScalarCodec(
    *("date", 1082, 1182, 4),
    *(_iso[0], lambda data: date.fromisoformat(_iso[1](data)), _day, _of_day),
)
TIME = ScalarCodec(
    *("time", 1083, 1183, 8),
    *(
        lambda value: _short(value.isoformat(), value).encode(),
        lambda data: time.fromisoformat(_iso[1](data)),
        _clock,
        _of_clock,
    ),
)
TIMESTAMP = ScalarCodec("timestamp", 1114, 1115, 8, _timestamp, _of_timestamp, _micros, _of_micros)
TIMESTAMPTZ = ScalarCodec("timestamptz", 1184, 1185, 8, _moment, _of_timestamp, _micros, _of_micros)
NUMERIC = ScalarCodec(
    *("numeric", 1700, 1231, -1),
    *(lambda value: format(value, "f").encode(), _decimal, _numeric_out, _numeric_in),
)
INTERVAL = ScalarCodec(
    *("interval", 1186, 1187, 16),
    *(_interval, _of_interval, _interval_out, _interval_in),
)
INT2VECTOR = _vector("int2vector", 22, 1006, INT2.oid, "!h")
OIDVECTOR = _vector("oidvector", 30, 1013, OID.oid, "!I")
FLOAT4 = replace(_fractions("float4", 700, 1021, 4, "!f"), to_text=_single)
JSON = ScalarCodec("json", 114, 199, -1, _utf8, _json_in, _utf8, _json_in)
JSONB = ScalarCodec("jsonb", 3802, 3807, -1, _utf8, _json_in, _jsonb, _jsonb_in)
RECORD = _texts("record", 2249, 2287)
"""Rows; `types` writes and reads them by their fields."""

CODECS = (
    *(BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID, FLOAT8, DATE, TIME, TIMESTAMP, TIMESTAMPTZ),
    *(NUMERIC, JSONB, INTERVAL, RECORD),
    _texts("char", 18, 1002, 1),
    _texts("name", 19, 1003, 64),
    FLOAT4,
    _texts("bpchar", 1042, 1014),
    _texts("varchar", 1043, 1015),
    _texts("unknown", 705, 1009, -2),
    JSON,
    _texts("uuid", 2950, 2951, 16),
    *(INT2VECTOR, OIDVECTOR),
)
"""Types that clients may use for parameters; results use fewer."""


def zoned(zone: Any) -> Encode:
    """The text of a moment in a time zone, for sessions with another TimeZone than UTC."""

    def write(value: datetime) -> bytes:
        there = without_zone(value).replace(tzinfo=UTC).astimezone(zone)
        local = there.replace(tzinfo=None)
        offset = there.isoformat(" ").removeprefix(local.isoformat(" "))
        return f"{_short(local.isoformat(' '), local)}{offset.removesuffix(':00')}".encode()

    return write
