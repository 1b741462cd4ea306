"""Changes of groups: aggregates, window functions and the first rows of an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)
from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.executor.frames.context import quoted
from streamsql.executor.relational import native
from streamsql.executor.relational.maintenance import Maintenance
from streamsql.executor.relational.native import WEIGHT
from streamsql.executor.relational.places import same_places
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Aggregate,
    AtMostOne,
    Field,
    Relation,
    TopRows,
    WindowFunctions,
)
from streamsql.types import is_decimal

_AFTER = "$after"
_KEY = "$key"
_ROW = "$row"
_THERE = "$there"
_LONG_DIGITS = 18
"""All decimals with this number of digits fit a BIGINT."""
_INTEGERS = (exp.DType.INT, exp.DType.BIGINT)


# -- aggregates ----------------------------------------------------------------------------------


def aggregated(node: Aggregate, view: Maintenance) -> DataFrame:
    rows = view.changes(node.input)
    if not node.aggregates and node.keys:
        return view.counted([rows], node.keys, "DISTINCT")
    kept = [_linear(call) or _extreme(call) for _, call in node.aggregates]
    if all(kept):
        return _accumulated(node, rows, [each for each in kept if each is not None], view)
    return _recomputed(node, rows, view)


@dataclass(frozen=True)
class _Linear:
    """COUNT, SUM or AVG, whose result follows from sums that retractions can be taken from."""

    function: type[exp.Expr]
    argument: Expression | None
    """None: of COUNT(*)."""
    condition: Expression | None


@dataclass(frozen=True)
class _Extreme:
    """MIN or MAX of values that have the order of integers: it is the first of those kept."""

    is_max: bool
    argument: Expression
    condition: Expression | None

    @property
    def number(self) -> Column:
        """The value as a BIGINT, of which the least one is the result."""
        value, kind = native.column(self.argument), self._type
        if isinstance(kind, DecimalType):
            value = value.cast(DecimalType(38, kind.scale)) * F.lit(10**kind.scale)
        elif isinstance(kind, DateType):
            value = F.unix_date(value)
        elif isinstance(kind, TimestampType):
            value = F.unix_micros(value)
        number = value.cast("bigint")
        return F.bitwise_not(number) if self.is_max else number

    def value(self, number: Column) -> Column:
        """The result for the least number."""
        number, kind = F.bitwise_not(number) if self.is_max else number, self._type
        if isinstance(kind, DecimalType):
            return number.cast("decimal(19, 0)") / F.lit(10**kind.scale)
        if isinstance(kind, DateType):
            return F.date_from_unix_date(number.cast("int"))
        return F.timestamp_micros(number) if isinstance(kind, TimestampType) else number

    @property
    def _type(self) -> DataType:
        assert self.argument.type is not None
        return spark_type(self.argument.type)


def _extreme(call: Expression) -> _Extreme | None:
    call, condition = _filtered(call)
    if not isinstance(call, exp.Min | exp.Max) or call.expressions or call.this.type is None:
        return None
    argument = call.this
    if isinstance(argument, exp.Distinct):
        return None
    kind = spark_type(argument.type)
    fits = isinstance(kind, DecimalType) and kind.precision <= _LONG_DIGITS
    if not fits and not isinstance(kind, IntegerType | LongType | DateType | TimestampType):
        return None
    return _Extreme(isinstance(call, exp.Max), argument, condition)


def _filtered(call: Expression) -> tuple[Expression, Expression | None]:
    """An aggregate without its FILTER, and the condition of that."""
    if isinstance(call, exp.Filter):
        return call.this, call.expression.this
    return call, None


def _linear(call: Expression) -> _Linear | None:
    call, condition = _filtered(call)
    if not isinstance(call, exp.Count | exp.Sum | exp.Avg) or call.expressions:
        return None
    argument = call.this
    if isinstance(argument, exp.Star) or argument is None:
        return _Linear(type(call), None, condition)
    if isinstance(argument, exp.Distinct | exp.Order):
        return None
    is_exact = argument.type is not None and (
        argument.type.this in _INTEGERS or is_decimal(argument.type)
    )
    if not isinstance(call, exp.Count) and not is_exact:
        return None
    return _Linear(type(call), argument, condition)


def _accumulated(
    node: Aggregate, rows: DataFrame, kept: Sequence[_Linear | _Extreme], view: Maintenance
) -> DataFrame:
    """The operator adds what a batch adds to the sums that it keeps, and keeps the numbers of
    extremes by their order."""
    weight = quoted(WEIGHT)
    totals: list[tuple[str, Column, DataType]] = [("n", weight, LongType())]
    numbers: list[Column] = []
    for i, each in enumerate(kept):
        value = None if each.argument is None else native.column(each.argument)
        counts = F.lit(True) if value is None else value.isNotNull()
        if each.condition is not None:
            counts = counts & F.coalesce(native.column(each.condition), F.lit(False))
        if isinstance(each, _Extreme):
            numbers.append(F.when(counts, each.number))
            continue
        totals.append((f"c{i}", F.when(counts, weight).otherwise(F.lit(0)), LongType()))
        if each.function is not exp.Count and each.argument is not None and value is not None:
            kind = _total_type(each.argument)
            times = F.when(weight == 1, value).when(weight == -1, -value).otherwise(value * weight)
            summand = F.when(counts, times.cast(kind)).otherwise(F.lit(0).cast(kind))
            totals.append((f"s{i}", summand, kind))
    sums = StructType([StructField(name, kind) for name, _, kind in totals])
    always = not node.keys
    if always:
        rows = _seeded(rows, view)
    key = view.packed(node.keys).alias("key")
    if numbers:
        cells = [F.coalesce(v, F.lit(0)).cast(kind).alias(name) for name, v, kind in totals]
        packed = view.scope.jvm.pack(F.struct(*cells), sums).alias("row")
        inputs = rows.select(key, packed, weight.alias("weight"), *numbers)
        placed = not always and same_places(node.input, node.keys)
        changes = view.keyed(
            inputs, "Accumulators", sums.json(), always, len(numbers), placed=placed
        )
    else:
        cells = [F.coalesce(F.sum(v), F.lit(0)).cast(kind).alias(name) for name, v, kind in totals]
        added = rows.groupBy(key).agg(*cells)
        packed = view.scope.jvm.pack(F.struct(*(F.col(name) for name, _, _ in totals)), sums)
        # The groups are placed by key already, and each is there once.
        inputs = added.select("key", packed.alias("row"))
        changes = view.operated(inputs, "Accumulators", sums.json(), always, 0)
    unpacked = changes.select(
        F.col("weight").alias(WEIGHT),
        *_key_of(node.keys, F.col("key"), view),
        view.scope.jvm.unpack(F.col("sums"), sums).alias("$sums"),
        *(F.col(f"e{i}") for i in range(len(numbers))),
    )
    results, extremes = [], (F.col(f"e{i}") for i in range(len(numbers)))
    for i, ((own, _), each) in enumerate(zip(node.aggregates, kept, strict=True)):
        if isinstance(each, _Extreme):
            results.append(native.cell(own, each.value(next(extremes))))
            continue
        count = quoted("$sums").getField(f"c{i}")
        if each.function is exp.Count:
            results.append(native.cell(own, count))
            continue
        kind = spark_type(own.type)
        total = quoted("$sums").getField(f"s{i}")
        if each.function is exp.Avg:
            total = total.cast(kind) / count
        results.append(native.cell(own, F.when(count != 0, total)))
    keys = [quoted("$group").getField(f.id).alias(f.id) for f in node.keys]
    return unpacked.select(WEIGHT, *keys, *results)


def _total_type(argument: Expression) -> DataType:
    assert argument.type is not None
    kind = spark_type(argument.type)
    return DecimalType(38, kind.scale) if isinstance(kind, DecimalType) else LongType()


def _key_of(keys: Sequence[Field], packed: Column, view: Maintenance) -> Iterable[Column]:
    if keys:
        yield view.scope.jvm.unpack(packed, native.struct_of(keys)).alias("$group")


def _seeded(rows: DataFrame, view: Maintenance) -> DataFrame:
    """The rows, and one that is there no time: a result without groups begins with it."""
    none = [
        F.lit(0).cast("bigint").alias(WEIGHT)
        if field.name == WEIGHT
        else F.lit(None).cast(field.dataType).alias(field.name)
        for field in rows.schema.fields
    ]
    return rows.unionAll(view.dataflow.spark.range(0, 1, 1, 1).select(*none))


def _recomputed(node: Aggregate, rows: DataFrame, view: Maintenance) -> DataFrame:
    """Spark computes each aggregate over all rows of a changed group, before and after."""
    fields = _read(node)
    always = not node.keys
    placed = not always and same_places(node.input, node.keys)
    rows = _seeded(rows, view) if always else rows
    contents = _contents(rows, node.keys, fields, view, always, placed)
    calls = [
        native.cell(own, native.column(_of_present(call) if always else call))
        for own, call in node.aggregates
    ]
    if not calls:
        raise UnsupportedError("An aggregate needs a key or an aggregate function.")
    found = contents.groupBy(_KEY, _AFTER).agg(*calls)
    unpacked = found.select(
        _weight().alias(WEIGHT), *_key_of(node.keys, quoted(_KEY), view), *_ids(node.aggregates)
    )
    keys = [quoted("$group").getField(f.id).alias(f.id) for f in node.keys]
    return unpacked.select(WEIGHT, *keys, *_ids(node.aggregates))


def _of_present(call: Expression) -> Expression:
    """The aggregate without the row that stands for a group without rows."""
    there = _column(_THERE)
    if isinstance(call, exp.Filter):
        both = exp.and_(there, call.expression.this.copy())
        return exp.Filter(this=call.this.copy(), expression=exp.Where(this=both))
    if isinstance(call, exp.AggFunc | exp.WithinGroup):
        return exp.Filter(this=call.copy(), expression=exp.Where(this=there))
    changed = call.copy()
    for function in list(changed.find_all(exp.AggFunc)):
        part = function.parent if isinstance(function.parent, exp.Filter) else function
        part.replace(_of_present(part))
    return changed


def _read(node: Aggregate) -> tuple[Field, ...]:
    """The fields that the aggregates read."""
    names = {c.name for _, call in node.aggregates for c in call.find_all(exp.Column)}
    return tuple(field for field in node.input.fields if field.id in names)


# -- windows -------------------------------------------------------------------------------------


def windowed(node: WindowFunctions, view: Maintenance) -> DataFrame:
    rows = _partitions(node, node.partition, window_order(node), view)
    functions = [native.cell(own, native.column(_within(call))) for own, call in node.functions]
    found = rows.select("*", *functions)
    return found.select(_weight().alias(WEIGHT), *(quoted(f.id) for f in node.fields))


def window_order(node: WindowFunctions) -> Sequence[Expression]:
    """The ORDER BY that all functions of the node have."""
    window = node.functions[0][1].find(exp.Window)
    order = None if window is None else window.args.get("order")
    return order.expressions if order is not None else ()


def _within(window: Expression) -> Expression:
    """The window function over the rows of a partition either before or after a batch. Positions
    among rows without an order are those of their bytes."""
    found = window.copy()
    for each in found.find_all(exp.Window):
        each.set("partition_by", [_column(_KEY), _column(_AFTER)])
        order = each.args.get("order") or exp.Order()
        places = each.find(exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead) is not None
        if places and all(isinstance(item.this, exp.Literal) for item in order.expressions):
            each.set("order", exp.Order(expressions=[_column(_ROW)]))
    return found


def _column(name: str) -> Expression:
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def top(node: TopRows, view: Maintenance) -> DataFrame:
    rows = _partitions(node, node.partition, node.order, view)
    place = F.expr(_place(node))
    found = rows.withColumn("$place", place).where(quoted("$place") > node.offset)
    if node.limit is not None:
        found = found.where(quoted("$place") <= node.offset + node.limit)
    return found.select(_weight().alias(WEIGHT), *(quoted(f.id) for f in node.fields))


def _place(node: TopRows) -> str:
    order = ", ".join(each.sql(dialect="spark") for each in node.order) or f"`{_ROW}`"
    # Rows that are equal in the order have their places by their bytes: the same in each batch.
    ties = "RANK()" if node.ties else "ROW_NUMBER()"
    last = "" if node.ties or not node.order else f", `{_ROW}`"
    return f"{ties} OVER (PARTITION BY `{_KEY}`, `{_AFTER}` ORDER BY {order}{last})"


def at_most_one(node: AtMostOne, view: Maintenance) -> DataFrame:
    rows = _partitions(node, node.partition, (), view)
    window = Window.partitionBy(_KEY, _AFTER)
    found = rows.withColumn("$rows", F.count(F.lit(1)).over(window))
    problem = view.scope.jvm.report_null(
        F.lit("more than one row returned by a subquery used as an expression"),
        LongType(),
        view.scope.log,
        "View",
    )
    only = F.when(quoted("$rows") == 1, quoted("$rows")).when(quoted(_AFTER), problem)
    found = found.where(only.isNotNull())
    return found.select(_weight().alias(WEIGHT), *(quoted(f.id) for f in node.fields))


def _partitions(
    node: WindowFunctions | TopRows | AtMostOne,
    partition: Sequence[Field],
    order: Sequence[Expression],
    view: Maintenance,
) -> DataFrame:
    """The rows of changed partitions, before and after, in an order that only they decide."""
    relation: Relation = node.input
    rows = _contents(
        view.changes(relation),
        partition,
        relation.fields,
        view,
        always=False,
        placed=same_places(relation, partition),
    )
    by = [native.order(each) for each in order]
    return rows.sortWithinPartitions(quoted(_KEY), quoted(_AFTER), *by, quoted(_ROW))


# -- contents ------------------------------------------------------------------------------------


def _contents(
    rows: DataFrame,
    keys: Sequence[Field],
    fields: Sequence[Field],
    view: Maintenance,
    always: bool,
    placed: bool,
) -> DataFrame:
    """All rows of each changed group, before and after: _KEY, _AFTER, _ROW, and the fields."""
    row = view.packed(fields)
    present = F.when(quoted(WEIGHT) != 0, row) if always else row
    inputs = rows.select(
        view.packed(keys).alias("key"), quoted(WEIGHT).alias("weight"), present.alias("row")
    )
    contents = view.keyed(inputs, "GroupContents", always, placed=placed)
    named = contents.select(
        F.col("key").alias(_KEY),
        F.col("after").alias(_AFTER),
        F.col("row").alias(_ROW),
        F.col("row").isNotNull().alias(_THERE),
    )
    if not fields:
        return named
    unpacked = view.scope.jvm.unpack(quoted(_ROW), native.struct_of(fields)).alias("$of")
    cells = [quoted("$of").getField(f.id).alias(f.id) for f in fields]
    return named.select("*", unpacked).select(_KEY, _AFTER, _ROW, _THERE, *cells)


def _weight() -> Column:
    return F.when(quoted(_AFTER), F.lit(1)).otherwise(F.lit(-1)).cast("bigint")


def _ids(items: Iterable[tuple[Field, Expression]]) -> list[Column]:
    return [quoted(field.id) for field, _ in items]
