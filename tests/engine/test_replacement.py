"""CREATE OR REPLACE of queries with state: what changes after it continues from the same state,
what changes that is rebuilt from the log."""

from __future__ import annotations

import pytest
from engine.flow import Load
from engine.live import Live
from engine.shops import BY_CITY, BY_SHOP, SOURCE, as_made_anew, await_read, query_of

from streamsql.engine import QueryState
from streamsql.kafka.client import KafkaClient

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SOURCES = """
CREATE STREAM $s (id INT KEY, v INT, t STRING)
  WITH (KAFKA_TOPIC='$s', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE $u (id INT PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC='$u', FORMAT='JSON', PARTITIONS=1);
"""


def test_behind_a_group_by_and_its_having(live: Live) -> None:
    live.run(SOURCES)
    select = "SELECT id, COUNT(*) AS n, SUM(v) AS total{} FROM $s GROUP BY id HAVING COUNT(*) > {};"
    live.run(f"CREATE TABLE $t WITH (FORMAT='JSON') AS {select.format('', 1)}")
    live.run(
        "INSERT INTO $s VALUES (1, 5, 'a'), (1, 6, 'a'), (2, 7, 'a'), (3, 8, 'a'), (3, 9, 'a');"
    )
    live.table("t", lambda rows: rows == {1: (2, 11), 3: (2, 17)})
    changed = select.format(", SUM(v) * 10 AS tenfold", 2)
    live.run(f"CREATE OR REPLACE TABLE $t WITH (FORMAT='JSON') AS {changed}")
    # What was counted is still known, and 3 stays as it was until its next row.
    live.run("INSERT INTO $s VALUES (1, 1, 'b'), (2, 1, 'b'), (2, 1, 'b');")
    expected = {1: (3, 12, 120), 2: (3, 9, 90), 3: (2, 17, None)}
    live.table("t", lambda rows: rows == expected)


def test_behind_a_join_and_a_repartition(live: Live, kafka: KafkaClient) -> None:
    live.run(SOURCES)
    live.run("INSERT INTO $u VALUES (1, 'Ann'); INSERT INTO $s VALUES (1, 5, 'a');")
    joined = "WITH (FORMAT='JSON') AS SELECT $s.id, {} FROM $s JOIN $u ON $s.id = $u.id;"
    live.run(f"CREATE STREAM $j {joined.format('name')}")
    live.run("CREATE STREAM $p AS SELECT t, v FROM $s PARTITION BY t;")
    rows = "SELECT * FROM $j EMIT CHANGES;"
    assert live.rows(rows, 1) == [(1, "Ann")]
    assert live.rows("SELECT * FROM $p EMIT CHANGES;", 1) == [("a", 5)]
    # The join reads existing records in a micro-batch: uncommitted, it would be processed again.
    await_read(live, kafka, query_of(live, "J"))
    live.run(
        f"CREATE OR REPLACE STREAM $j {joined.format('UCASE(name) AS name, v')}"
        "CREATE OR REPLACE STREAM $p AS SELECT t, v, id FROM $s WHERE v > 5 PARTITION BY t;"
    )
    live.run("INSERT INTO $s VALUES (1, 3, 'b'), (1, 6, 'c');")
    assert sorted(live.rows(rows, 3)[1:]) == [(1, "ANN", 3), (1, "ANN", 6)]
    assert live.rows("SELECT * FROM $p EMIT CHANGES;", 2) == [("a", 5, None), ("c", 6, 1)]


