"""`streamsql load` and `streamsql datagen` into a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsql.cli.main import main
from streamsql.kafka.client import KafkaClient
from streamsql.load.nexmark import events

pytestmark = pytest.mark.kafka


def records(kafka: KafkaClient, topic: str) -> list[tuple[bytes | None, object, int | None]]:
    found = kafka.consume(topic, until=kafka.end_offsets(topic))
    return [(r.key, json.loads(r.value or b"null"), r.timestamp) for r in found]


def test_load_makes_the_topic_and_its_records(
    kafka: KafkaClient,
    topic_name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "trips.csv"
    file.write_text("id,km,at\na,1.5,2024-01-01T00:00:00Z\nb,,2024-01-01T00:00:01Z\n")
    options = ["--key", "id", "--timestamp", "at", "--partitions", "1"]
    servers = ["--bootstrap-servers", kafka.bootstrap]
    assert main(["load", str(file), "--topic", topic_name, *options, *servers]) == 0
    assert records(kafka, topic_name) == [
        (b"a", {"id": "a", "km": 1.5, "at": "2024-01-01T00:00:00Z"}, 1704067200000),
        (b"b", {"id": "b", "km": None, "at": "2024-01-01T00:00:01Z"}, 1704067201000),
    ]
    shown = capsys.readouterr()
    assert "2 records in" in shown.err and "(new topic)" in shown.err
    assert "  km DOUBLE," in shown.out


def test_load_keeps_order_up_to_its_limit(
    kafka: KafkaClient, topic_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "numbers.jsonl"
    file.write_text("".join(json.dumps({"n": n}) + "\n" for n in range(30_000)))
    servers = ["--bootstrap-servers", kafka.bootstrap]
    assert main(["load", str(file), "--topic", topic_name, "--limit", "25000", *servers]) == 0
    assert [row["n"] for _, row, _ in records(kafka, topic_name)] == list(range(25_000))


def test_load_into_a_topic_of_other_partitions_is_refused(
    kafka: KafkaClient, topic_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic(topic_name, 2)
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    options = ["--partitions", "3", "--bootstrap-servers", kafka.bootstrap]
    assert main(["load", str(file), "--topic", topic_name, *options]) == 1
    assert f"the topic {topic_name} has 2 partitions, not 3" in capsys.readouterr().err


def test_a_missing_file_leaves_no_topic(
    kafka: KafkaClient, topic_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = ["--bootstrap-servers", kafka.bootstrap]
    assert main(["load", "/nowhere.csv", "--topic", topic_name, *servers]) == 2
    assert "cannot read /nowhere.csv: No such file or directory" in capsys.readouterr().err
    assert kafka.partitions(topic_name) is None


@pytest.mark.parametrize("schema", ["users", "pageviews", "orders"])
def test_datagen_is_the_same_for_the_same_seed(
    kafka: KafkaClient, topic_name: str, schema: str
) -> None:
    options = ["--schema", schema, "--rate", "10000", "--count", "50", "--seed", "1"]
    servers = ["--bootstrap-servers", kafka.bootstrap]
    for number in range(2):
        topic = f"{topic_name}-{number}"
        assert main(["datagen", "--topic", topic, *options, *servers]) == 0
    first, second = (
        [
            {k: v for k, v in row.items() if not k.endswith("time")}
            for _, row, _ in records(kafka, t)
        ]
        for t in (f"{topic_name}-0", f"{topic_name}-1")
    )
    assert len(first) == 50
    assert first == second


def test_nexmark_has_a_topic_for_each_kind_of_event(kafka: KafkaClient, topic_name: str) -> None:
    options = ["--topic", topic_name, "--count", "1000", "--seed", "1", "--rate", "1000"]
    servers = ["--bootstrap-servers", kafka.bootstrap]
    start = 1_700_000_000_000
    assert main(["datagen", "--schema", "nexmark", "--start", str(start), *options, *servers]) == 0
    made = list(events(1, 0, 1000, lambda number: start + number))
    for kind, count in {"person": 20, "auction": 60, "bid": 920}.items():
        found = [row for _, row, _ in records(kafka, f"{topic_name}-{kind}")]
        wanted = [row for name, row in made if name == kind]
        assert len(found) == count
        assert sorted(map(repr, found)) == sorted(map(repr, wanted))
