"""Files planned against an engine and carried out by it, as a whole, and what takes that back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from streamsql.api.backup import entries_of_engine
from streamsql.api.changing import ChangePlan, plan_of_running
from streamsql.errors import StreamSQLError, unexpected
from streamsql.kafka.client import KafkaClient
from streamsql.properties import secrets_of
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.runtime.restore import replay_of
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements.changes.apply import Files, apply_files
from streamsql.statements.changes.difference import Item
from streamsql.statements.changes.rebuilding import Rebuilds
from streamsql.statements.changes.retention import Reading, rate_of, reading_of
from streamsql.statements.changes.running import running_of_replay
from streamsql.statements.changes.staging import discard, promote, stage_files
from streamsql.statements.changes.undo import before_last_apply

T = TypeVar("T")


class Changes:
    """What files say is to run, against what runs. Without a session that is the engine's own;
    `variables` go before the session's. Where the files are `partial`, what they read and do not
    define is what runs; they cannot be pruned by."""

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
        """What `apply` would change, without changing it."""
        state = self._state
        context = self._context(variables or {}, session)

        def plan() -> ChangePlan:
            with state.lock:
                running = running_of_replay(replay_of(state))
            # Not in there: a schema registry may be asked, and no statement is to wait for that.
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

        return self._told("the files were not planned", plan)

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
        """Have what runs become what files say, all of it at once: what was done. The
        StreamSQLError of what cannot be done is raised before anything is. A query whose state
        cannot go on is built anew from the log, if need be `from_what_is_left` of it."""
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
        """Build what `apply` would build anew, and leave it beside what runs until `promote` or
        `discard`, or until the engine ends: where it is. UnsupportedError where none of it is."""
        files = Files(lambda: texts, prune=prune, partial=partial)
        context = self._context(variables or {}, session)
        return self._leading(
            "the files were not staged",
            lambda: stage_files(files, context, from_what_is_left=from_what_is_left),
        )

    def promote(self, session: Session | None = None) -> list[Result]:
        """Have what is staged be what runs, with all else that its files say: what was done. Errors
        as those of `apply`; CatalogError where nothing is staged."""
        context = self._context({}, session)
        return self._leading("what is staged was not applied", lambda: promote(context))

    def discard(self, session: Session | None = None) -> list[Result]:
        """Give up what is staged. CatalogError where nothing is."""
        context = self._context({}, session)
        return self._leading("what is staged was not discarded", lambda: discard(context))

    def _applied(self, files: Files, context: Context, from_what_is_left: bool) -> list[Result]:
        def apply() -> list[Result]:
            with Rebuilds(self._state, from_what_is_left=from_what_is_left) as rebuilds:
                return apply_files(files, context, rebuilds)

        return self._leading("the files were not applied", apply)

    def _leading(self, failure: str, work: Callable[[], list[Result]]) -> list[Result]:
        if self._state.failover is not None:
            self._state.failover.check_leads()
        return self._told(failure, work)

    def plan_undo(self, session: Session | None = None) -> ChangePlan:
        """What `undo` would change, without changing it."""
        return self.plan([self._before()], prune=True, session=self._bare(session))

    def undo(
        self, session: Session | None = None, *, from_what_is_left: bool = False
    ) -> list[Result]:
        """Take back what was applied last, by whomever: what was done. Errors as those of `apply`;
        CatalogError where nothing was applied, UnsupportedError where more was defined since."""
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
        """Without what the text of `_before` SETs itself: all but secrets."""
        own = session or self._state.session
        secrets = secrets_of(self._state.session.properties)
        return replace(own, properties=secrets, variables={}, remote=False)

    def _context(self, variables: Mapping[str, str], session: Session | None) -> Context:
        own = session or self._state.session
        given = {name.upper(): value for name, value in variables.items()}
        session = replace(own, variables={**own.variables, **given})
        return Context(self._state, session, lambda path: ())

    def _told(self, failure: str, work: Callable[[], T]) -> T:
        """What the work gives; what fails otherwise than by a StreamSQLError is internal."""
        try:
            return work()
        except StreamSQLError:
            raise
        except Exception as error:
            if self._state.config.debug:
                raise
            raise unexpected(failure, error) from error
