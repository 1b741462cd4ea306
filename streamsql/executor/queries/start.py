"""Starts a lowered query in one of its modes, always on the same checkpoint.

A query catches up in micro-batches and continues in real time; the caller decides when to switch.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import MappingProxyType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from streamsql.config import COMMITS_TOPIC
from streamsql.errors import ExternalError
from streamsql.executor.frames.context import StreamingQuerySpec
from streamsql.executor.queries.checkpoint import has_commits, remove_torn_files
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.failures import SPARK_FAILURES
from streamsql.executor.spark.jvm import ExactlyOnce, producer_settings
from streamsql.planner.plans.delivery import Replay
from streamsql.properties import (
    BATCH_INTERVAL,
    COMMIT_INTERVAL,
    TRANSACTION_INTERVAL,
    get_int,
    get_text,
)
from streamsql.storage.location import Location, entries, read


class Trigger(Enum):
    """How a query runs: over the present records, or continuously."""

    AVAILABLE_NOW = "available now"
    REAL_TIME = "real-time"
    CONTINUOUS_MICRO_BATCH = "micro-batch"


_starting = threading.Lock()
_MOST_SPREAD = 0.5
_LEAST_INTERVAL_MS = 5_000
"""Spark's minimum."""
MANY = 10
"""Beyond this number, planning is compiled already, and records are sent together."""
_LINGER_MS = 5
_GOLDEN = 0.618034
"""Its multiples are far apart from each other, modulo 1, for any number of them."""


def start(
    spec: StreamingQuerySpec,
    trigger: Trigger,
    properties: Mapping[str, str] = MappingProxyType({}),
    company: int = 0,
) -> StreamingQuery:
    """The running query; `properties` are those it was created with, `company` is the number of
    other real-time queries. ExternalError if Spark does not start it."""
    settings = {
        **producer_settings(
            spec.bootstrap_servers, "realtime" if trigger is Trigger.REAL_TIME else "catchup"
        ),
        **(
            {"linger.ms": str(_LINGER_MS)}
            if trigger is Trigger.REAL_TIME and company >= MANY
            else {}
        ),
        **spec.producer_settings,
    }
    if spec.external is not None and not _is_silent(spec):
        rows = spec.jvm.external_writer(spec.frame, spec.checkpoint, spec.external, spec.log)
    else:
        sink = None if _is_silent(spec) else _sink(spec, settings, trigger, properties)
        rows = _writer(spec, sink)
    writer = (
        rows.queryName(spec.query_id)
        .outputMode(spec.output_mode)
        .option("checkpointLocation", str(spec.checkpoint))
        .trigger(**_spark_trigger(trigger, properties, company, spec))
    )
    conf = {"spark.sql.shuffle.partitions": str(pinned_shuffle_partitions(spec))}
    remove_torn_files(spec.checkpoint)
    try:
        with configured(spec.frame.sparkSession, conf):
            query = writer.start()
        if trigger is Trigger.REAL_TIME and company < MANY:
            Bridge.of(spec.frame.sparkSession).rehearse(query)
        return query
    except SPARK_FAILURES as error:
        raise ExternalError(
            f"Spark did not start the query {spec.query_id}", detail=str(error)
        ) from error


def _is_silent(spec: StreamingQuerySpec) -> bool:
    return spec.muted is not None and spec.muted.topic is None


def _sink(
    spec: StreamingQuerySpec,
    settings: Mapping[str, str],
    trigger: Trigger,
    properties: Mapping[str, str],
) -> Any:
    delivery = _delivery(spec, trigger, properties)
    live = trigger is not Trigger.AVAILABLE_NOW
    return spec.jvm.kafka_sink(settings, spec.log, delivery, live=live)


def _writer(spec: StreamingQuerySpec, sink: Any) -> DataStreamWriter:
    """Gives the query's rows to the sink; None: to nothing."""
    if spec.view is not None:
        resumes = has_commits(spec.checkpoint)
        return spec.view.writer(spec.frame, str(spec.checkpoint), sink, resumes=resumes)
    if sink is None:
        return spec.frame.writeStream.format("noop")
    return spec.jvm.kafka_writer(spec.frame, sink)


def _delivery(
    spec: StreamingQuerySpec, trigger: Trigger, properties: Mapping[str, str]
) -> ExactlyOnce | None:
    if spec.replay is None or spec.muted is not None:
        return None
    real_time = trigger is Trigger.REAL_TIME
    interval = (get_int(properties, TRANSACTION_INTERVAL) or 0) if real_time else 0
    # The Java part knows no other kind: a batch that is committed as a whole has one token per
    # task.
    replay = Replay.KEY if spec.replay is Replay.TASK else spec.replay
    return ExactlyOnce(spec.query_id, COMMITS_TOPIC, interval, replay.value)


def _spark_trigger(
    trigger: Trigger, properties: Mapping[str, str], company: int, spec: StreamingQuerySpec
) -> dict[str, Any]:
    match trigger:
        case Trigger.AVAILABLE_NOW:
            return {"availableNow": True}
        case Trigger.CONTINUOUS_MICRO_BATCH:
            external = 0 if spec.external is None else spec.external.interval_ms
            interval = max(external, int(get_text(properties, BATCH_INTERVAL) or 0))
            return {"processingTime": f"{interval} milliseconds"}
        case Trigger.REAL_TIME:
            # Each of its batches ends with a commit.
            interval = staggered(get_int(properties, COMMIT_INTERVAL), company)
            return {"realTime": f"{interval} milliseconds"}


def staggered(interval_ms: int, company: int) -> int:
    """The interval between a query's commits, shorter by up to a half if many run: queries that one
    record wakes would otherwise commit at the same moment again and again."""
    spread = min(_MOST_SPREAD, company / 100)
    return max(_LEAST_INTERVAL_MS, round(interval_ms * (1 - spread * (company * _GOLDEN % 1))))


def pinned_shuffle_partitions(spec: StreamingQuerySpec) -> int:
    """The number of its shuffle partitions: the checkpoint's, once there is one."""
    return checkpointed_shuffle_partitions(spec.checkpoint) or spec.shuffle_partitions


def checkpointed_shuffle_partitions(checkpoint: Location) -> int | None:
    """The number in the newest offset file of a checkpoint; None before the first batch."""
    folder = checkpoint / "offsets"
    batches = sorted((int(p.name) for p in entries(folder) if p.name.isdigit()), reverse=True)
    for batch in batches:
        # Spark prunes them meanwhile.
        lines = (read(folder / str(batch)) or b"").splitlines()
        for line in lines[1:2]:
            found = json.loads(line).get("conf", {}).get("spark.sql.shuffle.partitions")
            if found is not None:
                return int(found)
    return None


@contextmanager
def configured(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """While a query starts: it keeps the session's settings of that time."""
    with _starting:
        before = {name: spark.conf.get(name) for name in values}
        for name, value in values.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name, old in before.items():
                spark.conf.set(name, old if old is not None else values[name])


def slots_needed(spec: StreamingQuerySpec, source_partitions: int) -> int:
    """The task slots that the query holds in real-time mode."""
    return source_partitions + spec.shuffles * pinned_shuffle_partitions(spec)
