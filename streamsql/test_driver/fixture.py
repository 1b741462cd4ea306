"""Shared parts of a run's tests: one Kafka broker and one Spark application."""

from __future__ import annotations

import itertools
import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from streamsql.data_folder import DataDir
from streamsql.errors import ExternalError
from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.spark.session import SparkRuntime
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.test_driver.topic_records import TopicRecords

MASTER = "local[32]"
HEAP = "2048m"
SETTINGS = {
    # Many small queries: what pays for a long one is a loss here.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
TUNING = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m")
"""Measured on 60 tests: two thirds of the CPU time that the optimising compiler would take. Without
it, room for compiled code is 48 MB unless said, which some hundred tests fill."""
LOG_TOPIC = "processing-log"
REACHABLE_SECONDS = 30.0
START_SECONDS = 120.0
MEMORY_ROOM = 1 << 30


@dataclass(frozen=True)
class Fixture:
    """Kafka and Spark, and a folder for checkpoints."""

    spark: Any
    kafka: KafkaClient
    folder: Path
    prefix: str
    """Prefix of all topics of this run."""
    log_topic: str = ""
    shuffle_partitions: int = 1
    _numbers: Iterator[int] = field(default_factory=itertools.count, repr=False)

    @cached_property
    def records(self) -> TopicRecords:
        """Reads and writes the records of cases, in the JVM."""
        return TopicRecords(self.spark, self.kafka.java_settings)

    def next_prefix(self) -> str:
        return f"{self.prefix}{next(self._numbers)}-"

    def context(self, prefix: str) -> LoweringContext:
        """Where the queries of one test run, their checkpoints in a folder of their own."""
        return LoweringContext(
            self.spark,
            self.kafka.bootstrap,
            self.checkpoints(prefix),
            self.log_topic,
            shuffle_partitions=self.shuffle_partitions,
            consumer_settings=self.kafka.security,
            producer_settings=self.kafka.security,
            sleeps=False,
        )

    def checkpoints(self, prefix: str) -> Path:
        """Where the queries of the case with this prefix keep their checkpoints."""
        return self.folder / prefix.rstrip("-")


def runtime_for_tests(folder: Path) -> SparkRuntime:
    """Spark with the settings that suit tests, not yet started."""
    return SparkRuntime(folder, master=MASTER, heap=HEAP, settings=SETTINGS, tuning=TUNING)


@contextmanager
def open_fixture(
    bootstrap_servers: str | None = None, security: Mapping[str, str] | None = None
) -> Iterator[Fixture]:
    """Starts Spark and, without `bootstrap_servers`, a broker; both end with the block.

    `security` says how to log in to those servers.

    ExternalError where either does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="streamsql-test-", dir=memory_folder()))
    broker = None if bootstrap_servers else EmbeddedBroker(DataDir.at(folder / "kafka"))
    runtime = runtime_for_tests(folder / "spark")
    try:
        fixture = _start(folder, broker, runtime, bootstrap_servers, security or {})
        try:
            yield fixture
        except KeyboardInterrupt:
            # Running tests end with the JVM; py4j's messages about it are not relevant.
            logging.disable(logging.CRITICAL)
            runtime.abort()
            raise
        finally:
            fixture.kafka.delete_topics([fixture.log_topic])
            fixture.kafka.close()
    finally:
        runtime.stop()
        if broker is not None:
            broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _start(
    folder: Path,
    broker: EmbeddedBroker | None,
    runtime: SparkRuntime,
    servers: str | None,
    security: Mapping[str, str],
) -> Fixture:
    """Kafka and Spark come up side by side; a Ctrl-C while they do ends both."""
    with ThreadPoolExecutor(2) as pool:
        starting: list[Future[Any]] = [pool.submit(runtime.start)]
        if broker is not None:
            starting.append(pool.submit(broker.start, START_SECONDS))
        try:
            spark, *addresses = [future.result() for future in starting]
        except BaseException:
            runtime.abort()
            if broker is not None:
                broker.abort()
            raise
    kafka = KafkaClient(servers or addresses[0], security=security)
    if not kafka.reachable(REACHABLE_SECONDS):
        raise ExternalError(
            f"no answer from Kafka at {kafka.bootstrap}", retryable=True, detail=kafka.trouble
        )
    prefix = f"{folder.name}-"
    kafka.create_topics([prefix + LOG_TOPIC])
    return Fixture(spark, kafka, folder, prefix, prefix + LOG_TOPIC)


def memory_folder() -> Path | None:
    """A folder in memory, where there is one with room: many small files are written and soon
    deleted."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free >= MEMORY_ROOM else None
