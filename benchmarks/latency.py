"""Latency from producer to consumer, Kafka to Kafka: streamsql against hand-written PySpark.

Both run side by side over the same records, in Real-Time Mode, so that what else the machine does
disturbs both alike. Run it on an idle machine: `python -m benchmarks.latency`.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.common import PARTITIONS, Bench, Row, arguments, bench, show
from streamsql.executor.spark.start import Trigger

COLUMNS = "K STRING KEY, ID INT, T DOUBLE"
QUERIES = {
    "project": ("STREAM", "SELECT K, T FROM E WHERE ID >= 0"),
    "aggregate": ("TABLE", "SELECT K, MAX(T) AS T, COUNT(*) AS N FROM E GROUP BY K"),
}
MODES = {"realtime": Trigger.REAL_TIME, "microbatch": Trigger.CONTINUOUS_MICRO_BATCH}


def by_hand(bench: Bench, name: str, source: str, sink: str, trigger: Trigger) -> StreamingQuery:
    events = bench.read_by_hand(source, "ID INT, T DOUBLE")
    if name == "project":
        rows = events.where("ID >= 0").select("key", "T")
    else:
        rows = events.groupBy("key").agg(F.max("T").alias("T"), F.count("*").alias("N"))
    return bench.by_hand(rows, sink, trigger, {"linger.ms": "0"})


@contextmanager
def producing(bootstrap: str, topic: str, rate: int) -> Iterator[None]:
    """Records with the producer's clock in them, `rate` a second, until the block ends."""
    done = threading.Event()

    def run() -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 1})
        begin, sent = time.time(), 0
        while not done.is_set():
            value = json.dumps({"ID": sent % 1000, "T": time.time()})
            producer.produce(topic, key=str(sent % 1000), value=value)
            producer.poll(0)
            sent += 1
            time.sleep(max(0.0, begin + sent / rate - time.time()))
        producer.flush(10)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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
    source = bench.topic("events")
    sinks = {"pyspark": bench.topic("hand"), "streamsql": bench.topic("sql")}
    kind, sql = QUERIES[name]
    trigger = MODES[mode]
    queries = [
        by_hand(bench, name, source, sinks["pyspark"], trigger),
        bench.in_sql(source, sinks["streamsql"], COLUMNS, sql, kind, trigger),
    ]
    with producing(bench.bootstrap, source, options.rate):
        latencies = measure(bench.bootstrap, sinks, options.warmup, options.seconds)
    for query in queries:
        if query.exception() is not None:
            raise SystemExit(str(query.exception()))
        query.stop()
    return [_row(name, engine, mode, latencies, options.seconds) for engine in latencies]


def _row(
    name: str, engine: str, mode: str, latencies: dict[str, list[float]], seconds: float
) -> Row:
    found, hand = latencies[engine], latencies["pyspark"]
    p50, p95, p99 = (_percentile(found, q) for q in (50, 95, 99))
    worst = max(p50 / _percentile(hand, 50), p95 / _percentile(hand, 95))
    ratio = worst if engine == "streamsql" else None
    return Row(name, engine, mode, len(found) / seconds, p50, p95, p99, ratio)


def _percentile(values: list[float], q: int) -> float:
    if not values:
        raise SystemExit("no records arrived: the machine is too busy, or a query has failed")
    return values[min(len(values) - 1, len(values) * q // 100)]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*QUERIES], action="append", help="default: all")
    parser.add_argument("--mode", choices=[*MODES], default="realtime")
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--warmup", type=float, default=30, help="seconds")
    parser.add_argument("--seconds", type=float, default=25, help="seconds measured")
    options = parser.parse_args()
    with bench(options) as place:
        rows = [
            row
            for name in options.query or QUERIES
            for row in run(place, name, options.mode, options)
        ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
