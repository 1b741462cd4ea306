"""TPC-H's queries as views over tables with history: catching up; Flink SQL beside them.

    python -m benchmarks.tpch_catch_up --lineitems 1000000 --flink-jars FOLDER

Time is from the statement to the last record of the result, CPU seconds are those of the engine's
processes until then, and a core's events are the records of the tables that a query reads by CPU
seconds. Queries run one after the other, in one Flink and then in one engine, so the first of each
has a cold JVM. Each result is compared with DuckDB's answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.common import PARTITIONS, show_table
from benchmarks.flink.cluster import Flink, FlinkError
from benchmarks.flink.tpch import QUERIES, script
from benchmarks.nexmark_rows import Failed, Row, caught_up, failed, settled, watch
from benchmarks.tpch import Expected, House, Sender, columns, difference, query_text, tables_text
from benchmarks.tpch_rows import KEYS, Database
from streamsql.data_folder import DataDir
from streamsql.engine import EngineConfig
from streamsql.errors import StreamSQLError
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

_LINEITEMS = 6_000_000
"""Of TPC-H's scale 1."""
_START_SECONDS = 300.0
_POLL_SECONDS = 10.0


def latest(bootstrap: str, topic: str, names: list[str]) -> list[tuple[Any, ...]]:
    """The latest row of each key of a topic that Flink has written."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    client = Consumer(settings)
    rows: dict[bytes, dict[str, Any]] = {}
    try:
        partitions = client.list_topics(topic, _POLL_SECONDS).topics[topic].partitions
        for partition in partitions:
            _, end = client.get_watermark_offsets(TopicPartition(topic, partition))
            client.assign([TopicPartition(topic, partition, 0)])
            while end:
                record = client.poll(_POLL_SECONDS)
                if record is None or record.error():
                    raise Failed(f"not read to the end: {topic}")
                key, value, offset = record.key(), record.value(), record.offset()
                assert key is not None
                assert offset is not None
                if value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = json.loads(key) | json.loads(value)
                if offset + 1 >= end:
                    break
    finally:
        client.close()
    return [tuple(row[name] for name in names) for row in rows.values()]


def by_flink(
    jars: Path, folder: Path, kafka: KafkaClient, expected: Expected, options: argparse.Namespace
) -> Iterator[Row]:
    flink = Flink(jars, folder)
    try:
        for name, row in _rows("flink", kafka, options.queries):
            query, sink = QUERIES[name], f"flink-{name}"
            kafka.create_topic(sink, PARTITIONS)

            def written(sink: str = sink) -> tuple[int, ...]:
                return (sum(kafka.end_offsets(sink).values()),)

            try:
                text = script(query, kafka.bootstrap, columns(), sink)
                found = watch(flink.submit(text), written, flink.cpu, flink.finished, options.limit)
                rows = latest(kafka.bootstrap, sink, query.names())
                wrong = difference(rows, expected.rows(name))
                yield replace(caught_up(row, found), note=wrong)
            except (FlinkError, Failed) as error:
                yield failed(row, error)
    finally:
        flink.close()


def by_streamsql(
    house: House,
    kafka: KafkaClient,
    expected: Expected,
    flink: dict[str, float | None],
    worker: ThreadPoolExecutor,
    options: argparse.Namespace,
) -> Iterator[Row]:
    for name, row in _rows("streamsql", kafka, options.queries):

        def written(topic: str = name.upper()) -> tuple[int, ...]:
            return (sum(kafka.all_end_offsets([topic]).get(topic, {}).values()),)

        # The statement returns when the view has its rows.
        text = f"CREATE MATERIALIZED VIEW {name} AS {query_text(name)};"
        created = worker.submit(house.run, text)

        def done(created: Future[list[Any]] = created) -> bool:
            if not created.done():
                return False
            created.result()
            return settled(house.engine)

        try:
            found = watch(time.monotonic(), written, house.cpu, done, options.limit)
            wrong = difference(house.rows(f"SELECT * FROM {name};"), expected.rows(name))
            yield replace(caught_up(row, found, flink.get(name)), note=wrong)
        except (StreamSQLError, Failed) as error:
            yield failed(row, error)
        finally:
            house.run(f"DROP MATERIALIZED VIEW IF EXISTS {name};")


def _rows(engine: str, kafka: KafkaClient, queries: list[str]) -> Iterator[tuple[str, Row]]:
    for name in queries:
        read = [kafka.end_offsets(table.upper()) for table in QUERIES[name].reads]
        yield name, Row(name, engine, sum(sum(ends.values()) for ends in read))


def measure(options: argparse.Namespace) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="streamsql-bench-")))
        broker = EmbeddedBroker(DataDir.at(folder))
        broker.start(_START_SECONDS)
        stack.callback(broker.stop)
        kafka = KafkaClient(broker.bootstrap)
        stack.callback(kafka.close)
        database = Database(options.lineitems / _LINEITEMS)
        house = House(
            EngineConfig(folder / "engine", broker.bootstrap, warm_up=True),
            database,
            Sender(broker.bootstrap, {table: table.upper() for table in KEYS}),
        )
        house.start()
        house.run(tables_text())
        house.sender.fill(database)
        house.engine.close()
        expected = Expected(database)
        expected.load()
        flink: dict[str, float | None] = {}
        if options.flink_jars is not None:
            for row in by_flink(options.flink_jars, folder, kafka, expected, options):
                flink[row.query] = row.events_per_core
                yield row
        house.start()
        stack.callback(lambda: house.engine.close())
        worker = stack.enter_context(ThreadPoolExecutor(1))
        yield from by_streamsql(house, kafka, expected, flink, worker, options)


def main() -> int:
    """0 only if each result of ours is DuckDB's."""
    options = arguments().parse_args()
    failures = 0
    for row in measure(options):
        show_table([{name: cell for name, cell in asdict(row).items() if cell is not None}])
        sys.stdout.flush()
        failures += row.engine == "streamsql" and (row.error or row.note) is not None
    return min(failures, 1)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=lambda text: text.split(","), default=list(QUERIES))
    parser.add_argument("--lineitems", type=int, default=1_000_000, help="rows of lineitem, about")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds that a query has")
    parser.add_argument(
        "--flink-jars", type=Path, metavar="FOLDER", help="as of benchmarks.nexmark"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
