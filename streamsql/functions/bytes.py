"""Functions between text and bytes."""

from __future__ import annotations

from typing import Any

from streamsql.functions.base import SparkColumn, overload, scalar

_CATEGORY = "bytes"


def _decoded(F: Any, text: SparkColumn, encoding: SparkColumn) -> SparkColumn:
    """The bytes of a text; null if it is not in the encoding."""
    digits = F.regexp_replace(text, r"^0x|^X'(.*)'$", "$1")
    ascii_text = F.regexp_replace(text, r"[^\x00-\x7F]", "?")
    return (
        F.when(encoding == "hex", F.unhex(digits))
        .when(encoding == "utf8", F.encode(text, "UTF-8"))
        .when(encoding == "ascii", F.encode(ascii_text, "UTF-8"))
        .when(encoding == "base64", F.try_to_binary(text, F.lit("base64")))
    )


def _encoded(F: Any, value: SparkColumn, encoding: SparkColumn) -> SparkColumn:
    ascii_text = F.regexp_replace(F.decode(value, "ISO-8859-1"), r"[^\x00-\x7F]", "\ufffd")
    return (
        F.when(encoding == "hex", F.hex(value))
        .when(encoding == "utf8", value.cast("string"))
        .when(encoding == "ascii", ascii_text)
        .when(encoding == "base64", F.base64(value))
    )


def _encode(F: Any, text: SparkColumn, given: SparkColumn, wanted: SparkColumn) -> SparkColumn:
    given, wanted = F.lower(given), F.lower(wanted)
    result = _encoded(F, _decoded(F, text, given), wanted)
    shown = F.when(wanted == "hex", F.lower(result)).otherwise(result)
    return F.when(given != wanted, shown)


def _big_endian_hex(F: Any, value: SparkColumn, size: int, *order: SparkColumn) -> SparkColumn:
    """The bytes' digits, the most significant first; null unless there are `size` bytes."""
    forward = F.hex(value)
    result = forward
    if order:
        backward = F.concat(
            *(F.hex(F.substr(value, F.lit(i), F.lit(1))) for i in range(size, 0, -1))
        )
        result = F.when(order[0] == "BIG_ENDIAN", forward).when(
            order[0] == "LITTLE_ENDIAN", backward
        )
    return F.when(F.length(value) == size, result)


def _long(F: Any, digits: SparkColumn) -> SparkColumn:
    return F.conv(digits, 16, -10).cast("bigint")


def _int_from(F: Any, value: SparkColumn, *order: SparkColumn) -> SparkColumn:
    return _long(F, _big_endian_hex(F, value, 4, *order)).cast("int")


def _bigint_from(F: Any, value: SparkColumn, *order: SparkColumn) -> SparkColumn:
    return _long(F, _big_endian_hex(F, value, 8, *order))


def _double_from(F: Any, value: SparkColumn, *order: SparkColumn) -> SparkColumn:
    """By the parts of an IEEE number: every step is exact."""
    bits = _bigint_from(F, value, *order)
    fraction = bits.bitwiseAND(F.lit((1 << 52) - 1)).cast("double")
    exponent = F.shiftrightunsigned(bits, 52).bitwiseAND(F.lit(0x7FF)).cast("int")
    sign = F.when(bits < 0, F.lit(-1.0)).otherwise(F.lit(1.0))
    special = F.when(fraction == 0, sign * F.lit(float("inf"))).otherwise(F.lit(float("nan")))
    subnormal = sign * fraction * F.pow(F.lit(2.0), F.lit(-1074.0))
    normal = sign * (fraction / F.lit(float(1 << 52)) + 1) * F.pow(F.lit(2.0), exponent - 1023)
    return F.when(exponent == 0x7FF, special).when(exponent == 0, subnormal).otherwise(normal)


def _to_bytes(F: Any, text: SparkColumn, encoding: SparkColumn) -> SparkColumn:
    return _decoded(F, text, F.lower(encoding))


def _from_bytes(F: Any, value: SparkColumn, encoding: SparkColumn) -> SparkColumn:
    return _encoded(F, value, F.lower(encoding))


_ORDER = ", order STRING"
_WRONG_SIZE = "wrong number of bytes, or an order other than BIG_ENDIAN and LITTLE_ENDIAN"
_WRONG_ENCODING = "unknown encoding (hex, utf8, ascii, base64), or a text that is not written in it"

BYTES = (
    scalar(
        "ENCODE",
        "The text in another encoding: hex, utf8, ascii or base64.",
        _CATEGORY,
        overload("text STRING, input STRING, output STRING -> STRING", _encode),
        fallible=_WRONG_ENCODING,
        example=("ENCODE('abc', 'utf8', 'hex')", "'616263'"),
    ),
    scalar(
        "TO_BYTES",
        "The bytes of a text in hex, utf8, ascii or base64.",
        _CATEGORY,
        overload("text STRING, encoding STRING -> BYTES", _to_bytes),
        fallible=_WRONG_ENCODING,
        example=("LEN(TO_BYTES('616263', 'hex'))", "3"),
    ),
    scalar(
        "FROM_BYTES",
        "The bytes as text in hex, utf8, ascii or base64.",
        _CATEGORY,
        overload("value BYTES, encoding STRING -> STRING", _from_bytes),
        fallible=_WRONG_ENCODING,
        example=("FROM_BYTES(TO_BYTES('abc', 'utf8'), 'base64')", "'YWJj'"),
    ),
    scalar(
        "INT_FROM_BYTES",
        "The INTEGER of 4 bytes.",
        _CATEGORY,
        *(overload(f"value BYTES{order} -> INT", _int_from) for order in ("", _ORDER)),
        fallible=_WRONG_SIZE,
        example=("INT_FROM_BYTES(TO_BYTES('0000002A', 'hex'))", "42"),
    ),
    scalar(
        "BIGINT_FROM_BYTES",
        "The BIGINT of 8 bytes.",
        _CATEGORY,
        *(overload(f"value BYTES{order} -> BIGINT", _bigint_from) for order in ("", _ORDER)),
        fallible=_WRONG_SIZE,
        example=("BIGINT_FROM_BYTES(TO_BYTES('FFFFFFFFFFFFFFFF', 'hex'))", "-1"),
    ),
    scalar(
        "DOUBLE_FROM_BYTES",
        "The DOUBLE of 8 bytes.",
        _CATEGORY,
        *(overload(f"value BYTES{order} -> DOUBLE", _double_from) for order in ("", _ORDER)),
        fallible=_WRONG_SIZE,
        example=("DOUBLE_FROM_BYTES(TO_BYTES('4045000000000000', 'hex'))", "42.0"),
    ),
)
