"""What an engine holds together: catalog, statement log, services, queries.

Statements change it by `Context.commit`, one at a time under `lock`, in an order that survives a
crash at any moment: the statement is planned, its topic made, the statement logged, and only then
does it take effect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from streamsql.catalog import Catalog
from streamsql.config import EngineConfig
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.manager import QueryManager
from streamsql.executor.queries.push import PushQueries
from streamsql.executor.rebuilds.comparisons import Comparisons
from streamsql.executor.rebuilds.settling import settle
from streamsql.executor.services.background import Service
from streamsql.executor.services.services import Services
from streamsql.executor.spark.cluster import task_slots
from streamsql.log.entries import Entry, Offsets, StatementLog
from streamsql.log.failover import Failover
from streamsql.log.membership import data_of, joined
from streamsql.nodes import Statement
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import Planned
from streamsql.planner.statements import apply, plan
from streamsql.properties import PROPERTIES, validated, without_owned_secrets
from streamsql.registry.lookup import RegistrySchemas
from streamsql.results import Result
from streamsql.runtime.history import History
from streamsql.runtime.kafka_watch import KafkaWatch
from streamsql.runtime.permissions import check_plan
from streamsql.runtime.replay import Deletion, check_not_deleted, note_deletions
from streamsql.runtime.topics import KafkaTopics, TopicFacts
from streamsql.serving.serving import Serving
from streamsql.session import Session
from streamsql.sizes import Machine, sizes_of
from streamsql.status import QueryMetrics, Resources
from streamsql.version import VERSION

Prepared = TypeVar("Prepared")
Done = TypeVar("Done")
PREPARED_TIMES = 5
"""So often a statement is prepared without the lock, where others change the catalog meanwhile."""


class Staged(Protocol):
    """What is built anew beside what runs, and waits to be what runs."""

    def discard(self) -> None:
        """Let nothing be left of it."""


class EngineState:
    """All that statements work on. `catalog` is replaced, never changed: read it once."""

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
        """Held while queries are built anew, which other statements need not wait for."""
        self.staged: Staged | None = None
        self.services = Services(config, self.data, self.sizes)
        self.watch = KafkaWatch(self.services)
        self.launcher = SparkLauncher(
            self.services, self.data, self.sizes, config.master, config.service_id
        )
        self.comparisons = Comparisons()
        self.launcher.settle = lambda query: settle(
            query, self.launcher, self.services, self.data.checkpoints, self.comparisons
        )
        self.queries = QueryManager(
            self.launcher,
            self.watch,
            self.data.checkpoints,
            by_itself=not config.until_caught_up,
        )
        self.serving = Serving(
            self.services,
            self.data,
            lambda: self.catalog,
            self.launcher,
            self.queries,
            self.sizes.table_memory_mb << 20,
        )
        self.pushes = PushQueries(self.services, self.launcher, self.data)
        self.restored: Service[StatementLog] | None = None
        self.failover: Failover | None = None
        """Of servers that share their statements: who leads them."""
        self.deletions: dict[str, Deletion] = {}
        """Topics that statements said to delete, by name, and that may still be there."""
        self.deleting: set[str] = set()
        """Those of them that Kafka is being asked to delete, which no statement may use again."""
        self.history: History | None = None
        """What the statement log said at the start, until it is asked for."""

    @property
    def catalog(self) -> Catalog:
        """What there is; a change puts another one in its place."""
        return self._catalog

    @catalog.setter
    def catalog(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.serving.changed()

    @property
    def log(self) -> StatementLog:
        """The statement log, waited for while it is being replayed."""
        assert self.restored is not None
        return self.restored.get()

    def query_metrics(self) -> dict[str, QueryMetrics]:
        """What the queries that there are have done, by their ids."""
        ids = {query.id: query.id for query in self.queries.infos()} | self.pushes.topics()
        found = self.launcher.counters.all()
        return {query_id: found[name] for name, query_id in ids.items() if name in found}

    def resources(self) -> Resources:
        """What there is of the machine, and what is taken of it."""
        found = self.sizes.resources(self.launcher.capacity.held)
        slots = found.task_slots or self.launcher.slots() or None
        return replace(found, task_slots=slots, disk_free=self.data.free())

    def topics(self, made: TopicFacts | None = None) -> KafkaTopics:
        """A view of Kafka's topics for planning one statement; `made` as KafkaTopics has it."""
        return KafkaTopics(self.services.kafka.get, made)

    def schemas(self) -> RegistrySchemas:
        """A view of the schema registry for planning one statement."""
        return RegistrySchemas(lambda: self.services.registry(self.session.properties))


@dataclass
class Context:
    """What a handler is given besides its statement."""

    state: EngineState
    session: Session
    run_script: Callable[[str], Iterable[Result]] = field(repr=False)

    @property
    def durable(self) -> bool:
        """Whether the session is the engine's own, which comes back after a restart."""
        return self.session is self.state.session

    def plan(
        self,
        statement: Statement,
        topics: KafkaTopics | None = None,
        schemas: RegistrySchemas | None = None,
    ) -> Planned:
        """Plan against the catalog as it is; ForbiddenError for what the role may not reach."""
        catalog, properties = self.state.catalog, self.session.properties
        schemas = schemas or self.state.schemas()
        planned = plan(statement, catalog, properties, topics, schemas=schemas)
        check_plan(statement, planned, self.session)
        return planned

    def carry_out(self, prepare: Callable[[], Prepared], carry: Callable[[Prepared], Done]) -> Done:
        """Prepare a statement, then carry it out under the lock of the state. Kafka and registries
        are asked by `prepare`, which holds up no other statement and is repeated where the catalog,
        the properties or the topics to delete have changed since it began."""
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
        """Change a copy of the catalog, log the statement, then put the copy in place: what cannot
        be applied is never logged. The state's lock is held."""
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
                dict(topics.told) if topics else {},
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
        """The properties as the statement log holds them: without the secrets that the engine is
        started with."""
        return without_owned_secrets(properties, self.state.config.properties)
