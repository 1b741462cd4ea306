"""Join of rows in a bounded query: all of both sides, by Spark's own join."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.expressions.expression import ColumnContext, predicate
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    HEADERS_TYPE,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    columns_of,
    quoted,
)
from streamsql.executor.operators.joins.inputs import ON_COLUMN, Side
from streamsql.nodes import JoinType
from streamsql.planner.operators import Join

_HOW = {
    JoinType.INNER: "inner",
    JoinType.LEFT: "left",
    JoinType.RIGHT: "right",
    JoinType.FULL: "full",
}
_BOUNDS = (START_COLUMN, END_COLUMN)
_OWN = (ON_COLUMN, TIME_COLUMN, OFFSET_COLUMN, *_BOUNDS)
"""Columns of both sides."""


def join_rows(node: Join, left: Side, right: Side) -> DataFrame:
    """Matching rows that satisfy the further condition, and unmatched rows of outer sides."""
    names = [*_values(left), *_values(right)]
    met = _of("left", ON_COLUMN) == _of("right", ON_COLUMN)
    for name in left.bounds:
        met &= _of("left", name) == _of("right", name)
    if node.condition is not None:
        context = ColumnContext(columns=columns_of(names))
        met &= F.coalesce(predicate(node.condition, context), F.lit(False))
    joined = _prepared(left, "left").join(_prepared(right, "right"), met, _HOW[node.type])
    time = F.greatest(_of("left", TIME_COLUMN), _of("right", TIME_COLUMN))
    return joined.select(
        _either(ON_COLUMN).alias(node.key),
        *map(quoted, names),
        time.alias("ROWTIME"),
        time.alias(TIME_COLUMN),
        F.lit(False).alias(NULL_COLUMN),
        F.lit(None).cast(HEADERS_TYPE).alias(HEADERS_COLUMN),
        *(_either(name).alias(name) for name in _BOUNDS),
        F.lit(0).alias(PARTITION_COLUMN),
        _either(OFFSET_COLUMN).alias(OFFSET_COLUMN),
    )


def _values(side: Side) -> list[str]:
    return [name for name in side.columns if name not in _BOUNDS]


def _prepared(side: Side, number: str) -> DataFrame:
    """Existing rows: of a table, those that have not been deleted."""
    own = [quoted(name).alias(_name(number, name)) for name in _OWN]
    return side.rows.where(~quoted(NULL_COLUMN)).select(*map(quoted, _values(side)), *own)


def _either(name: str) -> Column:
    return F.coalesce(_of("left", name), _of("right", name))


def _of(number: str, name: str) -> Column:
    return quoted(_name(number, name))


def _name(number: str, name: str) -> str:
    return f"{name}_{number}"
