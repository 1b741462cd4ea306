"""Records that Kafka deleted before a query read them stop it, or are counted."""

from __future__ import annotations

import pytest
from awaiting import await_until
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from engine.live import PATIENCE, Live, Restartable

from streamsql.engine import QueryState
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STREAM = (
    "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
    " partitions=1);"
)
CONTINUE = "SET 'streamsql.on.data.loss' = 'continue';"


@pytest.fixture
def kafka(live: Live) -> KafkaClient:
    return live.engine._state.services.kafka.get()


def delete_before(kafka: KafkaClient, topic: str, offset: int) -> None:
    admin = AdminClient(dict(kafka.settings))
    for deleted in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        deleted.result(PATIENCE)


def only_query(live: Live) -> str:
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    return query


def insert(live: Live, *values: int) -> None:
    live.run("".join(f"INSERT INTO $s VALUES ('k', {value});" for value in values))


def losses(live: Live, query: str, count: int) -> list[tuple[object, ...]]:
    return live.rows(
        "SELECT `TOPIC`, `PARTITION`, offset, message->dataLoss->records FROM KSQL_PROCESSING_LOG"
        f" WHERE queryId = '{query}' AND message->dataLoss IS NOT NULL EMIT CHANGES;",
        count,
    )


@pytest.mark.parametrize("mode", ["microbatch", "realtime"])
def test_a_query_says_which_records_it_lost(live: Live, kafka: KafkaClient, mode: str) -> None:
    live.run(f"SET 'processing.mode' = '{mode}'; {STREAM}")
    live.run("CREATE TABLE $n AS SELECT k, SUM(v) AS v FROM $s GROUP BY k;")
    insert(live, 1, 2)
    live.table("n", lambda rows: rows == {"k": (3,)})
    query = only_query(live)
    live.await_lag(query, 0)
    live.run(f"PAUSE {query};")
    insert(live, 10, 20, 40)
    delete_before(kafka, live.name("S"), 4)
    live.run(f"RESUME {query};")
    live.await_state(query, QueryState.ERROR)
    error = live.query(query).error or ""
    assert f"topic {live.name('S')}" in error
    assert "partition 0, expected offset 2: offsets [2, 4) were deleted" in error
    assert "SET 'streamsql.on.data.loss' = 'continue' and RESUME" in error
    live.run(f"{CONTINUE} RESUME {query};")
    live.table("n", lambda rows: rows == {"k": (43,)})
    live.await_state(query, QueryState.RUNNING)
    assert losses(live, query, 1) == [(live.name("S"), 0, 2, 2)]
    assert live.engine.query_metrics()[query].records_lost == 2


def test_a_topic_that_was_recreated_is_another_one(
    live: Live, kafka: KafkaClient, restartable: Restartable
) -> None:
    live.run(f"{CONTINUE} SET 'processing.mode' = 'microbatch'; {STREAM}")
    live.run("CREATE STREAM $goes WITH (partitions=1) AS SELECT k, v FROM $s;")
    going = only_query(live)
    live.run(
        "UNSET 'streamsql.on.data.loss'; SET 'processing.mode' = 'realtime';"
        "SET 'processing.commit.interval.ms' = '5000';"
    )
    live.run("CREATE STREAM $stops WITH (partitions=1) AS SELECT k, v FROM $s;")
    (stopping,) = (
        q.id for q in live.engine.queries() if live.name("STOPS") in (q.sink or "").upper()
    )
    insert(live, 1, 2)
    assert live.rows("SELECT v FROM $goes EMIT CHANGES;", 2) == [(1,), (2,)]
    assert live.rows("SELECT v FROM $stops EMIT CHANGES;", 2) == [(1,), (2,)]
    await_until(lambda: live.query(going).asleep and live.query(stopping).asleep, "sleep", PATIENCE)
    topic = live.name("S")
    kafka.delete_topic(topic)
    kafka.create_topic(topic, 1)
    insert(live, 3, 4, 5)
    live.await_state(stopping, QueryState.ERROR)
    assert "deleted and recreated" in (live.query(stopping).error or "")
    assert live.rows("SELECT v FROM $goes EMIT CHANGES;", 5)[2:] == [(3,), (4,), (5,)]
    assert losses(live, going, 1) == [(topic, 0, 2, None)]


def test_a_query_reads_nothing_of_a_topic_that_had_the_same_name(
    live: Live, kafka: KafkaClient
) -> None:
    live.run(f"SET 'processing.mode' = 'realtime'; {STREAM}")
    live.run("CREATE STREAM $before WITH (partitions=1) AS SELECT k, v FROM $s;")
    live.await_state(only_query(live), QueryState.RUNNING)
    insert(live, 1, 2)
    assert live.rows("SELECT v FROM $before EMIT CHANGES;", 2) == [(1,), (2,)]
    live.run("DROP STREAM $before;")
    topic = live.name("S")
    kafka.delete_topic(topic)
    kafka.create_topic(topic, 1)
    kafka.insert(topic, [NewRecord(b"k", b'{"V": %d}' % v) for v in (3, 4, 5)])
    live.run(
        "SET 'auto.offset.reset' = 'earliest';"
        "CREATE STREAM $after WITH (partitions=1) AS SELECT k, v FROM $s;"
    )
    assert live.rows("SELECT v FROM $after EMIT CHANGES;", 3) == [(3,), (4,), (5,)]
