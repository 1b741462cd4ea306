"""Read-your-writes: a pull query waits until its sources include the writes of a token.

The wait follows the queries from the written topics to the queried tables. The progress of a
micro-batch query is exact. Of a real-time query, the read position is known: its results count as
complete once its topic has been at rest for a moment (or after a second), since its latency is a
few milliseconds, or somewhat more after its start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from streamsql.catalog import Catalog, QueryLinks, Source
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.queries.launcher import SparkLauncher
from streamsql.executor.queries.manager import QueryManager
from streamsql.kafka.client import KafkaClient
from streamsql.planner.plans.query_plan import Mode
from streamsql.properties import CONSISTENCY_TIMEOUT, CONSISTENCY_TOKEN, get_int, get_text
from streamsql.serving.stores import TableStores
from streamsql.status import QueryState
from streamsql.tokens import from_token
from streamsql.waiting import await_condition

LOOK_SECONDS = 0.02
REST_SECONDS = 0.1
"""Required rest of a real-time query's topic."""
NEW_SECONDS, NEW_REST_SECONDS = 10.0, 0.5
"""The same for a young run, whose first rows wait for compilation."""
RESTLESS_SECONDS = 1.0
"""How long to wait for that."""

Ends = dict[int, int]


class Consistency:
    """Waits on behalf of pull queries; may be used from any thread."""

    def __init__(
        self,
        client: Callable[[], KafkaClient],
        launcher: SparkLauncher,
        queries: QueryManager,
        stores: TableStores,
    ) -> None:
        self._client = client
        self._launcher = launcher
        self._queries = queries
        self._stores = stores

    def wait(
        self, sources: Iterable[Source], catalog: Catalog, properties: Mapping[str, str]
    ) -> None:
        """Wait for the token of the properties, if there is one, for sources that are read out of
        their topics. ExternalError where that takes too long."""
        self._reach(sources, catalog, properties)

    def wait_stored(self, source: Source, catalog: Catalog, properties: Mapping[str, str]) -> None:
        """As `wait`, for a table that is read out of its store."""
        found = self._reach([source], catalog, properties)
        if found is None:
            return
        deadline, (ends,) = found
        if ends and not self._stores.get(source).await_positions(ends, deadline - time.monotonic()):
            raise _late()

    def _reach(
        self, sources: Iterable[Source], catalog: Catalog, properties: Mapping[str, str]
    ) -> tuple[float, list[Ends]] | None:
        token = get_text(properties, CONSISTENCY_TOKEN)
        if not token:
            return None
        deadline = time.monotonic() + get_int(properties, CONSISTENCY_TIMEOUT) / 1000
        walk = _Walk(self, catalog, dict(from_token(token)), deadline)
        return deadline, [walk.ends_of(source.topic.name) for source in sources]

    def await_query(
        self,
        query: QueryLinks,
        wanted: Mapping[str, Ends],
        deadline: float,
        *,
        fails: bool = False,
    ) -> None:
        """Wait until a query's results of these records of its topics are in Kafka, as far as that
        can be known. Those of a view include its rows of no records. `fails`: a query that has
        failed is not waited for, although it may start again."""
        begun = False

        def reached() -> bool:
            nonlocal begun
            begun = begun or self._has_begun(query.id)
            real_time = self._in_real_time(query.id)
            return begun and _reached(self._positions(query.id, real_time), wanted)

        def ended() -> bool:
            return reached() or (fails and self._has_failed(query.id))

        await_condition(ended, deadline - time.monotonic(), every=LOOK_SECONDS)
        if not reached():
            raise _late()

    def ends(self, topic: str, rest: float, deadline: float) -> Ends:
        """End of a topic after a rest of that many seconds, if any."""
        return self.all_ends({topic: rest}, deadline)[topic]

    def all_ends(self, rests: Mapping[str, float], deadline: float) -> dict[str, Ends]:
        """The same of several topics, which rest at the same time."""
        client = self._client()
        ends = {topic: client.end_offsets(topic) for topic in rests}
        moving = {topic for topic, rest in rests.items() if rest}
        restless = min(deadline, time.monotonic() + RESTLESS_SECONDS)
        while moving and time.monotonic() < restless:
            time.sleep(max(rests[topic] for topic in moving))
            now = {topic: client.end_offsets(topic) for topic in moving}
            moving = {topic for topic in moving if now[topic] != ends[topic]}
            ends |= now
        return ends

    def _has_failed(self, query_id: str) -> bool:
        infos = self._queries.infos()
        return any(info.id == query_id and info.state is QueryState.ERROR for info in infos)

    def _in_real_time(self, query_id: str) -> bool:
        return any(
            info.id == query_id
            and info.mode == Mode.REAL_TIME.value
            and info.state is QueryState.RUNNING
            for info in self._queries.infos()
        )

    def rest(self, query: QueryLinks) -> float:
        """Required rest in seconds of a query's topic for complete results."""
        if not self._in_real_time(query.id):
            return 0.0
        is_new = time.monotonic() - self._queries.live_since(query.id) < NEW_SECONDS
        return NEW_REST_SECONDS if is_new else REST_SECONDS

    def _has_begun(self, query_id: str) -> bool:
        try:
            definition = self._queries.definition(query_id)
        except StreamSQLError:
            return False  # it has just been terminated: the wait ends with its time
        return not definition.is_view or self._launcher.has_begun(definition)

    def _positions(self, query_id: str, real_time: bool) -> Mapping[str, Ends]:
        try:
            known = self._queries.position(query_id) or {}
            definition = self._queries.definition(query_id)
            return self._launcher.live_positions(definition, known, real_time=real_time)
        except StreamSQLError:
            return {}


class _Walk:
    """Up the queries from a table to the topics of a token, each topic once."""

    def __init__(
        self, consistency: Consistency, catalog: Catalog, wanted: dict[str, Ends], deadline: float
    ) -> None:
        self._consistency = consistency
        self._catalog = catalog
        self._deadline = deadline
        self._wanted = wanted
        self._found: dict[str, Ends] = {}

    def ends_of(self, topic: str) -> Ends:
        """Topic offsets that include all results of the writes; empty if impossible."""
        if topic in self._found:
            return self._found[topic]
        self._found[topic] = ends = dict(self._wanted.get(topic, {}))
        for query in self._writers(topic):
            wanted = {name: found for name in self._reads(query) if (found := self.ends_of(name))}
            if not wanted:
                continue
            self._consistency.await_query(query, wanted, self._deadline)
            rest = self._consistency.rest(query)
            for partition, end in self._consistency.ends(topic, rest, self._deadline).items():
                ends[partition] = max(end, ends.get(partition, 0))
        return ends

    def _writers(self, topic: str) -> list[QueryLinks]:
        names = {s.name for s in self._catalog.sources.values() if s.topic.name == topic}
        return [query for query in self._catalog.queries.values() if query.writes in names]

    def _reads(self, query: QueryLinks) -> list[str]:
        return list(self._catalog.topics_of(n for n in query.reads if n in self._catalog.sources))


def _reached(positions: Mapping[str, Ends], wanted: Mapping[str, Ends]) -> bool:
    return all(
        positions.get(topic, {}).get(partition, 0) >= end
        for topic, ends in wanted.items()
        for partition, end in ends.items()
    )


def _late() -> ExternalError:
    return ExternalError(
        "timed out waiting for the consistency token",
        retryable=True,
        hint=f"SHOW QUERIES shows which query is behind; '{CONSISTENCY_TIMEOUT}' sets the timeout.",
    )
