"""The JVM's part of rebuilds: corrections of tables, state migration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamsql.executor.spark.bridge import Bridge, Settings


class HeldTable:
    """A small table in the JVM's memory with its desired rows: see
    io.streamsql.delivery.HeldTable."""

    def __init__(
        self,
        rows: DataFrame,
        consumer_settings: Sequence[Settings],
        topics: Sequence[str],
        ends: Sequence[Mapping[int, int]],
    ) -> None:
        """The rows of a comparison: key, value, time in ms, headers, and existing value and time.
        The first topic is that of the desired rows."""
        bridge = Bridge.of(rows.sparkSession)
        self._java = bridge.held_table(rows, consumer_settings, topics, ends)

    def advance(self, wanted: Mapping[int, int], there: Mapping[int, int]) -> None:
        """Read both topics up to these offsets."""
        self._java.advance(wanted, there)

    def write(self, producer_settings: Settings, writer: str | None) -> None:
        """Write what differs into the table's topic, as `Bridge.write_corrections` does."""
        self._java.write(producer_settings, writer)


class GroupLayout:
    """Spark's layout of a query's groups in a planned batch: see io.streamsql.state.GroupLayout."""

    def __init__(self, spark: SparkSession, query: StreamingQuery) -> None:
        """ValueError for a query whose state is of another kind, for example an ended one."""
        try:
            self.java = Bridge.of(spark).group_layout(query)
        except Py4JJavaError as error:
            raise ValueError(str(error.java_exception.getMessage())) from error

    def obstacle_from(self, other: GroupLayout) -> str | None:
        """Why state of the other one cannot become that of this one; None: it can."""
        found = self.java.obstacleFrom(other.java)
        return None if found is None else str(found)


@dataclass(frozen=True)
class GroupStores:
    """The stores of a query's groups, as the last commit of a checkpoint has left them."""

    checkpoint: str
    metadata: str
    """Of the batch, in the offset log."""
    version: int
    ids: Sequence[str]
    """Committed ids by partition."""
    layout: GroupLayout

    def java(self, bridge: Bridge) -> Any:
        return bridge.group_stores(
            self.checkpoint, self.metadata, self.version, self.ids, self.layout.java
        )


def rewrite_groups(spark: SparkSession, old: GroupStores, new: GroupStores) -> list[str]:
    """Fills the new, empty stores from the old ones; returns the commit ids by partition."""
    bridge = Bridge.of(spark)
    return bridge.rewrite_groups(old.java(bridge), new.java(bridge))


def repartition(spark: SparkSession, checkpoint: str, number: int) -> None:
    """Repartitions the state in a checkpoint, which adds a batch."""
    cast(Any, spark)._streamingCheckpointManager.repartition(checkpoint, number)
