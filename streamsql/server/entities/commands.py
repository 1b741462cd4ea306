"""currentStatus: what came of a statement that changes things, and the id it is known by."""

from __future__ import annotations

from streamsql import nodes
from streamsql.server.entities.base import JSON, Executed
from streamsql.server.state.statuses import CommandStatus

_Source = nodes.CreateSource | nodes.CreateAsSelect | nodes.DropSource | nodes.AlterSource

_ACTIONS: dict[type[nodes.Statement], str] = {
    nodes.CreateSource: "create",
    nodes.CreateAsSelect: "create",
    nodes.DropSource: "drop",
    nodes.AlterSource: "alter",
    nodes.CreateType: "create",
    nodes.DropType: "drop",
    nodes.CreateView: "create",
    nodes.DropView: "drop",
    nodes.CreateFunction: "create",
    nodes.DropFunction: "drop",
}
_KINDS: dict[type[nodes.Statement], str] = {
    nodes.CreateType: "type",
    nodes.DropType: "type",
    nodes.CreateView: "view",
    nodes.DropView: "view",
    nodes.CreateFunction: "function",
    nodes.DropFunction: "function",
}


def command_id(statement: nodes.Statement) -> str | None:
    """`stream/NAME/create`; None for a statement that changes nothing for good."""
    match statement:
        case (
            nodes.CreateSource() | nodes.CreateAsSelect() | nodes.DropSource() | nodes.AlterSource()
        ):
            kind = statement.kind.value.lower()
            return f"{kind}/{statement.name}/{_ACTIONS[type(statement)]}"
        case nodes.InsertInto():
            return f"stream/{statement.target}/create"
        case nodes.ControlQuery():
            return f"{statement.action.value.lower()}/{statement.query_id or 'ALL'}/execute"
    kind = _KINDS.get(type(statement), "")
    return f"{kind}/{getattr(statement, 'name', '')}/{_ACTIONS[type(statement)]}" if kind else None


def current_status(statement: nodes.Statement, executed: Executed) -> JSON:
    """A statement that was done; one that had nothing to do is a warning."""
    if not executed.message and executed.warnings:
        return executed.entity("warning_entity", message="\n".join(executed.warnings))
    status = CommandStatus("SUCCESS", executed.message, executed.query_id)
    return executed.entity(
        "currentStatus",
        commandId=command_id(statement),
        commandStatus=status.to_json(),
        commandSequenceNumber=executed.engine.sequence,
    )


def controlled(statement: nodes.ControlQuery, executed: Executed) -> JSON:
    """TERMINATE, PAUSE, RESUME; a push query that was ended has no place among the commands."""
    known, ended = executed.query_id, statement.action is nodes.QueryAction.TERMINATE
    if ended and known is not None and executed.engine.is_push(known):
        return executed.entity("terminate_query", queryId=known, wasTerminated=True)
    return current_status(statement, executed)


def nothing(statement: nodes.Statement, executed: Executed) -> JSON | None:
    """SET, DEFINE and INSERT VALUES leave nothing in the answer but their warnings."""
    if executed.warnings:
        return executed.entity("warning_entity", message="\n".join(executed.warnings))
    return None
