"""What a change of class 3 takes of a table of many groups, while records come.

Fills a topic, groups it, and applies the change: `python -m benchmarks.rebuild --change added` has
an aggregate more, for which the table is rebuilt from the log beside the query that runs;
`dropped` has one less, and `partitions` the state in other parts: that is rewritten while the query
stands still. Shows how long the first query took for the same records, how long the change did,
what the state is on the disk, and the longest time in which a reader of committed rows saw none,
before the change and around it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import Consumer

from benchmarks.common import PARTITIONS, producer, show_table
from benchmarks.folder_sizes import size_of
from benchmarks.producing import producing
from streamsql.data_folder import DataDir
from streamsql.engine import Engine, EngineConfig
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.run_script import NamedText
from streamsql.status import QueryState

SOURCE = f"""
CREATE STREAM events (k STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC='events', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});
"""
TABLE = "CREATE TABLE groups AS SELECT k, COUNT(*) AS c, SUM(n) AS total{} FROM events GROUP BY k;"
MORE = ", MAX(n) AS most"
OTHER_PARTS = f"SET 'streamsql.shuffle.partitions'='{2 * PARTITIONS}';\n"
CHANGES = {
    "added": (TABLE.format(""), TABLE.format(MORE)),
    "dropped": (TABLE.format(MORE), TABLE.format("")),
    "partitions": (TABLE.format(""), OTHER_PARTS + TABLE.format("")),
}
"""The present and the new pipeline."""
SINK = "GROUPS"
ORDINARY_SECONDS = 10.0
"""How long the load runs before the change, and after it."""
_TIMEOUT = 3_600.0
_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Result:
    """Of one change."""

    change: str
    records: int
    groups: int
    first_seconds: float
    """From the statement until all was read, of the first query."""
    change_seconds: float
    """From `apply` until all was done; of `added`, until the table was what the new query makes of
    the log."""
    state_bytes_before: int
    """Of the query's checkpoint."""
    state_bytes: int
    rows_written: int
    """Into the table's topic, from the change until shortly after its end."""
    ordinary_gap_seconds: float
    gap_seconds: float


class Rows:
    """When committed rows of a topic could be read."""

    def __init__(self, kafka: KafkaClient, topic: str) -> None:
        self._times: list[float] = []
        settings = {
            **kafka.settings,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "auto.offset.reset": "latest",
        }
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic])

    @contextmanager
    def noted(self) -> Iterator[None]:
        """While they come."""
        done = threading.Event()

        def run() -> None:
            while not done.is_set():
                if any(m.error() is None for m in self._consumer.consume(1_000, 0.01)):
                    self._times.append(time.monotonic())
            self._consumer.close()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def gap(self, begin: float, end: float) -> float:
        """The longest time without one."""
        times = [begin, *(t for t in self._times if begin < t < end), end]
        return max(b - a for a, b in zip(times, times[1:], strict=False))


def fill(bootstrap: str, records: int, groups: int) -> None:
    with producer(bootstrap) as put:
        for n in range(records):
            put("events", f"k{n % groups}", {"N": n}, 0)


def await_read(engine: Engine) -> None:
    """Wait until the query has read the present records, and follows new ones."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        (query,) = engine.queries()
        if query.error:
            raise SystemExit(query.error)
        if query.state is QueryState.RUNNING and query.lag == 0:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"the query is still {query.state.value}")
        time.sleep(_LOOK_SECONDS)


def apply(engine: Engine, sql: str) -> float:
    """Seconds that it took."""
    began = time.monotonic()
    engine.changes.apply([NamedText("files.sql", sql)])
    return time.monotonic() - began


def run(folder: Path, bootstrap: str, options: argparse.Namespace) -> Result:
    kafka = KafkaClient(bootstrap)
    with Engine(EngineConfig(data_dir=folder, bootstrap_servers=bootstrap)) as engine:
        engine.wait_until_ready()
        apply(engine, SOURCE)
        fill(bootstrap, options.records, options.groups)
        began = time.monotonic()
        before_change, after_change = CHANGES[options.change]
        apply(engine, SOURCE + before_change)
        await_read(engine)
        first = time.monotonic() - began
        (query,) = engine.queries()
        checkpoint = DataDir.at(folder).own_checkpoints / query.id
        before = size_of(checkpoint)[0]
        rows = Rows(kafka, SINK)
        load = producing(
            bootstrap,
            "events",
            lambda n: (f"k{n % options.groups}", json.dumps({"N": n})),
            rate=options.rate,
        )
        with rows.noted(), load:
            time.sleep(ORDINARY_SECONDS)
            ends, began = kafka.end_offsets(SINK), time.monotonic()
            took = apply(engine, SOURCE + after_change)
            time.sleep(ORDINARY_SECONDS)
            ended = time.monotonic()
            written = sum(kafka.end_offsets(SINK).values()) - sum(ends.values())
        await_read(engine)
        return Result(
            options.change,
            options.records,
            options.groups,
            first,
            took,
            before,
            size_of(checkpoint)[0],
            written,
            rows.gap(began - ORDINARY_SECONDS / 2, began),
            rows.gap(began, ended),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--change", choices=sorted(CHANGES), default="added")
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=2_000_000)
    parser.add_argument("--rate", type=int, default=1_000, help="records a second meanwhile")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamsql-bench-") as name:
        broker = EmbeddedBroker(DataDir.at(Path(name) / "broker"))
        try:
            result = asdict(run(Path(name) / "engine", broker.start(120), options))
        finally:
            broker.stop()
    if options.json:
        print(json.dumps(result))
    else:
        show_table([{"figure": figure, "value": value} for figure, value in result.items()])
    return 0


if __name__ == "__main__":
    sys.exit(main())
