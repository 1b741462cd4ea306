"""CREATE VIEW and DROP VIEW."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import CreateView, DropView
from streamsql.planner.ddl.views import ViewPlan
from streamsql.planner.plans.statements import NothingToDo
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle


@handle.register
def create(statement: CreateView, context: Context) -> Iterable[Result]:
    """CREATE VIEW: remembers the query; nothing runs before it is selected from."""
    with context.state.lock:
        replaces = statement.name in context.state.catalog.views
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        context.commit(statement, planned)
    return [Message("View replaced" if replaces else "View created")]


@handle.register
def drop(statement: DropView, context: Context) -> Iterable[Result]:
    """DROP VIEW: queries made of it go on."""
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, ViewPlan)
        context.commit(statement, planned)
    names = (planned.name, *planned.others)
    return [Message(f"View `{name}` was dropped.") for name in names]
