"""`Engine.changes`: what runs becomes what files say, by one entry of the log."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest
from awaiting import await_until
from engine import shops
from engine.flow import Load
from engine.live import PATIENCE, Live

from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.results import Message, Result
from streamsql.run_script import NamedText
from streamsql.statements.changes import apply

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

SOURCE = """
CREATE STREAM $s (id INT KEY, v INT) WITH (KAFKA_TOPIC='$s', FORMAT='JSON', PARTITIONS=1);
"""
COUNTS = "CREATE TABLE $t WITH (FORMAT='JSON') AS SELECT id, COUNT(*) AS n{} FROM $s GROUP BY id;\n"
LARGE = "CREATE STREAM $l WITH (FORMAT='JSON') AS SELECT id, v FROM $s WHERE v > {};\n"


def applied(live: Live, sql: str) -> list[str]:
    """What is said of the things of this test."""
    return said(live, live.engine.changes.apply([NamedText("files.sql", live.sql(sql))]))


def said(live: Live, results: list[Result]) -> list[str]:
    return [r.text.replace(live.suffix, "") for r in results if isinstance(r, Message)]


@pytest.fixture
def log_length(live: Live) -> int:
    return live.engine.inspection.sequence


def test_a_set_takes_effect_at_once(
    live: Live, log_length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = SOURCE + COUNTS.format("") + LARGE.format(5)
    assert applied(live, before) == ["Stream S_ created", "Table T_ created", "Stream L_ created"]
    assert live.engine.inspection.sequence == log_length + 1
    live.run("INSERT INTO $s VALUES (1, 9), (1, 3);")
    live.table("t", lambda rows: rows == {1: (2,)})
    # State continues, a topic is read on, one more query begins at the beginning.
    new = "CREATE STREAM $d WITH (FORMAT='JSON') AS SELECT id, v * 2 AS d FROM $l;\n"
    after = SOURCE + COUNTS.format(", COUNT(*) * 10 AS m") + LARGE.format(6) + new

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(apply, "_become", killed)
        with pytest.raises(KeyboardInterrupt):
            applied(live, after)
    # Killed once the entry was there: the next start finds all of it.
    live.restart()
    assert live.engine.inspection.sequence == log_length + 2
    assert applied(live, after) == ["No changes. The running pipeline matches the files."]
    live.run("INSERT INTO $s VALUES (1, 6), (1, 7);")
    live.table("t", lambda rows: rows == {1: (4, 40)})
    # A restart may repeat what was written since the last commit: at least once is the default.
    assert live.rows("SELECT * FROM $d WHERE d = 18 EMIT CHANGES;", 1) == [(1, 18)]
    assert live.rows("SELECT * FROM $d WHERE d <> 18 EMIT CHANGES;", 1) == [(1, 14)]
    assert said(live, live.engine.changes.undo()) == [
        "Table T_ changed (class 2, continues from its checkpoint)",
        "Stream L_ changed (class 2, continues from its checkpoint)",
        "Stream D_ dropped",
    ]
    live.run("INSERT INTO $s VALUES (1, 6);")
    live.table("t", lambda rows: rows == {1: (5,)})
    assert live.rows("SELECT * FROM $l WHERE v = 6 EMIT CHANGES;", 1) == [(1, 6)]


def test_several_are_defined_over_a_topic_that_is_not_there_yet(live: Live) -> None:
    """One of them says how it is made, wherever it stands; after that they are as any."""
    by_key = "CREATE TABLE $k (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='$s', FORMAT='JSON');\n"
    more = SOURCE.replace("STREAM $s", "STREAM $m").replace(
        "PARTITIONS=1", "PARTITIONS=1, REPLICAS=1"
    )
    files = by_key + SOURCE + more
    said = applied(live, files)
    assert sorted(said) == ["Stream M_ created", "Stream S_ created", "Table K_ created"]
    live.restart()
    assert applied(live, files) == ["No changes. The running pipeline matches the files."]
    live.run("INSERT INTO $m VALUES (1, 9);")
    assert live.rows("SELECT id, v FROM $s EMIT CHANGES;", 1) == [(1, 9)]


def test_what_cannot_be_done_changes_nothing(live: Live, log_length: int) -> None:
    live.run(SOURCE + COUNTS.format(""))
    length = live.engine.inspection.sequence
    changed = COUNTS.format("").replace("'JSON'", "'JSON', PARTITIONS=3")
    with pytest.raises(UnsupportedError, match="of class 5 .* partitions: 1, now 3"):
        applied(live, SOURCE + changed + LARGE.format(5))
    assert live.engine.inspection.sequence == length
    assert live.name("L") not in live.engine.catalog().sources


TARGET = """
CREATE STREAM $j (k STRING KEY, n INT, text STRING)
  WITH (KAFKA_TOPIC='$j', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
INSERT = "INSERT INTO $j SELECT k, n, '{0}' AS text FROM $s{1};\n"
BESIDE = "INSERT INTO $j SELECT k, n, 'beside' AS text FROM $s;\n"


def test_an_insert_continues_by_another_text(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record has its row, by the text of its time; the query beside it is not touched. The
    engine is killed once the entry is there, and what was applied is taken back."""
    before = shops.SOURCE + TARGET + "SET 'processing.guarantee' = 'exactly_once';\n" + BESIDE
    old = before + INSERT.format("old", "")
    new = before + INSERT.format("new", " WHERE n % 2 = 0")
    shops.apply(live, old)
    ids = [query.id for query in live.engine.queries() if query.sink == live.name("J")]
    (changed,) = (i for i in ids if "'old'" in live.query(i).sql)
    load = Load(kafka, live.name("S"), 300)
    load.produce(300)
    shops.await_read(live, kafka, changed)
    by_batches = old.replace(BESIDE, BESIDE + "SET 'processing.mode' = 'microbatch';\n")
    assert shops.apply(live, by_batches) == [f"Query {changed} changed (class 1, settings)"]
    load.produce(100)
    shops.await_read(live, kafka, changed)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(apply, "_become", killed)
        with pytest.raises(KeyboardInterrupt):
            shops.apply(live, new)
    live.restart()
    assert shops.apply(live, new) == ["No changes. The running pipeline matches the files."]
    load.produce(200)
    shops.await_read(live, kafka, changed)
    (undone,) = said(live, live.engine.changes.undo())
    assert undone == f"Query {changed} changed (class 2, continues from its checkpoint)"
    load.produce(100)
    expected = {
        "beside": list(range(700)),
        "old": [*range(400), *range(600, 700)],
        "new": list(range(400, 600, 2)),
    }
    await_until(lambda: _rows_by_text(live, kafka) == expected, "each row once", PATIENCE)
    assert [query.id for query in live.engine.queries() if query.sink == live.name("J")] == ids
    grouped = INSERT.format("old", " PARTITION BY shop").replace(" k,", " shop AS k,")
    with pytest.raises(UnsupportedError, match="of class 4") as caught:
        shops.apply(live, before + grouped)
    assert f"TERMINATE {changed}; first" in (caught.value.hint or "")


def _rows_by_text(live: Live, kafka: KafkaClient) -> dict[str, list[int]]:
    """The numbers of the records that a row was written of, by the text that has written it."""
    topic, found = live.name("J"), defaultdict(list)
    for record in kafka.consume(topic, until=kafka.end_offsets(topic)):
        row = json.loads(record.value or b"{}")
        found[row["TEXT"]].append(row["N"])
    return {text: sorted(numbers) for text, numbers in found.items()}
