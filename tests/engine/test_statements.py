"""Statements on a real broker and a real Spark."""

from __future__ import annotations

import json
import threading
import time

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import Engine, QueryState
from streamsql.errors import (
    CatalogError,
    ParseError,
    PlanError,
    StreamSQLError,
    TypeMismatchError,
)
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Rows, RowStream, Warning

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STREAM = """
CREATE STREAM $s (id STRING KEY, v INT, t STRING)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');
"""


def test_create_insert_print(live: Live, kafka: KafkaClient) -> None:
    assert live.texts(STREAM) == ["Stream created"]
    assert kafka.partitions(live.name("S")) == 2
    assert kafka.describe(live.name("S")).config["cleanup.policy"] == "delete"  # type: ignore[union-attr]
    live.run(
        "INSERT INTO $s (rowtime, id, v, t) VALUES (1000, 'a', 1 + 1, 'x''y');"
        "INSERT INTO $s (id) VALUES ('b');"
    )
    lines = list(live.lines("PRINT $s FROM BEGINNING LIMIT 2;"))
    assert lines[:2] == ["Key format: KAFKA_STRING", "Value format: JSON or KAFKA_STRING"]
    (first,) = (line for line in lines if "key: a" in line)
    assert first.startswith(
        'rowtime: 1970/01/01 00:00:01.000 Z, key: a, value: {"V":2,"T":"x\'y"}, partition: '
    )
    assert any('key: b, value: {"V":null,"T":null}' in line for line in lines)


def test_the_beginning_of_time_is_a_time(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM + "INSERT INTO $s (rowtime, id, v) VALUES (0, 'a', 1);")
    inserts = live.engine.inserts(live.name("S"))
    assert (
        inserts.write([{"ID": "a", "V": 2, "ROWTIME": 0}, {"ID": "a", "ROWTIME": 7}]) == [None] * 2
    )
    written = kafka.consume(live.name("S"), limit=3)
    assert [(r.key, r.timestamp) for r in written] == [(b"a", 0), (b"a", 0), (b"a", 7)]


def test_insert_of_what_only_spark_computes(live: Live) -> None:
    live.run(STREAM + "INSERT INTO $s (id, v, t) VALUES (UCASE('a'), LEN('four'), TRIM(' x '));")
    assert live.rows("SELECT id, v, t FROM $s EMIT CHANGES;", 1) == [("A", 4, "x")]


def test_insert_rejects(live: Live) -> None:
    live.run(STREAM)
    with pytest.raises(StreamSQLError, match="Failed to insert values|INT"):
        live.run("INSERT INTO $s (id, v) VALUES ('a', 'not a number');")
    with pytest.raises(StreamSQLError):
        live.run("INSERT INTO $s (id, nothing) VALUES ('a', 1);")


def test_topics_must_exist_or_be_described(live: Live) -> None:
    with pytest.raises(PlanError, match="does not exist. If you want to create a new topic"):
        live.run("CREATE STREAM $x (v INT) WITH (KAFKA_TOPIC='$nowhere', VALUE_FORMAT='JSON');")
    assert live.name("X") not in live.engine.catalog().sources


def test_if_not_exists_and_or_replace(live: Live) -> None:
    live.run(STREAM)
    (result,) = live.run(STREAM.replace("STREAM", "STREAM IF NOT EXISTS", 1))
    assert isinstance(result, Warning)
    with pytest.raises(CatalogError, match="already exists"):
        live.run(STREAM)
    more = STREAM.replace("CREATE", "CREATE OR REPLACE").replace("t STRING", "t STRING, w INT")
    assert live.texts(more) == ["Stream replaced"]
    assert "W | INTEGER" in live.texts("DESCRIBE $s;")
    live.run("ALTER STREAM $s ADD COLUMN z DOUBLE;")
    assert "Z | DOUBLE" in live.texts("DESCRIBE $s;")


