"""Each example on real Kafka and Spark, its results against a plain computation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.live import LiveTable
from streamsql.engine import Engine
from streamsql.kafka.client import KafkaClient
from streamsql.load import GenerateSpec, LoadSpec, generate, load

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 300.0
MINUTE_MS = 60_000
START = 1_700_000_000_000

Run = Callable[[str], None]


def script(name: str) -> str:
    return (EXAMPLES / name / f"{name}.sql").read_text("utf-8")


def test_wordcount(engine: Engine, kafka: KafkaClient, run: Run) -> None:
    text = EXAMPLES / "wordcount" / "jabberwocky.txt"
    load(LoadSpec(str(text), "lines"), kafka, lambda _: None)
    run(script("wordcount"))
    expected = dict(Counter(text.read_text("utf-8").lower().split()))
    with LiveTable(engine, "SELECT word, times FROM word_counts EMIT CHANGES;", 1) as table:
        table.wait_for(lambda rows: dict(rows) == expected, SECONDS)
        assert dict(table.rows()) == expected


def test_pageviews(engine: Engine, kafka: KafkaClient, run: Run) -> None:
    count = 2_000
    spec = GenerateSpec("pageviews", "pageviews", rate=10, count=count, seed=7, start=START)
    generate(spec, kafka, lambda _: None)
    run(script("pageviews"))
    sql = "SELECT userid, WINDOWSTART, views, pages FROM views_by_user_and_minute EMIT CHANGES;"
    with LiveTable(engine, sql, 2) as table:
        table.wait_for(lambda rows: sum(row[2] for row in rows) == count, SECONDS)
        actual, expected = sorted(table.rows()), sorted(_views(kafka))
    assert [row[:3] for row in actual] == [row[:3] for row in expected]
    # COUNT_DISTINCT estimates.
    assert [row[3] for row in actual] == pytest.approx([row[3] for row in expected], rel=0.15)


def _views(kafka: KafkaClient) -> list[tuple[str, int, int, int]]:
    """The same by hand, from the topic's records."""
    pages: dict[tuple[str, int], list[str]] = {}
    end = kafka.end_offsets("pageviews")
    for record in kafka.consume("pageviews", until=end):
        view = json.loads(record.value or b"")
        assert record.key == view["userid"].encode()
        window = view["viewtime"] // MINUTE_MS * MINUTE_MS
        pages.setdefault((view["userid"], window), []).append(view["pageid"])
    return [(*key, len(seen), len(set(seen))) for key, seen in pages.items()]
