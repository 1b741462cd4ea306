"""TERMINATE, PAUSE and RESUME."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import ControlQuery, QueryAction
from streamsql.planner.ddl.control import ControlPlan
from streamsql.results import Message, Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle

_DONE = {
    QueryAction.TERMINATE: "terminated",
    QueryAction.PAUSE: "paused",
    QueryAction.RESUME: "resumed",
}


@handle.register
def control(statement: ControlQuery, context: Context) -> Iterable[Result]:
    """Done when it has taken effect: a terminated or paused query writes nothing any more.

    A push query can be terminated, too, by whoever knows its id.
    """
    state = context.state
    if statement.action is QueryAction.TERMINATE and statement.query_id is not None:
        pushed = state.pushes.cancel(statement.query_id)
        if pushed is not None:
            return [Message(f"Query {pushed} terminated.", pushed)]
    with state.lock:
        planned = context.plan(statement)
        assert isinstance(planned, ControlPlan)
        context.commit(statement, planned)
        act = {
            QueryAction.TERMINATE: state.queries.terminate,
            QueryAction.PAUSE: state.queries.pause,
            QueryAction.RESUME: state.queries.resume,
        }[planned.action]
        for query_id in planned.query_ids:
            act(query_id)
    done = _DONE[planned.action]
    if not planned.query_ids:
        return [Message("There are no queries.")]
    return [Message(f"Query {query_id} {done}.", query_id) for query_id in planned.query_ids]
