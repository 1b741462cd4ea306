"""Pipelines over topics that all change: each keeps the mode of its plan and keeps up with its
topics, also while the batches that they run are planned again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from awaiting import await_until
from engine.live import PATIENCE, Live

from benchmarks.producing import producing
from benchmarks.shapes import SHAPES, SOURCES, TOPICS, event
from streamsql.engine import QueryInfo, QueryState

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

RATE = 30
"""Records a second of each topic."""
SECONDS = 12.0
"""Longer than the ten seconds after which a row of a stream stops to wait for tables."""


@pytest.fixture
def pipelines(live: Live) -> Iterator[dict[str, str]]:
    """The ids of one query of each shape, over topics that get records."""
    kafka = live.engine._state.services.kafka.get()
    for topic in TOPICS:
        kafka.create_topic(topic, 2)
    live.run(SOURCES)
    with producing(kafka.bootstrap, TOPICS, event, rate=RATE * len(TOPICS)):
        yield {name: create(live, name) for name in SHAPES}
        live.drop_all()
    for topic in TOPICS:
        kafka.delete_topic(topic)


def create(live: Live, name: str) -> str:
    sink = f"LIVE_{[*SHAPES].index(name)}"
    guarantee = "exactly_once" if SHAPES[name].exactly_once else "at_least_once"
    live.run(f"SET 'processing.guarantee'='{guarantee}'; {SHAPES[name].sql.format(sink=sink)}")
    return next(query.id for query in live.engine.queries() if query.sink == sink)


@pytest.mark.parametrize("plans", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_pipelines_over_changing_topics_keep_up(
    live: Live, pipelines: dict[str, str], plans: int
) -> None:
    def found() -> dict[str, QueryInfo]:
        infos = {info.id: info for info in live.engine.queries()}
        return {name: infos[query_id] for name, query_id in pipelines.items()}

    def run() -> bool:
        return all(info.state is QueryState.RUNNING for info in found().values())

    await_until(run, "all queries to run", PATIENCE)
    assert {name: info.mode for name, info in found().items()} == {
        name: "real-time" if shape.real_time else "micro-batch" for name, shape in SHAPES.items()
    }
    spark: Any = live.engine._state.services.current_spark()
    rehearsal = spark._jvm.io.streamsql.queries.Rehearsal
    for query in spark.streams.active:
        if query.name in pipelines.values():
            rehearsal.plan(query._jsq, plans)
    least = dict.fromkeys(SHAPES, RATE * PATIENCE)
    # In micro-batches the lag includes the rest between two of them.
    most = {name: RATE if shape.real_time else 5 * RATE for name, shape in SHAPES.items()}
    late = dict(least)
    begin = time.monotonic()
    # First batches take seconds on a machine that other tests share. A query that stands still
    # never has so little lag.
    while (passed := time.monotonic() - begin) < SECONDS or (late and passed < PATIENCE):
        time.sleep(0.5)
        for name, info in found().items():
            least[name] = min(least[name], info.lag or 0)
        late = {name: lag for name, lag in least.items() if lag > most[name]}
    assert late == {}
    assert all(q.state is QueryState.RUNNING for q in found().values())
