"""Push queries: SELECT .. EMIT CHANGES whose rows reach the client that asked.

A push query runs in Spark like a persistent one, into a topic of its own that is read here and
deleted at the end. It has no place in the catalog or in the statement log.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from streamsql.config import PUSH_TOPIC_PREFIX
from streamsql.data_folder import DataDir
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.frames.push_rows import ShownKeys, push_decoder
from streamsql.executor.queries import checkpoint
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.spark_run import Run
from streamsql.executor.services.services import Services
from streamsql.kafka.client import KafkaClient
from streamsql.log.entries import Offsets
from streamsql.nodes import Emit
from streamsql.planner.operators import Filter, Limit, Operator, Project, Scan
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.window_bounds import window_bounds
from streamsql.properties import AUTO_OFFSET_RESET, VIEW_PROGRESS, get_bool, get_text
from streamsql.results import Field, Progress, Row, RowStream
from streamsql.schema import Kind
from streamsql.status import QueryInfo, QueryState

_ONE_DAY_MS = 24 * 60 * 60 * 1000

TRANSIENT, SCALABLE = "transient", "SCALABLE_PUSH_QUERY"
"""The prefixes of push queries' ids."""
LIMIT_REACHED = "Limit Reached"
LOOK_SECONDS = 0.25
RETRY_SECONDS = 2.0
LATE_SECONDS = 2.0
"""How long the reader of a query's rows has to notice that it was cancelled."""
MOST_HELD = 100_000
"""Rows of an unfinished epoch in memory: more are shown early."""
TIDY_SECONDS = 30.0
"""How long a push query waits for leftovers of a crash to be removed."""


class PushQueries:
    """The running push queries of an engine; may be used from any thread."""

    def __init__(self, services: Services, launcher: SparkLauncher, data: DataDir) -> None:
        self._services = services
        self._launcher = launcher
        self._data = data
        self._numbers = itertools.count(1)
        self._running: dict[str, PushQuery] = {}
        # Reentrant: the garbage collector closes abandoned rows in any thread, including one that
        # holds the lock.
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._tidied = threading.Event()

    @cached_property
    def _prefix(self) -> str:
        """The prefix of this engine's topics, since other engines may share the Kafka."""
        return f"{PUSH_TOPIC_PREFIX}{self._data.instance}_"

    def topic_for(self, purpose: str) -> str:
        """A new name for a topic of this engine: the next start deletes leftovers of a crash."""
        return f"{self._prefix}{purpose}_{next(self._numbers)}"

    def start(
        self,
        plan: QueryPlan,
        sql: str,
        columns: Sequence[str],
        properties: Mapping[str, str],
        offsets: Offsets | None,
    ) -> RowStream:
        """Start one; its rows have the given columns of the plan's schema, in their order."""
        progress = bool(get_bool(properties, VIEW_PROGRESS)) if plan.by_epochs else None
        number = next(self._numbers)
        query_id = f"{_prefix(plan, properties)}_{plan.reads[0]}_{number}"
        topic = f"{self._prefix}{number}"
        client = self._services.kafka.get()
        self._services.spark.get()
        # A topic of the same name may be left from a crash: it has to be deleted first.
        self._tidied.wait(TIDY_SECONDS)
        client.create_topic(topic, 1, -1, {"retention.ms": str(_ONE_DAY_MS)}, exists_ok=True)
        query = PushQuery(query_id, sql, plan, topic, client, self._ended)
        with self._lock:
            self._running[query_id] = query
        try:
            start = partial(self._launcher.push, plan, topic, properties, offsets, progress)
            if len(plan.reads) > 1 and not plan.by_epochs:
                # The present records are merged by time first; see Definition.merges.
                query.run, query.then = start(catch_up=True), start
            else:
                query.run = start()
        except BaseException:
            query.finish()
            raise
        positions = [plan.schema.names.index(name) for name in columns]
        fields = tuple(
            Field(column.name, column.type)
            for column in (plan.schema.columns[i] for i in positions)
        )
        stream = RowStream(query_id, fields, iter(()), query)
        stream.rows = query.rows(stream, positions, tells=bool(progress))
        return stream

    def _ended(self, query: PushQuery) -> None:
        """Stop the query in Spark and delete its topic; may take some seconds."""
        with self._lock:
            self._running.pop(query.id, None)
        threading.Thread(target=self._clean, args=(query,), name="push end", daemon=True).start()

    def _clean(self, query: PushQuery) -> None:
        # A query that still writes would create its topic again.
        while query.run is not None and not query.run.stop():
            if self._closing.wait(RETRY_SECONDS):
                query.cleaned.set()
                return
        self._launcher.stopped(query.topic)
        while True:
            try:
                query.client.delete_topic(query.topic, missing_ok=True)
                checkpoint.remove(self._data.own_checkpoints / query.topic)
                break
            except StreamSQLError:
                # Kafka is unavailable. The next engine removes what is left.
                if self._closing.wait(RETRY_SECONDS):
                    break
        query.cleaned.set()

    def infos(self) -> list[QueryInfo]:
        with self._lock:
            running = list(self._running.values())
        return [query.info() for query in running]

    def topics(self) -> dict[str, str]:
        """The ids of running push queries by topic."""
        with self._lock:
            return {query.topic: query.id for query in self._running.values()}

    def plan(self, query_id: str) -> QueryPlan | None:
        with self._lock:
            query = self._running.get(query_id)
        return query.plan if query else None

    def cancel(self, query_id: str) -> str | None:
        """End a push query by its id, case-insensitively; returns the exact id, or None if there is
        no such query."""
        with self._lock:
            running = list(self._running.values())
        for query in running:
            if query.id.upper() == query_id.upper():
                query.cancel()
                return query.id
        return None

    def remove_leftovers(self) -> None:
        """Delete leftovers of a crash of this engine."""
        client = self._services.kafka.get()
        try:
            for topic in client.topics():
                if topic.startswith(self._prefix):
                    client.delete_topic(topic, missing_ok=True)
        finally:
            self._tidied.set()

    def close(self, timeout: float = 10.0) -> None:
        self._closing.set()
        with self._lock:
            running = list(self._running.values())
        for query in running:
            query.cancel()
            query.finish()
        deadline = time.monotonic() + timeout
        for query in running:
            query.cleaned.wait(max(0.0, deadline - time.monotonic()))


