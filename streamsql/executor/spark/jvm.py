"""Builds columns and frames of our Java classes (packages io.streamsql.*) in the session's JVM.

Decides nothing: what a record must look like is the caller's business, how it is read, written and
delivered the Java's. Everything else that Java is asked goes over the bridge (bridge.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import DataType, StructType

from streamsql.executor.spark.external import (
    DatabaseTarget,
    ExternalTarget,
    FileTarget,
    IcebergTarget,
)
from streamsql.schema import OnViolation
from streamsql.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NULL_VALUE = "$null_value"
"""Last field of a decoded record: true if the record has no value (a tombstone)."""


KAFKA_COLUMNS = ("key", "value", "topic", "partition", "offset")
"""The columns of Spark's Kafka source that make up a record."""

BoundedKind = Literal[
    "COLLECT_LIST",
    "COLLECT_SET",
    "TOPK",
    "TOPK_DISTINCT",
    "TOPK_BY",
    "EARLIEST",
    "LATEST",
    "SIGNED_LIST",
    "COUNTED",
]


@dataclass(frozen=True)
class SideFormat:
    """Encoding of one side (key or value) of a topic's records. `name` is JSON, DELIMITED, KAFKA or
    NONE; `schema` has the side's columns, where a TIME column is a bigint with the metadata {"sql":
    "TIME"}. Properties: `delimiter` (one character), `wrap` ("true" or "false", JSON with one
    column), for keys `window` ("time" or "session") and `window.size` (ms)."""

    name: str
    schema: StructType
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProcessingLog:
    """Where a query's bad records are reported; made by `Jvm.processing_log`."""

    java: Any


@dataclass(frozen=True)
class ExactlyOnce:
    """How a query's records are delivered once each: see io.streamsql.delivery.Delivery."""

    query_id: str
    tokens_topic: str
    interval_ms: int
    """Between two commits in real time; 0: once for each task of a micro-batch."""
    replay: str


