"""Runs of a query whose rows nobody reads, and how far they read."""

from __future__ import annotations

import json

from streamsql.executor.frames.context import Muted
from streamsql.executor.queries.checkpoint import Positions, remove_uncommitted_state
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.persistent_query import Definition
from streamsql.executor.queries.spark_run import Run, SparkRun
from streamsql.executor.queries.start import Trigger, start
from streamsql.executor.services.services import Services
from streamsql.executor.spark import rebuilds
from streamsql.planner.plans.logical import Mode


def run(query: Definition, topic: str | None, launcher: SparkLauncher, *, follows: bool) -> Run:
    """A run in micro-batches whose rows go to `topic`, or nowhere: over what there is now, or one
    that `follows` what comes. ExternalError where Spark does not start it."""
    launcher.prepare(query)
    spec = launcher.spec(query, Mode.MICRO_BATCH, Muted(topic))
    remove_uncommitted_state(spec.checkpoint)
    trigger = Trigger.CONTINUOUS_MICRO_BATCH if follows else Trigger.AVAILABLE_NOW
    return SparkRun(start(spec, trigger))


def read_until(query_id: str, until: Positions | None, services: Services) -> None:
    """Have a query's micro-batches, be it running already, read no further; None: all there is."""
    offsets = None if until is None else json.dumps(until)
    rebuilds.read_until(services.spark.get().start(), query_id, offsets)
