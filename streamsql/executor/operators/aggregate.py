"""Aggregate: GROUP BY, with or without windows, by Spark's own grouping and state where it supports
them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    quoted,
)
from streamsql.executor.frames.layouts import PACKED, PRUNED, columns_of_type
from streamsql.executor.operators.aggregation import session_windows, table_groups
from streamsql.executor.operators.aggregation.grouping import (
    ORDER,
    STEP,
    Grouping,
    arrival,
    grouping,
    has_group,
    keeps_headers,
    result,
)
from streamsql.executor.operators.lowering import Inputs, Lowering, latest_rows
from streamsql.nodes import Emit, Window
from streamsql.planner.operators import Aggregate, Filter, Operator, Project, Sink
from streamsql.schema import Kind, WindowType

_EVENT = "$event"
_WINDOW = "$window"
_KIND = "GROUP BY"
"""Store kind of Spark's own aggregation."""
_STREAM_TIME = "$stream_time"


def lower(node: Aggregate, inputs: Inputs, scope: Scope) -> DataFrame:
    (rows,) = inputs
    if node.input.kind is Kind.TABLE:
        return result(table_groups.lower(rows, grouping(node, scope), scope), node, scope)
    return _lower_stream(node, rows, scope)


def _lower_stream(node: Aggregate, rows: DataFrame, scope: Scope) -> DataFrame:
    """The aggregation of rows that do not change, such as a stream's."""
    in_sessions = node.window is not None and node.window.type is WindowType.SESSION
    grouped = grouping(node, scope, by_text=not in_sessions)
    prepared = _prepare(rows, grouped, scope)
    if node.window is not None and in_sessions:
        return result(session_windows.lower(prepared, node.window, grouped, scope), node, scope)
    scope.shuffles.append(_KIND)  # Spark's own, which says so nowhere
    time = F.max(quoted(TIME_COLUMN)).alias(TIME_COLUMN)
    last = [F.max_by(c, quoted(ORDER)).alias(c) for c in prepared.columns if c == HEADERS_COLUMN]
    totals = _group(prepared, grouped, scope).agg(time, *last, *grouped.results(scope))
    totals = _stored(totals, grouped, scope)
    return result(totals.withColumns(_system_columns(node.window)), node, scope)


def _stored(totals: DataFrame, grouped: Grouping, scope: Scope) -> DataFrame:
    """The groups with all aggregates: Spark would drop unused ones, and usage depends on optimizer
    rules. (Not for a checkpoint without this information.)"""
    node, layouts = grouped.node, scope.layouts
    kept = layouts.next_kept(_KIND)
    read = _all_are_read(node, scope.root)
    unknown = layouts.begun and layouts.kept is None and not read
    pruned = unknown or (kept is not None and kept.encoding == PRUNED)
    key = columns_of_type(grouped.key_type) if node.keys else ()
    if node.window is not None:
        key = (*key, (_WINDOW, "struct<start:timestamp,end:timestamp>"))
    encoding = PRUNED if pruned else PACKED
    layouts.add(_KIND, grouped.text, key, grouped.layout(), encoding)
    if read or pruned or not totals.isStreaming:
        return totals
    return totals.where(scope.jvm.whole(F.struct(*map(quoted, totals.columns))))


def _all_are_read(node: Aggregate, root: Operator) -> bool:
    """Whether all aggregates are read, by the result or HAVING: then none is dropped. A subquery
    may have some that no clause reads."""
    above = root.inputs[0] if isinstance(root, Sink) else root
    above = above.input if isinstance(above, Project) else above
    while isinstance(above, Filter):
        above = above.input
    return above is node


def _prepare(rows: DataFrame, grouped: Grouping, scope: Scope) -> DataFrame:
    system = [quoted(name) for name in (TIME_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN)]
    if keeps_headers(grouped.node):
        system.append(quoted(HEADERS_COLUMN))
    rows = rows.where(~quoted(NULL_COLUMN)).select(*grouped.columns, *system, arrival())
    return rows.where(has_group(grouped.key_names, scope)) if grouped.keys else rows


