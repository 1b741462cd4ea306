"""What tests of changes change: tables over a stream of what shops sell."""

from __future__ import annotations

from awaiting import await_until
from engine.flow import latest
from engine.live import PATIENCE, Live

from streamsql.kafka.client import KafkaClient
from streamsql.results import Message
from streamsql.run_script import NamedText

SOURCE = """
CREATE STREAM $s (k STRING KEY, n INT, shop STRING, city STRING, v INT)
  WITH (KAFKA_TOPIC='$s', VALUE_FORMAT='JSON', PARTITIONS=2);
"""
BY_SHOP = "CREATE TABLE $t AS SELECT shop, COUNT(*) AS c, SUM(v) AS total FROM $s GROUP BY shop;"
BY_CITY = BY_SHOP.replace("shop", "city").replace("GROUP", "WHERE v > 20 GROUP")


def apply(live: Live, sql: str, **options: bool) -> list[str]:
    results = live.engine.changes.apply([NamedText("f.sql", live.sql(sql))], **options)
    return [r.text.replace(live.suffix, "") for r in results if isinstance(r, Message)]


def await_read(live: Live, kafka: KafkaClient, query_id: str) -> None:
    """Wait until a query has read all of its topic."""
    ends = kafka.end_offsets(live.name("S"))

    def has_read() -> bool:
        positions = live.engine._state.queries.position(query_id) or {}
        return positions.get(live.name("S")) == ends

    await_until(has_read, f"{query_id} to have read all", PATIENCE)


def query_of(live: Live, name: str) -> str:
    (query_id,) = (q.id for q in live.engine.queries() if q.sink == live.name(name))
    return query_id


def as_made_anew(live: Live, kafka: KafkaClient, settings: str, table: str) -> None:
    """The table is what the same statement makes of the whole log in another topic."""
    live.run(settings + table.replace("$t", "$anew"))
    live.run("UNSET 'processing.guarantee';")
    expected = live.name("ANEW")

    def is_same() -> bool:
        return latest(kafka, live.name("T")) == latest(kafka, expected) != {}

    await_read(live, kafka, query_of(live, "ANEW"))
    await_until(is_same, "the table to equal a newly created one", PATIENCE)
