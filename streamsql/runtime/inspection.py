"""What an engine can tell of itself as data: for who shows it in another form than the shell's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.catalog import Catalog
from streamsql.errors import StreamSQLError
from streamsql.executor.queries.push import SCALABLE, TRANSIENT
from streamsql.kafka.client import KafkaClient, TopicInfo
from streamsql.nodes import Statement
from streamsql.planner.plans.logical import QueryPlan
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.statements import plan
from streamsql.runtime.state import EngineState
from streamsql.session import Session
from streamsql.status import QueryInfo


@dataclass(frozen=True)
class QueryFacts:
    """A query with all that it was made of. `properties` are the session's at the time."""

    info: QueryInfo
    plan: QueryPlan
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Progress:
    """How far a query is in one partition; None for what is not known."""

    topic: str
    partition: int
    start: int | None
    end: int | None
    offset: int | None


class Inspection:
    """Reads the state of an engine. Where Kafka is not there, facts that only it knows are None."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    @property
    def catalog(self) -> Catalog:
        return self._state.catalog

    @property
    def sequence(self) -> int:
        """The number of the last statement in the log, 0 if there is none."""
        return self._state.log.next_sequence - 1

    def infos(self) -> list[QueryInfo]:
        """Persistent and push queries as they stand."""
        return [*self._state.queries.infos(), *self._state.pushes.infos()]

    def info(self, query_id: str) -> QueryInfo | None:
        """A query by its id, in whatever case it is written."""
        wanted = query_id.upper()
        return next((info for info in self.infos() if info.id.upper() == wanted), None)

    def is_push(self, query_id: str) -> bool:
        """Whether an id is one of a push query, be it over by now."""
        return query_id.startswith((f"{TRANSIENT}_", f"{SCALABLE}_"))

    def query(self, query_id: str) -> QueryFacts | None:
        """None where there is no such query, or not any more."""
        info = self.info(query_id)
        if info is None:
            return None
        pushed = self._state.pushes.plan(info.id)
        if pushed is not None:
            return QueryFacts(info, pushed, {})
        try:
            definition = self._state.queries.definition(info.id)
        except StreamSQLError:
            return None
        return QueryFacts(info, definition.plan, definition.properties)

    def planned(self, statement: Statement, session: Session) -> QueryPlan | None:
        """How the query of a statement would be run, None where it has none."""
        planned = plan(statement, self.catalog, session.properties, schemas=self._state.schemas())
        return planned.query if isinstance(planned, QueryStatementPlan) else None

    def topic(self, name: str) -> TopicInfo | None:
        """What Kafka knows of a topic."""
        client = self._client()
        try:
            return client.describe(name) if client else None
        except StreamSQLError:
            return None

    def progress(self, query_id: str) -> list[Progress]:
        """How far a persistent query is in each partition that it reads."""
        try:
            topics = self._state.queries.definition(query_id).topics
            positions = self._state.queries.position(query_id) or {}
        except StreamSQLError:
            return []
        found = []
        for topic in dict.fromkeys(topics):
            known, (begins, ends) = positions.get(topic, {}), self._ends(topic)
            for partition in sorted(known.keys() | ends.keys()):
                found.append(
                    Progress(
                        topic,
                        partition,
                        begins.get(partition),
                        ends.get(partition),
                        known.get(partition),
                    )
                )
        return found

    def _ends(self, topic: str) -> tuple[dict[int, int], dict[int, int]]:
        client = self._client()
        try:
            return (client.begin_offsets(topic), client.end_offsets(topic)) if client else ({}, {})
        except StreamSQLError:
            return {}, {}

    def cluster_id(self) -> str | None:
        """Of the Kafka cluster."""
        client = self._client()
        return client.cluster_id() if client else None

    def kafka_answers(self) -> bool:
        """Whether Kafka answers now, within two seconds."""
        client = self._client()
        return client is not None and client.reachable(2.0)

    def _client(self) -> KafkaClient | None:
        client: KafkaClient | None = self._state.services.kafka.peek()
        return client
