"""Runs of a query with invisible output: progress, and state."""

from __future__ import annotations

from streamsql.executor.frames.context import Muted
from streamsql.executor.queries.checkpoint import remove_uncommitted_state
from streamsql.executor.queries.definition import Definition, stuck
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.offset_ranges import reported_as
from streamsql.executor.queries.spark_run import Run
from streamsql.executor.queries.start import Trigger, start
from streamsql.executor.services.services import Services
from streamsql.executor.spark import rebuilds
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.rebuilds import GroupLayout, GroupStores
from streamsql.kafka.positions import Positions
from streamsql.planner.plans.query_plan import Mode
from streamsql.storage.location import Location


def run(query: Definition, topic: str | None, launcher: SparkLauncher, *, follows: bool) -> Run:
    """A micro-batch run whose rows go to `topic`, or are discarded: over the current records, or
    continuous with `follows`. ExternalError if Spark does not start it."""
    launcher.prepare(query)
    spec = launcher.spec(query, Mode.MICRO_BATCH, Muted(topic))
    remove_uncommitted_state(spec.checkpoint)
    trigger = Trigger.CONTINUOUS_MICRO_BATCH if follows else Trigger.AVAILABLE_NOW
    return launcher.run_of(start(spec, trigger), spec)


def read_until(query_id: str, until: Positions | None, services: Services) -> None:
    """Limits a query's micro-batches, also of a running query, to these offsets; None:
    unlimited."""
    Bridge.of(services.spark.get().start()).read_until(query_id, until)


def laid_out(query: Definition, launcher: SparkLauncher) -> GroupLayout:
    """The layout of the state of a query with one GROUP BY, from an empty batch of it. ValueError
    for other state, ExternalError if Spark fails."""
    launcher.prepare(query)
    spec = launcher.spec(query, Mode.MICRO_BATCH, Muted(None))
    remove_uncommitted_state(spec.checkpoint)
    with reported_as(f"a first batch of {query.id}"):
        started = start(spec, Trigger.AVAILABLE_NOW)
        try:
            started.awaitTermination()
            return GroupLayout(spec.frame.sparkSession, started)
        finally:
            if not launcher.run_of(started, spec).stop():
                raise stuck(query.id)
            launcher.stopped(query.id)


def rewrite(old: GroupStores, new: GroupStores, services: Services) -> list[str]:
    """Fills the new stores from the old ones: see rewrite_groups. ExternalError on failure."""
    with reported_as(f"rewriting the state in {old.checkpoint}"):
        return rebuilds.rewrite_groups(services.spark.get().start(), old, new)


def repartition(checkpoint: Location, number: int, services: Services) -> None:
    """Repartitions the state in an unused checkpoint. After an ExternalError the checkpoint is
    unusable."""
    with reported_as(f"repartitioning the state in {checkpoint}"):
        rebuilds.repartition(services.spark.get().start(), str(checkpoint), number)
