"""The rows of a table outside Kafka, each with the place of its record."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame

from streamsql.executor.frames.context import (
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    Scope,
    quoted,
)


def placed(rows: DataFrame, columns: Iterable[Column], scope: Scope) -> DataFrame:
    """The columns of the table, whether the record has no value, and its partition and offset."""
    return rows.where(scope.jvm.written(scope.query_id)).select(
        *columns,
        quoted(NULL_COLUMN),
        quoted(PARTITION_COLUMN).cast("int").alias(PARTITION_COLUMN),
        quoted(OFFSET_COLUMN).cast("bigint").alias(OFFSET_COLUMN),
    )
