"""Input and output of lowering: the context, the scope of one query, the spec.

In addition to the columns of its operator's schema, every frame has the system columns below; they
begin with `$`, which no unquoted name can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from streamsql.executor.frames.layouts import Layouts, StoreLayout
from streamsql.executor.spark.external import ExternalTarget
from streamsql.executor.spark.jvm import Jvm, ProcessingLog
from streamsql.executor.spark.types import spark_type
from streamsql.executor.spark.views import Dataflow
from streamsql.nodes import Emit
from streamsql.planner.operators import Operator, Scan
from streamsql.planner.plans.delivery import Replay
from streamsql.registry.serdes import Schemas
from streamsql.schema import Column as SchemaColumn
from streamsql.storage.location import Location
from streamsql.types import (
    SQLType,
    element_type,
    fields,
    is_array,
    is_map,
    is_struct,
    key_type,
    to_sql,
)

TIME_COLUMN = "$time"
"""The row's event time, BIGINT ms."""
NULL_COLUMN = "$null"
"""BOOLEAN: the record has no value; on a TABLE, the row is deleted."""
HEADERS_COLUMN = "$headers"
"""The record's headers while each record gives one row, else null."""

START_COLUMN = "$start"
END_COLUMN = "$end"
"""Bounds of the window in the row's key, BIGINT ms; null without window."""

PARTITION_COLUMN = "$partition"
OFFSET_COLUMN = "$offset"
"""The row's place among those of its input, INT and BIGINT: within a partition, rows are ordered by
offset."""

INPUT_PARTITIONS = 1 << 20
"""More partitions than a topic can have."""

SYSTEM_COLUMNS = (
    TIME_COLUMN,
    NULL_COLUMN,
    HEADERS_COLUMN,
    START_COLUMN,
    END_COLUMN,
    PARTITION_COLUMN,
    OFFSET_COLUMN,
)

HEADERS_TYPE = "array<struct<key:string,value:binary>>"

DEFAULT_SHUFFLE_PARTITIONS = 2

RECORDS_PER_POLL = 50_000
"""Kafka's `max.poll.records`: all that a fetch (1 MiB) brings. After each poll Spark asks the
broker for the topic's ends: with the default of 500 records that was a quarter of a projection's
work."""


@dataclass(frozen=True)
class Muted:
    """Output of the rows of a rebuild before its switch."""

    topic: str | None
    """Replaces the sink's topic; None: the rows are discarded."""


@dataclass(frozen=True)
class LoweringContext:
    """Where queries run. `max_records_per_batch` limits the micro-batches of catching up."""

    spark: SparkSession
    bootstrap_servers: str
    data_dir: Path
    processing_log_topic: str
    max_records_per_batch: int | None = None
    shuffle_partitions: int = DEFAULT_SHUFFLE_PARTITIONS
    starting_offsets: str = "earliest"
    """`earliest`, `latest` or JSON offsets, as in Spark's Kafka source."""
    consumer_settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of Kafka's consumer, without the prefix `kafka.`."""
    producer_settings: Mapping[str, str] = field(default_factory=dict)
    lease: Mapping[str, str] = field(default_factory=dict)
    """Additional settings of a sink's producer: its write lease, if it needs one."""
    sleeps: bool = True
    """Whether a query goes idle without new records. A query driven by `processAllAvailable` must
    not."""
    sleeps_at_once: bool = False
    """Whether it may sleep before its first batch: it has no results that depend on time alone."""
    rests: bool = False
    """Whether a live query in micro-batches pauses between two of them."""
    freshness_ms: int = 0
    """Of a view: the least time between two epochs."""
    epochs: Mapping[str, str] = field(default_factory=dict)
    """Of a query that goes through epochs: options of its sources, see lowering/epochs.py."""
    tolerated: frozenset[str] = frozenset()
    """Failures that the query tolerates, by property name: see `accepted`."""
    include_rows_in_log: bool = False
    max_ahead_ms: int | None = None
    """How far the time from a column may be ahead of the clock; None: unlimited."""
    committed_only: bool = False
    """Whether queries read committed records only."""
    schemas: Schemas = field(default_factory=Schemas)
    """For formats with schemas in a registry."""
    records: Callable[[str], DataFrame] | None = None
    """Provides a topic's records, in the columns of Spark's Kafka source, instead of its stream."""

    table: Callable[[Scan], DataFrame] | None = None
    """The latest rows of a table, in the columns of scan.py, if known."""

    raises: bool = False
    """Whether an expression of standard SQL without a value, such as 1/0, is an error, not null."""

    dataflow: Dataflow | None = None
    """Of a materialized view: what follows its topics."""

    kept: tuple[StoreLayout, ...] | None = None
    """The stores of the checkpoint that a query resumes from, if known."""
    begun: bool = False
    """Whether there is such a checkpoint."""

    muted: Muted | None = None
    """Replaces the output of a query before its switch; None: normal output."""

    checkpoint_folder: Location | None = None
    """The folder of persistent queries' checkpoints, if it is not in the data folder."""

    @property
    def checkpoints(self) -> Location:
        return self.checkpoint_folder or self.data_dir / "checkpoints"

    @property
    def reading_settings(self) -> dict[str, str]:
        level = {"isolation.level": "read_committed"} if self.committed_only else {}
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "max.poll.records": str(RECORDS_PER_POLL),
            **self.consumer_settings,
            **level,
        }

    @property
    def reader_options(self) -> dict[str, str]:
        """The options with which Spark's Kafka source reads any topic."""
        consumer = {f"kafka.{name}": value for name, value in self.reading_settings.items()}
        return {"includeHeaders": "true", **consumer}

    @cached_property
    def jvm(self) -> Jvm:
        return Jvm(self.spark)


