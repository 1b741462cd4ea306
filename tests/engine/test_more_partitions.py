"""A stream's topic that gets more partitions while its query and its readers run: no record is
lost, whatever is killed when."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from awaiting import await_until
from engine.flow import Load, latest
from engine.live import PATIENCE, Live
from engine.shops import SOURCE, apply, await_read, query_of

from streamsql.errors import PlanError, UnsupportedError
from streamsql.kafka.client import KafkaClient
from streamsql.run_script import NamedText
from streamsql.statements.changes import planned_changes

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ONCE = "SET 'processing.guarantee' = 'exactly_once';\n"
GROWING = "CREATE STREAM $x WITH (PARTITIONS={}) AS SELECT k, n, shop FROM $s;\n"
READERS = """
CREATE STREAM $b AS SELECT k, n FROM $x;
CREATE TABLE $t AS SELECT shop, COUNT(*) AS c FROM $x GROUP BY shop;
"""
BY_KEY = "CREATE TABLE $o AS SELECT k, COUNT(*) AS c FROM $b GROUP BY k;\n"


def files(partitions: int) -> str:
    return SOURCE + ONCE + GROWING.format(partitions) + READERS


def _await_all(live: Live, kafka: KafkaClient, count: int) -> None:
    """Each record has one row in what the stream and its readers write."""

    def is_all_there() -> bool:
        totals = (json.loads(row)["C"] for row in latest(kafka, live.name("T")).values())
        return all(_numbers(live, kafka, t) == expected for t in "XB") and sum(totals) == count

    expected = Counter(range(count))
    await_until(is_all_there, "each record once", PATIENCE)


def _numbers(live: Live, kafka: KafkaClient, topic: str) -> Counter[int]:
    name = live.name(topic)
    records = kafka.consume(name, until=kafka.end_offsets(name))
    return Counter(json.loads(record.value or b"{}")["N"] for record in records)


def _in_use(live: Live, kafka: KafkaClient) -> set[int]:
    """The partitions that have records."""
    return {p for p, end in kafka.end_offsets(live.name("X")).items() if end > 0}


@pytest.mark.slow
def test_a_stream_gets_more_partitions(
    live: Live, kafka: KafkaClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(live, files(1))
    load = Load(kafka, live.name("S"), 300)
    load.produce(300)
    _await_all(live, kafka, 300)
    query_id = query_of(live, "X")
    statement = ONCE + GROWING.format(3).replace("CREATE", "CREATE OR REPLACE")
    assert live.texts(statement)[-1] == f"Created query with ID {query_id}"
    assert kafka.partitions(live.name("X")) == 3
    load.produce(300)
    _await_all(live, kafka, 600)
    grow, length = planned_changes.grow_topic, live.engine.inspection.sequence

    def grown_and_killed(*arguments: object) -> bool:
        grow(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(planned_changes, "grow_topic", grown_and_killed)
        with pytest.raises(KeyboardInterrupt):
            apply(live, files(7))
    assert kafka.partitions(live.name("X")) == 7
    live.restart()
    assert live.engine.inspection.sequence == length
    load.produce(100)
    _await_all(live, kafka, 700)
    # Producers look for partitions once in a while; those of a new process do at once.
    assert _in_use(live, kafka) > {0}
    assert apply(live, files(7)) == ["Stream X_ changed (class 2, continues from its checkpoint)"]
    load.produce(100)
    _await_all(live, kafka, 800)
    live.restart()
    load.produce(100)
    _await_all(live, kafka, 900)
    planned = live.engine.changes.plan([NamedText("f.sql", live.sql(files(7)))])
    assert (planned.exit_code, planned.changes) == (0, ())
    await_read(live, kafka, query_id)


def test_what_relies_on_where_its_rows_are_stands_in_the_way(
    live: Live, kafka: KafkaClient
) -> None:
    apply(live, files(2) + BY_KEY)
    reader = query_of(live, "O")
    with pytest.raises(UnsupportedError, match="of class 5 .* partitions: 2, now 4") as refused:
        apply(live, files(4) + BY_KEY)
    assert f"{reader} joins " in (refused.value.detail or "")
    statement = ONCE + GROWING.format(4).replace("CREATE", "CREATE OR REPLACE")
    with pytest.raises(PlanError, match="streamsql expects 4 partitions") as differs:
        live.run(statement)
    assert f"Partitions cannot be added: {reader} joins" in (differs.value.detail or "")
    live.run("DROP TABLE $o;")
    apply(live, files(4))
    with pytest.raises(UnsupportedError, match="of class 5 .* partitions: 4, now 2"):
        live.engine.changes.undo()
    assert kafka.partitions(live.name("X")) == 4
