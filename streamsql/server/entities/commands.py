"""currentStatus: what came of a statement that changes things, and the id it is known by."""

from __future__ import annotations

from streamsql.engine import PreparedStatement, StatementKind
from streamsql.server.entities.base import JSON, Executed
from streamsql.server.state.statuses import CommandStatus

_ACTIONS: dict[StatementKind, tuple[str | None, str]] = {
    StatementKind.CREATE_SOURCE: (None, "create"),
    StatementKind.CREATE_AS_SELECT: (None, "create"),
    StatementKind.DROP_SOURCE: (None, "drop"),
    StatementKind.ALTER_SOURCE: (None, "alter"),
    StatementKind.INSERT_INTO: ("stream", "create"),
    StatementKind.CREATE_TYPE: ("type", "create"),
    StatementKind.DROP_TYPE: ("type", "drop"),
    StatementKind.CREATE_VIEW: ("view", "create"),
    StatementKind.DROP_VIEW: ("view", "drop"),
    StatementKind.CREATE_FUNCTION: ("function", "create"),
    StatementKind.DROP_FUNCTION: ("function", "drop"),
}
"""What is changed and how, in ksqlDB's words; a stream or a table where nothing is said."""


def command_id(statement: PreparedStatement) -> str | None:
    """`stream/NAME/create`; None for a statement that changes nothing for good."""
    if statement.kind is StatementKind.CONTROL_QUERY:
        return f"{statement.action.lower()}/{statement.name or 'ALL'}/execute"
    if statement.kind not in _ACTIONS:
        return None
    changed, action = _ACTIONS[statement.kind]
    if changed is None:
        assert statement.source_kind is not None
        changed = statement.source_kind.value.lower()
    return f"{changed}/{statement.name}/{action}"


def current_status(executed: Executed) -> JSON:
    """A statement that was done; one that had nothing to do is a warning."""
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
    """TERMINATE, PAUSE, RESUME; a push query that was ended has no place among the commands."""
    known, ended = executed.query_id, executed.statement.action == "TERMINATE"
    if ended and known is not None and executed.engine.is_push(known):
        return executed.entity("terminate_query", queryId=known, wasTerminated=True)
    return current_status(executed)


def nothing(executed: Executed) -> JSON | None:
    """SET, DEFINE and INSERT VALUES leave nothing in the answer but their warnings."""
    if executed.warnings:
        return executed.entity("warning_entity", message="\n".join(executed.warnings))
    return None
