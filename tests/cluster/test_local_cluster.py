"""The same script where Spark's tasks run in JVMs of their own, as on a cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live, Restartable
from engine.postgresql import PASSWORD, USER, database

from streamsql.engine import EngineConfig, QueryInfo, QueryState
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import NewRecord
from streamsql.status import QueryMetrics

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

MASTER = "local-cluster[2,1,1024]"

SCRIPT = """
CREATE STREAM $orders (id INT, customer STRING KEY, amount DOUBLE)
  WITH (kafka_topic='$orders', value_format='JSON', partitions=2);
CREATE TABLE $customers (id STRING PRIMARY KEY, town STRING)
  WITH (kafka_topic='$customers', value_format='JSON', partitions=2);
INSERT INTO $customers VALUES ('a', 'Ghent');
INSERT INTO $customers VALUES ('b', 'Lyon');
INSERT INTO $orders (id, customer, amount) VALUES (1, 'a', 1.5);
INSERT INTO $orders (id, customer, amount) VALUES (2, 'b', 4);
INSERT INTO $orders (id, customer, amount) VALUES (3, 'a', 2.5);
CREATE STREAM $placed AS SELECT o.customer AS customer, town, amount
  FROM $orders o JOIN $customers c ON o.customer = c.id;
CREATE TABLE $towns AS SELECT town, COUNT(*) AS n, SUM(amount) AS total
  FROM $placed GROUP BY town;
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, broker: EmbeddedBroker) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("cluster")
    config = EngineConfig(data_dir=folder, bootstrap_servers=broker.bootstrap, master=MASTER)
    restartable = Restartable(config)
    try:
        restartable.start()
        yield Live(restartable)
    finally:
        restartable.engine.close()


def test_a_pipeline_runs_in_the_executors(live: Live) -> None:
    live.run(SCRIPT)
    stream = live.stream("SELECT town, n, total FROM $towns EMIT CHANGES;")
    wanted = {"Ghent": (2, 4.0), "Lyon": (1, 4.0)}
    seen: dict[object, tuple[object, ...]] = {}
    for row in stream.rows:
        town, *totals = row.values
        seen[town] = tuple(totals)
        if seen == wanted:
            break
    stream.cancel()
    await_until(lambda: _states(live) == [QueryState.RUNNING] * 2, "both queries to run", PATIENCE)
    runtime = live.engine._state.services.spark.get()
    executors = runtime.session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
    assert executors == 3, "the driver and two executors"


def test_what_executors_count_is_added_up(live: Live) -> None:
    made = live.run("""
        CREATE STREAM $paid (k STRING KEY, v INT, at BIGINT,
            CONSTRAINT positive EXPECT (v > 0) ON VIOLATION DROP ROW)
          WITH (kafka_topic='$paid', value_format='JSON', partitions=2, timestamp='at');
        CREATE STREAM $big AS SELECT k, v * 2 AS d FROM $paid WHERE v > 1;
        CREATE TABLE $hourly AS SELECT k, COUNT(*) AS n
          FROM $paid WINDOW SESSION (1 HOUR, GRACE PERIOD 0 SECONDS) GROUP BY k;
    """)
    big, hourly = (id for r in made if (id := getattr(r, "query_id", None)))
    kafka = live.engine._state.services.kafka.get()

    def pay(v: int, hour: int) -> None:
        value = json.dumps({"V": v, "AT": hour * 3_600_000}).encode()
        kafka.produce(live.name("PAID"), [NewRecord(b"a", value)])

    def counted(id: str, wanted: Callable[[QueryMetrics], bool]) -> QueryMetrics:
        def found() -> QueryMetrics | None:
            return live.engine.query_metrics().get(id)

        await_until(lambda: (m := found()) is not None and wanted(m), f"{id}: {wanted}", PATIENCE)
        metrics = found()
        assert metrics is not None
        return metrics

    for v, hour in ((1, 5), (2, 5), (3, 9), (-1, 9)):
        pay(v, hour)
    kafka.produce(live.name("PAID"), [NewRecord(b"a", b"{this is no json")])
    metrics = counted(big, lambda m: (m.records_in, m.records_out, m.errors) == (5, 2, 1))
    assert metrics.bytes_out == 2 * (1 + len('{"D":4}'))
    assert metrics.violations == {live.name("PAID") + ".POSITIVE": 1}
    assert metrics.latency is not None and metrics.latency.count == 2
    assert metrics.last_out_ms is not None
    counted(hourly, lambda m: m.records_in == 5 and (m.records_out or 0) > 0)
    pay(4, 5)
    counted(hourly, lambda m: (m.records_in, m.rows_late) == (6, 1))
    live.run(f"TERMINATE {big};")
    assert big not in live.engine.query_metrics()


def test_look_ups_in_the_executors(live: Live, tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text("town,country\nGhent,BE\nLyon,FR\n", "utf-8")
    (tmp_path / "secrets").write_text(f"db={PASSWORD}\n", "utf-8")
    with database() as postgresql:
        postgresql.execute("CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")
        postgresql.execute("INSERT INTO people VALUES ('a', 'ann'), ('b', 'bob')")
        people = live.name("PEOPLE")
        declared = f"""
            CREATE SOURCE TABLE {people} (id STRING PRIMARY KEY, name STRING)
              WITH (CONNECTION='JDBC', URL='{postgresql.url}', DBTABLE='people', USER='{USER}',
                    PASSWORD='${{file:{tmp_path}/secrets:db}}');
        """
        list(live.engine.execute(declared, live.session))
        live.run(f"""
            CREATE SOURCE TABLE $places (town STRING PRIMARY KEY, country STRING)
              WITH (CONNECTION='FILE', PATH='{tmp_path}/towns.csv', FORMAT='CSV');
            CREATE STREAM $visits (who STRING KEY, town STRING)
              WITH (KAFKA_TOPIC='$visits', VALUE_FORMAT='JSON', PARTITIONS=2);
            CREATE STREAM $found AS SELECT who, name, country FROM $visits v
              LEFT JOIN {people} p ON v.who = p.id LEFT JOIN $places t ON v.town = t.town;
            INSERT INTO $visits VALUES ('a', 'Ghent');
            INSERT INTO $visits VALUES ('b', 'Rome');
            INSERT INTO $visits VALUES ('c', 'Lyon');
        """)
        rows = live.rows("SELECT * FROM $found EMIT CHANGES;", 3)
        assert set(rows) == {("a", "ann", "BE"), ("b", "bob", None), ("c", None, "FR")}


def test_the_error_of_an_executor_keeps_its_code(live: Live) -> None:
    live.run("""
        CREATE STREAM $strict (k STRING KEY, v INT,
            CONSTRAINT small EXPECT (v < 9 OR 'Too many open files' = '') ON VIOLATION FAIL)
          WITH (kafka_topic='$strict', value_format='JSON', partitions=1);
        CREATE STREAM $copied AS SELECT * FROM $strict;
        INSERT INTO $strict VALUES ('a', 9);
    """)

    def copied() -> QueryInfo:
        return next(q for q in live.engine.queries() if q.sink == live.name("COPIED"))

    await_until(lambda: copied().state is QueryState.ERROR, "the query to stop", PATIENCE)
    assert "is violated" in (copied().error or "")


def _states(live: Live) -> list[QueryState]:
    return [query.state for query in live.engine.queries() if query.kind == "PERSISTENT"]
