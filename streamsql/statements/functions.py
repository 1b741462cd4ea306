"""CREATE FUNCTION: only an engine can check that the module exists."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from streamsql.errors import ConfigError
from streamsql.nodes import CreateFunction
from streamsql.planner.ddl.user_functions import FunctionPlan
from streamsql.planner.plans.statements import NothingToDo
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle


@handle.register
def create(statement: CreateFunction, context: Context) -> Iterable[Result]:
    """CREATE FUNCTION: new queries can call it."""
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, FunctionPlan) and planned.statement is not None
        _check_module(statement)
        context.commit(planned.statement, planned)
    return [Message(text) for text in planned.done]


def _check_module(statement: CreateFunction) -> None:
    """The module must exist; the workers check its content."""
    module, colon, _ = statement.code.strip().partition(":")
    if not colon or not all(part.isidentifier() for part in module.split(".")):
        return
    top = module.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        raise ConfigError(
            f"unknown Python module {top}",
            hint="Install it in streamsql's environment, or put it into the folder where the "
            "engine "
            "was started.",
            span=statement.span,
        )