class PushQuery:
    """One push query: what `RowStream` cancels."""

    def __init__(
        self,
        query_id: str,
        sql: str,
        plan: QueryPlan,
        topic: str,
        client: KafkaClient,
        ended: Callable[[PushQuery], None],
    ) -> None:
        self.id = query_id
        self.sql = sql
        self.plan = plan
        self.topic = topic
        self.client = client
        self.run: Run | None = None
        self.then: Callable[[], Run] | None = None
        """Starts the run that follows the present one."""
        self.cleaned = threading.Event()
        self._ended = ended
        self._cancelled = threading.Event()
        self._finished = False
        self._begun = False
        self._lock = threading.RLock()
        self._look_at = 0.0
        self._failed: str | None = None

    def cancel(self) -> None:
        """End it from any thread: its rows end within a moment."""
        self._cancelled.set()
        # Without a reader of the rows, their end would go unnoticed.
        late = threading.Timer(LATE_SECONDS if self._begun else 0.0, self.finish)
        late.daemon = True
        late.start()

    def finish(self) -> None:
        """Free its resources; idempotent."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self._ended(self)

    def rows(
        self, stream: RowStream, positions: Sequence[int], *, tells: bool = False
    ) -> Iterator[Row | Progress]:
        """The rows as they come, until cancelled or the LIMIT is reached; `tells`: with the
        progress of views."""
        self._begun = True
        bounds, decode = window_bounds(self.plan.root), push_decoder(self.plan.schema)
        shown = ShownKeys(self.plan.schema, bounds) if _filters_table(self.plan.root) else None
        limit = self.plan.root.count if isinstance(self.plan.root, Limit) else None
        count = 0
        try:
            if limit == 0:
                stream.final_message = LIMIT_REACHED
                return
            for value in self._values():
                if isinstance(value, Progress):
                    if tells:
                        yield value
                    continue
                row = decode(value)
                if shown is not None and not shown.is_news(row):
                    continue
                yield Row(tuple(row.values[i] for i in positions), row.tombstone)
                count += 1
                if count == limit:
                    break
            if self._failed is not None and not self._cancelled.is_set():
                raise ExternalError(f"the query {self.id} failed: {self._failed}")
            if limit is not None and count >= limit:
                stream.final_message = LIMIT_REACHED
        finally:
            self.finish()

    def _values(self) -> Iterator[bytes | Progress]:
        """The records of the topic, of a query by epochs those of each together."""
        held: list[bytes] = []
        for record in self.client.consume(self.topic, stop=self._stopped):
            if record.value is None:
                continue
            is_mark = record.key is not None
            if not is_mark:
                held.append(record.value)
            if is_mark or not self.plan.by_epochs or len(held) > MOST_HELD:
                yield from held
                held.clear()
            if is_mark:
                yield Progress(**json.loads(record.value))

    def _stopped(self) -> bool:
        if self._cancelled.is_set():
            return True
        now = time.monotonic()
        if now < self._look_at or self.run is None:
            return False
        self._look_at = now + LOOK_SECONDS
        if self.run.active():
            return False
        failure = self.run.failure()
        if failure is None and self.then is not None:
            self.run, self.then = self.then(), None
            return False
        self._failed = failure.text if failure else "it was stopped"
        return True

    def info(self) -> QueryInfo:
        """The query in SHOW QUERIES."""
        mode = self.plan.mode
        final = " (EMIT FINAL)" if self.plan.emit is Emit.FINAL else ""
        return QueryInfo(
            self.id,
            "PUSH",
            QueryState.RUNNING,
            mode.mode.value,
            mode.reason + final,
            None,
            self.sql,
            None,
        )


def _filters_table(node: Operator) -> bool:
    filters = isinstance(node, Filter) and node.kind is Kind.TABLE
    return filters or any(_filters_table(child) for child in node.inputs)


def _prefix(plan: QueryPlan, properties: Mapping[str, str]) -> str:
    """The prefix of an id: it distinguishes queries that only follow the new results of a
    persistent query."""
    node = plan.root
    while isinstance(node, Limit | Project | Filter):
        node = node.input
    follows = isinstance(node, Scan) and node.source.created_by_query is not None
    latest = get_text(properties, AUTO_OFFSET_RESET) == "latest"
    return SCALABLE if follows and latest else TRANSIENT
