"""Mathematical functions. Out of its domain a function gives NaN or Infinity, as Java's do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from streamsql import types
from streamsql.functions.base import (
    Call,
    ScalarFunction,
    SparkColumn,
    always,
    each,
    overload,
    scalar,
)
from streamsql.types import SQLType

_CATEGORY = "numeric"
_LARGE = float(1 << 53)
"""From here on a DOUBLE has no fraction."""


def _whole(name: str) -> Any:
    """CEIL and FLOOR of a DOUBLE; Spark's give a BIGINT."""

    def impl(F: Any, value: SparkColumn) -> SparkColumn:
        rounded = getattr(F, name)(value).cast("double")
        return F.when(F.abs(value) < _LARGE, rounded).otherwise(value)

    return impl


def _whole_decimal(name: str) -> Any:
    def impl(F: Any, call: Call, value: SparkColumn) -> SparkColumn:
        return getattr(F, name)(value).cast(call.spark_type(call.result))

    return impl


def _as_bigint(F: Any, value: SparkColumn) -> SparkColumn:
    return value.cast("bigint")


def _places(call: Call) -> int:
    places = call.constants[1] if len(call.constants) > 1 else 0
    return places if isinstance(places, int) else 0


def _integral_decimal(given: tuple[SQLType, ...]) -> SQLType:
    precision, scale = types.precision_scale(given[0])
    return types.decimal(max(precision - scale, 1), 0)


