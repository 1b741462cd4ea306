"""A pipeline's statements: what they leave to be run, and over which topics."""

from __future__ import annotations

from typing import Any

import pytest

from streamsql.errors import StreamSQLError
from streamsql.planner.operators import Operator, Scan, Sink
from streamsql.test_driver.pipeline import Pipeline
from streamsql.test_driver.renamed_topics import moved
from streamsql.test_driver.script import Script

SOURCE = "CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');"


def script(*statements: str, **more: Any) -> Script:
    def no_spark() -> Any:
        raise AssertionError("Spark is not needed")

    found = Script(Pipeline(statements, **more), no_spark)
    found.run()
    return found


def test_queries_and_inserts() -> None:
    found = script(
        SOURCE + "DEFINE factor = '2';",
        "CREATE STREAM D AS SELECT K, N * ${factor} AS N FROM S;",
        "INSERT INTO S (ROWTIME, K, N) VALUES (0, 'a', 1);",
    )
    assert list(found.queries) == ["CSAS_D_0"]
    ((source, record),) = found.inserts
    assert (source.name, record.timestamp, record.value) == ("S", 0, b'{"N":1}')


def test_a_query_that_was_ended_does_not_run() -> None:
    create = "CREATE STREAM D AS SELECT * FROM S;"
    assert not script(SOURCE, create, "TERMINATE CSAS_D_0;").queries
    dropped = script(SOURCE, create, "DROP STREAM D;")
    assert not dropped.queries and dropped.sink_of("D") is not None


def test_properties_of_other_engines_are_ignored() -> None:
    properties = {
        "ksql.unheard.of": "1",
        "ksql.output.topic.name.prefix": "p-",
    }
    found = script(SOURCE, "CREATE STREAM D AS SELECT * FROM S;", properties=properties)
    assert found.catalog.sources["D"].topic.name == "p-D"


def test_only_declared_topics_are_told_of() -> None:
    declared = [{"name": "in", "partitions": 3}]
    assert script(SOURCE, topics=declared).catalog.sources["S"].topic.partitions == 3
    assert script(SOURCE, topics=[{"name": "in"}]).catalog.sources["S"].topic.partitions == 4
    assert script(SOURCE).catalog.sources["S"].topic.partitions is None
    with pytest.raises(StreamSQLError, match="already exists, with different"):
        script(SOURCE.replace("JSON'", "JSON', PARTITIONS=2"), topics=declared)


def test_the_format_of_a_topic_is_that_of_the_query_that_writes_it() -> None:
    found = script(
        SOURCE,
        "CREATE STREAM D WITH (KAFKA_TOPIC='out', VALUE_FORMAT='DELIMITED') AS SELECT * FROM S;",
        "CREATE STREAM E (K STRING KEY, V STRING) WITH (KAFKA_TOPIC='out', VALUE_FORMAT='KAFKA');",
    )
    sink = found.sink_of("out")
    assert sink is not None and sink.name == "D"
    assert found.source_of("nowhere") is None


def test_a_script_cannot_run_others() -> None:
    with pytest.raises(StreamSQLError, match="RUN SCRIPT"):
        script("RUN SCRIPT 'x.sql';")


def topics(plan: Operator) -> set[str]:
    own = {plan.source.topic.name} if isinstance(plan, Scan) else set()
    if isinstance(plan, Sink):
        own = {plan.target.topic.name}
    return own.union(*(topics(child) for child in plan.inputs))


def test_a_plan_is_moved_with_all_its_topics() -> None:
    other = "CREATE TABLE T (K STRING PRIMARY KEY, M INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
    found = script(SOURCE, other, "CREATE STREAM D AS SELECT S.K, N, M FROM S JOIN T ON S.K = T.K;")
    query = moved(found.queries["CSAS_D_0"], lambda name: f"x-{name}")
    assert query.query_id == "x-CSAS_D_0"
    assert topics(query.root) == {"x-in", "x-t", "x-D"}
