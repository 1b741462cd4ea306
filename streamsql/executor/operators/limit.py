"""Limit: the reader of a push query counts its rows, since Spark's limit has no update mode."""

from __future__ import annotations

from pyspark.sql import DataFrame

from streamsql.executor.frames.context import Scope
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import Limit


def lower(node: Limit, inputs: Inputs, scope: Scope) -> DataFrame:
    return inputs[0]


LOWERING = Lowering(lower, row_by_row(lower))
