"""CAST on Spark, by the matrix of `types.can_cast`; texts are written as Java writes them."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql import types
from streamsql.errors import TypeMismatchError
from streamsql.executor.expressions.context import Lowering, constant
from streamsql.executor.spark.types import spark_type
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.planner.types.scope import is_literal
from streamsql.types import SQLType, type_of

_DAY_MS = 86_400_000


def cast(node: exp.Cast, lowering: Lowering) -> Column:
    """The value as one of another type; a null by itself, should it or the value fail."""
    return lowering.contained(node, _cast)


def _cast(node: exp.Cast, lowering: Lowering) -> Column:
    source, target = type_of(node.this), node.to
    if types.is_null(source):
        return lowering.null(target)
    folded = _folded(node, lowering)
    if folded is not None:
        return folded
    value = lowering.lower(node.this)
    converted = convert(value, source, target, lax=bool(node.meta.get("lax")))
    if not can_fail(source, target):
        return converted
    message = f"Cast of a {types.to_sql(source)} to {types.to_sql(target)} failed"
    if types.is_decimal(target):
        precision, scale = types.precision_scale(target)
        message = (
            f"Numeric field overflow: A field with precision {precision} and scale {scale} "
            f"must round to an absolute value less than 10^{precision - scale}"
        )
    return lowering.checked(converted, message, target, (value, node.this))


def _folded(node: exp.Cast, lowering: Lowering) -> Column | None:
    """A cast literal, converted once, now."""
    if not is_literal(node.this):
        return None
    try:
        value = evaluate_constant(node)
    except TypeMismatchError as error:
        return lowering.fail(error.message, node.to)
    return None if value is NOT_CONSTANT else constant(value, node.to)


def can_fail(source: SQLType, target: SQLType) -> bool:
    """Whether a value that is not null may have no counterpart in the target."""
    if target in (types.STRING, types.BOOLEAN) or types.widens_to(source, target):
        return source == types.STRING and target not in (types.STRING, types.BOOLEAN)
    if types.is_decimal(target) and source != types.STRING and source != types.DOUBLE:
        held = types.common_type(source, target)
        return held != target
    return source == types.STRING or types.is_decimal(target)


def convert(value: Column, source: SQLType, target: SQLType, *, lax: bool = False) -> Column:
    """The value as one of the target's type; null where it has no counterpart there."""
    if source == target:
        return value
    if target == types.STRING:
        return to_text(value, source)
    if source == types.STRING:
        return _FROM_STRING.get(target.this, _try_cast)(value, target)
    if types.is_array(target):
        inner = types.element_type(source), types.element_type(target)
        return F.transform(value, lambda element: convert(element, *inner))
    if types.is_map(target):
        return _convert_map(value, source, target)
    if types.is_struct(target):
        return _convert_struct(value, source, target)
    if target == types.TIME:
        return F.pmod(F.unix_millis(value), F.lit(_DAY_MS).cast("bigint"))
    return value.cast(spark_type(target))


def _convert_map(value: Column, source: SQLType, target: SQLType) -> Column:
    keys = types.key_type(source), types.key_type(target)
    values = types.element_type(source), types.element_type(target)
    if keys[0] != keys[1]:
        value = F.transform_keys(value, lambda k, _: convert(k, *keys))
    if values[0] != values[1]:
        value = F.transform_values(value, lambda _, v: convert(v, *values))
    return value


def _convert_struct(value: Column, source: SQLType, target: SQLType) -> Column:
    given = dict(types.fields(source))
    fields = [
        (
            convert(value.getField(name), given[name], kind)
            if name in given
            else F.lit(None).cast(spark_type(kind))
        ).alias(name)
        for name, kind in types.fields(target)
    ]
    return F.when(value.isNotNull(), F.struct(*fields))


# -- from text -----------------------------------------------------------------------------------


def _try_cast(value: Column, target: SQLType) -> Column:
    return value.try_cast(spark_type(target))


def _boolean(value: Column, target: SQLType) -> Column:
    """TRUE for a beginning of `true` or `yes`, else FALSE."""
    del target
    text = F.lower(value)
    begins = F.startswith(F.lit("true"), text) | F.startswith(F.lit("yes"), text)
    return begins & (value != "")


