"""Exactly-once delivery without failures of machines: queries that are stopped and resumed, and
records that Kafka never takes."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from awaiting import await_until
from confluent_kafka import KafkaException, Producer
from engine.live import PATIENCE, Live

from streamsql.config import COMMITS_TOPIC
from streamsql.engine import QueryState
from streamsql.executor.queries.checkpoint import discarded, id_of
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EXACTLY_ONCE = "SET 'processing.guarantee' = 'exactly_once';"


def produce(kafka: KafkaClient, topic: str, first: int, count: int) -> None:
    numbers = range(first, first + count)
    rows = (NewRecord(f"k{n % 5}".encode(), json.dumps({"n": n}).encode()) for n in numbers)
    kafka.produce(topic, rows)


def committed(kafka: KafkaClient, topic: str) -> list[int]:
    """The numbers in a topic, read as `consume` does: committed ones alone."""
    ends = kafka.end_offsets(topic)
    records = kafka.consume(topic, until=ends)
    return [json.loads(r.value or b"{}")["N"] for r in records]


def test_a_query_that_is_paused_again_and_again(live: Live, kafka: KafkaClient) -> None:
    live.run(
        f"{EXACTLY_ONCE} CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o AS SELECT k, n FROM $s;"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    assert live.query(query).guarantee == "exactly_once"
    source, sink = live.name("S"), live.name("O")
    for first in range(0, 300, 100):
        live.await_state(query, QueryState.RUNNING)
        assert live.query(query).mode == "real-time"
        produce(kafka, source, first, 100)
        await_until(
            lambda: len(committed(kafka, sink)) >= first + 50,  # noqa: B023 - run at once
            "half of them to be committed",
            PATIENCE,
        )
        live.run(f"PAUSE {query};")
        live.run(f"RESUME {query};")
    await_until(lambda: len(committed(kafka, sink)) >= 300, "all to be committed", PATIENCE)
    assert Counter(committed(kafka, sink)) == Counter(range(300))


def test_a_record_that_kafka_does_not_take_ends_no_transaction(
    live: Live, kafka: KafkaClient
) -> None:
    sink = live.name("O")
    kafka.create_topic(sink, 1, -1, {"message.timestamp.after.max.ms": "60000"})
    live.run(
        f"{EXACTLY_ONCE} CREATE STREAM $s (n INT, width INT, due BIGINT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o WITH (TIMESTAMP='due') AS"
        " SELECT n, LPAD('x', width, 'x') AS text, due FROM $s;"
    )
    future = 4_000_000_000_000
    live.run(
        "INSERT INTO $s VALUES (1, 1, 1000); INSERT INTO $s VALUES (2, 2000000, 1000);"
        f"INSERT INTO $s VALUES (3, 1, {future}); INSERT INTO $s VALUES (4, 1, 1000);"
    )
    await_until(lambda: committed(kafka, sink) == [1, 4], "the records around them", PATIENCE)
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    errors = live.stream(
        f"SELECT message->productionError->errorMessage FROM KSQL_PROCESSING_LOG"
        f" WHERE queryId = '{query}' EMIT CHANGES;"
    )
    found = [str(row.values[0]) for row in live.take(errors, 2)]
    errors.cancel()
    assert "2000" in found[0] and "takes no more than" in found[0]
    assert str(future) in found[1]


def tokens(kafka: KafkaClient, checkpoint: str) -> set[bytes]:
    """Those that a checkpoint's query has now."""
    records = kafka.consume(COMMITS_TOPIC, until=kafka.end_offsets(COMMITS_TOPIC))
    found = {r.key: r.value for r in records if (r.key or b"").startswith(checkpoint.encode())}
    return {key for key, value in found.items() if key is not None and value is not None}


def one_row_written(live: Live, kafka: KafkaClient) -> str:
    """A query from $s to $o that has committed a row; its id."""
    live.run(
        f"{EXACTLY_ONCE} CREATE STREAM $s (n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o AS SELECT n FROM $s; INSERT INTO $s VALUES (1);"
    )
    (query,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))
    sink = live.name("O")
    await_until(lambda: committed(kafka, sink) == [1], "the row", PATIENCE)
    return query


def leave_open(kafka: KafkaClient, query: str, checkpoint: str, sink: str) -> Producer:
    """The transaction of a killed run, whose task number no later run uses."""
    once = {"transactional.id": f"streamsql.{query}.{checkpoint}.7"}
    dead = Producer({**kafka.settings, **once, "transaction.timeout.ms": 900_000})
    dead.init_transactions()
    dead.begin_transaction()
    dead.produce(sink, b'{"N": 2}')
    dead.produce(COMMITS_TOPIC, b"{}", f"{checkpoint}/7".encode(), partition=0)
    dead.flush()
    return dead


def test_a_query_that_ends_leaves_no_token_and_no_open_transaction(
    live: Live, kafka: KafkaClient
) -> None:
    query, sink, state = one_row_written(live, kafka), live.name("O"), live.engine._state
    live.run(f"PAUSE {query};")
    folder = state.data.checkpoints / query
    checkpoint = id_of(folder)
    assert checkpoint is not None
    # A commit's marker comes to one partition after the other.
    await_until(lambda: tokens(kafka, checkpoint), "the row's token", PATIENCE)
    dead = leave_open(kafka, query, checkpoint, sink)
    state.launcher.broken.abort([state.queries.definition(query)])
    live.run(f"RESUME {query}; INSERT INTO $s VALUES (3);")
    await_until(lambda: committed(kafka, sink) == [1, 3], "what comes after it", PATIENCE)
    with pytest.raises(KafkaException, match="fenced|epoch"):
        dead.commit_transaction(5.0)
    live.run("DROP STREAM $o DELETE TOPIC;")
    assert not folder.exists() and sink not in kafka.topics()
    await_until(lambda: not discarded(state.data.checkpoints), "nothing to be left", PATIENCE)
    assert tokens(kafka, checkpoint) == set()


@pytest.mark.slow
def test_a_spark_that_is_killed_leaves_no_open_transaction(live: Live, kafka: KafkaClient) -> None:
    query, sink = one_row_written(live, kafka), live.name("O")
    checkpoint = id_of(live.engine._state.data.checkpoints / query)
    assert checkpoint is not None
    leave_open(kafka, query, checkpoint, sink)
    live.kill_spark()
    live.run("INSERT INTO $s VALUES (3);")
    await_until(lambda: committed(kafka, sink) == [1, 3], "what comes after it", PATIENCE)


def test_the_end_of_a_transaction_is_no_lag(live: Live, kafka: KafkaClient) -> None:
    """A query over what another has committed: behind its last record comes a marker."""
    live.run(
        f"{EXACTLY_ONCE} CREATE STREAM $s (k STRING KEY, n INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE STREAM $o AS SELECT k, n FROM $s;"
        "CREATE STREAM $p AS SELECT k, n FROM $o;"
    )
    last = live.name("P")
    (query,) = (q.id for q in live.engine.queries() if q.sink == last)
    produce(kafka, live.name("S"), 0, 20)
    await_until(lambda: len(committed(kafka, last)) == 20, "all to be committed", PATIENCE)
    source, ends = live.name("O"), kafka.end_offsets(live.name("O"))
    watch = live.engine._state.watch
    await_until(lambda: watch.moment.ends.get(source) == ends, "the end to be known", PATIENCE)
    assert ends[0] > 20
    await_until(lambda: live.query(query).lag == 0, "no lag", PATIENCE)
