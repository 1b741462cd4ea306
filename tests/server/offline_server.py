"""POST /ksql without Kafka, Spark and HTTP: an engine's state behind what the endpoint does."""

from __future__ import annotations

from collections.abc import Iterator

from engine.offline import Offline

from streamsql.api.inspection import Inspection
from streamsql.engine import PreparedStatement, Script
from streamsql.parser import parse
from streamsql.planner.statements import apply, plan
from streamsql.results import Result
from streamsql.runtime.state import Context
from streamsql.session import Session
from streamsql.statements import execute


class OfflineRunner:
    """What an Engine is to the endpoint."""

    def __init__(self, offline: Offline) -> None:
        self.offline = offline

    @property
    def inspection(self) -> Inspection:
        return Inspection(self.offline.state)

    def given(self, sql: str) -> None:
        """Statements that take effect on the catalog alone, as if their topics were there."""
        state = self.offline.state
        for statement in parse(sql):
            catalog = state.catalog.copy()
            apply(plan(statement, catalog, {}), catalog)
            state.catalog = catalog

    def each(
        self, sql: Script, session: Session | None = None
    ) -> Iterator[tuple[PreparedStatement, Iterator[Result]]]:
        session = session or self.offline.state.session
        context = Context(self.offline.state, session, lambda path: ())
        for statement in sql.statements:
            yield statement, execute(statement.node, context)
