"""Constraints of streams and tables: what is counted, logged, replayed, and what stops a query."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.engine import QueryInfo, QueryState
from streamsql.results import Answer, Rows

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SOURCE = """
CREATE OR REPLACE STREAM $s (id STRING KEY, v INT, w INT,
    CONSTRAINT positive EXPECT (v > {least}) ON VIOLATION TO ERRORS,
    CONSTRAINT small EXPECT (w < 100) ON VIOLATION DROP ROW)
  WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
TABLE = """
CREATE OR REPLACE TABLE $t (id STRING PRIMARY KEY, n INT,
    CONSTRAINT small EXPECT (n < 10 OR 'Too many open files' = '') ON VIOLATION {})
  WITH (KAFKA_TOPIC='$t', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE OR REPLACE TABLE $twice AS SELECT id, n * 2 AS n FROM $t;
"""
COPY = "CREATE OR REPLACE STREAM $o AS SELECT * FROM $s;"


def _constraints(live: Live, name: str) -> list[tuple[object, ...]]:
    """What DESCRIBE says."""
    tables = [result for result in live.run(f"DESCRIBE ${name};") if isinstance(result, Rows)]
    return list(tables[1].rows)


def _query(live: Live, sink: str) -> QueryInfo:
    (found,) = (q for q in live.engine.queries() if q.sink == live.name(sink))
    return found


def test_violations_are_counted_and_what_passes_the_next_definition_is_replayed(live: Live) -> None:
    live.run("SET 'processing.mode'='microbatch';" + SOURCE.format(least=0) + COPY)
    live.run("INSERT INTO $s VALUES ('a', 1, 1), ('b', -1, 1), ('c', 1, 100), ('d', NULL, NULL);")
    assert [row[0] for row in live.rows("SELECT id FROM $o EMIT CHANGES;", 2)] == ["a", "d"]
    query_id = _query(live, "O").id
    await_until(lambda: live.committed(query_id, "S").get(0) == 4, "a commit", PATIENCE)

    positive, small = (live.name("S") + name for name in (".POSITIVE", ".SMALL"))
    found = live.engine.query_metrics()[query_id]
    assert (found.violations, found.errors) == ({positive: 1, small: 1}, 1)
    assert _constraints(live, "S") == [
        ("POSITIVE", "V > 0", "TO ERRORS", 1),
        ("SMALL", "W < 100", "DROP ROW", 1),
    ]
    shown = [line for line in live.texts("SHOW QUERIES EXTENDED;") if "Violated" in line]
    assert any(f"{positive} 1, {small} 1" in text for text in shown)

    live.run(SOURCE.format(least=-2) + COPY)
    (replayed,) = live.run(f"REPLAY ERRORS OF {query_id};")
    assert isinstance(replayed, Rows)
    assert [(outcome, count) for outcome, count, _ in replayed.rows] == [("replayed", 1)]
    rows = live.rows("SELECT id FROM $o EMIT CHANGES;", 3)
    assert [row[0] for row in rows] == ["a", "d", "b"]


def test_results_that_violate_a_constraint_are_counted_and_replayed_too(live: Live) -> None:
    create = (
        "CREATE OR REPLACE STREAM $o (CONSTRAINT small EXPECT (twice < {}) ON VIOLATION TO ERRORS) "
        "AS SELECT id, v * 2 AS twice FROM $s;"
    )
    live.run(
        "SET 'processing.mode'='microbatch'; CREATE STREAM $s (id STRING KEY, v INT) "
        "WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=1);" + create.format(10)
    )
    live.run("INSERT INTO $s VALUES ('a', 1), ('b', 5), ('c', NULL);")
    rows = "SELECT id FROM $o FROM BEGINNING EMIT CHANGES;"
    assert [row[0] for row in live.rows(rows, 2)] == ["a", "c"]
    query_id = _query(live, "O").id
    await_until(lambda: live.committed(query_id, "S").get(0) == 3, "a commit", PATIENCE)
    assert _constraints(live, "O") == [("SMALL", "TWICE < 10", "TO ERRORS", 1)]
    (verified, *_) = live.run(f"VERIFY QUERY {query_id};")
    assert isinstance(verified, Rows)
    assert [(kind, count) for kind, count, _ in verified.rows] == [("the same", 2)]

    live.run(create.format(11))
    (replayed,) = live.run(f"REPLAY ERRORS OF {query_id};")
    assert isinstance(replayed, Rows)
    assert [(outcome, count) for outcome, count, _ in replayed.rows] == [("replayed", 1)]
    assert [row[0] for row in live.rows(rows, 3)] == ["a", "c", "b"]


def test_a_query_stops_before_a_violation_that_is_to_fail_it(live: Live) -> None:
    """It does not wait, whatever words the constraint contains: its error has a code."""
    live.run(TABLE.format("FAIL") + "INSERT INTO $t VALUES ('a', 1);")
    assert live.table("TWICE", lambda rows: len(rows) == 1) == {"a": (2,)}
    (result,) = live.run("SELECT * FROM $t;")
    assert isinstance(result, Answer)
    assert [row.values for row in result.rows] == [("a", 1)]

    live.run("INSERT INTO $t VALUES ('a', 10);")
    await_until(
        lambda: _query(live, "TWICE").state is QueryState.ERROR, "the query to stop", PATIENCE
    )
    topic = live.name("T")
    assert _query(live, "TWICE").error == (
        f"Constraint SMALL of {topic} is violated: EXPECT (N < 10 OR 'Too many open files' = ''),"
        f" by the record at topic {topic}, partition 0, offset 1; ON VIOLATION FAIL stops the"
        " query"
    )
    assert live.table("TWICE", lambda rows: len(rows) == 1) == {"a": (2,)}

    live.run(TABLE.format("DROP ROW") + "INSERT INTO $t VALUES ('b', 3);")
    live.table("TWICE", lambda rows: rows == {"a": (2,), "b": (6,)})
