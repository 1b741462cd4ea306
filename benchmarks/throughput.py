"""Throughput of catching up with a full topic: streamsql against hand-written PySpark.

Both write with the same producer settings. The first run of each query warms the JVM up and is
not counted: `python -m benchmarks.throughput`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping

from confluent_kafka import Producer
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.common import Bench, Row, arguments, bench, ended, show
from streamsql.executor.spark.jvm import producer_settings
from streamsql.executor.spark.start import Trigger

COLUMNS = "K STRING KEY, ID INT, REGION STRING, AMOUNT DOUBLE, NOTE STRING"
SCHEMA = "ID INT, REGION STRING, AMOUNT DOUBLE, NOTE STRING"
QUERIES = {
    "project": ("STREAM", "SELECT K, ID, REGION, AMOUNT * 2 AS TWICE FROM E WHERE AMOUNT > 10"),
    "aggregate": (
        "TABLE",
        "SELECT REGION, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL FROM E GROUP BY REGION",
    ),
}
_TIMEOUT = 1800


def fill(bench: Bench, topic: str, records: int) -> None:
    """Records of about 150 bytes with keys that do not help the GROUP BY."""
    producer = Producer(
        {
            "bootstrap.servers": bench.bootstrap,
            "linger.ms": 50,
            "batch.num.messages": 10000,
            "queue.buffering.max.messages": 500000,
        }
    )
    note = "n" * 70
    for i in range(records):
        value = {"ID": i, "REGION": f"region-{i * 7919 % 1000}", "AMOUNT": i % 100, "NOTE": note}
        while True:
            try:
                producer.produce(topic, key=str(i), value=json.dumps(value))
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def by_hand(bench: Bench, name: str, source: str, settings: Mapping[str, str]) -> StreamingQuery:
    events = bench.read_by_hand(source, SCHEMA)
    if name == "project":
        rows = events.where("AMOUNT > 10").select(
            "key", "ID", "REGION", (F.col("AMOUNT") * 2).alias("TWICE")
        )
    else:
        rows = events.groupBy(F.col("REGION").alias("key")).agg(
            F.count("*").alias("N"), F.sum("AMOUNT").alias("TOTAL")
        )
    return bench.by_hand(rows, bench.topic("hand"), Trigger.AVAILABLE_NOW, settings)


def by_sql(bench: Bench, name: str, source: str) -> StreamingQuery:
    kind, sql = QUERIES[name]
    return bench.in_sql(source, bench.topic("sql"), COLUMNS, sql, kind, Trigger.AVAILABLE_NOW)


def run(bench: Bench, name: str, source: str, warm: str, options: argparse.Namespace) -> list[Row]:
    settings = producer_settings(bench.bootstrap, "catchup")
    del settings["bootstrap.servers"]
    for topic in [warm] * options.warmup:
        ended(by_hand(bench, name, topic, settings), _TIMEOUT)
        ended(by_sql(bench, name, topic), _TIMEOUT)
    times: dict[str, list[float]] = {"pyspark": [], "streamsql": []}
    for _ in range(options.repeat):
        for engine in times:
            begin = time.monotonic()
            query = (
                by_hand(bench, name, source, settings)
                if engine == "pyspark"
                else by_sql(bench, name, source)
            )
            ended(query, _TIMEOUT)
            times[engine].append(time.monotonic() - begin)
    best = {engine: min(found) for engine, found in times.items()}
    return [
        Row(
            name,
            engine,
            "catch-up",
            options.records / best[engine],
            ratio=best["pyspark"] / best[engine] if engine == "streamsql" else None,
        )
        for engine in best
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*QUERIES], action="append", help="default: all")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=1, help="runs; the best one counts")
    parser.add_argument("--warmup", type=int, default=2, help="runs over a tenth of the records")
    options = parser.parse_args()
    with bench(options) as place:
        source, warm = place.topic("events"), place.topic("warm")
        fill(place, warm, options.records // 10)
        fill(place, source, options.records)
        rows = [
            row
            for name in options.query or QUERIES
            for row in run(place, name, source, warm, options)
        ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
