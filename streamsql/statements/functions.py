"""CREATE FUNCTION: whether the module is there that it names, only an engine can tell."""

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
    """CREATE FUNCTION: queries made from now on can call it."""
    with context.state.lock:
        planned = context.plan(statement)
        if isinstance(planned, NothingToDo):
            return [Warning(planned.warning)]
        assert isinstance(planned, FunctionPlan) and planned.statement is not None
        _check_module(statement)
        context.commit(planned.statement, planned)
    return [Message(text) for text in planned.done]


def _check_module(statement: CreateFunction) -> None:
    """A module that is named must be there; what it holds is the workers' to find out."""
    module, colon, _ = statement.code.strip().partition(":")
    if not colon or not all(part.isidentifier() for part in module.split(".")):
        return
    top = module.partition(".")[0]
    if importlib.util.find_spec(top) is None:
        raise ConfigError(
            f"there is no Python module {top}",
            hint="It must be installed beside streamsql, or stand in the folder that the engine "
            "was started in.",
            span=statement.span,
        )
