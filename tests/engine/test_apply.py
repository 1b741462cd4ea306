"""`Engine.changes`: what runs becomes what files say, by one entry of the log."""

from __future__ import annotations

import pytest
from engine.live import Live

from streamsql.errors import UnsupportedError
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
    # State goes on, a topic is read on, one more query begins at the beginning.
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
    assert applied(live, after) == ["Nothing to do: what is written is what runs."]
    live.run("INSERT INTO $s VALUES (1, 6), (1, 7);")
    live.table("t", lambda rows: rows == {1: (4, 40)})
    # A restart may repeat what was written since the last commit: at least once is the default.
    assert live.rows("SELECT * FROM $d WHERE d = 18 EMIT CHANGES;", 1) == [(1, 18)]
    assert live.rows("SELECT * FROM $d WHERE d <> 18 EMIT CHANGES;", 1) == [(1, 14)]
    assert said(live, live.engine.changes.undo()) == [
        "Table T_ changed (class 2, goes on where it stopped)",
        "Stream L_ changed (class 2, goes on where it stopped)",
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
    assert applied(live, files) == ["Nothing to do: what is written is what runs."]
    live.run("INSERT INTO $m VALUES (1, 9);")
    assert live.rows("SELECT id, v FROM $s EMIT CHANGES;", 1) == [(1, 9)]


def test_what_cannot_be_done_changes_nothing(live: Live, log_length: int) -> None:
    live.run(SOURCE + COUNTS.format(""))
    length = live.engine.inspection.sequence
    changed = COUNTS.format("").replace("'JSON'", "'JSON', PARTITIONS=3")
    with pytest.raises(UnsupportedError, match="of class 3 .* partitions: 1, now 3"):
        applied(live, SOURCE + changed + LARGE.format(5))
    assert live.engine.inspection.sequence == length
    assert live.name("L") not in live.engine.catalog().sources
