"""Throughput by record format: a stream copied in each, catching up with a full topic.

Every format holds the same rows. The first copy of each warms the JVM up and is not counted. The
ratios compare the CPU time that Spark takes, which is what a format costs, and which other work of
the machine hardly touches: `python -m benchmarks.formats`.
"""

from __future__ import annotations

import time

import psutil

from benchmarks.common import Bench, Row, arguments, bench, ended, producer, show
from streamsql.executor.queries.start import Trigger

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


def copy(bench: Bench, source: str, sink: str, read: str, write: str) -> tuple[float, float]:
    """Seconds that it takes to copy a topic from a format into another, and those of CPU time."""
    script = (
        f"CREATE STREAM S (K STRING KEY, {COLUMNS}) WITH (KAFKA_TOPIC='{source}', "
        f"VALUE_FORMAT='{read}', PARTITIONS=2);"
        f"CREATE STREAM T WITH (KAFKA_TOPIC='{sink}', VALUE_FORMAT='{write}') AS SELECT * FROM S;"
    )
    begin, spark = time.monotonic(), _spark()
    used = _cpu_seconds(spark)
    ended(bench.in_sql(script, Trigger.AVAILABLE_NOW), _TIMEOUT)
    return time.monotonic() - begin, _cpu_seconds(spark) - used


def _spark() -> psutil.Process:
    """The JVM that Spark runs in, with the master `local`."""
    for process in psutil.Process().children(recursive=True):
        if any("PythonGatewayServer" in word for word in process.cmdline()):
            return process
    raise LookupError("Spark runs elsewhere")


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


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
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
        # In turns: what else the machine does then hits all formats alike.
        for _ in range(options.repeat):
            for name, source in sources.items():
                taken[name].append(copy(place, source, place.topic("sink"), name, name))
    seconds = {name: min(wall for wall, _ in copies) for name, copies in taken.items()}
    cpu = {name: min(cpu for _, cpu in copies) for name, copies in taken.items()}
    rows = [
        Row(name, "streamsql", "catch-up", options.records / wall, ratio=cpu[chosen[0]] / cpu[name])
        for name, wall in seconds.items()
    ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