def _timestamp(value: Column, target: SQLType) -> Column:
    del target
    # Spark reads neither an hour without minutes nor a zone without a colon.
    text = F.regexp_replace(F.trim(value), r"T(\d\d?)(?=$|Z|[+-])", "T$1:00")
    text = F.regexp_replace(text, r"([+-]\d\d)(\d\d)$", "$1:$2")
    text = F.when(F.length(value) <= 10, value).otherwise(text)
    # Spark also reads words such as `yesterday`.
    numeric = value.rlike(r"^\s*\d{4}")
    return F.when(numeric, F.date_trunc("millisecond", text.try_cast("timestamp")))


def _date(value: Column, target: SQLType) -> Column:
    del target
    numeric = value.rlike(r"^\s*\d{4}(-\d\d?){0,2}\s*$")
    return F.when(numeric, value.try_cast("date"))


def _time(value: Column, target: SQLType) -> Column:
    del target
    text = F.trim(value)
    moment = F.concat(F.lit("1970-01-01T"), text).try_cast("timestamp")
    return F.when(text.rlike(r"^\d\d:\d\d(:\d\d(\.\d{1,9})?)?$"), F.unix_millis(moment))


def _bytes(value: Column, target: SQLType) -> Column:
    del target
    return F.try_to_binary(value, F.lit("base64"))


_FROM_STRING: dict[object, Callable[[Column, SQLType], Column]] = {
    types.BOOLEAN.this: _boolean,
    types.TIMESTAMP.this: _timestamp,
    types.DATE.this: _date,
    types.TIME.this: _time,
    types.BYTES.this: _bytes,
}


# -- to text -------------------------------------------------------------------------------------


def to_text(value: Column, source: SQLType) -> Column:
    """The value as Java prints it."""
    if source == types.STRING:
        return value
    if source == types.TIMESTAMP:
        return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS")
    if source == types.TIME:
        moment = F.timestamp_millis(value)
        whole_minute = value % 60_000 < 1000
        short, long = F.date_format(moment, "HH:mm"), F.date_format(moment, "HH:mm:ss")
        return F.when(whole_minute, short).otherwise(long)
    if source == types.BYTES:
        return F.base64(value)
    if types.is_decimal(source):
        return _plain_decimal(value, source)
    if types.is_array(source):
        element = types.element_type(source)
        texts = F.transform(value, lambda e: to_text(e, element))
        return F.concat(F.lit("["), F.array_join(texts, ", ", "null"), F.lit("]"))
    if types.is_map(source):
        return _map_text(value, source)
    if types.is_struct(source):
        return _struct_text(value, source)
    return value.cast("string")


def _plain_decimal(value: Column, source: SQLType) -> Column:
    """Spark writes small DECIMALs of more than 6 digits after the point as 1E-7."""
    _, scale = types.precision_scale(source)
    if scale <= 6:
        return value.cast("string")
    shown = value.cast("string")
    # The digits before the E are all that the number has: 1.20E-7 is 0.000000120.
    digits = F.regexp_replace(F.split_part(shown, F.lit("E"), F.lit(1)), "[-.]", "")
    sign = F.when(value < 0, F.lit("-0.")).otherwise(F.lit("0."))
    plain = F.concat(sign, F.lpad(digits, scale, "0"))
    return F.when(F.contains(shown, F.lit("E")), plain).otherwise(shown)


def _map_text(value: Column, source: SQLType) -> Column:
    key, element = types.key_type(source), types.element_type(source)
    entries = F.transform(
        F.map_entries(value),
        lambda e: F.concat(
            to_text(e["key"], key),
            F.lit("="),
            F.coalesce(to_text(e["value"], element), F.lit("null")),
        ),
    )
    return F.concat(F.lit("{"), F.array_join(entries, ", "), F.lit("}"))


def _struct_text(value: Column, source: SQLType) -> Column:
    """Fields that are null are left out."""
    parts = [
        F.concat(F.lit(f"{name}="), to_text(value.getField(name), kind))
        for name, kind in types.fields(source)
    ]
    text = F.concat(F.lit("Struct{"), F.concat_ws(",", *parts), F.lit("}"))
    return F.when(value.isNotNull(), text)
