"""Beyond ksqlDB, what is more than the result of a query: views, start positions, CASCADE."""

from __future__ import annotations

import pytest
from engine.live import Live

from streamsql.errors import CatalogError, ConfigError
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.results import Message, RowStream, Warning
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STREAM = """
CREATE STREAM $s (id STRING KEY, v INT)
  WITH (KAFKA_TOPIC='$s', PARTITIONS=1, VALUE_FORMAT='JSON');
"""


def produce(kafka: KafkaClient, topic: str, numbers: range) -> None:
    records = [
        NewRecord(b"k", f'{{"V": {number}}}'.encode(), partition=0, timestamp=1000 * (number + 1))
        for number in numbers
    ]
    assert kafka.produce(topic, records) == len(records)


def test_where_reading_begins(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    produce(kafka, live.name("S"), range(10))
    by_offset = "SELECT v FROM $s FROM OFFSETS ('0:7') WHERE v >= 0 EMIT CHANGES;"
    assert live.rows(by_offset, 3) == [(7,), (8,), (9,)]
    by_time = "SELECT v FROM $s AS x FROM TIMESTAMP '1970-01-01T00:00:09' EMIT CHANGES;"
    assert live.rows(by_time, 2) == [(8,), (9,)]
    live.run("SET 'auto.offset.reset' = 'latest';")
    assert live.rows("SELECT v FROM $s FROM BEGINNING EMIT CHANGES;", 1) == [(0,)]
    live.run("UNSET 'auto.offset.reset';")
    live.run("CREATE STREAM $o AS SELECT id, v FROM $s FROM LATEST;")
    produce(kafka, live.name("S"), range(10, 12))
    assert live.rows("SELECT v FROM $o EMIT CHANGES;", 2) == [(10,), (11,)]
    with pytest.raises(ConfigError, match="has no offset 99"):
        live.run("SELECT v FROM $s FROM OFFSETS ('0:99') EMIT CHANGES;")


def test_views_are_remembered_and_dropped(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    produce(kafka, live.name("S"), range(5))
    assert live.texts("CREATE VIEW $v AS SELECT id, v * 2 AS w FROM $s;") == ["View created"]
    assert live.rows("SELECT w FROM $v WHERE w > 4 EMIT CHANGES;", 2) == [(6,), (8,)]
    name = live.name("V")
    assert any(
        line.startswith(f"{name} | {live.name('S')} |") for line in live.texts("SHOW VIEWS;")
    )
    assert live.texts("DESCRIBE $v;") == ["ID | STRING (key)", "W | INTEGER"]
    with pytest.raises(CatalogError, match="The following views read from it"):
        live.run("DROP STREAM $s;")
    assert live.texts("DROP VIEW $v;") == [f"View `{name}` was dropped."]


def test_cascade_drops_all_that_depends(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM)
    live.run("CREATE TABLE $t AS SELECT id, COUNT(*) AS n FROM $s GROUP BY id;")
    live.run("CREATE VIEW $v AS SELECT * FROM $t WHERE n > 1;")
    with pytest.raises(CatalogError, match="The following queries read from this source"):
        live.run("DROP STREAM $s;")
    gone = live.texts("DROP STREAM $s CASCADE;")
    names = [live.name(name) for name in ("S", "T", "V")]
    assert [sum(f"`{name}`" in line for line in gone) for name in names] == [1, 1, 1]
    assert any("was terminated" in line for line in gone)
    catalog = live.engine.catalog()
    assert not {*names} & {*catalog.sources, *catalog.views}
    assert not [q for q in catalog.queries.values() if q.writes in names]


def test_a_join_without_a_bound_is_warned_of(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM + STREAM.replace("$s", "$t"))
    query = "SELECT $s.id AS id, $s.v AS a, $t.v AS b FROM $s JOIN $t ON $s.id = $t.id"
    _, warning = live.run(f"CREATE STREAM $j AS {query};")
    assert isinstance(warning, Warning)
    assert "its state grows forever" in warning.text and "STATE_TTL" in warning.text
    warning, stream = live.run(f"{query} EMIT CHANGES;")
    assert isinstance(warning, Warning) and isinstance(stream, RowStream)
    assert "STATE_TTL" not in warning.text
    for name in ("S", "T"):
        produce(kafka, live.name(name), range(1))
    try:
        assert [row.values for row in live.take(stream, 1)] == [("k", 0, 0)]
    finally:
        stream.cancel()
    assert live.rows("SELECT * FROM $j EMIT CHANGES;", 1) == [("k", 0, 0)]
    (done,) = live.run(f"CREATE STREAM $f WITH (STATE_TTL='FOREVER') AS {query};")
    assert isinstance(done, Message)
    text = NamedText("f.sql", live.sql(f"CREATE STREAM $g AS {query};"))
    _, warning = live.engine.changes.apply([text], partial=True)
    assert isinstance(warning, Warning) and warning.text.startswith(f"{live.name('G')}: A join")
