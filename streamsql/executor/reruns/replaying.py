"""Reprocesses single records with a query's plan, as a separate batch. Its failures go to a
separate topic, since they are not new failures of the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.batch import (
    Batch,
    Cause,
    SinkRecords,
    as_bytes,
    cause_of,
    kafka_records,
    sink_records,
)
from streamsql.executor.lowering.compiled_plan import RECORDS
from streamsql.executor.queries.offset_ranges import OffsetRanges, reported_as
from streamsql.kafka.records import NewRecord, Record
from streamsql.planner.plans.query_plan import QueryPlan


@dataclass(frozen=True)
class Rerun:
    """Where records are put through a plan again."""

    plan: QueryPlan
    context: LoweringContext
    tables: OffsetRanges
    """The inputs of joined tables."""
    log: str
    """The topic that takes what fails."""

    def results(self, records: Sequence[Record]) -> list[tuple[Cause, NewRecord]]:
        """The query's results for the records, each with its source record, in order. ExternalError
        if Spark fails."""
        with reported_as("the replay"):
            made = self._lowered(records)
            rows = made.frame.collect()
        found = [
            (cause_of(row["partition"], row["offset"], made.inputs), _record(row)) for row in rows
        ]
        return sorted(found, key=lambda result: result[0])

    def _lowered(self, records: Sequence[Record]) -> SinkRecords:
        context = replace(
            self.context, records=self._reader(records), processing_log_topic=self.log
        )
        return sink_records(self.plan, context, self.log)

    def _reader(self, records: Sequence[Record]) -> Callable[[str], DataFrame]:
        batch = Batch(self.context, self.tables, self.log)

        def read(topic: str) -> DataFrame:
            if topic in self.tables:
                return kafka_records(topic, batch)
            return _frame([r for r in records if r.topic == topic], self.context)

        return read


def _frame(records: Sequence[Record], context: LoweringContext) -> DataFrame:
    """Records in the columns of Spark's Kafka source."""
    # Python's datetimes have a time zone to get wrong.
    fields = [
        StructField(f.name, LongType()) if f.name == "timestamp" else f for f in RECORDS.fields
    ]
    rows = [
        {
            "key": r.key,
            "value": r.value,
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
            "timestamp": -1 if r.timestamp is None else r.timestamp,
            "timestampType": 0,
            "headers": [{"key": key, "value": value} for key, value in r.headers] or None,
        }
        for r in records
    ]
    kinds = StructType(fields)
    # Spark reads Python's own rows by dozens of Python processes; Arrow's are a local relation.
    table = pa.Table.from_pylist(rows, to_arrow_schema(kinds, timezone="UTC"))
    found = context.spark.createDataFrame(table, kinds).coalesce(1)
    return found.withColumn("timestamp", F.timestamp_millis(F.col("timestamp")))


def _record(row: Row) -> NewRecord:
    headers = tuple((h["key"], as_bytes(h["value"])) for h in row["headers"] or ())
    return NewRecord(as_bytes(row["key"]), as_bytes(row["value"]), row["timestamp"], None, headers)
