"""Over: aggregates of the rows before each row, and values of one of them, by a keyed operator:
Spark has none for continuous rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from streamsql.executor.expressions.expression import column
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    SYSTEM_COLUMNS,
    TIME_COLUMN,
    Scope,
    quoted,
    system_columns,
)
from streamsql.executor.frames.guard import JvmErrorGuard, expression_context
from streamsql.executor.frames.keyed import (
    columns_type,
    input_rows,
    normalized,
    operate,
    packed_headers,
    struct_type,
    unpacked,
    unpacked_headers,
)
from streamsql.executor.frames.layouts import Columns, columns_of_type
from streamsql.executor.frames.table_changes import pair
from streamsql.executor.operators.aggregation.grouping import ORDER, Grouping, grouping, total
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import Aggregate, Frame, Named, Ordering, Over, OverCall
from streamsql.planner.scopes.text import expression_text
from streamsql.types import type_of

_KIND = "aggregates.OverWindows"
_WAITING = "aggregates.WaitingRows"
_STEP = "Over"
_GROUP, _ROW, _MADE = "$group", "$row", "$made"
_OWN_TIME = "$own_time"
"""Own time of a row with another order."""
_BOUNDS = (START_COLUMN, END_COLUMN)
"""System columns that are part of the row: the operator itself knows the others."""
_AT_ONCE = -1
_AT_THE_END = 2**63 - 1


@dataclass(frozen=True)
class _Frames:
    """The aggregates, by their frames."""

    frames: tuple[Frame, ...]
    calls: tuple[OverCall, ...]
    grouped: Grouping
    """All aggregates, as of one group."""

    def of(self, frame: Frame, scope: Scope) -> list[Column]:
        results = self.grouped.results(scope)
        return [
            result for call, result in zip(self.calls, results, strict=True) if call.frame == frame
        ]

    @property
    def text(self) -> str:
        return ";".join(
            f"{_bound(f.rows)},{_bound(f.ms)},{'true' if f.peers else 'false'}" for f in self.frames
        )


def _bound(value: int | None) -> int:
    return -1 if value is None else value


def lower(node: Over, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    rows = rows.where(~quoted(NULL_COLUMN))
    frames = _frames(node, scope)
    prepared = _prepare(node, frames, rows, scope)
    lagged = [call for call in node.calls if call.lag]
    names = [*frames.grouped.needed, *_lagged(node), ORDER]
    values = prepared.select(*map(quoted, names))
    totals = [values.groupBy().agg(*frames.of(frame, scope)) for frame in frames.frames]
    buffers = [scope.jvm.aggregate_buffers(frame) for frame in totals]
    carried = _carried(node, rows, scope)
    row_type = columns_type(prepared, carried)
    group_type = struct_type(prepared, quoted(_GROUP))
    _note_stores(node, group_type, values.schema, row_type, buffers, scope)
    key = scope.jvm.pack(quoted(_GROUP), group_type)
    taken = scope.jvm.pack(F.struct(*map(quoted, names)), values.schema)
    row = scope.jvm.pack(F.struct(*map(quoted, carried)), row_type)
    if node.order is not None:
        prepared = _by_place(node.order, prepared)
    keyed = input_rows(prepared, key, pair(taken, row, scope), headers=packed_headers(scope))
    lags = list(dict.fromkeys(call.lag for call in lagged))
    waits = _AT_ONCE if node.grace_ms is None else node.grace_ms
    made = operate(
        [keyed],
        _KIND,
        buffers,
        frames.text,
        ",".join(map(str, lags)),
        len(names),
        waits if rows.isStreaming else _AT_THE_END,
        scope=scope,
    )
    sources = [*(frame.schema for frame in totals), *(values.schema for _ in lags)]
    found = _unpacked(made, row_type, sources, scope)
    places: list[Frame | int] = [*frames.frames, *lags]
    return _result(node, found, carried, places, scope)


def _frames(node: Over, scope: Scope) -> _Frames:
    calls = tuple(call for call in node.calls if not call.lag)
    named = tuple(Named(call.name, call.expression) for call in calls)
    keys = tuple(Named(f"key{number}", key) for number, key in enumerate(node.keys))
    grouped = grouping(Aggregate(node.input, keys, named), scope)
    return _Frames(tuple(dict.fromkeys(call.frame for call in calls)), calls, grouped)


def _lagged(node: Over) -> dict[str, OverCall]:
    """Frame names of LAG's values."""
    return {f"$lag{number}": call for number, call in enumerate(node.calls) if call.lag}


def _prepare(node: Over, frames: _Frames, rows: DataFrame, scope: Scope) -> DataFrame:
    """Partition, values and position of each row, in addition to the input's columns."""
    context = expression_context(node.input.schema, scope, _STEP)
    keys = [
        normalized(column(key, context), spark_type(type_of(key))).alias(f"key{number}")
        for number, key in enumerate(node.keys)
    ]
    group = F.struct(*(keys or [F.lit(True).alias("all")]))
    given = [v.alias(name) for name, v in frames.grouped.needed.items() if name not in rows.columns]
    lagged = [column(call.expression, context).alias(name) for name, call in _lagged(node).items()]
    orders = [
        column(o.expression, context).alias(name)
        for name, o in zip(_order_names(node.order), node.order or (), strict=True)
    ]
    return rows.select(
        group.alias(_GROUP),
        *given,
        *lagged,
        *orders,
        _place().alias(ORDER),
        quoted(TIME_COLUMN).alias(_OWN_TIME),
        *map(quoted, rows.columns),
    )


