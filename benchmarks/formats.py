"""Throughput by record format: a stream copied in each, catching up with a full topic.

Every format holds the same rows. The first copy of each warms the JVM up and is not counted:
`python -m benchmarks.formats`.
"""

from __future__ import annotations

import time

from benchmarks.common import Bench, Row, arguments, bench, ended, producer, show
from streamsql.executor.spark.start import Trigger

FORMATS = ("JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR", "DELIMITED")
COLUMNS = "ID BIGINT, REGION STRING, AMOUNT DOUBLE, QUANTITY INT, PAID BOOLEAN, NOTE STRING"
_TIMEOUT = 1800


def fill(bench: Bench, topic: str, records: int) -> None:
    """Rows of about 150 bytes in JSON."""
    note = "n" * 60
    with producer(bench.bootstrap) as put:
        for i in range(records):
            row = {
                "ID": i,
                "REGION": f"region-{i * 7919 % 1000}",
                "AMOUNT": i % 1000 / 8,
                "QUANTITY": i % 10,
                "PAID": i % 3 == 0,
                "NOTE": note,
            }
            put(topic, str(i), row, 2)


def copy(bench: Bench, source: str, sink: str, read: str, write: str) -> float:
    """Seconds that it takes to copy a topic from a format into another."""
    script = (
        f"CREATE STREAM S (K STRING KEY, {COLUMNS}) WITH (KAFKA_TOPIC='{source}', "
        f"VALUE_FORMAT='{read}', PARTITIONS=2);"
        f"CREATE STREAM T WITH (KAFKA_TOPIC='{sink}', VALUE_FORMAT='{write}') AS SELECT * FROM S;"
    )
    begin = time.monotonic()
    ended(bench.in_sql(script, Trigger.AVAILABLE_NOW), _TIMEOUT)
    return time.monotonic() - begin


def prepare(bench: Bench, name: str, json: str, warm: str) -> str:
    """A topic of the records in a format, whose codec has been warmed up."""
    source, small = bench.topic("source"), bench.topic("small")
    copy(bench, json, source, "JSON", name)
    copy(bench, warm, small, "JSON", name)
    copy(bench, small, bench.topic("warm"), name, name)
    return source


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--format", choices=FORMATS, action="append", help="default: all")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="copies; the best one counts")
    options = parser.parse_args()
    chosen = options.format or FORMATS
    with bench(options) as place:
        json, warm = place.topic("json"), place.topic("json-small")
        fill(place, warm, options.records // 10)
        fill(place, json, options.records)
        sources = {name: prepare(place, name, json, warm) for name in chosen}
        seconds: dict[str, list[float]] = {name: [] for name in chosen}
        # In turns: what else the machine does then hits all formats alike.
        for _ in range(options.repeat):
            for name, source in sources.items():
                seconds[name].append(copy(place, source, place.topic("sink"), name, name))
    best = {name: min(taken) for name, taken in seconds.items()}
    rows = [
        Row(name, "streamsql", "catch-up", options.records / taken, ratio=best[chosen[0]] / taken)
        for name, taken in best.items()
    ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
