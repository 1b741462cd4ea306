"""Starts queries in Spark for the query manager and for push queries.

It handles offsets, settings and task slots; the lowering handles plans. Spark is imported on first
use: an engine answers before Spark is up.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from streamsql.config import EPOCHS_TOPIC, PROCESSING_LOG_TOPIC, PUSH_TOPIC_PREFIX
from streamsql.data_folder import DataDir
from streamsql.errors import InternalError, StreamSQLError
from streamsql.executor.lowering.lowered import LoweredQueries
from streamsql.executor.queries import checkpoint_metadata
from streamsql.executor.queries.checkpoint import (
    committed,
    forget_uncommitted,
    has_commits,
    remove_uncommitted_state,
    take_over,
)
from streamsql.executor.queries.checkpoint_metadata import CheckpointMetadata
from streamsql.executor.queries.definition import Definition
from streamsql.executor.queries.garbage_collection import BrokenRuns, sweep
from streamsql.executor.queries.jvm_queries import JvmQueries
from streamsql.executor.queries.offset_ranges import guarded, offset_ranges
from streamsql.executor.queries.path_fixup import relocate
from streamsql.executor.queries.spark_run import Run, SparkRun
from streamsql.executor.services.services import Services
from streamsql.executor.spark.capacity import Capacity
from streamsql.executor.spark.cluster import is_local, master_of, task_slots
from streamsql.executor.spark.messages import Status
from streamsql.executor.spark.write_lease import lease
from streamsql.kafka.positions import Positions, distance, first_positions
from streamsql.kafka.start_offsets import explicit_offsets, starting_text
from streamsql.log.entries import Offsets
from streamsql.nodes import Start, StartPosition
from streamsql.planner.operators import Scan, operators
from streamsql.planner.plans.delivery import Replay, replay_of
from streamsql.planner.plans.guarantee import Guarantee
from streamsql.planner.plans.query_plan import Mode, QueryPlan
from streamsql.planner.plans.statements import PullPlan
from streamsql.properties import (
    AUTO_OFFSET_RESET,
    BATCH_INTERVAL,
    CATCH_UP_LAG,
    LOG_ROWS,
    MAX_AHEAD,
    VIEW_FRESHNESS,
    accepted,
    get_bool,
    get_int,
    get_text,
)
from streamsql.registry.serdes import Schemas
from streamsql.sizes import Sizes
from streamsql.storage.location import Location, exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql.streaming.query import StreamingQuery

    from streamsql.executor.frames.context import LoweringContext, Muted, StreamingQuerySpec
    from streamsql.executor.lowering.batch import StoredRecords
    from streamsql.results import Row

_log = logging.getLogger("streamsql.queries")
_log.addHandler(logging.NullHandler())
NO_SLOTS = "all task slots are held by other real-time queries"


class SparkLauncher:
    """Starts runs; may be used from any thread."""

    def __init__(
        self,
        services: Services,
        data: DataDir,
        sizes: Sizes,
        master: str | None = None,
        service_id: str | None = None,
    ) -> None:
        self._services = services
        self._data = data
        self._master = master_of(master, sizes.task_slots)
        # Executors of a cluster do not report it.
        self._lease = lease(service_id) if service_id and is_local(self._master) else {}
        self.capacity = Capacity(sizes, self.slots, elsewhere=not is_local(self._master))
        self._sweeping = threading.Lock()
        self.broken = BrokenRuns(services, data.checkpoints)
        self._lowered = LoweredQueries()
        self.jvm = JvmQueries(services.current_spark)
        self.was_killed = services.spark_was_killed

    # -- offsets ---------------------------------------------------------------------------------

    def prepare(self, query: Definition) -> Positions:
        """Prepare a query's checkpoint for its next run; returns the start positions."""
        folder = self._data.checkpoints / query.id
        take_over(folder, query.generation, query.sql)
        relocate(folder)
        if not committed(folder):
            self.jvm.forget(query.id)
        return self.positions(query)

    def positions(self, query: Definition) -> Positions:
        """The positions of the next run: those of the checkpoint, else the query's start
        positions."""
        folder, client = self._data.checkpoints / query.id, self._services.kafka.get()
        return committed(folder) or first_positions(query.topics, query.starting_offsets, client)

    def has_begun(self, query: Definition) -> bool:
        """Whether its first batch has ended."""
        return has_commits(self._data.checkpoints / query.id)

    def lag(self, query: Definition, positions: Positions) -> int:
        """The current lag of the query at these positions."""
        return sum(self.lags(query, positions).values())

    def lags(self, query: Definition, positions: Positions) -> dict[str, int]:
        """The lag of each topic."""
        ends = self._services.kafka.get().end_offsets
        return {topic: distance(positions, {topic: ends(topic)}) for topic in query.topics}

    def behind(self, query: Definition) -> int:
        """The lag at which a real-time query has to catch up again."""
        if not is_local(self._master):
            # Only the JVMs of a query's tasks know its position within a batch.
            return sys.maxsize
        return get_int(query.properties, CATCH_UP_LAG)

    def status(self) -> Status:
        """The queries that run and sleep, and their positions; empty without a JVM."""
        return self.jvm.status()

    def live_positions(self, query: Definition, known: Positions, *, real_time: bool) -> Positions:
        """The current position of a query; `known` is an earlier one."""
        return self.status().reached(known, query.id, real_time=real_time)

    def starting_offsets(
        self,
        topics: tuple[str, ...],
        starts: Mapping[str, StartPosition],
        properties: Mapping[str, str],
        *,
        by_epochs: bool = False,
    ) -> Offsets | None:
        """The start positions of a new query, explicit unless it starts at the beginning of its
        topics. The latest of one `by_epochs` are the ends of an epoch.

        `starts` are those of the query's text; ConfigError for an offset that does not exist.
        """
        latest = get_text(properties, AUTO_OFFSET_RESET) == "latest"
        default = Start.LATEST if latest else Start.BEGINNING
        found = explicit_offsets(topics, starts, default, self._services.kafka.get)
        if by_epochs and latest:
            ends = self._epoch_ends(topics)
            found |= {topic: ends[topic] for topic in ends if topic not in starts}
        return found or None

    def _epoch_ends(self, topics: tuple[str, ...]) -> dict[str, dict[str, int]]:
        """Where topics of views end the newest epoch that all of them have, if there is one."""
        from streamsql.executor.spark.bridge import Bridge

        client = self._services.kafka.get()
        connection = {**client.security, "bootstrap.servers": client.bootstrap}
        bridge = Bridge.of(self._services.spark.get().session)
        found = bridge.epoch_ends(EPOCHS_TOPIC, connection, topics)
        return json.loads(found) if found else {}

    # -- runs ------------------------------------------------------------------------------------

    def catch_up(self, query: Definition, lag: int) -> Run:
        """A run that processes the existing records, about `lag`, and ends."""
        from streamsql.executor.lowering.time_steps import read_in_steps
        from streamsql.executor.queries.start import Trigger, start

        self.stopped(query.id)
        most = self.capacity.records_per_batch(query.properties, query.id)
        if lag > most and not self.replays(query):
            spec = self.spec(query, Mode.MICRO_BATCH)
            if query.merges:
                context = self.context(query.properties, None, Mode.MICRO_BATCH, query.id)
                begin = self.positions(query)
                read_in_steps(query.plan, query.id, context, begin, self._services.kafka.get())
        else:
            # It needs no limit, which real time rejects: the same frame is used for the live run.
            spec = self._kept(query, Mode.REAL_TIME) or self.spec(query, Mode.REAL_TIME)
            self._lowered.keep(query.id, query, Mode.REAL_TIME, spec)
        remove_uncommitted_state(spec.checkpoint)
        return self.run_of(start(spec, Trigger.AVAILABLE_NOW), spec)

    def replays(self, query: Definition) -> bool:
        """Whether the next run begins with a micro-batch: a real-time one may be torn."""
        plan = query.plan
        exactly_once = plan.guarantee is Guarantee.EXACTLY_ONCE
        if not exactly_once or replay_of(plan.root) is not Replay.KEY:
            return False
        return exists(self._data.checkpoints / query.id / "metadata")

    def make_ready(self, query: Definition, built: Location | None = None) -> None:
        """Lower the next definition of a running query, on its checkpoint or on one `built` for it,
        to shorten the pause. Raises nothing: a failure recurs when the query starts."""
        folder = built or self._data.checkpoints / query.id
        mode = query.plan.mode.mode
        with suppress(StreamSQLError):
            # The state of its first batch decides how it is lowered.
            if not has_commits(folder) or self._services.current_spark() is None:
                return
            self._lowered.keep(query.id, query, mode, self._lower(query, mode, on=folder))

    def _kept(self, query: Definition, mode: Mode) -> StreamingQuerySpec | None:
        """The query as lowered in advance, if Spark is still the same."""
        spec = self._lowered.take(query.id, query, mode)
        if spec is None or spec.frame.sparkSession is not self._services.spark.get().start():
            return None
        return self._settled(query, spec)

    def live(self, query: Definition, mode: Mode) -> tuple[Run, Mode, str | None]:
        """A continuous run; its mode, and why that is not the requested one."""
        from streamsql.executor.queries.start import Trigger, start

        # Sinks outside Kafka use one unlimited batch per interval, as in real time.
        unlimited = Mode.REAL_TIME if query.by_interval else mode
        spec, reason = self._kept(query, unlimited) or self.spec(query, unlimited), None
        if mode is Mode.REAL_TIME and not self._take_slots(query.id, spec):
            mode, reason = Mode.MICRO_BATCH, NO_SLOTS
            spec = self.spec(query, mode)
        trigger = Trigger.REAL_TIME if mode is Mode.REAL_TIME else Trigger.CONTINUOUS_MICRO_BATCH
        remove_uncommitted_state(spec.checkpoint)
        if mode is not Mode.REAL_TIME:
            return self.run_of(start(spec, trigger, query.properties), spec), mode, reason
        others = self.capacity.holders - 1
        return self.run_of(start(spec, trigger, query.properties, others), spec), mode, reason

    def push(
        self,
        plan: QueryPlan,
        topic: str,
        properties: Mapping[str, str],
        offsets: Offsets | None,
        progress: bool | None = None,
        *,
        catch_up: bool = False,
    ) -> Run:
        """A push query whose rows go to `topic`: live, or a run over the present records.
        `progress`: see lower_push."""
        mode = Mode.MICRO_BATCH if catch_up else plan.mode.mode
        try:
            return self._push(plan, topic, mode, properties, offsets, progress, catch_up)
        except StreamSQLError:
            if not self._services.spark_has_died():
                raise
            # The next try starts Spark again.
            return self._push(plan, topic, mode, properties, offsets, progress, catch_up)

    def _push(
        self,
        plan: QueryPlan,
        topic: str,
        mode: Mode,
        properties: Mapping[str, str],
        offsets: Offsets | None,
        progress: bool | None,
        catch_up: bool,
    ) -> Run:
        from streamsql.executor.lowering.streaming import lower_push
        from streamsql.executor.lowering.time_steps import read_in_steps
        from streamsql.executor.queries.start import Trigger, start

        context = replace(
            self.context(properties, offsets, mode),
            shuffle_partitions=self._shuffle_partitions(plan, properties),
        )
        spec = lower_push(plan, context, topic, progress=progress)
        trigger = Trigger.AVAILABLE_NOW if catch_up else Trigger.CONTINUOUS_MICRO_BATCH
        if catch_up:
            client = self._services.kafka.get()
            begin = first_positions(spec.source_topics, offsets, client)
            read_in_steps(plan, topic, context, begin, client)
        if mode is Mode.REAL_TIME and self._take_slots(topic, spec):
            trigger = Trigger.REAL_TIME
        return self.run_of(start(spec, trigger, properties), spec)

    def run_of(self, query: StreamingQuery, spec: StreamingQuerySpec) -> Run:
        """The run of a started query."""
        from streamsql.executor.spark.bridge import Bridge

        session = spec.frame.sparkSession
        bridge = Bridge.of(session)
        return SparkRun(query, lambda: self._services.lives(session), bridge, spec.checkpoint)

    def batch(
        self,
        plan: PullPlan,
        query_id: str,
        properties: Mapping[str, str],
        stored: Mapping[str, StoredRecords],
    ) -> Iterator[Row]:
        """The answer of Spark's batch engine over the topics' present records; `stored`: by topic,
        records that it reads instead, and closes."""
        from streamsql.executor.lowering.batch import Batch, batch_rows

        found = (o.source for o in operators(plan.query.root) if isinstance(o, Scan))
        topics = dict.fromkeys(source.topic.name for source in found if source.lookup is None)
        read = [topic for topic in topics if topic not in stored]
        offsets = offset_ranges(read, plan.query.starts, self._services.kafka.get())
        context = self.context(properties, None, Mode.MICRO_BATCH)
        rows = guarded(batch_rows(plan, Batch(context, offsets, query_id, stored)))
        return _closing(rows, stored)

    def reads_stores(self, plan: PullPlan) -> bool:
        """Whether Spark's batch engine can read views out of stores: its tasks are in the JVM of
        those, and the query needs only the rows of one moment."""
        from streamsql.executor.lowering.batch import needs_history

        return is_local(self._master) and not needs_history(plan.query.root)

    def warm_up(self, plan: QueryPlan, key: str, value: str, wanted: Callable[[], bool]) -> None:
        """Run a query over generated records while it is useful: see warm_up.py."""
        from streamsql.executor.queries.warm_up import Sample, warm_up

        if plan.query_id is None:
            raise InternalError("the warm-up query needs an id")
        context = self.context({}, None, Mode.REAL_TIME)
        try:
            warm_up(Sample(plan, key, value), context, wanted)
        finally:
            self.stopped(plan.query_id)
            self.jvm.forget(plan.query_id)

    def stopped(self, query_id: str) -> None:
        """A query has stopped: release its task slots, and discard its position within the
        batch."""
        self.capacity.release(query_id)
        if query_id.startswith(PUSH_TOPIC_PREFIX):
            self.jvm.forget(query_id)
        self.jvm.stopped(query_id)

    def forget(self, query_id: str) -> None:
        """The query was dropped or replaced."""
        self.capacity.forget(query_id)

    def failed(self, query: Definition, *, exhausted: bool) -> None:
        """A run of the query has ended by itself, or with its JVM; `exhausted`: it ran out of
        memory."""
        self.broken.add(query)
        if not exhausted:
            return
        self.capacity.shrink(query.id)
        if query.plan.guarantee is not Guarantee.EXACTLY_ONCE:
            forget_uncommitted(self._data.checkpoints / query.id)

    def sweep(self) -> None:
        """Delete the remains of discarded checkpoints, as far as possible now."""
        with self._sweeping:
            try:
                client = self._services.kafka.get()
                sweep(self._data.checkpoints, client, self._services.current_spark())
            except StreamSQLError as error:
                _log.warning(
                    "the remains of dropped queries cannot be deleted now: %s", error.message
                )

    def spec(self, query: Definition, mode: Mode, muted: Muted | None = None) -> StreamingQuerySpec:
        """The lowered query, with its layout recorded in the checkpoint; `muted`: without
        output."""
        return self._settled(query, self._lower(query, mode, muted))

    def _settled(self, query: Definition, spec: StreamingQuerySpec) -> StreamingQuerySpec:
        self.broken.settle()
        was = checkpoint_metadata.read(spec.checkpoint)
        now = CheckpointMetadata.of(query.plan, spec.source_topics, spec.stores)
        checkpoint_metadata.settle(spec.checkpoint, now, was)
        return spec

    def _lower(
        self,
        query: Definition,
        mode: Mode,
        muted: Muted | None = None,
        *,
        on: Location | None = None,
    ) -> StreamingQuerySpec:
        from streamsql.executor.lowering.streaming import lower
        from streamsql.executor.queries.start import MANY, checkpointed_shuffle_partitions

        folder = on or self._data.checkpoints / query.id
        was = checkpoint_metadata.read(folder)
        context = replace(
            self.context(query.properties, query.starting_offsets, mode, query.id),
            checkpoint_folder=self._data.checkpoints,
            lease=self._lease,
            # Otherwise its first batch begins at once, to prepare for the first record.
            # That of a view may have rows of no records.
            sleeps_at_once=query.only_reacts
            and self.capacity.holders >= MANY
            and (has_commits(folder) or not query.is_view),
            rests=not (query.is_view or query.by_interval)
            and get_text(query.properties, BATCH_INTERVAL) is None,
            muted=muted,
            kept=was.stores if was else None,
            begun=has_commits(folder),
            shuffle_partitions=checkpointed_shuffle_partitions(folder)
            or self._shuffle_partitions(query.plan, query.properties),
        )
        return lower(query.plan, context)

    def context(
        self,
        properties: Mapping[str, str],
        offsets: Offsets | None,
        mode: Mode,
        query_id: str | None = None,
    ) -> LoweringContext:
        """The context for lowering a query with these properties."""
        from streamsql.executor.frames.context import LoweringContext

        client = self._services.kafka.get()
        most = self.capacity.records_per_batch(properties, query_id)
        return LoweringContext(
            spark=self._services.spark.get().start(),
            bootstrap_servers=client.bootstrap,
            consumer_settings=client.security,
            producer_settings=client.security,
            data_dir=self._data.root,
            processing_log_topic=PROCESSING_LOG_TOPIC,
            # real-time mode has no batches to limit, and rejects the setting.
            max_records_per_batch=most if mode is Mode.MICRO_BATCH else None,
            starting_offsets=starting_text(offsets, client.partitions),
            tolerated=accepted(properties),
            include_rows_in_log=bool(get_bool(properties, LOG_ROWS)),
            max_ahead_ms=get_int(properties, MAX_AHEAD),
            freshness_ms=get_int(properties, VIEW_FRESHNESS),
            schemas=Schemas(lambda: self._services.registry(properties)),
        )

    def slots(self) -> int:
        """The number of task slots: with external executors, those of the live ones."""
        known = task_slots(self._master) if is_local(self._master) else None
        return known or self._services.live_slots()

    def has_room(self, query: Definition) -> bool:
        """Whether the task slots that the query needs in real time are free."""
        return self.capacity.has_room(query.id)

    def _take_slots(self, query_id: str, spec: StreamingQuerySpec) -> bool:
        from streamsql.executor.queries.start import slots_needed

        client = self._services.kafka.get()
        partitions = sum(client.partitions(topic) or 1 for topic in spec.source_topics)
        return self.capacity.take(query_id, slots_needed(spec, partitions))

    def _shuffle_partitions(self, plan: QueryPlan, properties: Mapping[str, str]) -> int:
        client = self._services.kafka.get()
        topics = {scan.source.topic.name for scan in operators(plan.root) if isinstance(scan, Scan)}
        return self.capacity.shuffle_partitions(properties, topics, client.partitions)


def _closing(rows: Iterator[Row], stored: Mapping[str, StoredRecords]) -> Iterator[Row]:
    try:
        yield from rows
    finally:
        for records in stored.values():
            records.close()
