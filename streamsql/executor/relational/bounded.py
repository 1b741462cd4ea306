"""Relations over what their sources hold: each operator of the algebra by Spark's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import Literal

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from streamsql.errors import EvaluationError, UnsupportedError
from streamsql.executor.frames.context import Scope, quoted
from streamsql.executor.frames.keyed import normalized
from streamsql.executor.relational import native
from streamsql.executor.relational.groups import window_order
from streamsql.executor.relational.maintenance import packed
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.types import spark_type
from streamsql.planner.relational.algebra import (
    Added,
    Aggregate,
    AtMostOne,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Recursion,
    Relation,
    Scan,
    SetKind,
    SetOperation,
    TemporalFilter,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
    relations,
)

_SPARK_JOINS: Mapping[JoinKind, Literal["inner", "left", "full", "semi", "anti"]] = {
    JoinKind.INNER: "inner",
    JoinKind.LEFT: "left",
    JoinKind.FULL: "full",
    JoinKind.SEMI: "semi",
    JoinKind.ANTI: "anti",
}


MOST_STEPS = 1_000
"""Of a recursion, each of which is a Spark job or several."""
_STEPS_OF_A_PLAN = 16
"""How many the plan of all rows names, before they are one."""


@dataclass
class Evaluation:
    """One query while it is lowered."""

    scope: Scope
    sources: Mapping[str, DataFrame]
    """The present rows of each source."""
    _done: dict[Relation, DataFrame] = field(default_factory=dict)

    def rows(self, relation: Relation) -> DataFrame:
        """The relation's rows, in columns named by the ids of its fields."""
        found = self._done.get(relation)
        if found is None:
            found = self._done[relation] = self._lower(relation)
        return found

    def cells(self, relation: Relation) -> tuple[DataFrame, Mapping[str, str]]:
        """The relation's rows before its projection, if it is one, and that in SQL by the ids of
        fields."""
        match relation:
            case Project(items=items):
                pass
            case Values(rows=(row,), columns=columns):
                items = tuple(zip(columns, row, strict=True))
            case _:
                return self.rows(relation), {}
        texts = {field.id: native.cell_text(field, value) for field, value in items}
        found = {id: text for id, text in texts.items() if text is not None}
        if len(found) < len(items):
            return self.rows(relation), {}
        if isinstance(relation, Values):
            return self._one_row(), found
        return self.rows(relation.input), found

    def _one_row(self) -> DataFrame:
        spark = self.scope.context.spark
        if self.scope.context.table is None:
            return native.one_row(spark)
        return Bridge.of(spark).one_row(spark)

    def _lower(self, relation: Relation) -> DataFrame:
        match relation:
            case Scan():
                rows = self.sources[relation.read_as]
                cells = (native.cell(own, quoted(name)) for name, own in relation.columns)
                return rows.select(*cells)
            case Values():
                return native.constants(self._one_row(), relation)
            case Filter():
                return native.filtered(self.rows(relation.input), relation)
            case TemporalFilter():
                return self._temporal(relation)
            case Project():
                return native.projected(self.rows(relation.input), relation)
            case Expand():
                return native.expanded(self.rows(relation.input), relation)
            case Generate():
                return native.generated(self.rows(relation.input), relation)
            case UnionAll():
                return native.united([self.rows(r) for r in relation.relations], relation)
            case Join():
                return self._join(relation)
            case Aggregate():
                return self._aggregate(relation)
            case WindowFunctions():
                return self._windows(relation)
            case TopRows():
                return self._top(relation)
            case AtMostOne():
                return self._at_most_one(relation)
            case SetOperation():
                return self._set_operation(relation)
            case Recursion():
                return self._recursion(relation)
        raise UnsupportedError(f"{type(relation).__name__} is not supported.")

    def _temporal(self, node: TemporalFilter) -> DataFrame:
        rows, now = self.rows(node.input), F.current_timestamp()
        if node.since is not None:
            rows = rows.where(native.column(node.since) <= now)
        return rows if node.until is None else rows.where(native.column(node.until) > now)

    def _join(self, node: Join) -> DataFrame:
        safe = node.nulls_equal
        met = [
            native.column(a).eqNullSafe(native.column(b))
            if null_safe
            else native.column(a) == native.column(b)
            for (a, b), null_safe in zip(node.equalities, safe, strict=True)
        ]
        if node.condition is not None:
            met.append(native.column(node.condition))
        left, right = self.rows(node.left), self.rows(node.right)
        if not met and node.kind is JoinKind.INNER:
            return left.crossJoin(right)
        if self.scope.context.table is None or node.equalities or node.kind is JoinKind.INNER:
            return left.join(right, reduce(and_, met, F.lit(True)), _SPARK_JOINS[node.kind])
        # Without an equality Spark would broadcast a side, which takes a job.
        left, right = left.withColumn("$left", _zero()), right.withColumn("$right", _zero())
        met.append(quoted("$left") == quoted("$right"))
        return left.join(right, reduce(and_, met), _SPARK_JOINS[node.kind]).drop("$left", "$right")

    def _aggregate(self, node: Aggregate) -> DataFrame:
        keys = [normalized(quoted(f.id), spark_type(f.type)).alias(f.id) for f in node.keys]
        rows = self.rows(node.input)
        if not node.aggregates:
            return rows.select(*keys).distinct()
        calls = [native.cell(own, native.column(call)) for own, call in node.aggregates]
        return rows.groupBy(*keys).agg(*calls)

    def _windows(self, node: WindowFunctions) -> DataFrame:
        functions = [native.cell(own, native.column(call)) for own, call in node.functions]
        rows, keys = self.rows(node.input), [quoted(field.id) for field in node.partition]
        if order := [native.order(each) for each in window_order(node)]:
            if self.scope.context.table is None:  # else they are in one partition
                rows = rows.repartition(*keys) if keys else rows.repartition(1)
            rows = rows.sortWithinPartitions(*keys, *order, self._bytes(node.input))
        return rows.select("*", *functions)

    def _bytes(self, relation: Relation) -> Column:
        """By which rows that are equal in an order have their places, as in a view."""
        return packed(relation.fields, self.scope)

    def _top(self, node: TopRows) -> DataFrame:
        rows = self.rows(node.input)
        order = [native.order(each) for each in node.order]
        if order and not node.ties:
            order.append(self._bytes(node.input))
        if not node.partition and not node.ties:
            rows = rows.orderBy(*order) if order else rows
            rows = rows.offset(node.offset) if node.offset else rows
            return rows if node.limit is None else rows.limit(node.limit)
        by = Window.partitionBy(*_columns(node.partition)).orderBy(*(order or [F.lit(1)]))
        rank = (F.rank() if node.ties else F.row_number()).over(by)
        found = rows.withColumn("$place", rank).where(quoted("$place") > node.offset)
        if node.limit is not None:
            found = found.where(quoted("$place") <= node.offset + node.limit)
        return found.drop("$place")

    def _at_most_one(self, node: AtMostOne) -> DataFrame:
        by = Window.partitionBy(*_columns(node.partition))
        rows = self.rows(node.input).withColumn("$rows", F.count(F.lit(1)).over(by))
        message = "more than one row returned by a subquery used as an expression"
        only = F.when(quoted("$rows") > 1, F.raise_error(F.lit(message)).cast("boolean"))
        return rows.where(only.isNull()).drop("$rows")

    def _set_operation(self, node: SetOperation) -> DataFrame:
        left, right = (
            native.renamed(self.rows(relation), relation.fields, node.columns)
            for relation in (node.left, node.right)
        )
        if node.kind is SetKind.INTERSECT:
            return left.intersectAll(right) if node.all else left.intersect(right)
        return left.exceptAll(right) if node.all else left.subtract(right)

    def _recursion(self, node: Recursion) -> DataFrame:
        """Each step is evaluated, and its rows kept, before the next one. The sources of the
        steps are read once."""
        known: dict[Relation, DataFrame] = {
            each: self.rows(each).localCheckpoint()
            for each in relations(node.step)
            if isinstance(each, Scan)
        }
        leaves = [
            each
            for each in relations(node.step)
            if isinstance(each, Added) and each.recursion == node.name
        ]
        found = native.renamed(self.rows(node.base), node.base.fields, node.columns)
        found = (found.distinct() if node.distinct else found).localCheckpoint()
        added = found
        for number in range(1, MOST_STEPS + 1):
            if added.isEmpty():
                return found
            own: dict[Relation, DataFrame] = {
                leaf: native.renamed(added, node.columns, leaf.columns) for leaf in leaves
            }
            step = Evaluation(self.scope, self.sources, {**self._done, **known, **own})
            rows = native.renamed(step.rows(node.step), node.step.fields, node.columns)
            rows = rows.distinct().subtract(found) if node.distinct else rows
            added = rows.localCheckpoint()
            found = found.unionAll(added)
            if number % _STEPS_OF_A_PLAN == 0:
                found = found.localCheckpoint()
        raise EvaluationError(
            f"WITH RECURSIVE has not ended after {MOST_STEPS} steps",
            hint="UNION in place of UNION ALL ends at a cycle; a condition limits the steps.",
        )


def _zero() -> Column:
    """A number that Spark does not see to be constant."""
    return (F.rand() * 0).cast("int")


def _columns(fields: Sequence[Field]) -> list[Column]:
    return [quoted(field.id) for field in fields] or [F.lit(1)]
