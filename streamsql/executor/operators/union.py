"""Union: the rows of two streams; their places stay different."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamsql.executor.frames.context import PARTITION_COLUMN, SYSTEM_COLUMNS, Scope, quoted
from streamsql.executor.frames.keyed import merged
from streamsql.executor.operators.lowering import Inputs, Lowering, present
from streamsql.executor.spark.types import spark_type
from streamsql.planner.operators import Union


def lower(node: Union, inputs: Inputs, scope: Scope) -> DataFrame:
    """Partition p of the left side is 2 p in the result, of the right side 2 p + 1: rows of two
    logs have no order between them."""
    del scope
    frames = []
    for side, rows in enumerate(inputs):
        columns = [
            quoted(column.name).cast(spark_type(column.type)).alias(column.name)
            for column in node.schema
        ]
        place = (quoted(PARTITION_COLUMN) * F.lit(2) + F.lit(side)).alias(PARTITION_COLUMN)
        system = [place if n == PARTITION_COLUMN else quoted(n) for n in SYSTEM_COLUMNS]
        frames.append(rows.select(*columns, *system))
    return merged(frames)


def _batch(node: Union, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    return lower(node, present(node, inputs), scope)


LOWERING = Lowering(lower, _batch)