def _round_decimal(F: Any, call: Call, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    rounded = _half_up(F, value, _places(call))
    return rounded.cast(call.spark_type(call.result))


def _half_up(F: Any, value: SparkColumn, places: int) -> SparkColumn:
    """To the nearest, from half way towards the greater (-1.5 becomes -1)."""
    half = F.lit(Decimal(5).scaleb(-places - 1)).cast(_half_type(places))
    return F.floor(value + half, F.lit(places))


def _half_type(places: int) -> str:
    digits = abs(places) + 2
    return f"decimal({digits},{max(places + 1, 0)})"


def _as_decimal(value: SparkColumn) -> SparkColumn:
    """A DOUBLE as the number that its text says; null if it is too large."""
    return value.cast("string").cast("decimal(38,15)")


def _round_double(F: Any, call: Call, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    rounded = _half_up(F, _as_decimal(value), _places(call)).cast("double")
    return F.coalesce(rounded, value)


def _toward_zero(F: Any, value: SparkColumn, places: int) -> SparkColumn:
    down, up = F.floor(value, F.lit(places)), F.ceil(value, F.lit(places))
    return F.when(value >= 0, down).otherwise(up)


def _trunc_decimal(F: Any, call: Call, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    return _toward_zero(F, value, _places(call)).cast(call.spark_type(call.result))


def _trunc_double(F: Any, call: Call, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    truncated = _toward_zero(F, _as_decimal(value), _places(call)).cast("double")
    return F.coalesce(truncated, value)


def _ln(F: Any, value: SparkColumn) -> SparkColumn:
    """Spark gives null where Java gives -Infinity and NaN."""
    return (
        F.when(value == 0, F.lit(float("-inf")))
        .when(value < 0, F.lit(float("nan")))
        .otherwise(F.ln(value))
    )


def _log(F: Any, base: SparkColumn, value: SparkColumn) -> SparkColumn:
    invalid = (base <= 0) | (base == 1)
    return F.when(invalid, F.lit(float("nan"))).otherwise(_ln(F, value) / _ln(F, base))


_KM = ("km", "kilometer", "kilometers", "kilometre", "kilometres")
_MILES = ("mi", "mile", "miles")


def _geo_distance(
    F: Any,
    lat1: SparkColumn,
    lon1: SparkColumn,
    lat2: SparkColumn,
    lon2: SparkColumn,
    *unit: SparkColumn,
) -> SparkColumn:
    radius = F.lit(6371.0)
    if unit:
        name = F.lower(unit[0])
        kilometres = name.isNull() | name.isin(*_KM)
        radius = F.when(kilometres, 6371.0).when(name.isin(*_MILES), 3959.0)
    in_range = lat1.between(-90, 90) & lat2.between(-90, 90)
    in_range = in_range & lon1.between(-180, 180) & lon2.between(-180, 180)
    lat, lon = F.radians(lat2 - lat1) / 2, F.radians(lon2 - lon1) / 2
    along = F.cos(F.radians(lat1)) * F.cos(F.radians(lat2)) * F.pow(F.sin(lon), F.lit(2.0))
    haversine = F.pow(F.sin(lat), F.lit(2.0)) + along
    return F.when(in_range, radius * 2 * F.asin(F.sqrt(haversine)))


def _of_double(name: str, doc: str, example: tuple[str, str]) -> ScalarFunction:
    """A function of Java's Math that Spark has under the same name."""
    return scalar(
        name,
        doc,
        _CATEGORY,
        overload("value DOUBLE -> DOUBLE", lambda F, value: getattr(F, name.lower())(value)),
        example=example,
    )


NUMERICS = (
    scalar(
        "ABS",
        "The value without its sign.",
        _CATEGORY,
        each("value {} -> {}", "INT BIGINT DOUBLE DECIMAL", lambda F, value: F.abs(value)),
        example=("ABS(-3)", "3"),
    ),
    scalar(
        "CEIL",
        "The smallest integer that is not less than the value.",
        _CATEGORY,
        each("value {} -> {}", "INT BIGINT", lambda F, value: value, safe=always),
        overload("value DOUBLE -> DOUBLE", _whole("ceil"), safe=always),
        overload("value DECIMAL -> DECIMAL", _whole_decimal("ceil"), with_call=True),
        fallible="the result does not fit the type",
        example=("CEIL(2.1e0)", "3.0"),
    ),
    scalar(
        "FLOOR",
        "The largest integer that is not greater than the value.",
        _CATEGORY,
        each("value {} -> {}", "INT BIGINT", lambda F, value: value, safe=always),
        overload("value DOUBLE -> DOUBLE", _whole("floor"), safe=always),
        overload("value DECIMAL -> DECIMAL", _whole_decimal("floor"), with_call=True),
        fallible="the result does not fit the type",
        example=("FLOOR(2.9e0)", "2.0"),
    ),
    scalar(
        "ROUND",
        "The value rounded to a number of decimal places; halves round up.",
        _CATEGORY,
        each("value {} -> BIGINT", "INT BIGINT", _as_bigint, safe=always),
        overload("value DOUBLE -> BIGINT", lambda F, value: F.floor(value + 0.5), safe=always),
        overload(
            "value DOUBLE, const places INT -> DOUBLE",
            _round_double,
            with_call=True,
            safe=always,
        ),
        overload(
            "value DECIMAL -> DECIMAL", _round_decimal, returns=_integral_decimal, with_call=True
        ),
        overload("value DECIMAL, const places INT -> DECIMAL", _round_decimal, with_call=True),
        fallible="the result does not fit the type",
        example=(("ROUND(2.5e0)", "3"), ("ROUND(1.25, 1)", "1.30")),
    ),
    scalar(
        "TRUNC",
        "The value truncated to a number of decimal places.",
        _CATEGORY,
        each("value {} -> BIGINT", "INT BIGINT DOUBLE", _as_bigint),
        overload("value DOUBLE, const places INT -> DOUBLE", _trunc_double, with_call=True),
        overload(
            "value DECIMAL -> DECIMAL", _trunc_decimal, returns=_integral_decimal, with_call=True
        ),
        overload("value DECIMAL, const places INT -> DECIMAL", _trunc_decimal, with_call=True),
        example=(("TRUNC(-2.7e0)", "-2"), ("TRUNC(1.29e0, 1)", "1.2")),
    ),
    scalar(
        "SIGN",
        "-1, 0 or 1, as the value is below, equal to or above 0.",
        _CATEGORY,
        overload("value DOUBLE -> INT", lambda F, value: F.signum(value).cast("int")),
        example=("SIGN(-12)", "-1"),
    ),
    _of_double("SQRT", "The square root.", ("SQRT(9)", "3.0")),
    _of_double("CBRT", "The cube root.", ("CBRT(27)", "3.0")),
    _of_double("EXP", "e to the power of the value.", ("EXP(0)", "1.0")),
    _of_double("SIN", "The sine of an angle in radians.", ("SIN(0)", "0.0")),
    _of_double("COS", "The cosine of an angle in radians.", ("COS(0)", "1.0")),
    _of_double("TAN", "The tangent of an angle in radians.", ("TAN(0)", "0.0")),
    _of_double("COT", "The cotangent of an angle in radians.", ("ROUND(COT(0.5), 4)", "1.8305")),
    _of_double("SINH", "The hyperbolic sine.", ("SINH(0)", "0.0")),
    _of_double("COSH", "The hyperbolic cosine.", ("COSH(0)", "1.0")),
    _of_double("TANH", "The hyperbolic tangent.", ("TANH(0)", "0.0")),
    _of_double("ASIN", "The angle in radians that has this sine.", ("ASIN(0)", "0.0")),
    _of_double("ACOS", "The angle in radians that has this cosine.", ("ACOS(1)", "0.0")),
    _of_double("ATAN", "The angle in radians that has this tangent.", ("ATAN(0)", "0.0")),
    _of_double("DEGREES", "Radians in degrees.", ("DEGREES(PI())", "180.0")),
    _of_double("RADIANS", "Degrees in radians.", ("RADIANS(0)", "0.0")),
    scalar(
        "ATAN2",
        "The angle in radians of the point (x, y).",
        _CATEGORY,
        overload("y DOUBLE, x DOUBLE -> DOUBLE", lambda F, y, x: F.atan2(y, x)),
        example=("ATAN2(0, 1)", "0.0"),
    ),
    scalar(
        "POWER",
        "The base to the power of the exponent.",
        _CATEGORY,
        overload("base DOUBLE, exponent DOUBLE -> DOUBLE", lambda F, b, e: F.pow(b, e)),
        example=("POWER(2, 10)", "1024.0"),
    ),
    scalar(
        "LN",
        "The natural logarithm.",
        _CATEGORY,
        overload("value DOUBLE -> DOUBLE", _ln),
        example=("LN(1)", "0.0"),
    ),
    scalar(
        "LOG",
        "The natural logarithm, or with a base, the logarithm to that base.",
        _CATEGORY,
        overload("value DOUBLE -> DOUBLE", _ln),
        overload("base DOUBLE, value DOUBLE -> DOUBLE", _log),
        example=(("LOG(1)", "0.0"), ("LOG(2, 8)", "3.0")),
    ),
    scalar(
        "WIDTH_BUCKET",
        "The number of the bucket of a value, of `count` equal buckets from `low` to `high`, "
        "exclusive; 0 below `low`, `count` + 1 from `high` on.",
        _CATEGORY,
        overload(
            "value DOUBLE, low DOUBLE, high DOUBLE, count INT -> INT",
            lambda F, value, low, high, count: F.width_bucket(value, low, high, count).cast("int"),
        ),
        fallible="there is no bucket between such bounds",
        example=(("WIDTH_BUCKET(5, 0, 10, 4)", "3"), ("WIDTH_BUCKET(10, 0, 10, 4)", "5")),
    ),
    scalar(
        "PI",
        "The ratio of a circle's circumference to its diameter.",
        _CATEGORY,
        overload("-> DOUBLE", lambda F: F.pi()),
        example=("PI()", "3.141592653589793"),
    ),
    scalar(
        "RANDOM",
        "A random number from 0.0 up to but not including 1.0.",
        _CATEGORY,
        overload("-> DOUBLE", lambda F: F.rand()),
        deterministic=False,
        example=("RANDOM() < 1", "TRUE"),
    ),
    scalar(
        "GEO_DISTANCE",
        "The distance between two points on earth, in kilometres, or in miles with 'mi'.",
        _CATEGORY,
        *(
            overload(
                f"lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE{unit} -> DOUBLE",
                _geo_distance,
            )
            for unit in ("", ", unit STRING")
        ),
        fallible="a latitude, longitude or unit is out of range",
        example=("ROUND(GEO_DISTANCE(37.4439, -122.1663, 51.5257, -0.1122))", "8635"),
    ),
)
