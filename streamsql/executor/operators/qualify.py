"""Qualify: a join side under its source's alias; system columns are unchanged."""

from __future__ import annotations

from pyspark.sql import DataFrame

from streamsql.executor.frames.context import SYSTEM_COLUMNS, Scope, quoted, system_columns
from streamsql.planner.plans.logical import Qualify


def lower(node: Qualify, inputs: tuple[DataFrame, ...], scope: Scope) -> DataFrame:
    """The rows, their columns named after the source's alias."""
    del scope
    (rows,) = inputs
    names = [name for name in rows.columns if name not in SYSTEM_COLUMNS]
    columns = [quoted(name).alias(f"{node.alias}.{name}") for name in names]
    return rows.select(*columns, *system_columns())
