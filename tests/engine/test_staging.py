"""`Engine.changes.stage`: a rebuild that can be inspected before it switches."""

from __future__ import annotations

import json

import pytest
from awaiting import await_until
from engine.flow import Load, latest
from engine.live import PATIENCE, Live
from engine.shops import BY_CITY, BY_SHOP, SOURCE, apply, as_made_anew, await_read, query_of

from streamsql.config import REBUILD_TOPIC_PREFIX
from streamsql.errors import CatalogError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.results import Message
from streamsql.run_script import NamedText

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def stage(live: Live, sql: str) -> str:
    """The topic that has what it makes so far."""
    (said,) = live.engine.changes.stage([NamedText("f.sql", live.sql(sql))])
    assert isinstance(said, Message)
    return said.text.split()[-1]


def staged_topics(kafka: KafkaClient) -> list[str]:
    return [topic for topic in kafka.topics() if topic.startswith(REBUILD_TOPIC_PREFIX)]


def rows(kafka: KafkaClient, topic: str) -> int:
    return sum(json.loads(value)["C"] for value in latest(kafka, topic).values())


def test_what_is_staged_is_beside_what_runs_until_it_is_promoted(
    live: Live, kafka: KafkaClient
) -> None:
    apply(live, SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(1_000)
    query_id = query_of(live, "T")
    topic = stage(live, SOURCE + BY_CITY)
    due = sum(n * 7 % 100 > 20 for n in range(1_500))
    load.produce(500)
    await_until(lambda: rows(kafka, topic) == due, "the staged table to follow", PATIENCE)
    await_read(live, kafka, query_id)
    await_until(lambda: rows(kafka, live.name("T")) == 1_500, "the old one as well", PATIENCE)
    with pytest.raises(UnsupportedError, match="a change is staged"):
        apply(live, SOURCE + BY_CITY.replace("> 20", "> 30"))
    (said,) = live.engine.changes.promote()
    assert isinstance(said, Message) and "rebuilt from the log" in said.text
    load.produce(100)
    await_read(live, kafka, query_id)
    as_made_anew(live, kafka, "", BY_CITY)
    assert not staged_topics(kafka)
    with pytest.raises(CatalogError, match="no change is staged"):
        live.engine.changes.promote()


@pytest.mark.variants
@pytest.mark.parametrize("ends", ["discarded", "restarted"])
def test_what_is_not_promoted_has_not_happened(live: Live, kafka: KafkaClient, ends: str) -> None:
    apply(live, SOURCE + BY_SHOP)
    load = Load(kafka, live.name("S"), 300)
    load.produce(500)
    stage(live, SOURCE + BY_CITY)
    if ends == "discarded":
        (said,) = live.engine.changes.discard()
        assert said == Message("The staged change was discarded.")
    else:
        live.restart()
    assert not staged_topics(kafka)
    with pytest.raises(CatalogError, match="no change is staged"):
        live.engine.changes.discard()
    load.produce(500)
    await_read(live, kafka, query_of(live, "T"))
    as_made_anew(live, kafka, "", BY_SHOP)


def test_what_continues_where_it_stops_is_not_staged(live: Live) -> None:
    apply(live, SOURCE + BY_SHOP)
    with pytest.raises(UnsupportedError, match="no query needs a rebuild"):
        stage(live, SOURCE + BY_SHOP.replace("SUM(v) AS", "SUM(v) + 1 AS"))
    assert apply(live, SOURCE + BY_CITY)