def test_settings_of_one_query(live: Live) -> None:
    """ALTER QUERY: it continues from the same state, and a restart knows the settings."""
    live.run(SOURCES)
    live.run("CREATE TABLE $t WITH (FORMAT='JSON') AS SELECT id, SUM(v) AS n FROM $s GROUP BY id;")
    (query_id,) = (q.id for q in live.engine.queries() if q.sink == live.name("T"))
    live.run("INSERT INTO $s VALUES (1, 5, 'a');")
    live.table("t", lambda rows: rows == {1: (5,)})
    alter = f"""ALTER QUERY {query_id} SET
        ('processing.mode' = 'microbatch', 'processing.guarantee' = 'exactly_once');"""
    assert live.texts(alter) == [f"Query {query_id} altered."]
    assert live.texts(alter) == [f"Query {query_id} already has these settings."]
    live.run("INSERT INTO $s VALUES (1, 2, 'a');")
    live.table("t", lambda rows: rows == {1: (7,)})
    live.restart()
    info = live.query(query_id)
    assert (info.mode, info.guarantee) == ("micro-batch", "exactly_once")
    live.run(f"ALTER QUERY {query_id} SET ('processing.mode' = 'auto');")
    live.run("INSERT INTO $s VALUES (1, 2, 'a');")
    live.table("t", lambda rows: rows == {1: (9,)})
    live.await_state(query_id, QueryState.RUNNING)
    assert live.query(query_id).mode == "real-time"


def test_a_stop_repeats_no_row_of_a_micro_batch(live: Live, kafka: KafkaClient) -> None:
    live.run(f"SET 'processing.mode' = 'microbatch'; {SOURCE}")
    copy = "STREAM $p WITH (VALUE_FORMAT='JSON') AS SELECT k, n, {} AS made FROM $s;"
    live.run(f"CREATE {copy.format(0)}")
    query_id = query_of(live, "P")

    def replace(number: int) -> None:
        live.run(f"CREATE OR REPLACE {copy.format(number)}")

    def pause(_: int) -> None:
        live.run(f"PAUSE {query_id}; RESUME {query_id};")

    def restart(_: int) -> None:
        live.restart()

    load = Load(kafka, live.name("S"), 200)
    with load.running():
        # Rows are visible before their batch is committed.
        for number, stop in enumerate((replace, pause, replace, pause, restart), 1):
            live.rows("SELECT n FROM $p EMIT CHANGES;", 150 * number)
            stop(number)
    await_read(live, kafka, query_id)
    rows = live.rows("SELECT n FROM $p EMIT CHANGES;", load.count)
    assert sum(kafka.end_offsets(live.name("P")).values()) == load.count
    assert sorted(rows) == [(n,) for n in range(load.count)]


def test_behind_a_match_that_has_begun(live: Live) -> None:
    """Its rows keep columns that are no longer read; a restarted engine continues with it."""
    live.run(SOURCES)
    match = """MATCH_RECOGNIZE (PARTITION BY id ORDER BY ROWTIME MEASURES {}
      PATTERN (a b+ c) DEFINE b AS b.v > LAST(b.v, 1) OR COUNT(b.v) = 1, c AS c.v < b.v)"""
    sink = "STREAM $m WITH (FORMAT='JSON') AS SELECT * FROM $s"
    live.run(f"CREATE {sink} {match.format('LAST(b.v) AS top, a.t AS first')};")
    live.run("INSERT INTO $s VALUES (1, 3, 'a'), (1, 4, 'b'), (1, 5, 'c'), (1, 2, 'd');")
    rows = "SELECT * FROM $m EMIT CHANGES;"
    assert live.rows(rows, 1) == [(1, 5, "a")]
    live.run("INSERT INTO $s VALUES (1, 7, 'e'), (1, 8, 'f');")
    live.run(f"CREATE OR REPLACE {sink} {match.format('LAST(b.v) * 10 AS top')};")
    live.run("INSERT INTO $s VALUES (1, 9, 'g');")
    live.restart()
    live.run("INSERT INTO $s VALUES (1, 6, 'h');")
    assert live.rows(rows, 2)[1] == (1, 90)


@pytest.mark.variants
@pytest.mark.parametrize(
    "after", [BY_SHOP.replace("AS total", "AS total, MAX(v) AS most"), BY_CITY], ids=["3", "4"]
)
def test_a_change_that_cannot_keep_its_state_is_rebuilt(
    live: Live, kafka: KafkaClient, after: str
) -> None:
    """By class. While it is built records come, and a restart finds what was logged."""
    live.run(SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(700)
    query_id = query_of(live, "T")
    await_read(live, kafka, query_id)
    with load.running():
        said = live.texts(after.replace("CREATE", "CREATE OR REPLACE"))
    assert said == [f"Created query with ID {query_id}"]
    live.restart()
    load.produce(200)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", after)
