"""State of an engine: catalog, statement log, services, queries.

Statements change it by `Context.commit`, one at a time under `lock`, in a crash-safe order: the
statement is planned, its topic created, the statement logged, and then it takes effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from streamsql.catalog import Catalog
from streamsql.config import EngineConfig
from streamsql.executor.captures import described
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.queries.push import PushQueries
from streamsql.executor.rebuilds.settling import SettlingLauncher
from streamsql.executor.services.background import Service
from streamsql.executor.services.services import Services
from streamsql.executor.spark.cluster import task_slots
from streamsql.log.entries import Entry, Offsets, StatementLog
from streamsql.log.failover import Failover
from streamsql.log.membership import data_of, joined
from streamsql.nodes import Statement
from streamsql.parser import to_sql
from streamsql.planner.permissions import check_plan
from streamsql.planner.plans.statements import Planned
from streamsql.planner.recorded_topics import TopicFacts
from streamsql.planner.statements import apply, plan
from streamsql.properties import (
    PROPERTIES,
    VIEW_HISTORY,
    get_int,
    validated,
    without_owned_secrets,
)
from streamsql.registry.lookup import RegistrySchemas
from streamsql.results import Result
from streamsql.runtime.captures import Captures
from streamsql.runtime.history import History
from streamsql.runtime.kafka_watch import KafkaWatch
from streamsql.runtime.replay import Deletion, check_not_deleted, note_deletions
from streamsql.runtime.sinks_of_all import SinksOfAll
from streamsql.runtime.topics import KafkaTopics
from streamsql.serving.serving import Serving
from streamsql.session import Session
from streamsql.sizes import Machine, sizes_of
from streamsql.status import QueryMetrics, Resources
from streamsql.version import VERSION

Prepared = TypeVar("Prepared")
Done = TypeVar("Done")
PREPARED_TIMES = 5
"""Attempts to prepare a statement without the lock while others change the catalog."""


class Staged(Protocol):
    """A rebuild that has not been promoted."""

    def discard(self) -> None: ...


class EngineState:
    """State that statements work on. `catalog` is replaced, not mutated: read it once."""

    def __init__(self, config: EngineConfig) -> None:
        given = validated(config.properties)
        self.config = config = replace(joined(config), properties=given)
        self.data = data_of(config, lambda: self.services.store.files())
        self.sizes = sizes_of(
            Machine.this(),
            given,
            task_slots(config.master) if config.master else None,
            has_master=config.master is not None,
        )
        self.session = Session({n: v for n, v in given.items() if not PROPERTIES[n].at_start})
        self._catalog = Catalog()
        self.lock = threading.RLock()
        self.rebuilding = threading.Lock()
        """Held during rebuilds, which do not block other statements."""
        self.staged: Staged | None = None
        self.services = Services(config, self.data, self.sizes)
        self.watch = KafkaWatch(self.services)
        self.launcher = SettlingLauncher(
            self.services, self.data, self.sizes, config.master, config.service_id
        )
        self.queries = QueryManager(
            self.launcher,
            self.watch,
            self.data.checkpoints,
            by_itself=not config.until_caught_up,
            room=self.sizes.runs,
        )
        self.serving = Serving(
            self.services,
            self.data,
            lambda: self.catalog,
            self.launcher,
            self.queries,
            self.sizes.table_memory_mb << 20,
            # A run over the existing records has no epochs.
            None if config.until_caught_up else get_int(config.properties, VIEW_HISTORY),
        )
        self.captures = Captures(self.services, lambda: self.catalog, lambda: self.data.instance)
        self.sinks_of_all = SinksOfAll(lambda: self.catalog, self.queries.definition)
        self.pushes = PushQueries(self.services, self.launcher, self.data)
        self.restored: Service[StatementLog] | None = None
        self.failover: Failover | None = None
        """Leader election among the servers of a service."""
        self.deletions: dict[str, Deletion] = {}
        """Topics of DROP .. DELETE TOPIC that may still exist, by name."""
        self.deleting: set[str] = set()
        """Topics in deletion, which statements cannot use."""
        self.history: History | None = None

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.serving.changed()
        self.captures.changed()
        self.sinks_of_all.changed()

    @property
    def log(self) -> StatementLog:
        """The statement log; waits for its replay."""
        assert self.restored is not None
        return self.restored.get()

    def query_metrics(self) -> dict[str, QueryMetrics]:
        ids = {query.id: query.id for query in self.queries.infos()} | self.pushes.topics()
        found = self.launcher.jvm.counters()
        return {query_id: found[name] for name, query_id in ids.items() if name in found}

    def resources(self) -> Resources:
        found = self.sizes.resources(self.launcher.capacity.held)
        slots = found.task_slots or self.launcher.slots() or None
        return replace(found, task_slots=slots, disk_free=self.data.free())

    def topics(self, made: TopicFacts | None = None) -> KafkaTopics:
        """Topics for planning one statement; `made` as in KafkaTopics."""
        return KafkaTopics(self.services.kafka.get, made)

    def schemas(self, *, databases: bool = False) -> RegistrySchemas:
        """The schema registry for planning one statement, and the `databases` of captured tables,
        which only an administrator may have connected to."""
        return RegistrySchemas(
            lambda: self.services.registry(self.session.properties),
            (lambda capture: described(capture, self.services)) if databases else None,
        )


@dataclass
class Context:
    """Context of a handler."""

    state: EngineState
    session: Session
    run_script: Callable[[str], Iterable[Result]] = field(repr=False)

    @property
    def durable(self) -> bool:
        """Whether the session is the engine's own, which survives a restart."""
        return self.session is self.state.session

    def plan(
        self,
        statement: Statement,
        topics: KafkaTopics | None = None,
        schemas: RegistrySchemas | None = None,
    ) -> Planned:
        """Plans against the current catalog; ForbiddenError if the role lacks a permission."""
        catalog, properties = self.state.catalog, self.session.properties
        schemas = schemas or self.state.schemas()
        planned = plan(statement, catalog, properties, topics, schemas=schemas)
        check_plan(statement, planned, self.session)
        return planned

    def carry_out(self, prepare: Callable[[], Prepared], carry: Callable[[Prepared], Done]) -> Done:
        """Prepares a statement, and carries it out under the state's lock. `prepare` accesses Kafka
        and registries without blocking other statements, and is repeated if the catalog, the
        properties or the topics to delete have changed meanwhile."""
        state = self.state
        for _ in range(PREPARED_TIMES):
            catalog, others = state.catalog, self._others()
            prepared = prepare()
            with state.lock:
                if state.catalog is catalog and self._others() == others:
                    return carry(prepared)
        with state.lock:
            return carry(prepare())

    def _others(self) -> tuple[Mapping[str, str], Mapping[str, Deletion]]:
        return dict(self.session.properties), dict(self.state.deletions)

    def commit(
        self,
        statement: Statement,
        planned: Planned | None,
        *,
        topics: KafkaTopics | None = None,
        schemas: RegistrySchemas | None = None,
        query_id: str | None = None,
        offsets: Offsets | None = None,
        deletes: Mapping[str, str] | None = None,
    ) -> None:
        """Changes a copy of the catalog, logs the statement, then publishes the copy: a statement
        that cannot be applied is never logged. Requires the state's lock."""
        catalog = self.state.catalog
        if planned is not None:
            check_not_deleted(planned, self.state.deleting)
            apply(planned, catalog := catalog.copy())
        log = self.state.log
        log.append(
            Entry(
                log.next_sequence,
                to_sql(statement) + ";",
                self.logged(self.session.properties),
                query_id,
                dict(topics.facts) if topics else {},
                offsets,
                VERSION,
                schemas.to_json() if schemas else {},
                deletes or {},
            )
        )
        if planned is not None:
            note_deletions(planned, deletes or {}, self.state.deletions)
            self.state.catalog = catalog

    def logged(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Properties for the statement log, without the engine's own secrets."""
        return without_owned_secrets(properties, self.state.config.properties)
