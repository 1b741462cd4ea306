"""The changes of tests/cases/changes to queries that make tables, carried out by `apply` on Kafka
and Spark: the tables hold what the new statements make of the same records from the beginning.

Of a change behind the state (class 2), and of one whose state is rewritten (class 3), which hold
for each key from its next row on, those keys are compared that have one; of a rebuild all
are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from awaiting import await_until
from engine.flow import latest
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

TOGETHER = 12
"""The number of changes per `apply`."""
CHANGES = changes_of("TABLE")
BATCHES = [CHANGES[n : n + TOGETHER] for n in range(0, len(CHANGES), TOGETHER)]


def _insert(live: Live, phase: int) -> None:
    insert_streams(live, phase)
    insert_tables(live, phase)


def _rows(kafka: KafkaClient, topic: str) -> dict[bytes, bytes]:
    """Without the groups of a table that have become empty: whether there was a moment at which
    they were not depends on the batches that rows came in."""
    return {key: row for key, row in latest(kafka, topic).items() if not _is_empty(row)}


def _is_empty(row: bytes) -> bool:
    values = json.loads(row)
    return 0 in (values.get("N"), values.get("M"))


def _differs(changed: Changed, live: Live, kafka: KafkaClient, since: dict[int, int]) -> str:
    """The rows in which the table differs from a newly created one."""
    topic = live.name(changed.name.upper())
    found = _rows(kafka, topic)
    expected = _rows(kafka, live.name(f"ANEW{changed.number}"))
    if changed.keeps_state:
        records = kafka.consume(topic, until=kafka.end_offsets(topic))
        touched = {r.key for r in records if r.offset >= since[r.partition]}
        found = {key: row for key, row in found.items() if key in touched}
        expected = {key: row for key, row in expected.items() if key in touched}
    if found == expected and expected:
        return ""
    keys = sorted(k for k in found.keys() | expected.keys() if found.get(k) != expected.get(k))
    lines = [f"  {k!r}: {found.get(k)!r}, expected {expected.get(k)!r}" for k in keys[:5]]
    return "\n".join([changed.id, f"  {len(found)} rows, expected {len(expected)}", *lines])


@pytest.mark.parametrize("batch", BATCHES, ids=[batch[0].id for batch in BATCHES])
def test_tables_are_what_the_new_statements_make(
    batch: Sequence[Changed], live: Live, kafka: KafkaClient
) -> None:
    live.run(SOURCES + "\n".join(changed.before for changed in batch))
    _insert(live, 0)
    await_all_read(live, kafka)
    since = {c.number: kafka.end_offsets(live.name(c.name.upper())) for c in batch}
    text = live.sql(SOURCES + "\n".join(changed.after for changed in batch))
    live.engine.changes.apply([NamedText("f.sql", text)])
    _insert(live, 1)
    await_all_read(live, kafka)
    live.run("\n".join(changed.anew for changed in batch))
    await_all_read(live, kafka)
    found: list[str] = []

    def are_alike() -> bool:
        found[:] = [_differs(changed, live, kafka, since[changed.number]) for changed in batch]
        return not any(found)

    try:
        await_until(are_alike, "the tables to equal newly created ones", PATIENCE)
    finally:
        print("\n".join(filter(None, found)))
