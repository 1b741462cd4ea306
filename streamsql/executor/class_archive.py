"""Makes the class data archives of Spark and of the embedded broker: they halve a start's work.

`python -m streamsql.executor.class_archive` makes them, which takes about a minute; a JVM uses its
archive if it is there (jvm/archives.py). What is in them are the classes of a few queries that have
run, from their SQL to their records.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from streamsql.catalog import Catalog
from streamsql.config import PROCESSING_LOG_TOPIC
from streamsql.data_folder import DataDir
from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.lowering.streaming import lower
from streamsql.executor.queries.start import Trigger, start
from streamsql.executor.spark.class_path import java_and_class_path
from streamsql.executor.spark.session import SparkRuntime
from streamsql.jvm.archives import Program, archive_path
from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.cache import exclusive
from streamsql.jvm.jars import ensure_jars
from streamsql.kafka.broker import start_detached, stop_detached
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.parser import parse
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import apply, plan
from streamsql.waiting import await_condition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHERS = 2
"""Archives of other jars that are kept, of each program; those of Spark have 190 MB."""
_DUMP_SECONDS = 120.0
"""How long a JVM may take to write its classes."""

_TRAINING_SECONDS = 60
_RECORDS = 200

_SOURCES = """
CREATE STREAM e (id STRING KEY, n BIGINT, price DOUBLE, word STRING, ms BIGINT)
    WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON', TIMESTAMP='ms');
CREATE TABLE w (word STRING PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON');
"""
_QUERIES = (
    "CREATE STREAM some WITH (KAFKA_TOPIC='some') AS SELECT id, price * n AS cost,"
    " UCASE(word) AS word FROM e WHERE n > 1 AND word <> '0';",
    "CREATE TABLE totals WITH (KAFKA_TOPIC='totals') AS SELECT word, COUNT(*) AS c,"
    " SUM(n) AS s, MAX(price) AS m FROM e WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY word;",
    "CREATE STREAM joined WITH (KAFKA_TOPIC='joined') AS SELECT e.word AS word, price, w.n AS n"
    " FROM e JOIN w ON e.word = w.word;",
)


def archive_paths() -> dict[Program, Path]:
    """The archives of this Java and these jars, made or not."""
    java, class_path = java_and_class_path()
    broker = [ensure_runtime_jar(), *ensure_jars("kafka")]
    return {
        "spark": archive_path("spark", java, class_path),
        "kafka": archive_path("kafka", java, broker),
    }


def ensure_class_archives() -> dict[Program, Path]:
    """The archives, made if one is missing; ExternalError where Spark or Kafka does not start."""
    paths = archive_paths()
    with exclusive(paths["spark"].parent / ".lock"):
        if not all(path.is_file() for path in paths.values()):
            for program, path in paths.items():
                make_room(path.parent, program)
            with tempfile.TemporaryDirectory(prefix=".training-", dir=path.parent) as name:
                _make(Path(name), paths)
    return paths


def _make(folder: Path, paths: Mapping[Program, Path]) -> None:
    written: dict[Program, Path] = {program: folder / f"{program}.jsa" for program in paths}
    runtime = SparkRuntime(folder, master="local[8]", archive_to=written["spark"])
    data = DataDir.at(folder / "broker")
    try:
        broker = start_detached(data, archive_to=written["kafka"])
        assert broker.bootstrap is not None
        _train(runtime.start(), broker.bootstrap, folder)
    finally:
        runtime.stop()
        stop_detached(data, _DUMP_SECONDS)
    for program, path in written.items():
        if path.is_file():
            os.replace(path, paths[program])


def make_room(folder: Path, program: Program) -> None:
    """Delete all archives of a program but the newest OTHERS: who has several checkouts changes
    between them."""
    found = folder.glob(f"{program}-*.jsa")
    for outdated in sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)[OTHERS:]:
        outdated.unlink()


def _train(spark: SparkSession, bootstrap: str, folder: Path) -> None:
    """Runs the queries as in production: over the backlog, and then in real time."""
    client = KafkaClient(bootstrap)
    try:
        for topic in ("e", "w", PROCESSING_LOG_TOPIC):
            _create(topic, client)
        _fill(client)
        context = LoweringContext(spark, bootstrap, folder, PROCESSING_LOG_TOPIC)
        for query in _QUERIES:
            _run(query, client, context)
    finally:
        client.close()


def _create(topic: str, client: KafkaClient) -> None:
    client.create_topic(topic, config={"retention.ms": "-1"})


def _fill(client: KafkaClient) -> None:
    events = '{{"n":{0},"price":{0}.5,"word":"{1}","ms":{2}}}'
    client.produce("w", [NewRecord(b"%d" % i, b'{"n":%d}' % i) for i in range(10)])
    client.produce(
        "e",
        [
            NewRecord(b"%d" % i, events.format(i, i % 10, 1_600_000_000_000 + i).encode())
            for i in range(_RECORDS)
        ],
    )


def _run(query: str, client: KafkaClient, context: LoweringContext) -> None:
    catalog = Catalog()
    for statement in parse(_SOURCES + query):
        planned = plan(statement, catalog, {})
        apply(planned, catalog)
    assert isinstance(planned, QueryStatementPlan) and planned.sink is not None
    sink = planned.sink.topic.name
    _create(sink, client)
    start(lower(planned.query, context), Trigger.AVAILABLE_NOW).awaitTermination(_TRAINING_SECONDS)
    written = client.end_offsets(sink)
    live = start(lower(planned.query, context), Trigger.REAL_TIME)
    try:
        _fill(client)
        await_condition(
            lambda: not live.isActive or client.end_offsets(sink) != written, _TRAINING_SECONDS
        )
    finally:
        live.stop()


if __name__ == "__main__":
    ensure_class_archives()
