"""INSERT INTO .. VALUES: one record per row. Constants are computed in Python; other expressions in
Spark, one row."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from streamsql.errors import InternalError, UserError
from streamsql.kafka.client import NewRecord
from streamsql.nodes import InsertValues
from streamsql.planner.ddl.row_changes import RowsPlan
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.planner.types.constants import NOT_CONSTANT, evaluate_constant
from streamsql.registry.serdes import Schemas
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.inserting.records import insert_records
from streamsql.statements.tables.changes import insert_rows, write_rows
from streamsql.tokens import to_token
from streamsql.values.records import can_encode, key_encoder, value_encoder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@handle.register
def insert_values(statement: InsertValues, context: Context) -> Iterable[Result]:
    """Returns when Kafka has acknowledged the records; the result is a token."""
    planned = context.plan(statement)
    if isinstance(planned, RowsPlan):
        return write_rows(planned, context)
    assert isinstance(planned, InsertValuesPlan)
    if planned.source.is_plain:
        return insert_rows(statement, planned, context)
    services = context.state.services
    schemas = Schemas(lambda: services.registry(context.session.properties))
    records = [
        record_of(row, lambda: services.spark.get().session, schemas) for row in planned.rows
    ]
    topic = planned.source.topic.name
    written = insert_records(services, topic, records)
    return [Message("", token=to_token({topic: written}))]


def note_row(statement: InsertValues, context: Context) -> None:
    """Records in the statement log that a statement's row is written, so that its file can be
    repeated."""
    with context.state.lock:
        context.commit(statement, None)


def record_of(
    planned: InsertValuesPlan,
    spark: Callable[[], SparkSession],
    schemas: Schemas | None = None,
) -> NewRecord:
    """The record of a row; `spark` is used only if an expression or a format needs it. UserError if
    a value cannot be computed."""
    try:
        return _record(planned, spark, schemas or Schemas())
    except UserError as error:
        error.message = f"Failed to insert values into '{planned.source.name}'. {error.message}"
        raise


def _record(
    planned: InsertValuesPlan, spark: Callable[[], SparkSession], schemas: Schemas
) -> NewRecord:
    expressions = [*planned.expressions, *([planned.rowtime] if planned.rowtime else [])]
    values = [evaluate_constant(e) for e in expressions]
    if any(value is NOT_CONSTANT for value in values) or not can_encode(planned.source.topic):
        from streamsql.executor.frames.constants import evaluate_record

        key, value, rowtime = evaluate_record(spark(), planned, schemas.writing)
    else:
        cells = dict(zip(planned.columns, values, strict=False))
        topic, schema = planned.source.topic, planned.source.schema
        key, value = key_encoder(topic, schema)(cells), value_encoder(topic, schema)(cells)
        rowtime = values[-1] if planned.rowtime is not None else None
    if rowtime is None:
        rowtime = int(time.time() * 1000)
    if not isinstance(rowtime, int):
        raise InternalError(f"ROWTIME is not a number of milliseconds: {rowtime!r}")
    return NewRecord(key, value, rowtime)
