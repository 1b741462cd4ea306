"""CPU of a record by how many parts a query's state falls into, for queries that catch up.

With `--master "local-cluster[2,1,1024]"` by executors: `python -m benchmarks.scaling`.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import psutil

from benchmarks.common import Bench, arguments, bench, ended, show_table
from benchmarks.queries import THROUGHPUT
from benchmarks.throughput import fill
from streamsql.executor.queries.start import Trigger
from streamsql.executor.spark.gateway import GATEWAY_MAIN

PARTS = (1, 2, 4, 8)
_TIMEOUT = 600


def cpu_seconds() -> float:
    """What Spark has taken so far: its JVM and those of executors, which are its children."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        if _is_of_spark(process):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _is_of_spark(process: psutil.Process) -> bool:
    chain = [process, *process.parents()]
    return any(GATEWAY_MAIN in part for each in chain for part in each.cmdline())


def measure(
    place: Bench, name: str, topics: tuple[str, str, str], options: argparse.Namespace
) -> list[dict[str, object]]:
    """One query over the same records, in turns, so that a JVM that warms up favours none."""
    source, warm, regions = topics

    def run(topic: str, parts: int) -> tuple[float, float]:
        begin, before = time.monotonic(), cpu_seconds()
        script = THROUGHPUT[name].over(topic, regions, place.topic("sql"))
        of = replace(place, shuffle_partitions=parts)
        ended(of.in_sql(script, Trigger.AVAILABLE_NOW), _TIMEOUT)
        return cpu_seconds() - before, time.monotonic() - begin

    for _ in range(options.warmup):
        run(warm, 2)
    found: dict[int, list[tuple[float, float]]] = {parts: [] for parts in PARTS}
    for turn in range(options.repeat):
        for parts in PARTS if turn % 2 == 0 else reversed(PARTS):
            found[parts].append(run(source, parts))
    return [
        {
            "query": name,
            "master": options.master,
            "parts": parts,
            "cpu_us": min(cpu for cpu, _ in runs) / options.records * 1e6,
            "records_s": round(options.records / min(seconds for _, seconds in runs)),
        }
        for parts, runs in found.items()
    ]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*THROUGHPUT], action="append", required=True)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=2, help="runs; the best one counts")
    parser.add_argument("--warmup", type=int, default=3, help="runs over a tenth of the records")
    options = parser.parse_args()
    with bench(options) as place:
        topics = place.topic("events"), place.topic("warm"), place.topic("regions")
        fill(place, topics[1], topics[2], options.records // 10)
        fill(place, topics[0], topics[2], options.records)
        show_table([row for name in options.query for row in measure(place, name, topics, options)])


if __name__ == "__main__":
    main()
