"""Operators of the algebra that are Spark's own: they treat each row by itself.

`carried` are columns of a frame that pass through each operator, such as a row's weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import AnsiIntervalType, AtomicType, StructField, StructType
from sqlglot import exp

from streamsql.errors import UnsupportedError
from streamsql.executor.frames.context import quoted
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Expand,
    Field,
    Filter,
    Generate,
    Project,
    UnionAll,
    Values,
)
from streamsql.types import element_type, is_array

Carried = Sequence[str]

WEIGHT = "$weight"
"""How often a change adds a row; less than zero: how often it removes it."""


def column(expression: Expression) -> Column:
    """The expression over a frame whose columns have the ids of fields."""
    return F.expr(expression.sql(dialect="spark"))


def cell(field: Field, value: Column) -> Column:
    """The value as a column of the field, in its type."""
    return value.cast(spark_type(field.type)).alias(field.id)


def order(ordered: Expression) -> Column:
    """One column of an ORDER BY."""
    assert isinstance(ordered, exp.Ordered)
    value = column(ordered.this)
    nulls_first = bool(ordered.args.get("nulls_first"))
    if ordered.args.get("desc"):
        return value.desc_nulls_first() if nulls_first else value.desc_nulls_last()
    return value.asc_nulls_first() if nulls_first else value.asc_nulls_last()


def struct_of(fields: Sequence[Field]) -> StructType:
    return StructType([StructField(field.id, spark_type(field.type)) for field in fields])


def filtered(rows: DataFrame, node: Filter) -> DataFrame:
    return rows.where(column(node.condition))


def projected(rows: DataFrame, node: Project, carried: Carried = ()) -> DataFrame:
    return selected(rows, node.items, carried)


def selected(
    rows: DataFrame, items: Sequence[tuple[Field, Expression]], carried: Carried = ()
) -> DataFrame:
    """The values of expressions over the rows. As SQL, they take one call each of the JVM."""
    texts = [cell_text(*item) for item in items]
    if None in texts:
        cells = [cell(field, column(expression)) for field, expression in items]
        return rows.select(*map(quoted, carried), *cells)
    named = (f"{text} AS `{field.id}`" for (field, _), text in zip(items, texts, strict=True))
    return rows.selectExpr(*(f"`{name}`" for name in carried), *named)


def cell_text(field: Field, expression: Expression) -> str | None:
    """The value, in the type of the field, as SQL; None for a type that SQL cannot name."""
    kind = spark_type(field.type)
    if not isinstance(kind, AtomicType) or isinstance(kind, AnsiIntervalType):
        return None
    return f"CAST({expression.sql(dialect='spark')} AS {kind.simpleString()})"


def expanded(rows: DataFrame, node: Expand, carried: Carried = ()) -> DataFrame:
    each = [
        F.struct(*(cell(f, column(e)) for f, e in zip(node.columns, projection, strict=True)))
        for projection in node.projections
    ]
    return rows.select(*map(quoted, carried), F.inline(F.array(*each)))


def united(frames: Sequence[DataFrame], node: UnionAll, carried: Carried = ()) -> DataFrame:
    each = (
        renamed(rows, relation.fields, node.columns, carried)
        for rows, relation in zip(frames, node.relations, strict=True)
    )
    return reduce(DataFrame.unionAll, each)


def renamed(
    rows: DataFrame, fields: Sequence[Field], to: Sequence[Field], carried: Carried = ()
) -> DataFrame:
    """The rows with other fields in the places of theirs."""
    cells = (cell(own, quoted(field.id)) for own, field in zip(to, fields, strict=True))
    return rows.select(*map(quoted, carried), *cells)


def one_row(spark: SparkSession) -> DataFrame:
    """A row of which no column is read."""
    return spark.range(0, 1, 1, 1)


def constants(one: DataFrame, node: Values) -> DataFrame:
    """The rows, one of which has no columns if there are no fields; `one` is a row."""
    if node.rows == ((),):
        return one
    if len(node.rows) == 1:
        return selected(one, list(zip(node.columns, node.rows[0], strict=True)))
    rows = [
        [cell(f, column(e)) for f, e in zip(node.columns, row, strict=True)] for row in node.rows
    ]
    if not rows:
        return one.select(*(cell(f, F.lit(None)) for f in node.columns)).where(F.lit(False))
    if not node.columns:
        return one.sparkSession.range(0, len(rows), 1, 1).select()
    return one.select(F.inline(F.array(*(F.struct(*row) for row in rows))))


def generated(rows: DataFrame, node: Generate) -> DataFrame:
    elements = _elements(node.call)
    explode = F.posexplode_outer if node.outer else F.posexplode
    rows = rows.select("*", explode(elements).alias("$position", "$element"))
    element = quoted("$element")
    cells = [element]
    if isinstance(node.call, exp.Unnest) and len(node.call.expressions) > 1:
        cells = [element.getField(str(i)) for i in range(len(node.columns))]
    elif len(node.columns) > 1:
        names = rows.schema["$element"].dataType
        assert isinstance(names, StructType)
        cells = [element.getField(name) for name in names.names]
    found = rows.withColumns(
        {
            field.id: value.cast(spark_type(field.type))
            for field, value in zip(node.columns, cells, strict=True)
        }
    )
    if node.ordinality is not None:
        number = (quoted("$position") + F.lit(1)).cast(spark_type(node.ordinality.type))
        found = found.withColumn(node.ordinality.id, number)
    return found.drop("$position", "$element")


def _flat(array: Expression) -> Column:
    """An array of arrays as one of their elements."""
    found, kind = column(array), array.type
    while kind is not None and is_array(element_type(kind)):
        found, kind = F.flatten(found), element_type(kind)
    return found


def _elements(call: Expression) -> Column:
    """The rows of a table function as an array."""
    if isinstance(call, exp.Unnest):
        # UNNEST takes arrays apart that are elements of arrays; the rows of others may be arrays.
        as_they_are = call.args.get("explode_array")
        arrays = [column(a) if as_they_are else _flat(a) for a in call.expressions]
        if len(arrays) == 1:
            return arrays[0]
        return F.arrays_zip(*(array.alias(str(i)) for i, array in enumerate(arrays)))
    if isinstance(call, exp.GenerateSeries):
        start, end = column(call.args["start"]), column(call.args["end"])
        given = call.args.get("step")
        step = F.lit(1) if given is None else column(given)
        # Spark's sequence rejects bounds that the step does not lead to.
        leads = (end >= start) == (start + step > start)
        series = F.sequence(start, end, step)
        found = F.when(leads, series).when(end == start, series).when(~leads, F.array())
        return F.array_remove(found, end) if call.args.get("is_end_exclusive") else found
    raise UnsupportedError(f"The table function {call.key.upper()} is not supported.")
