"""Planning, applying and undoing pipeline files on an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from streamsql.api.backup import entries_of_engine
from streamsql.api.changing import ChangePlan, plan_of_running
from streamsql.errors import StreamSQLError, unexpected
from streamsql.kafka.client import KafkaClient
from streamsql.pipelines.difference import Item
from streamsql.pipelines.reading import Reading
from streamsql.properties import secrets_of
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.runtime.restore import replay_of
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements.changes.apply import Files, apply_files
from streamsql.statements.changes.rebuilding import Rebuilds
from streamsql.statements.changes.retention import rate_of, reading_of
from streamsql.statements.changes.running import running_of_replay
from streamsql.statements.changes.staging import discard, promote, stage_files
from streamsql.statements.changes.undo import before_last_apply

T = TypeVar("T")


class Changes:
    """Plans and applies pipeline files. The default session is the engine's own; `variables`
    override the session's. `partial` files can read objects of the running pipeline that they do
    not define, and do not support pruning."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def plan(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
        partial: bool = False,
        session: Session | None = None,
    ) -> ChangePlan:
        state = self._state
        context = self._context(variables or {}, session)

        def plan() -> ChangePlan:
            with state.lock:
                running = running_of_replay(replay_of(state))
            # Not under the lock: a schema registry may be slow.
            schemas = state.schemas()
            found = plan_of_running(
                texts, context.session, schemas, running, prune=prune, partial=partial
            )
            client = state.services.kafka.peek()
            if client is None:
                return found
            try:
                return found.measured(lambda item: self._reading(item, client))
            except StreamSQLError:
                return found

        return self._reported("planning the files failed", plan)

    def apply(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
        partial: bool = False,
        session: Session | None = None,
        from_what_is_left: bool = False,
    ) -> list[Result]:
        """Applies the files atomically; returns messages. Raises a StreamSQLError before changing
        anything. Queries that cannot keep their state are rebuilt from the log, with
        `from_what_is_left` from the remaining records."""
        files = Files(lambda: texts, prune=prune, partial=partial)
        context = self._context(variables or {}, session)
        return self._applied(files, context, from_what_is_left)

    def stage(
        self,
        texts: Sequence[NamedText],
        variables: Mapping[str, str] | None = None,
        *,
        prune: bool = False,
        partial: bool = False,
        session: Session | None = None,
        from_what_is_left: bool = False,
    ) -> list[Result]:
        """Builds the rebuilds of `apply` without switching, until `promote` or `discard`, or until
        the engine ends; returns their locations. UnsupportedError if no query needs a rebuild."""
        files = Files(lambda: texts, prune=prune, partial=partial)
        context = self._context(variables or {}, session)
        return self._leading(
            "staging the files failed",
            lambda: stage_files(files, context, from_what_is_left=from_what_is_left),
        )

    def promote(self, session: Session | None = None) -> list[Result]:
        """Switches to the staged change, including the other changes of its files; returns
        messages. Raises the errors of `apply`, and CatalogError if nothing is staged."""
        context = self._context({}, session)
        return self._leading("promoting the staged change failed", lambda: promote(context))

    def discard(self, session: Session | None = None) -> list[Result]:
        context = self._context({}, session)
        return self._leading("discarding the staged change failed", lambda: discard(context))

    def _applied(self, files: Files, context: Context, from_what_is_left: bool) -> list[Result]:
        def apply() -> list[Result]:
            with Rebuilds(self._state, from_what_is_left=from_what_is_left) as rebuilds:
                return apply_files(files, context, rebuilds)

        return self._leading("applying the files failed", apply)

    def _leading(self, failure: str, work: Callable[[], list[Result]]) -> list[Result]:
        if self._state.failover is not None:
            self._state.failover.check_leads()
        return self._reported(failure, work)

    def plan_undo(self, session: Session | None = None) -> ChangePlan:
        return self.plan([self._before()], prune=True, session=self._bare(session))

    def undo(
        self, session: Session | None = None, *, from_what_is_left: bool = False
    ) -> list[Result]:
        """Reverts the last applied set of any user; returns messages. Raises the errors of `apply`,
        CatalogError if nothing was applied, and UnsupportedError if other definitions followed."""
        context = self._context({}, self._bare(session))
        return self._applied(
            Files(lambda: [self._before()], prune=True), context, from_what_is_left
        )

    def _reading(self, item: Item, client: KafkaClient) -> Reading | None:
        queries = self._state.queries.known()
        known = queries.get(item.query_id or "")
        if known is None:
            return None
        rate = rate_of(known.definition.id, item.read_again, queries)
        metrics = self._state.query_metrics().get(known.definition.id)
        begins, ends = client.begin_offsets, client.end_offsets
        return reading_of(known.definition, item.read_again, begins, ends, metrics, rate)

    def _before(self) -> NamedText:
        return before_last_apply(entries_of_engine(self._state.config))

    def _bare(self, session: Session | None) -> Session:
        """The session without the settings that the text of `_before` contains: all except
        secrets."""
        own = session or self._state.session
        secrets = secrets_of(self._state.session.properties)
        return replace(own, properties=secrets, variables={}, remote=False)

    def _context(self, variables: Mapping[str, str], session: Session | None) -> Context:
        own = session or self._state.session
        given = {name.upper(): value for name, value in variables.items()}
        session = replace(own, variables={**own.variables, **given})
        return Context(self._state, session, lambda path: ())

    def _reported(self, failure: str, work: Callable[[], T]) -> T:
        """Converts unexpected exceptions to internal errors."""
        try:
            return work()
        except StreamSQLError:
            raise
        except Exception as error:
            if self._state.config.debug:
                raise
            raise unexpected(failure, error) from error
