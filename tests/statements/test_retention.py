"""The records that a rebuild reads again, and those that were deleted."""

from __future__ import annotations

from typing import Any, cast

import pytest
from statements.world import World

from streamsql.api.changing import ChangePlan, plan_of_running
from streamsql.cli.terminal.changes import plan_lines
from streamsql.cli.terminal.style import Style
from streamsql.executor.queries.definition import Definition, KnownQuery
from streamsql.log.entries import Offsets
from streamsql.pipelines.reading import Lost, Reading
from streamsql.run_script import NamedText
from streamsql.session import Session
from streamsql.statements.changes.retention import rate_of, reading_of
from streamsql.statements.changes.running import running_of_log
from streamsql.status import QueryMetrics

BEGINS = {"s": {0: 0, 1: 40}, "new": {0: 5}}
ENDS = {"s": {0: 100, 1: 100}, "new": {0: 25}}
METRICS = QueryMetrics(records_in=10, bytes_in=1_000)
GONE = Lost("s", 1, 30, 40)
STREAM = (
    "CREATE STREAM S (K INTEGER KEY, V INTEGER)"
    " WITH (KAFKA_TOPIC = 's', PARTITIONS = 2, VALUE_FORMAT = 'JSON');\n"
)
TABLE = "CREATE TABLE T AS SELECT K, COUNT(*) AS N FROM S GROUP BY K;\n"


@pytest.mark.parametrize(
    ("start", "topics", "metrics", "expected"),
    [
        (None, ["s"], METRICS, Reading(160, 16_000, (Lost("s", 1, 0, 40),))),
        ({"s": {"0": 10, "1": 30}}, ["s"], METRICS, Reading(150, 15_000, (GONE,))),
        ({"s": {"0": 10, "1": 40}}, ["s"], METRICS, Reading(150, 15_000, ())),
        ({"s": {"0": 0, "1": 90}}, ["s", "new"], None, Reading(130, None, ())),
        ({"s": {"0": 0, "1": 90}}, ["new"], QueryMetrics(), Reading(20, None, ())),
    ],
    ids=["from the begin", "from offsets", "all there", "a topic more", "another topic"],
)
def test_what_is_read_again(
    start: Offsets | None, topics: list[str], metrics: QueryMetrics | None, expected: Reading
) -> None:
    query = Definition("Q", "", cast(Any, None), "T", ("s",), starting_offsets=start)
    found = reading_of(query, topics, BEGINS.__getitem__, ENDS.__getitem__, metrics)
    assert found == expected


def known(query_id: str, rate: float | None, *topics: str) -> dict[str, KnownQuery]:
    definition = Definition(query_id, "", cast(Any, None), "T", topics)
    return {query_id: KnownQuery(definition, read_rate=rate)}


def test_how_long_it_takes_is_said_where_such_a_query_has_caught_up() -> None:
    others = known("slow", 50.0, "s") | known("fast", 100.0, "s") | known("other", 1.0, "new")
    assert rate_of("Q", ["s"], known("Q", 40.0, "s") | others) == 40
    assert rate_of("Q", ["s"], known("Q", None, "s") | others) == 50
    assert rate_of("Q", ["more"], known("Q", None, "s") | others) is None
    (query,) = (q.definition for q in known("Q", None, "s").values())
    begins, ends = BEGINS.__getitem__, ENDS.__getitem__
    assert reading_of(query, ["s"], begins, ends, None, 50.0).seconds == 4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1, "1 second"), (119, "119 seconds"), (150, "2 minutes"), (9_000, "2 hours")],
)
def test_how_long_it_takes_in_words(seconds: int, text: str) -> None:
    lines = "\n".join(plan_lines(measured(Reading(150, None, (), seconds)), Style()))
    assert f"reads again: s, 150 records, about {text}\n" in lines


def measured(reading: Reading) -> ChangePlan:
    """Of a table that has to be rebuilt."""
    world = World()
    world.shell(STREAM + TABLE)
    files = NamedText("f.sql", STREAM + TABLE.replace("COUNT(*)", "SUM(V)"))
    running = running_of_log(world.entries)
    return plan_of_running([files], Session(), None, running, prune=False).measured(
        lambda item: reading if item.query_id else None
    )


def test_the_plan_says_so() -> None:
    lines = plan_lines(measured(Reading(150, 15_000, (GONE,))), Style())
    place = lines.index("    reads again: s, 150 records, about 15.0 kB")
    assert lines[place + 1 : place + 3] == [
        "    deleted from the log, only in the state: s, partition 1, offsets 30 to 39",
        "      --from-what-is-left rebuilds it from the remaining records",
    ]
    lines = plan_lines(measured(Reading(7, None, ())), Style())
    assert "    reads again: s, 7 records" in lines
    assert not [line for line in lines if "no more" in line]


def test_over_http() -> None:
    found = measured(Reading(150, 15_000, (GONE,)))
    content = found.to_json()
    assert ChangePlan.from_json(content).items == found.items
    content["changes"][0]["said by a later server"] = 1
    assert ChangePlan.from_json(content).items == found.items
    bare = measured(Reading(1, None, ()))
    assert bare.with_readings_of(found).items == found.items
