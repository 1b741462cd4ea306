"""What the benchmarks share: a broker and a Spark, the same query in SQL and by hand, the table."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from streamsql.catalog import Catalog
from streamsql.data_folder import DataDir
from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.queries.start import Trigger, start
from streamsql.executor.spark.session import SparkRuntime
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.parser import parse
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from streamsql.registry.client import RegistryClient
from streamsql.registry.embedded.app import app
from streamsql.registry.embedded.server import HttpServer
from streamsql.registry.embedded.store import Store
from streamsql.registry.serdes import Schemas

PARTITIONS = 2
SHUFFLE_PARTITIONS = 2

TRIGGERS: Mapping[Trigger, dict[str, Any]] = {
    Trigger.AVAILABLE_NOW: {"availableNow": True},
    Trigger.REAL_TIME: {"realTime": "60 seconds"},
    Trigger.CONTINUOUS_MICRO_BATCH: {"processingTime": "0 seconds"},
}


@dataclass(frozen=True)
class Row:
    """One line of a result; `ratio` compares streamsql with the hand-written query."""

    query: str
    engine: str
    mode: str
    events_per_s: float
    ratio: float | None = None


@dataclass(frozen=True)
class Bench:
    """Where a benchmark runs."""

    spark: SparkSession
    kafka: KafkaClient
    folder: Path
    shuffle_partitions: int = SHUFFLE_PARTITIONS

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap

    @cached_property
    def schemas(self) -> Schemas:
        """A registry in memory; it ends with the process."""
        client = RegistryClient.at(HttpServer(app(Store())).start())
        return Schemas(lambda: client)

    def topic(self, purpose: str) -> str:
        """A new topic with a name of its own."""
        name = f"{purpose}-{uuid.uuid4().hex[:8]}"
        self.kafka.create_topic(name, PARTITIONS, config={"retention.ms": "-1"})
        return name

    def in_sql(
        self,
        script: str,
        trigger: Trigger,
        records_per_batch: int | None = None,
        folder: Path | None = None,
    ) -> StreamingQuery:
        """The script's last statement, a query, started by streamsql; `folder` is for its
        checkpoint."""
        catalog = Catalog()
        context = LoweringContext(
            self.spark,
            self.bootstrap,
            folder or self.folder / uuid.uuid4().hex,
            self.topic("log"),
            shuffle_partitions=self.shuffle_partitions,
            max_records_per_batch=records_per_batch,
            schemas=self.schemas,
        )
        for statement in parse(script):
            planned = plan(statement, catalog, {})
            apply(planned, catalog)
        assert isinstance(planned, QueryStatementPlan)
        return start(lower(planned.query, context), trigger)

    def by_hand(
        self,
        rows: DataFrame,
        sink: str,
        trigger: Trigger,
        producer: Mapping[str, str],
    ) -> StreamingQuery:
        """Rows (key and columns) started as a Spark user writes it: to_json and Spark's sink."""
        names = [name for name in rows.columns if name != "key"]
        value = F.to_json(F.struct(*names), {"ignoreNullFields": "false"}).alias("value")
        writer = (
            rows.select(F.col("key").cast("binary"), value)
            .writeStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", sink)
            .option("checkpointLocation", str(self.folder / uuid.uuid4().hex))
            .outputMode("update")
            .trigger(**TRIGGERS[trigger])
        )
        for name, value_ in producer.items():
            writer = writer.option(f"kafka.{name}", value_)
        return writer.start()

    def read_by_hand(self, source: str, schema: str) -> DataFrame:
        """The topic's records: `key` as text and the fields of the JSON value."""
        raw = (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .load()
        )
        value = F.from_json(F.col("value").cast("string"), schema)
        return raw.select(F.col("key").cast("string"), value.alias("v")).select("key", "v.*")


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--bootstrap-servers", help="a Kafka cluster instead of an own broker")
    parser.add_argument("--master", default="local[64]", help="Spark's master")
    return parser


@contextmanager
def bench(
    options: argparse.Namespace, settings: Mapping[str, str] | None = None
) -> Iterator[Bench]:
    """A broker (unless one is named) and a Spark with these settings, both gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        folder = Path(name)
        broker = None
        if options.bootstrap_servers is None:
            broker = EmbeddedBroker(DataDir.at(folder))
            broker.start(120)
        runtime = SparkRuntime(folder, master=options.master, settings=settings)
        kafka = KafkaClient(broker.bootstrap if broker else options.bootstrap_servers)
        try:
            yield Bench(runtime.start(), kafka, folder / "checkpoints")
        finally:
            runtime.stop()
            kafka.close()
            if broker is not None:
                broker.stop()


def show(rows: Sequence[Row], as_json: bool) -> None:
    if as_json:
        for row in rows:
            print(json.dumps(asdict(row)))
        return
    show_table([asdict(row) for row in rows])


def show_table(rows: Sequence[Mapping[str, object]]) -> None:
    """Rows of the same columns below each other."""
    names = list(rows[0])
    cells = [[_text(row[name]) for name in names] for row in rows]
    widths = [max(len(c) for c in column) for column in zip(names, *cells, strict=True)]
    for line in [names, *cells]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


@contextmanager
def producer(bootstrap: str) -> Iterator[Callable[[str, str, Mapping[str, Any], int], None]]:
    """`put(topic, key, value, time in ms)`; time 0 is now. All is written when the block ends."""
    client = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "batch.num.messages": 10000,
            "queue.buffering.max.messages": 500000,
        }
    )

    def put(topic: str, key: str, value: Mapping[str, Any], time_ms: int) -> None:
        while True:
            try:
                client.produce(topic, key=key, value=json.dumps(value), timestamp=time_ms)
                return
            except BufferError:
                client.poll(0.1)

    yield put
    client.flush()


def ended(query: StreamingQuery, seconds: int) -> float:
    """Wait for the query's end; the seconds it took."""
    begin = time.monotonic()
    if not query.awaitTermination(seconds):
        query.stop()
        raise TimeoutError(f"the query did not end within {seconds} s")
    return time.monotonic() - begin
