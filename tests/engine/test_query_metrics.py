"""What queries count: the same numbers in SHOW QUERIES EXTENDED and for a monitoring system."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.executor.queries.query import NEAR
from streamsql.executor.spark.session import STATE_MEMORY
from streamsql.kafka.client import NewRecord
from streamsql.results import Text
from streamsql.status import Latency, QueryMetrics, QueryState

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def test_a_query_counts_what_it_reads_writes_and_leaves_out(live: Live) -> None:
    live.run(
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
    )
    (created,) = [
        r
        for r in live.run("CREATE STREAM $big AS SELECT k, v * 2 AS d FROM $s WHERE v > 1;")
        if getattr(r, "query_id", None)
    ]
    query_id = created.query_id  # type: ignore[union-attr]
    live.run(
        "INSERT INTO $s (k, v) VALUES ('a', 1);"
        "INSERT INTO $s (k, v) VALUES ('b', 2);"
        "INSERT INTO $s (k, v) VALUES ('c', 3);"
    )
    client = live.engine._state.services.kafka.get()
    client.produce(live.name("S"), [NewRecord(b"d", b"{this is no json")])

    def counted() -> QueryMetrics | None:
        found = live.engine.query_metrics().get(query_id)
        return found if found and found.errors and found.records_out == 2 else None

    await_until(lambda: counted() is not None, "the records are counted", PATIENCE)
    found = counted()
    assert found is not None
    assert (found.records_in, found.records_out, found.errors) == (4, 2, 1)
    assert found.bytes_in == 3 * (1 + len('{"V":1}')) + 1 + len(b"{this is no json")
    assert found.bytes_out == 2 * (1 + len('{"D":4}'))
    assert found.latency is not None and found.latency.count == 2
    (shown,) = [
        r.text
        for r in live.run("SHOW QUERIES EXTENDED;")
        if isinstance(r, Text) and query_id in r.text.splitlines()[0]
    ]
    assert f"Records in  : 4 ({found.bytes_in} B)" in shown
    assert "Records out : 2 (16 B), the last one" in shown
    assert "Failed      : 1 (in the processing log)" in shown
    live.run(f"TERMINATE {query_id};")
    assert query_id not in live.engine.query_metrics()


def test_the_state_is_measured_and_falls_into_the_parts_that_were_asked_for(live: Live) -> None:
    live.run(
        "CREATE STREAM $e (k STRING KEY, v INT) WITH (kafka_topic='$e', value_format='json',"
        " partitions=1);"
        "INSERT INTO $e (k, v) VALUES ('a', 1);"
        "INSERT INTO $e (k, v) VALUES ('b', 2);"
        "SET 'processing.mode' = 'microbatch';"
        "SET 'streamsql.shuffle.partitions' = '3';"
        "SET 'streamsql.records.per.batch' = '1000';"
    )
    (created,) = [
        r
        for r in live.run("CREATE TABLE $n AS SELECT k, COUNT(*) AS n FROM $e GROUP BY k;")
        if getattr(r, "query_id", None)
    ]
    query_id = created.query_id  # type: ignore[union-attr]

    def kept() -> int | None:
        found = live.engine.query_metrics().get(query_id)
        return found.state_rows if found else None

    await_until(lambda: kept() == 2, "the state is measured", PATIENCE)
    state = live.engine._state.data.checkpoints / query_id / "state" / "0"
    assert {part.name for part in state.iterdir()} >= {"0", "1", "2"}
    assert not (state / "3").exists()
    live.run("SET 'streamsql.shuffle.partitions' = '2';")


def test_spark_has_the_sizes_that_are_shown(live: Live) -> None:
    rows = (line.split(" | ") for line in live.texts("SHOW PROPERTIES;"))
    shown = {row[0]: row[2] for row in rows}
    spark = live.engine._state.services.spark.get().session
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[attr-defined]
    options = list(beans.getRuntimeMXBean().getInputArguments())
    assert f"-Xmx{shown['streamsql.heap.mb']}m" in options
    assert spark.conf.get(STATE_MEMORY) == shown["streamsql.state.memory.mb"]


def test_recent_latencies_are_those_of_live_results(live: Live) -> None:
    """Those of a catch-up are the ages of its records: they count in the histogram only."""
    live.run(
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
    )
    client = live.engine._state.services.kafka.get()
    old = NEAR + 1
    client.produce(live.name("S"), [NewRecord(b"a", b'{"V":1}', 1_000)] * old)
    live.run("CREATE STREAM $t AS SELECT k, v + 1 AS w FROM $s;")
    (query_id,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))

    def counted() -> QueryMetrics:
        return live.engine.query_metrics().get(query_id, QueryMetrics())

    await_until(lambda: counted().records_out == old, "the catch-up's result", PATIENCE)
    assert counted().recent == {}
    live.await_state(query_id, QueryState.RUNNING)
    live.run("INSERT INTO $s (k, v) VALUES ('a', 2);")
    await_until(lambda: counted().records_out == old + 1, "the live result", PATIENCE)
    found = counted()
    assert found.latency is not None and found.latency.count == old + 1
    assert {window: each.count for window, each in found.recent.items()} == {"1m": 1, "1h": 1}
    assert found.recent["1h"].max < 1_000 * PATIENCE


def test_late_rows_are_counted(live: Live) -> None:
    live.run(
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
        "CREATE STREAM $t (k STRING KEY, v INT) WITH (kafka_topic='$t', value_format='json',"
        " partitions=1);"
    )
    of_time = "(SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS)"
    live.run(
        f"CREATE TABLE $tumbling AS SELECT k, COUNT(*) AS n FROM $s WINDOW TUMBLING {of_time}"
        " GROUP BY k;"
        "CREATE TABLE $session AS SELECT k, COUNT(*) AS n FROM $s WINDOW SESSION"
        " (10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k;"
        "CREATE STREAM $joined AS SELECT $s.k, $t.v FROM $s JOIN $t WITHIN 10 SECONDS"
        " GRACE PERIOD 0 SECONDS ON $s.k = $t.k;"
    )
    ids = [q.id for q in live.engine.queries() if live.suffix in (q.sink or "")]
    for time in (100_000, 2_000, 101_000):
        live.run(f"INSERT INTO $s (ROWTIME, k, v) VALUES ({time}, 'a', 1);")

    def late() -> list[int]:
        found = live.engine.query_metrics()
        return [found[id].rows_late if id in found else 0 for id in ids]

    await_until(lambda: late() == [1, 1, 1], "the late rows to be counted", PATIENCE)
    (shown,) = [
        r.text
        for r in live.run("SHOW QUERIES EXTENDED;")
        if isinstance(r, Text) and ids[0] in r.text.splitlines()[0]
    ]
    assert "Late        : 1 row came after its window had closed" in shown
    (listed,) = (line for line in live.texts("SHOW QUERIES;") if line.startswith(ids[0]))
    assert "1 row came after its window had closed" in listed


def test_a_row_that_is_late_for_earlier_batches_is_counted_at_once(live: Live) -> None:
    """Spark itself would report it when its batch has ended, which in real time is a minute."""
    live.run(
        "SET 'processing.commit.interval.ms' = '5000';"
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
        "CREATE TABLE $t AS SELECT k, COUNT(*) AS n FROM $s"
        " WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY k;"
    )
    (query_id,) = (q.id for q in live.engine.queries() if live.suffix in (q.sink or ""))

    def counted() -> QueryMetrics:
        return live.engine.query_metrics().get(query_id, QueryMetrics())

    # A batch drops what was late when the one before it began.
    for number in (1, 2, 3):
        live.run(f"INSERT INTO $s (ROWTIME, k, v) VALUES ({number}00000, 'a', 1);")
        await_until(lambda n=number: counted().records_in >= n, "it to be read", PATIENCE)
        batches = counted().batches
        await_until(lambda n=batches: counted().batches > n, "its batch to end", PATIENCE)
    batches = counted().batches
    live.run("INSERT INTO $s (ROWTIME, k, v) VALUES (2000, 'a', 1);" * 3)
    await_until(lambda: counted().records_in >= 6, "the late rows to be read", PATIENCE)
    await_until(lambda: counted().rows_late == 3, f"late rows counted: {counted()}", PATIENCE)
    assert counted().batches == batches
    await_until(lambda: counted().batches > batches, "their batch to end", PATIENCE)
    assert counted().rows_late == 3
    sampled = live.rows(
        "SELECT message->lateRow->rowTime, message->lateRow->lateMs FROM KSQL_PROCESSING_LOG"
        f" WHERE queryId = '{query_id}' AND message->lateRow IS NOT NULL EMIT CHANGES;",
        3,
    )
    assert sampled == [(2_000, 298_000)] * 3


def test_the_buckets_of_prometheus_add_up() -> None:
    latency = Latency((1, 10, 100), (5, 4, 0, 1), 1234)
    assert latency.count == 10
    assert latency.cumulative == [(0.001, 5), (0.01, 9), (0.1, 9), (float("inf"), 10)]
