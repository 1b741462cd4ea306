"""VERIFY QUERY: a batch over the log against what queries have written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from streamsql.errors import UnsupportedError
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Rows, Warning

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def verify(live: Live, query_id: str) -> tuple[Mapping[str, object], str]:
    """How many rows have which result, and the examples."""
    (result, *_, warning) = live.run(f"VERIFY QUERY {query_id};")
    assert isinstance(warning, Warning) and warning.text.startswith("1 row of ")
    assert isinstance(result, Rows)
    counts = {str(kind): count for kind, count, _ in result.rows if kind}
    return counts, "\n".join(str(row[2]) for row in result.rows)


def test_a_fault_in_one_row_is_found_while_the_queries_run(live: Live, kafka: KafkaClient) -> None:
    live.run("SET 'processing.mode'='microbatch';")
    live.run(
        "CREATE STREAM $s (id STRING KEY, v INT)"
        "  WITH (KAFKA_TOPIC='$s', PARTITIONS=2, VALUE_FORMAT='JSON');"
    )
    live.run("CREATE STREAM $o AS SELECT id, v + 1 AS w FROM $s WHERE v <> 3;")
    live.run("CREATE TABLE $t AS SELECT id, COUNT(*) AS n, SUM(v) AS total FROM $s GROUP BY id;")
    stream, table = sorted(q.id for q in live.engine.queries() if live.suffix in q.id)
    values = [NewRecord(b"ab"[i % 2 : i % 2 + 1], b'{"V":%d}' % (i % 5)) for i in range(20)]
    kafka.produce(live.name("S"), values)
    for query_id in (stream, table):
        await_until(
            lambda id=query_id: sum(live.committed(id, "S").values()) == 20, "commits", PATIENCE
        )
    kafka.produce(live.name("O"), [NewRecord(b"a", b'{"W":-1}', partition=0)])
    kafka.produce(live.name("T"), [NewRecord(b"a", b'{"N":10,"TOTAL":21}')])
    counts, examples = verify(live, stream)
    assert counts == {"the same": 16, "not expected": 1}
    assert f"{live.name('O')}, partition 0, offset " in examples and '{"W":-1}' in examples
    counts, examples = verify(live, table)
    assert counts == {"the same": 1, "different": 1}
    assert 'key a; expected {"N":10,"TOTAL":20}; ' in examples
    assert examples.endswith('has {"N":10,"TOTAL":21}')


@pytest.mark.parametrize(
    ("source", "query", "reason"),
    [
        (
            "CREATE TABLE $s (id INT PRIMARY KEY, v INT)",
            "CREATE TABLE $t AS SELECT v, COUNT(*) AS n FROM $s GROUP BY v;",
            "keeps empty groups of a table",
        ),
        (
            "CREATE STREAM $s (id INT KEY, v INT)",
            "CREATE STREAM $t AS SELECT s.id, g.n FROM $s AS s"
            " JOIN (SELECT id, COUNT(*) AS n FROM $s GROUP BY id) AS g ON s.id = g.id;",
            "joined with intermediate groups",
        ),
    ],
)
def test_what_a_batch_does_not_know_is_refused(
    source: str, query: str, reason: str, live: Live
) -> None:
    live.run(f"{source} WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');")
    (created,) = live.texts(query)
    with pytest.raises(UnsupportedError, match=reason):
        live.run(f"VERIFY QUERY {created.removeprefix('Created query with ID ')};")
