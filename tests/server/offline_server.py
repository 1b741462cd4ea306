"""POST /ksql without Kafka, Spark and HTTP: an engine's state behind what the endpoint does."""

from __future__ import annotations

from collections.abc import Iterator

from engine.offline import Offline

from streamsql.errors import ParseError
from streamsql.nodes import Statement
from streamsql.parser import parse, parse_each
from streamsql.planner.statements import apply, plan
from streamsql.results import Result
from streamsql.runtime.inspection import Inspection
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
        self, sql: str, session: Session | None = None
    ) -> Iterator[tuple[Statement, Iterator[Result]]]:
        session = session or self.offline.state.session
        context = Context(self.offline.state, session, lambda path: ())
        for statement in parse_each(sql, session.variables):
            assert not isinstance(statement, ParseError)
            yield statement, execute(statement, context)
