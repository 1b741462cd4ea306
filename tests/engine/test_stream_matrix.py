"""The changes of tests/cases/changes to queries that make streams, carried out by `apply` on Kafka
and Spark: what was written before is what the old statement makes of the records of then, and what
comes behind it is what the new statement adds to what it makes of those. Each row is there once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live
from engine.matrix import (
    SOURCES,
    Changed,
    await_all_read,
    changes_of,
    insert_streams,
    insert_tables,
)

from streamsql.kafka.client import KafkaClient
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

TOGETHER = 8
"""The number of changes per `apply`."""
CHANGES = changes_of("STREAM")
BATCHES = [CHANGES[n : n + TOGETHER] for n in range(0, len(CHANGES), TOGETHER)]
QUIET_SECONDS = 5.0
ONCE = "SET 'processing.guarantee' = 'exactly_once';\n"

Rows = Counter[tuple[bytes | None, bytes | None, int]]
"""Keys, values and times, each as often as it is there."""
Ends = Mapping[int, int]


def _ends(live: Live, kafka: KafkaClient, name: str) -> Ends:
    return kafka.end_offsets(live.name(name.upper()))


def _ends_at_rest(live: Live, kafka: KafkaClient, names: Sequence[str]) -> dict[str, Ends]:
    """Once nothing has been written for a while: rows that wait for later ones follow what was
    read."""
    seen: dict[str, Ends] = {}
    changed = time.monotonic()

    def are_at_rest() -> bool:
        nonlocal seen, changed
        found = {name: _ends(live, kafka, name) for name in names}
        if found != seen:
            seen, changed = found, time.monotonic()
        return time.monotonic() - changed > QUIET_SECONDS

    await_until(are_at_rest, "the streams to be at rest", PATIENCE)
    return seen


def _rows(live: Live, kafka: KafkaClient, name: str, since: Ends | None = None) -> Rows:
    """Those of a stream's topic, from some offsets on."""
    topic, first = live.name(name.upper()), since or {}
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    return Counter(
        (record.key, record.value, record.timestamp)
        for record in records
        if record.offset >= first.get(record.partition, 0)
    )


def _difference(found: Rows, expected: Rows) -> str:
    """The first rows that one has and the other has not."""
    lines = [f"  more: {row}" for row in list(found - expected)[:3]]
    lines += [f"  missing: {row}" for row in list(expected - found)[:3]]
    return "\n".join([f"  {found.total()} rows, expected {expected.total()}", *lines])


def _await_alike(
    names: Sequence[str], found: Mapping[str, Rows], live: Live, kafka: KafkaClient
) -> None:
    """Wait until streams have these rows."""
    wrong: list[str] = []

    def are_alike() -> bool:
        wrong[:] = []
        for name in names:
            rows = _rows(live, kafka, name)
            if rows != found[name]:
                wrong.append(f"{name}\n{_difference(found[name], rows)}")
        return not wrong

    try:
        await_until(are_alike, "what was written to be what the old statements make", PATIENCE)
    finally:
        print("\n".join(wrong))


@pytest.mark.parametrize("batch", BATCHES, ids=[batch[0].id for batch in BATCHES])
def test_streams_continue_by_the_new_statements(
    batch: Sequence[Changed], live: Live, kafka: KafkaClient
) -> None:
    live.run(SOURCES)
    insert_tables(live, 0)
    live.run(ONCE + "\n".join(changed.before for changed in batch))
    insert_streams(live, 0)
    await_all_read(live, kafka)
    text = live.sql(SOURCES + ONCE + "\n".join(changed.after for changed in batch))
    live.engine.changes.apply([NamedText("f.sql", text)])
    since = {c.number: _ends(live, kafka, c.name) for c in batch}
    written = {f"was{c.number}": _rows(live, kafka, c.name) for c in batch}
    live.run("\n".join(changed.was for changed in batch))
    await_all_read(live, kafka)
    _await_alike(list(written), written, live, kafka)
    live.run("".join(f"DROP STREAM $was{changed.number};\n" for changed in batch))
    live.run("\n".join(changed.anew for changed in batch))
    await_all_read(live, kafka)
    begun = _ends_at_rest(live, kafka, [f"anew{changed.number}" for changed in batch])
    insert_tables(live, 1)
    await_all_read(live, kafka)
    insert_streams(live, 1)
    await_all_read(live, kafka)
    wrong: list[str] = []

    def are_alike() -> bool:
        wrong[:] = []
        for changed in batch:
            rows = _rows(live, kafka, changed.name, since[changed.number])
            anew = f"anew{changed.number}"
            expected = _rows(live, kafka, anew, begun[anew])
            if rows != expected or not (expected or written[f"was{changed.number}"]):
                wrong.append(f"{changed.id}\n{_difference(rows, expected)}")
        return not wrong

    try:
        await_until(are_alike, "the streams to continue like newly created ones", PATIENCE)
    finally:
        print("\n".join(wrong))
