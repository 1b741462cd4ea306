"""Materialized views in a running engine: made, kept up to date, replaced, restarted, dropped."""

from __future__ import annotations

import shutil
import time
from typing import Any

import pytest
from awaiting import await_until
from engine.live import Live, Restartable

from streamsql.errors import CatalogError, PlanError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.kafka.records import NewRecord
from streamsql.results import Answer, Rows
from streamsql.status import QueryState

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TABLES = """
CREATE TABLE $c (id INT PRIMARY KEY, region TEXT);
CREATE TABLE $o (id INT PRIMARY KEY, customer INT, amount INT);
INSERT INTO $c VALUES (1, 'north'), (2, 'south'), (3, NULL);
INSERT INTO $o VALUES (1, 1, 10), (2, 1, 20), (3, 2, 5), (4, 9, 7);
"""
VIEW = """
CREATE MATERIALIZED VIEW $v AS SELECT c.region, SUM(o.amount) AS total, COUNT(*) AS n
FROM $o o JOIN $c c ON o.customer = c.id GROUP BY c.region;
"""


def _rows(live: Live, sql: str) -> list[tuple[Any, ...]]:
    found = [part for part in live.run(sql) if isinstance(part, Answer)]
    return sorted((row.values for row in found[-1].rows), key=repr)


def _standard(live: Live) -> None:
    live.run(
        "SET 'streamsql.sql.semantics' = 'standard';"
        "SET 'streamsql.consistency.timeout.ms' = '60000';"
    )


def test_a_view_follows_its_tables(live: Live, kafka: KafkaClient) -> None:
    _standard(live)
    live.run(TABLES + VIEW + "FLUSH;")
    assert _rows(live, "SELECT * FROM $v;") == [("north", 30, 2), ("south", 5, 1)]
    live.run("UPDATE $c SET region = 'south' WHERE id = 1; INSERT INTO $o VALUES (5, 3, 1); FLUSH;")
    assert _rows(live, "SELECT * FROM $v;") == [("south", 35, 3), (None, 1, 1)]
    live.run("DELETE FROM $o WHERE customer = 1; FLUSH;")
    assert _rows(live, "SELECT * FROM $v;") == [("south", 5, 1), (None, 1, 1)]
    assert "DeltaJoin" not in "".join(live.texts("EXPLAIN SELECT * FROM $v;"))
    (listed,) = [r for r in live.run("SHOW MATERIALIZED VIEWS;") if isinstance(r, Rows)]
    assert live.name("V") in [row[0] for row in listed.rows]
    topic = live.name("V")
    live.run("DROP MATERIALIZED VIEW $v;")
    await_until(lambda: kafka.partitions(topic) is None, "the topic goes with its view", 30)


def test_the_latency_of_a_view_begins_with_its_oldest_input(live: Live) -> None:
    _standard(live)
    live.run(TABLES + VIEW + "FLUSH;")
    (query,) = (q.id for q in live.engine.queries() if q.sink == live.name("V"))
    live.await_state(query, QueryState.RUNNING)
    begin = time.monotonic()
    for i in range(3):
        live.run(f"INSERT INTO $o VALUES ({10 + i}, 1, 1), ({20 + i}, 2, 1); FLUSH;")
    longest = 1000 * (time.monotonic() - begin)
    # To plan, run and commit a batch takes longer than to have a record acknowledged.
    assert 50 <= live.engine.query_metrics()[query].recent["1m"].p50 <= longest * 17 / 16


def test_a_view_resumes_from_its_checkpoint(live: Live) -> None:
    _standard(live)
    live.run(TABLES + VIEW + "FLUSH;")
    live.restart()
    live.run("UPDATE $o SET amount = 100 WHERE id = 3; FLUSH;")
    assert _rows(live, "SELECT * FROM $v;") == [("north", 30, 2), ("south", 100, 1)]


