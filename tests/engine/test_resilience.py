"""Restarts, a lost broker, changes of mode: nothing is lost, and SHOW QUERIES tells what is."""

from __future__ import annotations

import json

import psutil
import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import Engine, EngineConfig, QueryState
from streamsql.errors import ConfigError
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STREAM = """
CREATE STREAM $s (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
"""
COUNTS = "CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;"


def query_id(live: Live, sql: str) -> str:
    (message,) = live.texts(sql)
    return message.removeprefix("Created query with ID ")


def broker_process(broker: EmbeddedBroker) -> psutil.Process:
    port = int(broker.bootstrap.split(":")[1])
    for process in psutil.Process().children(recursive=True):
        if any(c.laddr.port == port for c in process.net_connections() if c.status == "LISTEN"):
            return process
    raise AssertionError("no broker")


def produce(kafka: KafkaClient, topic: str, count: int, keys: int = 10) -> None:
    kafka.produce(
        topic,
        (NewRecord(f"k{i % keys}".encode(), json.dumps({"v": i}).encode()) for i in range(count)),
    )


def test_one_engine_at_a_time(engine: Engine, broker: EmbeddedBroker, live: Live) -> None:
    folder = engine._config.data_dir
    with pytest.raises(ConfigError, match="in use by another engine"):
        Engine(EngineConfig(data_dir=folder, bootstrap_servers=broker.bootstrap)).start()


def test_a_broker_that_is_silent_for_a_while(
    live: Live, broker: EmbeddedBroker, kafka: KafkaClient
) -> None:
    live.run(STREAM)
    query = query_id(live, COUNTS)
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (10,) for n in t.values()))
    process = broker_process(broker)
    process.suspend()
    try:
        live.await_state(query, QueryState.WAITING)
        info = live.query(query)
        assert "no answer from Kafka" in info.reason
        # What needs no Kafka is still answered.
        assert live.name("S") in live.engine.catalog().sources
    finally:
        process.resume()
    live.await_state(query, QueryState.RUNNING)
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (20,) for n in t.values()))


def test_catching_up_then_real_time(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    produce(kafka, live.name("S"), 20_000)
    seen: set[QueryState] = set()
    query = query_id(live, COUNTS)

    def running() -> bool:
        state = live.query(query).state
        seen.add(state)
        return state is QueryState.RUNNING

    await_until(running, "the query to run", PATIENCE)
    assert QueryState.CATCHING_UP in seen
    live.table("t", lambda t: len(t) == 10 and all(n == (2_000,) for n in t.values()))
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (2_010,) for n in t.values()))
    live.await_lag(query, 0)


def test_a_restart_brings_everything_back(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    counts = query_id(live, COUNTS)
    paused = query_id(live, "CREATE STREAM $p AS SELECT id, v FROM $s WHERE v < 5;")
    gone = query_id(live, "CREATE STREAM $g AS SELECT id, v FROM $s;")
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (10,) for n in t.values()))
    live.run(f"PAUSE {paused}; TERMINATE {gone};")
    list(live.engine.execute("DEFINE greeting = 'hello'; SET 'auto.offset.reset' = 'latest';"))
    before = live.engine.catalog()
    folder = live.engine._config.data_dir
    assert folder is not None
    # As a push query of an engine that was killed leaves it.
    leftover = live.engine._state.pushes._prefix + "99"
    kafka.create_topic(leftover)

    live.restart()

    assert kafka.partitions(leftover) is None

    assert live.engine.catalog() == before
    assert live.engine.session.variables["GREETING"] == "hello"
    assert live.engine.session.properties["auto.offset.reset"] == "latest"
    list(live.engine.execute("UNDEFINE greeting; UNSET 'auto.offset.reset';"))
    assert {q.id for q in live.engine.queries()} == {counts, paused}
    assert live.query(paused).state is QueryState.PAUSED
    assert not (folder / "checkpoints" / gone).exists()
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (20,) for n in t.values()))
    live.run(f"RESUME {paused};")
    live.await_state(paused, QueryState.RUNNING)


def test_catch_up_goes_through_the_whole_pipeline(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    live.run("CREATE STREAM $a AS SELECT id, v + 1 AS v FROM $s WHERE v >= 0;")
    live.run("CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $a GROUP BY id;")
    produce(kafka, live.name("S"), 5_000)
    seen: list[tuple[int, int]] = []
    live.engine.catch_up(lambda done, total: seen.append((done, total)))
    # All there at once: nothing is awaited.
    topic = live.name("T")
    last = {
        record.key: json.loads(record.value or b"")["N"]
        for record in kafka.consume(topic, until=kafka.end_offsets(topic))
    }
    assert len(last) == 10 and set(last.values()) == {500}
    done, total = seen[-1]
    assert done == total >= 10_000
    assert all(done <= total for done, total in seen)


def test_a_spark_that_dies_is_started_again(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    query = query_id(live, COUNTS)
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (10,) for n in t.values()))
    live.kill_spark()
    produce(kafka, live.name("S"), 100)
    live.table("t", lambda t: len(t) == 10 and all(n == (20,) for n in t.values()))
    live.await_state(query, QueryState.RUNNING)