def test_stream_as_select(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    (message,) = live.texts("CREATE STREAM $o AS SELECT id, v * 10 AS w FROM $s WHERE v > 1;")
    query_id = message.removeprefix("Created query with ID ")
    assert query_id.startswith(f"CSAS_{live.name('O')}")
    assert kafka.partitions(live.name("O")) == 2
    live.run("INSERT INTO $s (id, v) VALUES ('a', 1); INSERT INTO $s (id, v) VALUES ('b', 2);")
    assert live.rows("SELECT * FROM $o EMIT CHANGES;", 1) == [("b", 20)]
    live.await_state(query_id, QueryState.RUNNING)
    live.await_lag(query_id, 0)
    info = live.query(query_id)
    assert (info.mode, info.sink) == ("real-time", live.name("O"))
    shown = live.run("SHOW QUERIES;")[0]
    assert isinstance(shown, Rows) and any(
        row[:4] == (query_id, "PERSISTENT", "RUNNING", "real-time") for row in shown.rows
    )


def test_table_as_select(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    live.run("CREATE TABLE $t AS SELECT id, COUNT(*) AS n, SUM(v) AS total FROM $s GROUP BY id;")
    topic = kafka.describe(live.name("T"))
    assert topic is not None and topic.config["cleanup.policy"] == "compact"
    for i in range(4):
        live.run(f"INSERT INTO $s (id, v) VALUES ('{'ab'[i % 2]}', {i});")
    assert live.table("t", lambda t: t.get("b") == (2, 4) and t.get("a") == (2, 2))


def test_windowed_table_topic(live: Live, kafka: KafkaClient) -> None:
    live.run(
        STREAM + "CREATE TABLE $w AS SELECT id, COUNT(*) AS n FROM $s "
        "WINDOW TUMBLING (SIZE 1 MINUTE, RETENTION 2 DAYS) GROUP BY id;"
    )
    topic = kafka.describe(live.name("W"))
    assert topic is not None
    assert set(topic.config["cleanup.policy"].split(",")) == {"compact", "delete"}
    assert topic.config["retention.ms"] == str(2 * 24 * 3_600_000)


def test_insert_into_select(live: Live) -> None:
    live.run(STREAM + STREAM.replace("$s", "$a"))
    (message,) = live.texts("INSERT INTO $a SELECT id, v + 100 AS v, t FROM $s;")
    live.run("INSERT INTO $s VALUES ('k', 1, 'x');")
    assert live.rows("SELECT id, v FROM $a EMIT CHANGES;", 1) == [("k", 101)]
    query_id = message.removeprefix("Created query with ID ")
    assert live.texts(f"TERMINATE {query_id};") == [f"Query {query_id} terminated."]
    assert all(q.id != query_id for q in live.engine.queries())


def test_latest_reads_only_what_comes(live: Live) -> None:
    live.run(STREAM + "INSERT INTO $s VALUES ('old', 1, '');")
    live.run("SET 'auto.offset.reset' = 'latest';")
    live.run("CREATE STREAM $o AS SELECT id, v FROM $s;")
    live.run("SET 'auto.offset.reset' = 'earliest'; INSERT INTO $s VALUES ('new', 2, '');")
    assert live.rows("SELECT * FROM $o EMIT CHANGES;", 1) == [("new", 2)]


def test_drop(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM + "CREATE STREAM $o AS SELECT id, v FROM $s;")
    with pytest.raises(CatalogError, match="You need to terminate them before dropping"):
        live.run("DROP STREAM $s;")
    assert live.texts("DROP STREAM $o DELETE TOPIC;") == [
        f"Source `{live.name('O')}` (topic: {live.name('O')}) was dropped."
    ]
    assert kafka.partitions(live.name("O")) is None
    assert not any(live.name("O") in q.id for q in live.engine.queries())
    live.run("DROP STREAM $s;")
    with pytest.raises(CatalogError):
        live.run("DROP STREAM $s;")
    assert isinstance(live.run("DROP STREAM IF EXISTS $s;")[0], Warning)


def test_push_query_limit(live: Live) -> None:
    live.run(STREAM)
    for i in range(3):
        live.run(f"INSERT INTO $s (id, v) VALUES ('a', {i});")
    stream = live.stream("SELECT v, id FROM $s EMIT CHANGES LIMIT 3;")
    assert [f.name for f in stream.fields] == ["V", "ID"]
    assert [row.values for row in stream.rows] == [(0, "a"), (1, "a"), (2, "a")]
    assert stream.final_message == "Limit Reached"


def test_push_query_cancel_is_quick_and_leaves_nothing(
    live: Live, kafka: KafkaClient, engine: Engine
) -> None:
    live.run(STREAM + "INSERT INTO $s (id, v) VALUES ('a', 1);")
    # Other tests of the same broker may have left some.
    before = set(kafka.topics())
    stream = live.stream("SELECT * FROM $s EMIT CHANGES;")
    live.take(stream, 1)
    pushed = {t for t in set(kafka.topics()) - before if t.startswith("_streamsql_push_")}
    assert len(pushed) == 1
    assert any(q.id == stream.query_id and q.kind == "PUSH" for q in engine.queries())
    cancelled: list[float] = []

    def cancel() -> None:
        cancelled.append(time.monotonic())
        stream.cancel()

    threading.Timer(0.3, cancel).start()
    assert list(stream.rows) == []
    assert time.monotonic() - cancelled[0] < 1.0
    assert all(q.id != stream.query_id for q in engine.queries())
    await_until(
        lambda: not (set(kafka.topics()) & pushed), "the push query's topic to be deleted", PATIENCE
    )


def test_print_can_be_cancelled(live: Live) -> None:
    live.run(STREAM)
    (stream,) = live.run("PRINT $s;")
    threading.Timer(0.2, stream.cancel).start()  # type: ignore[union-attr]
    assert list(stream.lines) == []  # type: ignore[union-attr]
    with pytest.raises(CatalogError, match="Could not find topic") as missing:
        live.run("PRINT $nowhere;")
    assert missing.value.ksqldb is not None and missing.value.ksqldb.code == "printed-topic"


def test_pause_and_resume(live: Live) -> None:
    live.run(STREAM)
    (message,) = live.texts("CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;")
    query_id = message.removeprefix("Created query with ID ")
    live.run("INSERT INTO $s VALUES ('a', 1, '');")
    assert live.table("t", lambda t: t == {"a": (1,)})
    assert live.texts(f"PAUSE {query_id};") == [f"Query {query_id} paused."]
    assert live.query(query_id).state is QueryState.PAUSED
    live.run("INSERT INTO $s VALUES ('a', 2, ''); INSERT INTO $s VALUES ('b', 2, '');")
    assert live.texts(f"RESUME {query_id};") == [f"Query {query_id} resumed."]
    assert live.table("t", lambda t: t == {"a": (2,), "b": (1,)})


def test_poison_records_go_to_the_processing_log(live: Live, kafka: KafkaClient) -> None:
    *_, created = live.texts(STREAM + "CREATE STREAM $o AS SELECT id, v FROM $s;")
    query_id = created.removeprefix("Created query with ID ")
    topic = live.name("S")
    records = [b"{broken", b'{"V": "text"}', json.dumps({"v": 7}).encode()]
    kafka.produce(topic, [NewRecord(b"k", value, partition=0) for value in records])
    assert live.rows("SELECT * FROM $o EMIT CHANGES;", 1) == [("k", 7)]
    rows = live.rows(
        "SELECT `TOPIC`, `PARTITION`, offset, message->type, "
        "message->deserializationError->errorMessage "
        f"FROM ksql_processing_log WHERE `TOPIC` = '{topic}' EMIT CHANGES;",
        2,
    )
    assert [row[:4] for row in sorted(rows)] == [(topic, 0, 0, 0), (topic, 0, 1, 0)]
    assert all(row[4] for row in rows)
    (errors,) = live.run(f"DESCRIBE ERRORS OF {query_id};")
    assert isinstance(errors, Rows)
    told = {(row[0], row[1], row[3], str(row[5])) for row in errors.rows}
    wrong_type = f"{topic}, partition 0, offset 1: $.V: expected INT, found text 'text'"
    assert (query_id, "Source", 1, wrong_type) in told and len(told) == 2


def test_or_replace_of_a_running_query(live: Live) -> None:
    live.run(STREAM + "CREATE STREAM $o AS SELECT id, v FROM $s;")
    live.run("INSERT INTO $s VALUES ('a', 1, 'x');")
    assert live.rows("SELECT id, v FROM $o EMIT CHANGES;", 1) == [("a", 1)]
    live.run("CREATE OR REPLACE STREAM $o AS SELECT id, v, t FROM $s WHERE v > 5;")
    live.run("INSERT INTO $s VALUES ('b', 2, 'x'); INSERT INTO $s VALUES ('c', 9, 'x');")
    found = live.rows("SELECT id, v, t FROM $o WHERE t IS NOT NULL EMIT CHANGES;", 1)
    assert found == [("c", 9, "x")]
    live.run("CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;")
    with pytest.raises(StreamSQLError, match="A table with the same name already exists"):
        live.run("CREATE OR REPLACE STREAM $t AS SELECT id, v FROM $s;")


def test_microbatch_mode(live: Live) -> None:
    live.run(STREAM + "SET 'processing.mode' = 'microbatch';")
    (message,) = live.texts("CREATE STREAM $o AS SELECT id, v FROM $s;")
    live.run("INSERT INTO $s VALUES ('a', 1, 'x');")
    assert live.rows("SELECT id, v FROM $o EMIT CHANGES;", 1) == [("a", 1)]
    info = live.query(message.removeprefix("Created query with ID "))
    assert info.mode == "micro-batch"


def test_assert_topic(live: Live) -> None:
    live.run(STREAM)
    assert live.texts("ASSERT TOPIC $s WITH (PARTITIONS=2);") == [f"Topic {live.name('S')} exists."]
    with pytest.raises(CatalogError, match="expected 3 got 2"):
        live.run("ASSERT TOPIC $s WITH (PARTITIONS=3) TIMEOUT 1 MILLISECOND;")
    with pytest.raises(CatalogError, match="does not exist"):
        live.run("ASSERT TOPIC $nowhere TIMEOUT 1 MILLISECOND;")
    assert live.texts("ASSERT NOT EXISTS TOPIC $nowhere;") == [
        f"Topic {live.name('NOWHERE')} does not exist."
    ]


def test_errors_know_their_text(live: Live) -> None:
    sql = live.sql("SELECT nothing FROM KSQL_PROCESSING_LOG EMIT CHANGES;")
    with pytest.raises(StreamSQLError) as raised:
        live.run(sql)
    assert raised.value.sql == sql and raised.value.span is not None
    with pytest.raises(ParseError):
        live.run("SELEC 1;")
    with pytest.raises(TypeMismatchError):
        live.run("SELECT logger FROM ksql_processing_log WHERE time EMIT CHANGES;")


def test_aggregate_without_group_by(live: Live) -> None:
    live.run(STREAM)
    for i in range(3):
        live.run(f"INSERT INTO $s (id, v) VALUES ('a', {i});")
    stream = live.stream("SELECT COUNT(*) AS n FROM $s EMIT CHANGES;")
    assert isinstance(stream, RowStream)
    last = 0
    while last < 3:
        last = live.take(stream, 1)[0].values[0]  # type: ignore[assignment]
    stream.cancel()


def test_extended_descriptions(live: Live) -> None:
    live.run(STREAM)
    (message,) = live.texts("CREATE TABLE $o AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;")
    query_id = message.removeprefix("Created query with ID ")
    live.run("INSERT INTO $s VALUES ('a', 1, 'x');")
    live.await_state(query_id, QueryState.RUNNING)

    def offsets() -> list[str]:
        lines = live.texts("DESCRIBE $s EXTENDED;")
        return [line for line in lines if line.startswith(f"{query_id} | {live.name('S')} | ")]

    # Start, end, offset and lag of each partition: one of them holds the record.
    done = ["0 | 0 | 0 | 0", "0 | 1 | 1 | 0"]
    await_until(lambda: sorted(o.split(" | ", 3)[3] for o in offsets()) == done, "no lag", PATIENCE)
    described, reading = live.texts("DESCRIBE $s EXTENDED;"), offsets()
    assert described[0] == "ID | STRING (key)"
    topic = f"{live.name('S')} (partitions: 2, replication: 1, offsets: 1)"
    assert topic_line(topic) in described
    at = described.index("Queries that read from this source")
    assert described[at + 2].startswith(f"{query_id} (RUNNING, ")
    assert described[at + 3].startswith("  State: aggregates, by ID: ")
    for sql in ("SHOW STREAMS EXTENDED;", "DESCRIBE STREAMS EXTENDED;"):
        assert all(line in live.texts(sql) for line in (topic_line(topic), *reading))
    assert reading[0] in live.texts("SHOW TABLES EXTENDED;")
    shown = live.texts("SHOW QUERIES EXTENDED;")
    assert f"{'Query ID':<12}: {query_id}" in shown
    assert f"{'Reads':<12}: {live.name('S')} (topic {live.name('S')})" in shown
    assert all(line in shown for line in reading)
    explained = live.texts(f"EXPLAIN {query_id};")
    assert any(line.startswith("Mode: real-time") for line in explained)


def topic_line(topic: str) -> str:
    return f"{'Kafka topic':<22}: {topic}"


def test_extended_topics(live: Live) -> None:
    live.run(STREAM + "CREATE STREAM $o AS SELECT id, v FROM $s;")
    shown = [line for line in live.texts("SHOW TOPICS EXTENDED;") if live.name("S") in line]
    assert shown == [f"{live.name('S')} | 2 | 1 | 0 | 0 | 1 | 0 | cleanup.policy=delete"]
    hidden = ("streamsql_processing_log", "_streamsql_push_")
    assert not any(line.startswith(hidden) for line in live.texts("SHOW TOPICS;"))
    assert any("streamsql_processing_log" in line for line in live.texts("SHOW ALL TOPICS;"))


def test_tables_from_topics(live: Live, kafka: KafkaClient) -> None:
    live.run(
        "CREATE TABLE $u (id STRING PRIMARY KEY, v INT) "
        "WITH (KAFKA_TOPIC='$u', PARTITIONS=1, VALUE_FORMAT='JSON');"
        "CREATE TABLE $f AS SELECT id, v * 2 AS w FROM $u WHERE v > 0;"
    )
    assert kafka.describe(live.name("U")).config["cleanup.policy"] == "compact"  # type: ignore[union-attr]
    live.run("INSERT INTO $u VALUES ('a', 1); INSERT INTO $u VALUES ('b', 2);")
    assert live.table("f", lambda t: t == {"a": (2,), "b": (4,)})
    kafka.produce(live.name("U"), [NewRecord(b"a", None)])
    assert live.table("f", lambda t: t == {"b": (4,)})


def test_many_queries_side_by_side(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    for i in range(8):
        live.run(f"CREATE STREAM $m{i} AS SELECT id, v + {i} AS v FROM $s;")
    live.run("INSERT INTO $s VALUES ('a', 100, 'x');")
    for i in range(8):
        topic = live.name(f"M{i}")
        await_until(
            lambda topic=topic: sum(kafka.end_offsets(topic).values()) == 1, topic, PATIENCE
        )
        (record,) = kafka.consume(topic, until=kafka.end_offsets(topic))
        assert json.loads(record.value or b"") == {"V": 100 + i}