class Jvm:
    """The classes of io.streamsql as seen from one Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._io = cast(Any, spark)._jvm.io.streamsql

    def processing_log(
        self,
        query_id: str,
        topic: str,
        producer_settings: Mapping[str, str],
        include_rows: bool = False,
    ) -> ProcessingLog:
        java = self._io.monitoring.ProcessingLog(query_id, topic, producer_settings, include_rows)
        return ProcessingLog(java)

    def decode(
        self,
        key: SideFormat,
        value: SideFormat,
        log: ProcessingLog | None,
        step: str,
        source: Sequence[str] = KAFKA_COLUMNS,
    ) -> Column:
        """A Kafka source's row as a struct: key columns, value columns, window bounds, NULL_VALUE.
        Reads the columns that `source` names, in the order of KAFKA_COLUMNS. Null represents an
        unreadable record, which was reported to `log`: filter it out. Without a log, such a record
        fails the query."""
        decoder = self.decoder(key, value, log, step)
        columns = [_java(F.col(name)) for name in source]
        return _column(self._io.expressions.Expressions.decode(*columns, decoder))

    def decode_changes(
        self,
        keys: StructType,
        value: SideFormat,
        log: ProcessingLog,
        step: str,
        *,
        table: bool,
        stops_at_truncate: bool,
    ) -> Column:
        """A Kafka source's row as an array of structs like those of `decode`, one per row of its
        record: none for an unreadable record. The query may fail at a truncation of the table."""
        try:
            name, properties, values = self._side(value)
            decoder = self._io.connector.ChangeDecoder.of(
                name, properties, keys.json(), values, table, stops_at_truncate, log.java, step
            )
        except Py4JJavaError as error:
            raise ValueError(error.java_exception.getMessage()) from None
        columns = [_java(F.col(name)) for name in KAFKA_COLUMNS]
        return _column(self._io.expressions.Expressions.changes(*columns, decoder))

    def decoder(
        self, key: SideFormat, value: SideFormat, log: ProcessingLog | None, step: str
    ) -> Any:
        """The Java object behind `decode`; ValueError where a format cannot hold the columns."""
        try:
            return self._io.connector.RecordDecoder.of(
                *self._side(key), *self._side(value), log.java if log else None, step
            )
        except Py4JJavaError as error:
            raise ValueError(error.java_exception.getMessage()) from None

    def encode(
        self,
        struct: Column,
        side: SideFormat,
        log: ProcessingLog | None = None,
        target: Literal["key", "value"] = "value",
    ) -> Column:
        """The bytes of a struct that holds the side's columns, in order; a null struct gives null.

        With the property `window`, two bigint fields follow: the window's start and end in ms. What
        the format's schema cannot hold is reported to `log` as the record's `target`, and left out
        by the Kafka sink; without a log it fails the query.
        """
        try:
            encoder = self._io.connector.RecordEncoder.of(*self._side(side))
        except Py4JJavaError as error:
            raise ValueError(error.java_exception.getMessage()) from None
        if log is not None:
            encoder = encoder.reporting(log.java, target)
        return _column(self._io.expressions.Expressions.encode(_java(struct), encoder))

    def report_null(
        self, message: Column, data_type: DataType, log: ProcessingLog, step: str
    ) -> Column:
        """A null of the type that reports `message` to the log whenever it is evaluated.

        Topic, partition and offset of the entry are those of the record last decoded in the same
        task, so it has them only in front of a shuffle.
        """
        java = self._io.expressions.Expressions.reportNull(
            _java(message), data_type.json(), log.java, step
        )
        return _column(java)

    def bounded_aggregate(
        self, kind: BoundedKind, value: Column, limit: int, ignore_nulls: bool = True
    ) -> Column:
        """An aggregate giving an array of at most `limit` values. BoundedAggregate.Kind says which,
        and of what; `ignore_nulls` is for EARLIEST and LATEST alone: leave out null values."""
        java = self._io.functions.BoundedAggregate.of(_java(value), kind, limit, ignore_nulls)
        return _column(java)

    def count_distinct(self, value: Column) -> Column:
        """Exact number of distinct values that are not null (BIGINT)."""
        return _column(self._io.functions.DistinctCount.of(_java(value)))

    def pack(self, struct: Column, schema: StructType) -> Column:
        """The struct, of that very type, as BINARY; equal structs have equal bytes."""
        return _column(self._io.expressions.Expressions.pack(_java(struct), schema.json()))

    def unpack(self, packed: Column, schema: StructType) -> Column:
        """The inverse of `pack`; null for null."""
        return _column(self._io.expressions.Expressions.unpack(_java(packed), schema.json()))

    def stream_time(self, time: Column) -> Column:
        """The largest event time (BIGINT ms) that the task has seen up to the row."""
        return _column(self._io.expressions.Expressions.streamTime(_java(time)))

    def clock(self) -> Column:
        """Current time (BIGINT ms), evaluated per row."""
        return _column(self._io.expressions.Expressions.clock())

    def late(self, time: Column, stream_time: Column, log: ProcessingLog, step: str) -> Column:
        """FALSE for a row of that time (BIGINT ms), which is counted, and sampled into the log."""
        times = _java(time), _java(stream_time)
        return _column(self._io.expressions.Expressions.late(*times, log.java, step))

    def written(self, query_id: str) -> Column:
        """TRUE for each row, which is counted as written by the query."""
        return _column(self._io.expressions.Expressions.written(query_id))

    def meets_constraint(
        self,
        satisfied: Column,
        constraint: str,
        message: str,
        on_violation: OnViolation,
        log: ProcessingLog,
        step: str,
    ) -> Column:
        """Whether a row satisfies a constraint. A violation is counted and, as `on_violation` says,
        logged, or fails the query. Null `satisfied`: violated and already logged."""
        check = self._io.expressions.ConstraintCheck.of(
            constraint, message, on_violation.name, log.java, step
        )
        struct = _java(F.struct(satisfied.alias("satisfied")))
        return _column(self._io.expressions.Expressions.meets(struct, check))

    def look_up(
        self,
        key: Column,
        table: Mapping[str, str],
        schema: StructType,
        keys: int,
        jars: Sequence[str],
        log: ProcessingLog,
        step: str,
    ) -> Column:
        """Row of a lookup table (defined by io.streamsql.lookups.LookupTable) for a struct of its
        `keys` first columns, as a struct of its schema; null without a row."""
        lookups = self._io.lookups
        found = lookups.LookupTable.of(table, schema.json(), keys, jars)
        lookup = lookups.Lookup.of(found, log.java, step)
        return _column(self._io.expressions.Expressions.found(_java(key), lookup))

    def whole(self, struct: Column) -> Column:
        """TRUE, though Spark does not know it: all of the struct's columns have to be there."""
        return _column(self._io.expressions.Expressions.whole(_java(struct)))

    def aggregate_buffers(self, totals: DataFrame) -> Any:
        """The Java object that evaluates a global aggregation a row at a time: AggregateBuffers."""
        return self._io.operators.aggregates.AggregateBuffers.of(cast(Any, totals)._jdf)

    def join_condition(self, met: DataFrame, left: int, right: int) -> Any:
        """The Java object that evaluates the condition on two packed rows, with that number of
        columns (JoinCondition)."""
        return self._io.operators.joins.JoinCondition.of(cast(Any, met)._jdf, left, right)

    def totals(self, buffers: list[Any], variables: str) -> Any:
        """The Java object that adds up rows of variables: Totals."""
        return self._io.operators.patterns.Totals(buffers, variables)

    def match_conditions(self, met: DataFrame, *arguments: Any) -> Any:
        """The Java object that assigns rows to variables (MatchConditions), by a frame of
        structs."""
        return self._io.operators.patterns.MatchConditions.of(cast(Any, met)._jdf, *arguments)

    def match_results(self, *arguments: Any) -> Any:
        """The Java object that computes the results of a match: MatchResults."""
        return self._io.operators.patterns.MatchResults(*arguments)

    def keyed(
        self, rows: DataFrame, operator: str, *arguments: Any, log: ProcessingLog | None = None
    ) -> DataFrame:
        """A state operator (a KeyedOperator, as `joins.TableTableJoin`: its class in
        io.streamsql.operators) over rows of key, side, time, partition, offset and row: see
        KeyedOperator.over. Late rows are counted for the log's query."""
        package, name = operator.split(".")
        java = getattr(getattr(self._io.operators, package), name)(*arguments)
        return _frame(java.over(cast(Any, rows)._jdf, log and log.java), rows.sparkSession)

    def kafka_sink(
        self,
        producer_settings: Mapping[str, str],
        log: ProcessingLog | None,
        delivery: ExactlyOnce | None = None,
        *,
        live: bool = True,
    ) -> Any:
        """The Java object that writes rows (topic, key, value, timestamp in ms[, headers]) to
        Kafka.

        Rows that Kafka can never hold go to `log`; without one they fail the query. With
        `delivery` the columns partition and offset of the record that caused the row follow.
        `live` says whether latencies count as recent ones: those of a catch-up do not.
        """
        once = None
        if delivery is not None:
            replay = self._io.delivery.Delivery.Replay.valueOf(delivery.replay)
            once = self._io.delivery.Delivery(
                delivery.query_id, delivery.tokens_topic, delivery.interval_ms, replay
            )
        java = log.java if log else None
        return self._io.connector.KafkaSink.of(producer_settings, java, once, live)

    def kafka_writer(self, rows: DataFrame, sink: Any) -> DataStreamWriter:
        """A stream writer of rows to a `kafka_sink`."""
        writer = rows.writeStream
        cast(Any, writer)._jwrite = self._io.connector.KafkaSink.write(cast(Any, rows)._jdf, sink)
        return writer

    def external_writer(
        self, rows: DataFrame, checkpoint: Location, target: ExternalTarget, log: ProcessingLog
    ) -> DataStreamWriter:
        """A stream writer of rows outside Kafka, each exactly once. A table is created or checked
        at once."""
        writer = rows.writeStream
        frame, folder = cast(Any, rows)._jdf, str(checkpoint)
        sinks = self._io.sinks
        match target:
            case FileTarget(path, format, partition_by):
                java = sinks.FileSink.write(frame, folder, path, format, partition_by)
            case DatabaseTarget():
                java = sinks.JdbcSink.write(frame, self._database(target), log.java)
            case IcebergTarget():
                table = self._iceberg_table(target)
                java = self._io.iceberg.IcebergSink.write(frame, folder, table, log.java)
        cast(Any, writer)._jwrite = java
        return writer

    def _database(self, target: DatabaseTarget) -> Any:
        login = target.url, target.user, target.password, target.jars
        return self._io.sinks.JdbcTarget(
            target.name,
            target.topic,
            self._io.databases.Database(*login),
            target.table,
            target.columns,
            target.types,
            target.keys,
            target.rows,
        )

    def _iceberg_table(self, target: IcebergTarget) -> Any:
        return self._io.iceberg.IcebergTarget(
            target.name,
            target.topic,
            target.catalog,
            target.properties,
            target.table,
            target.schema,
            target.columns,
            target.dropped,
            target.kept,
            target.keys,
            target.partition_by,
            target.retention_ms,
            target.jars,
        )

    def error_guard(self, log: ProcessingLog, step: str) -> Any:
        """The Java object that notes failures of expressions: ErrorGuard."""
        return self._io.expressions.ErrorGuard.of(log.java, step)

    def answer(self, rows: DataFrame, struct: str, schema: StructType) -> DataFrame:
        """The rows as JSON in the column `value`: of a struct, in SQL, of that schema."""
        java = self._io.expressions.Expressions.answer(cast(Any, rows)._jdf, struct, schema.json())
        return _frame(java, rows.sparkSession)

    def compiled(self, rows: DataFrame, *, few: bool) -> Any:
        """The Java CompiledPlan of a frame over `source`; of `few` rows, its expressions are
        interpreted."""
        return self._io.serving.CompiledPlan.of(cast(Any, rows)._jdf, few)

    def source(self, schema: StructType, number: int) -> DataFrame:
        """The source of that number of a compiled plan: rows that its caller has."""
        session = cast(Any, self._spark)._jsparkSession
        return _frame(
            self._io.serving.CompiledPlan.source(session, schema.json(), number), self._spark
        )

    def _side(self, side: SideFormat) -> tuple[str, Any, str]:
        return side.name, side.properties, side.schema.json()


