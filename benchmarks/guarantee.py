"""What exactly-once delivery costs: latency of readers, and throughput of catching up.

The same queries with both guarantees, in one engine, one after the other. Latency is measured as
`benchmarks.latency` does, once by a reader of committed data and once by one of all; throughput
from CREATE until all results of a full topic are committed. Run it on an idle machine:
`python -m benchmarks.guarantee`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid
from typing import Any

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from benchmarks.common import PARTITIONS, producer, show_table
from benchmarks.latency import Place, drop_all, measure, place
from benchmarks.queries import LATENCY
from benchmarks.traffic import KEYS
from streamsql.waiting import await_condition

GUARANTEES = ("at_least_once", "exactly_once")
_FILLED_SECONDS = 900.0


def fill(place: Place, records: int) -> tuple[str, str]:
    """A topic with that many events, and one to join them with."""
    events, other = (f"{purpose}-{uuid.uuid4().hex[:8]}" for purpose in ("full", "other"))
    for topic in (events, other):
        place.kafka.create_topic(topic, PARTITIONS)
    with producer(place.kafka.bootstrap) as put:
        for key in range(KEYS):
            put(other, str(key), {"NAME": f"the name of {key}"}, 0)
        for number in range(records):
            put(events, str(number % KEYS), {"ID": number % KEYS, "T": float(number)}, 0)
    return events, other


def catch_up(place: Place, name: str, events: str, other: str, records: int) -> dict[str, Any]:
    """Seconds and CPU seconds from CREATE until the last result is committed."""
    sink = f"sink-{uuid.uuid4().hex[:8]}"
    place.kafka.create_topic(sink, PARTITIONS)
    *sources, query = LATENCY[name].over(events, other, sink).split("\n")
    place.run("\n".join(sources))
    cpu, begun = place.cpu(set()), time.monotonic()
    place.run(query)
    # A row an event; of a table in one micro-batch, one a key.
    wanted = KEYS if name in ("group-by", "tumbling") else records
    admin = AdminClient({"bootstrap.servers": place.kafka.bootstrap})
    if not await_condition(lambda: _committed(admin, sink) >= wanted, _FILLED_SECONDS, every=0.05):
        raise SystemExit("the query does not catch up")
    took, cpu = time.monotonic() - begun, place.cpu(set()) - cpu
    drop_all(place)
    return {"events_per_s": records / took, "cpu_s": cpu}


def _committed(admin: AdminClient, topic: str) -> int:
    """How many records of a topic are committed, markers of transactions among them."""
    asked = {TopicPartition(topic, p): OffsetSpec.latest() for p in range(PARTITIONS)}
    answers = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
    return sum(answer.result().offset for answer in answers.values())


def compare(found: Place, name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A line for each guarantee."""
    events, other = fill(found, options.records)
    rows = []
    for guarantee in GUARANTEES:
        found.run(f"SET 'processing.guarantee' = '{guarantee}';")
        # The first run warms up and is not shown.
        runs = [catch_up(found, name, events, other, options.records) for _ in range(3)]
        row: dict[str, Any] = {"query": name, "guarantee": guarantee, "load": os.getloadavg()[0]}
        row |= min(runs[1:], key=lambda run: -run["events_per_s"])
        for isolation in ("read_committed", "read_uncommitted"):
            latency = measure(found, name, options, isolation)
            short = isolation.removeprefix("read_")
            row |= {
                f"{short}_p50_ms": latency.p50_ms,
                f"{short}_p99_ms": latency.p99_ms,
                f"{short}_max_ms": latency.max_ms,
            }
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="of the full topic")
    parser.add_argument("--minutes", type=float, default=2.0, help="of each latency")
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--query", choices=[*LATENCY], action="append")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    options.bootstrap_servers, options.idle, options.set, options.seconds = None, 0, [], False
    with place(options) as found:
        for name in options.query or ("projection", "group-by", "stream-table"):
            rows = compare(found, name, options)
            if options.json:
                print(*map(json.dumps, rows), sep="\n", flush=True)
            else:
                show_table(rows)


if __name__ == "__main__":
    main()
