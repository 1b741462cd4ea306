"""Aggregate functions: one value from the rows of a group, each with its own rule for nulls.
`call.order` sorts rows by arrival, because Spark guarantees no order within a group. Functions with
undo=True use `call.sign`, by which rows of a table are retracted."""

from __future__ import annotations

from typing import Any

from streamsql import types
from streamsql.functions.base import (
    UNLIMITED,
    AggregateCall,
    SparkColumn,
    aggregate,
    each,
    overload,
)
from streamsql.functions.maps import comparable, restored
from streamsql.types import SQLType

_NUMERIC = "INT BIGINT DOUBLE DECIMAL"
_ORDERED = "INT BIGINT DOUBLE DECIMAL STRING BYTES DATE TIME TIMESTAMP"
_TOP = "INT BIGINT DOUBLE STRING"
_ORDERED_D = _ORDERED.replace("DECIMAL", "D")
_HISTOGRAM_KEYS = 1000
_MOST_DIGITS = types.MAX_PRECISION


def _signed_count(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    """How many rows have the value, less those that are taken back."""
    return F.coalesce(F.sum(F.when(value.isNotNull(), call.sign)), F.lit(0)).cast("bigint")


def _signed_sum(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    return F.coalesce(F.sum(value.cast("double") * call.sign), F.lit(0.0))


def _count(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    return F.count(value) if call.sign is None else _signed_count(F, call, value)


def _sum(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    # Of no values 0; a sum that its DECIMAL type cannot hold is null.
    if call.sign is not None:
        value = F.when(call.sign < 0, -value).otherwise(value)
    total = F.sum(value)
    if types.is_decimal(call.result) and types.precision_scale(call.result)[0] == _MOST_DIGITS:
        # Spark's sum is null where it has run out of digits, too.
        total = F.when(F.count(value) > 0, total).otherwise(F.lit(0))
    else:
        total = F.coalesce(total, F.lit(0))
    return total.cast(call.spark_type(call.result))


def _average(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    if call.sign is None:
        return F.coalesce(F.avg(value), F.lit(0.0))
    count = _signed_count(F, call, value)
    return F.when(count > 0, _signed_sum(F, call, value) / count).otherwise(F.lit(0.0))


def _ignores_nulls(call: AggregateCall) -> bool:
    """The last argument of LATEST_BY_OFFSET and EARLIEST_BY_OFFSET, TRUE where it is left out."""
    last = call.constants[-1]
    return last if isinstance(last, bool) else True


def _by_offset(name: str) -> Any:
    """`max_by` or `min_by` over the order of arrival; an order of null leaves a row out."""

    def impl(F: Any, call: AggregateCall, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
        present = F.when(value.isNotNull(), call.order) if _ignores_nulls(call) else call.order
        return getattr(F, name)(value, present)

    return impl


def _n_by_offset(kind: str) -> Any:
    """The first or last n in order of arrival."""

    def impl(F: Any, call: AggregateCall, value: SparkColumn, *_: SparkColumn) -> SparkColumn:
        row = F.struct(call.order.alias("order"), value.alias("value"))
        return call.bounded(kind, row, _constant(call, 1), _ignores_nulls(call))

    return impl


def _constant(call: AggregateCall, index: int) -> int:
    value = call.constants[index]
    return value if isinstance(value, int) else UNLIMITED


def _collect_list(
    F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn
) -> SparkColumn:
    if call.sign is None and not met:
        return call.bounded("COLLECT_LIST", value, call.limit, False)
    return call.bounded("SIGNED_LIST", _if_met(F, call, value, *met), call.limit, False)


def _if_met(F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn) -> SparkColumn:
    """The value with its sign; null for a row that does not meet the condition."""
    entry = _with_sign(F, call, value)
    return F.when(met[0], entry) if met else entry


def _collect_set(F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn) -> SparkColumn:
    plain = comparable(F, value, call.arguments[0])
    if met:
        counts = call.bounded("COUNTED", _if_met(F, call, plain, *met), call.limit, False)
        return restored(F, F.transform(counts, lambda entry: entry["value"]), call.result)
    return restored(F, call.bounded("COLLECT_SET", plain, call.limit, False), call.result)


def _count_distinct(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    return F.approx_count_distinct(comparable(F, value, call.arguments[0]), 0.02)


def _with_sign(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    sign = F.lit(1) if call.sign is None else call.sign
    return F.struct(value.alias("value"), sign.alias("sign"))


def _histogram(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    counts = call.bounded("COUNTED", _with_sign(F, call, value), _HISTOGRAM_KEYS, False)
    return F.map_from_entries(F.filter(counts, lambda entry: entry["value"].isNotNull()))


def _the_only_one(
    F: Any, call: AggregateCall, value: SparkColumn, *met: SparkColumn
) -> SparkColumn:
    # For a stream, two values prove that the values differ.
    limit = 2 if call.sign is None else UNLIMITED
    plain = comparable(F, value, call.result)
    found = call.bounded("COUNTED", _if_met(F, call, plain, *met), limit, False)
    only = F.when(F.size(found) == 1, F.try_element_at(found, F.lit(1))["value"])
    return restored(F, only, call.result)


def _top(kind: str) -> Any:
    return lambda F, call, value, k: call.bounded(kind, value, _constant(call, 1), True)


def _top_rows(F: Any, call: AggregateCall, value: SparkColumn, *rest: SparkColumn) -> SparkColumn:
    """With further columns: structs of the value and these."""
    others = [column.alias(f"col{i}") for i, column in enumerate(rest[:-1])]
    row = F.struct(value.alias("sort_col"), *others)
    return call.bounded("TOPK_BY", row, _constant(call, len(rest)), True)


def _top_rows_type(given: tuple[SQLType, ...]) -> SQLType:
    first, *others, _ = given
    named = [(f"col{i}", kind) for i, kind in enumerate(others)]
    return types.array(types.struct([("sort_col", first), *named]))


def _variance(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    if call.sign is None:
        return F.coalesce(F.var_samp(value), F.lit(0.0))
    n, total = _signed_count(F, call, value), _signed_sum(F, call, value)
    squares = F.greatest(_signed_sum(F, call, value * value) - total * total / n, F.lit(0.0))
    return F.when(n > 1, squares / (n - 1)).otherwise(F.lit(0.0))


def _correlation(F: Any, call: AggregateCall, x: SparkColumn, y: SparkColumn) -> SparkColumn:
    none = F.lit(float("nan"))
    if call.sign is None:
        return F.coalesce(F.corr(x, y), none)
    x, y = F.when(y.isNotNull(), x), F.when(x.isNotNull(), y)
    n, sum_x, sum_y = (
        _signed_count(F, call, x),
        _signed_sum(F, call, x),
        _signed_sum(F, call, y),
    )
    spread_x = n * _signed_sum(F, call, x * x) - sum_x * sum_x
    spread_y = n * _signed_sum(F, call, y * y) - sum_y * sum_y
    both = n * _signed_sum(F, call, x * y) - sum_x * sum_y
    known = (spread_x > 0) & (spread_y > 0)
    return F.when(known, both / (F.sqrt(spread_x) * F.sqrt(spread_y))).otherwise(none)


def _sum_list(F: Any, call: AggregateCall, value: SparkColumn) -> SparkColumn:
    kind = call.spark_type(call.result)
    zero = F.lit(0).cast(kind)
    return _sum(F, call, F.aggregate(value, zero, lambda total, x: total + F.coalesce(x, zero)))


_OFFSET_SIGNATURES = ("column T -> T", "column T, const ignoreNulls BOOLEAN -> T")
_N_OFFSET_SIGNATURES = (
    "column T, const n INT -> ARRAY<T>",
    "column T, const n INT, const ignoreNulls BOOLEAN -> ARRAY<T>",
)

_OTHERS = tuple(
    ", ".join(f"other{i} {letter}" for i, letter in enumerate("ABCE"[:count], 1))
    for count in range(1, 5)
)
"""Up to four further columns of TOPK; D would mean a DECIMAL."""

AGGREGATES = (
    aggregate(
        "COUNT",
        "The number of rows, or with an argument, the number of values that are not null.",
        overload("-> BIGINT", lambda F, call: _count(F, call, F.lit(1))),
        overload("column T -> BIGINT", _count),
        undo=True,
        example=("COUNT(x) of 1, NULL, 2", "2"),
    ),
    aggregate(
        "SUM",
        "The sum of the values; nulls are skipped. Without values it is 0.",
        each("column {} -> {}", _NUMERIC, _sum),
        undo=True,
        example=("SUM(x) of 1, NULL, 2", "3"),
    ),
    aggregate(
        "AVG",
        "The mean of the values; nulls are skipped. Without values it is 0.0.",
        each("column {} -> DOUBLE", "INT BIGINT DOUBLE", _average),
        undo=True,
        example=("AVG(x) of 1, NULL, 2", "1.5"),
    ),
    aggregate(
        "SUM_LIST",
        "The sum of all elements of the arrays; nulls are skipped. Without elements it is 0.",
        each("column ARRAY<{}> -> {}", "INT BIGINT DOUBLE", _sum_list),
        undo=True,
        example=("SUM_LIST(x) of ARRAY[1, NULL], ARRAY[2, 3]", "6"),
    ),
    aggregate(
        "STDDEV_SAMPLE",
        "The sample standard deviation; nulls are skipped. Of fewer than two values it is 0.0.",
        overload("column DOUBLE -> DOUBLE", lambda F, call, x: F.sqrt(_variance(F, call, x))),
        undo=True,
        example=("STDDEV_SAMPLE(x) of 1, 5, NULL, 3", "2.0"),
    ),
    aggregate(
        "STDDEV_SAMP",
        "The sample variance, despite its name; STDDEV_SAMPLE is its square root.",
        overload("column DOUBLE -> DOUBLE", _variance),
        undo=True,
        example=("STDDEV_SAMP(x) of 1, 5, 3", "4.0"),
    ),
    aggregate(
        "CORRELATION",
        "Pearson's correlation of two columns; rows with a null are skipped. Of fewer than two "
        "rows it is NaN.",
        overload("x DOUBLE, y DOUBLE -> DOUBLE", _correlation),
        undo=True,
        example=("CORRELATION(x, 2 * x) of 1, 2, 3", "1.0"),
    ),
    aggregate(
        "MIN",
        "The least value; nulls are skipped.",
        each("column {} -> {}", _ORDERED, lambda F, call, value: F.min(value)),
        example=("MIN(x) of 2, NULL, 1", "1"),
    ),
    aggregate(
        "MAX",
        "The greatest value; nulls are skipped.",
        each("column {} -> {}", _ORDERED, lambda F, call, value: F.max(value)),
        example=("MAX(x) of 2, NULL, 1", "2"),
    ),
    aggregate(
        "COUNT_DISTINCT",
        "The number of distinct values, estimated by HyperLogLog; nulls are skipped.",
        overload("column T -> BIGINT", _count_distinct),
        example=("COUNT_DISTINCT(x) of 1, NULL, 2, 1", "2"),
    ),
    aggregate(
        "COLLECT_LIST",
        "All values in order of arrival, including nulls; with a condition, of the rows that meet "
        "it.",
        overload("column T -> ARRAY<T>", _collect_list),
        overload("column T, where BOOLEAN -> ARRAY<T>", _collect_list),
        undo=True,
        filters=True,
        example=("COLLECT_LIST(x) of 1, NULL, 1", "[1, NULL, 1]"),
    ),
    aggregate(
        "COLLECT_SET",
        "The distinct values in order of their first arrival; with a condition, of the rows that "
        "meet it.",
        overload("column T -> ARRAY<T>", _collect_set),
        overload("column T, where BOOLEAN -> ARRAY<T>", _collect_set),
        filters=True,
        example=("COLLECT_SET(x) of 2, 1, 2", "[2, 1]"),
    ),
    aggregate(
        "HISTOGRAM",
        "The count of each value, for the first 1000 distinct values; nulls are skipped.",
        overload("column STRING -> MAP<STRING, BIGINT>", _histogram),
        undo=True,
        example=("HISTOGRAM(x) of 'a', NULL, 'b', 'a'", "{'a': 2, 'b': 1}"),
    ),
    aggregate(
        "ATTR",
        "The value that all rows have; null where they differ, or where it is null. With a "
        "condition, all rows that meet it.",
        overload("column T -> T", _the_only_one),
        overload("column T, where BOOLEAN -> T", _the_only_one),
        undo=True,
        filters=True,
        example=("ATTR(x) of 1, 1", "1"),
    ),
    aggregate(
        "TOPK",
        "The k greatest values in descending order; nulls are skipped.",
        each("column {}, const k INT -> ARRAY<{}>", _TOP, _top("TOPK")),
        *(
            each(
                f"column {{}}, {others}, const k INT -> ARRAY<T>",
                _TOP,
                _top_rows,
                returns=_top_rows_type,
            )
            for others in _OTHERS
        ),
        example=("TOPK(x, 2) of 1, 3, 3, 2", "[3, 3]"),
    ),
    aggregate(
        "TOPKDISTINCT",
        "The k greatest distinct values in descending order; nulls are skipped.",
        each("column {}, const k INT -> ARRAY<{}>", _ORDERED_D, _top("TOPK_DISTINCT")),
        example=("TOPKDISTINCT(x, 2) of 1, 3, 3, 2", "[3, 2]"),
    ),
    aggregate(
        "LATEST_BY_OFFSET",
        "The value that arrived last, or the last n values; nulls are skipped by default.",
        *(overload(text, _by_offset("max_by")) for text in _OFFSET_SIGNATURES),
        *(overload(text, _n_by_offset("LATEST")) for text in _N_OFFSET_SIGNATURES),
        example=("LATEST_BY_OFFSET(x) of 1, 2, NULL", "2"),
    ),
    aggregate(
        "EARLIEST_BY_OFFSET",
        "The value that arrived first, or the first n values; nulls are skipped by default.",
        *(overload(text, _by_offset("min_by")) for text in _OFFSET_SIGNATURES),
        *(overload(text, _n_by_offset("EARLIEST")) for text in _N_OFFSET_SIGNATURES),
        example=("EARLIEST_BY_OFFSET(x) of NULL, 1, 2", "1"),
    ),
    aggregate(
        "ANY_VALUE",
        "The first value that is not null, in order of arrival.",
        overload("column T -> T", _by_offset("min_by")),
        example=("ANY_VALUE(x) of NULL, 1, 2", "1"),
    ),
)