def invoke(method: str, data_type: DataType, *arguments: Column) -> Column:
    """A static, pure method of io.streamsql.functions, named `Class.method`: a null argument
    gives null."""
    context = cast(Any, SparkContext)._active_spark_context
    inputs = [_java(argument) for argument in arguments]
    expressions = context._jvm.io.streamsql.expressions.Expressions
    return _column(expressions.invoke(method, data_type.json(), inputs))


def producer_settings(
    bootstrap_servers: str, mode: Literal["realtime", "catchup"]
) -> dict[str, str]:
    """Producer settings for the mode: the least delay in real time, the largest batches else."""
    settings = {"bootstrap.servers": bootstrap_servers, "acks": "all"}
    if mode == "realtime":
        return settings | {"linger.ms": "0"}
    # Measured on copies of 500,000 records: of linger 0 and 20, batches of 16, 128 and 512 KiB,
    # lz4, zstd and none, this took the least CPU. The buffer holds batches of 128 partitions.
    return settings | {"linger.ms": "20", "batch.size": "524288", "buffer.memory": "67108864"}


def _java(column: Column) -> Any:
    return cast(Any, column)._jc


def _column(java: Any) -> Column:
    return ClassicColumn(java)


def _frame(java: Any, spark: SparkSession) -> DataFrame:
    return ClassicDataFrame(java, spark)
