"""Files planned against an engine and carried out by it, as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from streamsql.api.changing import ChangePlan, plan_of_running
from streamsql.errors import StreamSQLError, unexpected
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.runtime.restore import replay_of
from streamsql.runtime.state import Context, EngineState
from streamsql.session import Session
from streamsql.statements.changes.apply import apply_files
from streamsql.statements.changes.running import running_of_replay

T = TypeVar("T")


def planned(
    state: EngineState,
    texts: Sequence[NamedText],
    variables: Mapping[str, str],
    session: Session | None,
    *,
    prune: bool,
) -> ChangePlan:
    """What `applied` would do, without doing it."""
    context = _context(state, variables, session)

    def plan() -> ChangePlan:
        with state.lock:
            running = running_of_replay(replay_of(state))
            return plan_of_running(texts, context.session, state.schemas(), running, prune=prune)

    return _told(state, "the files were not planned", plan)


def applied(
    state: EngineState,
    texts: Sequence[NamedText],
    variables: Mapping[str, str],
    session: Session | None,
    *,
    prune: bool,
) -> list[Result]:
    """What was done. The StreamSQLError of what cannot be done is raised before anything is.
    `variables` go before the session's; without a session that is the engine's own."""
    if state.failover is not None:
        state.failover.check_leads()
    context = _context(state, variables, session)
    return _told(
        state, "the files were not applied", lambda: apply_files(texts, context, prune=prune)
    )


def _context(state: EngineState, variables: Mapping[str, str], session: Session | None) -> Context:
    own = session or state.session
    given = {name.upper(): value for name, value in variables.items()}
    return Context(state, replace(own, variables={**own.variables, **given}), lambda path: ())


def _told(state: EngineState, failure: str, work: Callable[[], T]) -> T:
    """What the work gives; what fails otherwise than by a StreamSQLError is an internal error."""
    try:
        return work()
    except StreamSQLError:
        raise
    except Exception as error:
        if state.config.debug:
            raise
        raise unexpected(failure, error) from error
