"""The data of the previous release, and its continuation: pipelines over events whose
times are given, so that any day is as good as any other."""

from __future__ import annotations

import json
from collections.abc import Mapping

from delivery.shapes import SHAPES, SOURCES, Shape, Topics

from streamsql.kafka.client import KafkaClient, NewRecord, Record

KEYS = 50
FIRST_MS, APART_MS = 1_700_000_000_000, 50
TIMED = ("projection", "group_by", "final_windows", "stream_table", "stream_stream")
RECORDED: tuple[Shape, ...] = tuple(shape for shape in SHAPES if shape.name in TIMED)

SETTINGS = """
SET 'processing.guarantee' = 'exactly_once';
DEFINE who = 'the release before';
CREATE TYPE money AS DECIMAL(10, 2);
"""
MORE = """
CREATE VIEW big AS SELECT k, v FROM events WHERE v > 900;
INSERT INTO picked WITH (QUERY_ID = 'still') SELECT k, id, v FROM events WHERE v < 0;
PAUSE still;
SELECT * FROM totals WHERE k = 'k1';
"""


def script() -> str:
    """The statements of the previous release, an empty line between two statements."""
    text = "\n".join([SETTINGS, SOURCES, *(shape.sql for shape in RECORDED), MORE])
    return ";\n\n".join(part.strip() for part in text.split(";") if part.strip())


def write_names(kafka: KafkaClient) -> None:
    """The table that events are joined with, of a time before them."""
    kafka.produce("names", (_row(n, {"name": f"name {n}"}, FIRST_MS - 1) for n in range(KEYS)))


def write(kafka: KafkaClient, first: int, count: int) -> None:
    """Events with ids, each 50 ms after the one before, and an answer to every twentieth."""
    numbers = range(first, first + count)
    answers = (_row(n, {"id": n}, _time(n)) for n in numbers if n % 20 == 0)
    kafka.produce("answers", answers)
    kafka.produce("events", (_row(n, {"id": n, "v": n * 7 % 1000}, _time(n)) for n in numbers))


def _time(number: int) -> int:
    return FIRST_MS + number * APART_MS


def _row(number: int, row: Mapping[str, object], time_ms: int) -> NewRecord:
    return NewRecord(f"k{number % KEYS}".encode(), json.dumps(row).encode(), timestamp=time_ms)


def topics(kafka: KafkaClient) -> Topics:
    """What a reader of committed data sees in them."""
    names = ("events", "answers", "names", *(sink for shape in RECORDED for sink in shape.sinks))
    return {name: _committed(kafka, name) for name in names}


def _committed(kafka: KafkaClient, topic: str) -> list[Record]:
    records = kafka.consume(topic, until=kafka.end_offsets(topic))
    return sorted(records, key=lambda record: (record.partition, record.offset))


def problems(kafka: KafkaClient) -> dict[str, list[str]]:
    """What is wrong with the sinks, by pipeline."""
    found = topics(kafka)
    return {shape.name: lines for shape in RECORDED if (lines := shape.check(found))}
