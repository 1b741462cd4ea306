"""Qualify: a join side under its source's alias; system columns are unchanged."""

from __future__ import annotations

from pyspark.sql import DataFrame

from streamsql.executor.frames.context import SYSTEM_COLUMNS, Scope, quoted, system_columns
from streamsql.executor.operators.lowering import Inputs, Lowering, row_by_row
from streamsql.planner.operators import Qualify


def lower(node: Qualify, inputs: Inputs, scope: Scope) -> DataFrame:
    del scope
    (rows,) = inputs
    names = [name for name in rows.columns if name not in SYSTEM_COLUMNS]
    columns = [quoted(name).alias(f"{node.alias}.{name}") for name in names]
    return rows.select(*columns, *system_columns())


LOWERING = Lowering(lower, row_by_row(lower))
