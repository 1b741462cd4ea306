"""Throughput of catching up with a full topic: streamsql against hand-written PySpark.

What Spark lacks is compared with its GROUP BY. Both write with the same producer settings. The
first run of each query warms the JVM up and is not counted: `python -m benchmarks.throughput`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.common import Bench, Row, arguments, bench, ended, producer, show
from benchmarks.queries import THROUGHPUT
from streamsql.executor.queries.start import Trigger
from streamsql.executor.spark.jvm import producer_settings

SCHEMA = "ID INT, REGION STRING, AMOUNT DOUBLE, NOTE STRING"
REGIONS = 1000
_TIMEOUT = 1800


def fill(bench: Bench, topic: str, regions: str, records: int) -> None:
    """Records of about 150 bytes with keys that do not help the GROUP BY, and a table of all
    regions."""
    note = "n" * 70
    with producer(bench.bootstrap) as put:
        for i in range(REGIONS):
            put(regions, f"region-{i}", {"NAME": f"the region number {i}"}, 1)
        for i in range(records):
            region = f"region-{i * 7919 % REGIONS}"
            put(topic, str(i), {"ID": i, "REGION": region, "AMOUNT": i % 100, "NOTE": note}, 2)


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


def run(
    bench: Bench, name: str, source: str, warm: str, regions: str, options: argparse.Namespace
) -> list[Row]:
    query, native = THROUGHPUT[name], THROUGHPUT[name].native

    def by_sql(topic: str) -> StreamingQuery:
        script = query.over(topic, regions, bench.topic("sql"))
        return bench.in_sql(script, Trigger.AVAILABLE_NOW)

    settings = producer_settings(bench.bootstrap, "catchup")
    del settings["bootstrap.servers"]
    for topic in [warm] * options.warmup:
        ended(by_hand(bench, native, topic, settings), _TIMEOUT)
        ended(by_sql(topic), _TIMEOUT)
    times: dict[str, list[float]] = {"pyspark": [], "streamsql": []}
    for _ in range(options.repeat):
        for engine in times:
            begin = time.monotonic()
            started = (
                by_hand(bench, native, source, settings) if engine == "pyspark" else by_sql(source)
            )
            ended(started, _TIMEOUT)
            times[engine].append(time.monotonic() - begin)
    best = {engine: min(found) for engine, found in times.items()}
    return [
        Row(
            name if engine == "streamsql" else native,
            engine,
            "catch-up",
            options.records / best[engine],
            ratio=best["pyspark"] / best[engine] if engine == "streamsql" else None,
        )
        for engine in best
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*THROUGHPUT], action="append", help="default: all")
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=1, help="runs; the best one counts")
    parser.add_argument("--warmup", type=int, default=2, help="runs over a tenth of the records")
    options = parser.parse_args()
    with bench(options) as place:
        source, warm = place.topic("events"), place.topic("warm")
        regions = place.topic("regions")
        fill(place, warm, regions, options.records // 10)
        fill(place, source, regions, options.records)
        rows = [
            row
            for name in options.query or THROUGHPUT
            for row in run(place, name, source, warm, regions, options)
        ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
