"""Staged rebuilds: they run next to the old queries until they are promoted or discarded. Only this
process knows them; the next start discards them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from streamsql.errors import CatalogError, UnsupportedError
from streamsql.nodes import Statement
from streamsql.planner import permissions
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.session import Session
from streamsql.statements.changes.apply import NOTHING, Files, apply_files, prepared
from streamsql.statements.changes.rebuilding import Rebuilds

_NONE = "no change is staged"
_NONE_HINT = "`streamsql apply --stage` builds the changes without switching to them."


@dataclass(frozen=True)
class StagedFiles:
    """Files whose queries have been rebuilt and follow the log, without having switched."""

    files: Files
    session: Session
    """The session that read them."""
    statements: Sequence[Statement]
    rebuilds: Rebuilds

    def discard(self) -> None:
        """Drops the rebuild."""
        self.rebuilds.close()


def stage_files(files: Files, context: Context, *, from_what_is_left: bool) -> list[Result]:
    """Builds the changes of files without switching. UnsupportedError if no query needs a rebuild;
    otherwise the errors of `apply_files`."""
    state = context.state
    with ExitStack() as stack:
        rebuilds = stack.enter_context(Rebuilds(state, from_what_is_left=from_what_is_left))
        work = prepared(files, context, rebuilds)
        if work is None:
            return [Message(NOTHING)]
        rebuilt = [query for query in work.rebuilt if query.id not in work.kept]
        if not rebuilt:
            raise UnsupportedError(
                "no query needs a rebuild, so there is nothing to stage",
                hint="Use `streamsql apply` without --stage.",
            )
        rebuilds.build(rebuilt)
        state.staged = StagedFiles(files, context.session, work.statements, rebuilds)
        stack.pop_all()
    return [_message(query.writes or query.id, rebuilds.topic(query.id)) for query in rebuilt]


def promote(context: Context) -> list[Result]:
    """Switches to the staged change; returns the messages. CatalogError if nothing is staged; after
    any other error the change stays staged."""
    staged = _taken(context)
    session = replace(staged.session, role=context.session.role)
    try:
        done = apply_files(staged.files, replace(context, session=session), staged.rebuilds)
    except BaseException:
        # Also on a bug or Ctrl-C: otherwise nothing releases the lock for rebuilds.
        context.state.staged = staged
        raise
    staged.discard()
    return done


def discard(context: Context) -> list[Result]:
    """Drops the staged change; CatalogError if nothing is staged."""
    _taken(context).discard()
    return [Message("The staged change was discarded.")]


def _taken(context: Context) -> StagedFiles:
    state = context.state
    with state.lock:
        staged = state.staged
        if not isinstance(staged, StagedFiles):
            raise CatalogError(_NONE, hint=_NONE_HINT)
        for statement in staged.statements:
            permissions.check(statement, context.session)
        state.staged = None
    return staged


def _message(name: str, topic: str | None) -> Message:
    where = f": its rows are in the topic {topic}" if topic else ""
    return Message(f"{name} is staged{where}")
