"""currentStatus: what came of a statement that changes things, and the id it is known by."""

from __future__ import annotations

import re

from streamsql.engine import PreparedStatement
from streamsql.server.entities.base import JSON, Executed
from streamsql.server.state.command_statuses import CommandStatus

_WORD = re.compile("[A-Z][a-z]*")


def command_id(statement: PreparedStatement) -> str | None:
    """`stream/NAME/create`; None for a statement that changes nothing permanently. Action and type
    follow from the statement's kind, or from its own words."""
    if not statement.logged:
        return None
    if statement.kind == "ControlQuery":
        return f"{statement.action.lower()}/{statement.name or 'ALL'}/execute"
    if statement.kind == "InsertInto":
        return f"stream/{statement.name}/create"  # as ksqlDB has it
    action, *changed = _WORD.findall(statement.kind)
    kind = statement.source_kind.value if statement.source_kind else "".join(changed)
    return f"{kind.lower()}/{statement.name}/{action.lower()}"


def current_status(executed: Executed) -> JSON:
    """Status of a completed statement; one without effect is a warning."""
    if not executed.message and executed.warnings:
        return executed.entity("warning_entity", message="\n".join(executed.warnings))
    status = CommandStatus("SUCCESS", executed.message, executed.query_id)
    return executed.entity(
        "currentStatus",
        commandId=command_id(executed.statement),
        commandStatus=status.to_json(),
        commandSequenceNumber=executed.engine.sequence,
    )


def controlled(executed: Executed) -> JSON:
    known, ended = executed.query_id, executed.statement.action == "TERMINATE"
    if ended and known is not None and executed.engine.is_push(known):
        return executed.entity("terminate_query", queryId=known, wasTerminated=True)
    return current_status(executed)