def test_a_row_is_in_a_view_as_long_as_a_comparison_with_the_time_holds(live: Live) -> None:
    _standard(live)
    live.run(
        "CREATE TABLE $e (id INT PRIMARY KEY, at TIMESTAMP);"
        "CREATE MATERIALIZED VIEW $v AS SELECT COUNT(*) AS n, MIN(id) AS least FROM $e "
        "WHERE at > NOW() - INTERVAL '4 seconds' AND at <= NOW() + INTERVAL '1 hour';"
        "INSERT INTO $e VALUES (1, NOW()), (2, NOW() - INTERVAL '1 hour'),"
        " (3, NOW() + INTERVAL '1 hour' + INTERVAL '6 seconds'); FLUSH;"
    )
    select = "SELECT * FROM $v;"
    assert _rows(live, select) == [(1, 1)]
    await_until(lambda: _rows(live, select) == [(0, None)], "row 1 is too old", 20)
    await_until(lambda: _rows(live, select) == [(1, 3)], "row 3 is near enough", 20)
    live.run("INSERT INTO $e VALUES (4, NOW() + INTERVAL '2 seconds'); FLUSH;")
    assert _rows(live, select) == [(2, 3)]
    live.restart()
    await_until(lambda: _rows(live, select) == [(1, 3)], "row 4 is too old", 60)
    live.run("UPDATE $e SET at = NOW() - INTERVAL '1 day'; FLUSH;")
    assert _rows(live, select) == [(0, None)]


def test_a_row_is_joined_with_the_rows_of_its_arrival(live: Live) -> None:
    _standard(live)
    live.run(
        TABLES + "CREATE MATERIALIZED VIEW $v AS SELECT o.id, o.amount, c.region FROM $o o "
        "LEFT JOIN $c FOR SYSTEM_TIME AS OF PROCTIME() AS c ON o.customer = c.id; FLUSH;"
    )
    (query,) = (q.id for q in live.engine.queries() if q.sink == live.name("V"))
    select = "SELECT * FROM $v;"
    rows = [(1, 10, "north"), (2, 20, "north"), (3, 5, "south"), (4, 7, None)]
    assert _rows(live, select) == rows
    live.run(
        "UPDATE $c SET region = 'west' WHERE id = 1; INSERT INTO $c VALUES (9, 'east'); FLUSH;"
    )
    assert _rows(live, select) == rows
    live.restart()
    live.run("INSERT INTO $o VALUES (5, 1, 1); UPDATE $o SET amount = 8 WHERE id = 4; FLUSH;")
    rows[3:] = [(4, 8, "east"), (5, 1, "west")]
    assert _rows(live, select) == rows
    live.run("DELETE FROM $c; FLUSH;")
    assert _rows(live, select) == rows
    live.run("DELETE FROM $o WHERE id = 3; UPDATE $o SET amount = 21 WHERE id = 2; FLUSH;")
    rows[1:3] = [(2, 21, None)]
    assert _rows(live, select) == rows
    with pytest.raises(UnsupportedError, match="the order in which the rows of both sides arrived"):
        live.run(f"VERIFY QUERY {query};")


def test_views_over_views(live: Live) -> None:
    _standard(live)
    live.run(TABLES + VIEW)
    live.run("CREATE MATERIALIZED VIEW $w AS SELECT MAX(total) AS most, COUNT(*) AS n FROM $v;")
    live.run("FLUSH;")
    assert _rows(live, "SELECT most, n FROM $w;") == [(30, 2)]
    live.run("DELETE FROM $c WHERE id = 1; FLUSH;")
    assert _rows(live, "SELECT most, n FROM $w;") == [(5, 1)]


