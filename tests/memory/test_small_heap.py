"""512 MB of heap: what is too large is worked off, or ends its own query alone, with a reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from awaiting import await_until
from confluent_kafka import Producer
from engine.flow import latest
from engine.live import PATIENCE, Live, Restartable

from streamsql.engine import EngineConfig, QueryState
from streamsql.executor.spark.session import SparkRuntime
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

HEAP_MB = 512
START_MS = 1_700_000_000_000
HOT = "hot"
BYSTANDER = """
CREATE STREAM $calm (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$calm', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $counts AS SELECT id, COUNT(*) AS n FROM $calm GROUP BY id;
"""


@pytest.fixture(scope="module")
def restartable(
    tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker
) -> Iterator[Restartable]:
    folder = tmp_path_factory.mktemp("engine")
    properties = {"streamsql.heap.mb": str(HEAP_MB)}
    restartable = Restartable(EngineConfig(folder, broker.bootstrap, properties=properties))
    try:
        restartable.start()
        yield restartable
    finally:
        restartable.engine.close()


@pytest.fixture
def live(restartable: Restartable) -> Iterator[Live]:
    live = Live(restartable)
    yield live
    live.drop_all()


@pytest.fixture
def runtime(restartable: Restartable) -> SparkRuntime:
    return restartable.engine._state.services.spark.get()


def made(live: Live, sql: str) -> str:
    """The query of the last statement."""
    return live.texts(sql)[-1].removeprefix("Created query with ID ")


def record(key: str, time: int, **row: object) -> NewRecord:
    return NewRecord(key.encode(), json.dumps(row).encode(), timestamp=START_MS + time)


def half_hot(count: int) -> Iterator[tuple[str, int]]:
    """Keys and times: every second record has the same key; a second of time from one to the next
    of it."""
    for n in range(count):
        yield (HOT if n % 2 == 0 else f"k{n % 1000}"), n * 500


def goes_on(live: Live, kafka: KafkaClient, rounds: int) -> None:
    """The bystander counts what comes, exactly."""
    kafka.produce(live.name("CALM"), [record(f"k{n % 5}", n, v=n) for n in range(50)])
    live.table("counts", lambda t: len(t) == 5 and all(n == (10 * rounds,) for n in t.values()))


def rows_of(live: Live, kafka: KafkaClient, name: str) -> int:
    return sum(kafka.end_offsets(live.name(name)).values())


def drained(live: Live, query: str) -> None:
    def done() -> bool:
        info = live.query(query)
        assert info.error is None, info.error
        return info.state is QueryState.RUNNING and info.lag == 0

    await_until(done, f"{query} to be at its end", 20 * PATIENCE)


def hot_key(live: Live, kafka: KafkaClient, count: int) -> None:
    live.run(
        "CREATE STREAM $l (id STRING KEY, v INT)"
        " WITH (KAFKA_TOPIC='$l', PARTITIONS=2, VALUE_FORMAT='JSON');"
        "CREATE STREAM $r (id STRING KEY, v INT)"
        " WITH (KAFKA_TOPIC='$r', PARTITIONS=2, VALUE_FORMAT='JSON');"
    )
    for topic in ("L", "R"):
        records = (record(key, time, v=1) for key, time in half_hot(count))
        kafka.produce(live.name(topic), records)
    grouped = made(live, "CREATE TABLE $g AS SELECT id, COUNT(*) AS n FROM $l GROUP BY id;")
    sessions = made(
        live,
        "CREATE TABLE $s AS SELECT id, COUNT(*) AS n FROM $l"
        " WINDOW SESSION (2 SECONDS) GROUP BY id;",
    )
    joined = made(
        live,
        "CREATE STREAM $j AS SELECT l.id, l.v FROM $l l"
        " JOIN $r r WITHIN 100 MILLISECONDS GRACE PERIOD 1 HOUR ON l.id = r.id;",
    )
    for query in (grouped, sessions, joined):
        drained(live, query)
    expected = Counter(key for key, _ in half_hot(count))

    def counts() -> dict[str, int]:
        found = latest(kafka, live.name("G"))
        return {key.decode(): json.loads(row)["N"] for key, row in found.items()}

    await_until(lambda: counts() == expected, "the counts of all keys", PATIENCE)
    # A second, from one of the hot key's to the next, is less than the gap; the others' are more.
    ends = [json.loads(row)["N"] for row in latest(kafka, live.name("S")).values()]
    assert sorted(ends) == [1] * (count // 2) + [count // 2]
    assert rows_of(live, kafka, "J") == count


@pytest.mark.parametrize("count", [100_000, 3_000_000])
def test_a_key_with_half_of_all_records(
    live: Live, kafka: KafkaClient, runtime: SparkRuntime, count: int
) -> None:
    process = runtime._process
    hot_key(live, kafka, count)
    assert runtime._process is process and runtime.is_running


def test_a_task_that_runs_out_of_memory_ends_its_query_alone(
    live: Live, kafka: KafkaClient, runtime: SparkRuntime
) -> None:
    live.run(BYSTANDER)
    goes_on(live, kafka, 1)
    process = runtime._process
    live.run(
        "CREATE STREAM $s (id STRING KEY, v INT)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    query = made(live, "CREATE STREAM $p AS SELECT id, LPAD('x', v, 'y') AS s FROM $s;")
    kafka.produce(live.name("S"), [record("a", 0, v=2_000_000_000)])
    stopped(live, query, "a task ran out of it")
    goes_on(live, kafka, 2)
    assert runtime._process is process and runtime.is_running


def stopped(live: Live, query: str, reason: str) -> None:
    def held() -> bool:
        info = live.query(query)
        return info.state is QueryState.ERROR and "RESUME" in (info.error or "")

    await_until(held, f"{query} to be stopped for good: {live.query(query)}", 3 * PATIENCE)
    error = live.query(query).error
    assert error is not None and error.startswith("too large for the engine's memory: ")
    assert reason in error


LARGE = 2_500
"""Records of 100 KB, of one key: more than two fifths of the heap."""


def large_key(live: Live, kafka: KafkaClient) -> str:
    live.run(
        "CREATE STREAM $s (id STRING KEY, v STRING)"
        " WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    large = "x" * 100_000
    kafka.produce(live.name("S"), (record(HOT, n * 10, v=large) for n in range(LARGE)))
    return made(
        live,
        "CREATE STREAM $j AS SELECT l.id, LEN(l.v) + LEN(r.v) AS n FROM $s l"
        " JOIN $s r WITHIN 1 MILLISECONDS GRACE PERIOD 1 HOUR ON l.id = r.id;",
    )


def test_a_key_whose_records_are_too_large_is_worked_off_in_smaller_batches(
    live: Live, kafka: KafkaClient, runtime: SparkRuntime
) -> None:
    process = runtime._process
    query = large_key(live, kafka)
    seen = set[str | None]()

    def done() -> bool:
        info = live.query(query)
        seen.add(info.error)
        return info.state is QueryState.RUNNING and rows_of(live, kafka, "J") == LARGE

    await_until(done, f"{query} to be at its end: {live.query(query)}", 3 * PATIENCE)
    assert any("records of one key in a batch take" in (error or "") for error in seen)
    assert runtime._process is process and runtime.is_running


def test_a_batch_that_must_stay_the_same_stops_its_query_alone(
    live: Live, kafka: KafkaClient, runtime: SparkRuntime
) -> None:
    live.run(BYSTANDER)
    goes_on(live, kafka, 1)
    process = runtime._process
    live.run("SET 'processing.guarantee' = 'exactly_once';")
    query = large_key(live, kafka)
    stopped(live, query, "records of one key in a batch take")
    goes_on(live, kafka, 2)
    assert runtime._process is process and runtime.is_running


def test_a_row_with_a_hundred_thousand_partners(live: Live, kafka: KafkaClient) -> None:
    live.run(
        "CREATE STREAM $l (id STRING KEY, v INT)"
        " WITH (KAFKA_TOPIC='$l', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE STREAM $r (id STRING KEY, v INT)"
        " WITH (KAFKA_TOPIC='$r', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    kafka.produce(live.name("L"), (record(HOT, n // 100, v=n) for n in range(100_000)))
    kafka.produce(live.name("R"), [record(HOT, 2_000 + n, v=n) for n in range(10)])
    query = made(
        live,
        "CREATE STREAM $j AS SELECT l.id, l.v AS v FROM $l l"
        " JOIN $r r WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON l.id = r.id;",
    )
    drained(live, query)
    assert rows_of(live, kafka, "J") == 1_000_000


def produce_large(kafka: KafkaClient, topic: str, large: NewRecord) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 8_000_000})
    producer.produce(topic, large.value, large.key, timestamp=large.timestamp or 0)
    assert producer.flush(PATIENCE) == 0


def test_a_record_of_five_megabytes_and_a_list_without_end(live: Live, kafka: KafkaClient) -> None:
    topic = live.name("S")
    kafka.create_topic(topic, partitions=1, config={"max.message.bytes": "8000000"})
    live.run(
        "CREATE STREAM $s (id STRING KEY, v STRING) WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON');"
    )
    lengths = made(live, "CREATE STREAM $n AS SELECT id, LEN(v) AS n FROM $s;")
    lists = made(
        live,
        "CREATE TABLE $c AS SELECT id, COLLECT_LIST(v) AS l, COUNT(*) AS n FROM $s GROUP BY id;",
    )
    produce_large(kafka, topic, record("a", 0, v="x" * 5_000_000))
    kafka.produce(topic, (record("a", n, v="x" * 100) for n in range(20_000)))
    kafka.produce(topic, [record("b", 20_000, v="last")])
    assert live.rows("SELECT n FROM $n WHERE n > 1000 EMIT CHANGES LIMIT 1;", 1) == [(5_000_000,)]
    # The list of `a` is no longer taken by Kafka; `b` shows that the query has continued.
    live.table("c", lambda t: t.get("b") == (["last"], 1))
    for query in (lengths, lists):
        drained(live, query)