@dataclass(frozen=True)
class Scope:
    """The lowering of one query."""

    context: LoweringContext
    query_id: str
    emit: Emit
    root: Operator
    """The complete plan."""
    needed: Mapping[int, frozenset[str]] = field(default_factory=dict)
    """By the `id` of an operator: the columns that operators above it read, or that the checkpoint
    has."""
    read: Mapping[int, frozenset[str]] | None = None
    """The same without columns for the checkpoint only; None: there are none."""
    layouts: Layouts = field(default_factory=Layouts)
    """The stores of the operators lowered so far."""
    shuffles: list[str] = field(default_factory=list)
    """The shuffle stages between the sources and the sink, which run concurrently."""
    replay: Replay | None = None
    """Identifies committed rows; None: at-least-once delivery."""
    scans: list[Scan] = field(default_factory=list)
    """The inputs, in the order of their lowering."""

    @property
    def names_causes(self) -> bool:
        """Whether PARTITION_COLUMN and OFFSET_COLUMN name, at the sink, the input record that
        caused the row: partitions of the second input are counted from INPUT_PARTITIONS."""
        return self.replay in (Replay.SOURCE, Replay.CAUSE)

    def needed_above(self, node: Operator) -> frozenset[str] | None:
        """The columns of the operator that are read; None: unknown, so all."""
        return self.needed.get(id(node))

    def read_above(self, node: Operator) -> frozenset[str] | None:
        """The same without columns for the checkpoint only."""
        return (self.needed if self.read is None else self.read).get(id(node))

    @property
    def jvm(self) -> Jvm:
        return self.context.jvm

    @cached_property
    def log(self) -> ProcessingLog:
        """The log for records that fail in the query."""
        settings = {
            **self.context.producer_settings,
            "bootstrap.servers": self.context.bootstrap_servers,
            "acks": "all",
            "linger.ms": "5",
        }
        return self.jvm.processing_log(
            self.query_id,
            self.context.processing_log_topic,
            settings,
            self.context.include_rows_in_log,
        )


@dataclass(frozen=True)
class StreamingQuerySpec:
    """A lowered query: a frame of Kafka records, or of rows outside Kafka, and how to run it."""

    query_id: str
    frame: DataFrame
    """The columns topic, key, value, timestamp (ms) and headers; with `external` those of rows."""
    output_mode: str
    """`update` or `append`."""
    real_time_allowed: bool
    shuffles: int
    """The number of stages after a shuffle, which in real time run concurrently."""
    source_topics: tuple[str, ...]
    checkpoint: Location
    stores: tuple[StoreLayout, ...]
    """The layout of its state."""
    shuffle_partitions: int
    bootstrap_servers: str
    producer_settings: Mapping[str, str]
    log: ProcessingLog
    jvm: Jvm
    replay: Replay | None = None
    """Identifies committed rows; None: at-least-once delivery."""
    external: ExternalTarget | None = None
    """What it writes outside Kafka, if anything."""
    muted: Muted | None = None
    """Replaces the sink; None: the sink."""
    view: Dataflow | None = None
    """Of a materialized view: what makes its records of those of its topics, which are `frame`."""
    limit: int | None = None
    """The LIMIT of a push query; the reader of its topic counts rows."""


def quoted(name: str) -> Column:
    """The frame's column of exactly that name, which may contain dots."""
    return F.col("`" + name.replace("`", "``") + "`")


def system_columns() -> list[Column]:
    """System columns of every frame: time, headers, tombstone flag."""
    return [quoted(name) for name in SYSTEM_COLUMNS]


def made_columns(
    time: Column, is_deleted: Column, partition: Column, offset: Column
) -> list[Column]:
    """The system columns of rows that an operator makes: without headers and bounds."""
    none = F.lit(None).cast("bigint")
    return [
        time.alias(TIME_COLUMN),
        is_deleted.alias(NULL_COLUMN),
        F.lit(None).cast(HEADERS_TYPE).alias(HEADERS_COLUMN),
        none.alias(START_COLUMN),
        none.alias(END_COLUMN),
        partition.alias(PARTITION_COLUMN),
        offset.alias(OFFSET_COLUMN),
    ]


def columns_of(names: Iterable[str]) -> dict[str, Column]:
    """The frame's columns by name, for expressions."""
    return {name: quoted(name) for name in names}


def record_type(columns: Iterable[SchemaColumn]) -> StructType:
    """The Spark type of a key or value for the JVM codecs: TIME, which Spark lacks, is a bigint;
    the field's metadata say so, or name the type of the container that contains it."""
    return StructType([_field(column.name, column.type) for column in columns])


def _field(name: str, t: SQLType) -> StructField:
    text = to_sql(t)
    metadata = {"sql": text} if re.search(r"\bTIME\b", text) else None
    return StructField(name, _record_type(t), True, metadata)


def _record_type(t: SQLType) -> DataType:
    if is_array(t):
        return ArrayType(_record_type(element_type(t)))
    if is_map(t):
        return MapType(_record_type(key_type(t)), _record_type(element_type(t)))
    if is_struct(t):
        return StructType([_field(name, kind) for name, kind in fields(t)])
    return spark_type(t)
