"""What dbt does for a model that exists: by the planner's own plans, without a JVM."""

from __future__ import annotations

import re

import pytest
from dbt.adapters.streamsql.builds import Run, build
from dbt.adapters.streamsql.client import ServerError
from dbt.adapters.streamsql.definitions import definition_of
from dbt_adapter.stand_in import StandIn

SOURCE = (
    "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', "
    "PARTITIONS=1);"
)
COUNTS = "SELECT k, COUNT(*) AS n FROM s GROUP BY k"
TABLE = f"CREATE TABLE t AS {COUNTS};"
READERS = "CREATE VIEW w AS SELECT * FROM t; CREATE TABLE u AS SELECT k, n + 1 AS m FROM t;"


def built(client: StandIn, kind: str, name: str, sql: str, run: Run | None = None) -> str:
    return build(client, definition_of(kind, name, sql, {}), run or Run())


def last(client: StandIn, count: int) -> list[str]:
    return client.done[-count:]


def test_what_is_there_is_left_alone() -> None:
    client = StandIn()

    def all_three() -> list[str]:
        models = [("source", "s", SOURCE), ("table", "t", COUNTS), ("view", "w", "SELECT * FROM t")]
        return [built(client, *model) for model in models]

    assert all_three() == ["created"] * 3
    assert all_three() == ["unchanged"] * 3
    assert len(client.done) == 3


def test_what_continues_is_replaced() -> None:
    client = StandIn(SOURCE + TABLE + READERS)
    assert built(client, "table", "t", COUNTS.replace("n FROM", "n, 2 AS x FROM")) == "changed"
    assert last(client, 1)[0].startswith("CREATE OR REPLACE TABLE T")
    assert built(client, "view", "w", "SELECT k FROM t") == "changed"


def test_what_does_not_continue_says_what_to_do() -> None:
    client = StandIn(SOURCE + TABLE + READERS)
    other = COUNTS.replace("GROUP BY", "WHERE v > 1 GROUP BY")
    with pytest.raises(ServerError, match="class 4") as refused:
        built(client, "table", "t", other)
    assert "`dbt run --full-refresh --select t+`" in str(refused.value)
    assert "Its readers are U, W." in str(refused.value)
    with pytest.raises(ServerError, match="U, W read it"):
        built(client, "table", "t", other, Run(full_refresh=True))
    assert len(client.done) == 4


def test_a_full_refresh_drops_what_reads_it_first() -> None:
    client = StandIn(SOURCE + TABLE + READERS)
    run = Run(full_refresh=True, models={"u": False, "w": True, "other": True})
    assert built(client, "table", "t", COUNTS, run) == "created"
    assert last(client, 4)[:3] == [
        "DROP VIEW IF EXISTS `W`;",
        "DROP TABLE IF EXISTS `U`;",
        "DROP TABLE IF EXISTS `T` DELETE TOPIC;",
    ]
    # Its records are others': there is nothing to compute again.
    assert built(client, "source", "s", SOURCE, run) == "unchanged"


def test_a_view_makes_way_and_a_query_does_not() -> None:
    client = StandIn(SOURCE + "CREATE VIEW w AS SELECT * FROM s;" + TABLE)
    assert built(client, "stream", "w", "SELECT * FROM s") == "created"
    with pytest.raises(ServerError, match="T is a table, and the model says that it is a view"):
        built(client, "view", "t", COUNTS)
    assert built(client, "view", "t", COUNTS, Run(full_refresh=True)) == "created"
    assert last(client, 2)[0] == "DROP TABLE t DELETE TOPIC;"


def test_a_model_defines_itself_alone() -> None:
    client = StandIn(SOURCE)
    with pytest.raises(ServerError, match="the model W defines VIEW X"):
        built(client, "view", "w", "SELECT * FROM s; CREATE VIEW x AS SELECT k FROM s")


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (["STARTING", "CATCHING_UP", "RUNNING"], "created"),
        (["PAUSED"], "created"),
        (["CATCHING_UP"], r"created, still catching up \(7 records\)"),
        (["STARTING", "ERROR"], "the query CTAS_T_0 failed: it broke"),
    ],
)
def test_tests_come_when_the_query_has_caught_up(states: list[str], said: str) -> None:
    client = StandIn(SOURCE)
    client.states = states
    try:
        done = built(client, "table", "t", COUNTS, Run(catch_up_seconds=0.4))
    except ServerError as error:
        done = str(error)
    assert re.fullmatch(said, done)
