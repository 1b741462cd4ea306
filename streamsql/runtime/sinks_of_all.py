"""Creates the sinks of sinks FROM ALL TABLES, as the catalog has streams and tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from streamsql.catalog import Catalog, ExternalSink, Source
from streamsql.errors import ExternalError, StreamSQLError
from streamsql.executor.queries.definition import Definition
from streamsql.nodes import CreateSink
from streamsql.planner.changes.queries import compare_queries
from streamsql.planner.plans.statements import QueryStatementPlan
from streamsql.planner.sinks_of_all import parts_of
from streamsql.planner.statements import plan
from streamsql.runtime.rounds import Rounds

_log = logging.getLogger("streamsql.sinks")
_AGAIN = 5.0
"""Seconds after which a follower looks whether it leads."""
_Wanted = tuple[ExternalSink, Source]
"""What a part depends on: the sink of all tables, and the source."""


class SinksOfAll:
    """A thread that runs only with an engine that has sinks of all tables."""

    def __init__(
        self, catalog: Callable[[], Catalog], definition: Callable[[str], Definition]
    ) -> None:
        self._catalog = catalog
        self._definition = definition
        self._run: Callable[[CreateSink], None] | None = None
        self._leads: Callable[[], bool] = lambda: False
        self._settled: dict[str, _Wanted] = {}
        self._refused: dict[str, str] = {}
        self._rounds = Rounds(
            "sinks of all tables", self._settle, _log, "the sinks are not created yet"
        )

    def start(self, run: Callable[[CreateSink], None], leads: Callable[[], bool]) -> None:
        """Compares now and after each change of the catalog, where this server leads; `run`
        executes a statement."""
        self._run, self._leads = run, leads
        self.changed()

    def changed(self) -> None:
        """The catalog has changed."""
        if self._run is not None and any(self._open(self._catalog())):
            self._rounds.ask()

    def refused(self, name: str) -> Mapping[str, str]:
        """By source, why it has no sink in the sink of that name."""
        catalog = self._catalog()
        return {
            part.source: self._refused[part.name]
            for part in parts_of(catalog.sinks[name], catalog)
            if part.name in self._refused
        }

    def close(self) -> None:
        self._rounds.close()

    def _open(self, catalog: Catalog) -> Iterator[tuple[CreateSink, _Wanted]]:
        """The sinks to look at."""
        for sink in catalog.sinks.values():
            for part in parts_of(sink, catalog) if sink.of_all else ():
                wanted = sink, catalog.sources[part.source]
                there = part.name in catalog.sinks or part.name in self._refused
                if not there or self._settled.get(part.name) != wanted:
                    yield part, wanted

    def _settle(self) -> float | None:
        assert self._run is not None
        if not self._leads():
            return _AGAIN
        error: ExternalError | None = None
        for part, wanted in list(self._open(self._catalog())):
            try:
                if statement := self._needed(part):
                    self._run(statement)
                self._refused.pop(part.name, None)
            except ExternalError as found:
                error = found
                continue
            except StreamSQLError as found:
                self._refused[part.name] = found.message
                _log.warning("%s is not in the sink: %s", part.source, found.message)
            self._settled[part.name] = wanted
        if error is not None:
            raise error
        return None

    def _needed(self, part: CreateSink) -> CreateSink | None:
        """The statement that makes the sink as it should be; None: it is so already."""
        catalog = self._catalog()
        there = catalog.sinks.get(part.name)
        if there is None:
            return part
        known = self._definition(there.query_id)
        again = replace(part, or_replace=True, if_not_exists=False)
        planned = plan(again, catalog, known.properties)
        assert isinstance(planned, QueryStatementPlan)
        return again if compare_queries(known.plan, planned.query).differences else None