def _by_place(order: tuple[Ordering, ...], rows: DataFrame) -> DataFrame:
    """The rows of a bounded input, with their places in the order as their times."""
    sorts = [
        quoted(name).desc_nulls_last() if o.descending else quoted(name).asc_nulls_last()
        for name, o in zip(_order_names(order), order, strict=True)
    ]
    window = Window.partitionBy(quoted(_GROUP)).orderBy(*(sorts or [F.lit(0)]))
    placed = rows.withColumn(TIME_COLUMN, F.dense_rank().over(window).cast("bigint"))
    return placed.withColumn(ORDER, _place())


def _place() -> Column:
    return F.struct(*map(quoted, (TIME_COLUMN, OFFSET_COLUMN, PARTITION_COLUMN)))


def _order_names(order: tuple[Ordering, ...] | None) -> list[str]:
    return [f"$by{number}" for number in range(len(order or ()))]


def _carried(node: Over, rows: DataFrame, scope: Scope) -> list[str]:
    """Columns of the emitted row; for waiting rows, those in the checkpoint."""
    own = [name for name in rows.columns if name not in SYSTEM_COLUMNS]
    read = scope.read_above(node)
    wanted = own if read is None else [name for name in own if name in read]
    wanted = [*wanted, *_BOUNDS, *([_OWN_TIME] if node.order is not None else [])]
    if node.grace_ms is None:
        return wanted
    return scope.layouts.columns(wanted, [*own, *_BOUNDS], _WAITING, ahead=1)


def _note_stores(
    node: Over,
    group_type: StructType,
    values: StructType,
    row: StructType,
    buffers: list[Any],
    scope: Scope,
) -> None:
    keys = ", ".join(map(expression_text, node.keys)) or "nothing"
    calls = ", ".join(expression_text(call.expression) for call in node.calls)
    kept: Columns = ()
    for own in buffers:
        lines = own.layout().splitlines()
        kept = (*kept, *((name, kind) for name, kind in (line.split("\t") for line in lines)))
    text, key = f"OVER {keys}: {calls}", columns_of_type(group_type)
    scope.layouts.add(_KIND, text, key, (*columns_of_type(values), *kept))
    if node.grace_ms is not None:
        scope.layouts.add(_WAITING, text, key, columns_of_type(row))


def _unpacked(
    made: DataFrame, row_type: StructType, sources: list[StructType], scope: Scope
) -> DataFrame:
    """Rows with the packed results, and the emitted row, as structs."""
    parts = StructType([StructField(f"f{n}", BinaryType()) for n in range(len(sources))])
    opened = made.select(
        unpacked("made", parts, scope).alias(_MADE),
        unpacked("row", row_type, scope).alias(_ROW),
        F.col("time").alias(TIME_COLUMN),
        unpacked_headers(scope).alias(HEADERS_COLUMN),
        F.col("partition").alias(PARTITION_COLUMN),
        F.col("offset").alias(OFFSET_COLUMN),
    )
    results = [
        scope.jvm.unpack(quoted(_MADE).getField(f"f{number}"), schema).alias(f"{_MADE}{number}")
        for number, schema in enumerate(sources)
    ]
    rest = [name for name in opened.columns if name != _MADE]
    return opened.select(*results, *map(quoted, rest))


def _result(
    node: Over, found: DataFrame, carried: list[str], places: list[Frame | int], scope: Scope
) -> DataFrame:
    """The columns of the operator's schema that are read; `places`: what the packed results are of,
    a frame or a LAG."""
    context = expression_context(node.input.schema, scope, _STEP)
    lagged = {call.name: name for name, call in _lagged(node).items()}
    results = []
    for call in node.calls:
        source = quoted(f"{_MADE}{places.index(call.lag or call.frame)}")
        value = source.getField(lagged.get(call.name, call.name))
        if call.default is not None:
            value = F.when(source.isNull(), column(call.default, context)).otherwise(value)
        results.append(value.alias(call.name))
    if node.order is not None:
        found = found.withColumn(TIME_COLUMN, quoted(_ROW).getField(_OWN_TIME))
    rows = found.select(
        *(quoted(_ROW).getField(name).alias(name) for name in carried),
        *results,
        F.lit(False).alias(NULL_COLUMN),
        *map(quoted, (TIME_COLUMN, HEADERS_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN)),
    )
    guard = JvmErrorGuard(scope, _STEP)
    made = [
        quoted(call.name) if call.lag else total(Named(call.name, call.expression), guard)
        for call in node.calls
    ]
    columns = [name for name in carried if name not in (*_BOUNDS, _OWN_TIME)]
    return rows.select(*map(quoted, columns), *made, *system_columns())


LOWERING = Lowering(lower, row_by_row(lower))