def _group(rows: DataFrame, grouped: Grouping, scope: Scope) -> GroupedData:
    node = grouped.node
    keys = [
        quoted(name).alias(item.name)
        for name, item in zip(grouped.key_names, node.keys, strict=True)
    ]
    if node.window is None:
        return rows.groupBy(*keys)
    return _in_windows(rows, node.window, scope).groupBy(*keys, quoted(_WINDOW))


def _in_windows(rows: DataFrame, window: Window, scope: Scope) -> DataFrame:
    """The rows in each of their windows that was still open on arrival."""
    assert window.grace is not None, "the planner fills in the default"
    grace = window.grace.ms
    timed = rows.withColumns(
        {
            _EVENT: F.timestamp_millis(quoted(TIME_COLUMN)),
            _STREAM_TIME: scope.jvm.stream_time(quoted(TIME_COLUMN)),
        }
    ).withWatermark(f"`{_EVENT}`", f"{grace} milliseconds")
    size = f"{window.size.ms} milliseconds"
    advance = f"{window.advance.ms} milliseconds" if window.advance else size
    windowed = timed.withColumn(_WINDOW, F.window(quoted(_EVENT), size, advance))
    start, end = _bounds(window)
    # Hopping windows reach back before the epoch; Kafka Streams has none that begin there.
    has_row = start >= 0
    if window.type is WindowType.CUMULATING:  # Windows with the same end may begin after the row.
        has_row &= start <= quoted(TIME_COLUMN)
    # The watermark is constant within a batch, stream time is not.
    open_yet = end + F.lit(grace) > quoted(_STREAM_TIME)
    if rows.isStreaming:
        late = scope.jvm.late(quoted(TIME_COLUMN), quoted(_STREAM_TIME), scope.log, STEP)
        open_yet = F.when(open_yet, F.lit(True)).otherwise(late)
    return windowed.where(has_row & open_yet)


def _bounds(window: Window) -> tuple[Column, Column]:
    """Start and end in ms. Spark has no cumulating windows: they are its hopping windows with the
    same ends, which identify them. They start at the last multiple of their size before the end."""
    start, end = (F.unix_millis(F.col(f"`{_WINDOW}`.{bound}")) for bound in ("start", "end"))
    if window.type is WindowType.CUMULATING:
        last = end - F.lit(1)
        start = last - F.pmod(last, F.lit(window.size.ms))
    return start, end


def _system_columns(window: Window | None) -> dict[str, Column]:
    none = F.lit(None).cast("bigint")
    start, end = _bounds(window) if window is not None else (none, none)
    return {
        NULL_COLUMN: F.lit(False),
        START_COLUMN: start,
        END_COLUMN: end,
        # A batch has one row per group: no order to keep.
        PARTITION_COLUMN: F.lit(0),
        OFFSET_COLUMN: F.lit(0).cast("bigint"),
    }


def output_mode(operators: Iterable[Operator], emit: Emit) -> str:
    """Spark's own windows append their final results; everything else updates earlier results, and
    final results of streamsql's operators are updates of nothing."""
    final = emit is Emit.FINAL
    windows = (o.window for o in operators if isinstance(o, Aggregate) and o.window is not None)
    return (
        "append" if final and any(w.type is not WindowType.SESSION for w in windows) else "update"
    )


def _batch(node: Aggregate, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    if history:
        return lower(node, inputs, scope)
    if node.input.kind is Kind.TABLE:
        return _lower_stream(node, inputs[0], scope)
    # A group has several rows only in sessions, which grow together.
    in_sessions = node.window is not None and node.window.type is WindowType.SESSION
    rows = lower(node, inputs, scope)
    return latest_rows(rows, node, scope) if in_sessions else rows


LOWERING = Lowering(lower, _batch)
