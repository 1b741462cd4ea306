"""Aggregates that PostgreSQL has and ksqlDB has not. Of no values they are null, COUNTs 0.

Those that keep all values of a group count how often each is there, so that a table's rows can be
taken back; their state grows with the number of different values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsql import types
from streamsql.functions.base import (
    UNLIMITED,
    AggregateCall,
    Overload,
    SparkColumn,
    aggregate,
    each,
    overload,
)
from streamsql.functions.maps import comparable, restored
from streamsql.types import SQLType

_NUMERIC = "INT BIGINT DOUBLE DECIMAL"
_ORDERED = "INT BIGINT DOUBLE DECIMAL STRING BYTES DATE TIME TIMESTAMP".split()


def _sign(F: Any, call: AggregateCall) -> SparkColumn:
    return F.lit(1) if call.sign is None else call.sign


def _counted(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    """The different values that are there, not null, each with how often, in an array."""
    entry = F.struct(value.alias("value"), _sign(F, call).alias("sign"))
    counts = call.bounded("COUNTED", entry, UNLIMITED, False)
    return F.filter(counts, lambda e: e["value"].isNotNull())


def _different(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    """The different values, not null, in an array."""
    if call.sign is not None:
        return F.transform(_counted(F, call, value), lambda e: e["value"])
    return F.filter(call.bounded("COLLECT_SET", value, UNLIMITED, False), lambda v: v.isNotNull())


def _all_values(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    """All values that are not null, with duplicates, sorted."""
    repeated = F.transform(
        _counted(F, call, value), lambda e: F.array_repeat(e["value"], e["count"].cast("int"))
    )
    return F.array_sort(F.flatten(repeated))


def _total(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    value = value.cast("double")
    return F.coalesce(F.sum(value if call.sign is None else value * call.sign), F.lit(0.0))


def _number(F: Any, call: AggregateCall, met: SparkColumn) -> SparkColumn:
    """The number of rows that meet a condition."""
    return F.coalesce(F.sum(F.when(met, _sign(F, call))), F.lit(0)).cast("bigint")


# -- of different values -------------------------------------------------------------------------


def _count_distinct(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    plain = comparable(F, value, call.arguments[0])
    if call.sign is None:
        return call.count_distinct(plain)
    return F.size(_different(F, call, plain)).cast("bigint")


def _sum_distinct(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    kind = call.spark_type(call.result)
    zero = F.lit(0).cast(kind)
    values = _different(F, call, value)
    return F.aggregate(values, zero, lambda total, x: (total + x).cast(kind))


def _average_distinct(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    values = _different(F, call, value.cast("double"))
    total = F.aggregate(values, F.lit(0.0), lambda sum_, x: sum_ + x)
    return F.when(F.size(values) > 0, total / F.size(values))


def _joined(F: Any, call: AggregateCall, values: SparkColumn) -> SparkColumn:
    present = F.filter(values, lambda v: v.isNotNull())
    return F.when(F.size(present) > 0, F.array_join(present, str(call.constants[1])))


def _string_agg(F: Any, call: AggregateCall, value: SparkColumn, _: SparkColumn) -> SparkColumn:
    return _joined(F, call, _listed(F, call, value))


def _string_agg_distinct(
    F: Any, call: AggregateCall, value: SparkColumn, _: SparkColumn
) -> SparkColumn:
    return _joined(F, call, _different(F, call, value))


def _listed(F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn) -> SparkColumn:
    """The values in order of arrival, nulls too."""
    if call.sign is None and not met:
        return call.bounded("COLLECT_LIST", value, call.limit, False)
    entry = F.struct(value.alias("value"), _sign(F, call).alias("sign"))
    return call.bounded("SIGNED_LIST", F.when(met[0], entry) if met else entry, call.limit, False)


def _array_agg(F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn) -> SparkColumn:
    values = _listed(F, call, value, *met)
    return F.when(F.size(values) > 0, values)


# -- of conditions -------------------------------------------------------------------------------


def _all_true(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    known = _number(F, call, value.isNotNull())
    return F.when(known > 0, _number(F, call, ~value) == 0)


def _any_true(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    known = _number(F, call, value.isNotNull())
    return F.when(known > 0, _number(F, call, value) > 0)


# -- of the row with the greatest ----------------------------------------------------------------


def _by(name: str) -> Any:
    """The value of the row whose second argument is the greatest, or least."""

    def impl(F: Any, call: AggregateCall, value: SparkColumn, by: SparkColumn) -> SparkColumn:
        if call.sign is None:
            order = F.when(by.isNotNull(), F.struct(by.alias("by"), call.order.alias("order")))
            return getattr(F, f"{name}_by")(value, order)
        plain = comparable(F, value, call.arguments[0])
        pair = F.when(by.isNotNull(), F.struct(by.alias("by"), plain.alias("value")))
        pairs = F.transform(_counted(F, call, pair), lambda e: e["value"])
        return restored(F, getattr(F, f"array_{name}")(pairs)["value"], call.result)

    return impl


def _arg_overloads(name: str) -> tuple[Overload, ...]:
    return tuple(overload(f"value T, by {kind} -> T", _by(name)) for kind in _ORDERED)


# -- spread --------------------------------------------------------------------------------------


def _variance(sample: bool) -> Any:
    def impl(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
        if call.sign is None:
            count = F.count(value)
            found = F.var_samp(value) if sample else F.var_pop(value)
        else:
            count = _number(F, call, value.isNotNull())
            total = _total(F, call, value)
            squares = F.greatest(_total(F, call, value * value) - total * total / count, F.lit(0.0))
            found = squares / ((count - 1) if sample else count)
        return F.when(count > (1 if sample else 0), found)

    return impl


def _deviation(sample: bool) -> Any:
    variance = _variance(sample)
    return lambda F, call, value: F.sqrt(variance(F, call, value))


# -- percentiles ---------------------------------------------------------------------------------


def _share(constants: Sequence[object]) -> str | None:
    given = constants[1]
    if isinstance(given, bool) or not 0 <= float(str(given)) <= 1:
        return "needs a share between 0 and 1: 0.95 is the value that 95 % are not above"
    return None


def _percentile_at(F: Any, call: AggregateCall, value: SparkColumn, share: float) -> SparkColumn:
    """Between two values, as much of the way as the share says."""
    if call.sign is None:
        return F.percentile(value, F.lit(share))
    values = _all_values(F, call, value)
    place = (F.size(values) - 1) * F.lit(share)
    low, high = (
        F.try_element_at(values, (rounded(place) + 1).cast("int")) for rounded in (F.floor, F.ceil)
    )
    return F.when(F.size(values) > 0, low + (high - low) * (place - F.floor(place)))


def _percentile(F: Any, call: AggregateCall, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    return _percentile_at(F, call, value, float(str(call.constants[1])))


def _median(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    return _percentile_at(F, call, value, 0.5)


def _approximate(F: Any, call: AggregateCall, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
    accuracy = call.constants[2] if len(call.constants) > 2 else 10_000
    return F.percentile_approx(value, F.lit(float(str(call.constants[1]))), F.lit(accuracy))


def _like_list(given: tuple[SQLType, ...]) -> SQLType:
    return types.array(given[0])


STATISTICS = (
    aggregate(
        "COUNT_DISTINCT_EXACT",
        "The exact number of distinct values: COUNT(DISTINCT x). Nulls are skipped.",
        overload("column T -> BIGINT", _count_distinct),
        undo=True,
        example=("COUNT_DISTINCT_EXACT(x) of 1, NULL, 2, 1", "2"),
    ),
    aggregate(
        "SUM_DISTINCT",
        "The sum of the distinct values: SUM(DISTINCT x). Nulls are skipped. Without values it is "
        "0.",
        each("column {} -> {}", _NUMERIC, _sum_distinct),
        undo=True,
        example=("SUM_DISTINCT(x) of 1, NULL, 2, 1", "3"),
    ),
    aggregate(
        "AVG_DISTINCT",
        "The mean of the distinct values: AVG(DISTINCT x). Nulls are skipped.",
        overload("column DOUBLE -> DOUBLE", _average_distinct),
        undo=True,
        example=("AVG_DISTINCT(x) of 1, NULL, 2, 1", "1.5"),
    ),
    aggregate(
        "COUNT_IF",
        "The number of rows that meet a condition.",
        overload("condition BOOLEAN -> BIGINT", _number),
        undo=True,
        example=("COUNT_IF(x > 1) of 1, NULL, 2, 3", "2"),
    ),
    *(
        aggregate(
            name,
            f"Whether {which} true; nulls are skipped.",
            overload("condition BOOLEAN -> BOOLEAN", impl),
            undo=True,
            example=(f"{name}(x > 1) of 1, NULL, 2", result),
        )
        for name, which, impl, result in (
            ("BOOL_AND", "all values are", _all_true, "FALSE"),
            ("EVERY", "all values are", _all_true, "FALSE"),
            ("BOOL_OR", "any value is", _any_true, "TRUE"),
        )
    ),
    aggregate(
        "ARRAY_AGG",
        "All values in order of arrival, including nulls; with a condition, of the rows that meet "
        "it.",
        overload("column T -> ARRAY<T>", _array_agg),
        overload("column T, where BOOLEAN -> ARRAY<T>", _array_agg, returns=_like_list),
        undo=True,
        filters=True,
        example=("ARRAY_AGG(x) of 1, NULL, 1", "[1, NULL, 1]"),
    ),
    aggregate(
        "STRING_AGG",
        "The texts joined with a separator in order of arrival; nulls are skipped.",
        overload("column STRING, const separator STRING -> STRING", _string_agg),
        undo=True,
        example=("STRING_AGG(x, ', ') of 'b', NULL, 'a', 'b'", "'b, a, b'"),
    ),
    aggregate(
        "STRING_AGG_DISTINCT",
        "The distinct texts in order of their first arrival: STRING_AGG(DISTINCT x, ', ').",
        overload("column STRING, const separator STRING -> STRING", _string_agg_distinct),
        undo=True,
        example=("STRING_AGG_DISTINCT(x, ', ') of 'b', NULL, 'a', 'b'", "'b, a'"),
    ),
    aggregate(
        "ARG_MAX",
        "The value of the row with the greatest `by`; the last such row wins.",
        _arg_overloads("max"),
        undo=True,
        example=("ARG_MAX(x || '!', x) of 'a', 'c', NULL, 'b'", "'c!'"),
    ),
    aggregate(
        "ARG_MIN",
        "The value of the row with the least `by`; the first such row wins.",
        _arg_overloads("min"),
        undo=True,
        example=("ARG_MIN(x || '!', x) of 'b', 'a', NULL", "'a!'"),
    ),
    *(
        aggregate(
            name,
            f"The {what}; nulls are skipped. {least} it is null.",
            overload("column DOUBLE -> DOUBLE", impl),
            undo=True,
            example=(f"{name}(x) of 1, 5, NULL, 3", result),
        )
        for name, what, least, impl, result in (
            (
                "STDDEV",
                "sample standard deviation",
                "Of fewer than two values",
                _deviation(True),
                "2.0",
            ),
            (
                "STDDEV_POP",
                "population standard deviation",
                "Without values",
                _deviation(False),
                "1.632993161855452",
            ),
            ("VARIANCE", "sample variance", "Of fewer than two values", _variance(True), "4.0"),
            ("VAR_SAMP", "sample variance", "Of fewer than two values", _variance(True), "4.0"),
            (
                "VAR_POP",
                "population variance",
                "Without values",
                _variance(False),
                "2.6666666666666665",
            ),
        )
    ),
    aggregate(
        "MEDIAN",
        "The exact median; of an even number of values the mean of the middle two.",
        overload("column DOUBLE -> DOUBLE", _median),
        undo=True,
        example=("MEDIAN(x) of 4, 1, NULL, 2, 10", "3.0"),
    ),
    aggregate(
        "PERCENTILE",
        "The exact percentile, interpolated between values.",
        overload("column DOUBLE, const share DOUBLE -> DOUBLE", _percentile, check=_share),
        undo=True,
        example=("PERCENTILE(x, 0.25) of 1, 2, NULL, 3, 4", "1.75"),
    ),
    aggregate(
        "APPROX_PERCENTILE",
        "The approximate percentile, from a sketch of fixed size; its accuracy is 1/10000, or 1/n.",
        overload("column DOUBLE, const share DOUBLE -> DOUBLE", _approximate, check=_share),
        overload(
            "column DOUBLE, const share DOUBLE, const n INT -> DOUBLE", _approximate, check=_share
        ),
        example=("APPROX_PERCENTILE(x, 0.5) of 1, 2, NULL, 3", "2.0"),
    ),
)
