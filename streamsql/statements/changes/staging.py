"""What is built anew to be looked at before it switches: beside what runs, until it is promoted or
discarded. It is known to this process alone: the next start discards it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from streamsql.errors import CatalogError, UnsupportedError
from streamsql.nodes import Statement
from streamsql.results import Message, Result
from streamsql.runtime import permissions
from streamsql.runtime.state import Context
from streamsql.session import Session
from streamsql.statements.changes.apply import NOTHING, Files, apply_files, prepared
from streamsql.statements.changes.rebuilding import Rebuilds

_NONE = "nothing is staged"
_NONE_HINT = "`streamsql apply --stage` builds what files change beside what runs."


@dataclass(frozen=True)
class StagedFiles:
    """Files whose queries are built anew and follow the log, and have not switched."""

    files: Files
    session: Session
    """As whom they were read."""
    statements: Sequence[Statement]
    rebuilds: Rebuilds

    def discard(self) -> None:
        """Let nothing be left of it."""
        self.rebuilds.close()


def stage_files(files: Files, context: Context, *, from_what_is_left: bool) -> list[Result]:
    """Build what files change, and leave it beside what runs. UnsupportedError where none of it is
    built anew; other StreamSQLErrors as those of `apply_files`."""
    state = context.state
    with ExitStack() as stack:
        rebuilds = stack.enter_context(Rebuilds(state, from_what_is_left=from_what_is_left))
        work = prepared(files, context, rebuilds)
        if work is None:
            return [Message(NOTHING)]
        anew = [query for query in work.anew if query.id not in work.kept]
        if not anew:
            raise UnsupportedError(
                "none of the queries is built anew, so there is nothing to be looked at before",
                hint="`streamsql apply` without --stage has them go on where they stop.",
            )
        rebuilds.build(anew)
        state.staged = StagedFiles(files, context.session, work.statements, rebuilds)
        stack.pop_all()
    return [_told(query.writes or query.id, rebuilds.topic(query.id)) for query in anew]


def promote(context: Context) -> list[Result]:
    """Have what is staged be what runs: what was done. CatalogError where nothing is staged; what
    is stays where anything else is raised."""
    staged = _taken(context)
    session = replace(staged.session, role=context.session.role)
    try:
        done = apply_files(staged.files, replace(context, session=session), staged.rebuilds)
    except BaseException:
        # A bug and Ctrl-C too: otherwise nothing could release the lock on rebuilds any more.
        context.state.staged = staged
        raise
    staged.discard()
    return done


def discard(context: Context) -> list[Result]:
    """Give up what is staged. CatalogError where nothing is."""
    _taken(context).discard()
    return [Message("What was staged is discarded.")]


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


def _told(name: str, topic: str | None) -> Message:
    where = f": its rows so far are in the topic {topic}" if topic else ""
    return Message(f"{name} is built anew beside what runs{where}")
