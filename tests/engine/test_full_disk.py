"""Disks that are full or read-only: queries report it, wait, and resume by themselves."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live
from small_disk import small_disk

from streamsql.engine import QueryState
from streamsql.errors import StreamSQLError
from streamsql.kafka.client import KafkaClient
from streamsql.results import Answer
from tests.engine.test_resilience import COUNTS, STREAM, produce, query_id

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def counted(live: Live, number: int) -> None:
    live.table("t", lambda t: len(t) == 10 and all(n == (number,) for n in t.values()))


@pytest.mark.parametrize(
    "settings",
    [
        "SET 'processing.mode' = 'microbatch';",
        pytest.param("SET 'processing.commit.interval.ms' = '5000';", marks=pytest.mark.slow),
        pytest.param(
            "SET 'processing.commit.interval.ms' = '5000';"
            "SET 'processing.guarantee' = 'exactly_once';",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["microbatch", "realtime", "exactly once"],
)
def test_a_checkpoint_on_a_disk_that_is_full_and_then_read_only(
    live: Live, kafka: KafkaClient, settings: str
) -> None:
    live.run(STREAM + settings)
    query = query_id(live, COUNTS)
    produce(kafka, live.name("S"), 100)
    counted(live, 10)
    live.run(f"PAUSE {query};")
    folder = live.engine._state.data.checkpoints / query
    with small_disk(folder, 16) as disk:
        live.run(f"RESUME {query};")
        live.await_state(query, QueryState.RUNNING)
        disk.fill()
        waits(live, kafka, query, "no space left on a disk")
        disk.empty()
        live.await_state(query, QueryState.RUNNING)
        counted(live, 20)
        if "microbatch" in settings:  # In real time a file is open all the time.
            disk.read_only(True)
            waits(live, kafka, query, "a disk is read-only")
            disk.read_only(False)
            live.await_state(query, QueryState.RUNNING)
            counted(live, 30)
        live.run(f"PAUSE {query};")


def waits(live: Live, kafka: KafkaClient, query: str, reason: str) -> None:
    """Have the query something to write; it says why it does not."""
    produce(kafka, live.name("S"), 100)

    def says_so() -> bool:
        info = live.query(query)
        return info.state is QueryState.WAITING and reason in info.reason

    await_until(says_so, f"{query} to wait as {reason}", PATIENCE)


def test_a_store_on_a_disk_that_is_full(live: Live, kafka: KafkaClient) -> None:
    live.run(STREAM + "SET 'processing.mode' = 'microbatch';")
    query = query_id(live, COUNTS)
    with small_disk(live.engine._state.data.serving, 64) as disk:
        produce(kafka, live.name("S"), 100)
        found(live, 10)
        disk.fill()
        produce(kafka, live.name("S"), 20_000, keys=20_000)
        live.await_lag(query, 0)
        produce(kafka, live.name("S"), 100)
        # What it has: the first of the new rows may have found some space.
        found(live, 10, 11)
        disk.empty()
        found(live, 21)


def found(live: Live, *numbers: int) -> None:
    """A pull query answers one of these."""

    def answered() -> bool:
        try:
            (answer,) = live.run("SELECT n FROM $t WHERE id = 'k1';")
        except StreamSQLError:
            return False
        assert isinstance(answer, Answer)
        return [row.values for row in answer.rows] in [[(number,)] for number in numbers]

    await_until(answered, f"the store to have one of {numbers}", PATIENCE)
