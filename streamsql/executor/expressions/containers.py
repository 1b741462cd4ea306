"""ARRAY, MAP and STRUCT on Spark: constructors, subscripts and fields.

What fails in a constructor is one element, key, value or field, which is null then.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from sqlglot import exp

from streamsql import types
from streamsql.executor.expressions.context import Lowering
from streamsql.executor.spark.types import spark_type
from streamsql.planner.types.scope import is_literal
from streamsql.types import type_of


def array(node: exp.Array, lowering: Lowering) -> Column:
    if not node.expressions:
        return F.array().cast(spark_type(type_of(node)))
    return F.array(*map(lowering.contained, node.expressions))


def map_(node: exp.Map, lowering: Lowering) -> Column:
    if not node.args["keys"].expressions:
        return F.create_map().cast(spark_type(type_of(node)))
    keys, values = (
        [lowering.contained(e) for e in node.args[part].expressions] for part in ("keys", "values")
    )
    # A null key is an error in Spark's maps, which would end the query. JSON, the one format that
    # has a name for it, says "null"; of another type than text the entry is left out.
    if types.key_type(type_of(node)) == types.STRING:
        keys = [F.coalesce(key, F.lit("null")) for key in keys]
    elif not all(is_literal(key) for key in node.args["keys"].expressions):
        return _without_null_keys(keys, values)
    return F.create_map(*(c for pair in zip(keys, values, strict=True) for c in pair))


def _without_null_keys(keys: list[Column], values: list[Column]) -> Column:
    entries = F.array(
        *(F.struct(k.alias("k"), v.alias("v")) for k, v in zip(keys, values, strict=True))
    )
    return F.map_from_entries(F.filter(entries, lambda entry: entry["k"].isNotNull()))


def struct(node: exp.Struct, lowering: Lowering) -> Column:
    return F.struct(
        *(lowering.contained(f.expression).alias(f.this.name) for f in node.expressions)
    )


def subscript(node: exp.Bracket, lowering: Lowering) -> Column:
    """Lowers `a[i]` of an ARRAY or a MAP."""
    base, (index,) = lowering.lower(node.this), node.expressions
    if types.is_map(type_of(node.this)):
        return F.element_at(base, lowering.lower(index))
    if isinstance(index, exp.Literal):
        # Not element_at: with a constant index over ARRAY[..] it generates code that fails.
        place = int(index.name)
        if place > 0:
            return F.get(base, F.lit(place - 1))
        return F.get(base, F.array_size(base) + place) if place else F.get(base, F.lit(-1))
    # Index 0 is an error in Spark and null here.
    return F.element_at(base, F.nullif(lowering.lower(index).cast("int"), F.lit(0)))


def field(node: exp.Dot, lowering: Lowering) -> Column:
    """Lowers `s->f`."""
    return lowering.lower(node.this).getField(node.expression.name)
