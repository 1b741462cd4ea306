"""CREATE TYPE and DROP TYPE."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import CreateType, DropType
from streamsql.planner.ddl.types import TypePlan
from streamsql.planner.plans.statements import NothingToDo
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.types import to_sql


@handle.register
def create(statement: CreateType, context: Context) -> Iterable[Result]:
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, TypePlan) and planned.type is not None
        context.commit(statement, planned)
    text = f"Registered custom type with name '{planned.name}' and SQL type {to_sql(planned.type)}"
    return [Message(text)]


@handle.register
def drop(statement: DropType, context: Context) -> Iterable[Result]:
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        context.commit(statement, planned)
    return [Message(f"Dropped type '{statement.name}'")]
