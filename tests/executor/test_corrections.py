"""The corrections of a table's topic, compared beforehand or not: in the end it holds what it
should."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamsql.executor.frames.context import LoweringContext
from streamsql.executor.rebuilds import corrections
from streamsql.executor.rebuilds.corrections import Corrections
from streamsql.kafka.client import KafkaClient, NewRecord

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

KEYS = 40
"""Of which each topic has some, more of them with each step."""


@pytest.fixture
def topics(kafka: KafkaClient, topic_name: str) -> tuple[str, str]:
    names = (f"{topic_name}-table", f"{topic_name}-made")
    for name in names:
        kafka.create_topic(name, 2)
    return names


def write(kafka: KafkaClient, topic: str, seed: int) -> None:
    """Rows and tombstones of some keys, some of them more than once."""
    dice = random.Random(seed)
    records = [
        NewRecord(
            f"k{dice.randrange(KEYS)}".encode(),
            None if dice.random() < 0.25 else f"{dice.randrange(3)}".encode(),
            timestamp=1_700_000_000_000 + n,
        )
        for n in range(50)
    ]
    kafka.produce(topic, records)


def rows(kafka: KafkaClient, topic: str) -> dict[bytes, tuple[bytes, int | None]]:
    """The table that it holds, with the times."""
    found = {r.key: r for r in kafka.consume(topic, until=kafka.end_offsets(topic)) if r.key}
    return {
        key: (record.value, record.timestamp)
        for key, record in found.items()
        if record.value is not None
    }


@pytest.mark.variants(every=3)
@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize(
    ("compared", "written_since", "most", "held"),
    [
        (False, (), 1_000, False),
        (True, (), 1_000, False),
        (True, ("table",), 1_000, False),
        (True, ("made",), 1_000, False),
        (True, ("table", "made"), 1_000, False),
        (True, ("table", "made"), 10, False),
        (True, (), 10, True),
        (True, ("table", "made"), 10, True),
    ],
    ids=[
        *("as a whole", "nothing since", "old rows", "new rows", "both", "too many"),
        *("held, nothing since", "held"),
    ],
)
def test_a_table_is_corrected(
    spark: SparkSession,
    kafka: KafkaClient,
    topics: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    compared: bool,
    written_since: tuple[str, ...],
    most: int,
    held: bool,
    once: bool,
) -> None:
    monkeypatch.setattr(corrections, "MOST_SINCE", most)
    monkeypatch.setattr(corrections, "HELD_ROWS", KEYS if held else 0)
    table, made = topics
    write(kafka, table, 1)
    write(kafka, made, 2)
    context = LoweringContext(spark, kafka.bootstrap, tmp_path, "log")
    found = Corrections(table, made, once, context, kafka)
    before = found.compare() if compared else None
    assert before is None or (before.held is not None) is held
    for seed, topic in enumerate(topics):
        if topic.rpartition("-")[2] in written_since:
            write(kafka, topic, 3 + seed)
            if before is not None:
                found.advance(before)
                write(kafka, topic, 5 + seed)
    wanted = {key: value for key, (value, _) in rows(kafka, made).items()}
    there = rows(kafka, table)
    ends = kafka.end_offsets(table)
    found.write(before, "writer" if once else None)
    if before is not None:
        before.release()
    now = rows(kafka, table)
    assert {key: value for key, (value, _) in now.items()} == wanted
    same = {key for key, value in wanted.items() if there.get(key, (None, 0))[0] == value}
    assert all(now[key] == there[key] for key in same), "what is the same is left alone"
    told = [r.key for r in kafka.consume(table, start=ends, until=kafka.end_offsets(table))]
    assert len(told) == len(set(told)) == len(wanted.keys() | there.keys()) - len(same)
