"""Typed access to io.streamsql.views in the session's JVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

OperatorName = Literal[
    "Accumulators",
    "ClosedRows",
    "DeltaJoin",
    "GroupContents",
    "JoinMemo",
    "LatestRows",
    "OnTimeRows",
    "RowCounts",
    "TemporalJoin",
    "TemporalRows",
    "ViewRows",
]


@dataclass(frozen=True)
class Dataflow:
    """How a view follows its topics: io.streamsql.views.Dataflow."""

    java: Any
    spark: SparkSession
    partitions: int
    """Of the state of each operator."""

    @classmethod
    def of(cls, spark: SparkSession, partitions: int) -> Dataflow:
        session, views = cast(Any, spark)._jsparkSession, cast(Any, spark)._jvm.io.streamsql.views
        return cls(views.Dataflow(session, partitions), spark, partitions)

    def input(self, topic: str, columns: StructType) -> DataFrame:
        """The records of a topic, in the columns of Spark's Kafka source."""
        return self._frame(self.java.input(topic, columns.json()))

    def clock(self) -> DataFrame:
        """The time of each batch: `moment`, in microseconds since the epoch."""
        return self._frame(self.java.clock())

    def operator(self, rows: DataFrame, name: OperatorName, *arguments: Any) -> DataFrame:
        """What a state operator makes of rows that are placed and sorted by their first column."""
        views = cast(Any, self.spark)._jvm.io.streamsql.views
        operator = getattr(views, name)(*arguments)
        return self._frame(self.java.operator(cast(Any, rows)._jdf, operator))

    def shared(self, rows: DataFrame) -> DataFrame:
        """The rows, which a batch computes once, however often they are read."""
        return self._frame(self.java.shared(cast(Any, rows)._jdf))

    def end(self, rows: DataFrame) -> None:
        """Makes the rows the result of the dataflow."""
        self.java.end(cast(Any, rows)._jdf)

    def writer(
        self, records: DataFrame, checkpoint: str, sink: Any, *, resumes: bool
    ) -> DataStreamWriter:
        """A stream writer of the topics' records, which runs the dataflow over each batch and
        gives the result to the sink; None: to nothing. A view that resumes is compiled at once."""
        views = cast(Any, self.spark)._jvm.io.streamsql.views
        writer = records.writeStream
        cast(Any, writer)._jwrite = views.ViewSink.write(
            cast(Any, records)._jdf, self.java, checkpoint, resumes, sink
        )
        return writer

    def _frame(self, java: Any) -> DataFrame:
        return ClassicDataFrame(java, self.spark)
