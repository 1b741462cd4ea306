"""TERMINATE, PAUSE and RESUME of queries, and DROP SINK."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import ControlQuery, DropSink, QueryAction
from streamsql.planner.ddl.control import ControlPlan
from streamsql.planner.plans.statements import NothingToDo
from streamsql.properties import accepted
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context, EngineState
from streamsql.statements.dispatch import handle

_DONE = {
    QueryAction.TERMINATE: "terminated",
    QueryAction.PAUSE: "paused",
    QueryAction.RESUME: "resumed",
}


@handle.register
def control(statement: ControlQuery, context: Context) -> Iterable[Result]:
    """Returns when it has taken effect: a terminated or paused query writes nothing. A warning
    names queries that do not stop in time. Push queries can be terminated by their id, too."""
    state = context.state
    if statement.action is QueryAction.TERMINATE and statement.query_id is not None:
        pushed = state.pushes.cancel(statement.query_id)
        if pushed is not None:
            return [Message(f"Query {pushed} terminated.", pushed)]
    with state.lock:
        planned = context.plan(statement)
        assert isinstance(planned, ControlPlan)
        context.commit(statement, planned)
        _act(planned, state, accepted(context.session.properties))
    # Not under the lock: a query that does not stop blocks no other statement.
    stuck = state.queries.unsettled(*_stopped(planned))
    done = _DONE[planned.action]
    if not planned.query_ids:
        return [Message("There are no queries.")]
    found = [Message(f"Query {query_id} {done}.", query_id) for query_id in planned.query_ids]
    return [*found, *still_running(stuck)]


@handle.register
def drop_sink(statement: DropSink, context: Context) -> Iterable[Result]:
    """DROP SINK: returns when its query writes nothing. What it has written is kept."""
    state = context.state
    with state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, ControlPlan)
        context.commit(statement, planned)
        _act(planned, state)
    stuck = state.queries.unsettled(*_stopped(planned))
    dropped = Message(f"Sink `{statement.name}` was dropped. What it has written is kept.")
    return [dropped, *still_running(stuck)]


def _act(planned: ControlPlan, state: EngineState, accepts: frozenset[str] = frozenset()) -> None:
    """Notifies the queries without waiting. A resumed query can tolerate the failure that stopped
    it."""
    match planned.action:
        case QueryAction.TERMINATE:
            state.queries.terminate(*planned.query_ids, waits=False)
        case QueryAction.PAUSE:
            state.queries.pause(*planned.query_ids, waits=False)
        case QueryAction.RESUME:
            for query_id in planned.query_ids:
                state.queries.resume(query_id, accepts=accepts)


def _stopped(planned: ControlPlan) -> tuple[str, ...]:
    return () if planned.action is QueryAction.RESUME else planned.query_ids


OLD_RUNS = "Query {} is still stopping. The old version runs until then."
"""For a query whose changed plan waits for the old run to stop."""


def still_running(query_ids: Iterable[str]) -> list[Warning]:
    """A warning for each query that does not stop in time."""
    return [
        Warning(f"Query {query_id} is still stopping and may read and write until then.")
        for query_id in query_ids
    ]