def test_views_over_windowed_tables(live: Live) -> None:
    live.run(
        "CREATE STREAM $s (k STRING, at BIGINT) WITH (KAFKA_TOPIC='$s', PARTITIONS=1, "
        "VALUE_FORMAT='JSON', TIMESTAMP='at');"
        "CREATE TABLE $t AS SELECT k, COUNT(*) AS n FROM $s "
        "WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k;"
        "CREATE TABLE $w AS SELECT k, COUNT(*) AS n FROM $s "
        "WINDOW SESSION (10 SECONDS, GRACE PERIOD 1 DAY) GROUP BY k;"
        "INSERT INTO $s VALUES ('a', 1000), ('a', 2000), ('a', 25000), ('b', 3000);"
    )
    _standard(live)
    views = {
        "$x": "SELECT k, SUM(n)::INT AS n, COUNT(*) AS windows FROM $t GROUP BY k",
        "$y": "SELECT w.k, w.windowstart, w.windowend, w.n, t.n AS first FROM $w w "
        "LEFT JOIN $t t ON t.k = w.k AND t.windowstart = 0",
    }
    live.run("".join(f"CREATE MATERIALIZED VIEW {v} AS {sql};" for v, sql in views.items()))
    live.run("FLUSH;")
    assert _rows(live, "SELECT * FROM $x;") == [("a", 3, 2), ("b", 1, 1)]
    first = [("a", 1000, 2000, 2, 2), ("a", 25000, 25000, 1, 2), ("b", 3000, 3000, 1, 1)]
    assert _rows(live, "SELECT * FROM $y;") == first
    live.run("INSERT INTO $s VALUES ('a', 9000), ('a', 16000);")  # They merge the sessions.
    live.run("FLUSH;")
    assert _rows(live, "SELECT * FROM $x;") == [("a", 5, 3), ("b", 1, 1)]
    assert _rows(live, "SELECT * FROM $y;") == [("a", 1000, 25000, 5, 3), ("b", 3000, 3000, 1, 1)]


def test_a_view_is_replaced(live: Live) -> None:
    _standard(live)
    live.run(TABLES + VIEW + "FLUSH;")
    with pytest.raises(CatalogError, match="it exists"):
        live.run(VIEW)
    live.run(
        "CREATE OR REPLACE MATERIALIZED VIEW $v AS SELECT c.region, MIN(o.amount) AS total, "
        "COUNT(*) AS n FROM $o o JOIN $c c ON o.customer = c.id GROUP BY c.region; FLUSH;"
    )
    assert _rows(live, "SELECT * FROM $v;") == [("north", 10, 2), ("south", 5, 1)]


def test_what_is_no_view_is_refused(live: Live) -> None:
    live.run(TABLES)
    with pytest.raises(PlanError, match="specified more than once"):
        live.run("CREATE MATERIALIZED VIEW $v AS SELECT id, id FROM $c;")
    with pytest.raises(CatalogError, match="not a materialized view"):
        live.run("DROP MATERIALIZED VIEW $c;")


def test_a_flush_after_a_restart_has_nothing_to_wait_for(live: Live) -> None:
    """What a transaction has written ends with a marker, which no batch reads."""
    _standard(live)
    live.run(TABLES + VIEW + "FLUSH;")
    live.restart()
    begin = time.monotonic()
    live.run("FLUSH;")
    assert time.monotonic() - begin < 60
    assert _rows(live, "SELECT * FROM $v;") == [("north", 30, 2), ("south", 5, 1)]


def test_rows_of_a_checkpoint_that_is_lost_are_removed(
    live: Live, restartable: Restartable, kafka: KafkaClient
) -> None:
    """The result has no key, so a new row does not replace an old one."""
    _standard(live)
    live.run(
        """CREATE STREAM $s (k INT, v INT)
          WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE MATERIALIZED VIEW $v AS SELECT COALESCE(a.k, b.k) AS k, a.n, b.most
          FROM (SELECT k, COUNT(*) AS n FROM $s GROUP BY k) a
          FULL JOIN (SELECT v AS k, MAX(k) AS most FROM $s GROUP BY v) b ON a.k = b.k;
        INSERT INTO $s VALUES (1, 1), (1, 2); FLUSH;"""
    )
    assert _rows(live, "SELECT * FROM $v;") == [(1, 2, 1), (2, None, 1)]
    (query,) = (q.id for q in live.engine.queries() if q.sink == live.name("V"))
    live.engine.close()
    shutil.rmtree(restartable.config.data_dir / "checkpoints" / query)
    kafka.produce(live.name("S"), [NewRecord(None, b'{"K": 1, "V": 1}')])
    live.restart()
    live.run("FLUSH;")
    assert _rows(live, "SELECT * FROM $v;") == [(1, 3, 1), (2, None, 1)]
