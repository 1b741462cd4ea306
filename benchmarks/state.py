"""State of windows, joins, OVER, patterns and Top-N over keys that move on: it must not grow with
the history.

Catches up with the records in batches and shows, along the way, how many rows Spark keeps, and on
how many bytes of disk: `python -m benchmarks.state`. Exit code 1 if the most rows or the most bytes
of the last two fifths of the way are more than twice the most of the first two.

Also shown are RocksDB's own tables, and two sizes that say nothing of how much state there is:
RocksDB's memory (what is not written yet, and a cache, for all state stores of the JVM together: it
grows up to a limit, as caches do) and the memory of the JVM, which holds that too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyspark.sql.streaming.listener import StateOperatorProgress
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.common import Bench, arguments, bench, producer
from benchmarks.folder_sizes import size_of
from benchmarks.queries import STATE
from streamsql.executor.queries.start import Trigger

PER_SECOND = 1000
"""Records in a second of event time; a key has ten events, within a fifth of a second."""
STEPS = 10
ALLOWED_GROWTH = 2.0
SETTINGS = {
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
}
"""Spark deletes older versions of the state soon: by default it keeps ten, looks for others once a
minute, and needs an upload of tables before it can. What a catch-up leaves until then is no state,
and bounded by that time, but more than the state."""


@dataclass(frozen=True)
class Sample:
    """What is kept after a share of the records."""

    records: int
    rows: int
    bytes: int
    """The most that the checkpoint took since the last sample: the state, and older versions."""
    files: int
    """Of RocksDB's tables: the state as it was last written to them."""
    memory: int
    resident: int

    def __str__(self) -> str:
        sizes = (self.bytes, self.files, self.memory, self.resident)
        shown = "".join(f"{size / 2**20:>14.1f}" for size in sizes)
        return f"{self.records:>12,}{self.rows:>14,}{shown}"


HEADER = "".join(
    f"{name:>{width}}"
    for name, width in {
        "records": 12,
        "state rows": 14,
        "disk MiB": 14,
        "tables MiB": 14,
        "RocksDB MiB": 14,
        "JVM MiB": 14,
    }.items()
)


def fill(bench: Bench, events: str, other: str, records: int) -> None:
    """Every second record is an event; of those between them, in `other`, one in ten is the
    partner of a key's events, and the rest is unassigned."""
    with producer(bench.bootstrap) as put:
        for i in range(records):
            time_ms = 1_600_000_000_000 + i * 1000 // PER_SECOND
            pair = i // 2
            key = str(pair // 100 * 10 + pair % 10)
            if i % 2 == 0:
                put(events, key, {"N": i}, time_ms)
            else:
                partner = pair // 10 % 10 == 0
                put(other, key if partner else f"{key}-{pair}", {"N": i}, time_ms)


def samples(query: StreamingQuery, records: int, folder: Path) -> list[Sample]:
    """About STEPS of them, over the query's whole run; waits for its end."""
    found: list[Sample] = []
    seen = -1
    most = 0
    while query.isActive or (query.lastProgress and query.lastProgress.batchId != seen):
        query.awaitTermination(1)
        most = max(most, size_of(folder)[0])
        for progress in query.recentProgress:
            if progress.batchId <= seen:
                continue
            seen = progress.batchId
            read = sum(sum(_ends(s.endOffset)) for s in progress.sources)
            if read >= records * (len(found) + 1) // STEPS and progress.stateOperators:
                found.append(_sample(read, progress.stateOperators, most))
                print(found[-1], flush=True)
                most = size_of(folder)[0]
    error = query.exception()
    if error is not None:
        raise SystemExit(str(error))
    return found


def _sample(records: int, states: Sequence[StateOperatorProgress], disk: int) -> Sample:
    return Sample(
        records,
        sum(int(s.numRowsTotal) for s in states),
        disk,
        sum(int(s.customMetrics["rocksdbSstFileSize"]) for s in states),
        sum(int(s.memoryUsedBytes) for s in states),
        _resident(),
    )


def _ends(offsets: str) -> list[int]:
    topics = json.loads(offsets)
    return [offset for partitions in topics.values() for offset in partitions.values()]


def _resident() -> int:
    """Bytes of memory of Spark's JVM, RocksDB's included."""
    children = psutil.Process().children(recursive=True)
    return max((c.memory_info().rss for c in children if "java" in c.name()), default=0)


def run(bench: Bench, name: str, options: argparse.Namespace, topics: tuple[str, str]) -> bool:
    """Whether the state stayed flat."""
    events, other = topics
    query = STATE[name]
    print(f"{name}:\n{HEADER}")
    script = query.over(events, other, bench.topic("sink"))
    records = options.records if query.reads_other else options.records // 2
    folder = bench.folder / name
    started = bench.in_sql(script, Trigger.AVAILABLE_NOW, options.batch, folder)
    found = samples(started, records, folder)
    flat = is_flat(found)
    print("flat" if flat else "it grows")
    return flat


def is_flat(found: Sequence[Sample]) -> bool:
    """Whether the state at the end is about as large as it was soon after the beginning.

    Peaks are compared: bytes go up and down, as tables are written and old ones deleted.
    """
    return stays([s.rows for s in found]) and stays([s.bytes for s in found])


def stays(sizes: Sequence[int]) -> bool:
    """Whether the peak of the last two fifths is about that of the first two."""
    part = max(1, 2 * len(sizes) // 5)
    return max(sizes[-part:]) <= ALLOWED_GROWTH * max(sizes[:part])


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--query", choices=[*STATE], action="append", help="default: all")
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--batch", type=int, default=10_000, help="records a micro-batch")
    options = parser.parse_args()
    with bench(options, SETTINGS) as place:
        topics = place.topic("events"), place.topic("other")
        fill(place, *topics, options.records)
        results = [run(place, name, options, topics) for name in options.query or STATE]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
