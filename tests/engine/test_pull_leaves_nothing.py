"""What pull queries that take a Spark job leave behind in the JVM: nothing, soon after."""

from __future__ import annotations

import pytest
from awaiting import await_until
from engine.live import Live
from pyspark.sql import SparkSession

from streamsql.results import Answer

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@pytest.fixture
def spark(live: Live) -> SparkSession:
    live.run(
        "CREATE STREAM $s (k STRING KEY, v INT) WITH (kafka_topic='$s', value_format='json',"
        " partitions=1);"
        "INSERT INTO $s (k, v) VALUES ('a', 1);"
    )
    return live.engine._state.services.spark.get().session


def _pull(live: Live) -> None:
    (answer,) = live.run("SELECT v FROM $s;")
    assert isinstance(answer, Answer)
    assert [row.values for row in answer.rows] == [(1,)]


@pytest.mark.slow
def test_no_consumers(live: Live, spark: SparkSession) -> None:
    for _ in range(5):
        _pull(live)
    assert _consumers(spark) > 0
    await_until(lambda: _consumers(spark) == 0, "the consumers to be closed", 60)


def test_no_results_of_jobs(live: Live, spark: SparkSession) -> None:
    scheduler = spark._jsc.sc().dagScheduler()  # type: ignore[attr-defined]
    before = scheduler.activeQueryToJobs().size()
    _pull(live)
    assert scheduler.activeQueryToJobs().size() <= before


def _consumers(spark: SparkSession) -> int:
    """How many consumers of Spark's batches are open, according to JMX."""
    java = spark._jvm  # type: ignore[attr-defined]
    beans = java.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    # The class of `beans` is not public, so py4j does not see its methods.
    server = java.java.lang.Class.forName("javax.management.MBeanServer")
    (query,) = (method for method in server.getMethods() if method.getName() == "queryNames")
    arguments = spark.sparkContext._gateway.new_array(java.java.lang.Object, 2)
    arguments[0] = java.javax.management.ObjectName(
        "kafka.consumer:type=app-info,id=consumer-spark-kafka-relation-*"
    )
    return int(query.invoke(beans, arguments).size())
