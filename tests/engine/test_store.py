"""Tables answered out of their stores: by key, range and scan, at once and after own writes."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live, Restartable

from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Answer, Message
from streamsql.serving.table import NICENESS
from streamsql.session import Session

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

COUNTS = """
CREATE STREAM $s (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
CREATE TABLE $t AS SELECT id, COUNT(*) AS n, SUM(v) AS total FROM $s GROUP BY id;
"""

SOURCE_TABLE = """
CREATE SOURCE TABLE $p (id STRING PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC='$p', VALUE_FORMAT='JSON');
"""


def insert(live: Live, sql: str) -> str:
    """The token of the last of some INSERTs of this test's."""
    (*_, last) = live.run(sql)
    assert isinstance(last, Message) and last.token is not None
    return last.token


def ask(live: Live, sql: str, *tokens: str) -> list[tuple[Any, ...]]:
    """The rows of a pull query that waits for the tokens' offsets."""
    properties = {"streamsql.consistency.timeout.ms": "240000"}
    if tokens:
        properties["streamsql.consistency.token"] = ",".join(tokens)
    (answer,) = live.engine.execute(live.sql(sql), Session(properties))
    return rows(answer)


def rows(answer: object) -> list[tuple[Any, ...]]:
    assert isinstance(answer, Answer)
    return [row.values for row in answer.rows]


def short(live: Live, sql: str) -> list[tuple[Any, ...]]:
    """The same, by the short way, which must be open to it."""
    answer = looked_up(live, sql)
    assert answer is not None, sql
    # Once it is known it need not come parsed.
    found, again = rows(answer), rows(live.engine.lookup(live.sql(sql), Session()))
    assert found == again, sql
    return found


def looked_up(live: Live, sql: str) -> Answer | None:
    return live.engine.lookup(live.engine.parse(live.sql(sql), Session()), Session())


async def at_once(live: Live, asked: list[str]) -> list[list[tuple[Any, ...]]]:
    """What an event loop is answered that does not wait between its questions."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while (first := live.engine.lookup_soon(live.sql(asked[0]), Session())) is None:
        assert asyncio.get_running_loop().time() < deadline, "no connection to the JVM"
        await asyncio.sleep(0.01)
    await first
    soon = [live.engine.lookup_soon(live.sql(sql), Session()) for sql in asked]
    return [rows(await answer) for answer in soon if answer is not None]


def test_each_write_is_seen_by_who_has_its_token(live: Live) -> None:
    live.run(COUNTS)
    one = "SELECT n, total, id FROM $t WHERE id = 'it''s';"
    for number in range(1, 6):
        token = insert(live, "INSERT INTO $s (id, v) VALUES ('it''s', 10);")
        assert ask(live, one, token) == [(number, 10 * number, "it's")]
    tokens = [insert(live, f"INSERT INTO $s (id, v) VALUES ('k{i}', {i});") for i in range(12)]
    everything = sorted(ask(live, "SELECT * FROM $t;", *tokens))
    assert everything == [("it's", 5, 50), *sorted((f"k{i}", 1, i) for i in range(12))]
    assert sorted(ask(live, "SELECT total FROM $t WHERE id IN ('k3', 'k11', 'none');")) == [
        (3,),
        (11,),
    ]
    assert ask(live, "SELECT id FROM $t WHERE id > 'k1' AND id <= 'k2';") == [
        ("k10",),
        ("k11",),
        ("k2",),
    ]
    assert ask(live, "SELECT id FROM $t WHERE total / (total - 7) > 0 AND id > 'k5';") == [
        ("k8",),
        ("k9",),
    ]
    assert len(ask(live, "SELECT id FROM $t LIMIT 4;")) == 4
    assert ask(live, "SELECT id FROM $t ORDER BY total DESC LIMIT 2;") == [("it's",), ("k11",)]
    assert ask(live, "SELECT id FROM $t ORDER BY total DESC LIMIT 1 OFFSET 1;") == [("k11",)]
    assert ask(live, "SELECT id FROM $t ORDER BY id OFFSET 12;") == [("k9",)]
    assert len(ask(live, "SELECT id FROM $t LIMIT 4 OFFSET 11;")) == 2
    assert ask(live, "SELECT id FROM $t WHERE id = 'k1' OFFSET 1;") == []


def test_the_short_way_answers_as_the_usual_one(live: Live) -> None:
    live.run(COUNTS)
    token = insert(
        live,
        "".join(f"INSERT INTO $s (id, v) VALUES ('k{i}', {i});" for i in (1, 2, 2)),
    )
    ask(live, "SELECT * FROM $t;", token)
    for sql in (
        "SELECT * FROM $t WHERE id = 'k1';",
        "select  * from $t where 'k2' = id",
        "SELECT id, n + 1 AS more FROM $t WHERE id = 'k2' AND total > 1;",
        "SELECT id, n + 1 AS more FROM $t WHERE id = 'k1' AND total > 1;",
        "SELECT id, n + 1 AS more FROM $t WHERE id = 'k1' AND total > 0;",
        "SELECT CAST(total AS STRING) AS c FROM $t WHERE (id = 'none');",
        "SELECT ROWTIME > 0 AS old, COALESCE(total / 0, 5) AS x FROM $t WHERE id = 'k1';",
    ):
        assert short(live, sql) == ask(live, sql), sql
    asked = [f"SELECT id, n FROM $t WHERE id = 'k{i}';" for i in (1, 2, 3)]
    expected = [short(live, sql) for sql in asked]
    assert expected == [[("k1", 1)], [("k2", 2)], []]
    assert asyncio.run(at_once(live, asked * 50)) == expected * 50
    for sql in (
        "SELECT * FROM $t WHERE id > 'k1';",
        "SELECT * FROM $t WHERE id = 'k1' OR total = 3;",
        "SELECT * FROM $t WHERE id = 'k1' AND id = 'k2';",
        "SELECT * FROM $t WHERE id = 'k1' EMIT CHANGES;",
        "SELECT * FROM $t -- where id = 'k1'\n;",
        "SELECT nothing FROM $t WHERE id = 'k1';",
    ):
        assert looked_up(live, sql) is None, sql


def test_windows_of_a_key(live: Live, kafka: KafkaClient) -> None:
    live.run("""
CREATE STREAM $s (id INT KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $w AS SELECT id, COUNT(*) AS n FROM $s
  WINDOW TUMBLING (SIZE 10 SECONDS, RETENTION 100 SECONDS, GRACE PERIOD 1 SECOND) GROUP BY id;
CREATE TABLE $x AS SELECT id, COUNT(*) AS n FROM $s WINDOW SESSION (5 SECONDS) GROUP BY id;
CREATE TABLE $c AS SELECT id, COUNT(*) AS n FROM $s
  WINDOW CUMULATING (SIZE 20 SECONDS, ADVANCE BY 10 SECONDS) GROUP BY id;
""")
    for second in (1, 2, 12, 25):
        token = insert(live, f"INSERT INTO $s (ROWTIME, id, v) VALUES ({second}000, -7, 1);")
    insert(live, "INSERT INTO $s (ROWTIME, id, v) VALUES (26000, 7, 1);")
    asked = "SELECT id, WINDOWSTART AS a, WINDOWEND AS b, n FROM $w WHERE id = -7"
    first, second, third = (-7, 0, 10000, 2), (-7, 10000, 20000, 1), (-7, 20000, 30000, 1)
    assert ask(live, asked + ";", token) == [first, second, third]
    assert short(live, asked + ";") == [first, second, third]
    bounded = asked + " AND WINDOWSTART >= '1970-01-01T00:00:10' AND WINDOWEND < 30000;"
    assert ask(live, bounded) == [second]
    assert short(live, bounded) == [second]
    sessions = "SELECT WINDOWSTART AS a, WINDOWEND AS b, n FROM $x WHERE id = -7"
    assert ask(live, sessions + ";", token) == [
        (1000, 2000, 2),
        (12000, 12000, 1),
        (25000,) * 2 + (1,),
    ]
    assert ask(live, sessions + " AND WINDOWEND <= 12000 AND WINDOWSTART > 1000;") == [
        (12000, 12000, 1)
    ]
    growing = "SELECT WINDOWSTART AS a, WINDOWEND AS b, n FROM $c WHERE id = -7"
    assert ask(live, growing + " AND WINDOWSTART < 20000;", token) == [(0, 10000, 2), (0, 20000, 3)]
    assert short(live, growing + " AND WINDOWEND = 20000;") == [(0, 20000, 3)]
    # Time advances: rows older than the retention are removed.
    token = insert(live, "INSERT INTO $s (ROWTIME, id, v) VALUES (121000, 9, 1);")
    assert ask(live, asked + ";", token) == [third]


def test_keys_of_other_formats(live: Live) -> None:
    live.run("""
CREATE STREAM $s (a STRING, b BIGINT, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $j WITH (KEY_FORMAT='JSON') AS SELECT a, b, SUM(v) AS v FROM $s GROUP BY a, b;
CREATE TABLE $d WITH (KEY_FORMAT='DELIMITED') AS SELECT a, b, SUM(v) AS v FROM $s GROUP BY a, b;
CREATE SOURCE TABLE $p (a STRING PRIMARY KEY, b BIGINT PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC='$j', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');
""")
    token = insert(
        live,
        "".join(f"INSERT INTO $s (a, b, v) VALUES ('{a}', {b}, 1);" for a in "xyx" for b in (1, 2)),
    )
    both = "SELECT * FROM $j WHERE a = 'x' AND b = 2;"
    assert ask(live, both, token) == short(live, both) == [("x", 2, 2)]
    assert ask(live, "SELECT v FROM $j WHERE b = 1;") == [(2,), (1,)]
    delimited = "SELECT v FROM $d WHERE b = 2 AND a IN ('x', 'y');"
    assert sorted(ask(live, delimited, token)) == [(1,), (2,)]
    # Who else writes this topic may write its keys in other ways: all rows are looked at.
    shared = "SELECT v FROM $p WHERE a = 'y' AND b = 1;"
    assert ask(live, shared, token) == [(1,)]
    assert looked_up(live, shared) is None


def test_a_store_comes_back_by_itself(
    live: Live, kafka: KafkaClient, restartable: Restartable
) -> None:
    for name in ("P", "Q"):
        kafka.create_topic(live.name(name), 1)
        live.run(SOURCE_TABLE.replace("$p", "$" + name))
        records = [NewRecord(f"k{i % 50}".encode(), b'{"V":%d}' % i) for i in range(100)]
        kafka.produce(live.name(name), [*records, NewRecord(b"k1", None)])
    expected = sorted((f"k{i}", i + 50) for i in range(50) if i != 1)
    assert sorted(ask(live, "SELECT * FROM $p;")) == expected
    assert sorted(ask(live, "SELECT * FROM $q;")) == expected
    restartable.engine.close()
    folder = restartable.config.data_dir
    assert folder is not None
    _damage(folder / "serving" / live.name("P"))
    shutil.rmtree(folder / "serving" / live.name("Q"))
    live.restart()
    assert sorted(ask(live, "SELECT * FROM $p;")) == expected
    assert sorted(ask(live, "SELECT * FROM $q;")) == expected
    shutil.rmtree(folder / "serving" / live.name("Q"))
    back = folder / "serving" / live.name("Q") / "CURRENT"
    await_until(back.exists, "the deleted store to come back", PATIENCE)
    assert sorted(ask(live, "SELECT * FROM $q;")) == expected
    # Another topic of the same name is another table.
    live.run("DROP TABLE $p; DROP TABLE $q;")
    kafka.delete_topic(live.name("P"))
    kafka.create_topic(live.name("P"), 1)
    live.run(SOURCE_TABLE)
    kafka.produce(live.name("P"), [NewRecord(b"new", b'{"V":1}')])
    assert ask(live, "SELECT * FROM $p;") == [("new", 1)]


def _damage(store: Path) -> None:
    files = list(store.glob("MANIFEST-*"))
    assert files
    for file in files:
        file.write_bytes(b"damaged")


NO_ROW = ("id IN (NULL)", "1 = 2", "NOT TRUE", "CAST(NULL AS BOOLEAN)", "id = 'a' AND 1 = 2")
EVERY_ROW = ("1 = 1", "TRUE", "NULL IS NULL", "LEN('a') = 1", "id IN ('a', 'b', NULL)")


def test_conditions_that_no_row_decides(live: Live) -> None:
    live.run(COUNTS)
    token = insert(live, "INSERT INTO $s VALUES ('a', 1); INSERT INTO $s VALUES ('b', 2);")
    assert ask(live, "SELECT n FROM $t WHERE id IN ('a', NULL);", token) == [(1,)]
    for condition in EVERY_ROW:
        found = ask(live, f"SELECT id, n FROM $t WHERE {condition};", token)
        assert sorted(found) == [("a", 1), ("b", 1)], condition
    for condition in NO_ROW:
        assert ask(live, f"SELECT id, n FROM $t WHERE {condition};", token) == [], condition


THREE_TABLES = """
CREATE TABLE $a (id STRING PRIMARY KEY, v INT)
  WITH (KAFKA_TOPIC='$a', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $b (id STRING PRIMARY KEY, w INT)
  WITH (KAFKA_TOPIC='$b', PARTITIONS=1, VALUE_FORMAT='JSON');
CREATE TABLE $c (id STRING PRIMARY KEY, x INT)
  WITH (KAFKA_TOPIC='$c', PARTITIONS=1, VALUE_FORMAT='JSON');
INSERT INTO $a (ROWTIME, id, v) VALUES (0, 'k', 1);
INSERT INTO $b (ROWTIME, id, w) VALUES (1, 'k', 2);
INSERT INTO $c (ROWTIME, id, x) VALUES (2, 'k', 3);
CREATE TABLE $j AS SELECT $a.id AS id, v, w, x
  FROM $a JOIN $b ON $a.id = $b.id JOIN $c ON $a.id = $c.id;
"""


def test_a_join_of_three_tables_is_as_old_as_the_youngest(live: Live, kafka: KafkaClient) -> None:
    """Also where one is from the beginning of time, which must not become now."""
    live.run(THREE_TABLES)
    asked = "SELECT ROWTIME, v, w, x FROM $j WHERE id = 'k';"
    await_until(lambda: ask(live, asked) == [(2, 1, 2, 3)], "the row of three tables", PATIENCE)
    assert [record.timestamp for record in kafka.consume(live.name("J"), limit=1)] == [2]


def test_who_goes_through_a_table_gives_way_to_queries(live: Live) -> None:
    live.run(COUNTS)
    token = insert(live, "INSERT INTO $s (id, v) VALUES ('a', 1);")
    assert ask(live, "SELECT COUNT(*) AS n, SUM(total) AS s FROM $t;", token) == [(1, 1)]
    priorities = [
        os.getpriority(os.PRIO_PROCESS, int(comm.parent.name))
        for process in psutil.Process().children(recursive=True)
        for comm in Path(f"/proc/{process.pid}/task").glob("[0-9]*/comm")
        if comm.read_text() == "scan\n"
    ]
    assert priorities and set(priorities) == {NICENESS}
