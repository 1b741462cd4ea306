"""REPLAY ERRORS: what a query has failed on, once more."""

from __future__ import annotations

import json

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

CHANGED = """
CREATE OR REPLACE STREAM $o WITH (TIMESTAMP='T') AS SELECT id, ABS(t) AS t, LEN(v) AS n FROM $s;
"""


def replay(live: Live, rest: str, what: str = "ERRORS") -> dict[str, object]:
    """How many records had which outcome."""
    (result,) = live.run(f"REPLAY {what} OF {rest};")
    assert isinstance(result, Rows)
    return {
        str(outcome).removeprefix("left out: ")[:15]: count for outcome, count, _ in result.rows
    }


def test_what_failed_passes_after_a_change_and_once_only(live: Live, kafka: KafkaClient) -> None:
    *_, created = live.texts(
        "SET 'processing.mode'='microbatch';"
        "CREATE STREAM $s (id STRING KEY, t BIGINT, v STRING)"
        "  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o WITH (TIMESTAMP='T') AS SELECT id, t, CAST(v AS INT) AS n FROM $s;"
    )
    query_id = created.removeprefix("Created query with ID ")
    values = [json.dumps({"T": t, "V": v}).encode() for t, v in ((5, "1"), (-7, "2"), (9, "three"))]
    records = [
        NewRecord(key.encode(), value, 1, partition=1)
        for key, value in zip("abcd", [*values, b"{broken"], strict=True)
    ]
    kafka.produce(live.name("S"), records)
    await_until(lambda: live.committed(query_id, "S").get(1) == 4, "a commit", PATIENCE)

    live.run(CHANGED)
    after: dict[str, object] = {"fails still": 1, "may have made a": 1}
    assert replay(live, f"{query_id} DRY RUN") == {"would be replay": 1, **after}
    assert replay(live, query_id) == {"replayed": 1, **after}
    assert replay(live, query_id) == {"replayed before": 1, **after}
    where = f"{query_id} WHERE message->recordProcessingError IS NOT NULL"
    assert replay(live, where, "ALL ERRORS") == {"replayed": 1}

    topic = live.name("O")
    written = list(kafka.consume(topic, until=kafka.end_offsets(topic)))
    found = sorted((r.key, json.loads(r.value or b"")["N"] or 0) for r in written)
    assert found == [(b"a", 1), (b"b", 1), (b"c", 0), (b"c", 5)]
    (replayed,) = (r for r in written if r.key == b"b")
    place = f"{live.name('S')}/1/1".encode()
    assert (replayed.timestamp, replayed.headers) == (7, (("streamsql.replay", place),))


def test_queries_that_keep_something_are_refused(live: Live) -> None:
    *_, created = live.texts(
        "CREATE STREAM $s (id STRING KEY) WITH (KAFKA_TOPIC='$s', PARTITIONS=1,"
        " VALUE_FORMAT='JSON'); CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;"
    )
    query_id = created.removeprefix("Created query with ID ")
    with pytest.raises(UnsupportedError, match="missing in its state"):
        live.run(f"REPLAY ERRORS OF {query_id};")
