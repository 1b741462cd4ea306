"""Scan: a topic's records as rows; unreadable ones are reported and dropped."""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from streamsql.catalog import Lookup
from streamsql.executor.frames.context import (
    END_COLUMN,
    HEADERS_COLUMN,
    INPUT_PARTITIONS,
    NULL_COLUMN,
    OFFSET_COLUMN,
    PARTITION_COLUMN,
    START_COLUMN,
    TIME_COLUMN,
    Scope,
    made_columns,
    quoted,
    record_type,
)
from streamsql.executor.frames.event_time import event_time
from streamsql.executor.frames.records import key_side, value_side
from streamsql.executor.operators.constraints import meeting_constraints
from streamsql.executor.operators.lowering import Inputs, Lowering, latest
from streamsql.executor.operators.stored_values import with_stored_values
from streamsql.executor.spark.jvm import NULL_VALUE
from streamsql.executor.spark.lakes import lake_rows
from streamsql.formats import FORMATS
from streamsql.planner.operators import Export, Scan, Sink
from streamsql.planner.plans.modes import time_decides
from streamsql.properties import ON_DATA_LOSS, ON_TRUNCATE
from streamsql.schema import Column as SchemaColumn
from streamsql.schema import Kind

_STEP = "Source"
_EVENT_TIME = "$event_time"
_MOST_MS = 1 << 62
"""Maximum that can be added to the clock's time."""
_SOURCE = "io.streamsql.source.TopicSource"
"""Spark's Kafka source, which sleeps while there is nothing to read."""


def lower(node: Scan, inputs: Inputs, scope: Scope) -> DataFrame:
    """The rows of a topic, decoded; unreadable records are in the processing log."""
    source = node.source
    if source.lookup is not None:
        return _of_lake(node, source.lookup, scope)
    if scope.context.table is not None:
        return scope.context.table(node)
    record_time = F.unix_millis(F.col("timestamp"))
    records, decoded = _decoded(node, scope)
    rows = records.select(
        decoded.alias("$row"),
        record_time.alias(TIME_COLUMN),
        F.col("partition").alias("ROWPARTITION"),
        F.col("offset").alias("ROWOFFSET"),
        F.col("headers").alias(HEADERS_COLUMN),
    ).where(F.col("`$row`").isNotNull())
    rows = rows.select(
        *_columns(node),
        quoted(TIME_COLUMN),
        F.col(f"`$row`.`{NULL_VALUE}`").alias(NULL_COLUMN),
        quoted(HEADERS_COLUMN),
        *_bounds(node),
        "ROWPARTITION",
        "ROWOFFSET",
    )
    rows = with_stored_values(rows, node, scope)
    if source.timestamp is not None:
        rows = _with_event_time(rows, node, scope)
    partition = F.col("ROWPARTITION")
    if scope.names_causes and scope.scans:
        partition = partition + F.lit(len(scope.scans) * INPUT_PARTITIONS)
    scope.scans.append(node)
    rows = rows.withColumns(
        {
            "ROWTIME": quoted(TIME_COLUMN),
            PARTITION_COLUMN: partition,
            OFFSET_COLUMN: F.col("ROWOFFSET"),
        }
    )
    return meeting_constraints(rows, node, scope)


def _of_lake(node: Scan, lookup: Lookup, scope: Scope) -> DataFrame:
    """The rows of a table of Iceberg."""
    spark, columns = scope.context.spark, node.source.schema
    rows = lake_rows(lookup, node.source.name, record_type(columns), spark)
    place = F.lit(0), F.lit(0).cast("bigint")
    made = rows.select(
        *(quoted(column.name) for column in columns),
        *made_columns(scope.jvm.clock(), F.lit(False), *place),
    )
    system = (TIME_COLUMN, PARTITION_COLUMN, OFFSET_COLUMN)
    pseudo = zip(node.source.pseudo_columns, system, strict=True)
    return made.withColumns({column.name: quoted(name) for column, name in pseudo})


def _decoded(node: Scan, scope: Scope) -> tuple[DataFrame, Column]:
    """The records, and the rows of each of them: one, or the changes of a database in it."""
    topic, schema = node.source.topic, node.source.schema
    raw = topic_records(topic.name, node.kind, scope)
    value = value_side(topic, schema, scope.context.schemas.reading)
    if FORMATS[topic.value_format.name].written_as is not None:
        table = node.kind is Kind.TABLE
        keys, stops = record_type(schema.key), _stops_at_truncate(scope)
        changes = scope.jvm.decode_changes(
            keys, value, scope.log, _STEP, table=table, stops_at_truncate=stops
        )
        return raw, F.explode(changes)
    if node.kind is Kind.TABLE:
        raw = raw.where(F.col("key").isNotNull())
    key = key_side(topic, schema, scope.context.schemas.reading)
    return raw, scope.jvm.decode(key, value, scope.log, _STEP)


def _stops_at_truncate(scope: Scope) -> bool:
    """Whether it is a persistent query, which stops at a truncation; others continue."""
    context = scope.context
    lives = context.sleeps and context.records is None and isinstance(scope.root, Sink | Export)
    return lives and ON_TRUNCATE not in context.tolerated


