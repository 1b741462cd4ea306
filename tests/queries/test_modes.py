"""A query moves between the modes on one checkpoint: its counts stay exact, no record is lost."""

from __future__ import annotations

from typing import Any

import pytest
from awaiting import await_until
from queries.runner import QueryRun

from streamsql.executor.queries.start import Trigger, checkpointed_shuffle_partitions
from streamsql.test_driver.fixture import Fixture

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STREAM = "CREATE STREAM S (ID STRING KEY, A INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"
MODES = [
    Trigger.AVAILABLE_NOW,
    Trigger.REAL_TIME,
    Trigger.CONTINUOUS_MICRO_BATCH,
    Trigger.REAL_TIME,
    Trigger.AVAILABLE_NOW,
]
KEYS = 7
HELD_BYTES = "streamsql.groups.held.bytes"
PER_MODE = 70


def _inputs(number: int) -> list[dict[str, Any]]:
    first = number * PER_MODE
    return [
        {"topic": "in", "key": f"k{i % KEYS}", "value": {"A": i}, "timestamp": 1_000 + i}
        for i in range(first, first + PER_MODE)
    ]


def _run(run: QueryRun, trigger: Trigger, number: int, select: Any) -> None:
    """Until every record given so far is in the output."""
    wanted = (number + 1) * PER_MODE
    run.produce(_inputs(number))
    query = run.start(trigger)
    if trigger is Trigger.AVAILABLE_NOW:
        assert query.awaitTermination(180)
    else:
        await_until(lambda: bool(select() >= wanted or query.exception()), f"{wanted}", 180)
        query.stop()
    assert query.exception() is None
    assert select() == wanted


def test_a_projection_loses_nothing(fixture: Fixture) -> None:
    run = QueryRun({"statements": [STREAM, "CREATE STREAM OUT AS SELECT * FROM S;"]}, fixture)
    run.prepare()
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: len({r["value"]["A"] for r in run.read("OUT")}))


@pytest.mark.parametrize("window", ["", "WINDOW TUMBLING (SIZE 1 HOUR) "])
def test_counts_stay_exact(fixture: Fixture, window: str) -> None:
    query = f"CREATE TABLE OUT AS SELECT ID, COUNT(*) AS N FROM S {window}GROUP BY ID;"
    run = QueryRun({"statements": [STREAM, query]}, fixture, shuffle_partitions=2)
    run.prepare()
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: _total(run))
        # Whatever the session's setting becomes, the state keeps its partitions.
        run.shuffle_partitions = 3
        assert checkpointed_shuffle_partitions(run.checkpoint) == 2


@pytest.mark.variants
@pytest.mark.parametrize("held_bytes", ["", "0"])
@pytest.mark.parametrize("window", ["", "WINDOW TUMBLING (SIZE 1 HOUR) "])
def test_aggregates_that_keep_values_stay_exact(
    fixture: Fixture, request: pytest.FixtureRequest, window: str, held_bytes: str
) -> None:
    """In real time they are held as objects, here also with room for one group only."""
    if held_bytes:
        fixture.spark.conf.set(HELD_BYTES, held_bytes)
        request.addfinalizer(lambda: fixture.spark.conf.unset(HELD_BYTES))
    query = (
        "CREATE TABLE OUT AS SELECT ID, COUNT(*) AS N, COUNT(DISTINCT A / 20) AS D, MAX(A) AS M,"
        " COUNT(DISTINCT CAST(A / 30 AS STRING)) AS T,"
        " COUNT(DISTINCT A) FILTER (WHERE A > 90) AS F,"
        f" COLLECT_LIST(A) AS L, SUM(DISTINCT A / 40) AS S FROM S {window}GROUP BY ID;"
    )
    run = QueryRun({"statements": [STREAM, query]}, fixture, shuffle_partitions=2)
    run.prepare()
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: _total(run))
        rows = {record["key"]: record["value"] for record in run.read("OUT")}
        for k in range(KEYS):
            met = list(range(k, (number + 1) * PER_MODE, KEYS))
            row = rows[f"k{k}"]
            assert (row["D"], row["T"]) == (
                len({a // 20 for a in met}),
                len({a // 30 for a in met}),
            )
            assert (row["M"], row["F"]) == (met[-1], len([a for a in met if a > 90]))
            assert (sorted(row["L"]), row["S"]) == (met, sum({a // 40 for a in met}))


OTHER = "CREATE {} O (ID STRING {} KEY, B INT) WITH (KAFKA_TOPIC='other', VALUE_FORMAT='JSON');"


def test_a_stream_table_join_loses_nothing(fixture: Fixture) -> None:
    table = OTHER.format("TABLE", "PRIMARY")
    query = "CREATE STREAM OUT AS SELECT S.ID, A, B FROM S LEFT JOIN O ON S.ID = O.ID;"
    run = QueryRun({"statements": [STREAM, table, query]}, fixture, shuffle_partitions=2)
    run.prepare()
    run.produce(
        {"topic": "other", "key": f"k{i}", "value": {"B": i}, "timestamp": 1} for i in range(KEYS)
    )
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: len({r["value"]["A"] for r in run.read("OUT")}))
    assert all(r["value"]["B"] == r["value"]["A"] % KEYS for r in run.read("OUT"))


def test_a_join_of_a_join_loses_nothing(fixture: Fixture) -> None:
    """The shuffled rows of the first join are merged with a source's by the second."""
    table, third = OTHER.format("TABLE", "PRIMARY"), OTHER.format("TABLE", "PRIMARY")
    third = third.replace("E O ", "E P ").replace("'other'", "'third'").replace("B INT", "C INT")
    query = (
        "CREATE STREAM OUT AS SELECT P.ID, A, B, C FROM S"
        " LEFT JOIN O ON S.ID = O.ID LEFT JOIN P ON UCASE(S.ID) = P.ID;"
    )
    run = QueryRun({"statements": [STREAM, table, third, query]}, fixture, shuffle_partitions=2)
    run.prepare()
    for topic, key, column in (("other", "k{}", "B"), ("third", "K{}", "C")):
        run.produce(
            {"topic": topic, "key": key.format(i), "value": {column: i}, "timestamp": 1}
            for i in range(KEYS)
        )
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: len({r["value"]["A"] for r in run.read("OUT")}))
    for record in run.read("OUT"):
        value = record["value"]
        assert value["B"] == value["C"] == value["A"] % KEYS


def test_a_stream_stream_join_loses_nothing(fixture: Fixture) -> None:
    stream = OTHER.format("STREAM", "")
    query = "CREATE STREAM OUT AS SELECT S.ID, A, B FROM S JOIN O WITHIN 1 HOUR ON S.ID = O.ID;"
    run = QueryRun({"statements": [STREAM, stream, query]}, fixture, shuffle_partitions=2)
    run.prepare()
    run.produce(
        {"topic": "other", "key": f"k{i}", "value": {"B": -i}, "timestamp": 1_000}
        for i in range(KEYS)
    )
    for number, trigger in enumerate(MODES):
        _run(run, trigger, number, lambda: len({r["value"]["A"] for r in run.read("OUT")}))
    assert all(r["value"]["B"] == -(r["value"]["A"] % KEYS) for r in run.read("OUT"))


def _total(run: QueryRun) -> int:
    return sum({r["key"]: r["value"]["N"] for r in run.read("OUT")}.values())
