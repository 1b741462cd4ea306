"""Catching up into many groups: how long an engine takes from CREATE to the last result.

Every group has one record or two, so that nearly each record finds a group of its own in the state:
`python -m benchmarks.groups`. The engine has waited before, as one that is used has. Beside it the
same with as many records but few groups, which tells what the groups cost.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import uuid
from typing import Any

from benchmarks.common import PARTITIONS, producer, show_table
from benchmarks.latency import Place, place
from streamsql.status import QueryState
from streamsql.waiting import await_condition

QUERY = """
CREATE STREAM E (K STRING KEY, N BIGINT, X DOUBLE)
  WITH (KAFKA_TOPIC='{events}', VALUE_FORMAT='JSON');
CREATE TABLE O WITH (KAFKA_TOPIC='{sink}') AS
  SELECT K, COUNT(*) AS C, SUM(N) AS S, MIN(X) AS LEAST, MAX(X) AS MOST, AVG(X) AS MEAN
  FROM E GROUP BY K;
"""
FEW = 1_000
_CAUGHT_UP_SECONDS = 1_800.0


def fill(found: Place, records: int, groups: int) -> str:
    """A topic with a number of records and of groups."""
    topic = f"events-{uuid.uuid4().hex[:8]}"
    found.kafka.create_topic(topic, PARTITIONS)
    with producer(found.kafka.bootstrap) as put:
        for number in range(records):
            put(topic, str(number % groups), {"N": number, "X": number / 8}, 0)
    return topic


def catch_up(found: Place, records: int, groups: int) -> dict[str, Any]:
    """Seconds and CPU seconds, the broker's not among them; SystemExit for a wrong result."""
    events, sink = fill(found, records, groups), f"sink-{uuid.uuid4().hex[:8]}"
    found.kafka.create_topic(sink, PARTITIONS)
    load, cpu, begun = os.getloadavg()[0], found.cpu(set()), time.monotonic()
    found.run(QUERY.format(events=events, sink=sink))
    if not await_condition(lambda: _has_caught_up(found), _CAUGHT_UP_SECONDS, every=0.05):
        raise SystemExit("the query does not catch up")
    took, cpu = time.monotonic() - begun, found.cpu(set()) - cpu
    count = sum(json.loads(record.value or b"{}")["C"] for record in _newest(found, sink).values())
    if count != records:
        raise SystemExit(f"{count} records are counted of {records}")
    found.run("DROP TABLE O; DROP STREAM E;")
    return {
        "records": records,
        "groups": groups,
        "seconds": took,
        "cpu_s": cpu,
        "load": load,
    }


def _has_caught_up(found: Place) -> bool:
    query = found.query()
    return query.state is QueryState.RUNNING and query.lag == 0


def _newest(found: Place, topic: str) -> dict[bytes | None, Any]:
    records = found.kafka.consume(topic, until=found.kafka.end_offsets(topic))
    return {record.key: record for record in records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=2_000_000)
    parser.add_argument("--idle", type=float, default=30.0, help="seconds that the engine waits")
    parser.add_argument("--bootstrap-servers", help="a Kafka cluster instead of an own broker")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    options = parser.parse_args()
    with place(options) as found:
        rows = [catch_up(found, options.records, groups) for groups in (options.groups, FEW)]
    if options.json:
        for row in rows:
            print(json.dumps(row))
    else:
        show_table(rows)


if __name__ == "__main__":
    main()
