"""Joins of changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import quoted
from streamsql.executor.relational import native
from streamsql.executor.relational.maintenance import Maintenance
from streamsql.executor.relational.native import WEIGHT
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Field, Join, JoinKind, Pairs, TemporalJoin
from streamsql.planner.relational.growth import only_grows
from streamsql.types import common_type, type_of

_KEEPS_LEFT = (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI)


def lower(node: Join, view: Maintenance) -> DataFrame:
    left, right = view.changes(node.left), view.changes(node.right)
    if node.condition is None or node.kind is JoinKind.INNER:
        return _on_key(node, left, right, view)
    return _on_condition(node, left, right, view)


def _on_key(node: Join, left: DataFrame, right: DataFrame, view: Maintenance) -> DataFrame:
    """A join that the equalities decide, and a condition only for an inner one."""
    kind = node.kind
    outer = kind in _KEEPS_LEFT and _may_be_null(node)
    both = kind is JoinKind.FULL and _may_be_null(node)
    if outer:
        left = view.dataflow.shared(left)
    if both:
        right = view.dataflow.shared(right)
    semi = kind in (JoinKind.SEMI, JoinKind.ANTI)
    # Of the right side of a SEMI join, only whether there is a row matters.
    kept = () if semi else node.right.fields
    inputs = [
        _side(node, left, 0, node.left.fields, view),
        _side(node, right, 1, kept, view),
    ]
    joined = view.keyed(inputs[0].unionAll(inputs[1]), "DeltaJoin", kind.value)
    rows = view.unpacked(joined, {"left": node.left.fields, "right": kept})
    if outer:
        rows = rows.unionAll(_alone(node, left.where(~_has_key(node, 0)), right=False))
    if both:
        rows = rows.unionAll(_alone(node, right.where(~_has_key(node, 1)), right=True))
    return rows if node.condition is None else rows.where(native.column(node.condition))


def _on_condition(node: Join, left: DataFrame, right: DataFrame, view: Maintenance) -> DataFrame:
    """Pairs are those of the inner join; the rows of a side that have none are counted."""
    left, right = view.dataflow.shared(left), view.dataflow.shared(right)
    inner = Join(
        node.left, node.right, JoinKind.INNER, node.equalities, node.condition, node.null_safe
    )
    pairs = view.dataflow.shared(_on_key(inner, left, right, view))
    own = [WEIGHT, *(field.id for field in node.left.fields)]
    others = [WEIGHT, *(field.id for field in node.right.fields)]
    partners = pairs.select(*map(quoted, own))
    if node.kind is JoinKind.SEMI:
        return view.counted([left, partners], node.left.fields, "SEMI")
    unmatched = view.counted([left, partners], node.left.fields, "ANTI")
    if node.kind is JoinKind.ANTI:
        return unmatched
    rows = pairs.unionAll(_alone(node, unmatched, right=False))
    if node.kind is JoinKind.FULL:
        partners = pairs.select(*map(quoted, others))
        unmatched = view.counted([right, partners], node.right.fields, "ANTI")
        rows = rows.unionAll(_alone(node, unmatched, right=True))
    return rows


def lower_temporal(node: TemporalJoin, view: Maintenance) -> DataFrame:
    """Left rows with the right side's rows of the batch. What a left row was joined with is kept
    where it may go again, and else found out at once where a condition decides about it."""
    left, right = view.changes(node.left), view.changes(node.right)
    outer, keeps = node.kind is JoinKind.LEFT, not only_grows(node.left)
    counts = keeps or (outer and node.condition is not None)
    alone = outer and not counts
    if counts or (alone and _may_be_null(node)):
        left = view.dataflow.shared(left)
    inputs = [
        _side(node, left, 0, node.left.fields, view),
        _side(node, right, 1, node.right.fields, view),
    ]
    joined = view.keyed(inputs[0].unionAll(inputs[1]), "TemporalJoin", alone)
    sides = {"left": node.left.fields, "right": node.right.fields}
    rows = view.unpacked(joined, sides)
    if node.condition is not None:
        rows = rows.where(native.column(node.condition))
    if alone and _may_be_null(node):
        rows = rows.unionAll(_alone(node, left.where(~_has_key(node, 0)), right=False))
    if not counts:
        return rows
    key, weight = view.packed(node.left.fields).alias("key"), quoted(WEIGHT).alias("weight")
    arrived = left.select(key, F.lit(0).alias("side"), weight, F.lit(b"").alias("row"))
    pairs = rows.select(
        key, F.lit(1).alias("side"), weight, view.packed(node.right.fields).alias("row")
    )
    results = view.keyed(arrived.unionAll(pairs), "JoinMemo", outer, keeps)
    return view.unpacked(results, sides)


def _side(
    node: Pairs, rows: DataFrame, side: int, fields: Sequence[Field], view: Maintenance
) -> DataFrame:
    if _may_be_null(node):
        rows = rows.where(_has_key(node, side))
    return rows.select(
        view.key(rows, _key(node, side)).alias("key"),
        F.lit(side).alias("side"),
        quoted(WEIGHT).alias("weight"),
        view.packed(fields).alias("row"),
    )


def _key(node: Pairs, side: int) -> list[Column]:
    """The values of one side, in types in which equal values of both sides have equal bytes."""
    return [_alike(equality[side], equality[1 - side]) for equality in node.equalities]


def _alike(value: Expression, other: Expression) -> Column:
    kind, another = type_of(value), type_of(other)
    found = native.column(value)
    common = None if kind == another else common_type(kind, another)
    return found if common is None else found.cast(spark_type(common))


def _may_be_null(node: Pairs) -> bool:
    """Whether a row may have no key, because one of its values is null."""
    return not all(node.nulls_equal)


def _has_key(node: Pairs, side: int) -> Column:
    values = zip(_key(node, side), node.nulls_equal, strict=True)
    return reduce(and_, (value.isNotNull() for value, safe in values if not safe))


def _alone(node: Pairs, rows: DataFrame, *, right: bool) -> DataFrame:
    """Rows of one side as results without the other one's."""
    if node.kind is JoinKind.ANTI:
        return rows.select(WEIGHT, *(quoted(field.id) for field in node.left.fields))
    there = node.right.fields if right else node.left.fields
    cells = [
        quoted(f.id) if f in there else F.lit(None).cast(spark_type(f.type)).alias(f.id)
        for f in node.fields
    ]
    return rows.select(WEIGHT, *cells)
