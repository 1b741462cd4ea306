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
    """Plan a statement, have it take effect and return its results.

    A statement that changes the catalog and nothing else needs no handler of its own: what is
    answered stands in its plan.
    """
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        if not isinstance(planned, CatalogChange):
            raise InternalError(f"no handler for {type(statement).__name__}", span=statement.span)
        context.commit(statement, planned)
    return [Message(text) for text in planned.done]
