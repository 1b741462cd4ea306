"""The table of handlers, by the class of the statement; each handler enters itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from streamsql.errors import InternalError
from streamsql.nodes import Statement
from streamsql.planner.plans.statements import CatalogChange, NothingToDo
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context


@singledispatch
def handle(statement: Statement, context: Context) -> Iterable[Result]:
    """Plans a statement, applies it and returns its results. A statement that only changes the
    catalog has no handler: its plan has the answer."""
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        if not isinstance(planned, CatalogChange):
            raise InternalError(f"no handler for {type(statement).__name__}", span=statement.span)
        context.commit(statement, planned)
    return [Message(text) for text in planned.done]
