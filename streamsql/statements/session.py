"""SET, UNSET, DEFINE, UNDEFINE and RUN SCRIPT: statements on the session."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import (
    DefineVariable,
    RunScript,
    SetProperty,
    Statement,
    UndefineVariable,
    UnsetProperty,
)
from streamsql.planner.ddl.session import ForeignProperty, PropertyPlan
from streamsql.properties import forget_credentials, shown
from streamsql.results import Message, Result, Warning
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle


@handle.register
def set_property(statement: SetProperty | UnsetProperty, context: Context) -> Iterable[Result]:
    """SET and UNSET; durable in the engine's own session."""
    planned = context.plan(statement)
    if isinstance(planned, ForeignProperty):
        return [Warning(planned.warning)]
    assert isinstance(planned, PropertyPlan)
    _log(statement, context)
    properties = context.session.properties
    before = shown(planned.name, properties.get(planned.name))
    if planned.value is None:
        properties.pop(planned.name, None)
        if before is None:
            return [Warning(f"'{planned.name}' was not set.")]
        return [
            Message(f"Successfully unset local property '{planned.name}' (value was {before}).")
        ]
    properties[planned.name] = planned.value
    forget_credentials(planned.name, properties, context.state.session.properties)
    after = shown(planned.name, planned.value)
    change = f" from '{before}'" if before is not None else ""
    return [Message(f"Successfully changed local property '{planned.name}'{change} to '{after}'.")]


@handle.register
def define(statement: DefineVariable, context: Context) -> Iterable[Result]:
    _log(statement, context)
    context.session.variables[statement.name.upper()] = statement.value
    return [Message(f"Variable {statement.name} defined.")]


@handle.register
def undefine(statement: UndefineVariable, context: Context) -> Iterable[Result]:
    if statement.name.upper() not in context.session.variables:
        return [Warning(f"Cannot undefine variable '{statement.name}' which was never defined")]
    _log(statement, context)
    del context.session.variables[statement.name.upper()]
    return [Message(f"Variable {statement.name} undefined.")]


@handle.register
def run_script(statement: RunScript, context: Context) -> Iterable[Result]:
    return context.run_script(statement.path)


def _log(statement: Statement, context: Context) -> None:
    if context.durable:
        with context.state.lock:
            context.commit(statement, None)
