"""Latency from producer to consumer, Kafka to Kafka: streamsql against hand-written PySpark.

Both run side by side over the same records, in Real-Time Mode, so that what else the machine does
disturbs both alike. Joins and sessions, which Spark lacks there, are compared with its GROUP BY.
Run it on an idle machine: `python -m benchmarks.latency`.
"""

from __future__ import annotations

import argparse
import json
import time

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.common import PARTITIONS, Bench, Row, arguments, bench, producer, show
from benchmarks.producing import producing
from benchmarks.queries import LATENCY
from streamsql.executor.queries.start import Trigger

KEYS = 1000
MODES = {"realtime": Trigger.REAL_TIME, "microbatch": Trigger.CONTINUOUS_MICRO_BATCH}


def by_hand(bench: Bench, name: str, source: str, sink: str, trigger: Trigger) -> StreamingQuery:
    events = bench.read_by_hand(source, "ID INT, T DOUBLE")
    if name == "project":
        rows = events.where("ID >= 0").select("key", "T")
    else:
        rows = events.groupBy("key").agg(F.max("T").alias("T"), F.count("*").alias("N"))
    return bench.by_hand(rows, sink, trigger, {"linger.ms": "0"})


def clocked(number: int) -> tuple[str, str]:
    """A record with the producer's clock in it."""
    return str(number % KEYS), json.dumps({"ID": number % KEYS, "T": time.time()})


def measure(
    bootstrap: str, sinks: dict[str, str], warmup: float, seconds: float
) -> dict[str, list[float]]:
    """Sorted latencies in ms by engine, of the records that arrive after the warm-up."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "latency", "fetch.wait.max.ms": 5}
    )
    consumer.assign([TopicPartition(t, p, 0) for t in sinks.values() for p in range(PARTITIONS)])
    engines = {topic: engine for engine, topic in sinks.items()}
    latencies: dict[str, list[float]] = {engine: [] for engine in sinks}
    begin = time.time()
    while (now := time.time()) < begin + warmup + seconds:
        message = consumer.poll(0.2)
        if message is None or message.error():
            continue
        arrived = time.time()
        topic, value = message.topic(), message.value()
        if now > begin + warmup and topic and value:
            latencies[engines[topic]].append(1000 * (arrived - json.loads(value)["T"]))
    consumer.close()
    return {engine: sorted(found) for engine, found in latencies.items()}


def run(bench: Bench, name: str, mode: str, options: argparse.Namespace) -> list[Row]:
    source, other = bench.topic("events"), bench.topic("other")
    sinks = {"pyspark": bench.topic("hand"), "streamsql": bench.topic("sql")}
    query, trigger = LATENCY[name], MODES[mode]
    with producer(bench.bootstrap) as put:
        for key in range(KEYS):
            put(other, str(key), {"NAME": f"the name of {key}"}, 0)
    queries = [
        by_hand(bench, query.native, source, sinks["pyspark"], trigger),
        bench.in_sql(query.over(source, other, sinks["streamsql"]), trigger),
    ]
    with producing(bench.bootstrap, source, clocked, rate=options.rate):
        latencies = measure(bench.bootstrap, sinks, options.warmup, options.seconds)
    for started in queries:
        if started.exception() is not None:
            raise SystemExit(str(started.exception()))
        started.stop()
    return [
        _row(query.native, "pyspark", mode, latencies, options.seconds),
        _row(name, "streamsql", mode, latencies, options.seconds),
    ]


def _row(
    name: str, engine: str, mode: str, latencies: dict[str, list[float]], seconds: float
) -> Row:
    found, hand = latencies[engine], latencies["pyspark"]
    p50, p95, p99 = (_percentile(found, q) for q in (50, 95, 99))
    ratio = p50 / _percentile(hand, 50) if engine == "streamsql" else None
    return Row(name, engine, mode, len(found) / seconds, p50, p95, p99, ratio)


def _percentile(values: list[float], q: int) -> float:
    if not values:
        raise SystemExit("no records arrived: the machine is too busy, or a query has failed")
    return values[min(len(values) - 1, len(values) * q // 100)]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*LATENCY], action="append", help="default: all")
    parser.add_argument("--mode", choices=[*MODES], default="realtime")
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--warmup", type=float, default=30, help="seconds")
    parser.add_argument("--seconds", type=float, default=25, help="seconds measured")
    options = parser.parse_args()
    with bench(options) as place:
        rows = [
            row
            for name in options.query or LATENCY
            for row in run(place, name, options.mode, options)
        ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