def topic_records(topic: str, kind: Kind, scope: Scope) -> DataFrame:
    """A topic's records in the columns of Spark's Kafka source."""
    context = scope.context
    if context.records is not None:
        return context.records(topic)
    reader = (
        context.spark.readStream.format(_SOURCE)
        .options(**context.reader_options)
        .option("subscribe", topic)
        .option("startingOffsets", _starting_offsets(topic, context.starting_offsets))
        .option("fetchOffset.numRetries", "10")
        .option("fetchOffset.retryIntervalMs", "200")
        # Records deleted during a batch end it; the next batch detects the loss.
        .option("failOnDataLoss", context.sleeps)
    )
    if context.sleeps:
        reader = reader.option("streamsql.query", scope.query_id).option(
            "streamsql.sleeps.at.once", context.sleeps_at_once
        )
        reader = reader.option("streamsql.table", kind is Kind.TABLE)
        reader = reader.option("streamsql.rests", context.rests)
        reader = reader.option("streamsql.time.decides", time_decides(scope.root))
        reader = reader.options(**context.epochs)
    if ON_DATA_LOSS in context.tolerated:
        reader = reader.option("streamsql.loss.log", context.processing_log_topic)
    if context.max_records_per_batch is not None:
        reader = reader.option("maxOffsetsPerTrigger", str(context.max_records_per_batch))
    return reader.load()


def _starting_offsets(topic: str, given: str) -> str:
    """Offsets of this topic only: Spark rejects those of others."""
    if not given.startswith("{"):
        return given
    offsets = json.loads(given)
    return json.dumps({topic: offsets[topic]}) if topic in offsets else "earliest"


def _columns(node: Scan) -> list[Column]:
    """The source's columns from the decoded record, header columns from its headers."""
    schema = node.source.schema
    bounds = ("WINDOWSTART", "WINDOWEND") if node.source.is_windowed else ()
    fields = [c.name for c in (*schema.key, *schema.value)]
    found = [F.col("`$row`").getField(name).alias(name) for name in (*fields, *bounds)]
    return [*found, *(_header(c).alias(c.name) for c in schema.headers)]


def _bounds(node: Scan) -> list[Column]:
    names = {"WINDOWSTART": START_COLUMN, "WINDOWEND": END_COLUMN}
    none = F.lit(None).cast("bigint")
    return [
        (F.col("`$row`").getField(name) if node.source.is_windowed else none).alias(column)
        for name, column in names.items()
    ]


def _header(column: SchemaColumn) -> Column:
    """HEADERS: all of them; HEADER('x'): the last one of that name."""
    headers = quoted(HEADERS_COLUMN)
    if column.header is None:
        pairs = F.transform(
            headers, lambda h: F.struct(h["key"].alias("KEY"), h["value"].alias("VALUE"))
        )
        return F.coalesce(pairs, F.array().cast("array<struct<KEY:string,VALUE:binary>>"))
    matching = F.filter(headers, lambda h: h["key"] == F.lit(column.header))
    return F.try_element_at(matching, F.lit(-1))["value"]


def _with_event_time(rows: DataFrame, node: Scan, scope: Scope) -> DataFrame:
    """Rows without a valid event time, or too far ahead of the clock, are reported and dropped; a
    row without a value keeps its record's timestamp."""
    timestamp = node.source.timestamp
    assert timestamp is not None
    rows = rows.withColumn(_EVENT_TIME, event_time(timestamp, node.source.schema))
    checked = _checked(quoted(_EVENT_TIME), timestamp.name, scope)
    is_key = any(c.name == timestamp.name for c in node.source.schema.key)
    time = (
        checked if is_key else F.when(quoted(NULL_COLUMN), quoted(TIME_COLUMN)).otherwise(checked)
    )
    timed = rows.withColumn(TIME_COLUMN, time).where(quoted(TIME_COLUMN).isNotNull())
    return timed.drop(_EVENT_TIME)


def _checked(found: Column, name: str, scope: Scope) -> Column:
    """The time of the named column; null, which is reported, if it is invalid."""
    value = F.coalesce(quoted(name).cast("string"), F.lit("null"))

    def report(problem: str) -> Column:
        message = F.concat(F.lit(f"{problem}: "), value)
        return scope.jvm.report_null(message, LongType(), scope.log, _STEP)

    unread = report(f"Failed to extract timestamp from column {name}")
    most = scope.context.max_ahead_ms
    if most is None:
        return F.when(found >= 0, found).otherwise(unread)
    ahead = report(f"The time in column {name} is more than {most} ms ahead of the clock")
    is_ahead = found > scope.jvm.clock() + F.lit(min(most, _MOST_MS))
    return F.when(is_ahead, ahead).when(found >= 0, found).otherwise(unread)


def _batch(node: Scan, inputs: Inputs, scope: Scope, history: bool) -> DataFrame:
    # As the latest rows.
    known = scope.context.table is not None or node.source.lookup is not None
    return latest(lower)(node, inputs, scope, history or known)


LOWERING = Lowering(lower, _batch)
